"""Rows, spaces and comparisons for the tests of models that tune themselves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from rarefy.arrays import Rows, as_rows, part_of
from rarefy.engine.learner import Learner
from rarefy.estimators.matrices import as_csr
from rarefy.lanes.block import NO_FOLD, Block
from rarefy.model.losses import Logistic
from rarefy.model.multiclass import multiclass_loss
from rarefy.parameters.build import make_loss
from rarefy.tuning.space import Point, Space, make_space, moved
from rarefy.tuning.tuning_learner import TuningLearner
from tests import data

N_FEATURES = 25
N_CLASSES = 3
GIVEN = {"l1": None, "q": None, "eta0": None, "beta": None, "cumulative": False, "loss": "logistic"}


class Task(NamedTuple):
    """A loss, how many scores it is of, and what kind of data it is for."""

    loss: object
    n_outputs: int
    kind: str
    name: str  # of the loss


BINARY = Task(Logistic(), 1, "binary", "logistic")
SOFTMAX = Task(multiclass_loss("softmax", Logistic()), N_CLASSES, "multiclass", "logistic")
HINGE = Task(
    multiclass_loss("crammer_singer", make_loss("hinge")), N_CLASSES, "multiclass", "hinge"
)
REGRESSION = Task(make_loss("squared"), 1, "regression", "squared")


def rows_for(task: Task, n: int = 300, seed: int = 0) -> Rows:
    """Rows of all weights, of which about one in seven has none."""
    problem = data.problem(task.kind, n=n, d=N_FEATURES, classes=N_CLASSES, seed=seed)
    return as_rows(as_csr(problem.csr), problem.y.astype(float), data.importances(n))


def part(rows: Rows, begin: int, end: int) -> Rows:
    """The rows from begin to end - 1, which share the arrays of all."""
    return part_of(rows, begin, min(end, len(rows.y)))


def stream(n: int = 3000, d: int = 400, n_useful: int = 80, scale: float = 1.0):
    """Rows of which a few features tell the label, and the others nothing."""
    rng = np.random.default_rng(3)
    X = sparse.random_array((n, d), density=0.05, rng=rng, format="csr")
    X.data[:] = scale
    truth = np.zeros(d)
    truth[:n_useful] = rng.choice([-3.0, 3.0], n_useful) / scale
    y = X @ truth + rng.normal(0.0, 0.5, n) > 0.0
    return sparse.csr_array(X), y


def space_of(task: Task = BINARY, target_features: int | None = None, **parameters) -> Space:
    parameters = {**GIVEN, "loss": task.name, **parameters}
    return make_space(parameters, target_features, passes=1)


def rule_in(space: Space, point: Point):
    """Rule and schedule at a point of a space."""
    return moved(*space.rule_of(point), point)


def learner_in(space: Space, point, task: Task = BINARY, **shape) -> Learner:
    """A model at a point of a space."""
    shape = {"n_features": N_FEATURES, "n_outputs": task.n_outputs, **shape}
    learner = Learner(*rule_in(space, point), task.loss, **shape)
    learner.found = point
    return learner


def tuning(space: Space, task: Task = BINARY, **shape) -> TuningLearner:
    shape = {"n_features": N_FEATURES, "n_outputs": task.n_outputs, **shape}
    return TuningLearner(space, task.loss, **{"fit_intercept": True, **shape})


def learn(block: Block, rows: Rows) -> None:
    n = len(rows.y)
    block.learn(rows, np.full(n, NO_FOLD), np.arange(n), judged=True)


def weights_of(learner) -> np.ndarray:
    return learner.settled().weights().toarray()


def assert_close_points(one: Point, other: Point) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        close = isinstance(value, float) and math.isclose(value, other[name], rel_tol=1e-9)
        assert close or value == other[name], (name, one, other)


def assert_same_kind(one, other) -> None:
    """Two rules or schedules, or pairs of them, have the same numbers, and types in all parts.

    Named tuples of several types may be equal: InvSqrt(1.0) == Constant(1.0).
    """
    assert repr(one) == repr(other)


def assert_same(one, other) -> None:
    """Two learners predict alike, bit for bit."""
    np.testing.assert_array_equal(weights_of(one), weights_of(other))
    np.testing.assert_array_equal(one.settled().intercept(), other.settled().intercept())
    assert one.t == other.t


def assert_same_search(one: TuningLearner, other: TuningLearner) -> None:
    """Two models that tune themselves are alike, bit for bit."""
    assert one.settled().found == other.settled().found
    np.testing.assert_array_equal(one.progress, other.progress)
    assert_same(one, other)
