"""AUC and average precision."""

import math

import numpy as np

from rarefy.arrays import Flags, Floats, dot


class Ranking:
    """Rows in the order of their scores; those with equal scores are one group.

    What is undefined, as where all rows are of one class, is NaN.
    """

    def __init__(self, scores: Floats, positive: Flags, importance: Floats) -> None:
        order = np.argsort(scores)
        scores, positive, importance = scores[order], positive[order], importance[order]
        begins = np.concatenate([[0], 1 + np.flatnonzero(scores[1:] != scores[:-1])])
        self._scores = scores[begins]  # of the groups, ascending
        self._positive = np.add.reduceat(np.where(positive, importance, 0.0), begins)
        self._negative = np.add.reduceat(np.where(positive, 0.0, importance), begins)
        self._n_positive = float(self._positive.sum())
        self._n_negative = float(self._negative.sum())

    def auc(self) -> float:
        """The area under the ROC curve; a pair with equal scores counts half."""
        if self._n_positive == 0.0 or self._n_negative == 0.0:
            return math.nan
        below = np.cumsum(self._negative) - 0.5 * self._negative
        return dot(self._positive, below / self._n_negative) / self._n_positive

    def average_precision(self) -> float:
        """The precision from each group on, weighted by the recall that the group adds."""
        if self._n_positive == 0.0:
            return math.nan
        right, taken = self._from_each_group_on()
        return dot(self._positive, right / taken) / self._n_positive

    def best_f1(self) -> tuple[float, float]:
        """The largest F1 that a threshold gives, and that threshold.

        The second class is predicted for scores above it. It is in the middle of the gap between
        two scores, or, where all rows are best taken for the second class, below the least score.
        """
        if self._n_positive == 0.0:
            return math.nan, math.nan
        right, taken = self._from_each_group_on()
        f1 = 2.0 * right / (taken + self._n_positive)
        best = int(f1.argmax())
        upper = float(self._scores[best])
        lower = float(self._scores[best - 1]) if best else upper - 1.0
        middle = lower + 0.5 * (upper - lower)
        return float(f1[best]), middle if middle < upper else lower

    def _from_each_group_on(self) -> tuple[Floats, Floats]:
        """What rows of the second class weigh, and what all weigh, from each group upwards."""
        right = np.cumsum(self._positive[::-1])[::-1]
        taken = np.cumsum((self._positive + self._negative)[::-1])[::-1]
        return right, taken
