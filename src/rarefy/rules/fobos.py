"""FOBOS, also SG-L1 and COMID (T4.5-4.8, H9), and feature-aware FR-COMID (T4.21, S6, H13).

Lazy form (S12, T4.24): while a coordinate is away, its weight only falls by λ r η a round, so
w_t = soft(w_s, λ r_s (S_t - S_s)); `since` is S_s. With l2 the same holds on the scale of the
clock's `decay`, and `since` is that.
"""

from typing import NamedTuple

from rarefy.model.clock import Clock
from rarefy.rules.past_sums import falling_by_steps
from rarefy.rules.penalty_norm import FeatureAware, Intensity, MeanIntensity
from rarefy.rules.proximal import (
    by_examples,
    passed_after,
    passed_before,
    penalise,
    proximal_decay,
    ratio,
    shrink,
)
from rarefy.rules.rule_protocol import State, rule


@rule("w", "since")
class Fobos(NamedTuple):
    """w ← soft(w - η_t g, η_t λ) / (1 + η_t λ₂)."""

    l1: float = 3e-4
    l2: float | None = None

    def weight(self, clock: Clock, state: State) -> float:
        w, since = state
        return shrink(w, self.l1, self.l2, passed_before(clock, self.l2) - since)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        w = self.weight(clock, state) - clock.eta * g
        return penalise(w, self.l1, self.l2, clock.eta), passed_after(clock, self.l2)

    def to_sums(self, clock: Clock, state: State) -> State:
        """Not exact: weights are averaged, by the examples of the models that know the feature."""
        return by_examples(clock, self.weight(clock, state), state[1] != 0.0)

    def from_sums(self, clock: Clock, sums: State) -> State:
        since = passed_before(clock, self.l2) if sums[1] != 0.0 else 0.0
        return ratio(sums[0], sums[1]), since

    def log_decay(self, t: float, eta: float) -> float:
        return proximal_decay(self.l2, eta)

    def forgets_at_zero(self) -> bool:
        return True

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        return falling_by_steps(clock.schedule, state[0], self.l1, after, until)


@rule("w", "since", "r", like=FeatureAware)
class FrComid(NamedTuple):
    """w ← soft(w - η_t g, η_t λ r_t) / (1 + η_t λ₂)."""

    l1: float = 3e-4
    l2: float | None = None
    intensity: Intensity | MeanIntensity = Intensity()

    def weight(self, clock: Clock, state: State) -> float:
        w, since, r = state
        l1 = self.l1 * self.intensity.share(clock.t - 1.0)
        return shrink(w, l1 * r, self.l2, passed_before(clock, self.l2) - since)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        r = self.intensity.grow(state[2], g, x, clock.eta)
        w = self.weight(clock, state) - clock.eta * g
        l1 = self.l1 * self.intensity.share(clock.t)
        return penalise(w, l1 * r, self.l2, clock.eta), passed_after(clock, self.l2), r

    def log_decay(self, t: float, eta: float) -> float:
        return proximal_decay(self.l2, eta)

    def closed_sum(self, clock: Clock, state: State, after: float, until: float) -> float:
        w, _, r = state
        return falling_by_steps(clock.schedule, w, self.l1 * r, after, until)
