"""scale-free-ftrl: what it minimises, and that `auto` finds it."""

from __future__ import annotations

from itertools import chain
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize_scalar

import rarefy
from rarefy import InputError, SparseOnlineClassifier
from rarefy.model.clock import clock_after, next_round
from rarefy.parameters.build import make_rule
from tests import data
from tests.cli.test_cli import run, train
from tests.cli.test_resume import assert_stops_leave_no_trace
from tests.estimators.test_saving import assert_goes_on_the_same, assert_same
from tests.in_order import classifier_in_order
from tests.selecting import examples
from tests.tuned import stream

RULE = "scale-free-ftrl"
KINDS = {
    "two classes": data.problem("binary"),
    "three classes": data.problem("multiclass", classes=3),
}
LOSSES = ("logistic", "hinge", "modified_huber", "perceptron")
every_kind = pytest.mark.parametrize("kind", KINDS)


def classifier(**parameters) -> SparseOnlineClassifier:
    return classifier_in_order(RULE, **({"beta": 0.0} | parameters))


def some_are_kept(model) -> bool:
    return 0 < np.count_nonzero(model.coef_) < model.coef_.size


# --- the equation -----------------------------------------------------------------------------


def weights_after_each(X, y, **parameters) -> np.ndarray:
    """Weights, (round, feature)."""
    model = classifier(loss="hinge", eta0=0.5, l1=0.5, fit_intercept=False, **parameters)
    weights = []
    for row, label in zip(X, y, strict=True):
        model.partial_fit([row], [label], classes=[-1, 1])
        weights.append(model.coef_[0].copy())
    return np.array(weights)


# Margins stay below 1, so the slope of the hinge is -y: g is (-4, -1), (1, 0), (-2, -3).
BY_HAND = ([[4.0, 1.0], [1.0, 0.0], [2.0, 3.0]], [1, -1, 1])


def test_by_hand():
    """Of the first feature s is 4, √(17/2), √7, of the second 1, 1, √5, and c is a half."""
    weights = weights_after_each(*BY_HAND)
    s = sqrt(17 / 2), sqrt(7)
    z = -2 - sqrt(17) / 4  # -4 + 1 - (8√17 - 32)/16/2
    second = (2 - sqrt(17) / 4) / (2 * s[0] * sqrt(17))
    tied = s[0] * (sqrt(21) - sqrt(17)) * second
    third = (-z + 2 + tied - sqrt(21) / 2) / (2 * s[1] * sqrt(21))
    assert weights[:, 0] == pytest.approx([1 / 16, second, third], rel=1e-12)
    third = (15 / 4 - sqrt(10) / 4) / (2 * sqrt(5) * sqrt(10))  # z is -1 - 3 - (2√10 - 2)/4/2
    assert weights[:, 1] == pytest.approx([1 / 4, 1 / 4, third], rel=1e-12)


def test_by_hand_with_l2():
    """It adds 8 t to r s/c, also for a feature that is away."""
    weights = weights_after_each(*BY_HAND, l2=8.0)
    s = sqrt(17 / 2), sqrt(7)
    z = -2.2 - sqrt(17) / 5  # -4 + 1 - (8√17 - 32)/20/2
    second = (-z - sqrt(17) / 2) / (2 * s[0] * sqrt(17) + 16)
    tied = s[0] * (sqrt(21) - sqrt(17)) * second
    third = (-z + 2 + tied - sqrt(21) / 2) / (2 * s[1] * sqrt(21) + 24)
    assert weights[:, 0] == pytest.approx([1 / 20, second, third], rel=1e-12)
    third = (4 + (sqrt(10) - 1) / 36 - sqrt(10) / 2) / (2 * sqrt(5) * sqrt(10) + 24)
    assert weights[:, 1] == pytest.approx([1 / 20, 1 / 36, third], rel=1e-12)


def played(rule, schedule, rounds) -> tuple[list[float], float]:
    """The weights before each round, (subgradient, value), and the one after all of them.

    The coordinate is away in rounds without a subgradient.
    """
    before, state = [], (0.0,) * len(rule.state_fields)
    clock = next_round(rule, clock_after(rule, schedule))
    for g, x in rounds:
        before.append(rule.weight(clock, state))
        if g != 0.0:
            state = rule.step(clock, state, g, x)
        clock = next_round(rule, clock)
    return before, rule.weight(clock, state)


SLOPES = st.one_of(st.just(0.0), st.floats(0.01, 3.0), st.floats(-3.0, -0.01))
VALUES = st.one_of(st.floats(0.01, 10.0), st.floats(-10.0, -0.01))
ROUNDS = st.lists(
    st.builds(lambda slope, x: (slope * x, x), SLOPES, VALUES), min_size=1, max_size=20
)


@settings(max_examples=examples(200), deadline=None)
@given(
    ROUNDS,
    st.floats(0.05, 2.0),
    st.sampled_from([0.0, 0.3, 1.0, 1.8]),
    st.sampled_from([None, 0.01, 1.0]),
    st.sampled_from([0.0, 1.0]),
)
def test_the_weight_is_the_minimiser(rounds, eta0, l1, l2, beta):
    assume(any(g != 0.0 for g, _ in rounds))
    before, weight = played(*make_rule(RULE, eta0=eta0, l1=l1, l2=l2, beta=beta), rounds)
    g, x = np.array(rounds).T
    r = np.sqrt(np.cumsum(g**2))
    n = np.cumsum(g != 0.0)
    scale = np.sqrt(np.cumsum(np.where(g != 0.0, x**2, 0.0)) / np.maximum(n, 1))
    sigma = np.diff(r, prepend=0.0) * np.append(0.0, scale[:-1]) / eta0
    centres = np.array(before) / 2.0
    free = (r[-1] + beta * scale[-1]) * scale[-1] / eta0 - sigma.sum() + (l2 or 0.0) * len(rounds)
    penalty = l1 * (r[-1] + beta * scale[-1] / 5.0)

    def objective(w: float) -> float:
        tied = sigma @ (w - centres) ** 2 / 2.0
        return float(g.sum() * w + tied + penalty * abs(w) + free / 2.0 * w * w)

    farthest = (np.abs(g).sum() + sigma @ np.abs(centres)) / (sigma.sum() + free)
    found = minimize_scalar(
        objective, bounds=(-farthest, farthest), options={"xatol": 1e-9 * farthest}
    )
    assert weight == pytest.approx(found.x, rel=0, abs=1e-6 * farthest)
    assert objective(weight) <= found.fun + 1e-12 * max(abs(found.fun), sigma @ centres**2)


def test_one_huge_value_leaves_next_to_nothing_of_a_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=2000) > 0.0
    X[1500, 2], y[1500] = 1e6, False
    before = classifier(l1=0.1).fit(X[:1500], y[:1500]).coef_[0]
    after = classifier(l1=0.1).fit(X, y).coef_[0]
    assert before[2] > 0.1
    assert abs(after[2]) < 1e-4
    assert np.abs(after[:2]).min() > 0.1


# --- what is at zero --------------------------------------------------------------------------


@settings(max_examples=examples(200), deadline=None)
@given(ROUNDS, st.sampled_from([0.0, 0.9, 1.1, 1.5]), st.sampled_from([None, 0.1]))
def test_what_is_at_zero_comes_in_as_with_scale_free(rounds, l1, l2):
    """In the first round in which the sum of subgradients exceeds λ r, and with the same weight."""
    g = np.array(rounds)[:, 0]
    r = np.sqrt(np.cumsum(g**2))
    excess = np.abs(np.cumsum(g)) - l1 * r
    assume((np.abs(excess) > 1e-9).all(where=r > 0.0))
    later = np.flatnonzero(excess > 0.0)
    until = rounds[: later[0] + 1] if len(later) else rounds
    before, after = played(*make_rule(RULE, l1=l1, l2=l2, beta=0.0), until)
    assert not np.any(before)
    assert (after != 0.0) == bool(len(later))
    assert after == pytest.approx(
        played(*make_rule("scale-free", l1=l1, l2=l2, beta=0.0), until)[1]
    )


@settings(max_examples=30, deadline=None)
@given(value=st.floats(1e-40, 1e40), sign=st.sampled_from([-1, 1]), weight=st.floats(1e-3, 1e3))
def test_what_occurred_once_is_kept_below_one_standard_deviation_only(value, sign, weight):
    X, y = [[0.0], [0.0], [sign * value]], [0, 1, 1]
    for l1, n_kept in ((1.0, 0), (1.5, 0), (1.0 - 1e-9, 1)):
        model = classifier(l1=l1).fit(X, y, sample_weight=[1.0, 0.3, weight])
        assert model.n_nonzero_ == n_kept


# --- side by side -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "l2"),
    [
        ("two classes", None),
        pytest.param("two classes", 0.1, marks=pytest.mark.slow),
        pytest.param("three classes", None, marks=pytest.mark.slow),
        pytest.param("three classes", 0.1, marks=pytest.mark.slow),
    ],
)
def test_a_sweep_gives_what_the_estimators_give(kind, l2):
    X, y = KINDS[kind].csr, KINDS[kind].y
    folds = np.random.default_rng(4).integers(3, size=len(y))
    l1s, steps = [0.3, 1.0, 2.0], [0.05, 0.2, 0.8]
    chosen = {"rule": RULE, "l1": l1s, "eta0": steps, "l2": l2}
    result = rarefy.sweep(X, y, **chosen, folds=folds, passes=2, fit_intercept=False)
    assert len(result.points) == 9
    for n, point in enumerate(result.points):
        for fold in range(3):
            own = folds == fold
            alone = classifier_in_order(**point, passes=2, fit_intercept=False)
            alone.fit(X[~own], y[~own])
            measured = {name: values[n, fold] for name, values in result.by_fold.items()}
            assert measured["accuracy"] == pytest.approx(alone.score(X[own], y[own]), rel=1e-12)
            assert measured["weights"] == alone.n_nonzero_
            truth = alone.predict_proba(X[own])[
                np.arange(own.sum()), alone.classes_.searchsorted(y[own])
            ]
            assert measured["loss"] == pytest.approx(-np.log(truth).mean(), rel=1e-12)
    assert len(set(result.table["loss"])) == 9
    assert len(set(result.table["weights"])) > 3


# --- files ------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("l2", [None, 0.1])
def test_saved_and_loaded_it_goes_on_the_same(kind, l2, tmp_path):
    X, y = KINDS[kind].csr, KINDS[kind].y
    model = classifier(l1=1.5, l2=l2).fit(X[:200], y[:200])
    model.save(tmp_path / "some.model")
    loaded = rarefy.load(tmp_path / "some.model")
    assert loaded.get_params() == model.get_params()
    assert_same(loaded, model, X)
    before = model.coef_.copy()
    assert_goes_on_the_same(loaded, model, X[200:], y[200:])
    assert (model.coef_ != before).any()


@every_kind
@pytest.mark.parametrize("store", [(), ("-b", "4"), ("--capacity", "20")], ids=str)
def test_stopped_and_resumed_it_is_the_same(kind, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text(data.svmlight_text(KINDS[kind]))
    arguments = ("rows.svm", "--rule", RULE, "--l1", "1.2", "--l2", "0.1", "--passes", "2", *store)
    assert_stops_leave_no_trace(arguments, 1, 170, 300, 431)


# --- auto -------------------------------------------------------------------------------------


@every_kind
def test_it_is_what_auto_finds(kind):
    X, y = KINDS[kind].csr, KINDS[kind].y
    auto = classifier_in_order(rule="auto").fit(X, y)
    assert auto.found_["rule"] == RULE
    assert auto.found_["l1"] > 0.0
    assert auto.found_["eta0"] > 0.0
    again = classifier_in_order(**auto.found_).fit(X, y)
    assert type(again.learner_.rule) is rarefy.rules.RULES[RULE]
    assert (again.learner_.rule.l1, again.learner_.rule.eta0) == (
        auto.found_["l1"],
        auto.found_["eta0"],
    )
    assert again.score(X, y) > np.unique(y, return_counts=True)[1].max() / len(y)


def test_units_leave_what_auto_finds():
    X, y = stream()
    units = 2.0 ** np.random.default_rng(2).integers(-30, 30, X.shape[1])
    one, other = (
        classifier_in_order(rule="auto").fit(some, y) for some in (X, X @ sparse.diags_array(units))
    )
    assert other.found_ == one.found_
    np.testing.assert_array_equal(other.coef_ * units, one.coef_)


def test_the_command_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text(data.svmlight_text(KINDS["two classes"]))
    model = train("rows.svm", "--rule", "auto")
    assert type(model.task.rule) is rarefy.rules.RULES[RULE]
    assert RULE in run("inspect", "some.model").stdout
    found = ((f"--{name}", repr(getattr(model.task.rule, name))) for name in ("l1", "eta0", "beta"))
    assert (
        train("rows.svm", "--rule", RULE, *chain.from_iterable(found)).task.rule == model.task.rule
    )


# --- extremes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("value", [1e-150, 1e-40, 1e40, -1e50])
@pytest.mark.parametrize("row", [0, 150])
def test_an_extreme_value_leaves_numbers(loss, value, row):
    X, y = KINDS["two classes"].dense.copy(), KINDS["two classes"].y
    X[row, ::2] = value
    model = classifier(loss=loss).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.coef_[0, 1::2].any()


@every_kind
@pytest.mark.parametrize("factor", [1e-150, 1e-300])
def test_vanishing_values_leave_numbers(kind, factor):
    X, y = KINDS[kind].dense, KINDS[kind].y
    model = classifier(l1=0.5, l2=0.1).fit(X * factor, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.decision_function(X * factor)).all()


@pytest.mark.parametrize("value", [1e51, 1e150, np.inf, np.nan])
def test_values_without_a_meaning_are_refused(value):
    X, y = KINDS["two classes"].dense.copy(), KINDS["two classes"].y
    X[7, 3] = value
    with pytest.raises(InputError):
        classifier().fit(X, y)


def test_constant_features_are_like_an_intercept():
    """Of all units they have the same share of every score."""
    X, y = KINDS["two classes"].dense, KINDS["two classes"].y
    constants = np.tile([1.0, -8.0, 2.0**40], (len(y), 1))
    model = classifier(l1=0.0, fit_intercept=False).fit(np.hstack([X, constants]), y)
    shares = model.coef_[0, -3:] * constants[0]
    assert shares[0] != 0.0
    assert shares.tolist() == [shares[0]] * 3
    beside = classifier(l1=0.0).fit(np.hstack([X, constants[:, :1]]), y)
    assert (beside.coef_[0, -1], beside.intercept_[0] != 0.0) == (0.0, True)


@every_kind
def test_rows_of_no_importance_change_nothing(kind):
    X, y = KINDS[kind].dense.copy(), KINDS[kind].y
    importance = data.importances(len(y))
    without = importance == 0.0
    X[without] *= 1e30
    one = classifier(l2=0.1).fit(X, y, sample_weight=importance)
    other = classifier(l2=0.1).fit(X[~without], y[~without], sample_weight=importance[~without])
    assert some_are_kept(one)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)


def test_a_single_row():
    model = classifier(l1=0.75, eta0=0.4, loss="hinge", fit_intercept=False)
    model.partial_fit([[5.0, 0.0, -0.5]], [1], classes=[0, 1])
    assert model.coef_[0] == pytest.approx([0.4 * 0.25 / 5.0, 0.0, -0.4 * 0.25 / 0.5])
    nothing = classifier().partial_fit([[5.0]], [1], classes=[0, 1], sample_weight=[0.0])
    assert (nothing.coef_[0, 0], nothing.intercept_[0]) == (0.0, 0.0)
