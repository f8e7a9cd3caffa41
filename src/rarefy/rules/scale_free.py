"""Scale-free dual averaging, a rule of rarefy's own: the units of features do not matter.

r = √(Σ g²) is the feature-aware intensity with q = 2, and AdaGrad's H, too. Subgradients without
any tendency sum to about ±r in one pass, so |G|/r says how many standard deviations the sum is from
chance. λ is in these units, and charged once, as ftrl's: a feature is kept while |G| > λ r. The
largest |x| of the feature turns steps into its own units: with x in other units, w x is the same.

Lazy form: none is needed, all of it rests while the coordinate is away.
"""

import math
from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.proximal import curvature, ratio, soft, stays_out
from rarefy.rules.rule_protocol import State, rule


@rule("G", "r", "largest")
class ScaleFree(NamedTuple):
    """w = -soft(G, λ r) / (r max|x| / c + λ₂ t)."""

    eta0: float = 0.2
    l1: float = 1.0
    l2: float | None = None

    def weight(self, clock: Clock, state: State) -> float:
        gradients, r, largest = state
        excess = soft(gradients, self.l1 * r)
        eta, t = self.eta0 * clock.unit, clock.t - 1.0
        return -ratio(eta * excess, curvature(self.l2, r * largest, eta * t))

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        gradients, r, largest = state
        if stays_out(clock, gradients, self.l1 * r):
            return state
        return gradients + g, math.sqrt(r * r + g * g), max(largest, abs(x))

    def steps_together(self) -> bool:
        return True

    def is_shift_free(self) -> bool:
        return True
