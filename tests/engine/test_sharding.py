"""Learning in shards: the same bits on any number of threads, and nearly the serial model."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import rarefy
from rarefy.arrays import as_rows, part_of
from rarefy.engine import round_size, sharding
from rarefy.engine.round_size import RoundSize
from rarefy.engine.sharding import Sharding, can_be_sharded
from rarefy.engine.whole_states import WholeStates
from rarefy.errors import ConfigError
from rarefy.rules import RULES
from tests import data, naive_shards
from tests.in_order import classifier_in_order

SHARDED = ["adagrad-rda", "ftrl", "scale-free", "scale-free-ftrl"]
FEWEST = 64  # rows of a shard


@pytest.fixture(autouse=True)
def few_rows_are_enough(monkeypatch):
    monkeypatch.setattr(sharding, "FEWEST_OF_A_SHARD", FEWEST)


def learner_and_rows(
    rule: str = "scale-free", n: int = 4000, kind: str = "binary", d: int = 25, **parameters
):
    problem = data.problem(kind, n=n, d=d, gap=False)
    estimator = classifier_in_order(rule=rule, **parameters)
    X, y, importance = estimator._prepare(problem.csr, problem.y, None)
    learner = estimator._new_learner(estimator._task())
    return learner, as_rows(X, y, importance)


def bits(learner) -> bytes:
    parts = (learner.state, learner.intercept_state, learner.progress)
    return b"".join(part.tobytes() for part in parts) + repr(learner.clock).encode()


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_threads_make_no_difference(kind):
    found = []
    for n_threads in (1, 2, 5):
        learner, rows = learner_and_rows(kind=kind)
        Sharding(4, n_threads).learn(learner, rows)
        found.append(bits(learner))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_where_states_are_makes_no_difference(kind, monkeypatch):
    """Whether a shard has a copy of the whole state, or the states of what it meets."""
    found = []
    for used in (False, True):
        monkeypatch.setattr(WholeStates, "are_used", lambda *_, used=used: used)
        learner, rows = learner_and_rows(kind=kind, d=300)
        Sharding(4, 2).learn(learner, rows)
        found.append(bits(learner))
    assert found[0] == found[1]


def test_rounds_may_come_in_parts():
    learner, rows = learner_and_rows()
    Sharding(4, 1).learn(learner, rows)
    other, _ = learner_and_rows()
    four, begin = Sharding(4, 2), 0
    while begin < len(rows.y):
        end = begin + four.new_round(other).take(rows.indptr[begin:], rows.importance[begin:])
        middle = (begin + end) // 3 + (end - begin) // 2
        middle = min(max(middle, begin), end)
        cuts = [begin, middle, end]
        parts = [part_of(rows, a, b) for a, b in pairwise(cuts) if a < b]
        four.learn_round(other, parts)
        begin = end
    assert bits(other) == bits(learner)


@pytest.mark.parametrize(
    ("rule", "n_shards"),
    [
        ("scale-free", 3),
        *(
            pytest.param(rule, n_shards, marks=pytest.mark.slow)
            for rule in naive_shards.RULES
            for n_shards in (2, 7, 16)
        ),
    ],
)
def test_shards_learn_as_the_dense_ones_do(rule, n_shards, monkeypatch):
    problem = data.problem("binary", n=6000, d=40, gap=False)
    X = problem.dense
    X[0] = 0.0  # so that no feature is centred
    for few_examples in (naive_shards.FEW, 1024):
        monkeypatch.setattr(round_size, "FEW_EXAMPLES", few_examples)
        model = classifier_in_order(rule=rule, shards=n_shards).fit(X, problem.y)
        expected = naive_shards.fit(X, problem.y, rule, n_shards, FEWEST, few_examples)
        found = np.append(model.sparse_coef_.toarray(), model.intercept_)
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert np.array_equal(found == 0.0, expected == 0.0)


@pytest.mark.slow
def test_a_round_adds_the_sums_of_its_shards(monkeypatch):
    """With all weights at zero, gradients are those of the serial model: so are all sums."""
    for rule in ("scale-free", "adagrad-rda", "ftrl"):
        options = {"l1": 1e9, "fit_intercept": False}
        learner, rows = learner_and_rows(rule, **options)
        Sharding(5, 2).learn(learner, rows)
        serial, _ = learner_and_rows(rule, **options)
        serial.learn(rows)
        assert learner.t == serial.t
        assert np.allclose(learner.state, serial.state, rtol=1e-9, atol=1e-12)
        assert np.allclose(learner.progress, serial.progress, rtol=1e-9)


def test_which_rules_learn_in_shards():
    assert sorted(SHARDED) == sorted(name for name, kind in RULES.items() if can_be_sharded(kind))


@pytest.mark.parametrize("rule", [pytest.param(r, marks=pytest.mark.slow) for r in SHARDED])
def test_every_rule_with_several_passes(rule):
    problem = data.problem("binary", n=2000, gap=False)
    one, four = (
        rarefy.SparseOnlineClassifier(rule=rule, shards=shards, passes=2).fit(
            problem.csr, problem.y
        )
        for shards in (1, 4)
    )
    assert four.t_ == one.t_
    assert four.score(problem.csr, problem.y) > one.score(problem.csr, problem.y) - 0.03


def test_rows_of_no_importance_are_no_examples():
    learner, rows = learner_and_rows()
    Sharding(3, 1).learn(learner, rows)
    kept = rows.importance.copy()
    thrice = [np.repeat(part, 2) for part in (rows.y, kept)]
    thrice[1][1::2] = 0.0
    lengths = np.repeat(np.diff(rows.indptr), 2)
    entries = np.concatenate(
        [
            np.arange(rows.indptr[row], rows.indptr[row + 1])
            for row in np.repeat(np.arange(len(rows.y)), 2)
        ]
    )
    doubled = rows._replace(
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        indices=rows.indices[entries],
        values=rows.values[entries],
        y=thrice[0],
        importance=thrice[1],
    )
    other, _ = learner_and_rows()
    Sharding(3, 1).learn(other, doubled)
    assert bits(other) == bits(learner)


@pytest.mark.parametrize("n_shards", [2, 7, 64])
@pytest.mark.parametrize("n_features", [10, 1000, 1 << 20])
@pytest.mark.parametrize(("longest_row", "fewest"), [(60, 64), (600, 1024)])
def test_rounds_go_by_the_examples_and_entries_so_far(n_shards, n_features, longest_row, fewest):
    lengths = np.random.default_rng(0).integers(0, longest_row, 1 << 18)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    importance = np.where(np.arange(len(lengths)) % 5 == 0, 0.0, 2.0)
    held = np.arange(len(lengths)) % 7 == 3
    are_learned = (importance > 0.0) & ~held
    learned = lengths[are_learned]
    t, begin = 0, 0
    while begin < len(lengths):
        size = RoundSize(t, n_features, n_shards, fewest)
        n_rows = size.take(indptr[begin:], importance[begin:], held[begin:])
        n = int(are_learned[begin : begin + n_rows].sum())
        expected = naive_shards.round_size(learned, t, n_features, n_shards, fewest)
        assert n == min(expected, len(learned) - t)
        assert size.is_complete == (n == expected)
        assert t + n <= 1 << max(t.bit_length(), 8)  # where the reference may change
        t, begin = t + n, begin + n_rows


@pytest.mark.parametrize("n_features", [10, 1000, 1 << 20])
@pytest.mark.parametrize("longest_row", [60, 6000])
def test_a_round_ends_at_the_same_row_however_rows_come(n_features, longest_row):
    lengths = np.random.default_rng(0).integers(0, longest_row, 1 << 16)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    importance = (np.arange(len(lengths)) % 3 > 0).astype(float)
    at_once = RoundSize(1 << 15, n_features, 2, 1024).take(indptr, importance)
    size, taken = RoundSize(1 << 15, n_features, 2, 1024), 0
    while not size.is_complete:
        behind = min(taken + 777, len(lengths))
        taken += size.take(indptr[taken : behind + 1], importance[taken:behind])
    assert taken == at_once


def test_a_few_shards_do_not_learn_if_features_are_many():
    """They would be merged for longer than they learn; many shards learn all the same."""
    _, rows = learner_and_rows(n=4000)
    for n_shards, n_features, are_used in (
        (2, 200_000, False),
        (2, 100_000, True),
        (8, 1 << 24, True),
    ):
        learner, _ = learner_and_rows(n=10)
        learner.clock = learner.clock._replace(t=float(1 << 14))
        learner.grow(n_features)
        some = Sharding(n_shards, 1)
        some.new_round(learner)
        dealt, _ = some.dealt(1 << 14, [rows])
        assert bool(dealt) == are_used


def test_shards_are_no_more_than_rows_before_the_round_allow():
    _, rows = learner_and_rows(n=4000)
    for t, n_shards in ((4096, 2), (8192, 2), (1 << 14, 4), (1 << 15, 8), (1 << 18, 16)):
        dealt, _ = Sharding(16, 1).dealt(t, [rows])
        assert len(dealt) == n_shards


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["scale-free", "ftrl"])
def test_the_model_is_about_as_good(rule):
    random = np.random.default_rng(0)
    X = data.zipf_rows(6000, 60, random)
    y = (X @ random.normal(size=60) + 0.3 * random.normal(size=6000) > 0).astype(int)
    scores = [
        classifier_in_order(rule=rule, shards=shards)
        .fit(X[:5000], y[:5000])
        .score(X[5000:], y[5000:])
        for shards in (1, 4, 16)
    ]
    assert min(scores[1:]) > scores[0] - 0.02


def test_centred_features_and_regression():
    random = np.random.default_rng(0)
    X = 5.0 + random.normal(size=(3000, 4))
    y = 100.0 + 7.0 * X[:, 0]
    one, four = (
        rarefy.SparseOnlineRegressor(passes=1, shards=shards).fit(X, y) for shards in (1, 4)
    )
    assert np.array_equal(one.learner_.reference.means, four.learner_.reference.means)
    assert four.learner_.reference.n == one.learner_.reference.n == 3000
    assert four.score(X, y) > one.score(X, y) - 0.02


def test_refusals():
    X, y = np.eye(4), [0, 1, 0, 1]
    model = rarefy.SparseOnlineClassifier
    for parameters, reason in (
        ({"l1": "auto"}, "parameters cannot be found"),
        ({"rule": "fobos"}, "the rule fobos cannot learn in shards"),
        ({"endowment": 1.0}, "endowment"),
        ({"average": True}, "cannot learn in shards"),
    ):
        with pytest.raises(ConfigError, match=reason):
            model(shards=2, **parameters).fit(X, y)
    with pytest.raises(ConfigError, match="set_params"):
        model(shards=2).partial_fit(X, y, classes=[0, 1])
    for wrong in (0, 1.5, "two", 1 << 16):
        with pytest.raises(ConfigError, match="shards"):
            model(shards=wrong).fit(X, y)


def test_several_passes_and_the_same_bits_as_saved():
    problem = data.problem("binary", n=2000, gap=False)
    model = rarefy.SparseOnlineClassifier(shards=3, passes=2, random_state=1)
    first, second = (
        model.fit(problem.csr, problem.y).sparse_coef_.toarray().tobytes() for _ in range(2)
    )
    assert first == second
    assert model.t_ == 4000


def test_shards_need_rows(monkeypatch):
    """Where a shard would get too few, fewer of them learn, or the model itself."""
    monkeypatch.setattr(sharding, "FEWEST_OF_A_SHARD", 1024)
    _, rows = learner_and_rows(n=4000)
    for n_rows, n_shards in ((2500, 0), (2560, 2), (3583, 2), (3584, 3), (4000, 3)):
        dealt, settling = Sharding(4, 1).dealt(1 << 16, [part_of(rows, 0, n_rows)])
        assert len(dealt) == n_shards
        assert sum(len(part.y) for part in settling) == (512 if n_shards else n_rows)
