"""How well scores meet their targets, gathered batch by batch; every row counts by its importance.

What is undefined, such as the AUC of rows of one class, is left out.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, read_only
from rarefy.engine import loop as engine
from rarefy.model.answers import (
    LOSSES_WITH_PROBABILITIES,
    predicted_classes,
    probabilities,
    true_classes,
)
from rarefy.streams.stream_model import StreamModel

MEASURES = ("loss", "accuracy", "log_loss", "auc", "rmse", "mae", "r2")
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)  # for a finite log-loss; scikit-learn's too


class Metrics:
    """Takes the scores of a model and the targets that StreamModel.scored gives."""

    def __init__(self, model: StreamModel) -> None:
        learner = model.learner
        self._loss = learner.loss
        self._total_loss_of = (
            engine.total_loss if learner.n_outputs == 1 else engine.total_loss_classes
        )
        self._examples = 0
        self._weight = 0.0
        self._total_loss = 0.0
        self._others = _OfNumbers() if model.task.is_regression else _OfClasses(model)

    def add(self, scores: Floats, y: Floats, importance: Floats) -> None:
        """One more batch; rows of importance zero do not count, as in learning."""
        if not importance.all():
            counts = importance > 0.0
            scores, y, importance = scores[counts], y[counts], importance[counts]
        if len(y) == 0:
            return
        self._examples += len(y)
        self._weight += float(importance.sum())
        rows = (read_only(part) for part in (scores, y, importance))
        self._total_loss += self._total_loss_of(self._loss, *rows)
        with np.errstate(over="ignore", invalid="ignore"):
            self._others.add(scores, y, importance)

    def summary(self) -> dict[str, Any]:
        """All measures by name, as JSON takes them."""
        found: dict[str, Any] = {"examples": self._examples, "weight": self._weight}
        if self._examples:
            found["loss"] = self._total_loss / self._weight
            found |= self._others.summary(self._weight)
        return {name: value for name, value in found.items() if _is_defined(value)}


def _is_defined(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def confusions(summary: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Truth, prediction, and the importance of the rows with these, where there are any."""
    classes = summary.get("classes", [])
    for truth, weights in zip(classes, summary.get("confusion", []), strict=True):
        for predicted, weight in zip(classes, weights, strict=True):
            if weight:
                yield truth, predicted, weight


class _OfNumbers:
    """RMSE, MAE and R², for targets that are numbers."""

    def __init__(self) -> None:
        self._weight = 0.0
        self._absolute = 0.0
        self._squared = 0.0
        self._mean = 0.0  # of the targets
        self._spread = 0.0  # weighted sum of their squared distances from it

    def add(self, scores: Floats, y: Floats, importance: Floats) -> None:
        errors = np.abs(scores[:, 0] - y)
        self._absolute += float(importance @ errors)
        self._squared += float(importance @ errors**2)
        weight = float(importance.sum())
        mean = y[0] + float(importance @ (y - y[0])) / weight
        share = weight / (self._weight + weight)
        apart = mean - self._mean
        self._spread += float(importance @ (y - mean) ** 2) + apart**2 * share * self._weight
        self._mean += share * apart
        self._weight += weight

    def summary(self, weight: float) -> dict[str, Any]:
        found = {"rmse": math.sqrt(self._squared / weight), "mae": self._absolute / weight}
        if self._spread > 0.0:
            found["r2"] = 1.0 - self._squared / self._spread
        return found


class _OfClasses:
    """Accuracy, log-loss, AUC and confusion matrix, for targets that are classes."""

    def __init__(self, model: StreamModel) -> None:
        self._classes = model.classes
        self._confusion = np.zeros((len(model.classes), len(model.classes)))
        self._ranking = _Ranking() if len(model.classes) == 2 else None
        self._loss = model.learner.loss
        self._loss_name = model.task.loss_name
        self._log_loss = 0.0 if self._loss_name in LOSSES_WITH_PROBABILITIES else math.nan

    def add(self, scores: Floats, y: Floats, importance: Floats) -> None:
        truth = true_classes(scores, y)
        np.add.at(self._confusion, (truth, predicted_classes(scores)), importance)
        if self._ranking:
            self._ranking.add(scores[:, 0], y > 0.0, importance)
        if not math.isnan(self._log_loss):
            of_class = probabilities(self._loss_name, self._loss, scores)
            if of_class.shape[1] == 1:
                of_class = np.hstack([1.0 - of_class, of_class])
            of_truth = of_class[np.arange(len(truth)), truth]
            self._log_loss -= float(importance @ np.log(np.maximum(of_truth, LEAST_PROBABILITY)))

    def summary(self, weight: float) -> dict[str, Any]:
        return {
            "accuracy": float(np.trace(self._confusion)) / weight,
            "log_loss": self._log_loss / weight,
            "auc": self._ranking.auc() if self._ranking else math.nan,
            "classes": list(self._classes),
            "confusion": self._confusion.tolist(),
        }


class _Ranking:
    """The area under the ROC curve, exact; a pair with equal scores counts half.

    It takes 9 bytes an example, and 8 more in batches whose rows are not all of importance one.
    """

    def __init__(self) -> None:
        self._scores: list[Floats] = []
        self._positive: list[NDArray[np.bool_]] = []
        self._importance: list[Floats] = []

    def add(self, scores: Floats, positive: NDArray[np.bool_], importance: Floats) -> None:
        self._scores.append(scores.copy())
        self._positive.append(positive)
        all_one = bool((importance == 1.0).all())
        self._importance.append(np.broadcast_to(1.0, len(scores)) if all_one else importance.copy())

    def auc(self) -> float:
        """NaN if there is only one class."""
        scores = np.concatenate(self._scores)
        order = np.argsort(scores)
        scores = scores[order]
        positive = np.concatenate(self._positive)[order]
        importance = np.concatenate(self._importance)[order]
        begins = np.concatenate([[0], 1 + np.flatnonzero(scores[1:] != scores[:-1])])
        of_positive = np.add.reduceat(np.where(positive, importance, 0.0), begins)
        of_negative = np.add.reduceat(np.where(positive, 0.0, importance), begins)
        n_positive, n_negative = float(of_positive.sum()), float(of_negative.sum())
        if n_positive == 0.0 or n_negative == 0.0:
            return math.nan
        below = np.cumsum(of_negative) - 0.5 * of_negative
        return float(of_positive @ (below / n_negative)) / n_positive
