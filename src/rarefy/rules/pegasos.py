"""Pegasos (T3.15-3.16): subgradient descent on the loss and λ₂/2 |w|², with steps 1/(λ₂ t).

w ← soft((1 - η λ₂) w - η g, η λ) with η = 1/(λ₂ t); λ = 0 in the paper. Times t, that is
v ← soft(v - g/λ₂, λ/λ₂) with v = t w: without l1, w is minus the mean of all subgradients over λ₂.

The projection on the ball of radius 1/√λ₂ (T3.18), which the paper calls optional, is left out.
Steps of 1/(λ₂ t) suit weights that are penalised; the intercept is not, and takes steps c/√t.

Lazy form: while a coordinate is away, |v| falls by λ/λ₂ a round."""

import math
from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.ogd import Ogd
from rarefy.rules.past_sums import falling_means
from rarefy.rules.proximal import soft
from rarefy.rules.rule_protocol import State, rule


@rule("v", "last")
class Pegasos(NamedTuple):
    """w = v/t; v ← soft(v - g/λ₂, λ/λ₂)."""

    l1: float = 0.0
    l2: float = 1e-4
    eta0: float = 1.0  # of the intercept

    def weight(self, clock: Clock, state: State) -> float:
        v, last = state
        t = clock.t - 1.0
        return soft(v, (t - last) * self.l1 / self.l2) / max(t, 1.0)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        v = self.weight(clock, state) * (clock.t - 1.0) - g / self.l2
        return soft(v, self.l1 / self.l2), clock.t

    def on_intercept(self) -> Ogd:
        return Ogd()

    def forgets_at_zero(self) -> bool:
        return True

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        v, last = state
        fall = self.l1 / self.l2
        left = soft(v, (after - last) * fall)
        return math.copysign(falling_means(left, fall, after, until), v)
