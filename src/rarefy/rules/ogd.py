"""Online gradient descent (T2.4)."""

from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.proximal import by_examples, ratio
from rarefy.rules.rule_protocol import State, rule


@rule("w")
class Ogd(NamedTuple):
    """w ← w - η_t g; no penalty, and so no zeros."""

    def weight(self, clock: Clock, state: State) -> float:
        return state[0]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] - clock.eta * g,)

    def to_sums(self, clock: Clock, state: State) -> State:
        """Not exact: weights are averaged, by the examples of the models that have one."""
        return by_examples(clock, state[0], state[0] != 0.0)

    def from_sums(self, clock: Clock, sums: State) -> State:
        return (ratio(sums[0], sums[1]),)

    def forgets_at_zero(self) -> bool:
        return True

    def rests(self) -> bool:
        return True
