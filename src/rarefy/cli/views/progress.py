"""How far a command is that has several stages: a bar in a terminal, lines of text elsewhere."""

import math
import time
from typing import Any, Self

import click

from rarefy.cli import signals
from rarefy.cli.views.display import can_draw

SECONDS_BETWEEN_LINES = 10.0


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def stage(self, title: str) -> None:
        """What is done from now on."""

    def advance(self, share: float) -> None:
        """The share of this stage that is done; NaN where that is not known."""

    def say(self, message: str) -> None:
        """A remark or a warning."""


class Lines(Silent):
    """Lines on standard error, now and then one with the share that is done."""

    def stage(self, title: str) -> None:
        self.say(f"{title} ...")
        self._last = time.perf_counter()

    def advance(self, share: float) -> None:
        now = time.perf_counter()
        if now - self._last >= SECONDS_BETWEEN_LINES and not math.isnan(share):
            self._last = now
            self.say(f"{int(100 * share):3} %")

    def say(self, message: str) -> None:
        click.echo(message, err=True)


class Bar(Silent):
    """A bar for each stage, which goes away when the next one begins."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
        from rich.progress import TimeRemainingColumn as TimeLeft

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
        )
        console = Console(stderr=True, force_terminal=True, markup=False, highlight=False)
        self._progress = Progress(*columns, TimeLeft(), console=console, transient=True)
        self._task: Any = None

    def __enter__(self) -> Self:
        signals.on_terminal = signals.CLEAR_BAR
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()
        signals.on_terminal = b""

    def stage(self, title: str) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(title, total=None)

    def advance(self, share: float) -> None:
        if not math.isnan(share):
            self._progress.update(self._task, total=1.0, completed=share)

    def say(self, message: str) -> None:
        self._progress.console.print(message, soft_wrap=True)


def make_progress(*, silent: bool) -> Silent:
    """For who looks: nobody, a file, or a person at a terminal."""
    if silent:
        return Silent()
    return Bar() if can_draw() else Lines()
