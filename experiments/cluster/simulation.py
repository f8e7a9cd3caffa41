"""A model of time: how long a training takes on machines that are not at hand."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.engine import sharding
from rarefy.engine.round_size import RoundSize, n_dealt


class Sparsity(NamedTuple):
    """How rows share features: what n of them have, by interpolation on logarithmic scales."""

    entries: float  # of a row
    rows: NDArray[np.float64]
    distinct: NDArray[np.float64]
    n_features: float  # that there are at all; infinite if nobody knows

    def features(self, n_rows: float) -> float:
        """How many different features so many rows have; beyond what was seen, it goes on so."""
        x, y = np.log(self.rows), np.log(self.distinct)
        slope = (y[-1] - y[-2]) / (x[-1] - x[-2])
        at = np.log(n_rows)
        beyond = y[-1] + slope * (at - x[-1])
        found = np.exp(beyond if at > x[-1] else np.interp(at, x, y))
        return float(min(found, self.n_features))


class Costs(NamedTuple):
    """Seconds of a core, and bytes; a meeting is one of a shard and a feature, in a round."""

    read: float  # an entry of a row
    meet: float  # an entry: find out which features there are
    learn: float  # an entry
    serial: float  # an entry that is learned without shards
    driver: float  # a meeting
    in_order: float  # an entry that the driver learns
    n_bytes: float  # a meeting, to the worker and back
    in_order_bytes: float  # an entry that the driver learns
    outline_bytes: float  # a row, of which the driver is told
    row_bytes: float  # an entry that was read, in the memory of workers
    met_bytes: float  # an entry, with its number in the shard, in the memory of workers
    store: float  # a byte that a task leaves there, or that travels: all processes together
    task: float  # a task that does nothing: all processes together
    wave: float  # seconds until tasks are over that do nothing
    start: float  # seconds of a run with next to no rows


class Cluster(NamedTuple):
    """Workers, each of which learns a shard, and their network."""

    n_workers: int
    network: float = 1.25e9  # bytes a second of the driver: 10 Gbit/s
    n_cores: float = np.inf  # that all processes share; infinite: each has its own


FULL = 0.75  # share of its places from which on a table is made larger


class Round(NamedTuple):
    """A round that begins when some rows have been learned."""

    n_rows: int
    is_in_order: bool  # no shards learn, but the driver
    is_longest: bool  # it ends because it may not have more entries


def shards_of_round(n_shards: int, n_rows: float, t: int) -> float:
    """How many shards learn: if rows are few, or many for those before them, not all."""
    most = max(2, (1 << t.bit_length() - 1) // n_rows) if t else 1
    return max(min(n_shards, most, n_dealt(int(n_rows)) // sharding.FEWEST_OF_A_SHARD), 1)


def meetings_of_round(data: Sparsity, n_learning: float, n_rows: float) -> float:
    """How often a shard meets a feature."""
    return n_learning * data.features(max(n_dealt(int(n_rows)) / n_learning, 1.0))


def seconds_of_round(
    data: Sparsity, costs: Costs, cluster: Cluster, of: Round, n_rows: float, t: int
) -> float:
    """The workers read ahead; all else in a round waits for what comes before it."""
    n_learning = shards_of_round(cluster.n_workers, n_rows, t)
    if of.is_in_order or n_learning < 2:
        return _seconds_in_order(data, costs, cluster, n_rows)
    return _seconds_in_shards(data, costs, cluster, n_rows, n_learning)


def _seconds_in_order(data: Sparsity, costs: Costs, cluster: Cluster, n_rows: float) -> float:
    """Rows travel to the driver."""
    entries = n_rows * data.entries
    reading = entries * (costs.read + costs.row_bytes * costs.store)
    learning = entries * (costs.in_order + costs.in_order_bytes * costs.store)
    travelling = entries * costs.in_order_bytes + n_rows * costs.outline_bytes
    waiting = travelling / cluster.network + costs.wave
    return max(
        reading / cluster.n_workers,
        learning + waiting,
        (reading + learning + costs.task) / cluster.n_cores,
    )


def _seconds_in_shards(
    data: Sparsity, costs: Costs, cluster: Cluster, n_rows: float, n_learning: float
) -> float:
    entries, meetings = n_rows * data.entries, meetings_of_round(data, n_learning, n_rows)
    reading = entries * (costs.read + costs.row_bytes * costs.store)
    learning = entries * (costs.meet + costs.met_bytes * costs.store + costs.learn)
    merging = meetings * (costs.driver + costs.n_bytes * costs.store)
    tasks = (2 * n_learning + 1) * costs.task
    travelling = meetings * costs.n_bytes + n_rows * costs.outline_bytes
    waiting = travelling / cluster.network + 3 * costs.wave
    return max(
        (reading + learning) / cluster.n_workers,
        learning / n_learning + merging + waiting + tasks,
        (reading + learning + merging + tasks) / cluster.n_cores,
    )


def seconds(data: Sparsity, costs: Costs, cluster: Cluster, n_rows: float) -> float:
    """A whole pass; with one worker, without shards."""
    if cluster.n_workers == 1:
        return n_rows * data.entries * (costs.read + costs.serial)
    t, total = 0, costs.start
    while t < n_rows:
        of = round_of(data, cluster.n_workers, t)
        n_rounds = _rounds_alike(of, t, n_rows)
        n = min(of.n_rows, n_rows - t)
        total += n_rounds * seconds_of_round(data, costs, cluster, of, n, t)
        t += n_rounds * of.n_rows
    return total


def _rounds_alike(of: Round, t: int, n_rows: float) -> int:
    """How many rounds are like this one, until the number of rows has doubled."""
    if t == 0 or not (of.is_in_order or of.is_longest):
        return 1
    return max(int(min(1 << t.bit_length(), n_rows) - t) // of.n_rows, 1)


def round_of(data: Sparsity, n_shards: int, t: int) -> Round:
    """The round that begins then, with a table that has room for the features that were met."""
    room = 1 << int(data.features(max(t, 1)) / FULL).bit_length()
    size = RoundSize(t, room, n_shards, sharding.FEWEST_OF_A_SHARD)
    n, is_longest = rows_until_complete(size, round(data.entries))
    return Round(n, size.is_in_order, is_longest)


def rows_until_complete(size: RoundSize, entries: int) -> tuple[int, bool]:
    """What `take` finds if all rows have so many entries; and whether the round is of most."""
    wanted = -(-size._n_entries_wanted // entries)
    by_steps = max(-(-wanted // size._step), 1) * size._step
    by_entries = -(-size._most_entries // entries)
    return min(by_steps, size._most, by_entries), by_entries <= min(by_steps, size._most)


class Exchange(NamedTuple):
    """What shards and the driver tell each other in a pass."""

    rows: float
    meetings: float
    entries_in_order: float
    most_learning: float  # shards of a round

    def n_bytes(self, costs: Costs) -> float:
        learned = self.meetings * costs.n_bytes + self.entries_in_order * costs.in_order_bytes
        return learned + self.rows * costs.outline_bytes


def exchange(data: Sparsity, n_shards: int, n_rows: int) -> Exchange:
    meetings, in_order, most, t = 0.0, n_rows * data.entries, 1.0, 0
    while t < n_rows:
        of = round_of(data, n_shards, t)
        n = min(of.n_rows, n_rows - t)
        n_learning = shards_of_round(n_shards, n, t)
        if n_learning > 1 and not of.is_in_order:
            meetings += meetings_of_round(data, n_learning, n)
            in_order -= n_dealt(n) * data.entries
            most = max(most, n_learning)
        t += n
    return Exchange(n_rows, meetings, in_order, most)
