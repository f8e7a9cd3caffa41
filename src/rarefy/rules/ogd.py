"""Online gradient descent (T2.4)."""

from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.rule_protocol import State, rule


@rule("w")
class Ogd(NamedTuple):
    """w ← w - η_t g; no penalty, and so no zeros."""

    def weight(self, clock: Clock, state: State) -> float:
        return state[0]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] - clock.eta * g,)

    def forgets_at_zero(self) -> bool:
        return True

    def rests(self) -> bool:
        return True
