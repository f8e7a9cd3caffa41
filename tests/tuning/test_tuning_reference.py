"""Models that tune themselves learn features and targets far from zero as a single one does."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from rarefy.arrays import as_rows
from rarefy.engine.learner import Learner
from rarefy.engine.reference import new_reference
from rarefy.tuning.race import Race
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order
from tests.tuned import BINARY, REGRESSION, SOFTMAX, assert_same, part, rule_in, space_of

N, WIDTH = 700, 6
RANDOM = np.random.default_rng(0)
CENTRED = RANDOM.normal(size=(N, WIDTH))
TRUTH = np.array([2.0, -1.0, 0.5, 0.0, 0.0, 1.0])
TARGETS = CENTRED @ TRUTH + 0.1 * RANDOM.normal(size=N)
FAR = CENTRED * [1e-3, 1.0, 10.0, 1.0, 1.0, 1e3] + [5.0, 99.0, -1e4, 0.0, 1e3, 0.0]
FIRST, REST = slice(0, 500), slice(500, None)


def rows_far_from_zero(task):
    """Some of no weight, the first one included; one feature is missing from the tenth on."""
    y = {"regression": 1e3 + TARGETS, "binary": np.sign(TARGETS)}
    y["multiclass"] = np.digitize(TARGETS, [-1.0, 1.0]).astype(float)
    X, importance = FAR.copy(), data.importances(N)
    X[9, 4] = importance[0] = 0.0
    return as_rows(sparse.csr_array(X), y[task.kind], importance)


@pytest.mark.parametrize(
    ("task", "rule"),
    [
        (REGRESSION, "scale-free-ftrl"),
        pytest.param(BINARY, "scale-free", marks=pytest.mark.slow),
        pytest.param(SOFTMAX, "scale-free", marks=pytest.mark.slow),
        pytest.param(REGRESSION, "scale-free", marks=pytest.mark.slow),
    ],
)
def test_each_of_a_race_learns_as_one_by_itself(task, rule):
    space, rows = space_of(task, rule=rule, l1="auto"), rows_far_from_zero(task)
    (kinds,) = space.kinds
    usual = {None: space.usual(kinds[0], 1.0, 128)}
    points = space.first_points(kinds, usual)
    shape = {"n_features": WIDTH, "n_outputs": task.n_outputs, "fit_intercept": True}
    race = Race(space, points, task.loss, usual, **shape)
    for begin, end in ((0, 3), (3, 4), (4, 300), (300, N)):
        race.learn(rows, begin, end)
    for lane, point in enumerate(points):
        alone = Learner(
            *rule_in(space, point),
            task.loss,
            reference=new_reference(rule_in(space, point)[0], task.loss, fit_intercept=True),
            **shape,
        )
        alone.learn(part(rows, 0, N))
        model = race.learner(lane, point)
        assert_same(model, alone)
        np.testing.assert_allclose(model.progress, alone.progress, rtol=1e-10)
        assert len(alone.reference.slots) == WIDTH - 1
        assert str(model.reference) == str(alone.reference)


@pytest.mark.parametrize("left", [{"rule": "auto"}, {"l1": "auto"}], ids=str)
def test_where_features_and_targets_lie_does_not_matter(left):
    """They are learned at once, and nobody is warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor = regressor_in_order(**left).fit(FAR[FIRST], 1e4 + TARGETS[FIRST])
        classifier = classifier_in_order(**left).fit(FAR[FIRST], TARGETS[FIRST] > 0.0)
    assert regressor.score(FAR[REST], 1e4 + TARGETS[REST]) > 0.95
    assert classifier.score(FAR[REST], TARGETS[REST] > 0.0) > 0.93
    if left == {"rule": "auto"}:
        assert regressor.found_["rule"] == "scale-free-ftrl"


def test_a_rule_that_does_not_centre_says_so():
    with pytest.warns(match="this rule learns the values of 4 features and the targets as they"):
        regressor_in_order(rule="ftrl", l1="auto").fit(FAR[FIRST], 1e4 + TARGETS[FIRST])
