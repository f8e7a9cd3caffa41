"""Signals to end as a request to stop at the next good moment."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rarefy.cli import signals
from rarefy.streams.run import Run
from rarefy.training.procedure import Interruption, Stopped

SAME_WISH = 1.0  # seconds in which further signals say the same: they come in twos and threes
NOTHING_LEARNED = "Interrupted before anything was learned."


class Interrupts(Interruption):
    """Notes signals to end while it is open, for whoever looks at `number` between two steps.

    While the run waits for data, or inside `at_once`, `Stopped` is raised, but only once. A signal
    before anything was learned, and one that comes later than the first, end the command.
    """

    def __init__(self, run: Run) -> None:
        self._since = 0.0
        self._run = run
        self._may_stop = False
        self._has_raised = False

    def __enter__(self) -> Self:
        signals.listen(self)
        return self

    def __exit__(self, *error: object) -> None:
        signals.listen(None)

    def note(self, number: int) -> bool:
        if self.number is None:
            self._since, self.number = time.monotonic(), number
        elif time.monotonic() - self._since > SAME_WISH:
            return False
        if self._run.model.t == 0:
            signals.end(self.number, NOTHING_LEARNED)
        return True

    def wake(self, number: int) -> None:
        self.note(number)
        if (self._may_stop or self._run.is_waiting) and not self._has_raised:
            self._has_raised = True
            raise Stopped

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside, nothing is done that cannot be left off."""
        self._may_stop = True
        try:
            if self.number is not None:
                self.wake(self.number)
            yield
        finally:
            self._may_stop = False
