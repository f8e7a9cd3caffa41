"""AdaGrad with feature-aware L1: the rules of adagrad.py with λ r for λ, λ R for λ t.

The thesis leaves this combination to future work. With `basis="update"`, u = c g/H.

Lazy form: r rests like H while the coordinate is away; R = t r - ahead as in dual_averaging.py.
"""

import math
from typing import NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock
from rarefy.rules.adagrad import own_step
from rarefy.rules.past_sums import falling_by_rounds
from rarefy.rules.penalty_norm import FeatureAware, Intensity, MeanIntensity
from rarefy.rules.proximal import curvature, penalise, proximal_time, ratio, shrink, soft
from rarefy.rules.rule_protocol import State, rule


@helper
def truncated(
    self: "AwareAdagradRda | AwareAdagradFtprl",
    t: float,
    z: float,
    root: float,
    ahead: float,
    r: float,
) -> float:
    """soft(z, λ R) / (H/c + λ₂ t) after t rounds."""
    l1 = self.l1 * self.intensity.share(t)
    inverse_step = (self.beta + root) / self.eta0
    return ratio(soft(z, l1 * (t * r - ahead)), curvature(self.l2, inverse_step, t))


@rule("w", "squares", "last", "r", like=FeatureAware)
class AwareAdagradFobos(NamedTuple):
    """w ← soft(w - c g/H, c λ r/H) / (1 + c λ₂/H)."""

    eta0: float = 0.1
    l1: float = 1e-4
    l2: float | None = None
    beta: float = 0.0
    intensity: Intensity | MeanIntensity = Intensity()

    def weight(self, clock: Clock, state: State) -> float:
        w, squares, last, r = state
        passed = (clock.t - 1.0 - last) * proximal_time(self.l2, own_step(self, squares))
        l1 = self.l1 * self.intensity.share(clock.t - 1.0)
        return shrink(w, l1 * r, self.l2, passed)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        squares = state[1] + g * g
        step_size = own_step(self, squares)
        r = self.intensity.grow(state[3], g, x, step_size)
        w = self.weight(clock, state) - step_size * g
        l1 = self.l1 * self.intensity.share(clock.t)
        return penalise(w, l1 * r, self.l2, step_size), squares, clock.t, r

    def steps_together(self) -> bool:
        return True

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        w, squares, _, r = state
        fall = self.l1 * r * own_step(self, squares)
        return falling_by_rounds(w, fall, after, until)


@rule("G", "squares", "ahead", "r", like=FeatureAware)
class AwareAdagradRda(NamedTuple):
    """w = -soft(G, λ R) / (H/c + λ₂ t)."""

    eta0: float = 0.1
    l1: float = 1e-4
    l2: float | None = None
    beta: float = 0.0
    intensity: Intensity | MeanIntensity = Intensity()

    def weight(self, clock: Clock, state: State) -> float:
        gradients, squares, ahead, r = state
        return -truncated(self, clock.t - 1.0, gradients, math.sqrt(squares), ahead, r)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        gradients, squares, ahead, r = state
        squares += g * g
        larger = self.intensity.grow(r, g, x, own_step(self, squares))
        return gradients + g, squares, ahead + (clock.t - 1.0) * (larger - r), larger

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        gradients, squares, ahead, r = state
        step_size = own_step(self, squares)
        w = -soft(gradients, self.l1 * (after * r - ahead)) * step_size
        return falling_by_rounds(w, self.l1 * r * step_size, after, until)


@rule("z", "root", "ahead", "r", like=FeatureAware)
class AwareAdagradFtprl(NamedTuple):
    """z ← z + (H_t - H_{t-1})/c w - g; w = soft(z, λ R) / (H/c + λ₂ t)."""

    eta0: float = 0.1
    l1: float = 1e-4
    l2: float | None = None
    beta: float = 0.0
    intensity: Intensity | MeanIntensity = Intensity()

    def weight(self, clock: Clock, state: State) -> float:
        z, root, ahead, r = state
        return truncated(self, clock.t - 1.0, z, root, ahead, r)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        z, root, ahead, r = state
        new_root = math.sqrt(root * root + g * g)
        z += (new_root - root) / self.eta0 * self.weight(clock, state) - g
        larger = self.intensity.grow(r, g, x, ratio(self.eta0, self.beta + new_root))
        return z, new_root, ahead + (clock.t - 1.0) * (larger - r), larger

    def steps_together(self) -> bool:
        return True

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        z, root, ahead, r = state
        step_size = ratio(self.eta0, self.beta + root)
        w = soft(z, self.l1 * (after * r - ahead)) * step_size
        return falling_by_rounds(w, self.l1 * r * step_size, after, until)
