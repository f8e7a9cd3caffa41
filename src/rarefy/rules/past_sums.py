"""Sums of the weights that a coordinate had in rounds in which it did not occur.

`after` is the last round in which it occurred, so that its state is of then; `until` the last round
whose weight, as it was used in that round, is in the sum.

Where all rounds count the same and there is no l2, the L1 rules have closed forms: sums over
rounds, steps, and rounds times steps until the weight is zero. Otherwise the sum is taken by its
integral (model/sums.py), which is as exact, and slower. Then a round may have another share in it
than others: a larger one for later rounds (polynomial decay, Shamir and Zhang 2013).
"""

import math
from typing import Any, NamedTuple

from rarefy.jit import compile_methods, helper
from rarefy.model.clock import Clock, earlier_round
from rarefy.model.sums import SMOOTH_FROM, sum_until_zero

State = tuple[float, ...]
_FEW = 4.0  # as many rounds are added up


@compile_methods
class PolynomialShares(NamedTuple):
    """Round t counts t (t + 1) ... (t + n - 1) / n!, about t^n; with n = 0, 1."""

    power: float

    def of(self, t: float) -> float:
        share = 1.0
        for k in range(int(self.power)):
            share *= (t + k) / (k + 1.0)
        return share

    def total(self, t: float) -> float:
        """Of the rounds 1 ... t: t (t + 1) ... (t + n) / (n + 1)!."""
        total = 1.0
        for k in range(int(self.power) + 1):
            total *= (t + k) / (k + 1.0)
        return total


@compile_methods
class PastWeight(NamedTuple):
    """The weight in a round since, times the round's share."""

    rule: Any
    shares: PolynomialShares
    clock: Clock
    state: State

    def at(self, t: float) -> float:
        clock = earlier_round(self.rule, self.clock, t)
        return self.shares.of(t) * self.rule.weight(clock, self.state)  # type: ignore[no-any-return]


@helper
def past_sum(
    rule: Any, shares: PolynomialShares, clock: Clock, state: State, after: float, until: float
) -> float:
    """The sum for any rule whose weights change smoothly while a coordinate is away."""
    if after == 0.0:  # it never occurred
        return 0.0
    if rule.rests():
        return resting(shares, rule.weight(clock, state), after, until)
    return sum_until_zero(PastWeight(rule, shares, clock, state), after, until)


@helper
def resting(shares: PolynomialShares, w: float, after: float, until: float) -> float:
    """The sum of a weight that stays as it is."""
    return (shares.total(until) - shares.total(after)) * w


@helper
def falling_by_rounds(w: float, fall: float, after: float, until: float) -> float:
    """The sum of a weight whose |w| falls by the same amount each round, until it is zero."""
    n = until - after
    if n * fall >= abs(w):
        n = min(n, math.ceil(abs(w) / max(fall, 1e-300)))
    return math.copysign(n * abs(w) - fall * 0.5 * n * (n - 1.0), w)


@helper
def falling_means(v: float, fall: float, after: float, until: float) -> float:
    """The sum of v/t over t = after ... until - 1; |v| falls by the same amount until it is zero.

    Σ (v - fall j) / (s + j) over j < n needs Σ 1/t, a logarithm with corrections (Euler-Maclaurin),
    and Σ j/(s + j), which is n - s Σ 1/t without what cancels out there.
    """
    if after == 0.0:  # it never occurred
        return 0.0
    v, n = abs(v), until - after
    if n * fall >= v:
        n = min(n, math.ceil(v / max(fall, 1e-300)))
    total = 0.0
    while n > 0.0 and (after < SMOOTH_FROM or n <= _FEW):
        total += v / after
        v, after, n = v - fall, after + 1.0, n - 1.0
    if n == 0.0:
        return total
    low = after - 0.5
    high = low + n
    share = n / low
    log = math.log1p(share)
    rest = share - log
    if share < 0.01:
        rest = (
            share
            * share
            * (0.5 - share * (1.0 / 3.0 - share * (0.25 - share * (0.2 - share / 6.0))))
        )
    below, above = 1.0 / (low * low), 1.0 / (high * high)
    correction = (above - below) / 24.0 - (above * above - below * below) * 7.0 / 960.0
    behind = low * rest - 0.5 * log - after * correction
    return total + v * (log + correction) - fall * behind


@helper
def falling_by_steps(schedule: Any, w: float, l1: float, after: float, until: float) -> float:
    """The sum of a weight whose |w| falls by l1 η_t in round t, until it is zero.

    Σ (S_u - S_s) over u = s ... e is (e + 1)(S_e - S_s) - (M_e - M_s), M being the moment.
    """
    if w == 0.0 or after >= until:
        return 0.0
    end, total = until - 1.0, schedule.total(after)
    fallen = schedule.total(end) - total
    if l1 * fallen >= abs(w):
        end, fallen = last_step_before(schedule, after, end, total, abs(w) / l1)
    moment = schedule.moment(end) - schedule.moment(after)
    lost = l1 * ((end + 1.0) * fallen - moment)
    return math.copysign((end + 1.0 - after) * abs(w) - lost, w)


@helper
def last_step_before(
    schedule: Any, after: float, end: float, total: float, most: float
) -> tuple[float, float]:
    """The last round e from `after` on with S_e - S_after < most, and that sum; `end` has more.

    The sum is a concave function of the round, so Newton's steps from the left never overshoot; the
    last ones go round by round.
    """
    c, sum_before, sum_now = after, 0.0, 0.0
    while sum_now < most and c < end:
        missing = (most - sum_now) / schedule.eta(c + 1.0)
        step = max(math.floor(missing), 1.0)
        c = min(c + step, end)
        sum_before, sum_now = sum_now, schedule.total(c) - total
        if sum_now >= most and step > 1.0:  # rounding: one less is before it
            c, sum_now = c - step, sum_before
            while sum_now < most:
                c += 1.0
                sum_before, sum_now = sum_now, schedule.total(c) - total
    if sum_now < most:
        return c, sum_now
    return c - 1.0, sum_before


@helper
def dual_average(
    schedule: Any, gradients: float, l1: float, ahead: float, after: float, until: float
) -> float:
    """The sum of η_u soft(G, l1 u - ahead) over u = after ... until - 1."""
    if after == 0.0:  # it never occurred
        return 0.0
    first, end = abs(gradients) + ahead, until - 1.0
    if l1 * end >= first:
        end = min(end, math.ceil(first / max(l1, 1e-300)) - 1.0)
    if end < after:
        return 0.0
    before = after - 1.0
    steps = schedule.total(end) - schedule.total(before)
    moment = schedule.moment(end) - schedule.moment(before)
    return math.copysign(first * steps - l1 * moment, gradients)
