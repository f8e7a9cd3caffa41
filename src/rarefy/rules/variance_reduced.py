"""SAG (T3.23-3.26) and SVRG as rules; their loops are in engine/finite_data.py.

They minimise the mean loss + λ |w| + λ₂/2 |w|² to the end, and so need all rows, many times: these
rules cannot learn from a stream. What is left of them is the weight of each coordinate.
"""

from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.rule_protocol import State, rule


class _Methods:
    """What both of them have in common."""

    def weight(self, clock: Clock, state: State) -> float:
        return state[0]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return state


@rule("w", like=_Methods)
class Sag(NamedTuple):
    """Steps along the mean of the last gradient of every row; eta0 is in units of 1/L.

    L is the largest curvature of a row.
    """

    eta0: float = 1.0
    l1: float = 0.0
    l2: float = 1e-4


@rule("w", like=_Methods)
class Svrg(NamedTuple):
    """Steps along the full gradient of a snapshot, and what a row's gradient differs from there."""

    eta0: float = 0.25
    l1: float = 0.0
    l2: float = 1e-4
