"""Dicts read without the detour of a line, compiled; each feature is that of the JSON object.

Only what is plain is read: texts as names; numbers, texts and None as values. Whatever else
there is, and whatever is wrong, is left to the parser of lines, which says so.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.hashing import xxh64
from rarefy.jit import compiled, helper
from rarefy.jit.python_objects import (
    BOOL,
    DICT,
    FLOAT,
    INT,
    NONE,
    STR,
    TYPES,
    copy_text,
    float_value,
    next_item,
    type_address,
    whole_value,
)
from rarefy.readers.buffers import BatchBuffer, end_row
from rarefy.readers.features.grams import NAMES_FULL, WordsSoFar, note_gram, room_for_words
from rarefy.readers.features.words import add_words
from rarefy.readers.formats.jsonl_parser import (
    CATEGORICAL,
    IGNORED,
    LABEL,
    NUMERIC,
    TEXT,
    UNNAMED,
    WEIGHT,
    Plan,
    kind_of,
)

LONGEST_TEXT = 1 << 12  # bytes of a name or a value
LARGEST_WHOLE = float(1 << 53)
NOT_PLAIN = -9  # as NAMES_FULL, no number of entries


class DictScratch(NamedTuple):
    """What is needed on the way."""

    types: NDArray[np.int64]  # addresses, in the order of TYPES
    name: NDArray[np.uint8]
    text: NDArray[np.uint8]
    words: WordsSoFar
    size: NDArray[np.int64]
    position: NDArray[np.int64]
    item: NDArray[np.int64]


def dict_scratch() -> DictScratch:
    return DictScratch(
        np.array(TYPES, np.int64),
        np.zeros(LONGEST_TEXT, np.uint8),
        np.zeros(LONGEST_TEXT, np.uint8),
        room_for_words(LONGEST_TEXT),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(2, np.int64),
    )


@helper
def _type_number(types: Any, address: Any) -> int:
    found = type_address(address)
    for number in range(len(types)):
        if types[number] == found:
            return number
    return len(types)


@helper
def add_dict(row: Any, plan: Plan, scratch: DictScratch, buffer: BatchBuffer, entry: int) -> int:
    """Write the features of a dict from an entry on; the entry after them, or what is in the way.

    That is NOT_PLAIN, or NAMES_FULL where names are noted.
    """
    types, name, text, words, size, position, item = scratch
    keys, values = buffer.keys, buffer.values
    if _type_number(types, row) != DICT:
        return NOT_PLAIN
    position[0] = 0
    while next_item(row, position, item) != 0:
        if _type_number(types, item[0]) != STR or entry == len(keys):
            return NOT_PLAIN
        name_end = copy_text(item[0], name, size)
        if name_end < 0:
            return NOT_PLAIN
        seed = xxh64(name, 0, name_end, np.uint64(0))
        kind = kind_of(plan.columns, plan.kinds, seed, 0, plan.complete)
        value_type = _type_number(types, item[1])
        if kind in (LABEL, WEIGHT, IGNORED) or value_type == NONE:
            continue
        if value_type == STR:
            n_bytes = copy_text(item[1], text, size)
            if n_bytes == 0:
                continue
            if n_bytes < 0:
                return NOT_PLAIN
            if kind == TEXT:
                if entry + n_bytes + 2 > len(keys):
                    return NOT_PLAIN
                entry = add_words(
                    buffer, entry, plan.tables, words, text, 0, n_bytes, seed, (name, 0, name_end)
                )
                if entry < 0:
                    return NAMES_FULL if entry == NAMES_FULL else NOT_PLAIN
                continue
            if kind != CATEGORICAL and (kind != UNNAMED or plan.complete):
                return NOT_PLAIN
            keys[entry], values[entry] = xxh64(text, 0, n_bytes, seed), 1.0
            if not note_gram(buffer, entry, text, 0, n_bytes, (name, 0, name_end)):
                return NAMES_FULL
            entry += 1
            continue
        if value_type == FLOAT:
            value = float_value(item[1])
            if math.isnan(value):
                return NOT_PLAIN
        elif value_type in (INT, BOOL):
            value = whole_value(item[1])
        else:
            return NOT_PLAIN
        is_number = kind == NUMERIC or (kind == UNNAMED and not plan.complete)
        if not is_number or not abs(value) <= LARGEST_WHOLE:
            return NOT_PLAIN
        keys[entry], values[entry] = xxh64(text, 0, 0, seed), value
        if not note_gram(buffer, entry, text, 0, 0, (name, 0, name_end)):
            return NAMES_FULL
        entry += 1
    return entry


@compiled
def read_dicts(dicts: Any, plan: Plan, scratch: DictScratch, buffer: BatchBuffer) -> int:
    """Write rows, given by the addresses of dicts; the number of entries, or what is in the way."""
    entry = 0
    for row in range(len(dicts)):
        entry = add_dict(dicts[row], plan, scratch, buffer, entry)
        if entry < 0:
            break
        end_row(buffer, row, entry, math.nan, 1.0, row + 1)
    return entry
