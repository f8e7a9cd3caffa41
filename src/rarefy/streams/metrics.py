"""Metrics of scores and targets, gathered batch by batch, weighted by importance.

What is undefined, such as the AUC of rows of one class, is left out.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, dot, read_only
from rarefy.engine.loop import total_loss
from rarefy.errors import InputError
from rarefy.model.answers import (
    LEAST_PROBABILITY,
    LOSSES_WITH_PROBABILITIES,
    predicted_classes,
    true_classes,
)
from rarefy.model.confusion import confusion_matrix, precision_and_recall
from rarefy.model.ranking import Ranking
from rarefy.readers import Reader
from rarefy.streams.stream_model import StreamModel

OF_SECOND_CLASS = ("precision", "recall", "f1", "average_precision", "best_f1", "best_threshold")
MEASURES = ("loss", "accuracy", "log_loss", "auc", *OF_SECOND_CLASS, "rmse", "mae", "r2")


class Metrics:
    """Takes the scores of a model and the targets that StreamModel.scored gives."""

    def __init__(self, model: StreamModel) -> None:
        learner = model.learner
        self._loss = learner.loss
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
        known = read_only(scores), read_only(y), read_only(importance)
        self._total_loss += total_loss(self._loss, *known)
        with np.errstate(over="ignore", invalid="ignore"):
            self._others.add(scores, y, importance)

    def summary(self) -> dict[str, Any]:
        """All measures by name, as JSON takes them."""
        found: dict[str, Any] = {"examples": self._examples, "weight": self._weight}
        if self._examples:
            found["loss"] = self._total_loss / self._weight
            found |= self._others.summary(self._weight)
        return {name: value for name, value in found.items() if _is_defined(value)}


def measured(model: StreamModel, reader: Reader) -> dict[str, Any]:
    """How well a model predicts all that a reader gives; without any examples, an error."""
    metrics = Metrics(model)
    for scored in model.scored(reader):
        metrics.add(*scored)
    summary = metrics.summary()
    if summary["examples"] == 0:
        raise InputError(f"{' '.join(reader.files)}: there are no examples to evaluate.")
    return summary


def _is_defined(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def confusions(summary: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Truth, prediction, and the sample weights with these, where there are any."""
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
        self._absolute += dot(importance, errors)
        self._squared += dot(importance, errors**2)
        weight = float(importance.sum())
        mean = float(y[0]) + dot(importance, y - y[0]) / weight
        share = weight / (self._weight + weight)
        apart = mean - self._mean
        spread = dot(importance, (y - mean) ** 2)
        self._spread += spread + apart**2 * share * self._weight
        self._mean += share * apart
        self._weight += weight

    def summary(self, weight: float) -> dict[str, Any]:
        found = {"rmse": math.sqrt(self._squared / weight), "mae": self._absolute / weight}
        if self._spread > 0.0:
            found["r2"] = 1.0 - self._squared / self._spread
        return found


class _OfClasses:
    """Accuracy, log-loss, confusion matrix and what follows from it, for targets that are classes.

    Of two classes, the ranking by scores, too.
    """

    def __init__(self, model: StreamModel) -> None:
        self._classes = model.classes
        self._threshold = model.decision_threshold
        self._confusion = np.zeros((len(model.classes), len(model.classes)))
        self._ranking = _Gathered() if model.learner.n_outputs == 1 else None
        self._probabilities_of = model.probabilities
        has_probabilities = model.task.loss_name in LOSSES_WITH_PROBABILITIES
        self._log_loss = 0.0 if has_probabilities else math.nan

    def add(self, scores: Floats, y: Floats, importance: Floats) -> None:
        truth = true_classes(scores, y)
        predicted = predicted_classes(scores, self._threshold)
        self._confusion += confusion_matrix(truth, predicted, importance, len(self._classes))
        if self._ranking:
            self._ranking.add(scores[:, 0], y > 0.0, importance)
        if not math.isnan(self._log_loss):
            of_class = self._probabilities_of(scores)
            if of_class.shape[1] == 1:
                of_class = np.hstack([1.0 - of_class, of_class])
            of_truth = of_class[np.arange(len(truth)), truth]
            likelihoods = np.log(np.maximum(of_truth, LEAST_PROBABILITY))
            self._log_loss -= dot(importance, likelihoods)

    def summary(self, weight: float) -> dict[str, Any]:
        return {
            "accuracy": float(np.trace(self._confusion)) / weight,
            "log_loss": self._log_loss / weight,
            **precision_and_recall(self._confusion),
            **(self._ranking.measures() if self._ranking else {}),
            "classes": list(self._classes),
            "confusion": self._confusion.tolist(),
        }


class _Gathered:
    """All scores of two classes, for measures of their order.

    They take 9 bytes an example, and 8 more in batches whose rows are not all of importance one.
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

    def measures(self) -> dict[str, float]:
        ranking = Ranking(
            np.concatenate(self._scores),
            np.concatenate(self._positive),
            np.concatenate(self._importance),
        )
        best_f1, best_threshold = ranking.best_f1()
        return {
            "auc": ranking.auc(),
            "average_precision": ranking.average_precision(),
            "best_f1": best_f1,
            "best_threshold": best_threshold,
        }
