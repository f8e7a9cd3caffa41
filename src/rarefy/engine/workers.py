"""Threads that do work side by side."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

Run = Callable[..., list[Any]]  # applies a function to things, as map does
FEW_UPDATES = 1 << 15  # of weights, or copies of entries, for which no threads are started


def n_cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def workers(n_threads: int, n_updates: int) -> Iterator[Run]:
    """What applies a function to things side by side, or, if there is little to do, in order."""
    if n_threads == 1 or n_updates < FEW_UPDATES:
        yield lambda do, *things: list(map(do, *things))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield lambda do, *things: list(pool.map(do, *things))
