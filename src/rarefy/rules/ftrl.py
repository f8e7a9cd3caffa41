"""FTRL-Proximal per coordinate, the form that ad systems use (T's [10])."""

import math
from typing import NamedTuple

from rarefy.clock import Clock
from rarefy.proximal import curvature, ratio, soft
from rarefy.rules.base import State, rule


@rule("z", "n")
class Ftrl(NamedTuple):
    """w = -soft(z, λ) / ((β + √n)/α + λ₂); α is called eta0.

    The L1 term is λ once, not once per round, so l1 is of another size than elsewhere.
    """

    eta0: float = 0.1
    l1: float = 1.0
    l2: float | None = None
    beta: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        z, n = state
        inverse_step = (self.beta + math.sqrt(n)) / self.eta0
        return -ratio(soft(z, self.l1), curvature(self.l2, inverse_step, 1.0))

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        z, n = state
        sigma = (math.sqrt(n + g * g) - math.sqrt(n)) / self.eta0
        return z + g - sigma * self.weight(clock, state), n + g * g
