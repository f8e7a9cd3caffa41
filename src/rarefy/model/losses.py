"""Losses of one score p: the value, the slope (a subgradient) with respect to p, and the drift.

Margin losses take labels y = -1 or +1, regression losses any finite y. All methods are plain
functions of numbers, so that a loss can be read, tested and differentiated by itself.

`drift(p, y, time)` is how far p moves if it follows the loss downhill for that time: p' - p, where
dp/dτ = -slope(p). Importance-aware updates (T2.4.3) are made of it. It never passes the minimum,
and to drift for a + b is to drift for a and then for b.

`curvature(p, y)` is the second derivative of a loss without kinks; where that is zero and the slope
is not, it is the curvature of the parabola that touches the loss there and has its minimum.
"""

import math
from typing import Any, NamedTuple, Protocol

from rarefy.jit import compile_methods
from rarefy.model.drift import decayed, logistic_drift, run_down


class Loss(Protocol):
    def value(self, p: float, y: float) -> float: ...
    def slope(self, p: float, y: float) -> float: ...


@compile_methods
class Hinge(NamedTuple):
    """[1 - yp]+; at the kink the subgradient 0 is taken."""

    def value(self, p: float, y: float) -> float:
        return max(0.0, 1.0 - y * p)

    def slope(self, p: float, y: float) -> float:
        return -y if y * p < 1.0 else 0.0

    def drift(self, p: float, y: float, time: float) -> float:
        return y * min(time, max(0.0, 1.0 - y * p))


@compile_methods
class SquaredHinge(NamedTuple):
    """[1 - yp]+ squared."""

    def value(self, p: float, y: float) -> float:
        return max(0.0, 1.0 - y * p) ** 2

    def slope(self, p: float, y: float) -> float:
        return -2.0 * y * max(0.0, 1.0 - y * p)

    def curvature(self, p: float, y: float) -> float:
        return 2.0 if y * p < 1.0 else 0.0

    def drift(self, p: float, y: float, time: float) -> float:
        return y * decayed(max(0.0, 1.0 - y * p), 2.0 * time)


@compile_methods
class Logistic(NamedTuple):
    """log(1 + exp(-yp)), written so that the exponential never overflows."""

    def value(self, p: float, y: float) -> float:
        return math.log1p(math.exp(-abs(p))) + max(-y * p, 0.0)

    def slope(self, p: float, y: float) -> float:
        e = math.exp(-abs(p))
        if y * p > 0.0:
            return -y * e / (1.0 + e)
        return -y / (1.0 + e)

    def curvature(self, p: float, y: float) -> float:
        e = math.exp(-abs(p))
        return e / ((1.0 + e) * (1.0 + e))

    def drift(self, p: float, y: float, time: float) -> float:
        return y * logistic_drift(y * p, time)


@compile_methods
class ModifiedHuber(NamedTuple):
    """[1 - yp]+ squared, continued as the straight line -4yp where yp < -1."""

    def value(self, p: float, y: float) -> float:
        m = y * p
        return max(0.0, 1.0 - m) ** 2 if m >= -1.0 else -4.0 * m

    def slope(self, p: float, y: float) -> float:
        m = y * p
        return -2.0 * y * max(0.0, 1.0 - m) if m >= -1.0 else -4.0 * y

    def curvature(self, p: float, y: float) -> float:
        m = y * p
        return 0.0 if m >= 1.0 else min(2.0, 4.0 / (1.0 - m))

    def drift(self, p: float, y: float, time: float) -> float:
        return y * run_down(max(0.0, 1.0 - y * p), time, 2.0, 2.0)


@compile_methods
class Perceptron(NamedTuple):
    """[-yp]+; at p = 0 the example counts as a mistake, or learning would never start.

    It has no drift, which would lead to p = 0 and nowhere else.
    """

    def value(self, p: float, y: float) -> float:
        return max(0.0, -y * p)

    def slope(self, p: float, y: float) -> float:
        return -y if y * p <= 0.0 else 0.0


@compile_methods
class Squared(NamedTuple):
    """(y - p)^2; note that scikit-learn's squared_error is half of it."""

    def value(self, p: float, y: float) -> float:
        return (y - p) * (y - p)

    def slope(self, p: float, y: float) -> float:
        return 2.0 * (p - y)

    def curvature(self, p: float, y: float) -> float:
        return 2.0

    def drift(self, p: float, y: float, time: float) -> float:
        return decayed(y - p, 2.0 * time)


@compile_methods
class Huber(NamedTuple):
    """(p - y)^2 / 2 up to epsilon, a straight line beyond."""

    epsilon: float = 0.1

    def value(self, p: float, y: float) -> float:
        r = abs(p - y)
        return 0.5 * r * r if r <= self.epsilon else self.epsilon * (r - 0.5 * self.epsilon)

    def slope(self, p: float, y: float) -> float:
        return min(max(p - y, -self.epsilon), self.epsilon)

    def curvature(self, p: float, y: float) -> float:
        return min(1.0, self.epsilon / abs(p - y)) if p != y else 1.0

    def drift(self, p: float, y: float, time: float) -> float:
        return math.copysign(run_down(abs(y - p), time, self.epsilon, 1.0), y - p)


@compile_methods
class EpsilonInsensitive(NamedTuple):
    """[|y - p| - epsilon]+."""

    epsilon: float = 0.1

    def value(self, p: float, y: float) -> float:
        return max(0.0, abs(y - p) - self.epsilon)

    def slope(self, p: float, y: float) -> float:
        if abs(p - y) <= self.epsilon:
            return 0.0
        return 1.0 if p > y else -1.0

    def drift(self, p: float, y: float, time: float) -> float:
        return math.copysign(min(time, max(0.0, abs(y - p) - self.epsilon)), y - p)


@compile_methods
class Quantile(NamedTuple):
    """The pinball loss; its minimiser is the given quantile of y."""

    quantile: float = 0.5

    def value(self, p: float, y: float) -> float:
        return self.quantile * (y - p) if y >= p else (1.0 - self.quantile) * (p - y)

    def slope(self, p: float, y: float) -> float:
        if p == y:
            return 0.0
        return -self.quantile if p < y else 1.0 - self.quantile

    def drift(self, p: float, y: float, time: float) -> float:
        if p < y:
            return min(self.quantile * time, y - p)
        return -min((1.0 - self.quantile) * time, p - y)


MARGIN_LOSSES: dict[str, Any] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "logistic": Logistic,
    "modified_huber": ModifiedHuber,
    "perceptron": Perceptron,
}
REGRESSION_LOSSES: dict[str, Any] = {
    "squared": Squared,
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "quantile": Quantile,
}
LOSSES = {**MARGIN_LOSSES, **REGRESSION_LOSSES}


class Properties(NamedTuple):
    """What is to be known of a loss beside its methods."""

    max_curvature: float | None = None  # None: its slope jumps
    default_eta0: float = 1.0  # the papers' c; less where the slope grows with the error
    can_be_refitted: bool = True


USUAL = Properties()
PROPERTIES = {
    "squared_hinge": Properties(max_curvature=2.0, default_eta0=0.1),
    "logistic": Properties(max_curvature=0.25),
    "modified_huber": Properties(max_curvature=2.0, default_eta0=0.1),
    "perceptron": Properties(can_be_refitted=False),
    "squared": Properties(max_curvature=2.0, default_eta0=0.05),
    "huber": Properties(max_curvature=1.0),
    "epsilon_insensitive": Properties(can_be_refitted=False),
    "quantile": Properties(can_be_refitted=False),
}


def properties_of(loss: str) -> Properties:
    """Of a loss by its name, which need not have been checked."""
    return PROPERTIES.get(loss, USUAL)
