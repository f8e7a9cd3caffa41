"""The cumulative penalty of FOBOS and FR-COMID (S13-14, T4.25-4.26).

A feature is penalised only in rounds in which it occurs, and then with all that it owes: U_t =
λ S_t is the penalty that any weight could have received so far, `paid` (k) what this one has
received. With r = 1 it is the method that scikit-learn's SGD implements as penalty='l1'.

The papers have no l2 here. It acts in every round, w ← (w - η_t g) / (1 + η_t λ₂),
before the cumulative step.
"""

import math
from typing import NamedTuple

from rarefy.clock import Clock
from rarefy.intensity import Basis, grow_intensity
from rarefy.jit import helper
from rarefy.proximal import soft
from rarefy.rules.base import State, rule


@helper
def decayed(clock: Clock, l2: float, w: float, since: float) -> float:
    return w if l2 == 0.0 else w * math.exp(since - clock.decay_before)


@helper
def pay(w: float, due: float, paid: float) -> tuple[float, float]:
    """Take from |w| what is due and not yet paid; `paid` is negative for what was taken."""
    left = soft(w, due + math.copysign(1.0, w) * paid)
    return left, paid + (left - w)


@rule("w", "paid", "since")
class CumulativeFobos(NamedTuple):
    """w' = w - η_t g, then |w'| is lowered until λ S_t is paid in all."""

    l1: float = 1e-5
    l2: float = 0.0

    def weight(self, clock: Clock, state: State) -> float:
        return decayed(clock, self.l2, state[0], state[2])

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w = (self.weight(clock, state) - clock.eta * g) / (1.0 + clock.eta * self.l2)
        w, paid = pay(w, self.l1 * clock.total, state[1])
        return w, paid, clock.decay

    def log_decay(self, t: float, eta: float) -> float:
        return math.log1p(self.l2 * eta)

    def steps_without_gradient(self) -> bool:
        return True


@rule("w", "paid", "since", "r")
class CumulativeFrComid(NamedTuple):
    """The same with r_t λ S_t for λ S_t."""

    l1: float = 1e-5
    l2: float = 0.0
    q: float = math.inf
    basis: Basis = Basis.GRADIENT
    cap: float = 1e6

    def weight(self, clock: Clock, state: State) -> float:
        return decayed(clock, self.l2, state[0], state[2])

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        r = grow_intensity(state[3], g, x, clock.eta, self.q, self.basis, self.cap)
        w = (self.weight(clock, state) - clock.eta * g) / (1.0 + clock.eta * self.l2)
        w, paid = pay(w, r * self.l1 * clock.total, state[1])
        return w, paid, clock.decay, r

    def log_decay(self, t: float, eta: float) -> float:
        return math.log1p(self.l2 * eta)

    def steps_without_gradient(self) -> bool:
        return True
