"""Mirror descent (T2.10): exponentiated gradient (T2.20-2.21), and p-norm algorithms.

θ, what gradient descent would have for a weight, is seen through a mirror whose width is a sum
over all coordinates. The steps of a row change it by little; it is a compensated sum, and off by
2^-52 times `moved`, the sum of all changes, at most. Where it has fallen so far below them that
this would matter, it is counted again over all coordinates.

Weights of the simplex are bounded whatever θ is, and so nothing there can diverge: where one step
is longer than exponentials reach, the sum is counted again, too, at another scale.

The simplex is that of the features that have had a subgradient so far, however many there will be:
a feature enters it with e^0. The intercept is not part of it, and descends by itself.
"""

import math
from typing import Any, NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock, compensated_add
from rarefy.rules.ogd import Ogd
from rarefy.rules.rule_protocol import State, rule

MOST_MOVED = 2.0**20  # as many times the sum itself: a relative error of 2^-32
WIDEST = 1e8  # a sum of exponentials beyond this, or below its inverse, is rescaled
HUGEST = 1e200  # one beyond this, or below its inverse, says nothing: its scale is sought
LARGEST_EXPONENT = 600.0
HEATED_BY, COOLED_BY = 1024.0, 16.0  # the latter to the power ln d is below HUGEST, for d features
HOTTEST = 2.0**250  # beyond any θ


@helper
def exponential(clock: Clock, theta: float) -> float:
    """e^(θ - shift); its root by the heat, while the scale is sought."""
    heat, shift = clock.common[3], clock.common[4]
    return math.exp(min((theta - shift) / max(heat, 1.0), LARGEST_EXPONENT))


@helper
def rescaled(total: float, lost: float, moved: float, shift: float) -> State:
    """A sum of exponentials as e^shift times a number near 1."""
    if 1.0 / WIDEST < total < WIDEST or not total > 0.0:
        return total, lost, moved, 0.0, shift
    return 1.0, lost / total, moved / total, 0.0, shift + math.log(total)


@helper
def with_exponentials(clock: Clock, sums: State) -> State:
    """The sum of exponentials with what it has changed by.

    Where steps are so long that it has left the range of floats, its scale is sought: h times the
    logarithm of Σ e^((θ - shift)/h) is the largest θ, or more by h ln d at most. The heat h rises
    until that can be summed up, and falls again, while the shift comes nearer.
    """
    total, lost, moved, heat, shift = clock.common
    if heat == 0.0:
        total, lost = compensated_add(total, lost, sums[0])
        if not total < HUGEST:
            return 0.0, 0.0, 0.0, HEATED_BY, shift
        return rescaled(total, lost, moved + sums[1], shift)
    total = sums[0]
    if 1.0 / HUGEST < total < HUGEST:
        if heat == 1.0:
            return rescaled(total, 0.0, sums[1], shift)
        return 0.0, 0.0, 0.0, max(heat / COOLED_BY, 1.0), shift + heat * math.log(total)
    return 0.0, 0.0, 0.0, (heat * HEATED_BY if heat < HOTTEST else 0.0), shift


@helper
def is_worn_out(clock: Clock) -> bool:
    return clock.common[3] > 0.0 or clock.common[2] > MOST_MOVED * clock.common[0]


@helper
def without_exponentials(clock: Clock) -> State:
    """Before they are summed up over all features."""
    return 0.0, 0.0, 0.0, max(clock.common[3], 1.0), clock.common[4]


@helper
def share_of(clock: Clock, exponential: float) -> float:
    """What an exponential, which has e^-shift in it, is of the sum."""
    return exponential / max(clock.common[0], 1e-300)


class _Methods:
    """What rules with exponentials have in common."""

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return state[0] - clock.eta * g, 1.0

    def conclude(self, clock: Clock, sums: State) -> State:
        return with_exponentials(clock, sums)

    def is_worn(self, clock: Clock) -> bool:
        return is_worn_out(clock)

    def cleared(self, clock: Clock) -> State:
        return without_exponentials(clock)

    def on_intercept(self) -> Ogd:
        return Ogd()


def exponentiated(cls: Any) -> Any:
    """Make a rule of a NamedTuple that has `weight` and `step_terms`."""
    of_all = ("total", "lost", "moved", "heat", "shift")
    steps = ("change", "size")
    return rule("theta", "seen", common=of_all, step_sums=steps, like=_Methods)(cls)


@exponentiated
class Eg(NamedTuple):
    """θ ← θ - η_t g; w = R e^θ / Σ e^θ: at least 0, and R in all."""

    radius: float = 1.0

    def exponential(self, clock: Clock, state: State) -> float:
        return exponential(clock, state[0]) if state[1] > 0.0 else 0.0

    def weight(self, clock: Clock, state: State) -> float:
        return self.radius * share_of(clock, self.exponential(clock, state))

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> State:
        change = self.exponential(clock, new) - self.exponential(clock, old)
        return change, abs(change)


@exponentiated
class EgSigned(NamedTuple):
    """θ ← θ - η_t g; w = R (e^θ - e^-θ) / Σ (e^θ + e^-θ): R in all, whatever the signs (EG±)."""

    radius: float = 1.0

    def exponentials(self, clock: Clock, state: State) -> tuple[float, float]:
        theta, seen = state
        if seen == 0.0:
            return 0.0, 0.0
        return exponential(clock, theta), exponential(clock, -theta)

    def weight(self, clock: Clock, state: State) -> float:
        up, down = self.exponentials(clock, state)
        return self.radius * share_of(clock, up - down)

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> State:
        up, down = self.exponentials(clock, new)
        up_before, down_before = self.exponentials(clock, old)
        up, down = up - up_before, down - down_before
        return up + down, abs(up) + abs(down)


@rule("theta", common=("total", "lost", "moved"), step_sums=("change", "size"))
class PNorm(NamedTuple):
    """θ ← θ - η_t g; w = sgn(θ) |θ|^(p-1) / ‖θ‖_p^(p-2) (Grove, Littlestone and Schuurmans 2001).

    p = 2 is gradient descent; p = 2 ln d, for d features, comes near to EG±.
    """

    p: float = 10.0

    def weight(self, clock: Clock, state: State) -> float:
        norm = max(clock.common[0], 0.0) ** (1.0 / self.p)
        if norm == 0.0:
            return 0.0
        return math.copysign(norm * (abs(state[0]) / norm) ** (self.p - 1.0), state[0])

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] - clock.eta * g,)

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> State:
        change = abs(new[0]) ** self.p - abs(old[0]) ** self.p
        return change, abs(change)

    def conclude(self, clock: Clock, sums: State) -> State:
        total, lost, moved = clock.common
        total, lost = compensated_add(total, lost, sums[0])
        return total, lost, moved + sums[1]

    def is_worn(self, clock: Clock) -> bool:
        return clock.common[2] > MOST_MOVED * clock.common[0]

    def cleared(self, clock: Clock) -> State:
        return 0.0, 0.0, 0.0

    def on_intercept(self) -> Ogd:
        return Ogd()
