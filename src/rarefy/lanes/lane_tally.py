"""Metrics and weight counts of lanes."""

from rarefy.arrays import Floats
from rarefy.jit import inlined
from rarefy.jit.lane_intrinsics import add, clock_of, each_lane, get, load, parameters_of, put
from rarefy.lanes.layout import (
    EXAMPLES,
    FEATURES,
    FOUND,
    LOSS,
    N_TALLIES,
    PER_OUTPUT,
    RIGHT,
    SCORE,
    SEES,
    SQUARED_ERROR,
    WEIGHTS,
    Seats,
)
from rarefy.model.answers import is_right, is_right_class


@inlined
def tally(lane: int, seats: Seats, y: float, importance: float) -> None:
    """Count a prediction, where the lane sees the row."""
    sees = get(seats.work, SEES, lane) != 0.0
    loss = parameters_of(seats.loss, seats.losses, lane)
    score = get(seats.work, SCORE, lane)
    right = is_right(score, y)
    add(seats.tallies, LOSS, lane, importance * loss.value(score, y) if sees else 0.0)
    add(seats.tallies, EXAMPLES, lane, importance if sees else 0.0)
    add(seats.tallies, RIGHT, lane, importance if sees and right else 0.0)
    squared_error = importance * (score - y) * (score - y)
    add(seats.tallies, SQUARED_ERROR, lane, squared_error if sees else 0.0)


@inlined
def tally_scaled(lane: int, seats: Seats, number: int, y: float, importance: float) -> None:
    """Count the loss of a prediction with the score times one of the scales."""
    sees = get(seats.work, SEES, lane) != 0.0
    loss = parameters_of(seats.loss, seats.losses, lane)
    score = seats.scales[number] * get(seats.work, SCORE, lane)
    scaled = importance * loss.value(score, y) if sees else 0.0
    add(seats.tallies, N_TALLIES + number, lane, scaled)


@inlined
def tally_classes(lane: int, seats: Seats, label: int, importance: float, scores: Floats) -> None:
    """Count a prediction that has a score for every class, where the lane sees the row."""
    if get(seats.work, SEES, lane) == 0.0:
        return
    copy_scores(lane, seats, scores)
    loss = parameters_of(seats.loss, seats.losses, lane)
    seats.tallies[LOSS, lane] += importance * loss.value(scores, label)
    seats.tallies[EXAMPLES, lane] += importance
    seats.tallies[RIGHT, lane] += importance * is_right_class(scores, label)
    for number in range(len(seats.scales)):
        for output in range(len(scores)):
            score = get(seats.work, SCORE + PER_OUTPUT * output, lane)
            scores[output] = seats.scales[number] * score
        seats.tallies[N_TALLIES + number, lane] += importance * loss.value(scores, label)


@inlined
def copy_scores(lane: int, seats: Seats, scores: Floats) -> None:
    """A lane's scores of all classes, side by side."""
    for output in range(len(scores)):
        scores[output] = get(seats.work, SCORE + PER_OUTPUT * output, lane)


@inlined
def count_weight(lane: int, seats: Seats, slot: int, size: float) -> None:
    """Count a weight that is not zero, and keep in mind that its feature has one."""
    rule = parameters_of(seats.rule, seats.rules, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    weight = rule.weight(clock, load(seats.rule, seats.state, slot, lane))
    kept = size if weight != 0.0 else 0.0
    add(seats.tallies, WEIGHTS, lane, kept)
    put(seats.work, FOUND, lane, max(get(seats.work, FOUND, lane), kept))


@inlined
def count_feature(lane: int, seats: Seats) -> None:
    """Count a feature, all of whose weights have been counted."""
    found = get(seats.work, FOUND, lane)
    add(seats.tallies, FEATURES, lane, found)
    put(seats.work, FOUND, lane, 0.0)


@inlined
def tally_row(seats: Seats, y: float, importance: float) -> None:
    """Count every lane's prediction of a row, with the score as it is and times each scale."""
    each_lane(tally, (seats, y, importance))
    for number in range(len(seats.scales)):
        each_lane(tally_scaled, (seats, number, y, importance))
