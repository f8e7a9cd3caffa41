"""Deferring signals while something must not be left half changed.

Python runs handlers between two instructions of the main thread, whichever thread of the process
has got the signal. To block signals in one thread does not put them off, then; to replace all
handlers does. An exception may come before all are replaced, and before all are back again. What
is to be put back is noted before it is replaced, and is put back, and run, however often that is
interrupted.
"""

import _signal  # type: ignore[import-not-found]  # as `signal`, which takes 10 times as long
import signal
import threading
from types import FrameType
from typing import Any, Self

SIGNALS = tuple(sorted(signal.valid_signals()))


class Deferral:
    """While it is open, Python's signal handlers are put off; those due run when it closes.

    `let_through` runs them in between, where nothing is half done. Handlers run in the main thread
    only, so in others there is nothing to put off.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}  # that are replaced
        self._due: dict[int, FrameType | None] = {}  # signals that have come, and where
        self._note = self._due.__setitem__  # compiled, so that nothing comes in between

    def __enter__(self) -> Self:
        try:
            if threading.current_thread() is threading.main_thread():
                self._replace_handlers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._put_back()
            self.let_through()
        finally:  # a handler has raised an exception; others may do so at the next call
            try:
                if self._handlers or self._due:
                    self.__exit__()
            finally:
                if self._handlers or self._due:
                    self.__exit__()

    def let_through(self) -> None:
        """Run the handlers of the signals that have come, which may raise an exception."""
        try:
            for number in [*self._due]:
                self._run(number)
        finally:
            if self._due:
                self.let_through()

    def _replace_handlers(self) -> None:
        for number in SIGNALS:
            handler = _signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                _signal.signal(number, self._note)

    def _put_back(self) -> None:
        """Whoever has set another handler in the meantime keeps it."""
        for number, handler in [*self._handlers.items()]:
            if _signal.getsignal(number) is self._note:
                _signal.signal(number, handler)
            del self._handlers[number]

    def _run(self, number: int) -> None:
        """From the moment at which a signal is no more due there is no call but of its handler."""
        handler = _signal.getsignal(number)
        if handler is self._note:
            handler = self._handlers[number]
        runs = callable(handler)
        frame = self._due[number]
        del self._due[number]
        if runs:
            handler(number, frame)
