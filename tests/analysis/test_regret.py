"""Regret against the best fixed weights, and what theorems say of it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

import rarefy
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.errors import ConfigError
from tests import data, naive

ROUNDS = (50, 200, 800, 3200)
STEP = 2.0  # about the largest of the best weights, as theory has it


def stream(n: int, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Noisy labels, so that the best weights are finite; rows of norm 1."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(2.0 * X[:, 0] + rng.logistic(size=n) > 0.0, 1.0, -1.0)


def against(model: SparseOnlineClassifier, n: int, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Labels that are always the opposite of what this learner predicts."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.empty(n)
    for t in range(n):
        row = X[t : t + 1]
        y[t] = -1.0 if t == 0 or model.decision_function(row)[0] >= 0.0 else 1.0
        model.partial_fit(row, y[t : t + 1], classes=[-1.0, 1.0])
    return X, y


def regrets(model, X, y) -> list[float]:
    return [rarefy.regret(model, X[:n], y[:n]).regret for n in ROUNDS if n <= len(y)]


def powers(found: list[float]) -> list[float]:
    """The power of T by which they grow from one length to the next, which is four times it."""
    return [math.log(b / a) / math.log(4.0) for a, b in pairwise(found)]


def test_it_is_what_the_rounds_have_cost_beyond_the_best():
    """Of a feature-aware rule, with the penalty of each round (T4.51)."""
    problem = data.problem("binary", n=120, d=8)
    shape = {"rule": "frda", "loss": "logistic", "l1": 2e-3, "q": 2, "eta0": 0.5}
    model = SparseOnlineClassifier(**shape, fit_intercept=False)
    found = rarefy.regret(model, problem.csr, problem.y)
    eager = naive.fit(problem.dense, problem.y, **shape, history=True)
    weights = np.vstack([np.zeros((1, 8)), eager.coef_after[:-1, 0]])
    slopes = [
        naive.logistic_slope(float(w @ x), y)
        for w, x, y in zip(weights, problem.dense, problem.y, strict=True)
    ]
    r = np.sqrt(np.cumsum((np.array(slopes)[:, None] * problem.dense) ** 2, axis=0))
    margins = problem.y * np.einsum("td,td->t", problem.dense, weights)
    cost = np.logaddexp(0.0, -margins).sum() + 2e-3 * (r * np.abs(weights)).sum()
    np.testing.assert_allclose(found.learned, cost, rtol=1e-9)

    def of_fixed(w: np.ndarray) -> float:
        loss = np.logaddexp(0.0, -problem.y * (problem.dense @ w)).sum()
        return float(loss + 2e-3 * (r.sum(axis=0) * np.abs(w)).sum())

    assert of_fixed(found.coef) == pytest.approx(found.best, abs=1e-8)
    better = minimize(of_fixed, found.coef, method="Nelder-Mead", options={"maxiter": 20_000})
    assert better.fun >= found.best - 1e-8


def test_the_best_weights_of_the_hinge_are_those_of_a_linear_programme():
    X, y = stream(200)
    model = SparseOnlineClassifier("fobos", "hinge", l1=1e-3)
    found = rarefy.regret(model, X, y)

    def of_fixed(w: np.ndarray) -> float:
        margins = y * (X @ w[:-1] + w[-1])
        return float(np.maximum(0.0, 1.0 - margins).sum() + 200 * 1e-3 * np.abs(w[:-1]).sum())

    at = np.append(found.coef, found.intercept)
    assert of_fixed(at) == pytest.approx(found.best, rel=1e-9)
    rng = np.random.default_rng(0)
    assert all(of_fixed(at + 0.01 * rng.normal(size=6)) >= found.best for _ in range(200))


def test_gradient_descent_is_within_its_bound():
    """D² / (2 η_T) + G²/2 Σ η_t, D being the largest distance from the best weights (T2.3.1)."""
    X, y = stream(800)
    for labels in (y, against(SparseOnlineClassifier("ogd", fit_intercept=False), 800, 5)[1]):
        model = SparseOnlineClassifier("ogd", fit_intercept=False)
        found = rarefy.regret(model, X, labels)
        steps = 1.0 / np.sqrt(np.arange(1, 801))
        bound = found.largest_distance**2 / (2.0 * steps[-1]) + steps.sum() / 2.0
        assert 0.0 < found.regret <= bound


def slowly(*cases):
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]


RULES_WITH_L1 = ("fobos", "rda", "ftprl", "fr-comid", "frda", "ftpfrl")
ADAGRAD = ("adagrad-fobos", "adagrad-rda", "adagrad-ftprl")


@pytest.mark.parametrize("rule", ["ogd", *slowly(*((r,) for r in (*RULES_WITH_L1, *ADAGRAD)))])
def test_growth_is_at_most_that_of_the_root_of_the_rounds(rule):
    """From each length to the next, with a step as large as the weights that it is to reach."""
    X, y = stream(ROUNDS[-1])
    l1 = {} if rule == "ogd" else {"l1": 1e-4}
    found = regrets(SparseOnlineClassifier(rule, eta0=STEP, fit_intercept=False, **l1), X, y)
    assert found[0] > 0.0
    assert max(powers(found)) < 0.55, found


@pytest.mark.slow
def test_with_too_small_a_step_it_grows_faster_until_the_weights_are_there():
    """adagrad-rda with its default of 0.1 for weights of 2, with or without a penalty."""
    X, y = (part[:800] for part in stream(ROUNDS[-1]))
    for l1 in (0.0, 1e-4):
        shape = {"rule": "adagrad-rda", "l1": l1, "fit_intercept": False}
        assert min(powers(regrets(SparseOnlineClassifier(**shape), X, y))) > 0.75
        large_enough = regrets(SparseOnlineClassifier(**shape, eta0=0.5), X, y)
        assert max(powers(large_enough)) < 0.55


@pytest.mark.parametrize("rule", ["ogd", *slowly(("fobos",), ("rda",), ("adagrad-rda",))])
def test_growth_against_an_adversary(rule):
    shape = {"rule": rule, "eta0": 1.0, "fit_intercept": False}
    shape |= {} if rule == "ogd" else {"l1": 1e-4}
    X, y = against(SparseOnlineClassifier(**shape), 800)
    found = regrets(SparseOnlineClassifier(**shape), X, y)
    assert found[0] > 0.0
    assert max(powers(found)) < 0.65, found


@pytest.mark.parametrize("rule", slowly(("fobos",), ("rda",), ("adagrad-fobos",)))
@pytest.mark.parametrize("adversary", [False, True])
def test_rules_with_l1_are_within_their_bounds(rule, adversary):
    """Subgradients and rows have a norm of at most 1; steps are η/√t, or η/√Σg² of a feature.

    COMID: D² / (2 η_T) + Σ η_t / 2; RDA: (|w*|² / (2η) + η) √T (Xiao 2010); AdaGrad, by COMID:
    (D² / (2η) + η) Σ_i √Σ_t g² (Duchi et al. 2011, whose D is of the largest coordinate).
    """
    shape = {"rule": rule, "eta0": STEP, "l1": 1e-3, "fit_intercept": False}
    n = 400
    X, y = against(SparseOnlineClassifier(**shape), n) if adversary else stream(n)
    found = rarefy.regret(SparseOnlineClassifier(**shape), X, y)
    steps = STEP / np.sqrt(np.arange(1, n + 1))
    squared_distance = found.largest_distance**2
    bound = {
        "fobos": squared_distance / (2.0 * steps[-1]) + steps.sum() / 2.0,
        "rda": (found.coef @ found.coef / (2.0 * STEP) + STEP) * math.sqrt(n),
        "adagrad-fobos": (squared_distance / (2.0 * STEP) + STEP) * np.linalg.norm(X, axis=0).sum(),
    }[rule]
    assert 0.0 < found.regret <= bound


@pytest.mark.parametrize(
    "shape",
    [
        {"rule": "pegasos"},
        *slowly(({"rule": "fobos", "schedule": "inv_t", "eta0": 10.0, "l1": 0.0},)),
    ],
)
def test_strongly_convex_losses_have_logarithmic_regret(shape):
    """With steps 1/(λ₂ t), it is within (2 R)² (1 + log T) / (2 λ₂) (T3.19), and as much is added
    from each length to the next, which is four times it."""
    X, y = stream(ROUNDS[-1])
    l2 = 0.1
    found = regrets(SparseOnlineClassifier(**shape, l2=l2, fit_intercept=False), X, y)
    for n, one in zip(ROUNDS, found, strict=True):
        assert 0.0 < one <= 2.0 * (1.0 + math.log(n)) / l2
    added = np.diff(found)
    assert added.max() < 1.3 * added.min(), found
    assert max(powers(found)) < 0.2, found


def test_regression_and_refusals():
    problem = data.problem("regression", n=100)
    model = SparseOnlineRegressor("fobos", "squared", l1=1e-3, schedule="inv_t")
    found = rarefy.regret(model, problem.csr, problem.y)
    assert found.regret > 0.0
    with pytest.raises(ConfigError, match="two classes"):
        rarefy.regret(SparseOnlineClassifier("ogd"), problem.csr, np.arange(100) % 3)
    model = SparseOnlineClassifier("ogd", "perceptron")
    with pytest.raises(ConfigError, match="cannot be found for Perceptron"):
        rarefy.regret(model, problem.csr, np.arange(100) % 2)
    with pytest.raises(ConfigError, match="rules that learn online"):
        rarefy.regret(SparseOnlineClassifier("sag"), problem.csr, np.arange(100) % 2)
