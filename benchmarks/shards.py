"""What shards gain in time: K of them on K cores against one, in the same run.

`python -m benchmarks.shards` measures this alone.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rarefy
from benchmarks.data import Dataset, zipf_rows
from benchmarks.tables import markdown_table
from benchmarks.texts import number_rows, write_rows
from benchmarks.timing import best_of
from rarefy import SparseOnlineClassifier
from rarefy.engine.met_features import ranges
from rarefy.engine.shard_states import states_of
from rarefy.engine.workers import Pool

SHARDS = (2, 4, 8, 16)
ROWS, FEW_ROWS = 500_000, 100_000
N_CLASSES = 20
MERGED = 1_000_000
TEXT_BYTES = 200_000_000
AIM = "2 shards on 2 cores: 1.6 times in memory and from the row cache, never slower from text"


@contextmanager
def on_cores(n: int) -> Iterator[None]:
    """The threads that are started in the meantime, and this one, have so many cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:n])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def on_this_machine() -> list[int]:
    """Numbers of shards for which there are cores."""
    return [n for n in SHARDS if n <= len(os.sched_getaffinity(0))]


def gains(run: Callable[[int], object]) -> list[str]:
    """Seconds without shards on two cores, and how many times as fast K shards on K are."""
    run(1)
    run(2)  # compiles
    with on_cores(2):
        alone = best_of(run, 1)
    found = [f"{alone:.2f}"]
    for n_shards in on_this_machine():
        with on_cores(n_shards):
            found.append(f"{alone / best_of(run, n_shards):.2f}")
    return found


def in_memory(data: Dataset, y: Any, **parameters: Any) -> Callable[[int], object]:
    return lambda n: SparseOnlineClassifier(shards=n, **parameters).fit(data.X, y)


def memory_rows() -> list[list[str]]:
    lines = []
    in_order: dict[str, Any] = {"passes": 1, "shuffle": False}
    for n_features in (80_000, 3_000_000):
        data = zipf_rows(ROWS, n_features)
        for rule in ("scale-free", "ftrl"):
            ways: dict[str, dict[str, Any]] = {
                "1 pass in order": in_order,
                "5 passes in order": {**in_order, "passes": 5},
                "by default": {},
            }
            for way, how in ways.items():
                found = gains(in_memory(data, data.y, rule=rule, **how))
                lines.append([f"`{rule}`, {n_features:,} features, {way}", *found])
    data = zipf_rows(FEW_ROWS, 80_000)
    y = np.random.default_rng(0).integers(0, N_CLASSES, len(data.y))
    name = f"`scale-free`, 80,000 features, {N_CLASSES} classes, 1 pass in order"
    return [*lines, [name, *gains(in_memory(data, y, **in_order))]]


def from_file(file: Path, **parameters: Any) -> Callable[[int], object]:
    return lambda n_shards: rarefy.train(file, shards=n_shards, **parameters)


def stream_rows(folder: Path) -> list[list[str]]:
    text, lines = write_rows(folder / "rows.svm", number_rows(" "), TEXT_BYTES), []
    stores: dict[str, dict[str, Any]] = {"table": {}, "hashed": {"bits": 20}}
    for store, parameters in stores.items():
        cache = folder / f"{store}.arrow"
        from_cache = gains(from_file(text, cache=cache, **parameters))
        lines.append([f"row cache, store {store}", *from_cache])
        lines.append([f"text, store {store}", *gains(from_file(text, **parameters))])
    return lines


def merge_time() -> str:
    """What it takes to merge what two shards have learned about a million features each."""
    data = zipf_rows(1_000, MERGED)
    model = SparseOnlineClassifier(passes=1).fit(data.X, data.y)
    learner, slots = model.learner_, np.arange(MERGED)
    random = np.random.default_rng(0)
    learner.state[:] = random.random(learner.state.shape)
    states = [learner.state + random.random(learner.state.shape) for _ in range(2)]
    found = states_of(learner, [slots, slots], states)
    pool = Pool(2)

    def merge() -> None:
        run, words = pool.runner(MERGED), list(ranges(found.of_shards.shape[1], 2))
        run(partial(found.average, learner), words)

    merge()  # compiles
    with on_cores(2):
        return f"{best_of(merge) * 1000:.0f} ms"


def measure() -> str:
    columns = ["", "s, no shards", *(f"{n} shards" for n in on_this_machine())]
    with tempfile.TemporaryDirectory() as name:
        table = markdown_table(columns, [*memory_rows(), *stream_rows(Path(name))])
    title = f"Times as fast as without shards, with as many cores as shards (aim: {AIM})"
    merged = f"Two shards that have learned {MERGED:,} features each are merged in {merge_time()}"
    return f"{title}:\n\n{table}\n\n{merged} by two threads (aim: 50 ms)."


if __name__ == "__main__":
    print(measure())
