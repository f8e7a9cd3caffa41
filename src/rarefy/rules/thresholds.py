"""Gradient descent and dual averaging within an L1 ball or a simplex (T2.4, T2.22 with a set W).

Both projections lower weights by a threshold θ that is common to all, and cut them at zero. θ is
where the sum of what is left, which is convex and falls with θ, is R. Newton's method finds it from
the left in a few rounds, in each of which fewer weights are left, and stops when none was cut
(Michelot 1986; Duchi et al. 2008 has the sets). Every round of it is a pass over all coordinates:
an example that leaves the set costs as much as there are features.

`passes` counts these passes, and is 0 between examples. The simplex, as that of exponentiated
gradient, is of the features that have had a subgradient so far. The intercept is not projected.
"""

import math
from typing import NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock, compensated_add
from rarefy.rules.dual_averaging import Da
from rarefy.rules.ogd import Ogd
from rarefy.rules.proximal import soft
from rarefy.rules.rule_protocol import State, rule


@helper
def indicator(is_so: bool) -> float:
    return 1.0 if is_so else 0.0


@helper
def is_settled(left: float, left_before: float, passes: float) -> bool:
    """Whether a pass has cut no more weights; from the second on, they can only become fewer."""
    return left == left_before or (passes > 2.0 and left > left_before)


@rule("w", common=("norm", "lost", "theta", "left", "passes"), step_sums=("norm", "left"))
class OgdInL1Ball(NamedTuple):
    """w ← w - η_t g; if |w|₁ > R: w ← soft(w, θ) with |w|₁ = R. Each pass writes its part of θ."""

    radius: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        return state[0]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] - clock.eta * g,)

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> State:
        return abs(new[0]) - abs(old[0]), indicator(new[0] != 0.0)

    def conclude(self, clock: Clock, sums: State) -> State:
        norm, lost, _, left, passes = clock.common
        if passes == 0.0:
            norm, lost = compensated_add(norm, lost, sums[0])
            return norm, lost, 0.0, 0.0, indicator(norm > self.radius)
        norm = sums[0]
        if is_settled(sums[1], left, passes) or norm <= self.radius:
            return min(norm, self.radius), 0.0, 0.0, 0.0, 0.0
        return norm, 0.0, (norm - self.radius) / sums[1], sums[1], passes + 1.0

    def is_worn(self, clock: Clock) -> bool:
        return clock.common[4] > 0.0

    def renewed(self, clock: Clock, state: State) -> State:
        return (soft(state[0], clock.common[2]),)

    def forgets_at_zero(self) -> bool:
        return True

    def on_intercept(self) -> Ogd:
        return Ogd()


@rule("w", "seen", common=("theta", "left", "passes"), step_sums=("sum", "left"))
class OgdInSimplex(NamedTuple):
    """w ← w - η_t g; w ← max(w - θ, 0) with Σ w = R. Each pass writes its part of θ.

    The first part is that of all features, and may be negative; those after it are not.
    """

    radius: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        return state[0]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return state[0] - clock.eta * g, 1.0

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> State:
        is_left = new[1] if clock.common[2] <= 1.0 else indicator(new[0] > 0.0)
        return new[0], is_left

    def conclude(self, clock: Clock, sums: State) -> State:
        _, left, passes = clock.common
        if passes == 0.0:
            return 0.0, 0.0, indicator(sums[1] > 0.0)
        if is_settled(sums[1], left, passes):
            return 0.0, 0.0, 0.0
        return (sums[0] - self.radius) / sums[1], sums[1], passes + 1.0

    def is_worn(self, clock: Clock) -> bool:
        return clock.common[2] > 0.0

    def renewed(self, clock: Clock, state: State) -> State:
        w, seen = state
        if clock.common[2] <= 1.0 or seen == 0.0:
            return state
        return max(w - clock.common[0], 0.0), seen

    def on_intercept(self) -> Ogd:
        return Ogd()


@rule("G", common=("norm", "lost", "theta", "left", "passes"), step_sums=("norm", "left"))
class DaInL1Ball(NamedTuple):
    """w = -η_t soft(G, θ), with |w|₁ = R, or θ = 0 if that is less. θ is sought from the last."""

    radius: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        return -clock.eta_before * soft(state[0], clock.common[2])

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] + g,)

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> State:
        if clock.common[4] == 0.0:
            return abs(new[0]) - abs(old[0]), 0.0
        is_left = indicator(abs(new[0]) > clock.common[2])
        return is_left * abs(new[0]), is_left

    def conclude(self, clock: Clock, sums: State) -> State:
        norm, lost, theta, left, passes = clock.common
        limit = self.radius / clock.eta
        if passes == 0.0:
            norm, lost = compensated_add(norm, lost, sums[0])
            return (norm, lost, theta, 0.0, 1.0) if norm > limit else (norm, lost, 0.0, 0.0, 0.0)
        if sums[1] == 0.0 and theta > 0.0:
            return norm, lost, 0.0, 0.0, 1.0
        theta = max(sums[0] - limit, 0.0) / max(sums[1], 1.0)
        if is_settled(sums[1], left, passes):
            return norm, lost, theta, 0.0, 0.0
        return norm, lost, theta, sums[1], passes + 1.0

    def is_worn(self, clock: Clock) -> bool:
        return clock.common[4] > 0.0

    def on_intercept(self) -> Da:
        return Da()


@rule("G", "seen", common=("theta", "left", "passes"), step_sums=("sum", "left"))
class DaInSimplex(NamedTuple):
    """w = η_t max(-G - θ, 0) with Σ w = R. θ is sought from the last."""

    radius: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        return state[1] * clock.eta_before * max(-state[0] - clock.common[0], 0.0)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return state[0] + g, 1.0

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> State:
        is_left = indicator(new[1] > 0.0 and -new[0] > clock.common[0])
        return -is_left * new[0], is_left

    def conclude(self, clock: Clock, sums: State) -> State:
        theta, left, passes = clock.common
        if passes == 0.0:
            return theta, 0.0, 1.0
        if sums[1] == 0.0:
            return (0.0, 0.0, 0.0) if theta == -math.inf else (-math.inf, 0.0, 1.0)
        theta = (sums[0] - self.radius / clock.eta) / sums[1]
        return (
            (theta, 0.0, 0.0)
            if is_settled(sums[1], left, passes)
            else (theta, sums[1], passes + 1.0)
        )

    def is_worn(self, clock: Clock) -> bool:
        return clock.common[2] > 0.0

    def on_intercept(self) -> Da:
        return Da()
