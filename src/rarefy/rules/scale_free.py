"""Scale-free dual averaging, a rule of rarefy's own: the units of features do not matter.

r = √(Σ g²) is the feature-aware intensity with q = 2, and AdaGrad's H, too. Subgradients without
any tendency sum to about ±r in one pass, so |G|/r says how many standard deviations the sum is from
chance. λ is in these units, and charged once, as ftrl's. The root mean square of the feature's
values, s, turns steps into its own units: with x in other units, w x is the same.

u is the slope of an example that is off by a unit, so u s is the subgradient of such an example. It
is what makes weights small that cannot change the loss by much, because the feature is rare or its
slopes are (those of a class that is out of the question): β times that is added to r in the step,
and a fifth of it in the penalty.

Lazy form: none is needed, all of it rests while the coordinate is away.
"""

import math
from typing import Any, NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.rules.proximal import curvature, ratio, root_of, soft, stays_out
from rarefy.rules.rule_protocol import State, rule

SHARE_IN_PENALTY = 0.2  # of what β adds to r


@helper
def intensity(clock: Clock, beta: float, r: float, scale: float) -> float:
    """What λ is multiplied by."""
    return r + SHARE_IN_PENALTY * beta * clock.slope * scale


@helper
def inverse_step(clock: Clock, beta: float, r: float, scale: float) -> float:
    """What weights are divided by."""
    return (r + beta * clock.slope * scale) * scale


@helper
def next_scale(scale: float, n: float, x: float, times: float) -> tuple[float, float]:
    """The root mean square of n values and x, and their number; an x of zero is no value."""
    occurs = times if x != 0.0 else 0.0
    n += occurs
    return math.sqrt(scale * scale + occurs * (x * x - scale * scale) / max(n, 1.0)), n


class ScaleFreeMethods:
    """What both scale-free rules have in common: all of the state but its first number."""

    l2: float | None

    def step(self: Any, clock: Clock, state: State, g: float, x: float) -> State:
        return self.repeated(clock, state, g, x, 1.0)  # type: ignore[no-any-return]

    def to_means(self, clock: Clock, state: State) -> State:
        first, r, scale, n = state
        return first, r * r, n * (scale * scale), n

    def from_means(self, clock: Clock, means: State) -> State:
        return means[0], root_of(means[1]), root_of(ratio(means[2], means[3])), means[3]

    def steps_together(self) -> bool:
        return True

    def is_shift_free(self) -> bool:
        return True

    def rests(self) -> bool:
        return self.l2 is None


@rule("G", "r", "scale", "n", like=ScaleFreeMethods)
class ScaleFree(NamedTuple):
    """w = -soft(G, λ (r + β u s/5)) / ((r + β u s) s / c + λ₂ t)."""

    eta0: float = 0.2
    l1: float = 1.0
    l2: float | None = None
    beta: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        gradients, r, scale, _ = state
        excess = soft(gradients, self.l1 * intensity(clock, self.beta, r, scale))
        eta, t = self.eta0 * clock.unit, clock.t - 1.0
        quadratic = curvature(self.l2, inverse_step(clock, self.beta, r, scale), eta * t)
        return -ratio(eta * excess, quadratic)

    def repeated(self, clock: Clock, state: State, g: float, x: float, times: float) -> State:
        gradients, r, scale, n = state
        if stays_out(clock, gradients, self.l1 * intensity(clock, self.beta, r, scale)):
            return state
        scale, n = next_scale(scale, n, x, times)
        return gradients + times * g, math.sqrt(r * r + times * (g * g)), scale, n

    def to_sums(self: Any, clock: Clock, state: State) -> State:
        return self.to_means(clock, state)  # type: ignore[no-any-return]

    def from_sums(self: Any, clock: Clock, sums: State) -> State:
        return self.from_means(clock, sums)  # type: ignore[no-any-return]
