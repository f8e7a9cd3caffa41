"""Agreement with other people's code: scikit-learn, LIBLINEAR, Vowpal Wabbit, and the textbook."""

from __future__ import annotations

from collections import defaultdict
from math import exp, sqrt

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor

import rarefy
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order

# --- scikit-learn's SGD with penalty='l1' is FOBOS with the cumulative penalty ------------------

SGD = {
    "penalty": "l1",
    "learning_rate": "invscaling",
    "power_t": 0.5,
    "shuffle": False,
    "fit_intercept": False,
    "tol": None,
}
OURS = {
    "rule": "fobos",
    "cumulative": True,
    "schedule": "inv_sqrt",
    "fit_intercept": False,
}


def clean(problem: data.Problem) -> sp.csr_matrix:
    """scikit-learn penalises at explicit zeros too, so they must not be there."""
    return sp.csr_matrix(problem.dense)


@pytest.mark.parametrize("passes", [1, 4], ids=lambda passes: f"{passes} passes")
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("hinge", "hinge"),
        ("logistic", "log_loss"),
        ("modified_huber", "modified_huber"),
        ("squared_hinge", "squared_hinge"),
        ("perceptron", "perceptron"),
    ],
    ids=lambda name: name,
)
def test_classifiers_of_scikit_learn(ours, theirs, passes):
    problem = data.problem("binary", n=600, d=40)
    X, y = clean(problem), problem.y
    l1, eta0 = 3e-3, 0.1
    sgd = SGDClassifier(loss=theirs, alpha=l1, eta0=eta0, max_iter=passes, **SGD).fit(X, y)
    model = classifier_in_order(loss=ours, l1=l1, eta0=eta0, passes=passes, **OURS)
    model.fit(X, y)
    assert 0 < np.count_nonzero(sgd.coef_) < sgd.coef_.size
    np.testing.assert_allclose(model.coef_, sgd.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.coef_ == 0, sgd.coef_ == 0)


@pytest.mark.parametrize("passes", [1, 4], ids=lambda passes: f"{passes} passes")
@pytest.mark.parametrize(
    ("ours", "theirs", "factor"),
    [
        ("huber", "huber", 1),
        ("epsilon_insensitive", "epsilon_insensitive", 1),
        ("squared", "squared_error", 2),  # theirs is ½(y − p)²: twice the step, half the penalty
    ],
    ids=["huber", "epsilon_insensitive", "squared"],
)
def test_regressors_of_scikit_learn(ours, theirs, factor, passes):
    problem = data.problem("regression", n=600, d=40)
    X, y = clean(problem), problem.y
    l1, eta0, epsilon = 3e-3, 0.1, 0.2
    sgd = SGDRegressor(
        loss=theirs,
        alpha=l1 / factor,
        eta0=eta0 * factor,
        epsilon=epsilon,
        max_iter=passes,
        **SGD,
    ).fit(X, y)
    model = regressor_in_order(
        loss=ours, l1=l1, eta0=eta0, epsilon=epsilon, passes=passes, **OURS
    ).fit(X, y)
    assert 0 < np.count_nonzero(sgd.coef_) < sgd.coef_.size
    np.testing.assert_allclose(model.coef_, sgd.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.coef_ == 0, sgd.coef_ == 0)


# --- FTRL-Proximal: the textbook, and Vowpal Wabbit ---------------------------------------------


class TextbookFtrl:
    """Algorithm 1 of McMahan et al., "Ad Click Prediction: a View from the Trenches" (2013).

    Per coordinate, in dictionaries, for the logistic loss with labels in {0, 1}.
    """

    def __init__(self, alpha: float, beta: float, lambda1: float, lambda2: float):
        self.alpha, self.beta = alpha, beta
        self.lambda1, self.lambda2 = lambda1, lambda2
        self.z: dict[int, float] = defaultdict(float)
        self.n: dict[int, float] = defaultdict(float)

    def weight(self, i: int) -> float:
        z = self.z[i]
        if abs(z) <= self.lambda1:
            return 0.0
        sign = 1.0 if z > 0 else -1.0
        step = (self.beta + sqrt(self.n[i])) / self.alpha + self.lambda2
        return -(z - sign * self.lambda1) / step

    def learn(self, x: dict[int, float], label: int) -> float:
        """Predict, observe, update; the score before the update is returned."""
        w = {i: self.weight(i) for i in x}
        score = sum(w[i] * x[i] for i in x)
        p = 1 / (1 + exp(-score))
        for i, value in x.items():
            g = (p - label) * value
            sigma = (sqrt(self.n[i] + g * g) - sqrt(self.n[i])) / self.alpha
            self.z[i] += g - sigma * w[i]
            self.n[i] += g * g
        return score


FTRL_SETTINGS = [
    pytest.param((0.1, 1.0, 0.5, 0.0), id="l1"),
    pytest.param((0.3, 0.5, 1.0, 0.7), id="l1 and l2"),
    pytest.param((0.5, 1.0, 2.0, 0.1), id="strong l1"),
]


def ftrl_model(alpha, beta, l1, l2, **params) -> rarefy.SparseOnlineClassifier:
    return classifier_in_order(
        "ftrl", "logistic", eta0=alpha, beta=beta, l1=l1, l2=l2, fit_intercept=False, **params
    )


def as_dicts(X: np.ndarray) -> list[dict[int, float]]:
    return [{int(i): float(row[i]) for i in np.flatnonzero(row)} for row in X]


@pytest.mark.parametrize("setting", FTRL_SETTINGS)
def test_ftrl_is_the_textbook_algorithm(setting):
    problem = data.problem("binary", n=800, d=40)
    textbook = TextbookFtrl(*setting)
    for x, y in zip(as_dicts(problem.dense), problem.y, strict=True):
        textbook.learn(x, int(y > 0))
    expected = np.array([textbook.weight(i) for i in range(40)])
    assert 0 < np.count_nonzero(expected) < 40
    coef = ftrl_model(*setting).fit(problem.csr, problem.y).coef_[0]
    np.testing.assert_allclose(coef, expected, rtol=1e-9, atol=1e-13)
    np.testing.assert_array_equal(coef == 0, expected == 0)


@pytest.mark.parametrize("setting", FTRL_SETTINGS)
def test_ftrl_is_that_of_vowpal_wabbit(setting):
    """VW's `--ftrl` is the same rule in single precision.

    Its --l1 and --l2 are λ and λ₂ of the rule, applied once and not per example, and its step is
    (β + √n)/α, as here. It clips scores to ±50 under the logistic loss, which these rows never
    reach. Feature names that are whole numbers are their own indices.
    """
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    alpha, beta, l1, l2 = setting
    problem = data.problem("binary", n=800, d=40)
    vw = vowpalwabbit.Workspace(
        f"--ftrl --ftrl_alpha {alpha} --ftrl_beta {beta} --l1 {l1} --l2 {l2} "
        "--noconstant --loss_function logistic --quiet"
    )
    model = ftrl_model(*setting)
    theirs, ours = [], []
    for start in range(0, 800, 100):
        rows = slice(start, start + 100)
        model.partial_fit(problem.csr[rows], problem.y[rows], classes=[-1.0, 1.0])
        for x, y in zip(as_dicts(problem.dense[rows]), problem.y[rows], strict=True):
            vw.learn(f"{int(y)} | " + " ".join(f"{i}:{value:.9g}" for i, value in x.items()))
        theirs.append([vw.get_weight(i) for i in range(40)])
        ours.append(model.coef_[0].copy())
    vw.finish()
    theirs, ours = np.array(theirs), np.array(ours)
    assert 0 < np.count_nonzero(ours[-1]) < 40
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    assert np.abs(ours[ours != 0]).min() > 1e-5  # no weight so near 0 that its zero is a toss-up
    np.testing.assert_array_equal(ours == 0, theirs == 0)


# --- many passes approach LIBLINEAR's optimum ---------------------------------------------------

LIBLINEAR_L1 = 0.02


def batch_problem() -> data.Problem:
    return data.problem("binary", n=150, d=12, gap=False)


def objective(w: np.ndarray, problem: data.Problem, l1: float) -> float:
    """Mean logistic loss + λ ‖w‖₁."""
    return float(np.mean(np.logaddexp(0, -problem.y * (problem.dense @ w))) + l1 * np.abs(w).sum())


IS_NEW = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
L1_ALONE = {"l1_ratio": 1.0} if IS_NEW else {"penalty": "l1"}


def liblinear_optimum(problem: data.Problem, l1: float) -> np.ndarray:
    """LIBLINEAR minimises ‖w‖₁ + C Σ loss, so C = 1/(nλ)."""
    batch = LogisticRegression(
        **L1_ALONE,
        C=1 / (len(problem.y) * l1),
        solver="liblinear",
        fit_intercept=False,
        tol=1e-10,
        max_iter=10_000,
        random_state=0,
    )
    return batch.fit(problem.dense, problem.y).coef_[0]


@pytest.mark.parametrize("rule", ["fobos", "rda", "ftprl"])
def test_many_passes_approach_the_optimum_of_liblinear(rule):
    problem = batch_problem()
    best = liblinear_optimum(problem, LIBLINEAR_L1)
    assert 0 < np.count_nonzero(best) < best.size
    lowest = objective(best, problem, LIBLINEAR_L1)
    gaps = []
    for passes in (1, 10, 100, 1000):
        model = classifier_in_order(
            rule,
            "logistic",
            l1=LIBLINEAR_L1,
            eta0=1.0,
            schedule="inv_sqrt",
            fit_intercept=False,
            passes=passes,
        ).fit(problem.csr, problem.y)
        gaps.append(objective(model.coef_[0], problem, LIBLINEAR_L1) / lowest - 1)
    assert all(gap > -1e-9 for gap in gaps)  # nothing is below the optimum
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.001
