"""Pegasos: its mean of subgradients, its optimum, and with l1 the eager form of its step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import rarefy
from rarefy.errors import ConfigError, DivergenceError
from rarefy.rules.pegasos import Pegasos
from tests import data, naive
from tests.in_order import classifier_in_order, regressor_in_order


def eager(
    problem: data.Problem,
    loss: str,
    l1: float,
    l2: float,
    passes: int = 2,
    anchor: tuple[np.ndarray | float, float] = (0.0, 0.0),
) -> tuple:
    """w ← soft((1 - η λ₂) w - η g, η λ) with η = 1/(λ₂ t); the intercept by gradient descent.

    With an anchor, weights and an intercept, w is the difference to these.
    """
    slope = naive.make_loss(loss).slope
    w, b = np.zeros(problem.dense.shape[1]), anchor[1]
    mean = np.zeros_like(w)
    rows = list(zip(problem.dense, problem.y, strict=True)) * passes
    for t, (x, y) in enumerate(rows, 1):
        mean += (w - mean) / t
        g = slope(float((w + anchor[0]) @ x + b), y)
        eta = 1.0 / (l2 * t)
        w = naive.soft((1.0 - eta * l2) * w - eta * g * x, eta * l1)
        b -= g / math.sqrt(t)
    return w + anchor[0], b, mean


@pytest.mark.parametrize("loss", ["hinge", pytest.param("squared", marks=pytest.mark.slow)])
@pytest.mark.parametrize("l1", [0.0, 0.03])
@pytest.mark.parametrize("average", [False, True])
def test_lazy_weights_are_those_of_the_equation(loss, l1, average):
    problem = data.problem("regression" if loss == "squared" else "binary", n=300)
    in_order = regressor_in_order if loss == "squared" else classifier_in_order
    l2 = 3.0 if loss == "squared" else 0.02
    model = in_order("pegasos", loss, l1=l1, l2=l2, eta0=1.0, passes=2, average=average)
    model.fit(problem.csr, problem.y)
    w, b, mean = eager(problem, loss, l1, l2)
    np.testing.assert_allclose(model.coef_.ravel(), mean if average else w, rtol=1e-9, atol=1e-12)
    if not average:
        np.testing.assert_allclose(model.intercept_, b, rtol=1e-9, atol=1e-12)
        assert (model.coef_ == 0.0).any() == (l1 > 0.0)


@pytest.mark.parametrize("l1", [0.0, 0.03])
def test_anchored_weights_are_those_of_the_equation(l1):
    problem = data.problem("binary", n=300)
    old = classifier_in_order("pegasos", "hinge", l1=0.03, l2=0.02, eta0=1.0, passes=2)
    old.fit(problem.csr[:100], problem.y[:100])
    new = rarefy.anchored(old, l1=l1).fit(problem.csr, problem.y)
    anchor = (old.coef_.ravel(), float(old.intercept_[0]))
    w, b, _ = eager(problem, "hinge", l1, 0.02, anchor=anchor)
    np.testing.assert_allclose(new.coef_.ravel(), w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(new.intercept_, b, rtol=1e-9, atol=1e-12)
    assert np.array_equal(new.coef_ == old.coef_, [w == anchor[0]])
    assert (new.coef_ == old.coef_).any() == (l1 > 0.0)


@pytest.mark.parametrize("first", [3, 100, 10_000, 10**6, 10**9])
@pytest.mark.parametrize("rounds", [1, 5, 300, 3_000])
@pytest.mark.parametrize("truncated_after", [0.01, 0.7, 4.0])
def test_sums_of_past_weights_are_exact_in_late_rounds(first, rounds, truncated_after):
    """A weight that is zero after that many times the rounds, from an earlier round on."""
    v, away = -37.3, 2
    rule = Pegasos(l1=0.01 * -v / (away + rounds * truncated_after), l2=0.01)
    fall, last = rule.l1 / rule.l2, first - away
    each = [min(v + fall * (t - last), 0.0) / t for t in range(first, first + rounds)]
    found = rule.closed_sum(None, (v, float(last)), float(first), float(first + rounds))
    assert found == pytest.approx(math.fsum(each), rel=1e-11)


def test_a_weight_that_never_occurred_has_no_past():
    assert Pegasos(l1=0.1).closed_sum(None, (0.0, 0.0), 0.0, 1000.0) == 0.0


@pytest.mark.slow
def test_its_mean_comes_close_to_the_minimum_of_the_svm():
    problem = data.problem("binary", n=300)
    X, y, l2 = problem.dense, problem.y, 0.05

    def objective(w: np.ndarray) -> float:
        return float(np.maximum(0.0, 1.0 - y * (X @ w)).mean() + l2 / 2.0 * w @ w)

    shape = {"fit_intercept": False, "l2": l2, "average": True, "average_power": 2}
    model = classifier_in_order("pegasos", "hinge", passes=200, **shape).fit(X, y)
    best = minimize(objective, model.coef_.ravel(), method="Powell", options={"maxiter": 100_000})
    assert objective(model.coef_.ravel()) - best.fun < 1e-3


def test_without_l2_there_are_no_steps():
    with pytest.raises(ConfigError, match="l2=0 does not apply to the rule pegasos"):
        classifier_in_order("pegasos", l2=0.0).fit(np.eye(2), [0, 1])


@pytest.mark.slow
def test_steps_that_are_too_long_are_told_by_what_makes_them_shorter():
    problem = data.problem("regression", n=60, d=8)
    with pytest.raises(DivergenceError, match=r"l2=0.0001 is too small.* Try l2=0.001"):
        regressor_in_order("pegasos", "squared", passes=5).fit(problem.csr, problem.y)
