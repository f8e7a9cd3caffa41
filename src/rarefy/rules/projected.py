"""Gradient descent and dual averaging within a ball or a box (T2.4, T2.22 with a set W).

The projection on a box acts on each coordinate by itself, and not at all on one that is away. That
on a ball multiplies all weights by the same number: they keep the logarithm of the product of these
as it was when they were written, `since`, so that nothing underflows. ‖w‖² is a compensated sum of
what steps change, and is set to R² by every projection. The intercept is not projected.
"""

import math
from typing import NamedTuple

from rarefy.model.clock import Clock, compensated_add
from rarefy.rules.dual_averaging import Da
from rarefy.rules.ogd import Ogd
from rarefy.rules.rule_protocol import State, rule


@rule("w")
class OgdInBox(NamedTuple):
    """w ← min(max(w - η_t g, -R), R)."""

    radius: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        return state[0]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (min(max(state[0] - clock.eta * g, -self.radius), self.radius),)

    def forgets_at_zero(self) -> bool:
        return True

    def on_intercept(self) -> Ogd:
        return Ogd()


@rule("w", "since", common=("squares", "lost", "shrunk"), step_sums=("growth",))
class OgdInBall(NamedTuple):
    """w ← w - η_t g; w ← w min(1, R/‖w‖)."""

    radius: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        return state[0] * math.exp(clock.common[2] - state[1])

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return self.weight(clock, state) - clock.eta * g, clock.common[2]

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> tuple[float]:
        before = self.weight(clock, old)
        return ((new[0] - before) * (new[0] + before),)

    def conclude(self, clock: Clock, sums: State) -> State:
        squares, lost, shrunk = clock.common
        squares, lost = compensated_add(squares, lost, sums[0])
        limit = self.radius * self.radius
        if squares > limit:
            return limit, 0.0, shrunk + 0.5 * math.log(limit / squares)
        return squares, lost, shrunk

    def on_intercept(self) -> Ogd:
        return Ogd()


@rule("G")
class DaInBox(NamedTuple):
    """w = min(max(-η_t G, -R), R)."""

    radius: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        return min(max(-clock.eta_before * state[0], -self.radius), self.radius)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] + g,)

    def on_intercept(self) -> Da:
        return Da()


@rule("G", common=("squares", "lost"), step_sums=("growth",))
class DaInBall(NamedTuple):
    """w = -G min(η_t, R/‖G‖)."""

    radius: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        norm = math.sqrt(max(clock.common[0], 0.0))
        return -state[0] * min(clock.eta_before, self.radius / max(norm, 1e-150))

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] + g,)

    def step_terms(self, clock: Clock, old: State, new: State, x: float) -> tuple[float]:
        return ((new[0] - old[0]) * (new[0] + old[0]),)

    def conclude(self, clock: Clock, sums: State) -> State:
        squares, lost = compensated_add(clock.common[0], clock.common[1], sums[0])
        return squares, lost

    def on_intercept(self) -> Da:
        return Da()
