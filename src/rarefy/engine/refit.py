"""Relaxed refit: the weights that were kept are learned again, to the minimum, without l1.

The penalty that leaves few features also makes their weights small. Once the features are chosen it
has done its work, and what is minimised over the weights that are not zero is

    the mean of the loss + l2/2 ∑ (r_i w_i)²

where r_i is the root mean square of feature i in the rows that have it, so that neither its unit
nor its frequency matters (r = 1 if it is 0 or 1). The intercept is not penalised.

Where fewer features are asked for than were kept, the weakest go, about half of them at a time, and
the others are refitted. The strength of a feature is the sum of its squared weights times the mean
square of its values over all rows: in units of the loss's curvature, about twice what the loss
would rise without it.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.engine.learner import Learner
from rarefy.jit import compiled
from rarefy.model.importance import PlainUpdate
from rarefy.model.losses import Hinge, SquaredHinge
from rarefy.model.multiclass import CrammerSinger, OneVsRest, Softmax
from rarefy.splits import held_out

STRENGTHS = (1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0, 0.3, 0.1, 0.03)  # l2 times the number of examples
HELD_OUT = 0.25  # of the examples, to choose from them
PRECISION = 1e-7  # of the gradient, as a share of the one where all weights are zero
ROUGH = 1e-2  # where strengths are compared, as a share of the one at the last minimum
MOST_ITERATIONS = 5000  # some hundred are the rule
STEPS_REMEMBERED = 10  # by L-BFGS
MOST_HALVINGS = 40  # of a step that led too far
LEAST_GAIN = 1e-4  # of a step, as a share of what the gradient promised


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


def refitted(
    learner: Learner, X: Any, y: Floats, importance: Floats, l2: float | None, limit: int | None
) -> Learner:
    """A learner that predicts with refitted weights of the same features, or the strongest of them.

    Column i of X, which is CSR, is feature i of the learner; `limit` is how many are left at most.
    """
    return refits(learner, X, y, importance, l2, [limit])[0]


def refits(
    learner: Learner,
    X: Any,
    y: Floats,
    importance: Floats,
    l2: float | None,
    limits: Sequence[int | None],
) -> list[Learner]:
    """A refitted learner for each limit; what they have in common is done once.

    That is a chain of refits of as many features as were kept, and of every smaller power of two.
    """
    slots, _ = learner.nonzero()
    linked = _refitted(learner, slots, X, y, importance, l2)
    by_limit: dict[int | None, Learner] = {None: linked}
    for limit in sorted({limit for limit in limits if limit is not None}, reverse=True):
        while (n_features := _n_features(linked)) > limit:
            power = 1 << (n_features - 1).bit_length() - 1
            if power < limit:
                break
            slots = _strongest(linked, power, X, importance)
            linked = _refitted(learner, slots, X, y, importance, l2)
        by_limit[limit] = linked
        if n_features > limit:
            slots = _strongest(linked, limit, X, importance)
            by_limit[limit] = _refitted(learner, slots, X, y, importance, l2)
    return [by_limit[limit] for limit in limits]


def _n_features(learner: Learner) -> int:
    slots, _ = learner.nonzero()
    return len(np.unique(slots // learner.n_outputs))


def _strongest(learner: Learner, n_features: int, X: Any, importance: Floats) -> NDArray[np.int64]:
    """The slots of so many features."""
    slots, weights = learner.nonzero()
    features, numbers = np.unique(slots // learner.n_outputs, return_inverse=True)
    strengths = np.bincount(numbers, weights**2) * (X[:, features].power(2).T @ importance)
    kept = np.argsort(-strengths, kind="stable")[:n_features]
    return slots[np.isin(numbers, kept)]


def _refitted(
    learner: Learner,
    slots: NDArray[np.int64],
    X: Any,
    y: Floats,
    importance: Floats,
    l2: float | None,
) -> Learner:
    """A learner with refitted weights in these slots."""
    features, outputs = np.divmod(slots, learner.n_outputs)
    kept, columns = np.unique(features, return_inverse=True)
    has_intercept = len(learner.intercept_state) > 0
    examples = Examples(X[:, kept], y, importance).only(importance > 0.0)
    sizes = examples.sizes
    examples = examples.scaled(1.0 / sizes)
    sizes = sizes[columns]
    if learner.n_outputs == 1:
        basis = without_repetition(examples.X)
        examples = examples._replace(X=examples.X @ basis)
        columns, outputs = np.arange(basis.shape[1]), np.zeros(basis.shape[1], dtype=np.int64)
    wanted = Wanted(columns, outputs, learner.n_outputs, has_intercept, smooth(learner.loss))
    if l2 is None:
        l2 = best_strength(examples, wanted) / examples.size
    objective = Objective(examples, wanted, l2)
    weights, intercepts = objective.parts(minimum(objective))
    if learner.n_outputs == 1:
        weights = basis @ weights
    return learner.with_weights(slots, weights / sizes, intercepts)


def without_repetition(X: Any) -> Any:
    """Orthonormal directions, as columns, in which all that the columns of X can say is said.

    Columns that have one entry, all in the same row, say the same, and are one direction; of rare
    features, which are many, few are left. All other columns stay. A penalty of the sum of squares
    is the same in both.
    """
    from scipy import sparse

    by_column = X.tocsc()
    is_lone = np.diff(by_column.indptr) == 1
    at = by_column.indptr[:-1][is_lone]
    values = by_column.data[at]
    _, direction = np.unique(by_column.indices[at], return_inverse=True)
    lengths = np.sqrt(np.bincount(direction, values**2))
    lone, others = np.flatnonzero(is_lone), np.flatnonzero(~is_lone)
    entries = np.concatenate([np.ones(len(others)), values / lengths[direction]])
    columns = np.concatenate([np.arange(len(others)), len(others) + direction])
    shape = X.shape[1], len(others) + len(lengths)
    rows = np.concatenate([others, lone])
    return sparse.csr_array((entries, (rows, columns)), shape=shape)


def smooth(loss: Any) -> Any:
    """The loss itself if it has no kinks; else the one without that is minimised in its place."""
    if isinstance(loss, CrammerSinger):
        return Softmax()
    if isinstance(loss, OneVsRest):
        return OneVsRest(smooth(loss.loss))
    return SquaredHinge() if isinstance(loss, Hinge) else loss


def best_strength(examples: Examples, wanted: Wanted) -> float:
    """The largest strength whose loss on held-out examples is not clearly worse than the least.

    That is, by not more than a standard error: the features were chosen with a view to all of the
    examples, which makes weak penalties look better than they are.
    """
    held = held_out(0, len(examples.y), HELD_OUT)
    if held.all() or not held.any():
        return 1.0
    learned, predicted = examples.only(~held), examples.only(held)
    means: list[float] = []
    variables = None
    for strength in STRENGTHS:
        objective = Objective(learned, wanted, strength / learned.size)
        variables = minimum(objective, variables, ROUGH)
        losses, _ = objective.losses_and_slopes(predicted, variables)
        mean = _dot(predicted.shares, losses)
        if means and mean >= means[-1]:
            break
        means.append(mean)
        error = float(np.linalg.norm(predicted.shares * (losses - mean)))
    good_enough = np.array(means) <= means[-1] + error
    return STRENGTHS[int(good_enough.argmax())]


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
        value = _dot(examples.shares, losses) + 0.5 * self.l2 * _dot(weights, weights)
        by_column = examples.X.T @ slopes
        by_weight = by_column[self.wanted.columns, self.wanted.outputs] + self.l2 * weights
        return float(value), np.append(by_weight, slopes.sum(axis=0)[: self.n_intercepts])


def minimum(
    objective: Objective, start: Floats | None = None, precision: float = PRECISION
) -> Floats:
    """The variables with the least value, by L-BFGS.

    They are scaled for the way there, so that curvatures are about 1, whatever the units. It ends
    when the gradient has shrunk to `precision` times what it is at the start.
    """
    scale = 1.0 / np.sqrt(objective.curvatures)

    def measured(at: Floats) -> tuple[float, Floats]:
        value, gradient = objective.value_and_gradient(scale * at)
        return value, scale * gradient

    at = np.zeros(len(scale)) if start is None else start / scale
    value, gradient = measured(at)
    enough = precision**2 * _dot(gradient, gradient)
    past: deque[Step] = deque(maxlen=STEPS_REMEMBERED)
    for _ in range(MOST_ITERATIONS):
        if _dot(gradient, gradient) <= enough:
            break
        way = _downhill(gradient, past)
        fall = _dot(gradient, way)
        for halvings in range(MOST_HALVINGS):
            there = at + 0.5**halvings * way
            new_value, new_gradient = measured(there)
            still_falls = _dot(new_gradient, way) <= 0.0
            if still_falls or new_value <= value + LEAST_GAIN * 0.5**halvings * fall:
                break
        else:
            break
        if new_value >= value and _dot(new_gradient, new_gradient) >= _dot(gradient, gradient):
            break
        step = Step(there - at, new_gradient - gradient)
        if step.curvature > 0.0:
            past.append(step)
        at, value, gradient = there, new_value, new_gradient
    return np.asarray(scale * at)


class Step(NamedTuple):
    """How the variables changed, and the gradient with them."""

    moved: Floats
    change: Floats

    @property
    def curvature(self) -> float:
        return _dot(self.moved, self.change)


def _downhill(gradient: Floats, past: Sequence[Step]) -> Floats:
    """Minus the gradient, divided by the curvature that past steps met with."""
    way = -gradient
    shares = []
    for step in reversed(past):
        share = _dot(step.moved, way) / step.curvature
        way -= share * step.change
        shares.append(share)
    if past:
        way *= past[-1].curvature / _dot(past[-1].change, past[-1].change)
    for step, share in zip(past, reversed(shares), strict=True):
        way += (share - _dot(step.change, way) / step.curvature) * step.moved
    return way


def _dot(a: Floats, b: Floats) -> float:
    """Without BLAS, whose threads would get in the way of ours and make sums depend on them."""
    return float(np.einsum("i,i->", a, b))


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
