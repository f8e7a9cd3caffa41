"""What a tool is worth on a data set, by cross-validation."""

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score, roc_auc_score

from experiments.panel.data import AUC, N_FOLDS, R2, Task
from experiments.panel.methods import Answer, Method

N_BINS = 15
LEAST_PROBABILITY = 1e-15


class Outcome(NamedTuple):
    """One number for each fold; no log-loss and calibration error without probabilities."""

    scores: list[float]
    log_losses: list[float]
    calibration_errors: list[float]
    weights: list[int]
    seconds: list[float]


def judged(
    method: Method, task: Task, measure: str, folds: Iterable[int] = range(N_FOLDS)
) -> Outcome:
    outcome = Outcome([], [], [], [], [])
    for fold in folds:
        X, y, X_held, y_held = task.split(fold)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what has not converged, or overflows
            answer = method.run(X, y, X_held, measure == R2)
        outcome.scores.append(score(answer, y_held, measure))
        outcome.weights.append(int(answer.n_weights))
        outcome.seconds.append(answer.seconds)
        if answer.probabilities is not None:
            found = as_probabilities(answer.probabilities)
            outcome.log_losses.append(log_loss(found, y_held))
            outcome.calibration_errors.append(calibration_error(found, y_held))
    return outcome


def score(answer: Answer, y: NDArray[Any], measure: str) -> float:
    if measure == R2:
        finite = np.isfinite(answer.predicted).all()
        return float(r2_score(y, answer.predicted)) if finite else -np.inf
    if measure == AUC:
        assert answer.scores is not None
        return float(roc_auc_score(y, np.nan_to_num(answer.scores)))
    return float(np.mean(answer.predicted == y))


def as_probabilities(found: NDArray[Any]) -> NDArray[Any]:
    """Between 0 and 1, with the sum 1 in each row; equal ones where a tool has none."""
    found = np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 1.0)
    found = np.maximum(found, LEAST_PROBABILITY)
    return found / found.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def log_loss(found: NDArray[Any], y: NDArray[Any]) -> float:
    return float(-np.log(found[np.arange(len(y)), y]).mean())


def calibration_error(found: NDArray[Any], y: NDArray[Any]) -> float:
    """Between the probability of the likeliest class and how often it is right, over 15 bins."""
    surest = found.max(axis=1)
    gaps = surest - (found.argmax(axis=1) == y)
    bins = np.minimum((N_BINS * surest).astype(int), N_BINS - 1)
    return float(np.abs(np.bincount(bins, weights=gaps)).sum() / len(y))
