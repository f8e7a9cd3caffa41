"""A model of time: how long a training takes on machines that are not at hand."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.engine.sharding import Sharding


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
    """Seconds of a core, and bytes, for one entry, meeting or row."""

    read: float  # an entry
    meet: float  # an entry
    learn: float  # an entry
    serial: float  # an entry that is learned without shards
    driver: float  # a meeting
    n_bytes: float  # a meeting, to the worker and back


class Cluster(NamedTuple):
    """Workers, each of which learns a shard, and their network."""

    n_workers: int
    network: float = 1.25e9  # bytes a second of the driver: 10 Gbit/s
    latency: float = 1e-3  # seconds of a wave of tasks, of which a round has three
    most_examples: int | None = None  # of a round, if not as it is


def seconds_of_round(data: Sparsity, costs: Costs, cluster: Cluster, n_rows: float) -> float:
    """The workers read ahead; all else in a round waits for what comes before it."""
    k, entries = cluster.n_workers, n_rows * data.entries
    meetings = k * data.features(max(n_rows / k, 1.0))
    learning = entries * (costs.meet + costs.learn) / k
    merging = meetings * (costs.driver + costs.n_bytes / cluster.network) + 3 * cluster.latency
    return max(entries * costs.read / k + learning, learning + merging)


def seconds(data: Sparsity, costs: Costs, cluster: Cluster, n_rows: float) -> float:
    """A whole pass; with one worker, without shards."""
    if cluster.n_workers == 1:
        return n_rows * data.entries * (costs.read + costs.serial)
    sharding, t, total = Sharding(cluster.n_workers), 0, 0.0
    while t < n_rows:
        n = sharding.n_examples(t)
        if cluster.most_examples is not None and t >= 8 * cluster.most_examples:
            n = cluster.most_examples
        largest = n == sharding.n_examples(1 << 60) or n == cluster.most_examples
        n_rounds = max(int((n_rows - t) // n), 1) if largest else 1
        total += n_rounds * seconds_of_round(data, costs, cluster, min(n, n_rows - t))
        t += n_rounds * n
    return total
