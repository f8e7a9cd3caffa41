"""Timing on a noisy machine: the best of several runs, and ratios within one run."""

import time
from collections.abc import Callable

REPEATS = 5


def best_of(run: Callable[..., object], *args: object) -> float:
    """Seconds of the fastest of several runs."""
    return best_with_cores(run, *args)[0]


def best_with_cores(run: Callable[..., object], *args: object) -> tuple[float, float]:
    """Seconds of the fastest of several runs, and how many cores it kept busy."""
    found = []
    for _ in range(REPEATS):
        start, cpu = time.perf_counter(), time.process_time()
        run(*args)
        seconds = time.perf_counter() - start
        found.append((seconds, (time.process_time() - cpu) / seconds))
    return min(found)
