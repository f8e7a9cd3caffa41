"""Merged models: sums of what each has learned, and means where there are no sums."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

import rarefy
from rarefy.errors import InputError
from rarefy.rules import MERGEABLE
from tests import data
from tests.in_order import classifier_in_order

EXACT = ("da", "rda", "adagrad-rda", "scale-free")
SUMS = ("da", "rda", "adagrad-rda", "scale-free", "ftrl", "scale-free-ftrl", "adagrad-ftprl")
MEANS = ("ogd", "fobos", "adagrad-fobos")
SOME = ("rda", "scale-free", "ftrl", "fobos")  # the others are slow tests
slow = [pytest.param(rule, marks=pytest.mark.slow) for rule in MERGEABLE if rule not in SOME]
N_ROWS = 900
THIRDS = [slice(0, 300), slice(300, 600), slice(600, 900)]


def state_of(model) -> np.ndarray:
    learner = model.learner_
    return learner.state_of(np.arange(learner.n_features))


def learned(rows: slice, problem, start=None, **parameters):
    model = deepcopy(start) or rarefy.SparseOnlineClassifier(**parameters)
    return model.partial_fit(problem.csr[rows], problem.y[rows], classes=np.unique(problem.y))


def test_every_rule_is_in_a_test():
    assert sorted(MERGEABLE) == sorted(SUMS + MEANS)


@pytest.mark.parametrize("rule", [*SOME, *slow])
def test_models_without_weights_merge_to_the_serial_one(rule):
    """While all weights are zero, gradients do not depend on what was learned before."""
    problem = data.problem("binary", n=N_ROWS)
    parameters = {"rule": rule, "fit_intercept": False}
    parameters |= {"eta0": 1e-300} if rule in ("da", "ogd") else {"l1": 1e9}
    parts = [learned(rows, problem, **parameters) for rows in THIRDS]
    one = rarefy.merge(parts)
    serial = learned(slice(0, N_ROWS), problem, **parameters)
    assert one.t_ == serial.t_ == N_ROWS
    assert one.progressive_loss_ == pytest.approx(serial.progressive_loss_, rel=1e-12)
    if rule in SUMS:
        assert np.allclose(state_of(one), state_of(serial), rtol=1e-9, atol=1e-12)
    assert abs(one.learner_.clock.total - serial.learner_.clock.total) <= 1e-9


@pytest.mark.parametrize("rule", EXACT)
def test_what_was_added_to_a_base_is_added_up(rule):
    problem = data.problem("binary", n=N_ROWS)
    base = learned(THIRDS[0], problem, rule=rule)
    parts = [learned(rows, problem, start=base) for rows in THIRDS[1:]]
    one = rarefy.merge(parts, base=base)
    rule_in_use, clock = one.learner_.rule, one.learner_.clock
    sums = [
        np.array([rule_in_use.to_sums(clock, tuple(row)) for row in state_of(model)[:, 0].tolist()])
        for model in (one, *parts, base)
    ]
    assert np.allclose(sums[0], sums[1] + sums[2] - sums[3], rtol=1e-9, atol=1e-12)
    assert one.t_ == N_ROWS
    assert one.score(problem.csr, problem.y) > 0.6


@pytest.mark.parametrize("rule", [*SOME, *slow])
def test_order_and_groups_make_no_difference(rule):
    problem = data.problem("binary", n=N_ROWS)
    parts = [learned(rows, problem, rule=rule, fit_intercept=False) for rows in THIRDS]
    one = rarefy.merge(parts)
    assert state_of(rarefy.merge(parts)).tobytes() == state_of(one).tobytes()
    for other in (
        rarefy.merge(parts[::-1]),
        rarefy.merge([rarefy.merge(parts[:2]), parts[2]]),
        rarefy.merge([parts[0], rarefy.merge(parts[1:])]),
    ):
        if rule in (*EXACT, "adagrad-fobos"):
            assert np.allclose(state_of(other)[..., 0], state_of(one)[..., 0], rtol=1e-6, atol=1e-9)
        assert (other.predict(problem.csr) == one.predict(problem.csr)).mean() > 0.98


@pytest.mark.parametrize("rule", [rule for rule in MERGEABLE if rule not in EXACT])
def test_a_model_merged_with_itself(rule):
    """A mean is the same; by ftrl, what speaks for a weight twice makes it up to twice as large."""
    problem = data.problem("binary", n=N_ROWS)
    penalty = {} if rule == "ogd" else {"l1": 0.0}
    model = learned(slice(0, N_ROWS), problem, rule=rule, fit_intercept=False, **penalty)
    twice, once = (one.sparse_coef_.toarray() for one in (rarefy.merge([model, model]), model))
    if rule in MEANS:
        assert np.allclose(twice, once, rtol=1e-9, atol=1e-12)
    else:
        assert np.allclose(np.clip(twice, *np.sort([0.9 * once, 2.0 * once], axis=0)), twice)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [*SOME, *slow])
def test_merged_models_are_about_as_good(rule):
    random = np.random.default_rng(0)
    X = data.zipf_rows(3000, 40, random)
    y = (X @ random.normal(size=40) + 0.3 * random.normal(size=3000) > 0).astype(int)
    eta0 = {"eta0": 0.5} if rule in ("ogd", "fobos", "rda", "da") else {}
    model = rarefy.SparseOnlineClassifier(rule=rule, **eta0)
    start = deepcopy(model).partial_fit(X[:300], y[:300], classes=[0, 1])
    halves = [deepcopy(start).partial_fit(X[a:b], y[a:b]) for a, b in ((300, 1200), (1200, 2100))]
    one = rarefy.merge(halves, base=start)
    serial = deepcopy(model).partial_fit(X[:2100], y[:2100], classes=[0, 1])
    assert one.score(X[2100:], y[2100:]) > serial.score(X[2100:], y[2100:]) - 0.03
    one.partial_fit(X[2100:2500], y[2100:2500])
    assert one.t_ == 2500


def test_several_classes_and_their_intercepts():
    problem = data.problem("multiclass", n=N_ROWS)
    parts = [learned(rows, problem) for rows in THIRDS]
    one, other = rarefy.merge(parts), rarefy.merge(parts[::-1])
    assert one.learner_.n_outputs == len(np.unique(problem.y)) > 2
    assert np.allclose(one.intercept_, other.intercept_)
    assert one.score(problem.csr, problem.y) > 0.5


def test_calibration_counts_by_what_it_rests_on():
    problem = data.problem("binary", n=N_ROWS)
    parts = [learned(rows, problem) for rows in THIRDS]
    slopes = [part.learner_.calibration.slope for part in parts]
    found = rarefy.merge(parts).learner_.calibration
    assert min(slopes) <= found.slope <= max(slopes)
    assert found.examples == N_ROWS
    parts[0].learner_.calibration = None
    assert rarefy.merge(parts).learner_.calibration is None


def refusal_of(*models, base=None) -> str:
    with pytest.raises(InputError) as refused:
        rarefy.merge(models, base=base)
    return str(refused.value)


def test_refusals():
    problem = data.problem("binary", n=N_ROWS)
    one = learned(THIRDS[0], problem)
    assert "at least two models" in refusal_of(one)
    assert "rule differs" in refusal_of(one, learned(THIRDS[1], problem, rule="ftrl"))
    assert "rule differs" in refusal_of(one, learned(THIRDS[1], problem, l1=3.0))
    assert "loss differs" in refusal_of(one, learned(THIRDS[1], problem, loss="hinge"))
    other = learned(THIRDS[1], problem, rule="coin")
    assert "rule coin cannot be merged; those of ogd, fobos" in refusal_of(other, other)
    assert "still being tuned" in refusal_of(one, learned(THIRDS[1], problem, l1="auto"))
    few = learned(slice(0, 100), problem)
    assert "has learned 100 examples; from 256 on" in refusal_of(one, few)
    assert "fewer than the base" in refusal_of(few, few, base=one)
    refitted = classifier_in_order(refit=True).fit(problem.csr, problem.y)
    assert "slim or refitted" in refusal_of(one, refitted)
    assert "is a str" not in refusal_of(one, 5)
    narrow = rarefy.SparseOnlineClassifier()
    narrow.partial_fit(problem.csr[THIRDS[1], :5], problem.y[THIRDS[1]], classes=[-1.0, 1.0])
    assert "other columns" in refusal_of(one, narrow)


def test_features_that_were_centred_elsewhere():
    random = np.random.default_rng(0)
    X = 5.0 + random.normal(size=(N_ROWS, 3))
    y = X[:, 0] > 5.0
    model = rarefy.SparseOnlineClassifier()
    start, *others = [
        deepcopy(model).partial_fit(X[rows], y[rows], classes=[False, True]) for rows in THIRDS
    ]
    assert "Train a base" in refusal_of(*others)
    others = [deepcopy(start).partial_fit(X[rows], y[rows]) for rows in THIRDS[1:]]
    one = rarefy.merge(others, base=start)
    assert np.array_equal(one.learner_.reference.means, start.learner_.reference.means)
    assert one.score(X, y) > 0.95


def test_regression_with_a_base():
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, 5))
    y = 100.0 + 7.0 * X[:, 0]
    start = rarefy.SparseOnlineRegressor().partial_fit(X[THIRDS[0]], y[THIRDS[0]])
    others = [deepcopy(start).partial_fit(X[rows], y[rows]) for rows in THIRDS[1:]]
    one = rarefy.merge(others, base=start)
    assert one.learner_.clock.unit == max(other.learner_.clock.unit for other in others)
    assert one.score(X, y) > 0.8
