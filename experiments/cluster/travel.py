"""What learning on a cluster takes, measured: processor time by kind of work, and bytes."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rarefy.cluster import train
from rarefy.cluster.pieces import Piece, Reading
from rarefy.cluster.worker_protocol import InThisProcess


class Spent(NamedTuple):
    """What a run took."""

    n_shards: int
    rows: int
    entries: int
    dealt: int  # entries that shards learned; the driver learned the others
    meetings: int  # of a shard and a feature, in all rounds
    turns: int  # of a shard, in all rounds
    seconds: dict[str, float]  # of a processor: read, meet, learn, driver
    n_bytes: int  # to and from workers


class Timed(InThisProcess):
    """Notes how long the work of workers takes, and how much they meet."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = defaultdict(float)
        self.meetings = self.turns = self.dealt = 0

    def start(self, function: Callable[..., Any], *arguments: Any, n_results: int = 1) -> Any:
        begin = time.process_time()
        found = super().start(function, *arguments, n_results=n_results)
        self.seconds[function.__name__] += time.process_time() - begin
        if function.__name__ == "meet":
            self.meetings += len(found[0].value.indices)
            self.dealt += int(found[0].value.counts.sum())
            self.turns += 1
        return found

    def read(self, reading: Reading, piece: Piece) -> Iterator[Any]:
        begin = time.process_time()
        items = list(super().read(reading, piece))  # so that its threads have ended
        self.seconds["read"] += time.process_time() - begin
        yield from items


def spent(files: list[Path], n_shards: int, n_entries: int, **how: Any) -> Spent:
    """Train in one process that plays all parts; readers run in threads, and are counted, too."""
    workers = Timed()
    begin = time.process_time()
    model = train(*files, on=workers, shards=n_shards, **how)
    total = time.process_time() - begin
    seconds = {name: workers.seconds[name] for name in ("read", "meet", "learn")}
    seconds["driver"] = total - sum(workers.seconds.values())
    n_bytes = sum(workers.n_bytes.values())
    counts = n_entries, workers.dealt, workers.meetings, workers.turns
    return Spent(n_shards, model.t_, *counts, seconds, n_bytes)


def distinct_in(X: Any, n_rows: int) -> float:
    """How many different features rows have that follow each other, in the mean."""
    begins = np.linspace(0, X.shape[0] - n_rows, min(32, max(X.shape[0] // n_rows, 1))).astype(int)
    found = [len(np.unique(X.indices[X.indptr[b] : X.indptr[b + n_rows]])) for b in begins]
    return float(np.mean(found))
