"""The path from old to new, w = (1 - α) w_new + α w_old, and the points on it.

Scores are linear in the weights, so the scores of both ends give those of every α. The steps of
the way are fixed beforehand and taken from the old end on, each only if the bound of its lost
answers is within the budget; the first that is not ends the way. Each of these tests is at 97.5 %,
and no correction for their number is needed: with a fixed sequence, something wrong is let through
only if the first step that is out of budget passes its test, which has a chance of 2.5 % (Maurer,
Hothorn and Lehmacher 1995). So with a confidence of 97.5 % all steps that were taken are within the
budget, and the best of them may be chosen.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Flags, Floats
from rarefy.model.answers import right_answers
from rarefy.streams.metrics import Metrics
from rarefy.streams.stream_model import StreamModel
from rarefy.updating.bound import upper_bound

STEPS = 50
ALPHAS = tuple((STEPS - step) / STEPS for step in range(STEPS + 1))  # the share of the old weights
MEASURES = {"accuracy": 1.0, "loss": -1.0, "auc": 1.0}  # and whether more of them is better


class BothScores(NamedTuple):
    """Rows that neither model has learned, and the scores at both ends of the way."""

    old_right: Flags  # whether the old model's answer is right
    old: Floats  # scores with α = 1
    new: Floats  # ... and 0
    y: Floats
    importance: Floats

    def at(self, alpha: float) -> Floats:
        """The scores with a share of the old weights."""
        if alpha in (0.0, 1.0):
            return self.old if alpha else self.new
        between: Floats = (1.0 - alpha) * self.new + alpha * self.old
        return between


class Point(NamedTuple):
    """A model between the old one and the new one, judged on held-out rows.

    Attributes
    ----------
    alpha : float
        The share of the old weights.
    accuracy, loss, auc : float
        How good it is; `auc` is None with more than two classes.
    n_lost, n_won : int
        Answers that the old model had right and this one has wrong, and the reverse.
    lost_rate, won_rate : float
        Their shares of all rows, by weight.
    bound : float
        What the rate of lost answers on new rows is below, with a confidence of 97.5 %.
    is_allowed : bool
        Whether it keeps the budget.
    """

    alpha: float
    accuracy: float
    loss: float
    auc: float | None
    n_lost: int
    n_won: int
    lost_rate: float
    won_rate: float
    bound: float
    is_allowed: bool = False


def points_of(model: StreamModel, rows: BothScores) -> list[Point]:
    """All steps of the way, from the old end on."""
    return [_point(model, rows, alpha) for alpha in ALPHAS]


def _point(model: StreamModel, rows: BothScores, alpha: float) -> Point:
    scores = rows.at(alpha)
    found = _summary(model, scores, rows)
    right = right_answers(scores, rows.y, model.decision_threshold)
    lost, won = rows.old_right & ~right, ~rows.old_right & right
    weight = float(rows.importance.sum())
    return Point(
        alpha,
        found["accuracy"],
        found["loss"],
        found.get("auc"),
        int(np.count_nonzero(lost)),
        int(np.count_nonzero(won)),
        float(rows.importance[lost].sum()) / weight,
        float(rows.importance[won].sum()) / weight,
        upper_bound(lost, rows.importance),
    )


def _summary(model: StreamModel, scores: Floats, rows: BothScores) -> dict[str, Any]:
    metrics = Metrics(model)
    metrics.add(scores, rows.y, rows.importance)
    return metrics.summary()


def within(
    points: list[Point], budget: float, keeps: Callable[[float], bool] = lambda alpha: True
) -> list[Point]:
    """The points with a mark whether they are on the part of the way that keeps the budget.

    `keeps` says of an α whether it keeps all else that has to be kept.
    """
    marked, goes_on = [], True
    for point in points:
        goes_on = goes_on and point.bound <= budget and keeps(point.alpha)
        marked.append(point._replace(is_allowed=goes_on))
    return marked


def best(points: list[Point], by: str) -> Point | None:
    """Of the points that are allowed, the best; of equal ones, the nearest to the old model."""
    allowed = [point for point in points if point.is_allowed]
    return max(allowed, key=lambda point: MEASURES[by] * getattr(point, by), default=None)


def gain(point: Point, old: Point, by: str) -> float:
    """By how much a point is better than the old model."""
    return MEASURES[by] * float(getattr(point, by) - getattr(old, by))
