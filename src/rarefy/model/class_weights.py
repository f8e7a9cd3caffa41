"""Class weights: factors of a row's importance by its label.

Weights are given, or balanced: W / (K W_k) for each of K classes, where W_k is what the rows of
class k weigh, and W what all weigh. Where all rows are known beforehand, W and W_k are of all rows;
in a stream, of the rows so far, the row itself included.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rarefy.arrays import Floats, Numbers, read_only
from rarefy.checks import number_or_none
from rarefy.errors import InputError
from rarefy.jit import compiled

BALANCED = "balanced"
GivenWeights = tuple[tuple[str, float], ...]  # by the names of classes
ClassWeight = str | GivenWeights | None


class Weighed(NamedTuple):
    """The importance of rows for learning, and what the rows of each class weigh with them."""

    importance: Floats
    totals: Floats


class ClassWeights:
    """The weights of the classes of a model, which has two or more."""

    def __init__(self, asked: str | GivenWeights, classes: Sequence[str]) -> None:
        self._n_classes = len(classes)
        self._given = None if isinstance(asked, str) else _by_number(asked, classes)

    def of_all(self, y: Floats, importance: Floats) -> Weighed:
        """The rows weighed by the frequencies among themselves."""
        numbers = self._numbers(y)
        totals: Floats = np.bincount(numbers, importance, self._n_classes).astype(np.float64)
        return Weighed(self._by(totals)[numbers] * importance, totals)

    def known(self, y: Floats, importance: Floats, totals: Floats) -> Floats:
        """The importance of rows by frequencies that are known."""
        weighed: Floats = self._by(totals)[self._numbers(y)] * importance
        return weighed

    def running(self, y: Floats, importance: Floats, totals: Floats) -> Weighed:
        """The rows weighed one after the other, `totals` being those of the rows before."""
        numbers = self._numbers(y)
        totals = totals.copy() if len(totals) else np.zeros(self._n_classes)
        weighed = np.empty(len(y))
        _balance(numbers, read_only(importance), totals, weighed)
        if self._given is not None:
            weighed = self._given[numbers] * importance
        return Weighed(weighed, totals)

    def _by(self, totals: Floats) -> Floats:
        if self._given is not None:
            return self._given
        weights = np.zeros(self._n_classes)
        np.divide(totals.sum(), self._n_classes * totals, out=weights, where=totals > 0.0)
        return weights

    def _numbers(self, y: Floats) -> Numbers:
        """The numbers of the classes that targets stand for."""
        return (y > 0.0 if self._n_classes == 2 else y).astype(np.int64)


@compiled
def _balance(numbers: Numbers, importance: Floats, totals: Floats, out: Floats) -> None:
    """Row after row, so that any split of the rows into calls gives the same bits."""
    for row in range(len(numbers)):
        own, h = numbers[row], importance[row]
        totals[own] += h
        total = 0.0
        for k in range(len(totals)):
            total += totals[k]
        out[row] = h * total / (len(totals) * totals[own]) if h > 0.0 else 0.0


def _by_number(given: GivenWeights, classes: Sequence[str]) -> Floats:
    """The weights in the order of the classes; classes that are not named have 1."""
    weights = np.ones(len(classes))
    for name, weight in given:
        own = [number for number, known in enumerate(classes) if _is_same(name, known)]
        if not own:
            raise InputError(
                f"class_weight names {name!r}, which is not one of the classes "
                f"{', '.join(classes[:20])}."
            )
        weights[own] = weight
    return weights


def _is_same(name: str, known: str) -> bool:
    number = number_or_none(name)
    return name == known or (number is not None and number == number_or_none(known))
