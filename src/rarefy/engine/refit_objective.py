"""What a refit minimises: the mean loss of examples, and a penalty, as a function of weights."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, dot
from rarefy.jit import compiled
from rarefy.model.importance import PlainUpdate
from rarefy.model.losses import Hinge, SquaredHinge
from rarefy.model.multiclass import CrammerSinger, OneVsRest, Softmax

UNTHREADED = 10_000  # numbers that BLAS sums in one thread


def long_dot(a: Floats, b: Floats) -> float:
    """a·b by BLAS, in parts for which it starts no threads: sums would depend on how many."""
    begins = range(0, len(a), UNTHREADED)
    return float(sum(a[i : i + UNTHREADED] @ b[i : i + UNTHREADED] for i in begins))


class Examples(NamedTuple):
    X: Any  # CSR
    y: Floats
    importance: Floats

    def only(self, chosen: NDArray[np.bool_]) -> "Examples":
        return Examples(self.X[chosen], self.y[chosen], self.importance[chosen])

    def scaled(self, factors: Floats) -> "Examples":
        """The examples with each column multiplied by its factor."""
        from scipy import sparse

        parts = (self.X.data * factors[self.X.indices], self.X.indices, self.X.indptr)
        return self._replace(X=sparse.csr_array(parts, shape=self.X.shape))

    @property
    def sizes(self) -> Floats:
        """The root mean square of every column in the rows that have it; 1 where none has."""
        squares = self.X.power(2).T @ self.importance
        occurrences = self.X.astype(bool).T @ self.importance
        means = np.divide(squares, occurrences, out=np.ones_like(squares), where=occurrences > 0.0)
        return np.asarray(np.sqrt(means))

    @property
    def size(self) -> float:
        """How many there are; those of little importance hardly count."""
        return float(self.importance.sum() ** 2 / (self.importance @ self.importance))

    @property
    def shares(self) -> Floats:
        return np.asarray(self.importance / self.importance.sum())


class Wanted(NamedTuple):
    """What is to be found: weight k is that of column columns[k] for output outputs[k]."""

    columns: NDArray[np.int64]
    outputs: NDArray[np.int64]
    n_outputs: int
    fit_intercept: bool
    loss: Any


class Objective:
    """What is minimised: a function of the weights, and then the intercepts, in one array."""

    def __init__(self, examples: Examples, wanted: Wanted, l2: float) -> None:
        self.examples = examples
        self.wanted = wanted
        self.n_weights = len(wanted.columns)
        self.n_intercepts = wanted.n_outputs if wanted.fit_intercept else 0
        self.l2 = l2
        squares = examples.X.power(2).T @ examples.shares
        curvatures = squares[wanted.columns] + l2
        curvatures[curvatures == 0.0] = 1.0
        self.curvatures = np.append(curvatures, np.ones(self.n_intercepts))

    def parts(self, variables: Floats) -> tuple[Floats, Floats]:
        """The weights, and an intercept for every output."""
        intercepts = np.zeros(self.wanted.n_outputs)
        intercepts[: self.n_intercepts] = variables[self.n_weights :]
        return variables[: self.n_weights], intercepts

    def losses_and_slopes(self, examples: Examples, variables: Floats) -> tuple[Floats, Floats]:
        """The loss of every example, and how it changes with every score."""
        columns, outputs, n_outputs, _, loss = self.wanted
        weights, intercepts = self.parts(variables)
        dense = np.zeros((examples.X.shape[1], n_outputs))
        dense[columns, outputs] = weights
        scores = examples.X @ dense + intercepts
        losses, slopes = np.empty(len(scores)), np.empty_like(scores)
        measure = _measure if n_outputs == 1 else _measure_classes
        measure(loss, PlainUpdate(), scores, examples.y, losses, slopes)
        return losses, slopes

    def value_and_gradient(self, variables: Floats) -> tuple[float, Floats]:
        examples, weights = self.examples, variables[: self.n_weights]
        losses, slopes = self.losses_and_slopes(examples, variables)
        slopes *= examples.shares[:, np.newaxis]
        value = long_dot(examples.shares, losses) + 0.5 * self.l2 * dot(weights, weights)
        by_column = examples.X.T @ slopes
        by_weight = by_column[self.wanted.columns, self.wanted.outputs] + self.l2 * weights
        return float(value), np.append(by_weight, slopes.sum(axis=0)[: self.n_intercepts])


def smooth(loss: Any) -> Any:
    """The loss itself if it has no kinks; else the one without that is minimised in its place."""
    if isinstance(loss, CrammerSinger):
        return Softmax()
    if isinstance(loss, OneVsRest):
        return OneVsRest(smooth(loss.loss))
    return SquaredHinge() if isinstance(loss, Hinge) else loss


@compiled
def _measure(loss: Any, update: Any, scores: Any, y: Any, losses: Any, slopes: Any) -> None:
    for row in range(len(y)):
        losses[row] = loss.value(scores[row, 0], y[row])
        slopes[row, 0] = update.slope(loss, scores[row, 0], y[row], 1.0, 0.0)


@compiled
def _measure_classes(loss: Any, update: Any, scores: Any, y: Any, losses: Any, slopes: Any) -> None:
    for row in range(len(y)):
        losses[row] = loss.value(scores[row], int(y[row]))
        loss.slopes(scores[row], int(y[row]), update, 1.0, 0.0, slopes[row])
