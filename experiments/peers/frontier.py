"""The best that a method reaches with a number of weights, and how two methods compare."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.peers.outcome import Outcome

Floats = NDArray[np.float64]
BUDGETS = tuple(m * 10**k for k in range(6) for m in (1, 2, 5))  # numbers of weights to compare at


class Frontier(NamedTuple):
    """The points above all straight lines between others, the fewest weights first."""

    weights: Floats  # (point,), means over the folds
    accuracy: Floats  # (point, fold)

    @property
    def means(self) -> Floats:
        return np.asarray(self.accuracy.mean(axis=1))

    def at(self, n_weights: float) -> Floats:
        """The accuracy with that many weights, in every fold.

        Between two points it is drawn as a straight line over the logarithm of the weights; with
        more than the last has, it is that of the last. More tries never make it lower on average.
        """
        logs = np.log(self.weights)
        return np.array([np.interp(math.log(n_weights), logs, fold) for fold in self.accuracy.T])

    def fewest(self, accuracy: float) -> float:
        """How many weights it takes to be so accurate on average; infinitely many if none do."""
        means = self.means
        if means[-1] < accuracy:
            return math.inf
        above = int(np.argmax(means >= accuracy))
        if above == 0:
            return float(self.weights[0])
        pair = slice(above - 1, above + 1)
        return float(np.exp(np.interp(accuracy, means[pair], np.log(self.weights[pair]))))


def frontier(outcome: Outcome) -> Frontier:
    """What no other model, and no line between two others, is above; it has a weight at least."""
    weights, accuracy = np.array(outcome.weights).mean(axis=1), np.array(outcome.accuracy)
    means = accuracy.mean(axis=1)

    def slope(one: int, other: int) -> float:
        rise = means[other] - means[one]
        return float(rise / (math.log(weights[other]) - math.log(weights[one])))

    chosen: list[int] = []
    for point in np.lexsort((-means, weights)):
        if weights[point] >= 1.0 and (not chosen or means[point] > means[chosen[-1]]):
            chosen.append(int(point))
    on_top: list[int] = []
    for point in chosen:
        while len(on_top) > 1 and slope(on_top[-2], on_top[-1]) <= slope(on_top[-2], point):
            on_top.pop()
        on_top.append(point)
    return Frontier(weights[on_top], accuracy[on_top])


def chosen_without(outcome: Outcome, n_weights: float) -> Floats:
    """The accuracy in every fold of what the other folds choose, with at most that many weights.

    Unlike on the frontier, more tries do not make it look better.
    """
    weights, accuracy = np.array(outcome.weights).mean(axis=1), np.array(outcome.accuracy)
    small = accuracy[(weights >= 1.0) & (weights <= n_weights)]
    folds = range(small.shape[1])
    return np.array([small[np.delete(small, n, axis=1).mean(axis=1).argmax(), n] for n in folds])


class Lead(NamedTuple):
    """By how much one method is ahead of another with so many weights, in accuracy."""

    n_weights: int
    mean: float
    error: float  # the standard error of the mean over the folds

    @property
    def is_clear(self) -> bool:
        return self.mean > self.error


def leads(ahead: Frontier, behind: Frontier) -> list[Lead]:
    return [lead(n, ahead.at(n), behind.at(n)) for n in budgets(ahead, behind)]


def leads_of_chosen(ahead: Outcome, behind: Outcome) -> list[Lead]:
    """The same where every fold is judged by what the others choose."""
    common = budgets(frontier(ahead), frontier(behind))
    return [lead(n, chosen_without(ahead, n), chosen_without(behind, n)) for n in common]


def budgets(one: Frontier, other: Frontier) -> list[int]:
    """All numbers of weights that both have models for, up to the most that either keeps."""
    first, last = max(one.weights[0], other.weights[0]), max(one.weights[-1], other.weights[-1])
    return [budget for budget in BUDGETS if first <= budget <= last]


def lead(n_weights: int, ahead: Floats, behind: Floats) -> Lead:
    differences = ahead - behind
    error = differences.std(ddof=1) / math.sqrt(len(differences))
    return Lead(n_weights, float(differences.mean()), float(error))
