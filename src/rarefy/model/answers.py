"""Answers from scores: the class, whether it is right, and its probability.

A right answer is what the user sees as one: of two classes, the second is predicted where the score
is above zero, as in scikit-learn, or above another threshold that the user has set, and of several
the first with the highest score. While learning, the threshold is zero. Everything that
counts right answers does so by the functions here.

Endowments alone see a score of zero as +1, as the paper does (T1.3). The difference matters: the
first examples have a score of zero, and which of them the model "has right" decides how much they
weigh, and so all weights. What users are shown has to agree with what `predict` says instead.
"""

from typing import Any

import numpy as np

from rarefy.arrays import Flags, Floats, Numbers
from rarefy.jit import inlined
from rarefy.model.multiclass import Softmax

LOSSES_WITH_PROBABILITIES = ("logistic", "modified_huber")
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)  # for a finite log-loss; scikit-learn's too


@inlined
def is_positive(score: Any) -> Any:
    """Whether a score above zero predicts the second of two classes."""
    return score > 0.0


@inlined
def is_right(score: Any, y: Any) -> Any:
    """Whether the class that is predicted, of two, is that of the label -1 or +1."""
    return is_positive(score) == (y > 0.0)


@inlined
def is_right_for_endowment(score: Any, y: Any) -> Any:
    """Whether a score has the sign of the label; that of zero is +1 (T1.3)."""
    return (score >= 0.0) == (y > 0.0)


@inlined
def is_right_class(scores: Floats, label: int) -> bool:
    """Whether the class that is predicted, the first with the highest score, is the label."""
    best = 0
    for z in range(1, len(scores)):
        if scores[z] > scores[best]:
            best = z
    return best == label


def predicted_classes(scores: Floats, decision_threshold: float = 0.0) -> Numbers:
    """The number of the class that is predicted, for each row; of two, by the threshold."""
    is_one = scores.shape[1] == 1
    winners = scores[:, 0] > decision_threshold if is_one else scores.argmax(axis=1)
    return np.asarray(winners, dtype=np.int64)


def true_classes(scores: Floats, y: Floats) -> Numbers:
    """The number of the class that a target stands for, for each row."""
    return (y > 0.0 if scores.shape[1] == 1 else y).astype(np.int64)


def right_answers(scores: Floats, y: Floats, decision_threshold: float = 0.0) -> Flags:
    """Whether the class that is predicted is the one that the target stands for, for each row."""
    right: Flags = predicted_classes(scores, decision_threshold) == true_classes(scores, y)
    return right


def link(loss_name: str, loss: object, scaling: float | None, n_outputs: int) -> str:
    """What leads from scores, scaled or not, to probabilities: softmax, or what `each` class has.

    Scores are scaled to log-odds, whatever the loss.
    """
    if n_outputs > 1 and (scaling is not None or isinstance(loss, Softmax)):
        return "softmax"
    return "logistic" if scaling is not None else loss_name


def probabilities(
    loss_name: str, loss: object, scores: Floats, scaling: float | None = None
) -> Floats:
    """Of the second class, where there is one score a row; else of each class.

    One-vs-rest gives each class a probability of its own; their sum is made 1, and where all of
    them are zero, they are the same.
    """
    by = link(loss_name, loss, scaling, scores.shape[1])
    if scaling is not None:
        scores = scaling * scores
    if by == "softmax":
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        softmax: Floats = odds / odds.sum(axis=1, keepdims=True)
        return softmax
    if by == "modified_huber":
        each: Floats = (np.clip(scores, -1.0, 1.0) + 1.0) / 2.0
    else:
        each = 0.5 * (1.0 + np.tanh(0.5 * scores))
    if each.shape[1] == 1:
        return each
    total = each.sum(axis=1, keepdims=True)
    shares = np.full_like(each, 1.0 / each.shape[1])
    np.divide(each, total, out=shares, where=total > 0.0)
    return shares


def chance(loss_name: str, score: float, scaling: float | None = None) -> float:
    """What `probabilities` says for a single score of two classes, to the bit."""
    if scaling is not None:
        score = scaling * score
    elif loss_name == "modified_huber":
        return (min(max(score, -1.0), 1.0) + 1.0) / 2.0
    return 0.5 * (1.0 + float(np.tanh(0.5 * score)))
