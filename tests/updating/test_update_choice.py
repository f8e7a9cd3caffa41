"""The bound of lost answers, and which of the models on the way is taken."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rarefy.errors import ConfigError
from rarefy.updating.bound import CONFIDENCE, rows_needed, upper_bound
from rarefy.updating.choice import Limits
from rarefy.updating.path import ALPHAS, Point, best, gain, within

EVEN = {"accuracy": 0.5, "loss": 1.0, "auc": 0.5, "n_lost": 0, "n_won": 0}


def point(alpha: float, bound: float, **changed: float) -> Point:
    return Point(alpha, **{**EVEN, "lost_rate": 0.0, "won_rate": 0.0, **changed}, bound=bound)


@pytest.mark.parametrize("n_lost", [0, 1, 7, 100])
def test_bound_is_that_of_clopper_and_pearson(n_lost):
    is_lost = np.arange(100) < n_lost
    found = stats.binomtest(n_lost, 100, alternative="less").proportion_ci(CONFIDENCE, "exact")
    assert upper_bound(is_lost, np.full(100, 3.0)) == pytest.approx(found.high, rel=1e-12)


def test_rows_of_different_weight_count_as_fewer():
    is_lost, weights = np.arange(100) < 2, np.where(np.arange(100) < 50, 1.0, 3.0)
    bound = upper_bound(is_lost, weights)  # 80 rows, of which 0.8 are lost
    assert bound == pytest.approx(stats.beta.ppf(CONFIDENCE, 1.8, 79.2), rel=1e-9)


@pytest.mark.parametrize("budget", [0.3, 0.01, 0.005])
def test_rows_needed(budget):
    n_rows = rows_needed(budget)
    bounds = [upper_bound(np.zeros(n, np.bool_), np.ones(n)) for n in (n_rows - 1, n_rows)]
    assert bounds[1] <= budget < bounds[0]


def test_the_way_ends_where_the_budget_does():
    points = [point(alpha, bound) for alpha, bound in ((1.0, 0.01), (0.5, 0.06), (0.0, 0.02))]
    assert [each.is_allowed for each in within(points, 0.05)] == [True, False, False]


def test_the_best_is_taken_and_of_equal_ones_the_nearest_to_the_old_model():
    points = within(
        [point(1.0, 0.0), point(0.6, 0.0, accuracy=0.7, loss=0.9), point(0.2, 0.0, accuracy=0.7)],
        0.1,
    )
    assert best(points, "accuracy").alpha == 0.6
    assert best(points, "auc").alpha == 1.0
    assert gain(points[1], points[0], "loss") == pytest.approx(0.1)
    assert best(within(points, -1.0), "accuracy") is None


def test_the_budget_is_kept_on_new_rows():
    """The best of all allowed models is out of budget in 5 of 100 updates at most."""
    random = np.random.default_rng(1)
    budget, n_rows, n_updates, n_broken = 0.02, 1000, 400, 0
    for _ in range(n_updates):
        # each row is lost from some step on; the true rate grows to 4 % at the new end
        lost_from = np.where(random.random(n_rows) < 0.04, random.random(n_rows), 2.0)
        points = [
            point(
                alpha, upper_bound(lost_from < 1.0 - alpha, np.ones(n_rows)), accuracy=1.0 - alpha
            )
            for alpha in ALPHAS
        ]
        chosen = best(within(points, budget), "accuracy")
        n_broken += chosen is not None and 0.04 * (1.0 - chosen.alpha) > budget
    assert 0 < n_broken <= stats.binom.ppf(0.999, n_updates, 0.05)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(0.0), "max_negative=0.0: a share above 0"),
        (Limits(1.0), "max_negative"),
        (Limits(float("nan")), "max_negative"),
        (Limits("5"), "max_negative='5'"),
        (Limits(0.1, "f1"), "by='f1'"),
        (Limits(0.1, min_gain=-1.0), "min_gain=-1.0"),
    ],
)
def test_limits_that_make_no_sense(limits, message):
    with pytest.raises(ConfigError, match=message):
        limits.check()
