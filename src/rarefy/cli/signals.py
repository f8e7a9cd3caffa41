"""Signals that end a command, after it has saved what it must.

A thread waits for them, so that the command ends within moments, whatever it is doing: a handler
would have to wait for compiled code to return, and could not raise anything in the middle of an
import without leaving a traceback.
"""

import os
import select
import signal
import threading
from contextlib import suppress
from types import FrameType
from typing import Protocol

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
STDERR = 2
SOON = 0.01  # seconds
CLEAR_BAR = b"\r\x1b[2K\x1b[?25h"  # and show the cursor again


class Listener(Protocol):
    def note(self, number: int) -> bool:
        """Take note of a signal, in any thread; False if the command is to end at once."""

    def wake(self, number: int) -> None:
        """Take note of it in the main thread, which may be waiting for something."""


_listener: Listener | None = None
_seen: list[int] = []
on_terminal = b""  # what brings the terminal back to its usual state


def watch() -> None:
    """From now on signals to end are dealt with, unless the command was started to ignore them."""
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    if os.name == "posix":
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=_obey_all, args=(reading,), daemon=True).start()
    for number in numbers:
        signal.signal(number, _handle)


def listen(listener: Listener | None) -> None:
    """Let signals be noted by somebody, or, with None, end the command at once again."""
    global _listener  # noqa: PLW0603
    _listener = listener
    if listener is not None and _seen:
        listener.note(_seen[-1])


def _handle(number: int, frame: FrameType | None) -> None:
    if os.name != "posix":
        _obey(number)
    _seen.append(number)
    if _listener is None:
        return
    if _is_in_destructor(frame):  # where an exception would be printed, and lost
        again = threading.Timer(SOON, signal.raise_signal, [number])
        again.daemon = True
        again.start()
        return
    _listener.wake(number)


def _is_in_destructor(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _obey_all(descriptor: int) -> None:
    while True:
        for number in os.read(descriptor, 64):
            _obey(number)


def _obey(number: int) -> None:
    listener = _listener
    if listener is None or not listener.note(number):
        end(number)


def end(number: int, message: str = "Interrupted.") -> None:
    """End the process; what it has not finished writing goes away."""
    from rarefy.system.atomic_write import leave_nothing_unfinished

    leave_nothing_unfinished()
    with suppress(OSError, ValueError):
        if select.select([], [STDERR], [], 0.0)[1]:
            os.write(STDERR, on_terminal + f"{message}\n".encode())
    os._exit(exit_code(number))


def exit_code(number: int) -> int:
    """As shells report a command that was ended by a signal."""
    return 128 + number
