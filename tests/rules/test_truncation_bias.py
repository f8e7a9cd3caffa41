"""The truncation bias of plain L1, and its cure, on the thesis's own examples (4.2, 4.3.4)."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import rarefy
from tests import data
from tests.in_order import classifier_in_order

PLAIN_AND_AWARE = {"fobos": "fr-comid", "rda": "frda", "ftprl": "ftpfrl"}


def learner(rule: str, l1: float, **params) -> rarefy.SparseOnlineClassifier:
    return classifier_in_order(
        rule, "logistic", l1=l1, eta0=1.0, schedule="inv_sqrt", fit_intercept=False, **params
    )


def weights(problem: data.Problem, rule: str, l1: float, **params) -> np.ndarray:
    return learner(rule, l1, **params).fit(problem.csr, problem.y).coef_[0]


# --- 4.2.1: occurrence frequency --------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "plain_l1", "aware_l1"),
    [("fobos", 0.018, 0.00105), ("rda", 0.018, 0.001), ("ftprl", 0.018, 0.00105)],
    ids=list(PLAIN_AND_AWARE),
)
def test_q_2_keeps_the_rare_feature_for_the_same_shrinkage_of_the_frequent(
    plain, plain_l1, aware_l1
):
    """Rates 1/100 and 1/2, each occurrence equally informative.

    r is √50 times larger for the frequent feature (T4.3.4). At strengths that leave the frequent
    weight alike, the plain rule drops the rare feature and the feature-aware one keeps it.
    """
    problem = data.frequency_problem()
    rare, frequent = weights(problem, plain, plain_l1)
    aware_rare, aware_frequent = weights(problem, PLAIN_AND_AWARE[plain], aware_l1, q=2)
    assert aware_frequent == pytest.approx(frequent, rel=0.02)
    assert frequent > 1
    assert rare == 0
    assert aware_rare > 0.04


@pytest.mark.parametrize("plain", list(PLAIN_AND_AWARE))
def test_q_infinity_keeps_the_rare_feature_at_the_same_strength(plain):
    """The same rows, and one l1 = 0.0042 for both.

    With q = ∞, r does not count occurrences: it is max |g|, about 1/2 for either feature. What
    saves the rare one here is that r follows the size of the gradients, where plain L1 has 1.
    """
    problem = data.frequency_problem()
    rare, frequent = weights(problem, plain, 0.0042)
    aware_rare, aware_frequent = weights(problem, PLAIN_AND_AWARE[plain], 0.0042, q=inf)
    assert rare == 0
    assert frequent > 1
    assert aware_rare > 0.04
    assert aware_frequent > 1


@pytest.mark.parametrize("q", [2, inf], ids=lambda q: f"q={q}")
@pytest.mark.parametrize("plain", ["rda", "ftprl"])
def test_a_feature_that_comes_late_owes_no_penalty_for_the_time_before(plain, q):
    """Plain dual rules hold λt against a feature first seen in round t; R starts with it."""
    problem = data.late_feature_problem()
    late, early = weights(problem, plain, 0.03)
    aware_late, aware_early = weights(
        problem, PLAIN_AND_AWARE[plain], 0.03 if q == inf else 0.005, q=q
    )
    assert late == 0
    assert early > 0.5
    assert aware_late > 0.3
    assert aware_early > 0.5


# --- 4.2.2: value range -----------------------------------------------------------------------


def zeros_after_each_round(problem: data.Problem, model) -> np.ndarray:
    """(rounds, d), learning one example at a time."""
    zeros = []
    for i in range(len(problem.y)):
        row = slice(i, i + 1)
        model.partial_fit(problem.csr[row], problem.y[row], classes=[-1.0, 1.0])
        zeros.append(model.coef_[0] == 0)
    return np.array(zeros)


@pytest.mark.parametrize(
    ("rule", "q", "l1"),
    [
        pytest.param("frda", 1, 0.003, marks=pytest.mark.slow),
        ("frda", 2, 0.01),
        ("frda", inf, 0.03),
        pytest.param("fr-comid", 2, 0.03, marks=pytest.mark.slow),
        ("fr-comid", inf, 0.1),
        ("ftpfrl", 2, 0.01),
        pytest.param("ftpfrl", inf, 0.05, marks=pytest.mark.slow),
    ],
)
def test_a_feature_and_a_thousand_times_it_live_and_die_together(rule, q, l1):
    small, large, _ = zeros_after_each_round(data.range_problem(), learner(rule, l1, q=q)).T
    np.testing.assert_array_equal(small, large)
    after_the_start = large[20:]
    assert 0.1 < after_the_start.mean() < 0.9
    assert np.count_nonzero(np.diff(after_the_start.astype(int))) >= 3  # dies and comes back


@pytest.mark.parametrize("rule", ["rda", "fobos", "ftprl"])
def test_plain_l1_truncates_the_small_one_alone(rule):
    """T4.15: |ḡ_α| ≤ λ ≤ |ḡ_β|; the converse does not occur."""
    small, large, _ = zeros_after_each_round(data.range_problem(), learner(rule, 0.01)).T
    assert np.mean(small & ~large) > 0.5
    assert not np.any(~small & large)
