"""Refit of lanes, judged by their own fold."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rarefy.arrays import Floats, Rows, as_rows, dot
from rarefy.engine.learner import Learner
from rarefy.engine.loop import total_loss
from rarefy.engine.refit import refits
from rarefy.lanes.block import Lane
from rarefy.model.answers import right_answers
from rarefy.model.class_weights import ClassWeights
from rarefy.model.scoring import Judge, judgement


class Refitting:
    """Refits lanes on the rows that they learned, as the estimators do."""

    def __init__(
        self,
        rows: Rows,
        n_columns: int,
        folds: Floats,
        fit_intercept: bool,
        l2: float | None,
        judge: Judge | None = None,
        class_weights: ClassWeights | None = None,
    ) -> None:
        self._X = sparse.csr_array(
            (rows.values, rows.indices, rows.indptr), shape=(len(rows.y), n_columns)
        )
        self._y, self._importance = rows.y, rows.importance
        self._folds = folds
        self._fit_intercept = fit_intercept
        self._l2 = l2
        self._judge = judge
        self._class_weights = class_weights

    def tallies(
        self,
        lane: Lane,
        columns: NDArray[np.int64],
        weights: Floats,
        limits: Sequence[int | None],
    ) -> Floats:
        """The Tallies of a lane with these weights, (output, column), once it is refitted.

        Behind them is what the judge says. There is a column for each limit to the features that
        are left.
        """
        own = self._folds == lane.fold
        learner = self._learner(lane, columns, weights)
        X, y, importance = self._only(~own)
        if self._class_weights is not None:
            importance = self._class_weights.of_all(y, importance).importance
        learned = refits(learner, X, y, importance, self._l2, limits)
        judged = self._only(own)
        return np.array([_tallies(lane, one, *judged, self._judge) for one in learned]).T

    def _learner(self, lane: Lane, columns: NDArray[np.int64], weights: Floats) -> Learner:
        n_outputs = len(weights)
        learner = Learner.predicting(
            lane.loss, self._X.shape[1], n_outputs, fit_intercept=self._fit_intercept
        )
        outputs, features = np.nonzero(weights)
        slots = columns[features] * n_outputs + outputs
        learner.state[slots, 0] = weights[outputs, features]
        return learner

    def _only(self, chosen: NDArray[np.bool_]) -> tuple[sparse.csr_array, Floats, Floats]:
        return self._X[chosen], self._y[chosen], self._importance[chosen]


def _tallies(
    lane: Lane,
    learned: Learner,
    X: sparse.csr_array,
    y: Floats,
    importance: Floats,
    judge: Judge | None,
) -> tuple[Any, ...]:
    """The Tallies of one model, in their order, and what the judge says."""
    scores = learned.scores(as_rows(X, y, importance))
    right = right_answers(scores, y)
    slots, _ = learned.nonzero()
    return (
        total_loss(lane.loss, scores, y, importance),
        importance.sum(),
        importance[right].sum(),
        dot(importance, (scores[:, 0] - y) ** 2),
        len(slots),
        len(np.unique(slots // learned.n_outputs)),
        0.0,
        math.nan if judge is None else judgement(judge, scores, y, importance),
    )
