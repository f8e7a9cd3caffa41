"""SAG and SVRG reach the minimum, however many steps a coordinate has missed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge

import rarefy
from rarefy import RarefyWarning, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.engine.finite_data import drifted, proximal
from rarefy.errors import ConfigError
from tests import data

RULES = ("sag", "svrg")


@given(
    st.floats(-3, 3),
    st.floats(-2, 2),
    st.integers(0, 400),
    st.floats(1e-4, 0.5),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([0.0, 1e-3, 0.7]),
)
@settings(deadline=None)
def test_missed_steps_are_made_up_for(w, g, n_steps, eta, l1, l2):
    expected = w
    for _ in range(n_steps):
        expected = proximal(expected - eta * g, eta, l1, l2)
    assert drifted(w, g, float(n_steps), eta, l1, l2) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def objective(problem: data.Problem, model, l1: float, l2: float, importance=None) -> float:
    w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
    margins = problem.y * (problem.dense @ w + b)
    loss = np.average(np.logaddexp(0.0, -margins), weights=importance)
    return float(loss + l1 * np.abs(w).sum() + l2 / 2.0 * w @ w)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_minimum_is_that_of_newton_steps(rule, weighted):
    problem = data.problem("binary")
    n, l2 = len(problem.y), 0.01
    importance = data.importances(n) if weighted else np.ones(n)
    peer = LogisticRegression(C=1.0 / (importance.sum() * l2), tol=1e-12, solver="newton-cg")
    peer.fit(problem.dense, problem.y, sample_weight=importance)
    model = SparseOnlineClassifier(rule, l2=l2)
    model.fit(problem.csr, problem.y, sample_weight=importance)
    ours, theirs = (objective(problem, m, 0.0, l2, importance) for m in (model, peer))
    assert abs(ours - theirs) < 1e-12
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_with_l1_the_minimum_is_that_of_saga(rule, l2):
    problem = data.problem("binary")
    n, l1 = len(problem.y), 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        peer = LogisticRegression(
            C=1.0 / (n * (l1 + l2)), l1_ratio=l1 / (l1 + l2), solver="saga", tol=1e-12,
            max_iter=100_000, penalty="elasticnet",
        ).fit(problem.dense, problem.y)  # fmt: skip
    model = SparseOnlineClassifier(rule, l1=l1, l2=l2).fit(problem.csr, problem.y)
    ours, theirs = (objective(problem, m, l1, l2) for m in (model, peer))
    assert ours <= theirs + 1e-10
    np.testing.assert_array_equal(model.coef_ == 0.0, peer.coef_ == 0.0)
    assert 0 < model.n_nonzero_ < model.coef_.size


def test_regression_is_ridge():
    problem = data.problem("regression")
    l2 = 0.02  # of (y - p)², so that Ridge has half of it for each row
    peer = Ridge(alpha=len(problem.y) * l2 / 2.0, tol=1e-14).fit(problem.dense, problem.y)
    model = SparseOnlineRegressor("sag", "squared", l2=l2).fit(problem.csr, problem.y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-7)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_convergence_is_linear(rule):
    """Every twenty passes divide what is missing by about the same."""
    problem = data.problem("binary")
    l2 = 0.02
    best = objective(
        problem, SparseOnlineClassifier(rule, l2=l2).fit(problem.csr, problem.y), 0, l2
    )
    missing = []
    for passes in (10, 30, 50):
        model = SparseOnlineClassifier(rule, l2=l2, passes=passes).fit(problem.csr, problem.y)
        missing.append(objective(problem, model, 0.0, l2) - best)
    assert missing[1] < missing[0] / 20.0
    assert missing[2] < max(missing[1] / 20.0, 1e-14)


def test_saved_models_and_seeds(tmp_path):
    problem = data.problem("binary")
    model = SparseOnlineClassifier("svrg", passes=7).fit(problem.csr, problem.y)
    again = SparseOnlineClassifier("svrg", passes=7).fit(problem.csr, problem.y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    model.save(tmp_path / "a.model")
    loaded = rarefy.load(tmp_path / "a.model")
    np.testing.assert_array_equal(loaded.predict(problem.csr), model.predict(problem.csr))
    assert model.passes_ == 7


def test_what_is_refused():
    problem = data.problem("binary", n=50)
    with pytest.raises(ConfigError, match="the rule sag needs all rows, many times: use fit"):
        SparseOnlineClassifier("sag").partial_fit(problem.csr, problem.y, classes=[-1.0, 1.0])
    with pytest.raises(ConfigError, match="does not apply to loss='hinge'"):
        SparseOnlineClassifier("sag", "hinge").fit(problem.csr, problem.y)
    with pytest.raises(ConfigError, match="more than two classes"):
        SparseOnlineClassifier("sag").fit(problem.csr, np.arange(50) % 3)
    with pytest.raises(ConfigError, match="cannot be used in sweeps"):
        rarefy.sweep(problem.csr, problem.y, rule="svrg", l1=[0.1, 0.2], folds=2)
    with pytest.raises(ConfigError, match="average=True does not apply to the rule svrg"):
        SparseOnlineClassifier("svrg", average=True).fit(problem.csr, problem.y)
    huge = np.array([[1e4, 1.0], [-1e4, 1.0], [1e4, 2.0], [0.0, -1.0]] * 5)
    with pytest.warns(RarefyWarning, match="The minimum was not reached"):
        SparseOnlineClassifier("sag", l2=0.0).fit(huge, [0, 1, 0, 1] * 5)
