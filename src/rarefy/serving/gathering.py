"""Requests of a loop that go to the log together."""

import asyncio
from typing import Any

from rarefy.serving.log import Log, Operation

MOST = 256  # operations of a group


class Gathering:
    """Hands operations of a loop of asyncio to the log, in groups; one is on its way at a time.

    To look at rows, to write them and to learn them costs a group little more than a single
    operation. So a group is handed on when the one before it is on disk, and nothing has come while
    the loop went round once. Only the thread of the loop may use it.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._waiting: list[tuple[Operation, asyncio.Future[Any]]] = []
        self._is_looking = False
        self._last: asyncio.Future[Any] | None = None  # of the group that is on its way

    def submit(self, operation: Operation, future: "asyncio.Future[Any]") -> None:
        """Have something written; the future gets the answer."""
        self._log.check_is_open()
        self._waiting.append((operation, future))
        if not self._is_looking and self._last is None:
            self._is_looking = True
            future.get_loop().call_soon(self._look, 0)

    def _look(self, n_before: int) -> None:
        """Hand on what there is, unless more is coming."""
        n_now = len(self._waiting)
        if n_before < n_now < MOST:
            self._waiting[0][1].get_loop().call_soon(self._look, n_now)
            return
        group, self._waiting, self._is_looking = self._waiting, [], False
        self._last = group[-1][1]
        self._last.add_done_callback(self._go_on)
        for operation, future in group:
            self._log.submit(operation, future)

    def _go_on(self, last: "asyncio.Future[Any]") -> None:
        self._last = None
        if self._waiting:
            self._is_looking = True
            last.get_loop().call_soon(self._look, 0)
