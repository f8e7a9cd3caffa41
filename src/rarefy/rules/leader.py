"""Follow the proximally regularised leader: FTPRL (T4.11), feature-aware FTPFRL (T4.45-4.50).

B ← B + (1/η_t - 1/η_{t-1}) w;  w = soft(B - G, λ R) / (1/η_t + λ₂ t), with R = t for the plain
rule. `z` is B - G.

The thesis leaves it open whether a lazy form exists. It does. Let a = |z| - λ R, so that
|w| = a / D_t with D_t = 1/η_t + λ₂ t. In a round without a subgradient

    a ← |w| (D_t - λ₂) - λ r,   hence   |w| ← |w| (1 - λ₂/D_t) - λ r / D_t

as long as that is positive: without l2, |w| falls by λ r η_t, just as in FOBOS; with it,
|w| + λ r/λ₂ shrinks by the factor 1 - λ₂/D_t. So `shrink` gives w at any round, and
z = sgn(w) (|w| D_t + λ R_t). If |w| reaches zero in round c, then
z_c = sgn(w) (|w_{c-1}| (D_c - λ₂) - λ r + λ R_c), and z rests there, since R only grows.

Without any penalty z = w/η_t, and the leader is gradient descent: so it is on the intercept.
"""

import math
from typing import NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock, decay_between
from rarefy.rules.ogd import Ogd
from rarefy.rules.past_sums import falling_by_steps
from rarefy.rules.penalty_norm import FeatureAware, Intensity
from rarefy.rules.proximal import curvature, passed_after, passed_before, shrink, soft
from rarefy.rules.rule_protocol import State, rule


@helper
def leader_decay(l2: float | None, t: float, eta: float) -> float:
    return 0.0 if l2 is None else -math.log1p(-l2 / (1.0 / eta + l2 * t))


@helper
def needed_time(w: float, l1: float, l2: float | None) -> float:
    """How much time has to pass, on the scale of `shrink`, until the weight is zero."""
    return abs(w) / l1 if l2 is None else math.log1p(abs(w) * l2 / l1)


@helper
def passed_between(
    self: "Ftprl | Ftpfrl", l2: float | None, clock: Clock, after: float, until: float
) -> float:
    """The time, on that scale, of the rounds after+1 ... until."""
    if l2 is None:
        return float(clock.schedule.total(until) - clock.schedule.total(after))
    return decay_between(self, clock.schedule, after, until)


@helper
def pace(l2: float | None, clock: Clock, t: float) -> float:
    """The time of round t alone."""
    eta = clock.schedule.eta(t)
    return eta if l2 is None else leader_decay(l2, t, eta)


@helper
def truncation_round(
    self: "Ftprl | Ftpfrl", clock: Clock, w: float, l1: float, last: float
) -> tuple[float, float]:
    """The first round after `last`, before clock.t, in which |w| is zero, and the time until then.

    Passed time is a concave function of the round, so Newton's steps from the left never overshoot;
    the last ones go round by round.
    """
    needed = needed_time(w, l1, self.l2)
    c = last + 1.0
    passed = pace(self.l2, clock, c)
    while passed < needed and c < clock.t - 1.0:
        newton = math.floor(c + (needed - passed) / pace(self.l2, clock, c))
        c = min(max(c + 1.0, newton), clock.t - 1.0)
        passed = passed_between(self, self.l2, clock, last, c)
    return c, passed


@helper
def leader_at_truncation(
    self: "Ftprl | Ftpfrl", clock: Clock, w: float, last: float, intensities: float, r: float
) -> float:
    """z in the round in which the weight became zero, where it rests."""
    l1 = self.l1 * r
    c, passed = truncation_round(self, clock, w, l1, last)
    w_before = shrink(w, l1, self.l2, passed - pace(self.l2, clock, c))
    a = abs(w_before) * curvature(self.l2, 1.0 / clock.schedule.eta(c), c - 1.0) - l1
    return math.copysign(min(a, 0.0) + self.l1 * (intensities + (c - last) * r), w)


@rule("w", "since", "z", "last")
class Ftprl(NamedTuple):
    """w = soft(B - G, λ t) / (1/η_t + λ₂ t)."""

    l1: float = 3e-4
    l2: float | None = None

    def weight(self, clock: Clock, state: State) -> float:
        return shrink(state[0], self.l1, self.l2, passed_before(clock, self.l2) - state[1])

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w, _, z, last = state
        w_now = self.weight(clock, state)
        t = clock.t - 1.0
        if w_now != 0.0:
            a = abs(w_now) * curvature(self.l2, 1.0 / clock.eta_before, t)
            z = math.copysign(a + self.l1 * t, w_now)
        elif w != 0.0:
            z = leader_at_truncation(self, clock, w, last, last, 1.0)
        z += (1.0 / clock.eta - 1.0 / clock.eta_before) * w_now - g
        w = soft(z, self.l1 * clock.t) / curvature(self.l2, 1.0 / clock.eta, clock.t)
        return w, passed_after(clock, self.l2), z, clock.t

    def log_decay(self, t: float, eta: float) -> float:
        return leader_decay(self.l2, t, eta)

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        return falling_by_steps(clock.schedule, state[0], self.l1, after, until)

    def on_intercept(self) -> Ogd:
        return Ogd()


@rule("w", "since", "z", "last", "R", "r", like=FeatureAware)
class Ftpfrl(NamedTuple):
    """w = soft(B - G, λ R) / (1/η_t + λ₂ t)."""

    l1: float = 3e-4
    l2: float | None = None
    intensity: Intensity = Intensity()

    def weight(self, clock: Clock, state: State) -> float:
        w, since, _, _, _, r = state
        return shrink(w, self.l1 * r, self.l2, passed_before(clock, self.l2) - since)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w, _, z, last, intensities, r = state
        w_now = self.weight(clock, state)
        t = clock.t - 1.0
        intensities_now = intensities + (t - last) * r
        if w_now != 0.0:
            a = abs(w_now) * curvature(self.l2, 1.0 / clock.eta_before, t)
            z = math.copysign(a + self.l1 * intensities_now, w_now)
        elif w != 0.0:
            z = leader_at_truncation(self, clock, w, last, intensities, r)
        z += (1.0 / clock.eta - 1.0 / clock.eta_before) * w_now - g
        r = self.intensity.grow(r, g, x, clock.eta)
        intensities_now += r
        w = soft(z, self.l1 * intensities_now) / curvature(self.l2, 1.0 / clock.eta, clock.t)
        return w, passed_after(clock, self.l2), z, clock.t, intensities_now, r

    def log_decay(self, t: float, eta: float) -> float:
        return leader_decay(self.l2, t, eta)

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        w, _, _, _, _, r = state
        return falling_by_steps(clock.schedule, w, self.l1 * r, after, until)

    def on_intercept(self) -> Ogd:
        return Ogd()
