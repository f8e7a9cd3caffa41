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

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.engine.lbfgs import minimum
from rarefy.engine.learner import Learner
from rarefy.engine.refit_objective import Examples, Objective, Wanted, long_dot, smooth
from rarefy.splits import held_out

STRENGTHS = (1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0, 0.3, 0.1, 0.03)  # l2 times the number of examples
HELD_OUT = 0.25  # of the examples, to choose from them
ROUGH = 1e-2  # precision where strengths are compared; the start is the minimum of the last one


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
        mean = long_dot(predicted.shares, losses)
        if means and mean >= means[-1]:
            break
        means.append(mean)
        differences = predicted.shares * (losses - mean)
        error = math.sqrt(long_dot(differences, differences))
    good_enough = np.array(means) <= means[-1] + error
    return STRENGTHS[int(good_enough.argmax())]
