"""A model of time: how long a training takes on machines that are not at hand."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.engine.round_size import MOST_EXAMPLES, RoundSize
from rarefy.engine.sharding import FEWEST_OF_A_SHARD, SETTLING


class Sparsity(NamedTuple):
    """How rows share features: what n of them have, by interpolation on logarithmic scales."""

    name: str
    entries: float  # of a row
    rows: NDArray[np.float64]
    distinct: NDArray[np.float64]

    def features(self, n_rows: float) -> float:
        """How many different features so many rows have; beyond what was seen, it goes on so."""
        x, y = np.log(self.rows), np.log(self.distinct)
        slope = (y[-1] - y[-2]) / (x[-1] - x[-2])
        at = np.log(n_rows)
        beyond = y[-1] + slope * (at - x[-1])
        return float(np.exp(beyond if at > x[-1] else np.interp(at, x, y)))


class Costs(NamedTuple):
    """Seconds of a core, and bytes.

    A meeting is one of a shard and a feature, and a turn is what a shard does in a round.
    """

    read: float  # an entry of a row
    meet: float  # an entry
    learn: float  # an entry
    worker_turn: float
    serial: float  # an entry that is learned without shards
    driver: float  # a meeting
    driver_turn: float
    n_bytes: float  # a meeting, to the worker and back


class Cluster(NamedTuple):
    """Workers, each of which learns a shard, and their network."""

    n_workers: int
    network: float = 1.25e9  # bytes a second of the driver: 10 Gbit/s
    latency: float = 1e-3  # seconds of a wave of tasks, of which a round has three
    most_examples: int = MOST_EXAMPLES  # of a round; others than this one make other models


def shards_of_round(n_shards: int, n_rows: float, t: int) -> float:
    """How many shards learn: if rows are few, or many for those before them, not all."""
    n_dealt = n_rows - min(SETTLING, n_rows // 4)
    most = max(2, (1 << t.bit_length() - 1) // n_rows) if t else 1
    return max(min(n_shards, most, n_dealt // FEWEST_OF_A_SHARD), 1)


def meetings_of_round(data: Sparsity, n_learning: float, n_rows: float) -> float:
    """How often a shard meets a feature."""
    n_dealt = n_rows - min(SETTLING, n_rows // 4)
    return n_learning * data.features(max(n_dealt / n_learning, 1.0))


def seconds_of_round(
    data: Sparsity, costs: Costs, cluster: Cluster, n_rows: float, t: int
) -> float:
    """The workers read ahead; all else in a round waits for what comes before it."""
    entries, n_learning = n_rows * data.entries, shards_of_round(cluster.n_workers, n_rows, t)
    meetings = meetings_of_round(data, n_learning, n_rows)
    learning = entries * (costs.meet + costs.learn) / n_learning + costs.worker_turn
    merging = meetings * (costs.driver + costs.n_bytes / cluster.network)
    merging += n_learning * costs.driver_turn + 3 * cluster.latency
    working = entries * (costs.read + costs.meet + costs.learn) / cluster.n_workers
    return max(working, learning + merging)


def seconds(data: Sparsity, costs: Costs, cluster: Cluster, n_rows: float) -> float:
    """A whole pass; with one worker, without shards."""
    if cluster.n_workers == 1:
        return n_rows * data.entries * (costs.read + costs.serial)
    t, total = 0, 0.0
    while t < n_rows:
        n = _n_examples(data, cluster, t)
        n_rounds = int((n_rows - t) // n) if n == cluster.most_examples else 0
        total += max(n_rounds, 1) * seconds_of_round(data, costs, cluster, min(n, n_rows - t), t)
        t += max(n_rounds, 1) * n
    return total


def _n_examples(data: Sparsity, cluster: Cluster, t: int) -> int:
    """How many rows the round has that begins when t have been learned."""
    if cluster.most_examples == MOST_EXAMPLES or t < 8 * MOST_EXAMPLES:
        return round_of(data, cluster.n_workers, t)
    return min(t // 8, cluster.most_examples)


def round_of(data: Sparsity, n_shards: int, t: int) -> int:
    """How many rows the round has if there is room for no more features than were met."""
    size, n = RoundSize(t, int(data.features(max(t, 1))), n_shards), 0
    while not size.is_complete:
        lengths = np.full(size.n_missing, int(data.entries))
        n += size.take(lengths, np.ones(len(lengths), np.bool_))
    return n
