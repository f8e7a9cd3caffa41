"""The feature-aware intensity r of the penalty (T4.16, T4.52; S5; H12).

r_t = min(V, (Σ_{τ ≤ t} |u_τ|^q)^(1/q)); for q = ∞ the largest |u| so far. Each kind of norm is a
type of its own, so that the loops are compiled for it alone. The sum of powers is never formed, so
it cannot overflow: a norm grows from r_{t-1} and u to r_t. Its growth is t^(1/q): what t times the
same u come to, beside one.
"""

import math
from enum import IntEnum
from typing import Any, NamedTuple

from rarefy.jit import compile_methods


class Basis(IntEnum):
    """What u is: the thing whose norm scales a feature's penalty."""

    GRADIENT = 0  # u = g: FR-COMID, FRDA, FTPFRL of the thesis
    UPDATE = 1  # u = η_t g: SGFT, HF-FOBOS
    FEATURE = 2  # u = x (T4.107)


@compile_methods
class MaximumNorm(NamedTuple):
    """q = ∞."""

    def grow(self, r: float, u: float) -> float:
        return max(r, u)

    def growth(self, t: float) -> float:
        return 1.0


@compile_methods
class EuclideanNorm(NamedTuple):
    """q = 2."""

    def grow(self, r: float, u: float) -> float:
        return math.sqrt(r * r + u * u)

    def growth(self, t: float) -> float:
        return math.sqrt(t)


@compile_methods
class SumNorm(NamedTuple):
    """q = 1."""

    def grow(self, r: float, u: float) -> float:
        return r + u

    def growth(self, t: float) -> float:
        return t


@compile_methods
class CommonNorm(NamedTuple):
    """q = 1 or ∞ as a number, so that models with either are of one kind."""

    q: float

    def grow(self, r: float, u: float) -> float:
        return r + u if self.q == 1.0 else max(r, u)

    def growth(self, t: float) -> float:
        return t if self.q == 1.0 else 1.0


@compile_methods
class PowerNorm(NamedTuple):
    """Any other q."""

    q: float

    def grow(self, r: float, u: float) -> float:
        larger = max(r, u)
        if larger == 0.0:
            return 0.0
        return larger * math.exp(math.log1p((min(r, u) / larger) ** self.q) / self.q)

    def growth(self, t: float) -> float:
        return math.exp(math.log(t) / self.q)


def norm_for(q: float) -> Any:
    """The norm with parameter q."""
    return {1.0: SumNorm(), 2.0: EuclideanNorm(), math.inf: MaximumNorm()}.get(q, PowerNorm(q))


def growth_of(intensity: "Intensity") -> float:
    """The power of the number of examples by which r grows, if subgradients stay as they are."""
    power = 1.0 / q_of(intensity.norm)
    return max(power - 0.5, 0.0) if intensity.basis == Basis.UPDATE else power


def q_of(norm: Any) -> float:
    """The parameter q of a norm."""
    known = {SumNorm: 1.0, EuclideanNorm: 2.0, MaximumNorm: math.inf}
    return known[type(norm)] if type(norm) in known else float(norm.q)


@compile_methods
class Intensity(NamedTuple):
    """How a feature's r follows from what it does."""

    norm: Any = MaximumNorm()
    basis: Basis = Basis.GRADIENT
    cap: float = 1e6

    def grow(self, r: float, g: float, x: float, eta: float) -> float:
        """r_t from r_{t-1}."""
        u = abs(g)
        if self.basis == Basis.UPDATE:
            u *= eta
        elif self.basis == Basis.FEATURE:
            u = abs(x)
        return min(self.cap, self.norm.grow(r, u))  # type: ignore[no-any-return]

    def share(self, t: float) -> float:
        """What of r counts after t rounds."""
        return 1.0

    def follows_features(self) -> bool:
        """Whether r grows with every occurrence, even one with subgradient 0."""
        return self.basis == Basis.FEATURE


@compile_methods
class MeanIntensity(NamedTuple):
    """An intensity over its norm's growth: a mean, which does not grow with the rounds."""

    total: Intensity

    def grow(self, r: float, g: float, x: float, eta: float) -> float:
        return self.total.grow(r, g, x, eta)

    def share(self, t: float) -> float:
        return 1.0 / self.total.norm.growth(max(t, 1.0))  # type: ignore[no-any-return]

    def follows_features(self) -> bool:
        return self.total.follows_features()


class FeatureAware:
    """What all rules have in common whose `intensity` grows with a feature's subgradients."""

    intensity: Intensity | MeanIntensity

    def steps_without_gradient(self) -> bool:
        return self.intensity.follows_features()
