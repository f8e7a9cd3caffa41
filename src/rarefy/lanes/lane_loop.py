"""The loops of engine/loop.py for a block: all its lanes learn a row at once.

A lane does what that loop does with the model by itself, operation by operation. A row that a lane
does not see is played by it, too, for the sake of the others, but leaves nothing behind.
"""

import math
from typing import Any

import numpy as np

from rarefy.arrays import Floats
from rarefy.jit import compiled, inlined
from rarefy.jit.lane_intrinsics import (
    WIDTH,
    clock_of,
    each_lane,
    get,
    load,
    parameters_of,
    prefetch,
    put,
    set_clock,
    store,
)
from rarefy.lanes.lane_examples import (
    add_step_terms,
    begin_step_sums,
    conclude,
    meet,
    meet_class,
    meet_pair,
    n_columns,
    stop_if_diverged,
)
from rarefy.lanes.lane_tally import (
    copy_scores,
    count_feature,
    count_weight,
    tally_classes,
    tally_row,
)
from rarefy.lanes.layout import (
    ALIVE,
    OWN_FOLD,
    PER_OUTPUT,
    SCORE,
    SEES,
    SLOPE,
    STEPS,
    LaneRows,
    Seats,
)
from rarefy.model.clock import next_round
from rarefy.model.importance import PlainUpdate


@inlined
def _see(lane: int, seats: Seats, fold: float) -> None:
    others = get(seats.work, OWN_FOLD, lane) != fold
    put(seats.work, SEES, lane, get(seats.work, ALIVE, lane) if others else 0.0)


@inlined
def _be_judged(lane: int, seats: Seats, fold: float) -> None:
    own = get(seats.work, OWN_FOLD, lane) == fold or math.isnan(fold)
    put(seats.work, SEES, lane, get(seats.work, ALIVE, lane) if own else 0.0)


@inlined
def _begin_score(lane: int, seats: Seats, output: int) -> None:
    rule = parameters_of(seats.intercept_rule, seats.intercept_rules, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    weight = rule.weight(clock, load(seats.intercept_rule, seats.intercepts, output, lane))
    put(seats.work, SCORE + PER_OUTPUT * output, lane, weight)


@inlined
def _zero_score(lane: int, seats: Seats, output: int) -> None:
    put(seats.work, SCORE + PER_OUTPUT * output, lane, 0.0)


@inlined
def _add_to_score(lane: int, seats: Seats, output: int, slot: int, x: float) -> None:
    rule = parameters_of(seats.rule, seats.rules, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    row = SCORE + PER_OUTPUT * output
    weight = rule.weight(clock, load(seats.rule, seats.state, slot, lane))
    put(seats.work, row, lane, get(seats.work, row, lane) + x * weight)


@inlined
def _take_slope(
    lane: int, seats: Seats, rows: LaneRows, row: int, y: float, importance: float, meeting: Any
) -> None:
    loss = parameters_of(seats.loss, seats.losses, lane)
    score = get(seats.work, SCORE, lane)
    steepest = importance * clock_of(seats.clock, seats.clocks, lane).steepest
    slope = min(max(importance * loss.slope(score, y), -steepest), steepest)
    if meeting is not None:
        slope = meet(lane, seats, rows, row, score, y, slope, importance)
    put(seats.work, SLOPE, lane, slope)
    stop_if_diverged(lane, seats, score, slope)


@inlined
def _choose_steps(lane: int, seats: Seats, output: int) -> None:
    rule = parameters_of(seats.rule, seats.rules, lane)
    slope = get(seats.work, SLOPE + PER_OUTPUT * output, lane)
    idle = slope == 0.0 and not rule.steps_without_gradient()
    sees = get(seats.work, SEES, lane)
    put(seats.work, STEPS + PER_OUTPUT * output, lane, 0.0 if idle else sees)


@inlined
def _step_intercept(lane: int, seats: Seats, output: int, concluding: Any) -> None:
    rule = parameters_of(seats.intercept_rule, seats.intercept_rules, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    slope = get(seats.work, SLOPE + PER_OUTPUT * output, lane)
    old = load(seats.intercept_rule, seats.intercepts, output, lane)
    new = rule.step(clock, old, slope, 1.0)
    steps = get(seats.work, STEPS + PER_OUTPUT * output, lane)
    store(seats.intercept_rule, seats.intercepts, output, lane, steps, new)
    if concluding is not None:
        add_step_terms(lane, seats, steps, rule.step_terms(clock, old, new, 1.0), 1.0)


@inlined
def _step(
    lane: int, seats: Seats, output: int, slot: int, x: float, n_times: float, concluding: Any
) -> None:
    rule = parameters_of(seats.rule, seats.rules, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    slope = get(seats.work, SLOPE + PER_OUTPUT * output, lane)
    old = load(seats.rule, seats.state, slot, lane)
    new = rule.step(clock, old, slope * x, x)
    steps = get(seats.work, STEPS + PER_OUTPUT * output, lane)
    store(seats.rule, seats.state, slot, lane, steps, new)
    if concluding is not None:
        add_step_terms(lane, seats, steps, rule.step_terms(clock, old, new, x), n_times)


@inlined
def _tick(lane: int, seats: Seats) -> None:
    clock = clock_of(seats.clock, seats.clocks, lane)
    later = next_round(parameters_of(seats.rule, seats.rules, lane), clock)
    set_clock(clock, get(seats.work, SEES, lane), later, seats.clocks, lane)


@inlined
def _take_slopes(
    lane: int,
    seats: Seats,
    rows: LaneRows,
    row: int,
    label: int,
    importance: float,
    scores: Floats,
    slopes: Floats,
    meeting: Any,
) -> None:
    copy_scores(lane, seats, scores)
    loss = parameters_of(seats.loss, seats.losses, lane)
    loss.slopes(scores, label, PlainUpdate(), importance, 0.0, slopes)
    if meeting is not None:
        meet_pair(lane, seats, rows, row, label, importance, scores, slopes)
    for output in range(len(slopes)):
        slope = slopes[output]
        put(seats.work, SLOPE + PER_OUTPUT * output, lane, slope)
        stop_if_diverged(lane, seats, scores[output], slope)


@inlined
def _any(work: Floats, row: int) -> bool:
    found = False
    for lane in range(WIDTH):
        found |= work[row, lane] != 0.0
    return found


@inlined
def _entries(rows: LaneRows, row: int) -> tuple[Any, Any]:
    """Where those of a row begin and end.

    Without a sign, they need not be asked whether they count from the end of an array.
    """
    return np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])


@inlined
def _score_row(seats: Seats, rows: LaneRows, row: int, n_outputs: int, following: int) -> None:
    """Every lane's scores of a row.

    Meanwhile the state of the following row, if there is one, is asked for, entry by entry: asked
    for all at once, memory would be busy first and the processor then.
    """
    for output in range(n_outputs):
        if len(seats.intercepts) > 0:
            each_lane(_begin_score, (seats, output))
        else:
            each_lane(_zero_score, (seats, output))
    begin, end = _entries(rows, row)
    ahead, end_ahead = _entries(rows, following) if following >= 0 else (end, end)
    for j in range(begin, end):
        if ahead < end_ahead:
            prefetch(seats.rule, seats.state, np.intp(rows.indices[ahead]) * n_outputs)
            ahead += np.uint64(1)
        first = np.intp(rows.indices[j]) * n_outputs
        for output in range(n_outputs):
            each_lane(_add_to_score, (seats, output, first + output, rows.shares[j]))
    while ahead < end_ahead:
        prefetch(seats.rule, seats.state, np.intp(rows.indices[ahead]) * n_outputs)
        ahead += np.uint64(1)


@inlined
def _note_scores(seats: Seats, row: int, noted: Floats) -> None:
    """Write every lane's scores of a row, as they are before it is learned."""
    for output in range(noted.shape[1]):
        for lane in range(WIDTH):
            noted[row, output, lane] = seats.work[SCORE + PER_OUTPUT * output, lane]


@inlined
def _step_row(
    seats: Seats, rows: LaneRows, row: int, output: int, n_outputs: int, concluding: Any
) -> None:
    """Every lane's step, for one output."""
    each_lane(_choose_steps, (seats, output))
    if not _any(seats.work, STEPS + PER_OUTPUT * output):
        return
    if len(seats.intercepts) > 0:
        each_lane(_step_intercept, (seats, output, concluding))
    begin, end = _entries(rows, row)
    for j in range(begin, end):
        slot = np.intp(rows.indices[j]) * n_outputs + output
        times = n_columns(rows, j)
        each_lane(_step, (seats, output, slot, rows.values[j], times, concluding))


@compiled
def learn(
    seats: Seats,
    rows: LaneRows,
    folds: Floats,
    order: Any,
    judged: bool,
    far: bool,
    room: Floats,
    noted: Floats,
    meeting: Any,
    concluding: Any,
) -> None:
    """Each lane learns the rows whose fold is not its own, in the given order.

    With `judged` a lane's predictions are tallied before it learns; `far` says that the state does
    not fit the cache, so that it has to be asked for ahead of time; `room` is for two numbers a
    class; `noted` takes the scores before learning, (row, output, lane), unless it has no rows.
    `meeting` is the rule again if it looks at examples as a whole, and `concluding` if it sums over
    steps; each is None otherwise, and of the code for it nothing is compiled.
    """
    for place in range(len(order)):
        row = order[place]
        importance = rows.importance[row]
        if importance == 0.0:
            continue
        each_lane(_see, (seats, folds[row]))
        if not _any(seats.work, SEES):
            continue
        following = order[place + 1] if far and place + 1 < len(order) else -1
        _score_row(seats, rows, row, 1, following)
        each_lane(_take_slope, (seats, rows, row, rows.y[row], importance, meeting))
        if concluding is not None:
            each_lane(begin_step_sums, (seats,))
        if judged:
            tally_row(seats, rows.y[row], importance)
        if len(noted) > 0:
            _note_scores(seats, row, noted)
        _step_row(seats, rows, row, 0, 1, concluding)
        if concluding is not None:
            each_lane(conclude, (seats,))
        each_lane(_tick, (seats,))


@compiled
def learn_classes(
    seats: Seats,
    rows: LaneRows,
    folds: Floats,
    order: Any,
    judged: bool,
    far: bool,
    room: Floats,
    noted: Floats,
    meeting: Any,
    concluding: Any,
) -> None:
    """Each lane learns as in `learn`, with one score, and one weight a feature, for every class."""
    scores, slopes, n_outputs = room[0], room[1], room.shape[1]
    for place in range(len(order)):
        row = order[place]
        importance = rows.importance[row]
        if importance == 0.0:
            continue
        each_lane(_see, (seats, folds[row]))
        if not _any(seats.work, SEES):
            continue
        following = order[place + 1] if far and place + 1 < len(order) else -1
        _score_row(seats, rows, row, n_outputs, following)
        label = int(rows.y[row])
        each_lane(_take_slopes, (seats, rows, row, label, importance, scores, slopes, meeting))
        if concluding is not None:
            each_lane(begin_step_sums, (seats,))
        if judged:
            each_lane(tally_classes, (seats, label, importance, scores))
        if len(noted) > 0:
            _note_scores(seats, row, noted)
        for output in range(n_outputs):
            if meeting is not None:
                each_lane(meet_class, (seats, rows, row, output, n_outputs, label, importance))
            _step_row(seats, rows, row, output, n_outputs, concluding)
        if concluding is not None:
            each_lane(conclude, (seats,))
        each_lane(_tick, (seats,))


@compiled
def judge(seats: Seats, rows: LaneRows, folds: Floats, room: Floats) -> None:
    """Tally each lane's predictions of the rows of its own fold, and of those of no fold."""
    for row in range(len(rows.y)):
        if rows.importance[row] == 0.0:
            continue
        each_lane(_be_judged, (seats, folds[row]))
        if _any(seats.work, SEES):
            _score_row(seats, rows, row, 1, -1)
            tally_row(seats, rows.y[row], rows.importance[row])


@compiled
def judge_classes(seats: Seats, rows: LaneRows, folds: Floats, room: Floats) -> None:
    """Tally as `judge` does, with one score for every class."""
    scores, n_outputs = room[0], room.shape[1]
    for row in range(len(rows.y)):
        if rows.importance[row] == 0.0:
            continue
        each_lane(_be_judged, (seats, folds[row]))
        if _any(seats.work, SEES):
            _score_row(seats, rows, row, n_outputs, -1)
            label = int(rows.y[row])
            each_lane(tally_classes, (seats, label, rows.importance[row], scores))


@compiled
def scores(seats: Seats, rows: LaneRows, out: Floats) -> None:
    """Write every row's scores, (row, output, lane)."""
    for row in range(len(out)):
        _score_row(seats, rows, row, out.shape[1], -1)
        _note_scores(seats, row, out)


@compiled
def count_kept(seats: Seats, sizes: Floats, n_outputs: int) -> None:
    """Tally the weights that are not zero, and the features that have one.

    `sizes` says how many each feature counts for.
    """
    for feature in range(len(sizes)):
        for output in range(n_outputs):
            slot = feature * n_outputs + output
            each_lane(count_weight, (seats, slot, sizes[feature]))
        each_lane(count_feature, (seats,))


@compiled
def weights(seats: Seats, lane: int, out: Floats) -> None:
    """Write the weights of one lane, zeros included."""
    rule = parameters_of(seats.rule, seats.rules, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    for slot in range(len(out)):
        out[slot] = rule.weight(clock, load(seats.rule, seats.state, slot, lane))


@compiled
def intercepts(seats: Seats, lane: int, out: Floats) -> None:
    """Write the intercepts of one lane."""
    rule = parameters_of(seats.intercept_rule, seats.intercept_rules, lane)
    clock = clock_of(seats.clock, seats.clocks, lane)
    for output in range(len(seats.intercepts)):
        old = load(seats.intercept_rule, seats.intercepts, output, lane)
        out[output] = rule.weight(clock, old)
