"""Calibrated probabilities: scores are scaled by the outcomes of earlier ones.

The score of a row just before it is learned is an honest sample of what the model says of new rows.
So they show by what factor scores are too small, at no extra pass (temperature scaling): of two
classes, the second has the probability 1 / (1 + exp(-slope score)), and of several, each has
exp(slope score) over the sum of that for all classes. There is no offset, so the class that is
predicted is the most probable one.

The slope follows by Online Newton Steps (Hazan, Agarwal and Kale 2007): with the gradient g of a
row's log-loss and H, the sum of g² and a prior, the step is -g/H, which is short however far off a
row is. The model of early rows knew little; the t-th row counts by t to the power of
FADING. Of many rows, some are enough: they take a hundredth of the time of learning.

Of few rows, the slope may be chance. What scaling by it has gained so far, in log-loss of rows that
came later, says how far it can be trusted: the slope in use is 1 until the gain is CAUTION, and
nears the slope that was found as the gain grows, by 1 - CAUTION / gain.

Where rows were held out, their scores tell the slope all at once (`calibrated_by`).
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
CAUTION = 2.0  # nats
MOST_STEPS = 50  # of Newton's method, which takes about six
CLOSE = 1e-6  # of the slope
TRUSTED = 1e12  # the gain of files that do not tell it: their slope is used as it is


class Calibration(NamedTuple):
    """How scores are to be scaled, and what it takes to go on with it."""

    slope: float = 1.0
    squares: float = 0.0  # of gradients, a sum that fades
    weight: float = 0.0  # of the rows that were looked at
    examples: float = 0.0  # that have come
    gain: float = 0.0  # in log-loss, by scaling rows before they were learned, a sum that fades

    @property
    def scaling(self) -> float | None:
        """What scores are multiplied by; None: no rows have come yet."""
        return float(_trusted(self.slope, self.gain)) if self.weight > 0.0 else None

    def anew(self) -> "Calibration":
        """The slope so far, and what it has gained, as what other rows begin with."""
        return Calibration(self.slope, gain=self.gain)

    def after(self, scores: Floats, y: Floats, importance: Floats) -> "Calibration":
        """The calibration when these rows have come, whose scores are those before learning."""
        numbers = np.array(self)
        _observe(scores, y, importance, numbers)
        return Calibration(*numbers.tolist())


def calibrated_by(scores: Floats, y: Floats, importance: Floats) -> Calibration:
    """The calibration by rows that were not learned: where their log-loss and a prior are least.

    Newton's method, within what is known of the slope: the derivative rises.
    """
    below, right = _below_highest(scores, y)
    slope, low, high = 1.0, LEAST_SLOPE, math.inf
    for _ in range(MOST_STEPS):
        expected, variance = _moments(below, slope)
        gradient = float(importance @ (expected - right)) + PRIOR * (slope - 1.0)
        low, high = (slope, high) if gradient < 0.0 else (low, slope)
        before, slope = slope, slope - gradient / (PRIOR + float(importance @ variance))
        if not low <= slope <= high:
            slope = 0.5 * (low + high)
        if abs(slope - before) <= CLOSE * slope:
            break
    expected, _ = _moments(below, slope)
    squares = importance @ (expected - right) ** 2
    gains = _losses(below, right, 1.0) - _losses(below, right, slope)
    counts = importance.sum(), np.count_nonzero(importance)
    return Calibration(*(float(number) for number in (slope, squares, *counts, importance @ gains)))


def _below_highest(scores: Floats, y: Floats) -> tuple[Floats, Floats]:
    """How far scores are below the highest of their row: of all classes, and of the right one."""
    if scores.shape[1] == 1:
        scores, y = np.hstack([np.zeros_like(scores), scores]), np.where(y > 0.0, 1.0, 0.0)
    below = scores - scores.max(axis=1, keepdims=True)
    return below, below[np.arange(len(y)), y.astype(np.int64)]


def _moments(below: Floats, slope: float) -> tuple[Floats, Floats]:
    """Mean and variance of each row's scores, by the probabilities of the classes."""
    odds = np.exp(slope * below)
    shares = odds / odds.sum(axis=1, keepdims=True)
    expected = (shares * below).sum(axis=1)
    return expected, (shares * below**2).sum(axis=1) - expected**2


def _losses(below: Floats, right: Floats, slope: float) -> Floats:
    return np.log(np.exp(slope * below).sum(axis=1)) - slope * right  # type: ignore[no-any-return]


def restored(numbers: Any) -> Calibration:
    """The calibration of which a file has these numbers."""
    has_gain = len(numbers) == len(Calibration._fields)
    calibration = Calibration._make(numbers if has_gain else [*numbers, TRUSTED])
    slope, squares, weight, examples, _ = calibration
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
def _trusted(slope: float, gain: float) -> float:
    """The slope in use: between 1 and the one that was found."""
    return 1.0 + (slope - 1.0) * (1.0 - CAUTION / gain) if gain > CAUTION else 1.0


@helper
def _loss_of_two(margin: float) -> float:
    """log(1 + exp(-margin)), without overflow."""
    return max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))


@helper
def _gradient_and_gain(scores: Floats, row: int, y: float, slope: float) -> tuple[float, float]:
    """The derivative of a row's log-loss by the slope, and by how much scaling lowers that loss.

    y is -1 or +1, or the number of a class.
    """
    if scores.shape[1] == 1:
        margin = y * scores[row, 0]
        gradient = -margin / (1.0 + math.exp(min(slope * margin, STEEPEST)))
        return gradient, _loss_of_two(margin) - _loss_of_two(slope * margin)
    highest = scores[row, 0]
    for z in range(1, scores.shape[1]):
        highest = max(highest, scores[row, z])
    odds, expected, plain_odds = 0.0, 0.0, 0.0
    for z in range(scores.shape[1]):
        below = scores[row, z] - highest
        odds += math.exp(slope * below)
        expected += math.exp(slope * below) * below
        plain_odds += math.exp(below)
    right = scores[row, int(y)] - highest
    return expected / odds - right, math.log(plain_odds / odds) + (slope - 1.0) * right


@compiled
def _observe(scores: Floats, y: Floats, importance: Floats, numbers: Floats) -> None:
    """Take a step for each row."""
    _step_rows(scores, y, importance, numbers)


@helper
def _step_rows(scores: Floats, y: Floats, importance: Floats, numbers: Floats) -> None:
    slope, squares, total, examples = numbers[0], numbers[1], numbers[2], int(numbers[3])
    gained = numbers[4]
    for row in range(len(y)):
        weight = importance[row]
        if weight == 0.0:
            continue
        examples += 1
        if examples > ALL_OF_FIRST and examples % STRIDE:
            continue
        gradient, gain = _gradient_and_gain(scores, row, y[row], slope)
        total += weight
        share = total / (total + FADING * weight)  # that is left of what came before
        squares = share * squares + weight * gradient * gradient
        gained = share * gained + weight * gain
        slope = max(slope - weight * gradient / (PRIOR + squares), LEAST_SLOPE)
    numbers[0], numbers[1], numbers[2], numbers[3] = slope, squares, total, float(examples)
    numbers[4] = gained


def slopes_before(
    calibration: Calibration, scores: Floats, y: Floats, importance: Floats
) -> Floats:
    """The slope in use just before each row; `calibration` is that before the first."""
    slopes = np.empty(len(y))
    _slopes_before(scores, y, importance, np.array(calibration), slopes)
    return slopes


@compiled
def _slopes_before(
    scores: Floats, y: Floats, importance: Floats, numbers: Floats, out: Floats
) -> None:
    for row in range(len(y)):
        out[row] = _trusted(numbers[0], numbers[4])
        _step_rows(scores[row : row + 1], y[row : row + 1], importance[row : row + 1], numbers)
