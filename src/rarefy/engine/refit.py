"""Relaxed refit: the kept weights are fitted again without l1, to the minimum.

The penalty that leaves few features also makes their weights small. Once the features are chosen it
has done its work, and what is minimised over the weights that are not zero is

    the mean of the loss + l2/2 ∑ (r_i w_i)²

where r_i is the root mean square of feature i in the rows that have it, so that neither its unit
nor its frequency matters (r = 1 if it is 0 or 1). The intercept is not penalised.

Where fewer features are asked for than were kept, the weakest go, about half of them at a time, and
the others are refitted.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, as_rows, dot
from rarefy.engine.learner import Learner
from rarefy.engine.newton import minimum
from rarefy.engine.pruning import strengths
from rarefy.engine.refit_objective import Objective, Wanted, smooth
from rarefy.splits import held_out

STRENGTHS = (1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0, 0.3, 0.1, 0.03)  # l2 times the number of examples
HELD_OUT = 0.25  # of the examples, to choose from them
LEAST_GAIN = 0.01  # of a weaker penalty, as a share of what all weaker ones have gained
RANKS_CLASSES = 10.0  # the strength with which features of several classes are ranked

# Precision of the refit, of weights that tell strong from weak, and where strengths are compared.
EXACT, TO_RANK, TO_COMPARE = 1e-7, 1e-3, 0.1


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
    link = Link.first(learner, X, y, importance, l2)
    reached = [link.n_features if limit is None else limit for limit in limits]
    by_limit = {}
    for limit in sorted(set(reached), reverse=True):
        while link.n_features > limit and (power := _power_below(link.n_features)) >= limit:
            link = link.cut(power)
        by_limit[limit] = link.cut(limit).refitted(learner)
    return [by_limit[limit] for limit in reached]


def _power_below(n: int) -> int:
    return 1 << (n - 1).bit_length() - 1


class Examples(NamedTuple):
    X: Any  # CSR; the root mean square of a column is 1 in the rows that have it
    sizes: Floats  # what it was
    y: Floats
    importance: Floats

    @classmethod
    def in_own_units(cls, X: Any, y: Floats, importance: Floats) -> "Examples":
        from scipy import sparse

        squares = X.power(2).T @ importance
        occurrences = X.astype(bool).T @ importance
        means = np.divide(squares, occurrences, out=np.ones_like(squares), where=occurrences > 0.0)
        sizes = np.sqrt(means)
        parts = (X.data / sizes[X.indices], X.indices, X.indptr)
        return cls(sparse.csr_array(parts, shape=X.shape), sizes, y, importance)

    def rows(self, importance: Floats) -> Rows:
        """Such of these importances, which are made to add up to 1."""
        return as_rows(self.X, self.y, importance / importance.sum())


class Chosen(NamedTuple):
    """How strong the penalty is, and variables that are not far from the minimum."""

    strength: float
    nearby: Floats


class Link:
    """A refit of some features; `slots` are those of the learner that the weights are for.

    Features are ranked by weights of the penalty that suits the first of them, or, with several
    outputs, of one that is always the same. `ranked` is that penalty and the weights that were left
    by the link before, if there is one.
    """

    def __init__(
        self,
        examples: Examples,
        wanted: Wanted,
        slots: NDArray[np.int64],
        l2: float | None,
        ranked: Chosen | None = None,
    ) -> None:
        self._examples = examples
        self._wanted = wanted
        self._slots = slots
        self._given_l2 = l2
        self._ranked = ranked

    @classmethod
    def first(
        cls, learner: Learner, X: Any, y: Floats, importance: Floats, l2: float | None
    ) -> "Link":
        """That of all features that were kept."""
        slots, _ = learner.nonzero()
        features, columns = np.unique(slots // learner.n_outputs, return_inverse=True)
        has_intercept = len(learner.intercept_state) > 0
        outputs = slots % learner.n_outputs
        wanted = Wanted(columns, outputs, learner.n_outputs, has_intercept, smooth(learner.loss))
        return cls(Examples.in_own_units(X[:, features], y, importance), wanted, slots, l2)

    @property
    def n_features(self) -> int:
        return len(self._examples.sizes)

    def cut(self, n_features: int) -> "Link":
        """The refit of the strongest features; its penalty is not sought far above that of this."""
        if n_features >= self.n_features:
            return self
        weights, intercepts = self._weights_that_rank
        X, sizes, y, importance = self._examples
        kept = np.sort(np.argsort(-self._relevance(), kind="stable")[:n_features])
        chosen = np.isin(self._wanted.columns, kept)
        columns = np.searchsorted(kept, self._wanted.columns[chosen])
        return Link(
            Examples(X[:, kept], sizes[kept], y, importance),
            self._wanted._replace(columns=columns, outputs=self._wanted.outputs[chosen]),
            self._slots[chosen],
            self._given_l2,
            Chosen(self._to_rank.strength, np.append(weights[chosen], intercepts)),
        )

    def refitted(self, learner: Learner) -> Learner:
        """A learner with the refitted weights."""
        weights, intercepts = self._minimum(self._chosen, EXACT)
        sizes = self._examples.sizes[self._wanted.columns]
        return learner.with_weights(self._slots, weights / sizes, intercepts)

    def _relevance(self) -> Floats:
        """How strong each feature is.

        With several outputs that is the sum of its squared weights, each over its variance, which
        is H / (H + l2)² if H is the curvature of the loss. Words that are in most rows are strong
        by their squares alone, and would crowd out those that tell one class from all others.
        """
        weights, intercepts = self._weights_that_rank
        columns, importance = self._wanted.columns, self._examples.importance
        if self._wanted.n_outputs == 1:
            return strengths(columns, weights, self._examples.X.power(2).T @ importance)
        loss = Objective(self._examples.rows(importance), self._wanted, 0.0)
        spread, _ = loss.parts(loss.at(np.append(weights, intercepts)).spread)
        curvatures = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0.0)
        l2 = self._to_rank.strength / effective_number(importance)
        squares = (weights * (curvatures + l2)) ** 2 * spread
        return np.asarray(np.bincount(columns, squares))

    @property
    def _to_rank(self) -> Chosen:
        if self._ranked is not None:
            return self._ranked
        if self._wanted.n_outputs > 1:
            return Chosen(RANKS_CLASSES, self._wanted.start())
        return self._chosen

    @cached_property
    def _weights_that_rank(self) -> tuple[Floats, Floats]:
        return self._minimum(self._to_rank, TO_RANK)

    def _minimum(self, chosen: Chosen, precision: float) -> tuple[Floats, Floats]:
        importance = self._examples.importance
        l2 = chosen.strength / effective_number(importance)
        objective = Objective(self._examples.rows(importance), self._wanted, l2)
        first = objective.at(objective.start()).size
        return objective.parts(minimum(objective, chosen.nearby, precision, first))

    @cached_property
    def _chosen(self) -> Chosen:
        if self._given_l2 is None:
            most = math.inf if self._ranked is None else 20.0 * self._ranked.strength
            tried = [strength for strength in STRENGTHS if strength <= most]
            return best_strength(self._examples, self._wanted, tried)
        importance = self._examples.importance
        strength = self._given_l2 * effective_number(importance)
        if self._ranked is not None:
            return Chosen(strength, self._ranked.nearby)
        stronger = [other for other in STRENGTHS if other > strength]
        minima = [at for _, at in _minima(self._examples, importance, self._wanted, stronger)]
        return Chosen(strength, minima[-1] if minima else self._wanted.start())


def _minima(
    examples: Examples, importance: Floats, wanted: Wanted, strengths: Sequence[float]
) -> Iterator[tuple[Objective, Floats]]:
    """What is minimised at each strength, and where about it is least.

    They get weaker, and each begins where the one before has ended. From far away Newton's method
    takes many short steps if the penalty is weak.
    """
    rows = examples.rows(importance)
    variables = wanted.start()
    for strength in strengths:
        objective = Objective(rows, wanted, strength / effective_number(importance))
        variables = minimum(objective, variables, TO_COMPARE)
        yield objective, variables


def best_strength(
    examples: Examples, wanted: Wanted, strengths: Sequence[float] = STRENGTHS
) -> Chosen:
    """The largest strength whose loss on held-out examples is not clearly worse than the least.

    That is, by not more than a standard error: the features were chosen with a view to all of the
    examples, which makes weak penalties look better than they are.
    """
    counts = np.flatnonzero(examples.importance)
    held = counts[held_out(0, len(counts), HELD_OUT)]
    if len(held) in (0, len(counts)):
        return Chosen(1.0, wanted.start())
    learned, judged = examples.importance.copy(), np.zeros_like(examples.importance)
    learned[held], judged[held] = 0.0, examples.importance[held]
    held_rows = examples.rows(judged)
    means: list[float] = []
    found: list[Floats] = []
    for objective, variables in _minima(examples, learned, wanted, strengths):
        losses = objective.losses(held_rows, variables)
        mean = dot(held_rows.importance, losses)
        if means and means[-1] - mean <= LEAST_GAIN * (means[0] - mean):
            break
        means.append(mean)
        found.append(variables)
        differences = held_rows.importance * (losses - mean)
        error = math.sqrt(dot(differences, differences))
    best = int((np.array(means) <= means[-1] + error).argmax())
    return Chosen(strengths[best], found[best])


def effective_number(importance: Floats) -> float:
    """How many examples there are; those of little importance hardly count."""
    return float(importance.sum() ** 2 / dot(importance, importance))
