"""The learning loop: read a row, predict, take the slope of the loss, let the rule step.

State is an array with one row per coordinate (all that a rule knows about it, in one or two cache
lines). With C classes the coordinate of feature i and class z has row i * C + z.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import LARGEST_SCORE, Floats, Rows
from rarefy.engine.multiclass_examples import meet_class, meet_pair
from rarefy.jit import compiled, inlined
from rarefy.jit.intrinsics import lay_out, load, prefetch, store, take_up
from rarefy.jit.sum_tuples import plus, row_zeros, step_zeros, times
from rarefy.model.answers import is_right, is_right_class, is_right_for_endowment
from rarefy.model.clock import Clock, next_round, with_common
from rarefy.model.example import Example

# Entries from the one whose weight is asked for to the one that is fetched from memory. It is
# unsigned, like all entries: of signed ones the compiler asks whether they count from the end.
FETCHED_AHEAD = np.uint64(64)


@compiled
def learn(
    rule: Any,
    intercept_rule: Any,
    loss: Any,
    weighting: Any,
    rows: Rows,
    clock: Clock,
    state: Floats,
    intercept: Floats,
    progress: Floats,
    predictions: Floats,
    far: bool,
    meeting: Any,
    concluding: Any,
    bench: Floats | None,
) -> tuple[Clock, int]:
    """Learn the rows in order; the clock afterwards and how many rows went well.

    `intercept` has one row of state, or none; `progress` gathers the weighted sum of losses, the
    sum of weights, and that of right answers; `predictions`, the score of each row just before it
    was learned; `far` says that the state does not fit the cache, so that asking for coordinates
    ahead of time pays. `meeting` is the rule again if it looks at examples as a whole, and
    `concluding` if it sums over steps; `bench` has room for the state of a row, (field, entry), if
    coordinates step together. Each is None otherwise, and of the code for it nothing is compiled.
    """
    n_rows, last = len(rows.y), np.uint64(len(rows.indices) - 1)
    for row in range(n_rows):
        importance = rows.importance[row]
        if importance == 0.0:
            continue
        begin, end = np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])
        before, clock = clock, next_round(rule, clock)

        score, squares, sums = 0.0, 0.0, row_zeros(rule)
        if len(intercept) > 0:
            old = load(intercept_rule, intercept, 0)
            score = intercept_rule.weight(clock, old)
            squares = 1.0
            if meeting is not None:
                sums = plus(sums, intercept_rule.row_terms(clock, old, 1.0))
        for j in range(begin, end):
            if far:
                prefetch(rule, state, np.intp(rows.indices[min(j + FETCHED_AHEAD, last)]))
            slot, x = np.intp(rows.indices[j]), rows.values[j]
            old = load(rule, state, slot)
            if bench is not None:
                lay_out(rule, bench, np.intp(j - begin), old)
            score += x * rule.weight(clock, old)
            squares += x * x
            if meeting is not None:
                sums = plus(sums, rule.row_terms(clock, old, x))
        predictions[row, 0] = score

        right = is_right_for_endowment(score, rows.y[row])
        clock = weighting.endowment.clock(rule, before, clock, right)
        weight = weighting.endowment.importance(importance, right)
        slope = weighting.update.slope(loss, score, rows.y[row], weight, clock.eta * squares)
        slope = min(max(slope, -weight * clock.steepest), weight * clock.steepest)
        if meeting is not None:
            value = loss.value(score, rows.y[row])
            example = Example(score, rows.y[row], slope, weight, sums, 1.0, 1.0, value)
            common, slope = rule.meet(clock, example)
            clock = with_common(clock, common)
        if not (abs(score) <= LARGEST_SCORE and abs(slope) <= LARGEST_SCORE):
            return clock, row
        progress[0] += importance * loss.value(score, rows.y[row])
        progress[1] += importance
        progress[2] += importance * is_right(score, rows.y[row])

        steps = step_zeros(rule)
        if slope != 0.0 or rule.steps_without_gradient():
            if len(intercept) > 0:
                old = load(intercept_rule, intercept, 0)
                new = intercept_rule.step(clock, old, slope, 1.0)
                store(intercept_rule, intercept, 0, new)
                if concluding is not None:
                    steps = plus(steps, intercept_rule.step_terms(clock, old, new, 1.0))
            steps = _step_row(rule, rows, begin, end, clock, state, slope, concluding, bench, steps)
        if concluding is not None:
            clock = _concluded(rule, clock, steps, state)
    return clock, n_rows


@inlined
def _step_row(
    rule: Any,
    rows: Rows,
    begin: Any,
    end: Any,
    clock: Clock,
    state: Floats,
    slope: float,
    concluding: Any,
    bench: Floats | None,
    steps: Any,
) -> Any:
    """Let the coordinates of a row step; the sums over steps with theirs."""
    if bench is not None:
        for entry in range(end - begin):
            x, old = rows.values[begin + entry], take_up(rule, bench, np.intp(entry))
            new = rule.step(clock, old, slope * x, x)
            lay_out(rule, bench, np.intp(entry), new)
            if concluding is not None:
                steps = plus(steps, rule.step_terms(clock, old, new, x))
        for entry in range(end - begin):
            slot = np.intp(rows.indices[begin + entry])
            store(rule, state, slot, take_up(rule, bench, np.intp(entry)))
        return steps
    for j in range(begin, end):
        slot, x = np.intp(rows.indices[j]), rows.values[j]
        old = load(rule, state, slot)
        new = rule.step(clock, old, slope * x, x)
        store(rule, state, slot, new)
        if concluding is not None:
            steps = plus(steps, rule.step_terms(clock, old, new, x))
    return steps


@inlined
def _concluded(rule: Any, clock: Clock, steps: Any, state: Floats) -> Clock:
    """The clock after a row with these sums over its steps."""
    clock = with_common(clock, rule.conclude(clock, steps))
    while rule.is_worn(clock):
        clock = _counted_again(rule, clock, state)
    return clock


@inlined
def _counted_again(rule: Any, clock: Clock, state: Floats) -> Clock:
    """The clock with sums over the states of all coordinates, each as if it was one step."""
    clock = with_common(clock, rule.cleared(clock))
    sums = step_zeros(rule)
    for slot in range(len(state)):
        new = load(rule, state, slot)
        if rule.renews():
            new = rule.renewed(clock, new)
            store(rule, state, slot, new)
        sums = plus(sums, rule.step_terms(clock, times(0.0, new), new, 0.0))
    return with_common(clock, rule.conclude(clock, sums))


@compiled
def learn_classes(
    rule: Any,
    intercept_rule: Any,
    loss: Any,
    weighting: Any,
    rows: Rows,
    clock: Clock,
    state: Floats,
    intercept: Floats,
    progress: Floats,
    predictions: Floats,
    far: bool,
    meeting: Any,
    concluding: Any,
    scores: Floats,
    slopes: Floats,
) -> tuple[Clock, int]:
    """Learn the rows in order, as `learn` does, with a score and a weight per feature a class."""
    n_rows, last = len(rows.y), np.uint64(len(rows.indices) - 1)
    n_classes = len(scores)
    for row in range(n_rows):
        importance = rows.importance[row]
        if importance == 0.0:
            continue
        begin, end = np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])
        before, clock = clock, next_round(rule, clock)

        squares = 1.0 if len(intercept) > 0 else 0.0
        for z in range(n_classes):
            scores[z] = 0.0
            if len(intercept) > 0:
                scores[z] = intercept_rule.weight(clock, load(intercept_rule, intercept, z))
        for j in range(begin, end):
            if far:
                coming = np.intp(rows.indices[min(j + FETCHED_AHEAD, last)])
                prefetch(rule, state, coming * n_classes)
            first = np.intp(rows.indices[j]) * n_classes
            for z in range(n_classes):
                scores[z] += rows.values[j] * rule.weight(clock, load(rule, state, first + z))
            squares += rows.values[j] * rows.values[j]
        for z in range(n_classes):
            predictions[row, z] = scores[z]

        label = int(rows.y[row])
        right = is_right_class(scores, label)
        clock = weighting.endowment.clock(rule, before, clock, right)
        weight = weighting.endowment.importance(importance, right)
        loss.slopes(scores, label, weighting.update, weight, clock.eta * squares, slopes)
        parts = (rule, intercept_rule, loss, rows.indices, rows.values, state, intercept)
        if meeting is not None:
            clock = meet_pair(parts, begin, end, clock, label, weight, scores, slopes)
        for z in range(n_classes):
            if not (abs(scores[z]) <= LARGEST_SCORE and abs(slopes[z]) <= LARGEST_SCORE):
                return clock, row
        progress[0] += importance * loss.value(scores, label)
        progress[1] += importance
        progress[2] += importance * right

        steps = step_zeros(rule)
        for z in range(n_classes):
            if meeting is not None:
                clock = meet_class(parts, begin, end, clock, z, label, weight, scores, slopes)
                if not abs(slopes[z]) <= LARGEST_SCORE:
                    return clock, row
            if slopes[z] == 0.0 and not rule.steps_without_gradient():
                continue
            slope = slopes[z]
            steps = _step_class(parts, begin, end, clock, z, n_classes, slope, concluding, steps)
        if concluding is not None:
            clock = _concluded(rule, clock, steps, state)
    return clock, n_rows


@inlined
def _step_class(
    parts: Any,
    begin: Any,
    end: Any,
    clock: Clock,
    z: int,
    n_classes: int,
    slope: float,
    concluding: Any,
    steps: Any,
) -> Any:
    """Let the coordinates of a row step for one class; the sums over steps with theirs."""
    rule, intercept_rule, _, indices, values, state, intercept = parts
    if len(intercept) > 0:
        old = load(intercept_rule, intercept, z)
        new = intercept_rule.step(clock, old, slope, 1.0)
        store(intercept_rule, intercept, z, new)
        if concluding is not None:
            steps = plus(steps, intercept_rule.step_terms(clock, old, new, 1.0))
    for j in range(begin, end):
        slot, x = np.intp(indices[j]) * n_classes + z, values[j]
        old = load(rule, state, slot)
        new = rule.step(clock, old, slope * x, x)
        store(rule, state, slot, new)
        if concluding is not None:
            steps = plus(steps, rule.step_terms(clock, old, new, x))
    return steps


@compiled
def scores(
    rule: Any, indptr: Any, indices: Any, values: Floats, clock: Clock, state: Floats, out: Floats
) -> None:
    """Add every row's scores, one per class, to `out`; the clock is that of the coming round."""
    n_rows, n_classes = out.shape
    for row in range(n_rows):
        for j in range(indptr[row], indptr[row + 1]):
            first = np.intp(indices[j]) * n_classes
            for z in range(n_classes):
                out[row, z] += values[j] * rule.weight(clock, load(rule, state, first + z))


def total_loss(
    loss: Any, scores: Floats, y: Floats, importance: Floats, of_rows: Floats | None = None
) -> float:
    """The weighted sum of the losses of rows whose scores, (row, output), are known.

    `of_rows`, if they are wanted, gets the weighted loss of each row.
    """
    total = _total_loss if scores.shape[1] == 1 else _total_loss_classes
    return total(loss, scores, y, importance, of_rows)


@compiled
def _total_loss(
    loss: Any, scores: Floats, y: Floats, importance: Floats, of_rows: Floats | None
) -> float:
    total = 0.0
    for row in range(len(y)):
        weighted = importance[row] * loss.value(scores[row, 0], y[row])
        if of_rows is not None:
            of_rows[row] = weighted
        total += weighted
    return total


@compiled
def _total_loss_classes(
    loss: Any, scores: Floats, y: Floats, importance: Floats, of_rows: Floats | None
) -> float:
    total = 0.0
    for row in range(len(y)):
        weighted = importance[row] * loss.value(scores[row], int(y[row]))
        if of_rows is not None:
            of_rows[row] = weighted
        total += weighted
    return total


@compiled
def settle(rule: Any, clock: Clock, state: Floats) -> None:
    """Sum up all past weights of an averaged rule, before what they depend on changes."""
    for slot in range(len(state)):
        old = load(rule, state, slot)
        if old[-1] > 0.0:  # it has occurred
            store(rule, state, slot, rule.settled(clock, old))


@compiled
def nonzero(
    rule: Any, clock: Clock, state: Floats, slots: NDArray[np.int64], weights: Floats
) -> int:
    """Write the slots with a weight, and the weights, as far as there is room; count them all."""
    count = 0
    for slot in range(len(state)):
        w = rule.weight(clock, load(rule, state, slot))
        if w != 0.0:
            if count < len(slots):
                slots[count] = slot
                weights[count] = w
            count += 1
    return count


@compiled
def used(bits: NDArray[np.uint64], features: NDArray[np.int64]) -> int:
    """Write the rows with a bit that is set, as far as there is room; count them all."""
    count = 0
    for feature in range(len(bits)):
        found = np.uint64(0)
        for j in range(bits.shape[1]):
            found |= bits[feature, j]
        if found != 0:
            if count < len(features):
                features[count] = feature
            count += 1
    return count


@compiled
def usefulness(
    rule: Any, clock: Clock, state: Floats, counts: Any, n_outputs: int, out: Floats
) -> None:
    """The largest |weight| of each feature; below zero where there is none."""
    for slot in range(len(counts)):
        largest = 0.0
        for z in range(n_outputs):
            w = rule.weight(clock, load(rule, state, slot * n_outputs + z))
            largest = max(largest, abs(w))
        if largest == 0.0:
            forgotten = counts[slot] == 0 or rule.forgets_at_zero()
            largest = -np.inf if forgotten else -1.0 / counts[slot]
        out[slot] = largest
