"""The two maps by which penalties act on a weight."""

import math

from rarefy.jit import helper


@helper
def soft(a: float, b: float) -> float:
    """sgn(a) max(|a| - b, 0), without a branch: the sign of a weight cannot be predicted."""
    return math.copysign(max(abs(a) - b, 0.0), a)


@helper
def shrink(w: float, l1: float, l2: float, passed: float) -> float:
    """A weight after rounds in which only the penalties acted on it.

    Without l2, |w| falls by l1 times the steps taken; `passed` is their sum. With l2 a round maps
    |w| to (|w| - eta l1) / (1 + eta l2), which draws |w| + l1/l2 to zero by a common factor;
    `passed` is minus the logarithm of all these factors.
    """
    if l2 == 0.0:
        return soft(w, l1 * passed)
    lost = -math.expm1(-passed)
    return soft(w - w * lost, l1 / l2 * lost)
