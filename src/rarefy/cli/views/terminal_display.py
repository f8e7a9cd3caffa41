"""Progress of a command in a terminal: lines of text with a bar below them."""

import math
import time
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

from rich.console import Console, ConsoleOptions
from rich.live import Live
from rich.text import Text

from rarefy.cli import signals
from rarefy.cli.views.formatting import clock, count
from rarefy.cli.views.running_table import GAP, RunningTable
from rarefy.cli.views.text_display import TextDisplay

DRAWINGS_PER_SECOND = 8
SAMPLES = 80  # drawings over which speed is measured
ROOM_FOR_KEYS = 4  # such as ^C, which the terminal shows behind the bar
ROOM_FOR_TIME = 20  # the share that is done, and the time left
DONE = "cyan"
TO_DO = "bright_black"


class TerminalDisplay(TextDisplay):
    """Lines on standard error, and a bar for the stage that a thread draws."""

    can_draw = True

    def __init__(self, table: RunningTable | None = None) -> None:
        super().__init__(table)
        self.bar = Bar()
        self._live = Live(
            self.bar,
            console=self._console,
            refresh_per_second=DRAWINGS_PER_SECOND,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> Self:
        signals.on_terminal = signals.CLEAR_BAR
        self._live.start(refresh=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()
        signals.on_terminal = b""

    def stage(self, title: str) -> None:
        self.bar.begin(title)

    def advance(self, share: float, examples: int = 0) -> None:
        self.bar.progress = (share, examples)

    def end(self, summary: dict[str, Any]) -> None:
        if self.wants_lines:
            self._live.stop()
        super().end(summary)


class Sample(NamedTuple):
    """How far a stage was when the bar was drawn."""

    seconds: float
    share: float  # NaN where it is not known
    examples: int


class Bar:
    """How far a stage is, drawn anew whenever Rich asks for it."""

    def __init__(self) -> None:
        self.begin("")

    def begin(self, title: str) -> None:
        self.title = title
        self.progress: tuple[float, int] = (math.nan, 0)
        self.samples: deque[Sample] = deque(maxlen=SAMPLES)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        share, examples = self.progress
        now = Sample(time.perf_counter(), min(share, 1.0), examples)
        samples = self.samples
        if examples or share > 0.0:
            samples.append(now)
        width = options.max_width // 4
        text = heading(self.title, options.max_width - width - ROOM_FOR_KEYS - ROOM_FOR_TIME)
        if math.isnan(share):
            text.append_text(spinner(now.seconds, options.ascii_only))
        else:
            text.append_text(bar(now.share, width, options.ascii_only))
        for part in parts(samples[0] if samples else now, now):
            if text.cell_len + len(GAP + part) > options.max_width - ROOM_FOR_KEYS:
                break
            text.append(GAP + part)
        yield text


def heading(title: str, width: int) -> Text:
    """What is before the bar; a long title is cut, and none is there where there is no room."""
    text = Text(end="")
    if title and width > len(GAP):
        text.append(title)
        text.truncate(width - len(GAP), overflow="ellipsis")
        text.append(GAP)
    return text


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
    if not math.isnan(now.share):
        yield f"{int(100 * now.share):3} %"
        if now.share > before.share:
            left = (1.0 - now.share) * seconds / (now.share - before.share)
            yield f"{clock(left):>5} left"
    if now.examples:
        yield f"{count(now.examples)} examples"
    if now.examples > before.examples and seconds > 0.0:
        yield f"{count((now.examples - before.examples) / seconds)}/s"
