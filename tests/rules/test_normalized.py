"""Normalized online learning: as in the paper, free of units, with a lazy penalty."""

import numpy as np
import pytest

from tests import data, naive_mirrors
from tests.in_order import classifier_in_order
from tests.rules.test_exactness import assert_same, estimator, problem_for, slow_where

RULES = ("normalized", "normalized-adagrad")
PENALTIES = [{}, {"l1": 0.02, "q": 2.0}, {"l1": 0.02}, {"l1": 0.08, "q": 1.0, "basis": "update"}]
PENALTIES += [{"l1": 0.02, "basis": "feature"}]
BY_DEFAULT = {"normalized": [("logistic", 0)], "normalized-adagrad": [("logistic", 1)]}


def settings(rule: str, loss: str = "logistic", **more) -> dict:
    return {"rule": rule, "loss": loss, "eta0": 0.3, "passes": 2, "fit_intercept": True, **more}


@pytest.mark.parametrize(
    ("rule", "loss", "penalty"),
    [
        pytest.param(rule, loss, n, marks=slow_where((loss, n) not in BY_DEFAULT[rule]))
        for rule in RULES
        for loss in ("logistic", "hinge", "squared")
        for n in range(len(PENALTIES))
    ],
)
def test_as_the_equations_have_it(rule, loss, penalty):
    problem = problem_for(loss)
    chosen = settings(rule, loss, **PENALTIES[penalty])
    expected = naive_mirrors.fit(problem.dense, problem.y, **chosen)
    assert_same(estimator(chosen).fit(problem.csr, problem.y), expected)
    if penalty:
        assert np.mean(expected.coef == 0.0) < 1.0
        assert (expected.coef == 0.0).any() or PENALTIES[penalty].get("basis") == "update"


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("multiclass", ["softmax", "crammer_singer", "ovr"])
def test_several_classes(rule, multiclass):
    problem = data.problem("multiclass")
    loss = {"softmax": "logistic", "crammer_singer": "hinge", "ovr": "squared_hinge"}[multiclass]
    chosen = settings(rule, loss, l1=0.01, multiclass=multiclass)
    expected = naive_mirrors.fit(problem.dense, problem.y, **chosen)
    assert_same(estimator(chosen).fit(problem.csr, problem.y), expected)


@pytest.mark.parametrize("rule", RULES)
def test_rescaling_columns_changes_no_prediction(rule):
    """With and without the feature-aware penalty, to rounding."""
    problem = data.problem("binary")
    units = 10.0 ** np.random.default_rng(3).uniform(-6.0, 6.0, problem.dense.shape[1])
    for penalty in ({}, {"l1": 0.02, "q": 2.0}):
        chosen = settings(rule, calibrate=False, **penalty)
        expected = classifier_in_order(**chosen).fit(problem.dense, problem.y)
        rescaled = classifier_in_order(**chosen).fit(problem.dense * units, problem.y)
        scores = rescaled.decision_function(problem.dense * units)
        np.testing.assert_allclose(scores, expected.decision_function(problem.dense), rtol=1e-9)
        assert rescaled.progressive_loss_ == pytest.approx(expected.progressive_loss_, rel=1e-12)
        np.testing.assert_array_equal(rescaled.coef_ == 0.0, expected.coef_ == 0.0)


@pytest.mark.parametrize("rule", RULES)
def test_in_pieces_and_side_by_side(rule):
    problem = data.problem("binary")
    chosen = settings(rule, passes=1, l1=0.01)
    whole = classifier_in_order(**chosen).fit(problem.csr, problem.y)
    pieces = classifier_in_order(**chosen)
    for rows in (slice(0, 1), slice(1, 70), slice(70, None)):
        pieces.partial_fit(problem.csr[rows], problem.y[rows], classes=[-1.0, 1.0])
    np.testing.assert_array_equal(pieces.coef_, whole.coef_)


def test_by_hand():
    """The first row: N is the number of its features; NG's first step is η t/N g/s²."""
    X, y = np.array([[2.0, 0.0, 0.5]]), np.array([1.0])
    chosen = {"loss": "hinge", "eta0": 0.3}
    expected = 0.3 / 2.0 * np.array([1.0 / 2.0, 0.0, 1.0 / 0.5])
    np.testing.assert_allclose(
        naive_mirrors.fit(X, y, rule="normalized", **chosen).coef[0], expected
    )
    # NAG: c √(t/N) g/(s |g|)
    expected = 0.3 / np.sqrt(2.0) * np.array([1.0 / 2.0, 0.0, 1.0 / 0.5])
    np.testing.assert_allclose(
        naive_mirrors.fit(X, y, rule="normalized-adagrad", **chosen).coef[0], expected
    )
    # a value four times as large: w is a sixteenth of it before the step, and the s of both is 1
    X, y = np.array([[1.0], [4.0]]), np.array([1.0, 1.0])
    second = naive_mirrors.fit(X, y, rule="normalized", loss="hinge", eta0=0.1, schedule="constant")
    assert second.coef[0, 0] == pytest.approx(0.1 / 16.0 + 0.1 * 4.0 / 16.0)
