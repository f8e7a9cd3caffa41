"""Hysteresis: a new answer is given only where it leads by enough; else the one before stays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rarefy.arrays import Floats, Numbers
from rarefy.estimators import SparseOnlineClassifier
from rarefy.model.answers import predicted_classes


class Hysteresis:
    """Models in the order in which they were shipped, all of which are needed to predict.

    What the last one has to lead over is what was answered before, and that is what came of all
    models before it.
    """

    def __init__(self, models: Sequence[SparseOnlineClassifier], lead: float) -> None:
        self._models = models
        self._lead = lead

    def predict(self, X: Any) -> Any:
        """The label that is answered, for each row."""
        first, *later = self._models
        threshold = first.decision_threshold
        answers = predicted_classes(first._scores(X), threshold)
        for model in later:
            scores = model._scores(X)
            new = predicted_classes(scores, threshold)
            answers = np.where(leads(scores, answers, threshold) < self._lead, answers, new)
        return first.classes_[answers]

    @property
    def n_models_(self) -> int:
        """How many models it takes to predict."""
        return len(self._models)

    @property
    def n_nonzero_(self) -> int:
        """How many weights all models have."""
        return sum(model.n_nonzero_ for model in self._models)

    @property
    def sparse_coef_(self) -> Any:
        """The weights of the last model."""
        return self._models[-1].sparse_coef_


def leads(scores: Floats, answers: Numbers, decision_threshold: float = 0.0) -> Floats:
    """By how much the class that scores predict leads over another answer; 0 if it is the same."""
    if scores.shape[1] > 1:
        beaten = scores[np.arange(len(scores)), answers]
        ahead: Floats = scores.max(axis=1) - beaten
        return ahead
    is_same = predicted_classes(scores, decision_threshold) == answers
    return np.where(is_same, 0.0, np.abs(scores[:, 0] - decision_threshold))
