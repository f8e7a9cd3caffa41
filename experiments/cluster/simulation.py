"""A model of time: how long a training takes on machines that are not at hand."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.engine.round_size import RoundSize, n_dealt
from rarefy.engine.sharding import FEWEST_OF_A_SHARD


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
    in_order: float  # an entry that the driver learns
    n_bytes: float  # a meeting, to the worker and back
    in_order_bytes: float  # an entry that the driver learns


class Cluster(NamedTuple):
    """Workers, each of which learns a shard, and their network."""

    n_workers: int
    network: float = 1.25e9  # bytes a second of the driver: 10 Gbit/s
    latency: float = 1e-3  # seconds of a wave of tasks, of which a round has three


FULL = 0.75  # share of its places from which on a table is made larger
AT_A_TIME = 1 << 20  # rows that are looked at


class Round(NamedTuple):
    """A round that begins when some rows have been learned."""

    n_rows: int
    is_in_order: bool  # no shards learn, but the driver
    is_longest: bool  # it ends because it may not have more entries


def shards_of_round(n_shards: int, n_rows: float, t: int) -> float:
    """How many shards learn: if rows are few, or many for those before them, not all."""
    most = max(2, (1 << t.bit_length() - 1) // n_rows) if t else 1
    return max(min(n_shards, most, n_dealt(int(n_rows)) // FEWEST_OF_A_SHARD), 1)


def meetings_of_round(data: Sparsity, n_learning: float, n_rows: float) -> float:
    """How often a shard meets a feature."""
    return n_learning * data.features(max(n_dealt(int(n_rows)) / n_learning, 1.0))


def seconds_of_round(
    data: Sparsity, costs: Costs, cluster: Cluster, of: Round, n_rows: float, t: int
) -> float:
    """The workers read ahead; all else in a round waits for what comes before it."""
    entries, n_learning = n_rows * data.entries, shards_of_round(cluster.n_workers, n_rows, t)
    if of.is_in_order or n_learning < 2:
        learning = entries * (costs.in_order + costs.in_order_bytes / cluster.network)
        return max(entries * costs.read / cluster.n_workers, learning)
    meetings = meetings_of_round(data, n_learning, n_rows)
    learning = entries * (costs.meet + costs.learn) / n_learning + costs.worker_turn
    merging = meetings * (costs.driver + costs.n_bytes / cluster.network)
    merging += 3 * cluster.latency
    working = entries * (costs.read + costs.meet + costs.learn) / cluster.n_workers
    return max(working, learning + merging)


def seconds(data: Sparsity, costs: Costs, cluster: Cluster, n_rows: float) -> float:
    """A whole pass; with one worker, without shards."""
    if cluster.n_workers == 1:
        return n_rows * data.entries * (costs.read + costs.serial)
    t, total = 0, 0.0
    while t < n_rows:
        of = round_of(data, cluster.n_workers, t)
        n_rounds = max(int((n_rows - t) // of.n_rows), 1) if of.is_longest else 1
        n = min(of.n_rows, n_rows - t)
        total += n_rounds * seconds_of_round(data, costs, cluster, of, n, t)
        t += n_rounds * of.n_rows
    return total


def round_of(data: Sparsity, n_shards: int, t: int) -> Round:
    """The round that begins then, with a table that has room for the features that were met."""
    room = 1 << int(data.features(max(t, 1)) / FULL).bit_length()
    size, n = RoundSize(t, room, n_shards, FEWEST_OF_A_SHARD), 0
    ends_early = False
    while not size.is_complete:
        lengths = np.full(min(size.n_missing, AT_A_TIME), int(data.entries))
        taken = size.take(lengths, np.ones(len(lengths), np.bool_))
        ends_early = taken < len(lengths)
        n += taken
    return Round(n, size.is_in_order, ends_early)
