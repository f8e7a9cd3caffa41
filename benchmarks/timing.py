"""Timing on a noisy machine: the best of several runs, and ratios within one run."""

import time
from collections.abc import Callable

REPEATS = 5


def best_of(run: Callable[..., object], *args: object) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run(*args)
        times.append(time.perf_counter() - start)
    return min(times)
