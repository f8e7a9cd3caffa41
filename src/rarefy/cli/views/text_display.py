"""Progress of a command as lines of text on standard error.

Rich writes them off a terminal too, so that there is one way to write: it adds 15 ms to the start.
"""

import math
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from rarefy.cli.views.display import Display, warning
from rarefy.cli.views.formatting import visible
from rarefy.cli.views.running_table import RunningTable, summary_lines
from rarefy.training.progress_tracker import ProgressLine

SECONDS_BETWEEN_SHARES = 10.0
MOST_COLUMNS = 30
WIDEST_NAME = 30
ALWAYS_SHOWN = ("label", "weight")
IN_WORDS = {"weight": "sample weight", "ignore": "ignored"}


class TextDisplay(Display):
    """Lines without any control codes; in a stage, now and then one with the share that is done."""

    can_draw = False

    def __init__(self, table: RunningTable | None = None) -> None:
        self.wants_lines = table is not None
        self._table = table
        # asked for now: Rich may put something else in the place of standard error
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._console = Console(stderr=True, force_terminal=self.can_draw)
        self._next_share = math.inf  # when it is said
        self._roles: Mapping[str, str] = {}  # of the columns, as they were said

    @property
    def width(self) -> int:
        """How many characters a line may have."""
        return self._console.width if self._is_terminal else sys.maxsize

    def stage(self, title: str) -> None:
        self.say(f"{title} ...")
        self._next_share = time.perf_counter() + SECONDS_BETWEEN_SHARES

    def advance(self, share: float, examples: int = 0) -> None:
        now = time.perf_counter()
        if now >= self._next_share and not math.isnan(share):
            self._next_share = now + SECONDS_BETWEEN_SHARES
            self.say(f"{int(100 * share):3} %")

    def columns(self, roles: Mapping[str, str]) -> None:
        if roles != self._roles:
            self._roles = dict(roles)
            for text in column_lines(roles):
                self._write(text)

    def line(self, line: ProgressLine) -> None:
        if self._table is not None:
            for text, style in self._table.with_heading(line, self.width):
                self._write(text, style)

    def say(self, message: str) -> None:
        self._write(message)

    def warn(self, message: str) -> None:
        self.say(warning(message))

    def end(self, summary: dict[str, Any]) -> None:
        if self._table is not None:
            for text in summary_lines(summary):
                self._write(text)

    def _write(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style), soft_wrap=True)


def column_lines(roles: Mapping[str, str]) -> Iterator[str]:
    """A line for each column; of many the first, label and weight, and how many more of a kind."""
    first = [
        name for n, name in enumerate(roles) if n < MOST_COLUMNS or roles[name] in ALWAYS_SHOWN
    ]
    width = min(max(len(visible(name)) for name in first), WIDEST_NAME)
    for name in first:
        yield f"column {visible(name):<{width}}  {_in_words(roles[name])}"
    more = Counter(_in_words(role) for name, role in roles.items() if name not in first)
    if more:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in more.items())
        columns = "column" if more.total() == 1 else "columns"
        yield f"... and {more.total():,} more {columns}: {kinds}"


def _in_words(role: str) -> str:
    return IN_WORDS.get(role, role)
