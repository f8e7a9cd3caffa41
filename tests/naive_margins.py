"""Methods that act on margins, dense and eager, to be read against their papers.

Two classes are -1 and +1. Of several, numbered from 0, each has its own weights: "ovr" learns one
against the rest, "crammer_singer" the right class against the best wrong one. That is a step of two
classes, with y = 1 and the features x for the right class and -x for the wrong one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Margins:
    """Weights that a subclass changes, given features and a label of -1 or +1.

    `mean`, and what else it has, are arrays like a row or, for several classes, like a matrix.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean = np.zeros(shape)

    @property
    def w(self) -> Array:
        return self.mean

    def update(self, x: Array, y: float, weight: float) -> None:
        raise NotImplementedError


class PassiveAggressive(Margins):
    """Crammer et al. 2006, figure 1: τ_t; C is infinite for pa."""

    def __init__(self, shape: tuple[int, ...], C: float = np.inf, squared: bool = False) -> None:
        super().__init__(shape)
        self.C, self.squared = C, squared

    def update(self, x: Array, y: float, weight: float) -> None:
        loss, norm = max(0.0, 1.0 - y * np.sum(self.w * x)), np.sum(x * x)
        if loss == 0.0 or norm == 0.0:
            return
        C = self.C * weight
        tau = loss / (norm + 1.0 / (2.0 * C)) if self.squared else min(C, loss / norm)
        self.mean = self.mean + tau * y * x


METHODS: dict[str, Callable[..., Margins]] = {
    "pa": PassiveAggressive,
}


class Result(NamedTuple):
    coef: Array  # (classes, d)
    intercept: Array
    method: Any


def fit(
    X: Array,
    y: NDArray[Any],
    method: Callable[[tuple[int, ...]], Margins],
    *,
    passes: int = 1,
    multiclass: str | None = None,
    fit_intercept: bool = True,
    sample_weight: Array | None = None,
) -> Result:
    """Learn the rows in order; the intercept is the weight of a last feature that is always 1."""
    n = len(X)
    rows = np.hstack([X, np.ones((n, 1))]) if fit_intercept else X
    weights = np.ones(n) if sample_weight is None else sample_weight
    n_classes = 1 if multiclass is None else int(np.max(y)) + 1
    d = rows.shape[1]
    one_by_one = [method((d,)) for _ in range(n_classes)]
    together = method((n_classes, d))
    for i in [*range(n)] * passes:
        if weights[i] == 0.0:
            continue
        if multiclass == "crammer_singer":
            scores = together.w @ rows[i]
            scores[y[i]] = -np.inf
            difference = np.zeros((n_classes, d))
            difference[y[i]] = rows[i]
            difference[int(np.argmax(scores))] = -rows[i]
            together.update(difference, 1.0, weights[i])
            continue
        for z, one in enumerate(one_by_one):
            label = y[i] if multiclass is None else (1.0 if z == y[i] else -1.0)
            one.update(rows[i], label, weights[i])
    is_together = multiclass == "crammer_singer"
    w = together.w if is_together else np.array([one.w for one in one_by_one])
    d = X.shape[1]
    intercept = w[:, d] if fit_intercept else np.zeros(n_classes)
    return Result(w[:, :d], intercept, together)
