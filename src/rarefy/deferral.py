"""Signals that wait while something changes that must not be left half changed."""

import signal
import threading
from types import FrameType
from typing import Any, Self

# Those whose handlers may raise an exception: Ctrl-C, and what programs use to end or to time out.
NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")
SIGNALS = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))


class Deferral:
    """While it is open, Python's signal handlers are put off; those due run when it closes.

    `let_through` runs them in between, where nothing is half done. Handlers run in the main thread
    only, so in others there is nothing to put off.
    """

    def __enter__(self) -> Self:
        self._is_open = False
        self._due: list[tuple[int, FrameType | None]] = []
        self._handlers: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in SIGNALS}
            self._handlers = {number: own for number, own in handlers.items() if callable(own)}
            for number in self._handlers:
                signal.signal(number, self._note)
        self._is_open = True
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._is_open = False
        self.let_through()

    def let_through(self) -> None:
        """Run the handlers of the signals that have come, which may raise an exception."""
        while self._due:
            number, frame = self._due.pop(0)
            self._handlers[number](number, frame)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._is_open:
            self._due.append((number, frame))
        else:  # opening it was interrupted
            self._handlers[number](number, frame)
