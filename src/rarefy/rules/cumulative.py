"""The cumulative penalty of FOBOS and FR-COMID (S13-14, T4.25-4.26).

A feature is penalised only in rounds in which it occurs, and then with all that it owes: U_t =
λ S_t is the penalty that any weight could have received so far, `paid` (k) what this one has
received. With r = 1 it is the method that scikit-learn's SGD implements as penalty='l1'.

The papers have no l2 here. The rules with it let it act in every round, w ← (w - η_t g) /
(1 + η_t λ₂), before the cumulative step; `since` is the clock's `decay` when a weight was written.
"""

import math
from typing import NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.rules.penalty_norm import Intensity
from rarefy.rules.proximal import proximal_decay, soft
from rarefy.rules.rule_protocol import State, rule


@helper
def pay(w: float, due: float, paid: float) -> tuple[float, float]:
    """max(0, w - (due + k)) or min(0, w + (due - k)), by the sign of w; and the new k."""
    left = soft(w, due + math.copysign(1.0, w) * paid)
    return left, paid + (left - w)


@helper
def faded(clock: Clock, state: State) -> float:
    """A weight after the l2 of the rounds since it was written."""
    return state[0] * math.exp(state[2] - clock.decay_before)


class _Cumulative:
    """What rules have in common whose weights only change in rounds in which they occur."""

    def weight(self, clock: Clock, state: State) -> float:
        return state[0]

    def steps_without_gradient(self) -> bool:
        return True

    def rests(self) -> bool:
        return True


class _Elastic(_Cumulative):
    """Those with l2, by which weights change in every round."""

    l2: float

    def weight(self, clock: Clock, state: State) -> float:
        return faded(clock, state)

    def log_decay(self, t: float, eta: float) -> float:
        return proximal_decay(self.l2, eta)

    def rests(self) -> bool:
        return False


@rule("w", "paid", like=_Cumulative)
class CumulativeFobos(NamedTuple):
    """w' = w - η_t g, then |w'| is lowered until λ S_t is paid in all."""

    l1: float = 3e-4

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w, paid = state
        return pay(w - clock.eta * g, self.l1 * clock.total, paid)


@rule("w", "paid", "r", like=_Cumulative)
class CumulativeFrComid(NamedTuple):
    """w' = w - η_t g, then |w'| is lowered until r_t λ S_t is paid in all."""

    l1: float = 3e-4
    intensity: Intensity = Intensity()

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w, paid, r = state
        r = self.intensity.grow(r, g, x, clock.eta)
        w, paid = pay(w - clock.eta * g, r * self.l1 * clock.total, paid)
        return w, paid, r


@rule("w", "paid", "since", like=_Elastic)
class ElasticCumulativeFobos(NamedTuple):
    """The cumulative penalty with l2."""

    l1: float = 3e-4
    l2: float = 0.0

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w = (faded(clock, state) - clock.eta * g) / (1.0 + clock.eta * self.l2)
        w, paid = pay(w, self.l1 * clock.total, state[1])
        return w, paid, clock.decay


@rule("w", "paid", "since", "r", like=_Elastic)
class ElasticCumulativeFrComid(NamedTuple):
    """The feature-aware cumulative penalty with l2."""

    l1: float = 3e-4
    l2: float = 0.0
    intensity: Intensity = Intensity()

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        r = self.intensity.grow(state[3], g, x, clock.eta)
        w = (faded(clock, state) - clock.eta * g) / (1.0 + clock.eta * self.l2)
        w, paid = pay(w, r * self.l1 * clock.total, state[1])
        return w, paid, clock.decay, r
