"""Probabilities that keep what they promise: scores are scaled by what came of earlier ones.

The score of a row just before it is learned is an honest sample of what the model says of new rows.
So they show by what factor scores are too small, at no extra pass (temperature scaling): of two
classes, the second has the probability 1 / (1 + exp(-slope score)), and of several, each has
exp(slope score) over the sum of that for all classes. There is no offset, so the class that is
predicted is the most probable one.

The slope follows by Online Newton Steps (Hazan, Agarwal and Kale 2007): with the gradient g of a
row's log-loss and H, the sum of g² and a prior, the step is -g/H, which is short however far off a
row is. The model of early rows knew little; the t-th row counts by t to the power of
FADING. Of many rows, some are enough: they take a hundredth of the time of learning.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.jit import compiled, helper

FADING = 3.0
PRIOR = 1.0  # what slope 1 counts, in squared gradients
ALL_OF_FIRST = 8192  # examples; later on, one in STRIDE
STRIDE = 16
LEAST_SLOPE = 1e-6  # a higher score never means less
STEEPEST = 700.0  # whose exponential is finite
LARGEST_COUNT = 2.0**53


class Calibration(NamedTuple):
    """How scores are to be scaled, and what it takes to go on with it."""

    slope: float = 1.0
    squares: float = 0.0  # of gradients, a sum that fades
    weight: float = 0.0  # of the rows that were looked at
    examples: float = 0.0  # that have come

    @property
    def scaling(self) -> float | None:
        """What scores are multiplied by; None: no rows have come yet."""
        return self.slope if self.weight > 0.0 else None

    def after(self, scores: Floats, y: Floats, importance: Floats) -> "Calibration":
        """The calibration when these rows have come, whose scores are those before learning."""
        numbers = np.array(self)
        _observe(scores, y, importance, numbers)
        return Calibration(*numbers.tolist())


def restored(numbers: Any) -> Calibration:
    """The calibration of which a file has these numbers."""
    calibration = Calibration._make(numbers)
    slope, squares, weight, examples = calibration
    right = (
        all(isinstance(number, float) and math.isfinite(number) for number in calibration)
        and slope >= LEAST_SLOPE
        and min(squares, weight, examples) >= 0.0
        and examples < LARGEST_COUNT
    )
    if not right:
        raise ValueError("no rows have led to such a calibration")
    return calibration


@helper
def _stepped(
    slope: float, squares: float, total: float, gradient: float, weight: float
) -> tuple[float, float, float]:
    """Slope, sum of squares and sum of weights after a row with this gradient by the slope."""
    total += weight
    squares = total / (total + FADING * weight) * squares + weight * gradient * gradient
    return max(slope - weight * gradient / (PRIOR + squares), LEAST_SLOPE), squares, total


@helper
def _gradient(scores: Floats, row: int, y: float, slope: float) -> float:
    """The derivative of a row's log-loss by the slope; y is -1 or +1, or the number of a class."""
    if scores.shape[1] == 1:
        score = scores[row, 0]
        return -y * score / (1.0 + math.exp(min(y * slope * score, STEEPEST)))  # type: ignore[no-any-return]
    highest = scores[row, 0]
    for z in range(1, scores.shape[1]):
        highest = max(highest, scores[row, z])
    odds, expected = 0.0, 0.0
    for z in range(scores.shape[1]):
        below = scores[row, z] - highest
        odds += math.exp(slope * below)
        expected += math.exp(slope * below) * below
    return expected / odds - (scores[row, int(y)] - highest)  # type: ignore[no-any-return]


@compiled
def _observe(scores: Floats, y: Floats, importance: Floats, numbers: Floats) -> None:
    """Take a step for each row."""
    _step_rows(scores, y, importance, numbers)


@helper
def _step_rows(scores: Floats, y: Floats, importance: Floats, numbers: Floats) -> None:
    slope, squares, total, examples = numbers[0], numbers[1], numbers[2], int(numbers[3])
    for row in range(len(y)):
        weight = importance[row]
        if weight == 0.0:
            continue
        examples += 1
        if examples > ALL_OF_FIRST and examples % STRIDE:
            continue
        gradient = _gradient(scores, row, y[row], slope)
        slope, squares, total = _stepped(slope, squares, total, gradient, weight)
    numbers[0], numbers[1], numbers[2], numbers[3] = slope, squares, total, float(examples)


def slopes_before(
    calibration: Calibration, scores: Floats, y: Floats, importance: Floats
) -> Floats:
    """The slope just before each row; `calibration` is that before the first."""
    slopes = np.empty(len(y))
    _slopes_before(scores, y, importance, np.array(calibration), slopes)
    return slopes


@compiled
def _slopes_before(
    scores: Floats, y: Floats, importance: Floats, numbers: Floats, out: Floats
) -> None:
    for row in range(len(y)):
        out[row] = numbers[0]
        _step_rows(scores[row : row + 1], y[row : row + 1], importance[row : row + 1], numbers)
