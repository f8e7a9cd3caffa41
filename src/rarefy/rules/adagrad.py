"""AdaGrad with the steps of FOBOS and of RDA (T2.41 and its source).

H = beta + sqrt(sum of g^2), a step size per coordinate: c/H. It has no common schedule.
"""

import math
from typing import NamedTuple

from rarefy.clock import Clock
from rarefy.proximal import shrink, soft
from rarefy.rules.base import State, rule


@rule("w", "squares", "last")
class AdagradFobos(NamedTuple):
    """w ← soft(w - c g/H, c λ/H) / (1 + c λ₂/H).

    Lazy form: H rests while the coordinate is away, and so every missed round does the same.
    """

    eta0: float = 0.1
    l1: float = 1e-5
    l2: float = 0.0
    beta: float = 0.0

    def weight(self, clock: Clock, state: State) -> float:
        w, squares, last = state
        if w == 0.0:
            return 0.0
        step_size = self.eta0 / (self.beta + math.sqrt(squares))
        pace = step_size if self.l2 == 0.0 else math.log1p(step_size * self.l2)
        return shrink(w, self.l1, self.l2, (clock.t - 1.0 - last) * pace)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w = self.weight(clock, state)
        squares = state[1] + g * g
        step_size = self.eta0 / (self.beta + math.sqrt(squares))
        w = soft(w - step_size * g, step_size * self.l1) / (1.0 + step_size * self.l2)
        return w, squares, clock.t


@rule("G", "squares")
class AdagradRda(NamedTuple):
    """w = -soft(G, λ t) / (H/c + λ₂ t)."""

    eta0: float = 0.1
    l1: float = 1e-5
    l2: float = 0.0
    beta: float = 0.0

    def weight(self, clock: Clock, state: State) -> float:
        gradients, squares = state
        t = clock.t - 1.0
        excess = soft(gradients, self.l1 * t)
        if excess == 0.0:
            return 0.0
        return -excess / ((self.beta + math.sqrt(squares)) / self.eta0 + self.l2 * t)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return state[0] + g, state[1] + g * g
