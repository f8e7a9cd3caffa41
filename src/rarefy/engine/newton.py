"""Newton's method for smooth convex functions, each step by conjugate gradients.

No sum is left to BLAS: its order would depend on the number of threads, which also wait busily for
each other while the machine has other work.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from rarefy.arrays import Floats, dot

MOST_STEPS = 500  # ten are the rule
MOST_PRODUCTS = 500  # of one step, which need not be exact
LOOSEST = 0.3  # share of the gradient that a step may leave
MOST_HALVINGS = 40  # of a step that led too far
LEAST_GAIN = 1e-4  # of a step, as a share of what the gradient promised


class Point(NamedTuple):
    """A function at some place."""

    variables: Floats
    value: float
    gradient: Floats
    spread: Floats  # one over the diagonal of the Hessian; 0 for variables that stay as they are
    bends: Floats  # what the Hessian is made of

    @property
    def size(self) -> float:
        """How large the gradient is, whatever the units of the variables."""
        return math.sqrt(dot(self.gradient, self.spread * self.gradient))


class Objective(Protocol):
    def at(self, variables: Floats) -> Point: ...

    def curved(self, point: Point, direction: Floats) -> Floats:
        """The Hessian times a direction."""


def minimum(
    objective: Objective, start: Floats, precision: float, first: float | None = None
) -> Floats:
    """The variables with the least value: the gradient shrinks to `precision` of that at the start.

    The closer they are, the more exact are the steps, and so the faster they get closer. `first` is
    the size of the gradient that counts, if it is not that at the start.
    """
    point = objective.at(start)
    first = first or point.size
    for _ in range(MOST_STEPS):
        if point.size <= precision * first:
            break
        left = point.size / first
        way = _newton_step(objective, point, max(min(LOOSEST, left**0.5), 0.5 * precision / left))
        further = _further(objective, point, way)
        if further is None:
            break
        point = further
    return point.variables


def _further(objective: Objective, point: Point, way: Floats) -> Point | None:
    """A point with a lower value along the way; None where rounding hides it."""
    fall = dot(point.gradient, way)
    for halvings in range(MOST_HALVINGS):
        length = 0.5**halvings
        there = objective.at(point.variables + length * way)
        gains = there.value <= point.value + LEAST_GAIN * length * fall
        if gains or (there.value <= point.value and dot(there.gradient, way) <= 0.0):
            return there
    return None


def _newton_step(objective: Objective, point: Point, share: float) -> Floats:
    """The way to where the gradient would be no more than a share of what it is."""
    step = np.zeros_like(point.variables)
    left = -point.gradient
    way = point.spread * left
    size = dot(left, way)
    enough = share**2 * size
    for _ in range(MOST_PRODUCTS):
        curved = objective.curved(point, way)
        curvature = dot(way, curved)
        if curvature <= 0.0:
            break
        step += size / curvature * way
        left -= size / curvature * curved
        scaled = point.spread * left
        before, size = size, dot(left, scaled)
        if size <= enough:
            break
        way = scaled + size / before * way
    return step
