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

    def penalise_all(self) -> None:
        """There is no intercept, which would not be penalised."""

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


class PassiveAggressiveRegression(PassiveAggressive):
    """Crammer et al. 2006, section 5: [|y − ⟨w, x⟩| − ε]+ and the sign of y − ⟨w, x⟩."""

    def __init__(self, shape: tuple[int, ...], epsilon: float, **more: Any) -> None:
        super().__init__(shape, **more)
        self.epsilon = epsilon

    def update(self, x: Array, y: float, weight: float) -> None:
        residual, norm = y - np.sum(self.w * x), np.sum(x * x)
        loss = max(0.0, abs(residual) - self.epsilon)
        if loss == 0.0 or norm == 0.0:
            return
        C = self.C * weight
        tau = loss / (norm + 1.0 / (2.0 * C)) if self.squared else min(C, loss / norm)
        self.mean = self.mean + tau * np.sign(residual) * x


class Perceptron(Margins):
    """Rosenblatt 1958; Freund and Schapire 1999, figure 1, with labels of -1 and +1."""

    def update(self, x: Array, y: float, weight: float) -> None:
        if y * np.sum(self.w * x) <= 0.0:
            self.mean = self.mean + weight * y * x


class SecondOrderPerceptron(Margins):
    """Cesa-Bianchi et al. 2005, with the diagonal of the matrix, and without the row itself."""

    def __init__(self, shape: tuple[int, ...], a: float) -> None:
        super().__init__(shape)
        self.matrix, self.v = np.full(shape, a), np.zeros(shape)

    def update(self, x: Array, y: float, weight: float) -> None:
        if y * np.sum(self.w * x) <= 0.0:
            self.v = self.v + weight * y * x
            self.matrix = self.matrix + weight * x * x
            self.mean = self.v / self.matrix


class Gaussian(Margins):
    """Means and variances; weights within l1 standard deviations of zero are zero."""

    def __init__(self, shape: tuple[int, ...], l1: float = 0.0) -> None:
        super().__init__(shape)
        self.variance = np.ones(shape)
        self.l1, self.penalty = l1, np.full(shape, l1)
        self.penalty[..., -1] = 0.0  # of the intercept

    def penalise_all(self) -> None:
        self.penalty[:] = self.l1

    @property
    def w(self) -> Array:
        limit = self.penalty * np.sqrt(self.variance)
        return np.sign(self.mean) * np.maximum(np.abs(self.mean) - limit, 0.0)

    def update(self, x: Array, y: float, weight: float) -> None:
        margin, v = y * np.sum(self.w * x), np.sum(self.variance * x * x)
        if v == 0.0:
            return
        alpha, beta = self.step(margin, v, weight)
        if alpha > 0.0:
            self.mean = self.mean + alpha * y * self.variance * x
            # Σ - β Σ x xᵀ Σ is the inverse of Σ⁻¹ + β/(1 - β v) x xᵀ, whose diagonal is kept
            self.variance = 1.0 / (1.0 / self.variance + beta / (1.0 - beta * v) * x * x)

    def step(self, m: float, v: float, weight: float) -> tuple[float, float]:
        raise NotImplementedError


class SoftConfidence(Gaussian):
    """Wang et al. 2012, propositions 1 and 2; with C = ∞, Crammer et al. 2008, figure 1."""

    def __init__(
        self,
        shape: tuple[int, ...],
        phi: float,
        C: float = np.inf,
        squared: bool = False,
        l1: float = 0.0,
    ) -> None:
        super().__init__(shape, l1)
        self.phi, self.C, self.squared = phi, C, squared

    def step(self, m: float, v: float, weight: float) -> tuple[float, float]:
        phi, C = self.phi, self.C * weight
        psi, zeta = 1.0 + phi**2 / 2.0, 1.0 + phi**2
        if self.squared:
            n = v + 1.0 / (2.0 * C)
            gamma = phi * np.sqrt(phi**2 * m**2 * v**2 + 4.0 * n * v * (n + v * phi**2))
            alpha = max(
                0.0, (-(2.0 * m * n + phi**2 * m * v) + gamma) / (2.0 * (n**2 + n * v * phi**2))
            )
        else:
            root = np.sqrt(m**2 * phi**4 / 4.0 + v * phi**2 * zeta)
            alpha = min(C, max(0.0, (-m * psi + root) / (v * zeta)))
        u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4.0 * v)) ** 2 / 4.0
        return alpha, alpha * phi / (np.sqrt(u) + v * alpha * phi)


class Arow(Gaussian):
    """Crammer et al. 2009, figure 1."""

    def __init__(self, shape: tuple[int, ...], r: float, l1: float = 0.0) -> None:
        super().__init__(shape, l1)
        self.r = r

    def step(self, m: float, v: float, weight: float) -> tuple[float, float]:
        beta = 1.0 / (v + self.r / weight)
        return max(0.0, 1.0 - m) * beta, beta


METHODS: dict[str, Callable[..., Margins]] = {
    "perceptron": Perceptron,
    "second-order-perceptron": SecondOrderPerceptron,
    "pa": PassiveAggressive,
    "pa1": PassiveAggressive,
    "pa2": PassiveAggressive,
    "cw": SoftConfidence,
    "scw1": SoftConfidence,
    "scw2": SoftConfidence,
    "arow": Arow,
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
    if not fit_intercept:
        for one in [*one_by_one, together]:
            one.penalise_all()
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
