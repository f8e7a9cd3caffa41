"""What learning on a cluster takes, measured: processor time by kind of work, and bytes."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rarefy.cluster import train
from rarefy.cluster.pieces import End, Piece, Reading
from rarefy.cluster.worker_protocol import InThisProcess
from rarefy.engine import round_size, sharding

SHORT_ROUNDS, FEW_ROWS = 128, 32  # while the number of rows doubles; of a shard, at least


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
    outline_bytes: int  # of these, what the driver is told of rows when they have been read
    row_bytes: int  # in the memory of workers: what was read
    met_bytes: int  # in the memory of workers: rows with the numbers that shards gave


class Timed(InThisProcess):
    """Notes how long the work of workers takes, and how much they meet and keep."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = defaultdict(float)
        self.meetings = self.turns = self.dealt = 0
        self.outline_bytes = self.row_bytes = self.met_bytes = 0
        self.was_read: list[tuple[Reading, Piece]] = []

    def start(self, function: Callable[..., Any], *arguments: Any, n_results: int = 1) -> Any:
        with self._timing(function.__name__):
            found = super().start(function, *arguments, n_results=n_results)
        if function.__name__ == "meet":
            met, rows = (one.value for one in found)
            self.meetings += len(met.indices)
            self.dealt += int(met.counts.sum())
            self.turns += 1
            self.met_bytes += bytes_of_arrays(rows)
        return found

    def read(self, reading: Reading, piece: Piece) -> Iterator[Any]:
        self.was_read.append((reading, piece))
        before = sum(self.n_bytes.values())
        with self._timing("read"):
            items = list(super().read(reading, piece))  # so that its threads have ended
        self.outline_bytes += sum(self.n_bytes.values()) - before
        kept = (item[1].value for item in items if not isinstance(item, End))
        self.row_bytes += sum(map(bytes_of_arrays, kept))
        yield from items

    def _sent(self, value: Any, where: str) -> Any:
        with self._timing("travel"):
            return super()._sent(value, where)

    @contextmanager
    def _timing(self, work: str) -> Iterator[None]:
        """Note the processor's time, without that for what travels meanwhile."""
        begin, travelled = time.process_time(), self.seconds["travel"]
        yield
        within = self.seconds["travel"] - travelled
        self.seconds[work] += time.process_time() - begin - within


def bytes_of_arrays(value: Any) -> int:
    """Of all arrays in tuples of tuples, each once."""
    arrays: dict[int, int] = {}

    def look_at(one: Any) -> None:
        if isinstance(one, np.ndarray):
            arrays[id(one)] = one.nbytes
        elif isinstance(one, tuple):
            for part in one:
                look_at(part)

    look_at(value)
    return sum(arrays.values())


def spent(files: Sequence[Path], n_shards: int, n_entries: int) -> Spent:
    """Train in one process that plays all parts; readers run in threads, and are counted, too."""
    workers = Timed()
    begin = time.process_time()
    model = train(*files, on=workers, shards=n_shards)
    total = time.process_time() - begin
    seconds = {name: workers.seconds[name] for name in ("read", "meet", "learn")}
    seconds["driver"] = total - sum(workers.seconds.values())
    counts = n_entries, workers.dealt, workers.meetings, workers.turns
    sizes = workers.outline_bytes, workers.row_bytes, workers.met_bytes
    return Spent(n_shards, model.t_, *counts, seconds, sum(workers.n_bytes.values()), *sizes)


def best_spent(files: Sequence[Path], n_shards: int, n_entries: int) -> Spent:
    """The least of three, for every kind of work: others use the machine, too."""
    runs = [spent(files, n_shards, n_entries) for _ in range(3)]
    least = {name: min(run.seconds[name] for run in runs) for name in runs[0].seconds}
    return runs[0]._replace(seconds=least)


@contextmanager
def short_rounds() -> Iterator[None]:
    """Rounds so short that 128 shards learn some thousand rows."""
    before = round_size.MOST_ROUNDS, sharding.FEWEST_OF_A_SHARD
    round_size.MOST_ROUNDS, sharding.FEWEST_OF_A_SHARD = SHORT_ROUNDS, FEW_ROWS
    try:
        yield
    finally:
        round_size.MOST_ROUNDS, sharding.FEWEST_OF_A_SHARD = before


def distinct_in(X: Any, n_rows: int) -> float:
    """How many different features rows have that follow each other, in the mean."""
    begins = np.linspace(0, X.shape[0] - n_rows, min(32, max(X.shape[0] // n_rows, 1))).astype(int)
    found = [len(np.unique(X.indices[X.indptr[b] : X.indptr[b + n_rows]])) for b in begins]
    return float(np.mean(found))


def zipf_features(n_rows: int, n_features: int, draws_per_row: int, seed: int) -> int:
    """How many different features made rows have, without making the rows."""
    random = np.random.default_rng(seed)
    ranks = (n_features ** random.random(n_rows * draws_per_row)).astype(np.int64) - 1
    is_there = np.zeros(n_features, np.bool_)
    is_there[np.minimum(ranks, n_features - 1)] = True
    return int(np.count_nonzero(is_there))
