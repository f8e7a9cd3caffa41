"""The parser of JSON lines, compiled; jsonl.py says what a line means."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.hashing import xxh64
from rarefy.jit import compiled, helper
from rarefy.jit.intrinsics import load_word, store_word
from rarefy.readers.buffers import BatchBuffer, end_row
from rarefy.readers.feature_names import ABSENT, EQUALS, Names, note_name, wants_name
from rarefy.readers.features.grams import WordsSoFar, problem_of, room_for_words
from rarefy.readers.features.labels import number_of_label
from rarefy.readers.features.value_texts import FLOATS, TRUTHS
from rarefy.readers.features.words import WordTables, add_words
from rarefy.readers.formats.json_values import (
    DOUBLE_QUOTE,
    LOWER_F,
    LOWER_N,
    LOWER_T,
    decode_string,
    literal_end,
)
from rarefy.readers.line_errors import INVALID
from rarefy.readers.parsed import Parsed, Problem
from rarefy.readers.text.decimals import POINT, ZERO
from rarefy.readers.text.numbers import COLON, MINUS, NEWLINE, parse_number, skip_blanks

DEEPEST = 64
COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT = 44, 91, 93, 123, 125
UNNAMED, LABEL, WEIGHT, TEXT, CATEGORICAL, NUMERIC, IGNORED = range(7)
FORMS = (None, FLOATS, *TRUTHS)
USUAL_FORM, FLOAT_FORM = 0, 1
CAPITAL = 32  # what a letter is less, if it is one
BEHIND = 32  # bytes behind a text that may be looked at or written to


class Plan(NamedTuple):
    """What the columns are; the kind of any other is inferred from its value."""

    columns: NDArray[np.uint64]  # hashes of their paths
    kinds: NDArray[np.uint8]
    forms: NDArray[np.uint8]  # of values that are not text: a place in FORMS
    label_needed: bool
    weight_needed: bool
    complete: bool  # a column that is not in it is passed over
    tables: WordTables


class Levels(NamedTuple):
    """The objects and arrays that a place is in, from the outermost one on."""

    closings: NDArray[np.uint8]  # the byte that ends it
    path_ends: NDArray[np.int64]
    seeds: NDArray[np.uint64]  # hash of the path
    kinds: NDArray[np.int64]
    n_elements: NDArray[np.int64]  # of an array, so far


def new_levels() -> Levels:
    return Levels(
        np.empty(DEEPEST, np.uint8),
        np.empty(DEEPEST, np.int64),
        np.zeros(DEEPEST, np.uint64),
        np.empty(DEEPEST, np.int64),
        np.empty(DEEPEST, np.int64),
    )


class Scratch(NamedTuple):
    """Where the path of a member, its value as text, the words of that, and levels are written.

    A label that is a word is kept to the end of its row, with its length. `unknown` is where the
    first row begins that has a column which is passed over, or ABSENT.
    """

    path: NDArray[np.uint8]
    text: NDArray[np.uint8]
    words: WordsSoFar
    levels: Levels
    label: NDArray[np.uint8]
    label_size: NDArray[np.int64]
    unknown: NDArray[np.int64]


def scratch_for(n_bytes: int) -> Scratch:
    """What lines need of up to so many bytes; most of it never becomes memory."""
    size = n_bytes + BEHIND
    path, text, label = (np.empty(size, np.uint8) for _ in range(3))
    label_size, unknown = np.zeros(1, np.int64), np.full(1, ABSENT, np.int64)
    return Scratch(path, text, room_for_words(size), new_levels(), label, label_size, unknown)


@helper
def kind_of(columns: Any, kinds: Any, column: Any, depth: int, complete: bool) -> Any:
    """What a column is; label and importance are such in the outermost object only."""
    inner = IGNORED if complete else UNNAMED
    for n in range(len(columns)):
        if columns[n] == column:
            kind = np.int64(kinds[n])
            return inner if depth > 0 and kind in (LABEL, WEIGHT) else kind
    return UNNAMED


@helper
def in_form(text: Any, size: int, columns: Any, forms: Any, column: Any) -> int:
    """Rewrite a number, true or false in text[:size] in the form of a column; the new size."""
    form = 0
    for n in range(len(columns)):
        if columns[n] == column:
            form = forms[n]
    if text[0] in (LOWER_T, LOWER_F):
        if form > FLOAT_FORM:
            text[0] -= CAPITAL
            for k in range(1, size if form > FLOAT_FORM + 1 else 0):
                text[k] -= CAPITAL
        return size
    whole = digits_end(text, 1 if text[0] == MINUS else 0, size)
    if whole == size and form == FLOAT_FORM:
        text[size], text[size + 1] = POINT, ZERO
        return size + 2
    if whole < size and form != FLOAT_FORM and text[whole] == POINT:
        after = whole + 1
        while after < size and text[after] == ZERO:
            after += 1
        if after == size:
            size = whole
    if size == 2 and text[0] == MINUS and text[1] == ZERO:
        text[0] = ZERO
        return 1
    return size


@helper
def digits_end(text: Any, i: int, size: int) -> int:
    while i < size and ZERO <= text[i] <= ZERO + 9:
        i += 1
    return i


@helper
def number_in(text: Any, end: int) -> float:
    """The number that text[:end], which is not empty, is; NaN if it is none. Writes behind it."""
    text[end] = NEWLINE
    number, after = parse_number(text, 0)
    return number if after == end else math.nan


@helper
def write_position(text: Any, position: int) -> int:
    """Write a whole number; how many digits it has."""
    n_digits, rest = 1, position
    while rest >= 10:
        rest //= 10
        n_digits += 1
    for at in range(n_digits - 1, -1, -1):
        text[at] = ZERO + position % 10
        position //= 10
    return n_digits


@helper
def parse_object(
    data: Any,
    i: int,
    entry: int,
    buffer: BatchBuffer,
    plan: Plan,
    scratch: Scratch,
    labels_are_words: bool,
) -> tuple[int, int, float, float, Problem]:
    """Write the features of the object whose brace opens at i.

    The entry and the position after it, label and importance, and what is wrong, if something is;
    then the position is that of the fault.
    """
    path, text, words, levels, label_text, label_size, unknown = scratch
    closings, path_ends, seeds, level_kinds, n_elements = levels
    columns, kinds, forms, label_needed, weight_needed, complete, tables = plan
    keys, values, groups, names = buffer.keys, buffer.values, buffer.groups, buffer.names
    label, importance = math.nan, math.nan if weight_needed else 1.0
    depth, is_begun, row_begin = 0, False, i
    label_size[0] = 0
    closings[0], path_ends[0], level_kinds[0] = CLOSE_OBJECT, 0, UNNAMED
    i += 1
    while True:
        i = skip_blanks(data, i)
        if data[i] == closings[depth]:
            i += 1
            if depth == 0:
                return entry, i, label, importance, Problem.NONE
            depth -= 1
            is_begun = True
            continue
        if is_begun:
            if data[i] != COMMA:
                return entry, i, label, importance, Problem.COMMA
            i = skip_blanks(data, i + 1)
        is_begun = True

        kind, seed, path_end = level_kinds[depth], seeds[depth], path_ends[depth]
        is_member = closings[depth] == CLOSE_OBJECT
        if is_member:
            if data[i] != DOUBLE_QUOTE:
                return entry, i, label, importance, Problem.MEMBER
            if depth > 0:
                path[path_end] = POINT
                path_end += 1
            i, path_end, problem = decode_string(data, i + 1, path, path_end)
            if problem != Problem.NONE:
                return entry, i, label, importance, problem
            i = skip_blanks(data, i)
            if data[i] != COLON:
                return entry, i, label, importance, Problem.AFTER_NAME
            i = skip_blanks(data, i + 1)
            seed = xxh64(path, 0, path_end, np.uint64(0))
            is_in_ignored = kind == IGNORED
            kind = kind_of(columns, kinds, seed, depth, complete)
            if is_in_ignored and kind == UNNAMED:
                kind = IGNORED
        else:
            n_elements[depth] += 1

        begin, first = i, data[i]
        if first in (OPEN_OBJECT, OPEN_ARRAY):
            if kind == LABEL and label_needed:
                return entry, i, label, importance, Problem.NO_LABEL
            if kind == WEIGHT:
                return entry, i, label, importance, Problem.IMPORTANCE
            if kind == LABEL:
                label, kind = math.nan, IGNORED
                label_size[0] = 0
            depth += 1
            if depth == DEEPEST:
                return entry, i, label, importance, Problem.TOO_DEEP
            closings[depth] = CLOSE_OBJECT if first == OPEN_OBJECT else CLOSE_ARRAY
            path_ends[depth], seeds[depth] = path_end, seed
            level_kinds[depth], n_elements[depth] = kind, 0
            i += 1
            is_begun = False
            continue

        is_string = first == DOUBLE_QUOTE
        if is_string:
            i, size, problem = decode_string(data, i + 1, text, 0)
            if problem != Problem.NONE:
                return entry, i, label, importance, problem
        else:
            i = literal_end(data, begin)
            if i == begin:
                return entry, i, label, importance, Problem.JSON_VALUE
            size = i - begin
            for k in range(0, size, 8):
                store_word(text, k, load_word(data, begin + k))
        if kind == IGNORED:
            continue
        if size == 0 or first == LOWER_N:
            if kind == LABEL:
                label = math.nan
                label_size[0] = 0
            elif kind == WEIGHT:
                importance = math.nan
            continue
        if complete and kind == UNNAMED:
            if unknown[0] == ABSENT:
                unknown[0] = row_begin
            continue
        if kind == TEXT:
            namespace = (path, 0, path_end)
            entry = add_words(buffer, entry, tables, words, text, 0, size, seed, namespace)
            if entry < 0:
                return entry, begin, label, importance, problem_of(entry)
            continue
        if kind == LABEL and labels_are_words:
            for k in range(0, size, 8):
                store_word(label_text, k, load_word(text, k))
            label_size[0] = size
            continue

        value = 1.0
        if kind != CATEGORICAL and not (is_string and kind == UNNAMED):
            if first in (LOWER_T, LOWER_F):
                value = 1.0 if first == LOWER_T else 0.0
            else:
                value = number_in(text, size)
            if kind == LABEL:
                if math.isnan(value) and label_needed:
                    return entry, begin, label, importance, Problem.LABEL
                label = value
                continue
            if kind == WEIGHT:
                if not value >= 0.0:
                    return entry, begin, label, importance, Problem.IMPORTANCE
                importance = value
                continue
            if math.isnan(value):
                problem = Problem.NUMBER if is_string else Problem.VALUE
                return entry, begin, label, importance, problem
            size = 0 if is_member else write_position(text, n_elements[depth] - 1)
        elif complete and not is_string:
            size = in_form(text, size, columns, forms, seed)
        key = xxh64(text, 0, size, seed)
        keys[entry] = key
        values[entry] = value
        if len(groups) > 0:
            groups[entry] = seed
        if wants_name(names, key) and not note_name(
            names, key, path, 0, path_end, EQUALS, text, 0, size
        ):
            return entry, begin, label, importance, Problem.NAMES_FULL
        entry += 1


@compiled
def parse_jsonl(
    data: Any,
    end: int,
    start: Parsed,
    buffer: BatchBuffer,
    plan: Plan,
    scratch: Scratch,
    labels_are_words: bool,
    label_words: Names,
) -> Parsed:
    """Parse whole lines up to `end`, from where `start` has come to, into the buffer.

    Stops at the first fault; the row with the fault leaves no trace.
    """
    row, entry, i, line = start.n_rows, start.n_entries, start.position, start.line
    while i < end:
        row_begin = i
        i = skip_blanks(data, i)
        if data[i] == NEWLINE:
            i += 1
            line += 1
            continue
        if data[i] != OPEN_OBJECT:
            problem = Problem.NOT_UTF8 if data[i] == INVALID else Problem.JSON
            return Parsed(row, buffer.indptr[row], i, line, problem)
        entry, i, label, importance, problem = parse_object(
            data, i, entry, buffer, plan, scratch, labels_are_words
        )
        if problem == Problem.NAMES_FULL:
            return Parsed(row, buffer.indptr[row], row_begin, line, Problem.NAMES_FULL)
        if problem != Problem.NONE:
            if data[i] == NEWLINE:
                problem = Problem.REST_OF_OBJECT
            return Parsed(row, buffer.indptr[row], i, line, problem)
        i = skip_blanks(data, i)
        if data[i] != NEWLINE:
            return Parsed(row, buffer.indptr[row], i, line, Problem.AFTER_OBJECT)
        label_size = scratch.label_size[0]
        if label_size > 0:
            number = number_of_label(label_words, scratch.label, 0, label_size, plan.label_needed)
            if number != ABSENT:
                label = float(number)
            elif plan.label_needed:
                return Parsed(row, buffer.indptr[row], row_begin, line, Problem.NEW_LABEL)
        if math.isnan(label) and plan.label_needed:
            return Parsed(row, buffer.indptr[row], row_begin, line, Problem.NO_LABEL)
        if math.isnan(importance):
            return Parsed(row, buffer.indptr[row], row_begin, line, Problem.IMPORTANCE)
        row = end_row(buffer, row, entry, label, importance, line)
        i += 1
        line += 1
    return Parsed(row, entry, i, line, Problem.NONE)
