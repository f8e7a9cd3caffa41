"""Numbers as people read them."""

import math

FLIPS = {"negative_flips": "flips -", "positive_flips": "flips +"}  # metrics that are counts
UNITS = ("bytes", "kB", "MB", "GB", "TB")


def count(value: float) -> str:
    """Like 1,234,567."""
    return f"{value:,.0f}" if math.isfinite(value) else "-"


def number(value: float) -> str:
    """A loss, or whatever else may be of any size, in about seven characters."""
    size = abs(value)
    if not math.isfinite(value):
        return "-"
    if 0 < size < 1e-3 or size >= 1e6:
        return f"{value:.2e}"
    if size < 100:
        return f"{value:.4f}"
    return f"{value:.2f}" if size < 10_000 else f"{value:,.0f}"


def percent(share: float, digits: int = 1) -> str:
    """Like 87.1 %."""
    return f"{100 * share:.{digits}f} %" if math.isfinite(share) else "-"


def duration(seconds: float) -> str:
    """Like 0.61 s, 12.3 s, 3:05 or 1:02:03."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    return f"{seconds:.1f} s" if seconds < 59.95 else clock(seconds)


def clock(seconds: float) -> str:
    """Like 0:12, 3:05 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(n_bytes: int) -> str:
    """Like 84 kB, 213 MB or 1.2 GB."""
    scale = min((len(str(n_bytes)) - 1) // 3, len(UNITS) - 1)
    value = n_bytes / 1000**scale
    digits = 1 if scale and value < 9.95 else 0
    return f"{value:,.{digits}f} {UNITS[scale]}"


def metric(name: str, value: float) -> str:
    if name in FLIPS:
        return count(value)
    return percent(value) if name == "accuracy" else number(value)
