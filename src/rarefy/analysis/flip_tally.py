"""Counts of answers that only one of two models has right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats, Numbers


class Example(NamedTuple):
    """An example whose answer flipped."""

    row: int  # counted from 0
    location: str  # path:line, or the row of a matrix
    label: Any
    old: Any
    new: Any


class Feature(NamedTuple):
    """How far a feature moved the lost examples towards their wrong answers, summed up."""

    name: str
    key: int
    towards_wrong: float


@dataclass(frozen=True, repr=False)
class Flips:
    """What became of an old model's answers in a new one.

    A negative flip is an example that the old model had right and the new one has wrong, a positive
    flip one that the old model had wrong and the new one has right. Rows of importance zero are no
    examples; the others count by their importance in rates and accuracies.

    Attributes
    ----------
    n_examples : int
        How many examples there are.
    weight : float
        The sum of their importance.
    old_accuracy, new_accuracy : float
        The share of right answers.
    n_negative, n_positive : int
        How many flips there are.
    negative_rate, positive_rate : float
        Their share of all examples.
    lost_rate : float
        Negative flips as a share of what the old model had right.
    negative_rows, positive_rows : array of int
        The rows that flipped, counted from 0.
    first_negative, first_positive : list of Example
        The first of them: row, location, label, old and new answer.
    features : list of Feature or None
        What moved the lost examples towards their wrong answers, largest first: name, key and
        `towards_wrong`. None if it is not known for these models.
    intercept : float or None
        How far the intercepts moved them, as `towards_wrong` of a feature.
    old_log_loss, new_log_loss, old_auc, new_auc : float or None
        What `rarefy.evaluate` says of both models; None where it is undefined or not known.
    """

    n_examples: int
    weight: float
    old_accuracy: float
    new_accuracy: float
    negative_rate: float
    positive_rate: float
    lost_rate: float
    negative_rows: Numbers
    positive_rows: Numbers
    first_negative: list[Example]
    first_positive: list[Example]
    features: list[Feature] | None = None
    intercept: float | None = None
    old_log_loss: float | None = None
    new_log_loss: float | None = None
    old_auc: float | None = None
    new_auc: float | None = None

    @property
    def n_negative(self) -> int:
        return len(self.negative_rows)

    @property
    def n_positive(self) -> int:
        return len(self.positive_rows)

    def __repr__(self) -> str:
        return (
            f"{self.n_examples:,} examples: {self.n_negative:,} negative flips "
            f"({self.negative_rate:.2%} of all, {self.lost_rate:.2%} of what was right before), "
            f"{self.n_positive:,} positive flips ({self.positive_rate:.2%} of all); "
            f"accuracy {self.old_accuracy:.2%} before, {self.new_accuracy:.2%} now"
        )


class BothAnswers(NamedTuple):
    """Rows of both models: the right class, and the one that each of them answers, by number."""

    truth: Numbers
    old: Numbers
    new: Numbers
    importance: Floats
    location: Callable[[int], str]  # of a row


class Tally:
    """Counts flips batch by batch; memory grows with the flips alone."""

    def __init__(self, classes: Sequence[Any], top: int) -> None:
        self._classes = classes
        self._top = top
        self._n_rows = 0
        self._n_examples = 0
        self._weight = 0.0
        self._right = np.zeros(2)  # the importance of what was right: old, new
        self._flipped = np.zeros(2)  # ... and of what flipped: negative, positive
        self._rows: tuple[list[Numbers], list[Numbers]] = ([], [])
        self._first: tuple[list[Example], list[Example]] = ([], [])

    def add(self, answers: BothAnswers) -> Numbers:
        """One more batch; returns which of its rows are negative flips.

        Rows of importance zero are no examples.
        """
        importance, counts = answers.importance, answers.importance > 0.0
        right = [answers.old == answers.truth, answers.new == answers.truth]
        self._n_examples += int(np.count_nonzero(counts))
        self._weight += float(importance.sum())
        self._right += [importance[each].sum() for each in right]
        flips = [np.flatnonzero(counts & right[n] & ~right[1 - n]) for n in (0, 1)]
        for n, flipped in enumerate(flips):
            self._flipped[n] += importance[flipped].sum()
            self._rows[n].append(flipped + self._n_rows)
            for row in flipped[: self._top - len(self._first[n])].tolist():
                self._first[n].append(self._example(answers, row))
        self._n_rows += len(counts)
        return flips[0]

    def _example(self, answers: BothAnswers, row: int) -> Example:
        labels = (self._classes[number[row]] for number in answers[:3])
        return Example(self._n_rows + row, answers.location(row), *labels)

    def flips(self, **causes: Any) -> Flips | None:
        """What was found, and what it came from, if that is known; None without any examples."""
        if self._n_examples == 0:
            return None
        (old_right, new_right), weight = self._right.tolist(), self._weight
        negative, positive = self._flipped.tolist()
        negative_rows, positive_rows = map(np.concatenate, self._rows)
        first_negative, first_positive = self._first
        return Flips(
            self._n_examples,
            weight,
            old_right / weight,
            new_right / weight,
            negative / weight,
            positive / weight,
            negative / old_right if old_right else 0.0,
            negative_rows,
            positive_rows,
            first_negative,
            first_positive,
            **causes,
        )
