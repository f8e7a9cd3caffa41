"""Compiled loops of the fast path: look up slots, then learn or score, in one call.

The loops are those that batches go through, so that the results are the same to the bit.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import LARGEST_VALUE, Floats, Numbers, Rows
from rarefy.engine import loop as engine
from rarefy.engine import reference
from rarefy.jit import compile_methods, compiled, helper, inlined
from rarefy.jit.intrinsics import load, prefetch_row
from rarefy.model import calibration
from rarefy.model.clock import Clock, clock_of, next_round, write_clock
from rarefy.probing import first_slot
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.feature_names import ABSENT, Names, begin_of
from rarefy.readers.formats.dict_parser import NOT_PLAIN
from rarefy.stores import hashed, table_index, unique_slots
from rarefy.stores.name_texts import LENGTH_BYTES
from rarefy.stores.table_index import TableIndex, slot_of

DONE, ADDED, UNKNOWN_FEATURE, DIVERGED = range(4)
NOT_TAKEN = NOT_PLAIN  # be it by readers or by models

_learn = helper(engine.learn.function)  # type: ignore[attr-defined]
_learn_classes = helper(engine.learn_classes.function)  # type: ignore[attr-defined]
_centre = helper(reference._centre.function)  # type: ignore[attr-defined]
_observe = helper(calibration._observe.function)  # type: ignore[attr-defined]
_unique_in_rows = helper(unique_slots.unique_in_rows.function)  # type: ignore[attr-defined]
_are_within = helper(unique_slots.are_within.function)  # type: ignore[attr-defined]
_note_owners = helper(hashed.note_owners.function)  # type: ignore[attr-defined]
_locate = helper(table_index.locate.function)  # type: ignore[attr-defined]
_locate_or_insert = helper(table_index.locate_or_insert.function)  # type: ignore[attr-defined]


class RowMemory(NamedTuple):
    """Some rows, and what is made of them on their way; arrays are longer than most rows need."""

    turn: Numbers  # one number: that of the model's lock in which rows may be learned and scored
    n_rows: Numbers  # one number
    n_learned: Numbers  # one number: when weights diverge, how many rows were learned before
    has_words: Numbers  # one number: 0 if no row has a feature twice
    buffer: BatchBuffer  # has the features
    names: Names  # of features that may be new
    may_add: Numbers  # one number; 1: the names are there, or not wanted
    y: Floats
    importance: Floats
    slots: NDArray[np.int32]
    seen: Numbers
    centred_indptr: Numbers
    centred_slots: NDArray[np.int32]
    centred_values: Floats
    last_row: Numbers  # as many as there are features that are centred
    relative_y: Floats
    scores: Floats  # (row, class)
    answer: Floats  # one number: the score of the first row, or the number of its best class
    scoring: Any  # OneScore or SeveralScores


class RowModel(NamedTuple):
    """What rows are learned by."""

    turns: Numbers  # of the model's lock
    is_on: Numbers  # 1: what follows is valid
    rule: Any
    intercept_rule: Any
    loss: Any
    weighting: Any
    schedule: Any
    table: TableIndex  # none: keys are slots
    owners: NDArray[np.uint8]  # of slots that features share; none: they do not
    n_features: int  # there is room for, where keys are slots
    state: Floats
    intercept: Floats
    clock: Floats
    calibration: Floats
    n_examples: Numbers  # that targets were seen of
    targets: Floats  # the last ones; none: they do not matter
    progress: Floats
    centred: Numbers  # slots of the features that are learned relative to their means
    means: Floats
    location: float
    far: bool
    meeting: Any  # the rule, if it looks at examples as a whole
    concluding: Any  # the rule, if it sums over steps


@inlined
def _slots_in_table(model: RowModel, indptr: Any, keys: Any, values: Any, slots: Any) -> int:
    """Lead from keys, each once a row, to slots of the table, and leave out zeros; in one go."""
    entries = model.table.entries
    if model.far:
        for j in range(indptr[-1]):
            prefetch_row(entries, np.intp(first_slot(keys[j], len(entries))))
    n, begin, outside, n_absent = 0, 0, 0, 0
    for row in range(len(indptr) - 1):
        end = indptr[row + 1]
        for j in range(begin, end):
            key, value = keys[j], values[j]
            at = slot_of(entries, key)
            is_there, is_kept = entries[at, 1] != 0, value != 0.0
            keys[n], values[n] = key, value
            slots[n] = np.int32(at) if is_there else ABSENT
            outside += not abs(value) <= LARGEST_VALUE
            n_absent += is_kept and not is_there
            n += is_kept
        begin = end
        indptr[row + 1] = n
    if outside > 0:
        return NOT_TAKEN
    return UNKNOWN_FEATURE if n_absent > 0 else DONE


@inlined
def located(model: RowModel, rows: RowMemory) -> int:
    """Lead from the keys of rows to slots, each once a row; what is in the way."""
    indptr = rows.buffer.indptr[: rows.n_rows[0] + 1]
    if model.turns[0] != rows.turn[0] or model.is_on[0] == 0 or indptr[-1] > len(rows.slots):
        return NOT_TAKEN
    keys, values = rows.buffer.keys[: indptr[-1]], rows.buffer.values[: indptr[-1]]
    if rows.has_words[0] == 0 and len(model.table.entries) > 0:
        return _slots_in_table(model, indptr, keys, values, rows.slots)
    if not _are_within(values, LARGEST_VALUE):
        return NOT_TAKEN
    mask = np.uint64(0xFFFFFFFFFFFFFFFF)
    if len(model.owners) > 0:
        mask = np.uint64(len(model.owners) - 1)
        _note_owners(keys, model.owners)
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    n_slots, needed = 64, 4 * longest
    while n_slots < needed:
        n_slots *= 2
    seen = rows.seen[:n_slots]
    seen[:] = -1
    n = _unique_in_rows(indptr, keys, mask, values, keys, values, True, seen)
    slots = rows.slots[:n]
    if len(model.table.entries) > 0:
        _locate(keys[:n], model.table.entries, slots, False)
    else:
        for j in range(n):
            is_known = keys[j] < np.uint64(model.n_features)
            slots[j] = np.int32(keys[j]) if is_known else ABSENT
    problem = DONE
    for j in range(n):
        if slots[j] == ABSENT:
            problem = UNKNOWN_FEATURE
    return problem


@inlined
def _is_learned_as_it_is(model: RowModel, rows: RowMemory) -> bool:
    """Whether nothing changes by these rows of what rows are learned relative to."""
    n_rows, n = rows.n_rows[0], model.n_examples[0]
    is_within = _are_within(rows.importance[:n_rows], LARGEST_VALUE)
    return is_within and (len(model.targets) == 0 or (n ^ (n + n_rows)) <= n)


@inlined
def _added(table: TableIndex, rows: RowMemory) -> int:
    """Give slots to features that are new, if there is room for all, and count all features."""
    indptr = rows.buffer.indptr[: rows.n_rows[0] + 1]
    keys, slots, names = rows.buffer.keys[: indptr[-1]], rows.slots[: indptr[-1]], rows.names
    n_features, n_bytes = table.n_features[0], table.n_name_bytes[0]
    for j in range(len(slots)):
        n_features += slots[j] == ABSENT
    n_names = names.used[0]
    text_end = n_bytes + begin_of(names, n_names) + LENGTH_BYTES * n_names
    if n_features > table.most_features or text_end > len(table.name_text):
        return UNKNOWN_FEATURE
    _, table.n_features[0], table.n_name_bytes[0] = _locate_or_insert(
        indptr, keys, 0, table.entries, table.counts, table.n_features[0],
        table.most_features, names,
        table.name_at, table.name_text, n_bytes, slots, True,
    )  # fmt: skip
    return ADDED


@inlined
def _located_to_learn(model: RowModel, rows: RowMemory) -> int:
    """Place rows that are learned as they are, with new features if they may come."""
    problem = located(model, rows)
    if problem == NOT_TAKEN or not _is_learned_as_it_is(model, rows):
        return NOT_TAKEN
    if problem == UNKNOWN_FEATURE and rows.may_add[0] != 0:
        return _added(model.table, rows)
    return problem


@inlined
def _rows_to_learn(model: RowModel, rows: RowMemory) -> Rows:
    """The rows, relative to the means of the features that are centred, and to the location."""
    n_rows = rows.n_rows[0]
    n, y = rows.buffer.indptr[n_rows], rows.relative_y[:n_rows]
    for row in range(n_rows):
        y[row] = rows.y[row] - model.location
    importance = rows.importance[:n_rows]
    plain = Rows(
        rows.buffer.indptr[: n_rows + 1], rows.slots[:n], rows.buffer.values[:n], y, importance
    )
    if len(model.centred) == 0:
        return plain
    rows.last_row[:] = -1
    indptr = rows.centred_indptr[: n_rows + 1]
    _centre(
        plain,
        model.centred,
        model.means,
        rows.last_row,
        indptr,
        rows.centred_slots,
        rows.centred_values,
    )
    n = indptr[-1]
    return Rows(indptr, rows.centred_slots[:n], rows.centred_values[:n], y, importance)


@inlined
def _note_learned(model: RowModel, rows: RowMemory, clock: Clock, are_counted: bool) -> None:
    n_rows = rows.n_rows[0]
    write_clock(clock, model.clock)
    if len(model.table.entries) > 0 and not are_counted:
        for j in range(rows.buffer.indptr[n_rows]):
            model.table.counts[rows.slots[j]] += np.uint64(1)
    for row in range(n_rows):
        for z in range(rows.scores.shape[1]):
            rows.scores[row, z] += model.location
        if len(model.targets) > 0 and rows.importance[row] != 0.0:
            model.n_examples[0] += 1
            for k in range(1, len(model.targets)):
                model.targets[k - 1] = model.targets[k]
            model.targets[-1] = rows.y[row]
    if len(model.calibration) > 0:
        scores, y = rows.scores[:n_rows], rows.y[:n_rows]
        _observe(scores, y, rows.importance[:n_rows], model.calibration)


@compile_methods
class OneScore(NamedTuple):
    """How rows of two classes, or numbers, are learned."""

    bench: Floats | None  # (field, entry), if coordinates step together

    def learn(self, model: RowModel, examples: Rows, scores: Floats) -> tuple[Clock, int]:
        """Learn them; the clock after them, and how many were learned before weights diverged."""
        return _learn(  # type: ignore[no-any-return]
            model.rule, model.intercept_rule, model.loss, model.weighting, examples,
            clock_of(model.schedule, model.clock), model.state, model.intercept, model.progress,
            scores, model.far, model.meeting, model.concluding, self.bench,
        )  # fmt: skip


@compile_methods
class SeveralScores(NamedTuple):
    """How rows of several classes are learned."""

    work: Floats  # (2, class)

    def learn(self, model: RowModel, examples: Rows, scores: Floats) -> tuple[Clock, int]:
        """Learn them; the clock after them, and how many were learned before weights diverged."""
        return _learn_classes(  # type: ignore[no-any-return]
            model.rule, model.intercept_rule, model.loss, model.weighting, examples,
            clock_of(model.schedule, model.clock), model.state, model.intercept, model.progress,
            scores, model.far, model.meeting, model.concluding, self.work[0], self.work[1],
        )  # fmt: skip


@compiled
def learn_rows(model: RowModel, rows: RowMemory) -> int:
    """Learn rows, if the model has, or may get, all of their features."""
    found = _located_to_learn(model, rows)
    if found not in (DONE, ADDED):
        return found
    n_rows = rows.n_rows[0]
    rows.scores[:n_rows] = 0.0
    clock, n_learned = rows.scoring.learn(model, _rows_to_learn(model, rows), rows.scores)
    if n_learned < n_rows:
        rows.n_learned[0] = n_learned
        return DIVERGED
    _note_learned(model, rows, clock, found == ADDED)
    return DONE


@compiled
def score_rows(model: RowModel, rows: RowMemory) -> int:
    """Write the scores of rows; features that the model does not have weigh nothing."""
    problem = located(model, rows)
    if problem == NOT_TAKEN:
        return problem
    clock = next_round(model.rule, clock_of(model.schedule, model.clock))
    n_classes, indptr = rows.scores.shape[1], rows.buffer.indptr
    for z in range(n_classes):
        shift = 0.0
        for k in range(len(model.centred)):
            slot = model.centred[k] * n_classes + z
            shift += model.means[k] * model.rule.weight(clock, load(model.rule, model.state, slot))
        intercept = model.location
        if len(model.intercept) > 0:
            intercept += model.intercept_rule.weight(
                clock, load(model.intercept_rule, model.intercept, z)
            )
        intercept -= shift
        for row in range(rows.n_rows[0]):
            score = intercept
            for j in range(indptr[row], indptr[row + 1]):
                if rows.slots[j] != ABSENT:
                    slot = np.intp(rows.slots[j]) * n_classes + z
                    weight = model.rule.weight(clock, load(model.rule, model.state, slot))
                    score += rows.buffer.values[j] * weight
            rows.scores[row, z] = score
    best = 0
    for z in range(1, n_classes):
        if rows.scores[0, z] > rows.scores[0, best]:
            best = z
    rows.answer[0] = rows.scores[0, 0] if n_classes == 1 else np.float64(best)
    return DONE
