"""Rules that are the same algorithm once a parameter is taken away."""

import numpy as np
import pytest

from tests import data
from tests.in_order import classifier_in_order

PROBLEM = data.problem("binary")


def weights(**chosen) -> np.ndarray:
    model = classifier_in_order(loss="logistic", passes=2, shuffle=False, **chosen)
    model.fit(PROBLEM.csr, PROBLEM.y)
    return np.append(model.coef_, model.intercept_)


@pytest.mark.parametrize("other", ["adagrad-ftprl", "ftrl"])
def test_without_a_penalty_adaptive_leaders_descend(other):
    """z = H w/c, so that z + (H' - H) w/c - g is H' (w - c g/H')/c."""
    chosen = {"l1": 0.0, "eta0": 0.3, "beta": 0.7}
    expected = weights(rule="adagrad-fobos", **chosen)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(weights(rule=other, **chosen), expected, rtol=1e-9)


def test_dual_averaging_is_rda_without_a_penalty():
    expected = weights(rule="rda", l1=0.0, eta0=0.3)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_array_equal(weights(rule="da", eta0=0.3), expected)


def test_dual_averaging_with_a_constant_step_is_gradient_descent():
    chosen = {"schedule": "constant", "eta0": 0.05}
    expected = weights(rule="ogd", **chosen)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(weights(rule="da", **chosen), expected, rtol=1e-9, atol=1e-12)


def test_truncation_in_every_round_is_fobos():
    chosen = {"l1": 0.003, "eta0": 0.05}
    expected = weights(rule="fobos", schedule="constant", **chosen)
    found = weights(rule="truncated-gradient", truncate_every=1, **chosen)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_the_leader_without_a_penalty_is_gradient_descent():
    found = weights(rule="ftprl", l1=0.0, eta0=0.3)
    np.testing.assert_allclose(found, weights(rule="ogd", eta0=0.3), rtol=1e-9, atol=1e-12)
