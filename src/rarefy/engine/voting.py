"""The voted perceptron: every set of weights that there ever was predicts, by vote.

Weights change by a row alone: at a mistake, w_y ← w_y + x and w_z ← w_z - x, y being the right
class and z the best wrong one. So the rows of all mistakes, in order, are all weights: the scores
of a row x' after each mistake are running sums of the products ⟨x, x'⟩.

A set of weights votes as often as there were rounds from its mistake until the next one. With two
classes this is Freund and Schapire's figure 1 (w_1 = -w_0), where a score of zero votes for none.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rarefy.arrays import Floats, Numbers, csr_parts
from rarefy.jit import compiled
from rarefy.model.multiclass import best_wrong

MOST_PRODUCTS = 1 << 22  # of rows with rows, at a time
NO_MISTAKE = -1


class Mistakes(NamedTuple):
    """All mistakes in their order, and the weights after the last one."""

    rows: sparse.csr_array  # that were mistaken, each once for a call
    row: Numbers  # of each mistake, among `rows`
    right: Numbers  # its class
    wrong: Numbers  # the class that had the highest score of the others
    round: Numbers  # from 1 on
    n_rounds: int  # until now
    weights: Floats  # of each class; the last is the intercept
    intercept: float  # the feature that every row has: 1, or 0 where there is none

    @classmethod
    def none(cls, n_classes: int, n_features: int, intercept: bool) -> Self:
        nothing = np.zeros(0, np.int64)
        rows = sparse.csr_array((0, n_features))
        weights = np.zeros((n_classes, n_features + 1))
        return cls(rows, nothing, nothing, nothing, nothing, 0, weights, float(intercept))

    def learned(self, X: sparse.csr_array, y: Numbers, orders: Iterable[Numbers]) -> Self:
        """These and what is mistaken in passes over rows, in these orders."""
        weights, n_rounds = self.weights.copy(), self.n_rounds
        scores = np.empty(len(weights))
        found: list[list[Numbers]] = [[] for _ in range(4)]
        for order in orders:
            wrong = np.empty(len(order), np.int64)
            find_mistakes(*csr_parts(X), y, order, self.intercept, weights, scores, wrong)
            at = np.flatnonzero(wrong != NO_MISTAKE)
            for column, new in zip(
                found, (order[at], y[order[at]], wrong[at], n_rounds + at + 1), strict=True
            ):
                column.append(new)
            n_rounds += len(order)
        numbers, right, wrong, rounds = (np.concatenate([*c, np.zeros(0, np.int64)]) for c in found)
        kept, row = np.unique(numbers, return_inverse=True)
        return type(self)(
            sparse.csr_array(sparse.vstack([self.rows, X[kept]])),
            np.append(self.row, self.rows.shape[0] + row),
            np.append(self.right, right),
            np.append(self.wrong, wrong),
            np.append(self.round, rounds),
            n_rounds,
            weights,
            self.intercept,
        )

    def votes(self, X: sparse.csr_array) -> Floats:
        """The share of the votes that each class has for each row."""
        lasted = np.diff(self.round, append=self.n_rounds + 1).astype(np.float64)
        votes = np.zeros((X.shape[0], len(self.weights)))
        scores = np.empty(len(self.weights))
        at_a_time = max(1, MOST_PRODUCTS // max(1, self.rows.shape[0]))
        for begin in range(0, X.shape[0], at_a_time):
            products = (X[begin : begin + at_a_time] @ self.rows.T).toarray() + self.intercept
            some = votes[begin : begin + at_a_time]
            count_votes(products, self.row, self.right, self.wrong, lasted, scores, some)
        return votes / max(self.n_rounds, 1)


@compiled
def find_mistakes(
    indptr: Numbers,
    indices: NDArray[Any],
    values: Floats,
    y: Numbers,
    order: Numbers,
    intercept: float,
    weights: Floats,
    scores: Floats,
    wrong: Numbers,
) -> None:
    """Learn rows in this order; of each, the class that was taken for the right one, or none.

    `scores` has room for those of a row.
    """
    for n in range(len(order)):
        begin, end, right = indptr[order[n]], indptr[order[n] + 1], y[order[n]]
        for z in range(len(weights)):
            scores[z] = intercept * weights[z, -1]
            for j in range(begin, end):
                scores[z] += values[j] * weights[z, indices[j]]
        rival = best_wrong(scores, right)
        wrong[n] = NO_MISTAKE
        if not scores[right] > scores[rival]:
            wrong[n] = rival
            for j in range(begin, end):
                weights[right, indices[j]] += values[j]
                weights[rival, indices[j]] -= values[j]
            weights[right, -1] += intercept
            weights[rival, -1] -= intercept


@compiled
def count_votes(
    products: Floats,
    row: Numbers,
    right: Numbers,
    wrong: Numbers,
    lasted: Floats,
    scores: Floats,
    votes: Floats,
) -> None:
    """Add the votes after each mistake, for the class with the highest score if it has no equal."""
    for n in range(len(products)):
        scores[:] = 0.0
        for m in range(len(row)):
            scores[right[m]] += products[n, row[m]]
            scores[wrong[m]] -= products[n, row[m]]
            best = 0
            is_tied = False
            for z in range(1, len(scores)):
                if scores[z] > scores[best]:
                    best = z
                    is_tied = False
                elif scores[z] == scores[best]:
                    is_tied = True
            if not is_tied:
                votes[n, best] += lasted[m]
