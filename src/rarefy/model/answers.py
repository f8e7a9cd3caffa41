"""From scores to probabilities, for the losses that have them."""

import numpy as np

from rarefy.arrays import Floats, Numbers
from rarefy.model.multiclass import Softmax

LOSSES_WITH_PROBABILITIES = ("logistic", "modified_huber")


def probabilities(loss_name: str, loss: object, scores: Floats) -> Floats:
    """Of the second class, where there is one score a row; else of each class.

    One-vs-rest gives each class a probability of its own; their sum is made 1, and where all of
    them are zero, they are the same.
    """
    if isinstance(loss, Softmax):
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        softmax: Floats = odds / odds.sum(axis=1, keepdims=True)
        return softmax
    if loss_name == "modified_huber":
        each: Floats = (np.clip(scores, -1.0, 1.0) + 1.0) / 2.0
    else:
        each = 0.5 * (1.0 + np.tanh(0.5 * scores))
    if each.shape[1] == 1:
        return each
    total = each.sum(axis=1, keepdims=True)
    shares = np.full_like(each, 1.0 / each.shape[1])
    np.divide(each, total, out=shares, where=total > 0.0)
    return shares


def predicted_classes(scores: Floats) -> Numbers:
    """The number of the class with the highest score, for each row."""
    winners = scores[:, 0] > 0.0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return winners.astype(np.int64)


def true_classes(scores: Floats, y: Floats) -> Numbers:
    """The number of the class that a target stands for, for each row."""
    return (y > 0.0 if scores.shape[1] == 1 else y).astype(np.int64)
