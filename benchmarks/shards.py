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
from benchmarks.timing import best_of, best_with_cores
from rarefy import SparseOnlineClassifier
from rarefy.engine.shard_states import states_of
from rarefy.engine.workers import Pool

SHARDS = (2, 4, 8, 16)
ROWS, MANY_ROWS, FEW_ROWS = 500_000, 2_000_000, 100_000
FEATURES, MANY_FEATURES = 80_000, 3_000_000
N_CLASSES = 20
MERGED = 1_000_000
FEW_BYTES, TEXT_BYTES, MANY_BYTES = 60_000_000, 600_000_000, 2_400_000_000
AIM = "2 shards on 2 cores: 1.6 times in memory and from the row cache, never slower from text"
IN_ORDER: dict[str, Any] = {"passes": 1, "shuffle": False}


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
    """Seconds without shards on two cores, of which so many are busy, and what K shards gain."""
    run(1)
    run(2)  # compiles
    with on_cores(2):
        alone, n_busy = best_with_cores(run, 1)
    found = [f"{alone:.2f}", f"{n_busy:.1f}"]
    for n_shards in on_this_machine():
        with on_cores(n_shards):
            found.append(f"{alone / best_of(run, n_shards):.2f}")
    return found


def in_memory(data: Dataset, y: Any, **parameters: Any) -> Callable[[int], object]:
    return lambda n: SparseOnlineClassifier(shards=n, **parameters).fit(data.X, y)


def memory_rows() -> list[list[str]]:
    lines = []
    ways: dict[str, dict[str, Any]] = {
        "1 pass in order": IN_ORDER,
        "5 passes in order": {**IN_ORDER, "passes": 5},
        "by default": {},
    }
    for n_rows, n_features, wanted in (
        (ROWS, FEATURES, ways),
        (MANY_ROWS, FEATURES, {"1 pass in order": IN_ORDER}),
        (ROWS, MANY_FEATURES, ways),
        (MANY_ROWS, MANY_FEATURES, {"1 pass in order": IN_ORDER}),
    ):
        data = zipf_rows(n_rows, n_features)
        for rule in ("scale-free", "ftrl"):
            for way, how in wanted.items():
                found = gains(in_memory(data, data.y, rule=rule, **how))
                lines.append([f"`{rule}`", f"{n_rows:,}", f"{n_features:,}", way, *found])
    data = zipf_rows(FEW_ROWS, FEATURES)
    y = np.random.default_rng(0).integers(0, N_CLASSES, len(data.y))
    way = f"1 pass in order, {N_CLASSES} classes"
    found = gains(in_memory(data, y, **IN_ORDER))
    return [*lines, ["`scale-free`", f"{FEW_ROWS:,}", f"{FEATURES:,}", way, *found]]


def from_file(file: Path, **parameters: Any) -> Callable[[int], object]:
    return lambda n_shards: rarefy.train(file, shards=n_shards, **parameters)


def stream_rows(folder: Path) -> list[list[str]]:
    lines = []
    stores: dict[str, dict[str, Any]] = {"table": {}, "hashed": {"bits": 20}}
    for n_features in (100_000, 1_000_000):
        different = number_rows(" ", n_features)
        for n_bytes in (TEXT_BYTES, MANY_BYTES):
            text = write_rows(folder / "rows.svm", different, n_bytes)
            n_rows = n_bytes // sum(map(len, different)) * len(different)
            about = "`scale-free`", f"{n_rows:,}", f"{n_features:,}"
            for store, parameters in stores.items():
                found = gains(from_file(text, **parameters))
                lines.append([*about, f"text, store {store}", *found])
                if n_bytes == MANY_BYTES:
                    continue
                cache = folder / f"{store}.arrow"
                for passes, way in ((1, "row cache"), (5, "row cache, 5 passes")):
                    found = gains(from_file(text, cache=cache, passes=passes, **parameters))
                    lines.append([*about, f"{way}, store {store}", *found])
                cache.unlink()
            text.unlink()
    return [*lines, of_many_classes(folder)]


def of_many_classes(folder: Path) -> list[str]:
    """Rows of which learning takes much longer than reading."""
    features = [row.partition(" ")[2] for row in number_rows(" ", FEATURES)]
    labels = np.random.default_rng(0).integers(0, N_CLASSES, len(features))
    different = [f"{label} {row}" for label, row in zip(labels, features, strict=True)]
    text = write_rows(folder / "classes.svm", different, FEW_BYTES)
    n_rows = FEW_BYTES // sum(map(len, different)) * len(different)
    found = gains(from_file(text, cache=folder / "classes.arrow", passes=5))
    way = f"row cache, 5 passes, store table, {N_CLASSES} classes"
    return ["`scale-free`", f"{n_rows:,}", f"{FEATURES:,}", way, *found]


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
        pool.runner(MERGED)(partial(found.average, learner), found.pieces(learner, 2))

    merge()  # compiles
    with on_cores(2):
        return f"{best_of(merge) * 1000:.0f} ms"


def measure() -> str:
    columns = [
        "rule",
        "rows",
        "features",
        "",
        "s, no shards",
        "cores busy",
        *(f"{n} shards" for n in on_this_machine()),
    ]
    with tempfile.TemporaryDirectory() as name:
        table = markdown_table(columns, [*memory_rows(), *stream_rows(Path(name))])
    title = f"Times as fast as without shards, with as many cores as shards (aim: {AIM})"
    busy = (
        "Cores busy are those of the run without shards, whose readers have threads of their own. "
    )
    busy += "If they are 1.5, two cores can be no more than 2 / 1.5 times as fast."
    merged = f"Two shards that have learned {MERGED:,} features each are merged in {merge_time()}"
    return f"{title}:\n\n{table}\n\n{busy}\n\n{merged} by two threads (aim: 50 ms)."


if __name__ == "__main__":
    print(measure())
