"""Formatting of values, for people and for programs."""

import math
from collections.abc import Sequence
from typing import Any

FLIPS = {"negative_flips": "flips -", "positive_flips": "flips +"}  # metrics that are counts
DIGITS = 5  # of the largest number in a column
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
    if name == "examples" or name in FLIPS:
        return count(value)
    return percent(value) if name == "accuracy" else number(value)


def visible(text: str) -> str:
    """The text with escapes for characters that cannot be seen, or that steer a terminal."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def written(numbers: Sequence[float], sign: str = "-") -> list[str]:
    """Numbers as text, with as many decimals in all of them as are of use."""
    largest = max((abs(number) for number in numbers), default=0.0)
    if not 1e-3 <= largest < 1e6:
        return [f"{number:{sign}.2e}" if number else "0" for number in numbers]
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(largest)))
    too_small = 0.5 * 10.0**-decimals

    def one(number: float) -> str:
        if number == 0.0:
            return "0"
        form = f".{decimals}f" if abs(number) >= too_small else ".0e"
        return f"{number:{sign}{form}}"

    return [one(number) for number in numbers]


def finite(value: Any) -> Any:
    """The value with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
