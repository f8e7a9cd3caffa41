"""Passive-aggressive learning (Crammer et al. 2006; T2.5.2).

A row that has its margin leaves the weights as they are; else they change as little as it takes to
give it one. With ℓ = [1 - y⟨w, x⟩]+ the step is w ← w + τ y x, where τ is

    pa      ℓ / ‖x‖²
    pa1     min(C, ℓ / ‖x‖²)
    pa2     ℓ / (‖x‖² + 1/(2C))

Of several classes, ℓ is that of the difference of two scores, whose row has the norm √2 ‖x‖. An
example of weight h has C h for C; pa, whose C is infinite, knows no weights.

In regression ℓ is the epsilon-insensitive loss, [|y - ⟨w, x⟩| - ε]+, and the sign of y - ⟨w, x⟩ is
in the place of y.
"""

import math
from typing import Any, NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.model.example import Example
from rarefy.rules.rule_protocol import State, rule


@helper
def shortfall(example: Example) -> float:
    """ℓ, by how much the margin is below 1."""
    return max(0.0, 1.0 - example.y * example.score)


@helper
def towards_target(tau: float, example: Example) -> float:
    """τ with the sign of the loss's slope; there is none where there is no loss."""
    return math.copysign(tau, example.slope)


class AdditiveWeight:
    """What rules have in common whose state is the weight, and whose slope is the whole step."""

    def weight(self, clock: Clock, state: State) -> float:
        return state[0]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] - g,)

    def forgets_at_zero(self) -> bool:
        return True

    def rests(self) -> bool:
        return True


class _Methods(AdditiveWeight):
    """What all of them have in common, those for classes with a `tau` of their own."""

    tau: Any

    def row_terms(self, clock: Clock, state: State, x: float) -> State:
        return (x * x,)

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        return clock.common, -example.y * self.tau(shortfall(example), example)


def passive_aggressive(cls: Any) -> Any:
    """Make a rule of a NamedTuple that has only `tau`, or a `meet` of its own."""
    return rule("w", row_sums=("squares",), by_margin=True, like=_Methods)(cls)


@passive_aggressive
class Pa(NamedTuple):
    """w ← w + y x ℓ/‖x‖²."""

    def tau(self, missing: float, example: Example) -> float:
        (norm,) = example.sums
        return missing / norm if norm > 0.0 else 0.0


@passive_aggressive
class Pa1(NamedTuple):
    """w ← w + y x min(C, ℓ/‖x‖²)."""

    aggressiveness: float = 1.0

    def tau(self, missing: float, example: Example) -> float:
        (norm,) = example.sums
        most = self.aggressiveness * example.weight
        return min(most, missing / norm) if norm > 0.0 else 0.0


@passive_aggressive
class Pa2(NamedTuple):
    """w ← w + y x ℓ/(‖x‖² + 1/(2C))."""

    aggressiveness: float = 1.0

    def tau(self, missing: float, example: Example) -> float:
        (norm,) = example.sums
        slack = 0.5 / (self.aggressiveness * example.weight)
        return missing / (norm + slack)


@passive_aggressive
class PaOfNumbers(NamedTuple):
    """`pa` for regression."""

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        return clock.common, towards_target(Pa().tau(example.loss, example), example)


@passive_aggressive
class Pa1OfNumbers(NamedTuple):
    """`pa1` for regression."""

    aggressiveness: float = 1.0

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        tau = Pa1(self.aggressiveness).tau(example.loss, example)
        return clock.common, towards_target(tau, example)


@passive_aggressive
class Pa2OfNumbers(NamedTuple):
    """`pa2` for regression."""

    aggressiveness: float = 1.0

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        tau = Pa2(self.aggressiveness).tau(example.loss, example)
        return clock.common, towards_target(tau, example)
