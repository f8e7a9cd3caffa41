"""Passive-aggressive learning (Crammer et al. 2006; T2.5.2).

A row that has its margin leaves the weights as they are; else they change as little as it takes to
give it one. With ℓ = [1 - y⟨w, x⟩]+ the step is w ← w + τ y x, where τ is

    pa      ℓ / ‖x‖²
    pa1     min(C, ℓ / ‖x‖²)
    pa2     ℓ / (‖x‖² + 1/(2C))

Of several classes, ℓ is that of the difference of two scores, whose row has the norm √2 ‖x‖. An
example of weight h has C h for C; pa, whose C is infinite, knows no weights.
"""

from typing import NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.model.example import Example
from rarefy.rules.rule_protocol import State, rule


@helper
def shortfall(example: Example) -> float:
    """ℓ, by how much the margin is below 1."""
    return max(0.0, 1.0 - example.y * example.score)


@rule("w", row_sums=("squares",), by_margin=True)
class Pa(NamedTuple):
    """w ← w + y x ℓ/‖x‖²."""

    def row_terms(self, clock: Clock, state: State, x: float) -> tuple[float]:
        return (x * x,)

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        (norm,) = example.sums
        return clock.common, -example.y * shortfall(example) / norm if norm > 0.0 else 0.0

    def weight(self, clock: Clock, state: State) -> float:
        return state[0]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] - g,)

    def forgets_at_zero(self) -> bool:
        return True

    def rests(self) -> bool:
        return True
