"""FOBOS, also SG-L1 and COMID (T4.5-4.8, H9), and feature-aware FR-COMID (T4.21, S6, H13).

Lazy form (S12, T4.24): while a coordinate is away, its weight only falls by λ r η a round, so
w_t = soft(w_s, λ r_s (S_t - S_s)); `since` is S_s. With l2 the same holds on the scale of the
clock's `decay`, and `since` is that.
"""

import math
from typing import NamedTuple

from rarefy.clock import Clock
from rarefy.intensity import Basis, grow_intensity
from rarefy.jit import helper
from rarefy.proximal import shrink, soft
from rarefy.rules.base import State, rule


@helper
def passed_after(clock: Clock, l2: float) -> float:
    return clock.total if l2 == 0.0 else clock.decay


@helper
def passed_before(clock: Clock, l2: float) -> float:
    return clock.total_before if l2 == 0.0 else clock.decay_before


@rule("w", "since")
class Fobos(NamedTuple):
    """w ← soft(w - η_t g, η_t λ) / (1 + η_t λ₂)."""

    l1: float = 1e-5
    l2: float = 0.0

    def weight(self, clock: Clock, state: State) -> float:
        w, since = state
        return shrink(w, self.l1, self.l2, passed_before(clock, self.l2) - since)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w = self.weight(clock, state) - clock.eta * g
        w = soft(w, clock.eta * self.l1) / (1.0 + clock.eta * self.l2)
        return w, passed_after(clock, self.l2)

    def log_decay(self, t: float, eta: float) -> float:
        return math.log1p(self.l2 * eta)


@rule("w", "since", "r")
class FrComid(NamedTuple):
    """w ← soft(w - η_t g, η_t λ r_t) / (1 + η_t λ₂)."""

    l1: float = 1e-5
    l2: float = 0.0
    q: float = math.inf
    basis: Basis = Basis.GRADIENT
    cap: float = 1e6

    def weight(self, clock: Clock, state: State) -> float:
        w, since, r = state
        return shrink(w, self.l1 * r, self.l2, passed_before(clock, self.l2) - since)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        r = grow_intensity(state[2], g, x, clock.eta, self.q, self.basis, self.cap)
        w = self.weight(clock, state) - clock.eta * g
        w = soft(w, clock.eta * self.l1 * r) / (1.0 + clock.eta * self.l2)
        return w, passed_after(clock, self.l2), r

    def log_decay(self, t: float, eta: float) -> float:
        return math.log1p(self.l2 * eta)

    def steps_without_gradient(self) -> bool:
        return self.basis == Basis.FEATURE
