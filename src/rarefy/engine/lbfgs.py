"""The minimum of a smooth function by L-BFGS, the same to the last bit on any number of threads.

SciPy's L-BFGS-B gets as far in as many evaluations, but calls BLAS in between, whose threads get in
the way of ours, and whose sums depend on how many they are.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rarefy.arrays import Floats, dot

PRECISION = 1e-7  # of the gradient, as a share of the one where all weights are zero
MOST_ITERATIONS = 5000  # some hundred are the rule
STEPS_REMEMBERED = 10
MOST_HALVINGS = 40  # of a step that led too far
LEAST_GAIN = 1e-4  # of a step, as a share of what the gradient promised


class Objective(Protocol):
    """What is minimised, and about how it curves along each of the variables."""

    curvatures: Floats

    def value_and_gradient(self, variables: Floats) -> tuple[float, Floats]: ...


def minimum(
    objective: Objective, start: Floats | None = None, precision: float = PRECISION
) -> Floats:
    """The variables with the least value, by L-BFGS.

    They are scaled for the way there, so that curvatures are about 1, whatever the units. It ends
    when the gradient has shrunk to `precision` times what it is at the start.
    """
    scale = 1.0 / np.sqrt(objective.curvatures)

    def measured(at: Floats) -> tuple[float, Floats]:
        value, gradient = objective.value_and_gradient(scale * at)
        return value, scale * gradient

    at = np.zeros(len(scale)) if start is None else start / scale
    value, gradient = measured(at)
    enough = precision**2 * dot(gradient, gradient)
    past: deque[Step] = deque(maxlen=STEPS_REMEMBERED)
    for _ in range(MOST_ITERATIONS):
        if dot(gradient, gradient) <= enough:
            break
        way = _downhill(gradient, past)
        fall = dot(gradient, way)
        for halvings in range(MOST_HALVINGS):
            there = at + 0.5**halvings * way
            new_value, new_gradient = measured(there)
            still_falls = dot(new_gradient, way) <= 0.0
            if still_falls or new_value <= value + LEAST_GAIN * 0.5**halvings * fall:
                break
        else:
            break
        if new_value >= value and dot(new_gradient, new_gradient) >= dot(gradient, gradient):
            break
        step = Step(there - at, new_gradient - gradient)
        if step.curvature > 0.0:
            past.append(step)
        at, value, gradient = there, new_value, new_gradient
    return np.asarray(scale * at)


class Step(NamedTuple):
    """How the variables changed, and the gradient with them."""

    moved: Floats
    change: Floats

    @property
    def curvature(self) -> float:
        return dot(self.moved, self.change)


def _downhill(gradient: Floats, past: Sequence[Step]) -> Floats:
    """Minus the gradient, divided by the curvature that past steps met with."""
    way = -gradient
    shares = []
    for step in reversed(past):
        share = dot(step.moved, way) / step.curvature
        way -= share * step.change
        shares.append(share)
    if past:
        way *= past[-1].curvature / dot(past[-1].change, past[-1].change)
    for step, share in zip(past, reversed(shares), strict=True):
        way += (share - dot(step.change, way) / step.curvature) * step.moved
    return way
