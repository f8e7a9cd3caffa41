"""The model of time for clusters, and how its costs are measured."""

import numpy as np
import pytest

from benchmarks.data import zipf_rows
from experiments.cluster.simulation import (
    Cluster,
    Costs,
    Sparsity,
    exchange,
    round_of,
    rows_until_complete,
    seconds,
    shards_of_round,
)
from experiments.cluster.travel import Timed, bytes_of_arrays, short_rounds, zipf_features
from rarefy.cluster import train
from rarefy.engine.round_size import RoundSize
from rarefy.engine.sharding import FEWEST_OF_A_SHARD

ENTRIES = 30
CHUNK = 1 << 16  # rows
COSTS = Costs(*[1e-8] * 14, start=0.1)._replace(n_bytes=100.0, in_order_bytes=20.0)


def sparsity(n_features=float("inf")):
    rows = 2.0 ** np.arange(3, 18)
    return Sparsity(ENTRIES, rows, 30.0 * rows**0.7, n_features)


def test_features_go_on_as_they_were_seen():
    assert sparsity().features(2.0**20) == pytest.approx(30.0 * 2.0**14)


def test_there_are_no_more_features_than_exist():
    assert sparsity(1000.0).features(1e9) == 1000.0
    assert sparsity(1e6).features(64.0) == pytest.approx(30.0 * 64.0**0.7)


@pytest.mark.parametrize("n_shards", [2, 16, 128])
@pytest.mark.parametrize("t", [0, 256, 20_000, 3_000_000, 80_000_000])
def test_a_round_is_as_long_as_the_engine_makes_it(t, n_shards):
    sizes = t, 1 << 21, n_shards, FEWEST_OF_A_SHARD
    size, n_rows = RoundSize(*sizes), 0
    while not size.is_complete:
        n_rows += size.take(np.arange(CHUNK + 1) * ENTRIES, np.ones(CHUNK))
    assert rows_until_complete(RoundSize(*sizes), ENTRIES)[0] == n_rows


def test_rounds_alike_are_taken_together_until_rows_have_doubled():
    data, cluster = sparsity(1e6), Cluster(2)
    assert seconds(data, COSTS, cluster, 1e8) == pytest.approx(
        10 * seconds(data, COSTS, cluster, 1e7), rel=0.3
    )


def test_shared_cores_take_all_the_work_there_is():
    data = sparsity(1e5)
    own, shared, half = (
        seconds(data, COSTS, Cluster(8, n_cores=n), 1e7) for n in (np.inf, 1.0, 0.5)
    )
    assert own < shared
    assert half == pytest.approx(2 * shared, rel=0.1)


def test_128_shards_learn_only_if_rounds_are_short_or_rows_very_many():
    data = sparsity(1 << 14)
    assert exchange(data, 128, 1 << 21).most_learning == 16
    assert exchange(data, 128, 1 << 21).meetings == exchange(data, 16, 1 << 21).meetings
    late = 10**10
    assert shards_of_round(128, round_of(data, 128, late).n_rows, late) == 128
    with short_rounds():
        assert exchange(data, 128, 1 << 21).most_learning == 128


def test_the_model_counts_meetings_as_the_engine_has_them(tmp_path):
    from sklearn.datasets import dump_svmlight_file

    data = zipf_rows(1 << 16, 1 << 10, 8)
    dump_svmlight_file(data.X, data.y, str(tmp_path / "rows.svm"))
    workers = Timed()
    with short_rounds():
        train(tmp_path / "rows.svm", on=workers, shards=8)
    rows = [1 << n for n in range(3, 16)]
    met = [np.mean([zipf_features(n, 1 << 10, 8, seed) for seed in range(8)]) for n in rows]
    like = Sparsity(data.X.nnz / data.X.shape[0], np.array(rows, float), np.array(met), 1 << 10)
    with short_rounds():
        expected = exchange(like, 8, 1 << 16)
    assert expected.most_learning == 8
    assert expected.meetings == pytest.approx(workers.meetings, rel=0.1)
    assert workers.row_bytes > 16 * data.X.nnz
    assert set(workers.seconds) >= {"read", "meet", "learn", "travel"}


def test_an_array_that_comes_twice_is_kept_once():
    some, others = np.zeros(10), np.zeros(5, np.int32)
    assert bytes_of_arrays((some, (others, some), None)) == 100
