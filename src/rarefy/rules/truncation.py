"""Truncated gradient and rounding (L2, L3): every K rounds small weights are lowered or zeroed.

Lazy form: between rounds s and t there were floor(t/K) - floor(s/K) truncations, on one schedule
for all features. (L's own per-feature count, floor((t - s)/K), is an approximation.)
"""

import math
from typing import Any, NamedTuple

from rarefy.jit import compile_methods, helper
from rarefy.model.clock import Clock
from rarefy.model.sums import sum_until_zero
from rarefy.rules.past_sums import PolynomialShares, resting
from rarefy.rules.proximal import proximal_time, shrink
from rarefy.rules.rule_protocol import State, rule


@helper
def multiples_between(every: float, after: float, until: float) -> float:
    """How many multiples of `every` lie in after+1 ... until."""
    return math.floor(until / every) - math.floor(after / every)


@compile_methods
class Between(NamedTuple):
    """The weights of the K rounds after the k-th truncation since a coordinate occurred."""

    rule: Any
    shares: PolynomialShares
    w: float
    eta: float
    first: float  # the last round that is a multiple of K

    def at(self, k: float) -> float:
        begin, every = self.first + k * self.rule.truncate_every, self.rule.truncate_every
        share = self.shares.total(begin + every) - self.shares.total(begin)
        return share * self.rule.truncated(self.w, k, self.eta)  # type: ignore[no-any-return]


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

    def past_sum(
        self, shares: PolynomialShares, clock: Clock, state: State, after: float, until: float
    ) -> float:
        """With sums over whole blocks of K rounds, between which there are truncations."""
        w, every = state[0], self.truncate_every
        first = math.floor(after / every) * every
        n_blocks = multiples_between(every, after, until - 1.0)
        if n_blocks <= 0.0:  # less than zero: there are no rounds
            return resting(shares, w, after, until)
        last_block = first + n_blocks * every
        w_last = self.truncated(w, n_blocks, clock.eta)
        total = resting(shares, w, after, first + every)
        total += sum_until_zero(Between(self, shares, w, clock.eta, first), 0.0, n_blocks - 1.0)
        return total + resting(shares, w_last, last_block, until)

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
