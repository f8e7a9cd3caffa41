"""Coin betting per coordinate (Orabona and Pál 2016), the update of Vowpal Wabbit's --coin.

Every coordinate bets a share of its wealth that its next subgradient has the sign of those before.
No step size has to be chosen: what a coordinate has won decides how much it bets.

Vowpal Wabbit also divides scores by the mean of Σ (x/max |x|)² over the rows so far. Where that is
the same N for all rows, its ftrl_alpha is N eta0; docs/reference/rules.md has other differences.
"""

from typing import NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.rules.proximal import ratio
from rarefy.rules.rule_protocol import State, rule


@helper
def bet(wealth: float, gradients: float, absolute: float, largest: float) -> float:
    return -wealth * ratio(gradients, largest * (largest + absolute))


@rule("G", "absolute", "won", "largest")
class Coin(NamedTuple):
    """w = -(c + V) G / (L (L + Σ|g|)); V ← V - g w, L being the largest |x| and |g| so far.

    L is raised before g is bet on, so that |g w| < c + V: nobody loses more than there is.
    """

    eta0: float = 0.1

    def weight(self, clock: Clock, state: State) -> float:
        gradients, absolute, won, largest = state
        return bet(self.eta0 + won, gradients, absolute, largest)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        gradients, absolute, won, largest = state
        largest = max(largest, abs(g), abs(x))
        w = bet(self.eta0 + won, gradients, absolute, largest)
        return gradients + g, absolute + abs(g), won - g * w, largest

    def steps_together(self) -> bool:
        return True

    def rests(self) -> bool:
        return True
