"""Models side by side are, bit for bit, the models that learn by themselves.

The compiler takes a few seconds for every kind of lane, so most kinds are left to the tests marked
slow.
"""

from __future__ import annotations

from math import inf, nan
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rarefy
from rarefy.arrays import Rows, as_rows
from rarefy.engine.learner import Learner
from rarefy.estimators.matrices import as_csr
from rarefy.lanes.block import Lane
from rarefy.lanes.lane_set import Lanes, blocks_of
from rarefy.model.losses import LOSSES, REGRESSION_LOSSES, Logistic
from rarefy.model.multiclass import multiclass_loss
from rarefy.model.schedules import Constant, InvSqrt
from rarefy.parameters.build import make_loss, make_rule
from rarefy.parameters.meaning import rules_with
from rarefy.rules import RULES
from rarefy.rules.averaging import is_averaged
from rarefy.rules.proximal import soft
from tests import data, naive

N_FOLDS = 3
N_CLASSES = 4
SCHEMES = {"softmax": "logistic", "crammer_singer": "hinge", "ovr": "squared_hinge"}
L1S = (1e-4, 3e-3, 0.03)
QUICK = [("frda", "logistic"), ("ftprl", "squared")]


def rows_of(kind: str, **size) -> Rows:
    problem = data.problem(kind, **size)
    y = problem.y.astype(float)
    return as_rows(as_csr(problem.csr), y, data.importances(len(y)))


def problem_for(loss: str) -> Rows:
    return rows_of("regression" if loss in REGRESSION_LOSSES else "binary")


BINARY = rows_of("binary")
MULTICLASS = rows_of("multiclass", classes=N_CLASSES)
N_FEATURES = 25
FOLDS = np.random.default_rng(8).integers(N_FOLDS, size=len(BINARY.y)).astype(float)


def part(rows: Rows, chosen) -> Rows:
    """Some of the rows, in the order of their numbers given."""
    lengths = np.diff(rows.indptr)[chosen]
    entries = [np.arange(rows.indptr[row], rows.indptr[row + 1]) for row in chosen]
    entries = np.concatenate([np.empty(0, int), *entries]).astype(int)
    parts = (
        np.concatenate([[0], np.cumsum(lengths)]),
        rows.indices[entries],
        rows.values[entries],
        rows.y[chosen],
        rows.importance[chosen],
    )
    for array in parts:
        array.flags.writeable = False
    return Rows(*parts)


def by_itself(lane: Lane, rows: Rows, folds, passes: int = 2, order=None, **size) -> Learner:
    learner = Learner(*lane[:3], n_features=N_FEATURES, **size)
    order = np.arange(len(rows.y)) if order is None else order
    seen = order[folds[order] != lane.fold]
    for _ in range(passes):
        learner.learn(part(rows, seen))
    return learner


def assert_same(lanes: Lanes, number: int, learner: Learner) -> None:
    np.testing.assert_array_equal(lanes.weights(number), learner.weights().toarray())
    np.testing.assert_array_equal(lanes.intercepts(number), learner.intercept())


WITHOUT_ZEROS = (*naive.UNPENALISED, "eg", "eg-signed", "p-norm")
AVERAGED = [rule for rule in RULES if not RULES[rule].common_fields]


def lanes_of(rule: str, loss, scale: float = 1.0, **more) -> list[Lane]:
    """Lanes that differ in everything that one compiled loop can differ in."""
    found = []
    adds_up = rule not in ("ftrl", "scale-free", "scale-free-ftrl")  # the penalty, over rounds
    scale *= 1.0 if adds_up else 100.0
    for i, l1 in enumerate(L1S):
        own = {"l1": scale * l1} if "l1" in RULES[rule]._fields else {}
        if rule in ("rounding", "truncated-gradient"):
            own |= {"threshold": 10.0 * l1, "truncate_every": 3 + i}
        if not RULES[rule].by_margin:
            own["eta0"] = 0.05 * (i + 1)
        if rule == "pegasos":
            own |= {"l1": 10.0 * l1, "l2": 3.0}  # by which its steps are divided
        if rule in ("cw", "scw1", "scw2", "arow"):
            own["l1"] = 30.0 * l1  # in standard deviations of a weight
        made = make_rule(rule, **{**own, **more})
        found += [Lane(*made, loss, float(fold)) for fold in range(N_FOLDS)]
    return found


def check(lanes: list[Lane], rows: Rows, **size) -> None:
    """Learned twice, once with a tally; judged; and compared with each model by itself."""
    side_by_side = Lanes(lanes, n_features=N_FEATURES, **size)
    side_by_side.learn(rows, FOLDS, judged=True)
    first = side_by_side.tallies()
    side_by_side.learn(rows, FOLDS)
    scores = side_by_side.scores(rows)
    n_zero = 0
    for number, lane in enumerate(lanes):
        learner = by_itself(lane, rows, FOLDS, passes=1, **size)
        for tally, progress in zip(first[:3], learner.progress, strict=True):
            np.testing.assert_allclose(tally[number], progress, rtol=1e-12)
        learner = by_itself(lane, rows, FOLDS, **size)
        assert_same(side_by_side, number, learner)
        np.testing.assert_array_equal(scores[number], learner.scores(rows))
        kept = learner.weights()
        assert side_by_side.tallies().weights[number] == kept.nnz
        assert side_by_side.tallies().features[number] == len(np.unique(kept.indices))
        n_zero += N_FEATURES * learner.n_outputs - kept.nnz
    has_zeros = not is_averaged(lanes[0].rule)  # of which means have none
    if has_zeros and type(lanes[0].rule) not in [RULES[name] for name in WITHOUT_ZEROS]:
        assert n_zero > 0


@pytest.mark.parametrize(
    ("rule", "loss"),
    [
        pytest.param(rule, loss, marks=() if (rule, loss) in QUICK else pytest.mark.slow)
        for rule in RULES
        for loss in LOSSES
    ],
)
def test_every_rule_and_loss(rule, loss):
    check(lanes_of(rule, make_loss(loss)), problem_for(loss))


@pytest.mark.parametrize(
    "scheme", ["softmax", *(pytest.param(s, marks=pytest.mark.slow) for s in list(SCHEMES)[1:])]
)
def test_several_classes(scheme):
    loss = multiclass_loss(scheme, make_loss(SCHEMES[scheme]))
    check(lanes_of("frda", loss), MULTICLASS, n_outputs=N_CLASSES)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_with_several_classes(rule, scheme):
    loss = multiclass_loss(scheme, make_loss(SCHEMES[scheme]))
    check(lanes_of(rule, loss), MULTICLASS, n_outputs=N_CLASSES)


@pytest.mark.slow
@pytest.mark.parametrize("q", [1, 1.5, 2, inf], ids=lambda q: f"q={q}")
@pytest.mark.parametrize("basis", ["gradient", "update", "feature"])
@pytest.mark.parametrize("rule", rules_with("q"))
def test_intensity(rule, basis, q):
    scale = 30.0 if basis == "update" else 1.0
    check(lanes_of(rule, Logistic(), scale, q=q, basis=basis, cap=0.4), BINARY)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [rule for rule in RULES if "l2" in RULES[rule]._fields])
def test_l2(rule):
    check(lanes_of(rule, Logistic(), l2=1e-3), BINARY)


@pytest.mark.slow
@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("rule", ["fobos", "fr-comid"])
def test_cumulative_penalty(rule, l2):
    check(lanes_of(rule, Logistic(), cumulative=True, l2=l2), BINARY)


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        ("fobos", {}),
        *(pytest.param(rule, {}, marks=pytest.mark.slow) for rule in AVERAGED if rule != "fobos"),
        pytest.param("fobos", {"l2": 1e-3}, marks=pytest.mark.slow),
        pytest.param("frda", {"average_power": 2}, marks=pytest.mark.slow),
    ],
)
def test_means(rule, more):
    """Lanes learn with weights, and are judged by the means of these."""
    check(lanes_of(rule, Logistic(), average=True, **more), BINARY)


@pytest.mark.slow
def test_without_intercept():
    check(lanes_of("frda", Logistic()), BINARY, fit_intercept=False)


def test_far_state_is_the_same(monkeypatch):
    """What does not fit the cache is asked for ahead of time."""
    monkeypatch.setattr("rarefy.lanes.block.CACHE_BYTES", 0)
    check(lanes_of("frda", Logistic()), BINARY)


# --- grids of all sorts --------------------------------------------------------------------------


def some_lane(kind: int, l1: float, eta0: float, fold: float) -> Lane:
    """Of the kinds that the tests above have compiled."""
    rule, loss = QUICK[kind]
    return Lane(*make_rule(rule, l1=l1, eta0=eta0), make_loss(loss), fold)


SOME_LANES = st.lists(
    st.builds(
        some_lane,
        st.integers(0, len(QUICK) - 1),
        st.sampled_from([0.0, 1e-4, 1e-2, 1.0]),
        st.floats(0.01, 0.1),
        st.sampled_from([0.0, 1.0, 2.0, nan]),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=30, deadline=None)
@given(SOME_LANES, st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_mixed_grids(lanes, seed, n_threads):
    order = np.random.default_rng(seed).permutation(len(BINARY.y))
    side_by_side = Lanes(lanes, n_features=N_FEATURES, n_threads=n_threads)
    for stretch in np.array_split(order, 3):
        side_by_side.learn(BINARY, FOLDS, stretch)
    for number, lane in enumerate(lanes):
        learner = by_itself(lane, BINARY, FOLDS, passes=1, order=order)
        assert_same(side_by_side, number, learner)


@given(SOME_LANES)
def test_blocks_hold_every_lane_once_and_only_one_kind(lanes):
    blocks = list(blocks_of(lanes))
    assert sorted(number for block in blocks for number in block) == list(range(len(lanes)))
    for block in blocks:
        assert 1 <= len(block) <= 8
        assert len({lanes[number].kind() for number in block}) == 1


def test_kinds():
    frda, ftrl = make_rule("frda"), make_rule("ftrl")
    kind = Lane(*frda, Logistic()).kind()
    assert Lane(*make_rule("frda", l1=1.0, eta0=3.0, cap=2.0), Logistic(), 5.0).kind() == kind
    others = [
        Lane(*ftrl, Logistic()),
        Lane(*make_rule("frda", q=2), Logistic()),
        Lane(*make_rule("frda", l2=0.1), Logistic()),
        Lane(*make_rule("frda", basis="feature"), Logistic()),
        Lane(frda[0], Constant(1.0), Logistic()),
        Lane(*frda, make_loss("hinge")),
    ]
    assert len({kind, *(lane.kind() for lane in others)}) == 7
    powers = [Lane(*make_rule("frda", q=q), Logistic()).kind() for q in (1.5, 3)]
    assert powers[0] == powers[1]


# --- judging -------------------------------------------------------------------------------------


def test_lanes_are_judged_by_their_own_fold():
    lanes = lanes_of("frda", Logistic())
    side_by_side = Lanes(lanes, n_features=N_FEATURES)
    side_by_side.learn(BINARY, FOLDS)
    side_by_side.judge(BINARY, FOLDS)
    found = side_by_side.tallies()
    for number, lane in enumerate(lanes):
        own = np.flatnonzero(np.equal(FOLDS, lane.fold))
        scores = by_itself(lane, BINARY, FOLDS, passes=1).scores(part(BINARY, own)).ravel()
        y, importance = BINARY.y[own], BINARY.importance[own]
        losses = np.log1p(np.exp(-y * scores))
        assert found.examples[number] == pytest.approx(importance.sum(), rel=1e-12)
        assert found.loss[number] == pytest.approx(importance @ losses, rel=1e-12)
        assert found.right[number] == pytest.approx(importance @ ((scores > 0) == (y > 0)))
        assert found.squared_error[number] == pytest.approx(importance @ (scores - y) ** 2)


def test_without_folds_lanes_learn_and_are_judged_by_all_rows():
    lanes = [lane._replace(fold=nan) for lane in lanes_of("frda", Logistic())]
    side_by_side = Lanes(lanes, n_features=N_FEATURES)
    side_by_side.learn(BINARY)
    side_by_side.judge(BINARY)
    assert side_by_side.tallies().examples == pytest.approx(
        np.full(len(lanes), BINARY.importance.sum())
    )


def test_a_lane_that_diverges_leaves_the_others_alone():
    rows = problem_for("squared")
    lanes = [some_lane(1, 1e-3, eta0, nan) for eta0 in (0.05, 1e6, 0.03)]
    side_by_side = Lanes(lanes, n_features=N_FEATURES)
    for _ in range(3):
        side_by_side.learn(rows)
    assert side_by_side.tallies().diverged.tolist() == [0.0, 1.0, 0.0]
    for number in (0, 2):
        learner = by_itself(lanes[number], rows, FOLDS, passes=3)
        assert_same(side_by_side, number, learner)
    with pytest.raises(rarefy.DivergenceError):
        by_itself(lanes[1], rows, FOLDS)


# --- rules of a user -----------------------------------------------------------------------------


@rarefy.rule("w", "since")
class Clipped(NamedTuple):
    """A parameter of its own, and one that is a whole number."""

    l1: float = 1e-3
    clip: float = 1.0
    times: int = 1

    def weight(self, clock, state):
        w, since = state
        return soft(w, self.l1 * (clock.total_before - since))

    def step(self, clock, state, g, x):
        g = self.times * min(max(g, -self.clip), self.clip)
        return soft(self.weight(clock, state) - clock.eta * g, clock.eta * self.l1), clock.total


def test_a_rule_of_a_user():
    lanes = [
        Lane(Clipped(l1, clip), InvSqrt(0.3), Logistic(), fold)
        for l1 in (1e-3, 1e-2)
        for clip in (0.1, 1.0)
        for fold in (0.0, 1.0)
    ]
    assert lanes[0].kind() != Lane(Clipped(times=2), InvSqrt(0.3), Logistic()).kind()
    check(lanes, BINARY)
