"""The cumulative penalty of FOBOS and FR-COMID (S13-14, T4.25-4.26).

A feature is penalised only in rounds in which it occurs, and then with all that it owes: U_t =
λ S_t is the penalty that any weight could have received so far, `paid` (k) what this one has
received. With r = 1 it is the method that scikit-learn's SGD implements as penalty='l1'.

The papers have no l2 here. It acts in every round, w ← (w - η_t g) / (1 + η_t λ₂), before the
cumulative step.
"""

import math
from typing import NamedTuple

from rarefy.clock import Clock
from rarefy.intensity import Intensity
from rarefy.jit import helper
from rarefy.proximal import penalise, proximal_decay, soft
from rarefy.rules.base import State, rule


@helper
def decayed(w: float, l2: float | None, clock: Clock, since: float) -> float:
    """The weight after the rounds in which only l2 acted on it."""
    return w if l2 is None else w * math.exp(since - clock.decay_before)


@helper
def pay(w: float, due: float, paid: float) -> tuple[float, float]:
    """max(0, w - (due + k)) or min(0, w + (due - k)), by the sign of w; and the new k."""
    left = soft(w, due + math.copysign(1.0, w) * paid)
    return left, paid + (left - w)


@rule("w", "paid", "since")
class CumulativeFobos(NamedTuple):
    """w' = w - η_t g, then |w'| is lowered until λ S_t is paid in all."""

    l1: float = 3e-4
    l2: float | None = None

    def weight(self, clock: Clock, state: State) -> float:
        return decayed(state[0], self.l2, clock, state[2])

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w = penalise(self.weight(clock, state) - clock.eta * g, 0.0, self.l2, clock.eta)
        w, paid = pay(w, self.l1 * clock.total, state[1])
        return w, paid, clock.decay

    def log_decay(self, t: float, eta: float) -> float:
        return proximal_decay(self.l2, eta)

    def steps_without_gradient(self) -> bool:
        return True


@rule("w", "paid", "since", "r")
class CumulativeFrComid(NamedTuple):
    """The same with r_t λ S_t for λ S_t."""

    l1: float = 3e-4
    l2: float | None = None
    intensity: Intensity = Intensity()

    def weight(self, clock: Clock, state: State) -> float:
        return decayed(state[0], self.l2, clock, state[2])

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        r = self.intensity.grow(state[3], g, x, clock.eta)
        w = penalise(self.weight(clock, state) - clock.eta * g, 0.0, self.l2, clock.eta)
        w, paid = pay(w, r * self.l1 * clock.total, state[1])
        return w, paid, clock.decay, r

    def log_decay(self, t: float, eta: float) -> float:
        return proximal_decay(self.l2, eta)

    def steps_without_gradient(self) -> bool:
        return True
