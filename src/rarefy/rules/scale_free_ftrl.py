"""FTRL with scale-free's penalty and steps, a rule of rarefy's own, halfway to FTRL-Proximal.

Dual averaging (scale-free) charges what each round adds to the quadratic term at w = 0, which holds
weights back; FTRL-Proximal charges it at the weight of that round, which spares them but follows
noise. Here what r adds to the term is charged at half that weight, as σ/2 (w - w_t/2)², and what
the scale s of the values adds at zero, so that one huge value does not hold a weight where it is. A
feature that never had a weight gets one as with scale-free, when its |Σ g| > λ (r + β u s/5).

Lazy form: none is needed, all of it rests while the coordinate is away.
"""

import math
from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.proximal import curvature, ratio, root_of, soft, stays_out
from rarefy.rules.rule_protocol import State, rule
from rarefy.rules.scale_free import ScaleFreeMethods, intensity, inverse_step, next_scale

SHARE = 0.5  # of its weight, to which each round ties the next ones


@rule("z", "r", "scale", "n", like=ScaleFreeMethods)
class ScaleFreeFtrl(NamedTuple):
    """w = -soft(z, λ (r + β u s/5)) / ((r + β u s) s / c + λ₂ t), as scale-free's with z for G.

    z ← z + g - σ w/2, where σ = (r' - r) s / c with s before the round.

    It has the same parameters as scale-free.
    """

    eta0: float = 0.2
    l1: float = 1.0
    l2: float | None = None
    beta: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        return -self.eta0 * clock.unit * self.pull(clock, state)

    def repeated(self, clock: Clock, state: State, g: float, x: float, times: float) -> State:
        z, r, scale, n = state
        if stays_out(clock, z, self.l1 * intensity(clock, self.beta, r, scale)):
            return state
        new_r = math.sqrt(r * r + times * (g * g))
        tied = SHARE * (new_r - r) * scale * self.pull(clock, state)
        scale, n = next_scale(scale, n, x, times)
        return z + times * g + tied, new_r, scale, n

    def to_sums(self, clock: Clock, state: State) -> State:
        """Not exact: all rounds are taken to have been tied to the present weight."""
        z, r, scale, n = state
        pull = self.pull(clock, state)
        return z - SHARE * r * scale * pull, r * r, n * (scale * scale), n, r * r * pull

    def from_sums(self, clock: Clock, sums: State) -> State:
        r, scale = root_of(sums[1]), root_of(ratio(sums[2], sums[3]))
        pull = ratio(sums[4], sums[1])
        return sums[0] + SHARE * r * scale * pull, r, scale, sums[3]

    def pull(self, clock: Clock, state: State) -> float:
        """-w/c, so that σ w needs no division by c."""
        z, r, scale, _ = state
        eta, t = self.eta0 * clock.unit, clock.t - 1.0
        quadratic = curvature(self.l2, inverse_step(clock, self.beta, r, scale), eta * t)
        return ratio(soft(z, self.l1 * intensity(clock, self.beta, r, scale)), quadratic)
