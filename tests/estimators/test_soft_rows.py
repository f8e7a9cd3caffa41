"""Probabilities for labels: the loss is the expected one, and hard labels are a case of it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

import rarefy
from rarefy.errors import InputError

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(80, 4))
P = 1.0 / (1.0 + np.exp(-(X @ [1.0, -2.0, 0.5, 0.0]) + RANDOM.normal(size=80)))
L2 = 0.1


def cross_entropy(weights: np.ndarray, *, importance: np.ndarray) -> float:
    scores = X @ weights
    losses = P * np.logaddexp(0.0, -scores) + (1.0 - P) * np.logaddexp(0.0, scores)
    return importance @ losses / importance.sum() + L2 / 2.0 * weights @ weights


@pytest.mark.parametrize("importance", [np.ones(80), RANDOM.random(80)])
def test_the_minimum_is_that_of_the_expected_loss(importance):
    expected = minimize(lambda w: cross_entropy(w, importance=importance), np.zeros(4), tol=1e-12).x
    rows = rarefy.soft_targets(sparse.csr_array(X), P, sample_weight=importance)
    assert rows.sample_weight.sum() == pytest.approx(importance.sum())
    model = rarefy.SparseOnlineClassifier(rule="sag", l1=0.0, l2=L2, fit_intercept=False)
    scale = len(rows.y) / importance.sum()  # penalties are those of each example
    model.fit(rows.X, rows.y, sample_weight=rows.sample_weight * scale)
    np.testing.assert_allclose(model.coef_[0], expected, atol=1e-5)


def test_hard_labels_give_the_same_bits():
    y = (P > 0.5).astype(int)
    model = rarefy.SparseOnlineClassifier(passes=1, shuffle=False)
    expected = model.fit(X, y).coef_.copy()
    rows = rarefy.soft_targets(X, y)
    np.testing.assert_array_equal(model.fit(rows.X, rows.y, rows.sample_weight).coef_, expected)
    shares = np.eye(3)[[0, 2, 1, 2]]
    rows = rarefy.soft_targets(X[:4], shares, classes=["a", "b", "c"])
    assert rows.y.tolist() == ["a", "c", "b", "c"]
    np.testing.assert_array_equal(rows.X, X[:4])


def test_bad_input():
    for probabilities, how, message in (
        ([0.5], {}, "different lengths"),
        (np.full(80, 1.5), {}, "row 0: numbers between 0 and 1"),
        (np.full(80, np.nan), {}, "row 0"),
        (np.full((80, 2), 0.4), {}, "sum to 1"),
        (np.ones((80, 1)), {}, "one for each row and class"),
        (["often"] * 80, {}, "must be numbers"),
        (P, {"classes": ["a"]}, "2 different labels"),
        (P, {"sample_weight": -np.ones(80)}, "sample_weight"),
    ):
        with pytest.raises(InputError, match=message):
            rarefy.soft_targets(X, probabilities, **how)
