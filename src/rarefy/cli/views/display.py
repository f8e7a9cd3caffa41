"""What `rarefy train` shows while it runs: as JSON, as text, or in the terminal."""

import json as json_text
import math
import os
import sys
from typing import Any, Protocol, Self

import click

from rarefy.training.progress_tracker import ProgressLine

NO_CONTROL_CODES = ("dumb", "unknown")  # values of TERM


class Display(Protocol):
    """Shows how learning goes; while it is open, nothing else writes to where it shows that."""

    wants_lines: bool  # they cost a look at every weight

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def advance(self, share: float | None, examples: int) -> None:
        """How far learning is, after every batch; `share` is None where the size is not known."""

    def line(self, line: ProgressLine) -> None:
        """A new line of the table."""

    def say(self, message: str) -> None:
        """A remark or a warning."""

    def end(self, summary: dict[str, Any]) -> None:
        """The last word: what was learned, and where it is."""


class Quiet:
    """Shows nothing."""

    wants_lines = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def advance(self, share: float | None, examples: int) -> None:
        pass

    def line(self, line: ProgressLine) -> None:
        pass

    def say(self, message: str) -> None:
        pass

    def end(self, summary: dict[str, Any]) -> None:
        pass


class JsonLines(Quiet):
    """An object a line on standard output; remarks go to standard error."""

    def __init__(self) -> None:
        self.wants_lines = True

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


def finite(value: Any) -> Any:
    """The value with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def stderr_is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def can_draw() -> bool:
    """Whether standard error is a terminal that understands control codes."""
    return stderr_is_terminal() and os.environ.get("TERM", "").lower() not in NO_CONTROL_CODES


def make_display(
    *, json: bool, quiet: bool, passes: int, regression: bool, holdout: bool
) -> Display:
    """The display for who looks: nobody, a program, a file, or a person at a terminal."""
    if quiet:
        return Quiet()
    if json:
        return JsonLines()
    if can_draw():
        from rarefy.cli.views.terminal import Terminal

        return Terminal(passes, regression, holdout)
    from rarefy.cli.views.text_table import Plain

    return Plain(passes, regression, holdout)
