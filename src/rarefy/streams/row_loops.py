"""A single row, learned or scored in one call: what stores and learners do, without Python between.

The loops are those that batches go through, so that the results are the same to the bit.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import LARGEST_VALUE, Floats, Numbers, Rows
from rarefy.engine import loop as engine
from rarefy.engine import reference
from rarefy.jit import compiled, helper
from rarefy.jit.intrinsics import load
from rarefy.model import calibration
from rarefy.model.clock import Clock, clock_of, next_round, write_clock
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.feature_names import ABSENT
from rarefy.readers.formats.dict_parser import NOT_PLAIN, DictScratch, add_dict
from rarefy.readers.formats.jsonl_parser import Plan
from rarefy.stores import table_index, unique_slots

DONE, UNKNOWN_FEATURE, NOT_TAKEN, DIVERGED = range(4)

_learn = helper(engine.learn.function)  # type: ignore[attr-defined]
_learn_classes = helper(engine.learn_classes.function)  # type: ignore[attr-defined]
_centre = helper(reference._centre.function)  # type: ignore[attr-defined]
_observe = helper(calibration._observe.function)  # type: ignore[attr-defined]
_unique_in_rows = helper(unique_slots.unique_in_rows.function)  # type: ignore[attr-defined]
_are_within = helper(unique_slots.are_within.function)  # type: ignore[attr-defined]
_locate = helper(table_index.locate.function)  # type: ignore[attr-defined]


class RowMemory(NamedTuple):
    """One row, and what is made of it on its way; arrays are longer than most rows."""

    address: Numbers  # of the dict
    plan: Plan  # how to read it
    scratch: DictScratch
    buffer: BatchBuffer  # for its features
    y: Floats
    importance: Floats
    indptr: Numbers
    slots: NDArray[np.int32]
    seen: Numbers
    centred_indptr: Numbers
    centred_slots: NDArray[np.int32]
    centred_values: Floats
    last_row: Numbers  # as many as there are features that are centred
    scores: Floats  # (1, class)
    bench: Floats | None  # (field, entry), if coordinates step together
    work: Floats  # (2, class)


class RowModel(NamedTuple):
    """What a row is learned by."""

    rule: Any
    intercept_rule: Any
    loss: Any
    weighting: Any
    schedule: Any
    entries: NDArray[np.uint64]  # of the table
    state: Floats
    intercept: Floats
    clock: Floats
    calibration: Floats
    progress: Floats
    centred: Numbers  # slots of the features that are learned relative to their means
    means: Floats
    location: float
    far: bool
    meeting: Any  # the rule, if it looks at examples as a whole
    concluding: Any  # the rule, if it sums over steps


@helper
def _placed(model: RowModel, row: RowMemory) -> tuple[int, int]:
    """Read the dict, and lead from keys to slots, each once; how many, and what is in the way."""
    n = add_dict(row.address[0], row.plan, row.scratch, row.buffer)
    if n == NOT_PLAIN or n > len(row.slots):
        return 0, NOT_TAKEN
    keys, values = row.buffer.keys[:n], row.buffer.values[:n]
    row.indptr[0], row.indptr[1] = 0, n
    if not (_are_within(values, LARGEST_VALUE) and _are_within(row.importance, LARGEST_VALUE)):
        return n, NOT_TAKEN
    n_places = 64
    while n_places < 4 * n:
        n_places *= 2
    seen = row.seen[:n_places]
    seen[:] = -1
    n = _unique_in_rows(row.indptr, keys, np.uint64(0xFFFFFFFFFFFFFFFF), values, keys, seen)
    slots = row.slots[:n]
    _locate(keys[:n], model.entries, slots)
    problem = DONE
    for j in range(n):
        if slots[j] == ABSENT:
            problem = UNKNOWN_FEATURE
    return n, problem


@helper
def _rows_to_learn(model: RowModel, row: RowMemory, n: int) -> Rows:
    """The row, relative to the means of the features that are centred."""
    plain = Rows(row.indptr, row.slots[:n], row.buffer.values[:n], row.y, row.importance)
    if len(model.centred) == 0:
        return plain
    row.last_row[:] = -1
    _centre(
        plain,
        model.centred,
        model.means,
        row.last_row,
        row.centred_indptr,
        row.centred_slots,
        row.centred_values,
    )
    n = row.centred_indptr[1]
    return Rows(
        row.centred_indptr, row.centred_slots[:n], row.centred_values[:n], row.y, row.importance
    )


@helper
def _note_learned(model: RowModel, row: RowMemory, clock: Clock, n: int) -> None:
    write_clock(clock, model.clock)
    for j in range(n):
        model.entries[row.slots[j], 1] += np.uint64(1)
    for z in range(row.scores.shape[1]):
        row.scores[0, z] += model.location


@compiled
def learn_row(model: RowModel, row: RowMemory) -> int:
    """Learn a row of two classes, or numbers, if the table has all of its features."""
    n, problem = _placed(model, row)
    if problem != DONE:
        return problem
    row.scores[0, 0] = 0.0
    clock, n_learned = _learn(
        model.rule, model.intercept_rule, model.loss, model.weighting,
        _rows_to_learn(model, row, n), clock_of(model.schedule, model.clock), model.state,
        model.intercept, model.progress, row.scores, model.far, model.meeting, model.concluding,
        row.bench,
    )  # fmt: skip
    if n_learned == 0:
        return DIVERGED
    _note_learned(model, row, clock, n)
    if len(model.calibration) > 0:
        _observe(row.scores, row.y, row.importance, model.calibration)
    return DONE


@compiled
def learn_row_classes(model: RowModel, row: RowMemory) -> int:
    """Learn a row of one of several classes, if the table has all of its features."""
    n, problem = _placed(model, row)
    if problem != DONE:
        return problem
    row.scores[0, :] = 0.0
    clock, n_learned = _learn_classes(
        model.rule, model.intercept_rule, model.loss, model.weighting,
        _rows_to_learn(model, row, n), clock_of(model.schedule, model.clock), model.state,
        model.intercept, model.progress, row.scores, model.far, model.meeting, model.concluding,
        row.work[0], row.work[1],
    )  # fmt: skip
    if n_learned == 0:
        return DIVERGED
    _note_learned(model, row, clock, n)
    if len(model.calibration) > 0:
        _observe(row.scores, row.y, row.importance, model.calibration)
    return DONE


@compiled
def score_row(model: RowModel, row: RowMemory) -> int:
    """Write the scores of a row; features that are not in the table have no weight."""
    n, problem = _placed(model, row)
    if problem == NOT_TAKEN:
        return problem
    clock = next_round(model.rule, clock_of(model.schedule, model.clock))
    n_classes = row.scores.shape[1]
    for z in range(n_classes):
        shift = 0.0
        for k in range(len(model.centred)):
            slot = model.centred[k] * n_classes + z
            shift += model.means[k] * model.rule.weight(clock, load(model.rule, model.state, slot))
        score = model.location
        if len(model.intercept) > 0:
            score += model.intercept_rule.weight(
                clock, load(model.intercept_rule, model.intercept, z)
            )
        score -= shift
        for j in range(n):
            if row.slots[j] != ABSENT:
                slot = np.intp(row.slots[j]) * n_classes + z
                weight = model.rule.weight(clock, load(model.rule, model.state, slot))
                score += row.buffer.values[j] * weight
        row.scores[0, z] = score
    return DONE
