"""Normalized online learning: NG and NAG (Ross, Mineiro and Langford 2013; T2.4.2).

s is the largest |x| of a feature so far. Steps are divided by s², or by s times AdaGrad's H, so
that the units of a feature do not matter; weights shrink when s grows, so that w s stays what it
was, or less. N/t is the mean of Σ (x/s)² over the rows, by which steps are divided, too.

The penalty is feature-aware, and so has no units either (the thesis leaves it open how to have
one): w ← soft(w - step g, step λ r). Lazy form: while a coordinate is away, s, H and r rest, and
its step is the same number times what is common to all of them; `passed` is the sum of that.

Weights shrink when a row is learned, not before it is predicted as in the paper: predictions are
linear in the weights.
"""

import math
from typing import NamedTuple

from rarefy.jit import helper
from rarefy.model.clock import Clock, compensated_add
from rarefy.model.example import Example
from rarefy.rules.penalty_norm import Intensity
from rarefy.rules.proximal import ratio, soft
from rarefy.rules.rule_protocol import State, rule

COMMON = ("norms", "passed", "lost", "counted")  # N, and the last round that it knows of


@helper
def norm_term(scale: float, x: float) -> tuple[float]:
    """(x/s)², with the s that x may have raised."""
    share = x / max(scale, abs(x))
    return (share * share,)


@helper
def with_norm(clock: Clock, example: Example) -> State:
    """What is common to all coordinates, with the norm of a row added to N.

    Of several classes, all of which have the same s, the first one says it.
    """
    norms, passed, lost, counted = clock.common
    if counted < clock.t:
        norms += example.sums[0] / example.n_scores
    return norms, passed, lost, clock.t


@helper
def after_step(clock: Clock, step: float) -> State:
    """What is common to all coordinates, with the step of a round added to `passed`."""
    norms, passed, lost, counted = clock.common
    passed, lost = compensated_add(passed, lost, step)
    return norms, passed, lost, counted


@rule("w", "since", "r", "scale", common=COMMON, row_sums=("norm",))
class Normalized(NamedTuple):
    """w ← w (s/s')²; w ← soft(w - η_t t/N g/s'², η_t t/N λ r/s'²)."""

    l1: float = 0.0
    intensity: Intensity = Intensity()

    def common_step(self, clock: Clock) -> float:
        """η_t t/N; zero as long as nothing has occurred."""
        return clock.eta * clock.t / clock.common[0] if clock.common[0] > 0.0 else 0.0

    def row_terms(self, clock: Clock, state: State, x: float) -> tuple[float]:
        return norm_term(state[3], x)

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        return with_norm(clock, example), example.slope

    def weight(self, clock: Clock, state: State) -> float:
        w, since, r, scale = state
        return soft(w, self.l1 * r * ratio(clock.common[1] - since, scale * scale))

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        _, _, r, scale = state
        larger = max(scale, abs(x))
        common_step = self.common_step(clock)
        step = common_step / (larger * larger)
        r = self.intensity.grow(r, g, x, step)
        w = self.weight(clock, state) * (scale / larger) * (scale / larger)
        w = soft(w - step * g, step * self.l1 * r)
        return w, after_step(clock, common_step)[1], r, larger

    def conclude(self, clock: Clock, sums: State) -> State:
        return after_step(clock, self.common_step(clock))

    def steps_without_gradient(self) -> bool:
        return True


@rule("w", "since", "r", "scale", "H", common=COMMON, row_sums=("norm",))
class NormalizedAdagrad(NamedTuple):
    """H = √(Σ g²); w ← w s/s'; w ← soft(w - c √(t/N) g/(s' H), c √(t/N) λ r/(s' H))."""

    eta0: float = 0.5
    l1: float = 0.0
    intensity: Intensity = Intensity()

    def common_step(self, clock: Clock) -> float:
        """c √(t/N); zero as long as nothing has occurred."""
        norms = clock.common[0]
        return self.eta0 * math.sqrt(clock.t / norms) if norms > 0.0 else 0.0

    def row_terms(self, clock: Clock, state: State, x: float) -> tuple[float]:
        return norm_term(state[3], x)

    def meet(self, clock: Clock, example: Example) -> tuple[State, float]:
        return with_norm(clock, example), example.slope

    def weight(self, clock: Clock, state: State) -> float:
        w, since, r, scale, root = state
        return soft(w, self.l1 * r * ratio(clock.common[1] - since, scale * root))

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        _, _, r, scale, root = state
        larger, root = max(scale, abs(x)), math.sqrt(root * root + g * g)
        common_step = self.common_step(clock)
        step = ratio(common_step, larger * root) if root > 0.0 else 0.0
        r = self.intensity.grow(r, g, x, step)
        w = self.weight(clock, state) * (scale / larger)
        w = soft(w - step * g, step * self.l1 * r)
        return w, after_step(clock, common_step)[1], r, larger, root

    def conclude(self, clock: Clock, sums: State) -> State:
        return after_step(clock, self.common_step(clock))

    def steps_without_gradient(self) -> bool:
        return True

    def steps_together(self) -> bool:
        return True
