"""Tables on standard output: with colours and bars on a terminal, plain aligned text elsewhere."""

import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from rarefy.cli.views.formatting import written

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDEST = 1_000_000  # where no terminal sets a limit, nothing is cut or broken into lines
WIDE_ENOUGH_FOR_BARS = 72
BAR_WIDTH = 6  # on either side of zero
LABEL_WIDTH = 14  # at most, on a terminal
STYLES = {-1.0: "red", 0.0: "dim", 1.0: "green"}


class Column(NamedTuple):
    """Cells under a title.

    Kinds are numbers and labels, whose title and cells, respectively, are cut on a terminal where
    they are long; counts and bars, which are never cut; names, which get the room that is left; and
    texts, which may take several lines.
    """

    title: str
    cells: "Sequence[str | Text]"
    kind: str = "numbers"

    @property
    def width_on_terminal(self) -> int | None:
        """How wide the column may be; None: as wide as it likes."""
        if self.kind == "numbers":
            return max(LABEL_WIDTH, *map(len, self.cells)) if self.cells else LABEL_WIDTH
        return LABEL_WIDTH if self.kind == "labels" else None


class Page:
    """What a command shows on standard output."""

    def __init__(self, console: "Console | None" = None) -> None:
        from rich.console import Console

        console = console or Console(highlight=False, markup=False, emoji=False)
        can_draw = console.is_terminal and not console.options.ascii_only
        self.has_bars = can_draw and console.width >= WIDE_ENOUGH_FOR_BARS
        if not console.is_terminal:
            console.width = WIDEST
        self._console = console

    def say(self, text: str = "", style: str = "") -> None:
        self._show(text, style=style)

    def facts(self, rows: Iterable[Sequence[str]], titles: Sequence[str] = ("", "")) -> None:
        """A name, and what there is to say about it, on each row."""
        from rich.text import Text

        names, *others = zip(*rows, strict=True)
        texts = [Column(*pair, "texts") for pair in zip(titles[1:], others, strict=True)]
        self.table(Column(titles[0], [Text(name, "dim") for name in names], "bars"), *texts)

    def table(self, *columns: Column, ruled: bool = False) -> None:
        """Columns side by side; with a rule below the titles, where they are to stand out."""
        self._show(self._table(columns, ruled))

    def has_room_for(self, *columns: Column, ruled: bool = False) -> bool:
        """Whether nothing of a table is cut off."""
        wide = self._console.options.update_width(WIDEST)
        table = self._table(columns, ruled)
        return self._console.measure(table, options=wide).maximum <= self._console.width

    def _table(self, columns: Sequence[Column], ruled: bool) -> "Table":
        from rich import box
        from rich.table import Table

        table = Table(
            box=box.SIMPLE_HEAD if ruled else None,
            pad_edge=ruled,
            header_style="bold",
            show_header=any(column.title for column in columns),
        )
        for column in columns:
            table.add_column(
                _cell(column.title, column.kind),
                justify="right" if column.kind in ("numbers", "counts") else "left",
                overflow="fold",
                no_wrap=column.kind not in ("names", "texts"),
                max_width=column.width_on_terminal if self._console.is_terminal else None,
            )
        for cells in zip(*(column.cells for column in columns), strict=True):
            kinds = (column.kind for column in columns)
            table.add_row(*map(_cell, cells, kinds))
        return table

    def _show(self, *parts: Any, **options: Any) -> None:
        with self._console.capture() as captured:
            self._console.print(*parts, **options)
        lines = [line.rstrip() for line in captured.get().split("\n")]
        encoding = sys.stdout.encoding or "utf-8"
        text = "\n".join(lines).encode(encoding, "backslashreplace").decode(encoding)
        click.echo(text, nl=False, color=True)


def _cell(cell: "str | Text", kind: str) -> "Text":
    """The cell, which is one line unless it is a text."""
    from rich.text import Text

    text = Text(cell) if isinstance(cell, str) else cell
    if kind != "texts":
        text.no_wrap, text.overflow = True, "ellipsis"
    return text


def signed(numbers: Sequence[float]) -> "list[Text]":
    """Numbers with their signs."""
    from rich.text import Text

    texts = zip(numbers, written(numbers, "+"), strict=True)
    return [Text(text, style=STYLES[np.sign(number)]) for number, text in texts]


def bars(numbers: Sequence[float]) -> "list[Text]":
    """A bar for each number, to the left of the middle where it is negative."""
    largest = max((abs(number) for number in numbers), default=0.0)
    return [_bar(number / largest if largest else 0.0) for number in numbers]


def _bar(share: float) -> "Text":
    from rich.text import Text

    n_full, half = divmod(math.ceil(abs(share) * 2 * BAR_WIDTH), 2)
    if share < 0.0:
        left, right = "▐" * half + "█" * n_full, ""
    else:
        left, right = "", "█" * n_full + "▌" * half
    return Text.assemble(
        (f"{left:>{BAR_WIDTH}}", "red"), ("│", "dim"), (f"{right:<{BAR_WIDTH}}", "green")
    )
