"""The running table in a terminal, with a bar below it that shows how far learning is."""

import time
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from rich.console import Console, ConsoleOptions
from rich.live import Live
from rich.text import Text

from rarefy.cli import signals
from rarefy.cli.views.text_table import GAP, Plain
from rarefy.cli.views.texts import clock, count

DRAWINGS_PER_SECOND = 8
SAMPLES = 80  # drawings over which speed is measured
ROOM_FOR_KEYS = 4  # such as ^C, which the terminal shows behind the bar
DONE = "cyan"
TO_DO = "bright_black"


class Terminal(Plain):
    """Lines on standard error, and a bar that a thread draws."""

    def __init__(self, passes: int, regression: bool, holdout: bool) -> None:
        super().__init__(passes, regression, holdout)
        self.console = Console(stderr=True, force_terminal=True)
        self.bar = Bar()
        self.live = Live(
            self.bar,
            console=self.console,
            refresh_per_second=DRAWINGS_PER_SECOND,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> Self:
        signals.on_terminal = signals.CLEAR_BAR
        self.live.start(refresh=True)
        return self

    def __exit__(self, *error: object) -> None:
        self.live.stop()
        signals.on_terminal = b""

    @property
    def width(self) -> int:
        return self.console.width

    def write(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style), soft_wrap=True)

    def advance(self, share: float | None, examples: int) -> None:
        self.bar.progress = (share, examples)

    def end(self, summary: dict[str, Any]) -> None:
        self.live.stop()
        super().end(summary)


class Sample(NamedTuple):
    """How far learning was when the bar was drawn."""

    seconds: float
    share: float | None
    examples: int


class Bar:
    """How far learning is, drawn anew whenever Rich asks for it."""

    def __init__(self) -> None:
        self.progress: tuple[float | None, int] = (None, 0)
        self.samples: deque[Sample] = deque(maxlen=SAMPLES)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        share, examples = self.progress
        now = Sample(time.perf_counter(), None if share is None else min(share, 1.0), examples)
        if now.examples:
            self.samples.append(now)
        if now.share is None:
            text = spinner(now.seconds, options.ascii_only)
        else:
            text = bar(now.share, options.max_width // 4, options.ascii_only)
        for part in parts(self.samples[0] if self.samples else now, now):
            if text.cell_len + len(GAP + part) > options.max_width - ROOM_FOR_KEYS:
                break
            text.append(GAP + part)
        yield text


def spinner(seconds: float, ascii_only: bool) -> Text:
    frames = "|/-\\" if ascii_only else "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
    frame = frames[int(seconds * DRAWINGS_PER_SECOND) % len(frames)]
    return Text(end="").append(frame, DONE)


def bar(share: float, width: int, ascii_only: bool) -> Text:
    done, to_do = "#-" if ascii_only else "━─"
    n_done = int(share * width)
    return Text(end="").append(done * n_done, DONE).append(to_do * (width - n_done), TO_DO)


def parts(before: Sample, now: Sample) -> Iterator[str]:
    """What is said beside the bar, what matters most first."""
    seconds = now.seconds - before.seconds
    if now.share is not None:
        yield f"{int(100 * now.share):3} %"
        if before.share is not None and now.share > before.share:
            left = (1.0 - now.share) * seconds / (now.share - before.share)
            yield f"{clock(left):>5} left"
    yield f"{count(now.examples)} examples"
    if now.examples > before.examples and seconds > 0.0:
        yield f"{count((now.examples - before.examples) / seconds)}/s"
