"""A pool of threads."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

Run = Callable[..., list[Any]]  # applies a function to things, as map does
FEW_UPDATES = 1 << 15  # of weights, or copies of entries, for which no threads are started


def n_cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """Threads that are started when there is work for them, and stay as long as it does."""

    def __init__(self, n_threads: int) -> None:
        self._n_threads = n_threads
        self._threads: Any = None

    def runner(self, n_updates: int) -> Run:
        """What applies a function to things side by side, or, if there is little to do, in order.

        An exception that it raises for one of them is raised when all are done.
        """
        if self._n_threads == 1 or n_updates < FEW_UPDATES:
            return _in_order
        from concurrent.futures import ThreadPoolExecutor  # which takes long to import

        # who calls does a share of the work, instead of waiting
        self._threads = self._threads or ThreadPoolExecutor(self._n_threads - 1)
        return partial(_side_by_side, self._threads, self._n_threads - 1)

    def close(self) -> None:
        """End the threads, if there are any."""
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None


@contextmanager
def workers(n_threads: int, n_updates: int) -> Iterator[Run]:
    """What a pool gives to apply a function to things, for one use."""
    pool = Pool(n_threads)
    try:
        yield pool.runner(n_updates)
    finally:
        pool.close()


def _in_order(do: Callable[..., Any], *things: Iterable[Any]) -> list[Any]:
    return list(map(do, *things))


def _side_by_side(
    threads: Any, n_others: int, do: Callable[..., Any], *things: Iterable[Any]
) -> list[Any]:
    waiting = deque(enumerate(zip(*things, strict=True)))
    results: list[Any] = [None] * len(waiting)

    def work() -> None:
        while waiting:
            try:
                number, thing = waiting.popleft()
            except IndexError:  # another thread was quicker
                return
            results[number] = do(*thing)

    begun = [threads.submit(work) for _ in range(min(n_others, len(waiting) - 1))]
    try:
        work()
    finally:
        errors = [one.exception() for one in begun]  # when they are done
    for error in errors:
        if error is not None:
            raise error
    return results
