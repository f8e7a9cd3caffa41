"""What shards would gain in time on a quiet machine, by processor time, for machines that are not.

`python -m benchmarks.shards_by_processor`. What shards do side by side is done one after the other
and timed; of each step, the time of the busiest of K threads counts, and all that is not done side
by side counts as it is. What this leaves out is that cores share memory and caches.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.data import zipf_rows
from benchmarks.tables import markdown_table
from rarefy import SparseOnlineClassifier
from rarefy.engine import sharding, workers
from rarefy.estimators import passes

SHARDS = (2, 4)
REPEATS = 5
ROWS, FEW_ROWS = 500_000, 100_000
N_CLASSES = 20


class Timed:
    """Stands in for pools of so many threads, and counts the time that they would save."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self.saved = 0.0

    def run(self, do: Callable[..., Any], *things: Iterable[Any]) -> list[Any]:
        results, busy = [], [0.0] * self.n_threads
        for each in zip(*things, strict=True):
            start = time.thread_time()
            results.append(do(*each))
            busy[busy.index(min(busy))] += time.thread_time() - start
        self.saved += sum(busy) - max(busy)
        return results

    def runner(self, n_updates: int) -> Callable[..., list[Any]]:
        is_little = n_updates < workers.FEW_UPDATES
        return (lambda do, *things: list(map(do, *things))) if is_little else self.run


def seconds(run: Callable[[int], object], n_shards: int) -> float:
    """Processor time without what so many threads would save; the least of several runs."""
    found = []
    usual = workers.Pool.runner, sharding.n_cores, passes.n_cores
    for _ in range(REPEATS + 1):  # the first compiles
        timed = Timed(n_shards)
        workers.Pool.runner = lambda _, n_updates, by=timed: by.runner(n_updates)
        sharding.n_cores = passes.n_cores = lambda n=n_shards: n
        try:
            start = time.process_time()
            run(n_shards)
            found.append(time.process_time() - start - timed.saved)
        finally:
            workers.Pool.runner, sharding.n_cores, passes.n_cores = usual
    return min(found[1:])


def line(name: str, X: Any, y: Any, **parameters: Any) -> list[str]:
    def run(n_shards: int) -> object:
        return SparseOnlineClassifier(shards=n_shards, **parameters).fit(X, y)

    alone = seconds(run, 1)
    gains = [f"{alone / seconds(run, n_shards):.2f}" for n_shards in SHARDS]
    cells = [name, f"{alone:.2f}", *gains]
    print(" | ".join(cells), flush=True)
    return cells


def measure() -> str:
    lines = []
    data = zipf_rows(ROWS, 80_000)
    for rule in ("scale-free", "ftrl"):
        about = f"`{rule}`, 80,000 features"
        one, five = {"passes": 1, "shuffle": False}, {"passes": 5, "shuffle": False}
        lines.append(line(f"{about}, 1 pass in order", data.X, data.y, rule=rule, **one))
        lines.append(line(f"{about}, 5 passes in order", data.X, data.y, rule=rule, **five))
        lines.append(line(f"{about}, by default", data.X, data.y, rule=rule))
    few = zipf_rows(FEW_ROWS, 80_000)
    y = np.random.default_rng(0).integers(0, N_CLASSES, len(few.y))
    lines.append(line(f"`scale-free`, 80,000 features, {N_CLASSES} classes", few.X, y, **one))
    many = zipf_rows(ROWS, 3_000_000)
    lines.append(line("`scale-free`, 3,000,000 features", many.X, many.y, **one))
    columns = ["", "s, no shards", *(f"{n} shards" for n in SHARDS)]
    return markdown_table(columns, lines)


if __name__ == "__main__":
    print(measure())
