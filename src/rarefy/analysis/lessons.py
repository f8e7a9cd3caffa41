"""What a new model learns from each row, given what the model before it says of the row."""

from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.estimators import SparseOnlineClassifier
from rarefy.estimators.soft_rows import SoftTargets, soft_targets

FOCUS = 5.0  # how much more rows count that were right before, in focal distillation


class Lesson(NamedTuple):
    """Probabilities in place of the labels, by row and class, and how much each row counts."""

    probabilities: Floats
    weight: Floats

    def rows(self, X: Any, classes: Any, importance: Any = 1.0) -> SoftTargets:
        """What `partial_fit` learns it by."""
        weight = importance * self.weight
        return soft_targets(X, self.probabilities, classes=classes, sample_weight=weight)


def distilled(before: SparseOnlineClassifier, X: Any, y: Any, share: float) -> Lesson:
    """Labels mixed with the probabilities of the model before (Jiang et al. 2022)."""
    mixed = share * before.predict_proba(X) + (1.0 - share) * _labels(before, y)
    return Lesson(mixed, np.ones(len(mixed)))


def damped(before: SparseOnlineClassifier, X: Any, y: Any, share: float, trust: float) -> Lesson:
    """Mixed labels where the model before is right, else damped ones (Milani Fard et al. 2016).

    Of a damped label a share is left, as large as the trust in it; the rest is the same for all
    classes.
    """
    labels = _labels(before, y)
    unsure = trust * labels + (1.0 - trust) / labels.shape[1]
    mixed, weight = distilled(before, X, y, share)
    return Lesson(np.where(_was_right(before, X, y)[:, None] == 1.0, mixed, unsure), weight)


def focal(before: SparseOnlineClassifier, X: Any, y: Any, weight: float) -> Lesson:
    """The label, and the probabilities p of the model before beside it (Yan et al. 2021).

    The loss is that of the label + weight · (1 + 5 · [the model before is right]) · KL(p, p_new),
    but for a constant.
    """
    beside = weight * (1.0 + FOCUS * _was_right(before, X, y))[:, None]
    both = _labels(before, y) + beside * before.predict_proba(X)
    total = 1.0 + beside
    return Lesson(both / total, total[:, 0])


def dissonant(before: SparseOnlineClassifier, X: Any, y: Any, weight: float) -> Lesson:
    """The label, which counts 1 + weight where the model before is right (Bansal et al. 2019)."""
    return Lesson(_labels(before, y), 1.0 + weight * _was_right(before, X, y))


def _labels(before: SparseOnlineClassifier, y: Any) -> Floats:
    """One for the class of the label, zero for the others."""
    labels: Floats = np.eye(len(before.classes_))[np.searchsorted(before.classes_, y)]
    return labels


def _was_right(before: SparseOnlineClassifier, X: Any, y: Any) -> Floats:
    """One where the model before is right, zero elsewhere."""
    right: Floats = (before.predict(X) == y).astype(np.float64)
    return right
