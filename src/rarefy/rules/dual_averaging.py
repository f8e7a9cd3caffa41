"""Dual averaging (T2.22); regularised: RDA (T4.9, T4.35); feature-aware: FRDA or STDA (T4.35-4.39).

G is the sum of all subgradients, R the sum of all intensities: w = -η_t soft(G, λ R), with R = t
for the plain rule. T4.13 prints t √t for the factor; √t is meant.

Lazy form: while a coordinate is away, G rests and R grows by r a round. So R = t r - ahead, where
`ahead` changes only when r does: then by the rounds before times the growth.
"""

from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.past_sums import dual_average
from rarefy.rules.penalty_norm import FeatureAware, Intensity, MeanIntensity
from rarefy.rules.proximal import dual_averaged, soft
from rarefy.rules.rule_protocol import State, rule


@rule("G")
class Da(NamedTuple):
    """w = -η_t G; no penalty, and so no zeros."""

    def weight(self, clock: Clock, state: State) -> float:
        return -clock.eta_before * state[0]

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] + g,)

    def to_sums(self, clock: Clock, state: State) -> State:
        return state

    def from_sums(self, clock: Clock, sums: State) -> State:
        return (sums[0],)

    def forgets_at_zero(self) -> bool:
        return True

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        return -dual_average(clock.schedule, state[0], 0.0, 0.0, after, until)


@rule("G")
class Rda(NamedTuple):
    """w = -soft(G, λ t) / (1/η_t + λ₂ t)."""

    l1: float = 3e-4
    l2: float | None = None

    def weight(self, clock: Clock, state: State) -> float:
        t = clock.t - 1.0
        return -dual_averaged(soft(state[0], self.l1 * t), self.l2, clock.eta_before, t)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        return (state[0] + g,)

    def to_sums(self, clock: Clock, state: State) -> State:
        return state

    def from_sums(self, clock: Clock, sums: State) -> State:
        return (sums[0],)

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        return -dual_average(clock.schedule, state[0], self.l1, 0.0, after, until)


@rule("G", "ahead", "r", like=FeatureAware)
class Frda(NamedTuple):
    """w = -soft(G, λ R) / (1/η_t + λ₂ t), with R = t r - ahead."""

    l1: float = 3e-4
    l2: float | None = None
    intensity: Intensity | MeanIntensity = Intensity()

    def weight(self, clock: Clock, state: State) -> float:
        gradients, ahead, r = state
        t = clock.t - 1.0
        l1 = self.l1 * self.intensity.share(t)
        return -dual_averaged(soft(gradients, l1 * (t * r - ahead)), self.l2, clock.eta_before, t)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        gradients, ahead, r = state
        larger = self.intensity.grow(r, g, x, clock.eta)
        return gradients + g, ahead + (clock.t - 1.0) * (larger - r), larger

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        gradients, ahead, r = state
        ahead = self.l1 * ahead
        return -dual_average(clock.schedule, gradients, self.l1 * r, ahead, after, until)
