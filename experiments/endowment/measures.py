"""What an endowment is worth: how much a model loses on examples that it once had right (T5.1-5.4).

Examples are known by their number: the row in which they came, the same in every pass.
"""

from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Flags, Floats, Numbers, Rows
from rarefy.engine.learner import Learner
from rarefy.errors import InputError
from rarefy.jit import compiled
from rarefy.model.answers import is_right_for_endowment, predicted_classes
from rarefy.streams.bitset import Bits


class Answers:
    """Which examples were once predicted right when they came, a bit for each (T5.2).

    >>> answers = Answers()
    >>> answers.note(0, np.array([True, False, False, True]))
    >>> answers.note(0, np.array([False, True, False, False]))
    >>> answers.once_right(np.arange(6)).tolist()
    [True, True, False, True, False, False]
    """

    def __init__(self) -> None:
        self.bits = Bits()

    def note(self, first: int, right: Flags) -> None:
        """Whether the examples from `first` on were predicted right this time."""
        examples = first + np.flatnonzero(right)
        self.bits.set(examples, np.ones(len(examples), dtype=bool))

    def once_right(self, examples: Numbers) -> Flags:
        """Whether each example was predicted right at least once; unknown ones were not."""
        return self.bits.get(examples)


def learn_and_note(learner: Learner, rows: Rows, answers: Answers, first: int = 0) -> Floats:
    """Learn the rows, whose examples have the numbers from `first` on, and note what was right.

    Returns the scores just before each row was learned; NaN for rows of weight zero, which are no
    examples.
    """
    scores = np.full((len(rows.y), learner.n_outputs), np.nan)
    learner.learn(rows, predictions=scores)
    answers.note(first, right_answers(scores, rows.y))
    return scores


def right_answers(scores: Floats, y: Floats) -> Flags:
    """Whether each row was right, as endowments see it; none was whose score is NaN."""
    right: Flags
    if scores.shape[1] == 1:
        right = is_right_for_endowment(scores[:, 0], y)
    else:
        right = predicted_classes(scores) == y
    return right & ~np.isnan(scores[:, 0])


def example_losses(loss: Any, scores: Floats, y: Floats) -> Floats:
    """The loss of each row."""
    out = np.empty(len(y))
    if scores.shape[1] == 1:
        _losses(loss, scores[:, 0], y, out)
    else:
        _losses_of_classes(loss, scores, y, out)
    return out


@compiled
def _losses(loss: Any, scores: Floats, y: Floats, out: Floats) -> None:
    for row in range(len(y)):
        out[row] = loss.value(scores[row], y[row])


@compiled
def _losses_of_classes(loss: Any, scores: Floats, y: Floats, out: Floats) -> None:
    for row in range(len(y)):
        out[row] = loss.value(scores[row], int(y[row]))


class Replacement(NamedTuple):
    """Which rows of a test set give way to which training examples."""

    test_rows: Numbers
    examples: Numbers


def draw_replacement(
    n_test: int, n_examples: int, share: float, random: np.random.Generator
) -> Replacement:
    """Choose by chance a share ρ of the test rows, and as many training examples, none twice."""
    if not 0.0 <= share <= 1.0:
        raise InputError(f"share={share!r}: a number from 0 to 1 is expected.")
    n = round(share * n_test)
    if n > n_examples:
        raise InputError(
            f"share={share!r} of {n_test:,} test rows is more than the {n_examples:,} training "
            f"examples that could replace them."
        )
    return Replacement(
        random.choice(n_test, n, replace=False), random.choice(n_examples, n, replace=False)
    )


class EndowedLosses(NamedTuple):
    """The two terms of (T5.34), and their sum."""

    expected: float
    divestiture: float

    @property
    def cumulative(self) -> float:
        return self.expected + self.divestiture


def endowed_losses(
    gamma: float, test_losses: Floats, replacing_losses: Floats, once_right: Flags
) -> EndowedLosses:
    """The losses of a test set in which training examples took the place of some rows (T5.34).

    `test_losses` are those of the rows that stayed, `replacing_losses` those of the training
    examples, and `once_right` says which of these were predicted right when they were learned.
    """
    size = len(test_losses) + len(replacing_losses)
    expected = (test_losses.sum() + replacing_losses.sum()) / size
    return EndowedLosses(float(expected), float(gamma * replacing_losses[once_right].sum() / size))


def regret(gamma: float, losses: Floats, rival_losses: Floats, once_right: Flags) -> float:
    """How much was lost beyond what the best of some fixed models would have lost (T5.3).

    `losses` are those of the rounds, `once_right` says whether the example of the round had been
    predicted right in an earlier one; such an example counts 1 + γ times (T5.7). `rival_losses` has
    a row for each of the models that W consists of.
    """
    weights = 1.0 + gamma * once_right
    return float(weights @ losses - (rival_losses @ weights).min())
