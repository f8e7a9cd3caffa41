"""Proximal operators of the penalties.

`l2` is None where there is no L2 penalty: compiled code then has no trace of it.
"""

import math

from rarefy.jit import helper
from rarefy.model.clock import Clock


@helper
def soft(a: float, b: float) -> float:
    """sgn(a) max(|a| - b, 0), without a branch: the sign of a weight cannot be predicted."""
    return math.copysign(max(abs(a) - b, 0.0), a)


@helper
def penalise(w: float, l1: float, l2: float | None, eta: float) -> float:
    """The proximal step of one round: soft(w, η λ) / (1 + η λ₂)."""
    if l2 is None:
        return soft(w, eta * l1)
    return soft(w, eta * l1) / (1.0 + eta * l2)


@helper
def shrink(w: float, l1: float, l2: float | None, passed: float) -> float:
    """A weight after rounds in which only the penalties acted on it.

    Without l2, |w| falls by l1 times the steps taken; `passed` is their sum. With l2 a round maps
    |w| to (|w| - η l1) / (1 + η l2), which draws |w| + l1/l2 to zero by a common factor; `passed`
    is minus the logarithm of all these factors.
    """
    if l2 is None:
        return soft(w, l1 * passed)
    lost = -math.expm1(-passed)
    return soft(w - w * lost, l1 / l2 * lost)


@helper
def stays_out(clock: Clock, gradients: float, threshold: float) -> bool:
    """Whether a feature is passed over, because earlier passes have left it without a weight.

    The same examples are no new evidence: if a feature occurred once, its subgradients agree
    however often it is learned.
    """
    return clock.pass_number > 1.0 and threshold > 0.0 and abs(gradients) <= threshold


@helper
def curvature(l2: float | None, inverse_step: float, t: float) -> float:
    """The quadratic term 1/η_t + λ₂ t by which leaders and dual averages are divided."""
    return inverse_step if l2 is None else inverse_step + l2 * t


@helper
def dual_averaged(excess: float, l2: float | None, eta: float, t: float) -> float:
    """excess / (1/η_t + λ₂ t), with a multiplication where that is all it takes."""
    return excess * eta if l2 is None else excess / (1.0 / eta + l2 * t)


@helper
def passed_after(clock: Clock, l2: float | None) -> float:
    """Time after this round, on the scale that `shrink` uses."""
    return clock.total if l2 is None else clock.decay


@helper
def passed_before(clock: Clock, l2: float | None) -> float:
    """Time before this round, on the same scale."""
    return clock.total_before if l2 is None else clock.decay_before


@helper
def proximal_decay(l2: float | None, eta: float) -> float:
    """By how much the l2 of a proximal step lowers log|w|."""
    return 0.0 if l2 is None else math.log1p(l2 * eta)


@helper
def proximal_time(l2: float | None, eta: float) -> float:
    """The time of one proximal step, on the scale that `shrink` uses."""
    return eta if l2 is None else math.log1p(l2 * eta)


@helper
def ratio(excess: float, denominator: float) -> float:
    """excess / denominator where 0/0, a coordinate that never had a subgradient, counts as 0."""
    return excess / max(denominator, 1e-150)


@helper
def root_of(square: float) -> float:
    """The root of what is no less than zero, but for rounding."""
    return math.sqrt(max(square, 0.0))


@helper
def by_examples(clock: Clock, w: float, is_known: bool) -> tuple[float, float]:
    """Sums by which weights become their mean, each counting by the examples of its model."""
    t = clock.t - 1.0 if is_known else 0.0
    return t * w, t
