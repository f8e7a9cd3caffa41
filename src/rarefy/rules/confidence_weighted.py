"""Confidence-weighted learning, with diagonal covariances (T2.5.2).

Each weight has a normal distribution of mean μ and variance σ. With the margin m = y⟨μ, x⟩ and its
variance v = Σ σ x², an example changes them by

    μ ← μ + α y σ x,        1/σ ← 1/σ + c x²,

the second being the diagonal of the papers' Σ⁻¹ ← Σ⁻¹ + c x xᵀ. Where the margin is to be positive
by φ standard deviations, c = α φ/√u, with √u = (√(α² v² φ² + 4 v) - α v φ)/2, and α is

    cw      α* = [-m ψ + √(m² φ⁴/4 + v φ² ξ)]+ / (v ξ), with ψ = 1 + φ²/2 and ξ = 1 + φ²
    scw1    min(C, α*)
    scw2    [-(2 m n + φ² m v) + φ √(φ² m² v² + 4 n v (n + v φ²))]+ / (2 (n² + n v φ²))

with n = v + 1/(2C) (Crammer et al. 2008; Wang et al. 2012). AROW (Crammer et al. 2009) wants a
margin of 1 and has α = [1 - m]+ / (v + r), c = 1/r; its r is 1/(2C) here: it begins like pa2.

Where labels contradict each other, the variances of cw fall without end. Margins that are certain
up to LEAST_VARIANCE are left as they are.

The sparse form is at reading: w = soft(μ, λ √σ), which leaves out the weights that are less than λ
standard deviations from zero. Margins are those of w. An example of weight h has C h for C.
"""

import math
from typing import Any, NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.model.example import Example
from rarefy.rules.passive_aggressive import shortfall
from rarefy.rules.proximal import soft
from rarefy.rules.rule_protocol import State, rule

LEAST_VARIANCE = 1e-60  # of a margin that is learned


class _Methods:
    """What the four have in common; `gained` is what 1/σ has grown by since it was 1."""

    l1: float

    def row_terms(self, clock: Clock, state: State, x: float) -> State:
        return (x * x / (1.0 + state[1]),)

    def weight(self, clock: Clock, state: State) -> float:
        mean, gained = state
        return soft(mean, self.l1 / math.sqrt(1.0 + gained))

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        mean, gained = state
        (growth,) = clock.common
        return mean - g / (1.0 + gained), gained + growth * x * x

    def steps_together(self) -> bool:
        return True

    def rests(self) -> bool:
        return True


def confidence_weighted(cls: Any) -> Any:
    """Make a rule of a NamedTuple that has only `meet`, which leaves c to the steps as `growth`."""
    return rule(
        "mean",
        "gained",
        common=("growth",),
        row_sums=("variance",),
        by_margin=True,
        like=_Methods,
    )(cls)


@helper
def exact_step(margin: float, variance: float, phi: float) -> float:
    """α*, after which the margin is positive by φ standard deviations."""
    xi = 1.0 + phi * phi
    half = 0.5 * margin * phi * phi
    root = math.sqrt(half * half + variance * phi * phi * xi)
    is_certain = variance <= LEAST_VARIANCE
    return 0.0 if is_certain else max(0.0, root - margin - half) / (variance * xi)


@helper
def changed(example: Example, alpha: float, phi: float) -> tuple[State, float]:
    """What `meet` gives for a step α: c = α φ/√u, without the cancellation in √u."""
    (variance,) = example.sums
    if alpha == 0.0:
        return (0.0,), 0.0
    a = alpha * variance * phi
    growth = alpha * phi * (a + math.sqrt(a * a + 4.0 * variance)) / (2.0 * variance)
    return (growth,), -example.y * alpha


@confidence_weighted
class Cw(NamedTuple):
    """Every example gets its margin, whatever its weight."""

    l1: float = 0.0
    confidence: float = 1.0

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        margin, phi = example.y * example.score, self.confidence
        return changed(example, exact_step(margin, example.sums[0], phi), phi)


@confidence_weighted
class Scw1(NamedTuple):
    """No step is longer than C."""

    l1: float = 0.0
    aggressiveness: float = 1.0
    confidence: float = 1.0

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        margin, phi = example.y * example.score, self.confidence
        alpha = exact_step(margin, example.sums[0], phi)
        return changed(example, min(alpha, self.aggressiveness * example.weight), phi)


@confidence_weighted
class Scw2(NamedTuple):
    """What is missing from the margin is paid for by its square."""

    l1: float = 0.0
    aggressiveness: float = 1.0
    confidence: float = 1.0

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        m, phi2 = example.y * example.score, self.confidence * self.confidence
        (v,) = example.sums
        n = v + 0.5 / (self.aggressiveness * example.weight)
        root = math.sqrt(phi2 * (phi2 * m * m * v * v + 4.0 * n * v * (n + v * phi2)))
        alpha = max(0.0, root - (2.0 * n + phi2 * v) * m) / (2.0 * n * (n + v * phi2))
        return changed(example, alpha if v > 0.0 else 0.0, self.confidence)


@confidence_weighted
class Arow(NamedTuple):
    """α = [1 - m]+ / (v + r) and c = 1/r, with r = 1/(2C)."""

    l1: float = 0.0
    aggressiveness: float = 0.5

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        (variance,) = example.sums
        doubled = 2.0 * self.aggressiveness * example.weight
        alpha = shortfall(example) / (variance + 1.0 / doubled)
        return (doubled if alpha > 0.0 else 0.0,), -example.y * alpha
