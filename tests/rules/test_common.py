"""Rules that look at a row as a whole, and floats that all coordinates have in common."""

from typing import NamedTuple

import numpy as np
import pytest

import rarefy
from rarefy import ConfigError, rule
from rarefy.lanes.block import Lane
from rarefy.lanes.lane_set import Lanes
from rarefy.model.losses import Logistic
from rarefy.model.multiclass import multiclass_loss
from rarefy.model.schedules import InvSqrt
from tests import data
from tests.in_order import classifier_in_order
from tests.lanes import test_lanes

BINARY, SEVERAL = data.problem("binary", n=200), data.problem("multiclass", n=150)


@rule("v", common=("norm", "longest"), row_sums=("squares",), step_sums=("growth",))
class Ball(NamedTuple):
    """Gradient descent by rows of length 1, seen from the ball around zero: w = v min(1, R/|v|)."""

    radius: float = 0.2

    def row_terms(self, clock, state, x):
        return (x * x,)

    def meet(self, clock, example):
        norm, longest = clock.common
        squares = example.sums[0] / example.n_scores
        slope = example.slope / max(squares, 1e-9) ** 0.5
        return (norm, max(longest, squares)), slope

    def weight(self, clock, state):
        norm, _ = clock.common
        return state[0] * min(1.0, self.radius / max(norm, 1e-150) ** 0.5)

    def step(self, clock, state, g, x):
        return (state[0] - clock.eta * g,)

    def step_terms(self, clock, old, new, x):
        return (new[0] * new[0] - old[0] * old[0],)

    def conclude(self, clock, sums):
        norm, longest = clock.common
        return norm + sums[0], longest


def eagerly(X, y, radius: float, n_classes: int) -> tuple[np.ndarray, float, float]:
    """Weights, the sum of squares of v, and the largest of those of a row, dense."""
    rows = np.hstack([X, np.ones((len(X), 1))])
    v, longest = np.zeros((n_classes, rows.shape[1])), 0.0
    for t, (x, label) in enumerate(zip(rows, y, strict=True), 1):
        w = v * min(1.0, radius / max(np.sqrt((v * v).sum()), 1e-75))
        scores = w @ x
        if n_classes == 1:
            slopes = np.array([-label / (1.0 + np.exp(label * scores[0]))])
        else:
            slopes = np.exp(scores) / np.exp(scores).sum()
            slopes[int(label)] -= 1.0
        longest = max(longest, x @ x)
        v = v - 0.3 / np.sqrt(t) * np.outer(slopes / np.sqrt(x @ x), x)
    norm = (v * v).sum()
    return v * min(1.0, radius / np.sqrt(norm)), norm, longest


def model(**chosen):
    chosen = {"eta0": 0.3, "passes": 1, "shuffle": False, **chosen}
    return classifier_in_order(rule=Ball(), **chosen)


@pytest.mark.parametrize("problem", [BINARY, SEVERAL], ids=["two classes", "several"])
def test_as_a_dense_loop_has_it(problem):
    fitted = model().fit(problem.csr, problem.y)
    n_classes = 1 if problem is BINARY else int(problem.y.max()) + 1
    w, *common = eagerly(problem.dense, problem.y, 0.2, n_classes)
    found = np.hstack([fitted.coef_, fitted.intercept_[:, np.newaxis]])
    np.testing.assert_allclose(found, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted.learner_.clock.common, common, rtol=1e-12)
    assert np.sqrt((w * w).sum()) == pytest.approx(0.2)


def test_in_pieces_and_from_a_file(tmp_path):
    whole = model().fit(BINARY.csr, BINARY.y)
    pieces = model()
    for rows in (slice(0, 1), slice(1, 120), slice(120, None)):
        pieces.partial_fit(BINARY.csr[rows], BINARY.y[rows], classes=[-1.0, 1.0])
        pieces.save(tmp_path / "model")
        pieces = rarefy.load(tmp_path / "model")
    np.testing.assert_array_equal(pieces.coef_, whole.coef_)
    assert pieces.learner_.clock == whole.learner_.clock


@pytest.mark.parametrize("n_outputs", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_side_by_side(n_outputs):
    loss = Logistic() if n_outputs == 1 else multiclass_loss("softmax", Logistic())
    rows = test_lanes.BINARY if n_outputs == 1 else test_lanes.MULTICLASS
    folds = test_lanes.FOLDS
    lanes = [
        Lane(Ball(0.2 * (1 + i)), InvSqrt(0.1 * (1 + i)), loss, float(fold))
        for i in range(3)
        for fold in range(3)
    ]
    size = {"n_outputs": n_outputs}
    side_by_side = Lanes(lanes, n_features=test_lanes.N_FEATURES, **size)
    side_by_side.learn(rows, folds)
    side_by_side.learn(rows, folds)
    for number, lane in enumerate(lanes):
        learner = test_lanes.by_itself(lane, rows, folds, **size)
        np.testing.assert_array_equal(side_by_side.weights(number), learner.weights().toarray())
        np.testing.assert_array_equal(side_by_side.intercepts(number), learner.intercept())


def test_columns_that_share_a_feature_are_all_counted():
    """Words that occur once, and two of them in the same row, are one feature of a sweep."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(60, 3)), np.repeat(np.eye(60), 3, axis=1)])
    y = np.where(X[:, 0] > 0, 1, -1)
    chosen = {"eta0": 0.3, "passes": 1, "shuffle": False}
    found = rarefy.sweep(X, y, rule=Ball(), folds=2, **chosen)
    merged = rarefy.sweep(X[:, :66], y, rule=Ball(), folds=2, **chosen)
    assert np.isfinite(found.by_fold["loss"]).all()
    assert (found.by_fold["loss"] != merged.by_fold["loss"]).all()


def test_weights_that_depend_on_others_have_no_lazy_mean():
    with pytest.raises(ConfigError, match="average=True cannot be used with the rule Ball"):
        model(average=True).fit(BINARY.csr, BINARY.y)


def test_what_is_declared_has_to_be_there():
    with pytest.raises(ConfigError, match="needs the method row_terms"):

        @rule("w", row_sums=("squares",))
        class WithoutTerms(NamedTuple):
            def weight(self, clock, state):
                return state[0]

            def step(self, clock, state, g, x):
                return state
