"""Truncated gradient and rounding (L2, L3): every K rounds small weights are lowered or zeroed.

Lazy form: between rounds s and t there were floor(t/K) - floor(s/K) truncations, on one schedule
for all features. (L's own per-feature count, floor((t - s)/K), is an approximation.)
"""

import math
from typing import NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.rules.proximal import proximal_time, shrink
from rarefy.rules.rule_protocol import State, rule


@helper
def multiples_between(every: float, after: float, until: float) -> float:
    """How many multiples of `every` lie in after+1 ... until."""
    return math.floor(until / every) - math.floor(after / every)


@rule("w", "last")
class TruncatedGradient(NamedTuple):
    """w ← w − η g; every K rounds, if |w| ≤ θ: w ← soft(w, η K λ) / (1 + η K λ₂).

    The step η is constant.
    """

    l1: float = 3e-4
    l2: float | None = None
    truncate_every: float = 10.0
    threshold: float = math.inf

    def weight(self, clock: Clock, state: State) -> float:
        w, last = state
        times = multiples_between(self.truncate_every, last, clock.t - 1.0)
        return self.truncated(w, times, clock.eta)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w = self.weight(clock, state) - clock.eta * g
        now = multiples_between(self.truncate_every, clock.t - 1.0, clock.t)
        return self.truncated(w, now, clock.eta), clock.t

    def truncated(self, w: float, times: float, eta: float) -> float:
        if times == 0.0 or abs(w) > self.threshold:
            return w
        passed = times * proximal_time(self.l2, eta * self.truncate_every)
        return shrink(w, self.l1, self.l2, passed)

    def forgets_at_zero(self) -> bool:
        return True

    def steps_together(self) -> bool:
        return True


@rule("w", "last")
class Rounding(NamedTuple):
    """w ← w - η_t g; every K rounds, if |w| < θ: w ← 0."""

    truncate_every: float = 10.0
    threshold: float = 1e-3

    def weight(self, clock: Clock, state: State) -> float:
        w, last = state
        return self.rounded(w, multiples_between(self.truncate_every, last, clock.t - 1.0))

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w = self.weight(clock, state) - clock.eta * g
        return self.rounded(
            w, multiples_between(self.truncate_every, clock.t - 1.0, clock.t)
        ), clock.t

    def rounded(self, w: float, times: float) -> float:
        return 0.0 if times > 0.0 and abs(w) < self.threshold else w

    def forgets_at_zero(self) -> bool:
        return True
