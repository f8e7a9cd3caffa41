"""Tables on standard output: with colours and bars on a terminal, plain aligned text elsewhere."""

import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

if TYPE_CHECKING:
    from rich.text import Text

WIDEST = 1_000_000  # where no terminal sets a limit, nothing is cut or broken into lines
WIDE_ENOUGH_FOR_BARS = 72
BAR_WIDTH = 6  # on either side of zero
LABEL_WIDTH = 14  # at most, on a terminal
DIGITS = 5  # of the largest number in a column
STYLES = {-1.0: "red", 0.0: "dim", 1.0: "green"}


class Column(NamedTuple):
    """Cells under a title: numbers, bars, labels, or names; names get the room that is left."""

    title: str
    cells: "Sequence[str | Text]"
    kind: str = "numbers"


class Page:
    """What a command shows."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = console = Console(highlight=False, markup=False, emoji=False)
        can_draw = console.is_terminal and not console.options.ascii_only
        self.has_bars = can_draw and console.width >= WIDE_ENOUGH_FOR_BARS
        if not console.is_terminal:
            console.width = WIDEST

    def say(self, text: str = "", style: str = "") -> None:
        self._show(text, style=style)

    def facts(self, rows: Iterable[Sequence[str]], titles: Sequence[str] = ("", "")) -> None:
        """A name, and what there is to say about it, on each row."""
        from rich.table import Table

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(titles))
        table.add_column(titles[0], style="dim", no_wrap=True)
        for title in titles[1:]:
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*row)
        self._show(table)

    def table(self, *columns: Column) -> None:
        from rich.table import Table

        narrow = self._console.is_terminal
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(
                _one_line(column.title),
                justify="right" if column.kind == "numbers" else "left",
                no_wrap=column.kind != "names",
                max_width=LABEL_WIDTH if narrow and column.kind in ("numbers", "labels") else None,
            )
        for cells in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*(_one_line(cell) for cell in cells))
        self._show(table)

    def _show(self, *parts: Any, **options: Any) -> None:
        with self._console.capture() as captured:
            self._console.print(*parts, **options)
        lines = [line.rstrip() for line in captured.get().split("\n")]
        encoding = sys.stdout.encoding or "utf-8"
        text = "\n".join(lines).encode(encoding, "backslashreplace").decode(encoding)
        click.echo(text, nl=False, color=True)


def _one_line(cell: "str | Text") -> "Text":
    from rich.text import Text

    text = Text(cell) if isinstance(cell, str) else cell
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


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
