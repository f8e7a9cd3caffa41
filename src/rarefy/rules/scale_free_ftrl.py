"""FTRL with scale-free's penalty and steps, a rule of rarefy's own, halfway to FTRL-Proximal.

Dual averaging (scale-free) charges what each round adds to the quadratic term at w = 0, which holds
weights back; FTRL-Proximal charges it at the weight of that round, which spares them but follows
noise. Here what r adds to r M is charged at half that weight, as σ/2 (w - w_t/2)², and what
M = max|x| adds at zero, so that one huge value does not hold a weight where it is. A feature that
never had a weight gets one as with scale-free, when its |Σ g| > λ r.

Lazy form: none is needed, all of it rests while the coordinate is away.
"""

import math
from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.proximal import curvature, ratio, soft, stays_out
from rarefy.rules.rule_protocol import State, rule

SHARE = 0.5  # of its weight, to which each round ties the next ones


@rule("z", "r", "largest")
class ScaleFreeFtrl(NamedTuple):
    """w = -soft(z, λ r) / (r M/c + λ₂ t); z ← z + g - σ w/2, σ = (r' - r) M/c, M = max|x| before.

    It has the same parameters as scale-free.
    """

    eta0: float = 0.2
    l1: float = 1.0
    l2: float | None = None

    def weight(self, clock: Clock, state: State) -> float:
        return -self.eta0 * clock.unit * self.pull(clock, state)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        z, r, largest = state
        if stays_out(clock, z, self.l1 * r):
            return state
        new_r = math.sqrt(r * r + g * g)
        tied = SHARE * (new_r - r) * largest * self.pull(clock, state)
        return z + g + tied, new_r, max(largest, abs(x))

    def steps_together(self) -> bool:
        return True

    def is_shift_free(self) -> bool:
        return True

    def pull(self, clock: Clock, state: State) -> float:
        """-w/c, so that σ w needs no division by c."""
        z, r, largest = state
        eta, t = self.eta0 * clock.unit, clock.t - 1.0
        return ratio(soft(z, self.l1 * r), curvature(self.l2, r * largest, eta * t))
