"""Ctrl-C as a request to stop at the next good moment."""

import signal
from types import FrameType
from typing import Self

from rarefy.run import Run

SIGNALS = (signal.SIGINT, signal.SIGTERM)
EXIT_CODE = 130  # as shells report a command that was interrupted


class Stopped(BaseException):
    """A run was to stop while it waited for data, and has learned all that came before."""


class Interrupts:
    """Notes signals to end while it is open, for whoever looks at `asked` between two steps.

    While the run waits for data, `Stopped` is raised at once; a second signal ends everything.
    """

    def __init__(self, run: Run) -> None:
        self.asked = False
        self._run = run

    def __enter__(self) -> Self:
        self._before = [signal.signal(number, self._note) for number in SIGNALS]
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in zip(SIGNALS, self._before, strict=True):
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._run.is_waiting:
            raise Stopped
