"""Progress of a command: as JSON, as text, or in a terminal with a bar."""

import json as json_text
import os
import sys
from collections.abc import Mapping
from typing import Any, Self

import click

from rarefy.cli.views.formatting import finite
from rarefy.cli.views.running_table import RunningTable
from rarefy.training.procedure import Reporter
from rarefy.training.progress_tracker import ProgressLine

NO_CONTROL_CODES = ("dumb", "unknown")  # values of TERM


class Display(Reporter):
    """Shows how a command goes; this one shows nothing but warnings.

    While a display is open, nothing else writes to where it shows that.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def warn(self, message: str) -> None:
        click.echo(warning(message), err=True)

    def stage(self, title: str) -> None:
        """What is done from now on, in a command that does several things."""

    def end(self, summary: dict[str, Any]) -> None:
        """The last word: what was learned, and where it is."""


class JsonLines(Display):
    """An object a line on standard output; remarks go to standard error."""

    def __init__(self) -> None:
        self.wants_lines = True

    def columns(self, roles: Mapping[str, str]) -> None:
        self._write("columns", {"columns": dict(roles)})

    def line(self, line: ProgressLine) -> None:
        self._write("line", line._asdict())

    def say(self, message: str) -> None:
        click.echo(message, err=True)

    def end(self, summary: dict[str, Any]) -> None:
        self._write("end", summary)

    def _write(self, event: str, values: dict[str, Any]) -> None:
        """Learning does not end when nobody reads any more."""
        text = json_text.dumps({"event": event, **finite(values)}, allow_nan=False)
        try:
            click.echo(text)
        except OSError:
            self.wants_lines = False
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 for what is in the buffer still


def warning(message: str) -> str:
    return f"Warning: {message}"


def make_display(
    table: RunningTable | None = None, *, json: bool = False, quiet: bool = False
) -> Display:
    """The display for who looks: nobody, a program, a file, or a person at a terminal.

    Without a table, it shows stages and remarks only.
    """
    if quiet:
        return Display()
    if json:
        return JsonLines()
    if can_draw():
        from rarefy.cli.views.terminal_display import TerminalDisplay

        return TerminalDisplay(table)
    from rarefy.cli.views.text_display import TextDisplay

    return TextDisplay(table)


def can_draw() -> bool:
    """Whether standard error is a terminal that understands control codes."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_terminal and os.environ.get("TERM", "").lower() not in NO_CONTROL_CODES
