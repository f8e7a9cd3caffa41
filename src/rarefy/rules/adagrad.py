"""AdaGrad with the steps of FOBOS, of RDA (T2.41 and its source) and of FTPRL.

H = β + √(Σ g²), a step size per coordinate: c/H. It has no common schedule.
"""

import math
from typing import Any, NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.rules.past_sums import falling_by_rounds
from rarefy.rules.proximal import curvature, penalise, proximal_time, ratio, root_of, shrink, soft
from rarefy.rules.rule_protocol import State, rule


@helper
def own_step(self: Any, squares: float) -> float:
    """c/H."""
    return ratio(self.eta0, self.beta + math.sqrt(squares))


@rule("w", "squares", "last")
class AdagradFobos(NamedTuple):
    """w ← soft(w - c g/H, c λ/H) / (1 + c λ₂/H).

    Lazy form: H rests while the coordinate is away, and so every missed round does the same.
    """

    eta0: float = 0.1
    l1: float = 1e-4
    l2: float | None = None
    beta: float = 0.0

    def weight(self, clock: Clock, state: State) -> float:
        w, squares, last = state
        step_size = own_step(self, squares)
        passed = (clock.t - 1.0 - last) * proximal_time(self.l2, step_size)
        return shrink(w, self.l1, self.l2, passed)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        squares = state[1] + g * g
        step_size = own_step(self, squares)
        w = self.weight(clock, state) - step_size * g
        return penalise(w, self.l1, self.l2, step_size), squares, clock.t

    def to_sums(self, clock: Clock, state: State) -> State:
        """Not exact: weights are averaged, by Σ g²."""
        return state[1] * self.weight(clock, state), state[1]

    def from_sums(self, clock: Clock, sums: State) -> State:
        last = clock.t - 1.0 if sums[1] != 0.0 else 0.0
        return ratio(sums[0], sums[1]), max(sums[1], 0.0), last

    def steps_together(self) -> bool:
        return True

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        step_size = own_step(self, state[1])
        return falling_by_rounds(state[0], self.l1 * step_size, after, until)


@rule("G", "squares")
class AdagradRda(NamedTuple):
    """w = -soft(G, λ t) / (H/c + λ₂ t)."""

    eta0: float = 0.1
    l1: float = 1e-4
    l2: float | None = None
    beta: float = 0.0

    def weight(self, clock: Clock, state: State) -> float:
        gradients, squares = state
        t = clock.t - 1.0
        inverse_step = (self.beta + math.sqrt(squares)) / self.eta0
        return -ratio(soft(gradients, self.l1 * t), curvature(self.l2, inverse_step, t))

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return self.repeated(clock, state, g, x, 1.0)

    def repeated(self, clock: Clock, state: State, g: float, x: float, times: float) -> State:
        return state[0] + times * g, state[1] + times * (g * g)

    def to_sums(self, clock: Clock, state: State) -> State:
        return state

    def from_sums(self, clock: Clock, sums: State) -> State:
        return sums[0], max(sums[1], 0.0)

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        gradients, squares = state
        step_size = own_step(self, squares)
        w = -soft(gradients, self.l1 * after) * step_size
        return falling_by_rounds(w, self.l1 * step_size, after, until)


@rule("z", "root")
class AdagradFtprl(NamedTuple):
    """z ← z + (H_t - H_{t-1})/c w - g; w = soft(z, λ t) / (H/c + λ₂ t).

    Lazy form: z, which rests with H, needs none of what FTPRL takes with common steps. Unlike
    `ftrl`, it has λ once per round. The state has √(Σ g²), as there.
    """

    eta0: float = 0.1
    l1: float = 1e-4
    l2: float | None = None
    beta: float = 0.0

    def weight(self, clock: Clock, state: State) -> float:
        z, root = state
        t = clock.t - 1.0
        inverse_step = (self.beta + root) / self.eta0
        return ratio(soft(z, self.l1 * t), curvature(self.l2, inverse_step, t))

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        z, root = state
        new_root = math.sqrt(root * root + g * g)
        return z + (new_root - root) / self.eta0 * self.weight(clock, state) - g, new_root

    def to_sums(self, clock: Clock, state: State) -> State:
        """Not exact: the terms (H_t - H_{t-1}) w are taken to be those of the present weight."""
        z, root = state
        w = self.weight(clock, state)
        return z - root / self.eta0 * w, root * root, root * root * w

    def from_sums(self, clock: Clock, sums: State) -> State:
        new_root = root_of(sums[1])
        return sums[0] + new_root / self.eta0 * ratio(sums[2], sums[1]), new_root

    def steps_together(self) -> bool:
        return True

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        z, root = state
        step_size = ratio(self.eta0, self.beta + root)
        w = soft(z, self.l1 * after) * step_size
        return falling_by_rounds(w, self.l1 * step_size, after, until)
