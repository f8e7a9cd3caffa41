"""Probabilities that keep what they promise: scores are scaled by what came of earlier ones.

The score of a row just before it is learned is an honest sample of what the model says of new rows.
So a logistic regression of the labels on these scores (Platt scaling) can be kept up at no extra
pass: of two classes, the second has the probability 1 / (1 + exp(-(slope score + offset))), and of
several, exp(slope score) over the sum of that for all classes.

Slope and offset follow by Online Newton Steps (Hazan, Agarwal and Kale 2007): with the gradient g
of a row's log-loss and H, the sum of g g' and a prior, the step is -H^-1 g, which is short however
far off a row is. The model of early rows knew little; the t-th row counts by t to the power of
FADING. Of many rows, some are enough: they take a hundredth of the time of learning.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.jit import compiled

FADING = 3.0
PRIOR = 1.0  # what slope 1 and offset 0 count, in squared gradients
ALL_OF_FIRST = 8192  # examples; later on, one in STRIDE
STRIDE = 16
LEAST_SLOPE = 1e-6  # a higher score never means less
STEEPEST = 700.0  # whose exponential is finite
LARGEST_COUNT = 2.0**53


class Scaling(NamedTuple):
    """What leads from scores to log-odds; with several classes the offset means nothing."""

    slope: float
    offset: float


class Calibration(NamedTuple):
    """How scores are to be scaled, and what it takes to go on with it."""

    slope: float = 1.0
    offset: float = 0.0
    squares: float = 0.0  # of gradients by the slope; these sums fade
    products: float = 0.0
    offset_squares: float = 0.0
    weight: float = 0.0  # of the rows that were looked at
    examples: float = 0.0  # that have come

    @property
    def scaling(self) -> Scaling | None:
        """None: no rows have come yet."""
        return Scaling(self.slope, self.offset) if self.weight > 0.0 else None

    def after(self, scores: Floats, y: Floats, importance: Floats) -> "Calibration":
        """The calibration when these rows have come, whose scores are those before learning."""
        numbers = np.array(self)
        observe = _observe if scores.shape[1] == 1 else _observe_classes
        observe(scores, y, importance, numbers)
        return Calibration(*numbers.tolist())


def restored(numbers: Any) -> Calibration:
    """The calibration of which a file has these numbers."""
    calibration = Calibration._make(numbers)
    slope, _, squares, products, offset_squares, weight, examples = calibration
    right = (
        all(isinstance(number, float) and math.isfinite(number) for number in calibration)
        and slope >= LEAST_SLOPE
        and min(squares, offset_squares, weight, examples) >= 0.0
        and examples < LARGEST_COUNT
        and products * products < (PRIOR + squares) * (PRIOR + offset_squares)
    )
    if not right:
        raise ValueError("no rows have led to such a calibration")
    return calibration


@compiled
def _observe(scores: Floats, y: Floats, importance: Floats, numbers: Floats) -> None:
    """Take a step for each row of one of two classes, -1 or +1."""
    slope, offset, squares, products, offset_squares, total, _ = numbers
    examples = int(numbers[6])
    for row in range(len(y)):
        weight = importance[row]
        if weight == 0.0:
            continue
        examples += 1
        if examples > ALL_OF_FIRST and examples % STRIDE:
            continue
        score = scores[row, 0]
        margin = y[row] * (slope * score + offset)
        error = -y[row] / (1.0 + math.exp(min(margin, STEEPEST)))
        total += weight
        kept, own = total / (total + FADING * weight), weight * error * error
        squares = kept * squares + own * score * score
        products = kept * products + own * score
        offset_squares = kept * offset_squares + own
        a, c = PRIOR + squares, PRIOR + offset_squares
        step = weight * error / (a * c - products * products)
        slope -= step * (c * score - products)
        offset -= step * (a - products * score)
        if slope < LEAST_SLOPE:  # to the nearest point by H
            offset -= products / c * (LEAST_SLOPE - slope)
            slope = LEAST_SLOPE
    numbers[:] = slope, offset, squares, products, offset_squares, total, float(examples)


@compiled
def _observe_classes(scores: Floats, y: Floats, importance: Floats, numbers: Floats) -> None:
    """Take a step for each row of one of several classes; there is no offset."""
    slope, squares, total, examples = numbers[0], numbers[2], numbers[5], int(numbers[6])
    for row in range(len(y)):
        weight = importance[row]
        if weight == 0.0:
            continue
        examples += 1
        if examples > ALL_OF_FIRST and examples % STRIDE:
            continue
        highest = scores[row, 0]
        for z in range(1, scores.shape[1]):
            highest = max(highest, scores[row, z])
        odds, expected = 0.0, 0.0
        for z in range(scores.shape[1]):
            below = scores[row, z] - highest
            odds += math.exp(slope * below)
            expected += math.exp(slope * below) * below
        gradient = expected / odds - (scores[row, int(y[row])] - highest)
        total += weight
        squares = total / (total + FADING * weight) * squares + weight * gradient * gradient
        slope = max(slope - weight * gradient / (PRIOR + squares), LEAST_SLOPE)
    numbers[0], numbers[2], numbers[5], numbers[6] = slope, squares, total, float(examples)
