"""FTRL-Proximal per coordinate, the form that ad systems use (T's [10])."""

import math
from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.proximal import curvature, ratio, root_of, soft
from rarefy.rules.rule_protocol import State, rule


@rule("z", "root")
class Ftrl(NamedTuple):
    """w = -soft(z, λ) / ((β + √n)/α + λ₂); α is called eta0, n is the sum of squares.

    z ← z + g - σ w with σ = (√(n + g²) - √n)/α. The L1 term is λ once, not once per round, so l1 is
    of another size than elsewhere. The state has √n in place of n, which saves two of three roots.
    """

    eta0: float = 0.1
    l1: float = 1.0
    l2: float | None = None
    beta: float = 1.0

    def weight(self, clock: Clock, state: State) -> float:
        return -self.eta0 * self.pull(state)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return self.repeated(clock, state, g, x, 1.0)

    def repeated(self, clock: Clock, state: State, g: float, x: float, times: float) -> State:
        z, root = state
        new_root = math.sqrt(root * root + times * (g * g))
        return z + times * g + (new_root - root) * self.pull(state), new_root

    def to_sums(self, clock: Clock, state: State) -> State:
        """Not exact: Σ σ w is taken to be that of the present weight, which is averaged by n."""
        z, root = state
        pull = self.pull(state)
        return z - root * pull, root * root, root * root * pull

    def from_sums(self, clock: Clock, sums: State) -> State:
        new_root = root_of(sums[1])
        return sums[0] + new_root * ratio(sums[2], sums[1]), new_root

    def to_means(self, clock: Clock, state: State) -> State:
        """A shard whose examples count for all has taken all of Σ σ w, too, so z has a mean."""
        return state[0], state[1] * state[1]

    def from_means(self, clock: Clock, means: State) -> State:
        return means[0], root_of(means[1])

    def steps_together(self) -> bool:
        return True

    def rests(self) -> bool:
        return True

    def pull(self, state: State) -> float:
        """-w/α, by which both w and σ w = w (√n' - √n)/α can be had with one division."""
        z, root = state
        return ratio(soft(z, self.l1), curvature(self.l2, self.beta + root, self.eta0))
