"""Step sizes η_t, as functions of the round, and their running sums: S_t = η_1 + ... + η_t, and
the moment η_1 + 2 η_2 + ... + t η_t.

The sums are closed (Euler-Maclaurin beyond the first rounds, where it is exact to the last bits),
so that any of 10^15 rounds can be asked for.
"""

import math
from typing import NamedTuple

from rarefy.jit import compile_methods

ZETA_HALF = -1.4603545088095868  # ζ(1/2)
ZETA_MINUS_HALF = -0.20788622497735457  # ζ(-1/2)
EULER_GAMMA = 0.5772156649015329
EXACT_ROUNDS = 32  # up to here the sums are added up one by one


@compile_methods
class InvSqrt(NamedTuple):
    """η_t = c / sqrt(t), the papers' choice."""

    eta0: float

    def eta(self, t: float) -> float:
        return self.eta0 / math.sqrt(t)

    def total(self, t: float) -> float:
        if t <= EXACT_ROUNDS:
            total = 0.0
            for tau in range(1, int(t) + 1):
                total += 1.0 / math.sqrt(tau)
            return self.eta0 * total
        root = math.sqrt(t)
        inverse = 1.0 / t
        tail = 0.5 - inverse * (
            1.0 / 24.0 - inverse * inverse * (1.0 / 384.0 - inverse * inverse / 1024.0)
        )
        return self.eta0 * (2.0 * root + ZETA_HALF + tail / root)

    def moment(self, t: float) -> float:
        if t <= EXACT_ROUNDS:
            total = 0.0
            for tau in range(1, int(t) + 1):
                total += math.sqrt(tau)
            return self.eta0 * total
        root = math.sqrt(t)
        inverse = 1.0 / (t * t)
        tail = 1.0 / 24.0 - inverse * (1.0 / 1920.0 - inverse / 9216.0)
        return self.eta0 * (root * (t / 1.5 + 0.5) + ZETA_MINUS_HALF + tail / root)


@compile_methods
class Constant(NamedTuple):
    """η_t = c."""

    eta0: float

    def eta(self, t: float) -> float:
        return self.eta0

    def total(self, t: float) -> float:
        return self.eta0 * t

    def moment(self, t: float) -> float:
        return self.eta0 * 0.5 * t * (t + 1.0)


@compile_methods
class InvT(NamedTuple):
    """η_t = c / t."""

    eta0: float

    def eta(self, t: float) -> float:
        return self.eta0 / t

    def total(self, t: float) -> float:
        if t <= EXACT_ROUNDS:
            total = 0.0
            for tau in range(1, int(t) + 1):
                total += 1.0 / tau
            return self.eta0 * total
        inverse = 1.0 / (t * t)
        tail = inverse * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse / 252.0))
        return self.eta0 * (math.log(t) + EULER_GAMMA + 0.5 / t - tail)

    def moment(self, t: float) -> float:
        return self.eta0 * t


SCHEDULES: dict[str, type] = {"inv_sqrt": InvSqrt, "constant": Constant, "inv_t": InvT}
