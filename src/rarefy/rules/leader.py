"""Follow the proximally regularised leader: FTPRL (T4.11), feature-aware FTPFRL (T4.45-4.50).

B ← B + (1/η_t - 1/η_{t-1}) w;  w = soft(B - G, λ R) / (1/η_t + λ₂ t), with R = t
for the plain rule. `z` is B - G.

The thesis leaves it open whether a lazy form exists. It does. Let a = |z| - λ R, so that
|w| = a / D_t with D_t = 1/η_t + λ₂ t. In a round without a subgradient

    a ← |w| (D_t - λ₂) - λ r,   hence   |w| ← |w| (1 - λ₂/D_t) - λ r / D_t

as long as that is positive: without l2, |w| falls by λ r η_t, just as in FOBOS; with it,
|w| + λ r/λ₂ shrinks by the factor 1 - λ₂/D_t. So `shrink` gives w at any round, and
z = sgn(w) (|w| D_t + λ R_t). If |w| reaches zero in round c, then
z_c = sgn(w) (|w_{c-1}| (D_c - λ₂) - λ r + λ R_c), and z rests there, since R only grows.
"""

import math
from typing import NamedTuple

from rarefy.clock import Clock, decay_between
from rarefy.intensity import Basis, grow_intensity
from rarefy.jit import helper
from rarefy.proximal import shrink, soft
from rarefy.rules.base import State, rule
from rarefy.rules.fobos import passed_after, passed_before


@helper
def log_decay(l2: float, t: float, eta: float) -> float:
    return -math.log1p(-l2 / (1.0 / eta + l2 * t))


@helper
def passed_between(self: "Ftprl | Ftpfrl", clock: Clock, after: float, until: float) -> float:
    """Passed time, on the scale of `shrink`, over the rounds after+1 ... until."""
    if self.l2 == 0.0:
        return clock.schedule.total(until) - clock.schedule.total(after)
    return decay_between(self, clock.schedule, after, until)


@helper
def rate(self: "Ftprl | Ftpfrl", clock: Clock, t: float) -> float:
    eta = clock.schedule.eta(t)
    return eta if self.l2 == 0.0 else log_decay(self.l2, t, eta)  # type: ignore[no-any-return]


@helper
def round_of_truncation(
    self: "Ftprl | Ftpfrl", clock: Clock, w: float, l1: float, last: float
) -> float:
    """The first round after `last`, and before clock.t, in which |w| becomes zero.

    The passed time is a concave function of the round, so Newton's steps from the left never
    overshoot; the last ones go round by round.
    """
    needed = abs(w) / l1 if self.l2 == 0.0 else math.log1p(abs(w) * self.l2 / l1)
    c = last + 1.0
    while c < clock.t - 1.0:
        missing = needed - passed_between(self, clock, last, c)
        if missing <= 0.0:
            break
        c = min(max(c + 1.0, math.floor(c + missing / rate(self, clock, c))), clock.t - 1.0)
    return c


@helper
def leader_at_truncation(
    self: "Ftprl | Ftpfrl",
    clock: Clock,
    w: float,
    l1: float,
    last: float,
    intensities: float,
    r: float,
) -> float:
    """z at the round in which the lazy weight became zero, where it rests."""
    c = round_of_truncation(self, clock, w, l1, last)
    w_before = abs(shrink(w, l1, self.l2, passed_between(self, clock, last, c - 1.0)))
    eta = clock.schedule.eta(c)
    a = min(w_before * (1.0 / eta + self.l2 * (c - 1.0)) - l1, 0.0)
    return math.copysign(a + self.l1 * (intensities + (c - last) * r), w)


@rule("w", "since", "z", "last")
class Ftprl(NamedTuple):
    """w = soft(B - G, λ t) / (1/η_t + λ₂ t)."""

    l1: float = 1e-5
    l2: float = 0.0

    def weight(self, clock: Clock, state: State) -> float:
        return shrink(state[0], self.l1, self.l2, passed_before(clock, self.l2) - state[1])

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w, _, z, last = state
        w_now = self.weight(clock, state)
        t = clock.t - 1.0
        if w_now != 0.0:
            a = abs(w_now) * (1.0 / clock.eta_before + self.l2 * t)
            z = math.copysign(a + self.l1 * t, w_now)
        elif w != 0.0:
            z = leader_at_truncation(self, clock, w, self.l1, last, last, 1.0)
        z += (1.0 / clock.eta - 1.0 / clock.eta_before) * w_now - g
        w = soft(z, self.l1 * clock.t) / (1.0 / clock.eta + self.l2 * clock.t)
        return w, passed_after(clock, self.l2), z, clock.t

    def log_decay(self, t: float, eta: float) -> float:
        return log_decay(self.l2, t, eta)


@rule("w", "since", "z", "last", "R", "r")
class Ftpfrl(NamedTuple):
    """w = soft(B - G, λ R) / (1/η_t + λ₂ t)."""

    l1: float = 1e-5
    l2: float = 0.0
    q: float = math.inf
    basis: Basis = Basis.GRADIENT
    cap: float = 1e6

    def weight(self, clock: Clock, state: State) -> float:
        return shrink(
            state[0], self.l1 * state[5], self.l2, passed_before(clock, self.l2) - state[1]
        )

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w, _, z, last, intensities, r = state
        w_now = self.weight(clock, state)
        t = clock.t - 1.0
        intensities_now = intensities + (t - last) * r
        if w_now != 0.0:
            a = abs(w_now) * (1.0 / clock.eta_before + self.l2 * t)
            z = math.copysign(a + self.l1 * intensities_now, w_now)
        elif w != 0.0:
            z = leader_at_truncation(self, clock, w, self.l1 * r, last, intensities, r)
        z += (1.0 / clock.eta - 1.0 / clock.eta_before) * w_now - g
        r = grow_intensity(r, g, x, clock.eta, self.q, self.basis, self.cap)
        intensities_now += r
        w = soft(z, self.l1 * intensities_now) / (1.0 / clock.eta + self.l2 * clock.t)
        return w, passed_after(clock, self.l2), z, clock.t, intensities_now, r

    def log_decay(self, t: float, eta: float) -> float:
        return log_decay(self.l2, t, eta)

    def steps_without_gradient(self) -> bool:
        return self.basis == Basis.FEATURE
