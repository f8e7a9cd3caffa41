"""Rules that look at a whole example (`meet`), lane by lane, as engine/loop.py does for one model.

A feature that stands for several columns counts as often in the sums as there are columns.
"""

from typing import Any

import numpy as np

from rarefy.arrays import LARGEST_SCORE, Floats
from rarefy.jit import inlined
from rarefy.jit.lane_intrinsics import clock_of, get, load, parameters_of, put, set_clock
from rarefy.jit.lane_sums import add_terms, clear_step_sums, step_sums_of
from rarefy.jit.sum_tuples import plus, row_zeros, times
from rarefy.lanes.layout import ALIVE, PER_OUTPUT, SCORE, SEES, SLOPE, LaneRows, Seats
from rarefy.model.clock import with_common
from rarefy.model.example import Example
from rarefy.model.multiclass import best_wrong


@inlined
def n_columns(rows: LaneRows, j: int) -> float:
    """How many columns an entry stands for."""
    same = rows.shares[j] == rows.values[j]
    return 1.0 if same else rows.shares[j] / rows.values[j]


@inlined
def stop_if_diverged(lane: int, seats: Seats, score: float, slope: float) -> None:
    fine = abs(score) <= LARGEST_SCORE and abs(slope) <= LARGEST_SCORE
    sees = get(seats.work, SEES, lane)
    if sees != 0.0 and not fine:
        put(seats.work, ALIVE, lane, 0.0)
        put(seats.work, SEES, lane, 0.0)


@inlined
def begin_step_sums(lane: int, seats: Seats) -> None:
    clear_step_sums(seats.rule, seats.work, seats.sums, lane)


@inlined
def add_step_terms(lane: int, seats: Seats, steps: float, terms: Any, n_times: float) -> None:
    add_terms(seats.work, seats.sums, lane, steps, terms, n_times)


@inlined
def _with_class(
    lane: int, seats: Seats, rows: LaneRows, row: int, clock: Any, z: int, n: int, sums: Any
) -> Any:
    """The sums with the row's terms of one of n classes."""
    if len(seats.intercepts) > 0:
        intercept_rule = parameters_of(seats.intercept_rule, seats.intercept_rules, lane)
        old = load(seats.intercept_rule, seats.intercepts, z, lane)
        sums = plus(sums, intercept_rule.row_terms(clock, old, 1.0))
    rule = parameters_of(seats.rule, seats.rules, lane)
    for j in range(rows.indptr[row], rows.indptr[row + 1]):
        old = load(seats.rule, seats.state, np.intp(rows.indices[j]) * n + z, lane)
        terms = rule.row_terms(clock, old, rows.values[j])
        sums = plus(sums, times(n_columns(rows, j), terms))
    return sums


@inlined
def meet(
    lane: int,
    seats: Seats,
    rows: LaneRows,
    row: int,
    score: float,
    y: float,
    slope: float,
    weight: float,
) -> float:
    """The slope that the rule makes of an example with one score."""
    rule = parameters_of(seats.rule, seats.rules, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    sums = _with_class(lane, seats, rows, row, clock, 0, 1, row_zeros(rule))
    value = parameters_of(seats.loss, seats.losses, lane).value(score, y)
    common, slope = rule.meet(clock, Example(score, y, slope, weight, sums, 1.0, 1.0, value))
    sees, later = get(seats.work, SEES, lane), with_common(clock, common)
    set_clock(clock, sees, later, seats.clocks, lane)
    return slope


@inlined
def meet_pair(
    lane: int,
    seats: Seats,
    rows: LaneRows,
    row: int,
    label: int,
    weight: float,
    scores: Floats,
    slopes: Floats,
) -> None:
    """Let the rule change the slopes of the right class and the best wrong one.

    If the loss is not of two scores, nothing happens.
    """
    rule = parameters_of(seats.rule, seats.rules, lane)
    loss = parameters_of(seats.loss, seats.losses, lane)
    if not loss.is_of_two_scores() or get(seats.work, SEES, lane) == 0.0:
        return
    clock = clock_of(seats.clock, seats.clocks, lane)
    rival, n = best_wrong(scores, label), len(scores)
    sums = _with_class(lane, seats, rows, row, clock, label, n, row_zeros(rule))
    sums = _with_class(lane, seats, rows, row, clock, rival, n, sums)
    score = scores[label] - scores[rival]
    example = Example(score, 1.0, slopes[label], weight, sums, 2.0, 1.0, 0.0)
    common, slope = rule.meet(clock, example)
    slopes[label], slopes[rival] = slope, -slope
    set_clock(clock, 1.0, with_common(clock, common), seats.clocks, lane)


@inlined
def meet_class(
    lane: int,
    seats: Seats,
    rows: LaneRows,
    row: int,
    z: int,
    n: int,
    label: int,
    weight: float,
) -> None:
    """Let the rule change the slope of one of n classes, unless the loss is of two scores."""
    rule = parameters_of(seats.rule, seats.rules, lane)
    loss = parameters_of(seats.loss, seats.losses, lane)
    if loss.is_of_two_scores():
        return
    score = get(seats.work, SCORE + PER_OUTPUT * z, lane)
    slope = get(seats.work, SLOPE + PER_OUTPUT * z, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    sums = _with_class(lane, seats, rows, row, clock, z, n, row_zeros(rule))
    y = 1.0 if z == label else -1.0
    common, slope = rule.meet(clock, Example(score, y, slope, weight, sums, 1.0, 1.0 / n, 0.0))
    sees, later = get(seats.work, SEES, lane), with_common(clock, common)
    set_clock(clock, sees, later, seats.clocks, lane)
    put(seats.work, SLOPE + PER_OUTPUT * z, lane, slope)
    stop_if_diverged(lane, seats, score, slope)


@inlined
def conclude(lane: int, seats: Seats) -> None:
    rule = parameters_of(seats.rule, seats.rules, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    common = rule.conclude(clock, step_sums_of(seats.rule, seats.work, seats.sums, lane))
    sees, later = get(seats.work, SEES, lane), with_common(clock, common)
    set_clock(clock, sees, later, seats.clocks, lane)
