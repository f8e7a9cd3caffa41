"""Vowpal Wabbit's text: `[label [importance]] ['tag] |namespace[:weight] name[:value] ... |...`.

A value is 1 if it is not given, and is multiplied by the weight of its namespace. The key of a
feature is the hash of its name, seeded by the namespace (see hashing.py); in the namespace without
a name, a name that is a whole number of up to 19 digits is its own key, as in svmlight. A row
without a label is a row to predict: its label is NaN. A tag begins with ' or touches the bar.
"""

import math
from typing import Any

import numpy as np

from rarefy.hashing import xxh64
from rarefy.jit import compiled_in_place, helper
from rarefy.readers.batch import Parsed, Problem, Room
from rarefy.readers.names import EQUALS, note_name
from rarefy.readers.numbers import (
    BAR,
    COLON,
    NEWLINE,
    QUOTE,
    is_blank,
    line_end,
    parse_index,
    parse_number,
    skip_blanks,
)


@helper
def ends_name(byte: Any) -> bool:
    return is_blank(byte) or byte in (COLON, BAR, NEWLINE)


@helper
def ends_token(byte: Any) -> bool:
    return is_blank(byte) or byte in (BAR, NEWLINE)


@helper
def name_end(data: Any, i: int) -> int:
    while not ends_name(data[i]):
        i += 1
    return i


@helper
def parse_name(data: Any, i: int, seed: Any, has_namespace: bool) -> tuple[Any, int, bool]:
    """The key of the name at i, the position after it, and whether it is more than an index."""
    if not has_namespace:
        index, after = parse_index(data, i)
        if after > i and ends_name(data[after]):
            return index, after, False
    after = name_end(data, i)
    return xxh64(data, i, after, seed), after, True


@compiled_in_place
def parse_vw(data: Any, end: int, start: Parsed, room: Room) -> Parsed:
    """Parse whole lines up to `end`, from where `start` has come to, into the room.

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

        label, importance, n_numbers = np.nan, 1.0, 0
        while data[i] != BAR:
            if data[i] == NEWLINE:
                return Parsed(row, room.indptr[row], i, line, Problem.BEFORE_BAR)
            begin = i
            token_end = name_end(data, i)
            while data[token_end] == COLON:
                token_end = name_end(data, token_end + 1)
            if data[begin] == QUOTE or data[token_end] == BAR:
                i = skip_blanks(data, token_end)
                if data[i] != BAR:
                    return Parsed(row, room.indptr[row], i, line, Problem.BEFORE_BAR)
                continue
            number, i = parse_number(data, i)
            if n_numbers == 0:
                if math.isnan(number) or i != token_end:
                    return Parsed(row, room.indptr[row], i, line, Problem.LABEL)
                label = number
            elif n_numbers == 1:
                if not number >= 0.0 or i != token_end:
                    return Parsed(row, room.indptr[row], begin, line, Problem.IMPORTANCE)
                importance = number
            else:
                return Parsed(row, room.indptr[row], begin, line, Problem.BEFORE_BAR)
            n_numbers += 1
            i = skip_blanks(data, i)

        while data[i] == BAR:
            i += 1
            begin = i
            i = namespace_end = name_end(data, i)
            has_namespace = i > begin
            seed = xxh64(data, begin, i, np.uint64(0)) if has_namespace else np.uint64(0)
            weight = 1.0
            if data[i] == COLON:
                weight, i = parse_number(data, i + 1)
                if math.isnan(weight) or not ends_token(data[i]):
                    return Parsed(row, room.indptr[row], i, line, Problem.NAMESPACE_VALUE)
            i = skip_blanks(data, i)
            while data[i] != BAR and data[i] != NEWLINE:
                first = i
                key, i, is_named = parse_name(data, i, seed, has_namespace)
                last = i
                value = weight
                if data[i] == COLON:
                    value, i = parse_number(data, i + 1)
                    value *= weight
                    if not math.isfinite(value):
                        return Parsed(row, room.indptr[row], i, line, Problem.VALUE)
                if not ends_token(data[i]):
                    return Parsed(row, room.indptr[row], i, line, Problem.AFTER_FEATURE)
                room.keys[entry] = key
                room.values[entry] = value
                if len(room.groups) > 0:
                    room.groups[entry] = seed
                if is_named and not note_name(
                    room.names, key, data, begin, namespace_end, EQUALS, data, first, last
                ):
                    return Parsed(row, room.indptr[row], row_begin, line, Problem.NO_ROOM)
                entry += 1
                i = skip_blanks(data, i)
        room.labels[row] = label
        room.importance[row] = importance
        room.lines[row] = line
        row += 1
        room.indptr[row] = entry
        i = line_end(data, i) + 1
        line += 1
    return Parsed(row, entry, i, line, Problem.NONE)
