"""Group L1 for dual averaging: all weights of a group are zero, or none is (Xiao 2010).

The penalty is λ Σ_g √n_g ‖w_g‖₂, n_g being the number of weights of the group that have had a
subgradient. Feature-aware, with r as in FRDA, it is λ Σ_g ‖r_g‖₂ ‖w_g‖₂: with r = 1, the same.
Summed over rounds it is λ T ‖w_g‖, and so

    w_g = -[1 - λ T / ‖G_g‖]₊ G_g / (1/η_t + λ₂ t).

What a group has in common is in `sums`, a row for each, which the steps of its coordinates keep up
to date: the one thing that steps change beside the state. ‖G_g‖² changes by g (2 G + g), and is a
compensated sum. The number of a coordinate's group is the last number of its state, where it is
written before the coordinate is learned; the first group is number 1.

Lazy form: T = t √n_g, or t ‖r_g‖ - ahead as for a coordinate of FRDA.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rarefy.jit import helper
from rarefy.model.clock import Clock, compensated_add
from rarefy.rules.dual_averaging import Frda, Rda
from rarefy.rules.penalty_norm import FeatureAware, Intensity
from rarefy.rules.proximal import dual_averaged
from rarefy.rules.rule_protocol import State, rule, unpenalised

GROUP = "group"  # what the state calls its number
SQUARES, LOST, SIZE, AHEAD = range(4)  # columns of the sums; SIZE is n_g, or ‖r_g‖²
N_SUMS = 4


@helper
def kept_share(squares: float, threshold: float) -> float:
    """[1 - λ T / ‖G_g‖]₊."""
    norm = math.sqrt(max(squares, 0.0))
    return 1.0 - threshold / norm if norm > threshold else 0.0


@helper
def add_gradient(sums: Any, group: int, gradients: float, g: float) -> None:
    """Have ‖G_g‖² follow from G + g in the place of G."""
    growth = g * (2.0 * gradients + g)
    squares, lost = compensated_add(sums[group, SQUARES], sums[group, LOST], growth)
    sums[group, SQUARES], sums[group, LOST] = squares, lost


@rule("G", "seen", GROUP)
class GroupRda(NamedTuple):
    """w = -[1 - λ t √n_g / ‖G_g‖]₊ G / (1/η_t + λ₂ t)."""

    l1: float = 3e-4
    l2: float | None = None
    sums: np.ndarray | None = None

    def weight(self, clock: Clock, state: State) -> float:
        sums: Any = self.sums
        group, t = int(state[2]), clock.t - 1.0
        threshold = self.l1 * t * math.sqrt(sums[group, SIZE])
        share = kept_share(sums[group, SQUARES], threshold)
        return -dual_averaged(share * state[0], self.l2, clock.eta_before, t)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        sums: Any = self.sums
        gradients, seen, number = state
        add_gradient(sums, int(number), gradients, g)
        sums[int(number), SIZE] += 1.0 - seen
        return gradients + g, 1.0, number

    def on_intercept(self) -> Any:
        return unpenalised(Rda(self.l1, self.l2))


@rule("G", "r", GROUP, like=FeatureAware)
class GroupFrda(NamedTuple):
    """w = -[1 - λ R_g / ‖G_g‖]₊ G / (1/η_t + λ₂ t), R_g being the sum of ‖r_g‖ over all rounds."""

    l1: float = 3e-4
    l2: float | None = None
    intensity: Intensity = Intensity()
    sums: np.ndarray | None = None

    def weight(self, clock: Clock, state: State) -> float:
        sums: Any = self.sums
        group, t = int(state[2]), clock.t - 1.0
        total = t * math.sqrt(sums[group, SIZE]) - sums[group, AHEAD]
        share = kept_share(sums[group, SQUARES], self.l1 * total)
        return -dual_averaged(share * state[0], self.l2, clock.eta_before, t)

    def step(self, clock: Clock, state: State, g: float, x: float) -> State:
        sums: Any = self.sums
        gradients, r, number = state
        group = int(number)
        larger = self.intensity.grow(r, g, x, clock.eta)
        before = sums[group, SIZE]
        after = before + (larger - r) * (larger + r)
        growth = math.sqrt(after) - math.sqrt(before)
        add_gradient(sums, group, gradients, g)
        sums[group, SIZE] = after
        sums[group, AHEAD] += (clock.t - 1.0) * growth
        return gradients + g, larger, number

    def on_intercept(self) -> Any:
        return unpenalised(Frda(self.l1, self.l2, self.intensity))


GROUPED: dict[type, Any] = {Rda: GroupRda, Frda: GroupFrda}
