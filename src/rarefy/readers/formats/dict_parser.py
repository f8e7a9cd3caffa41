"""A compiled parser of Python dicts; features are those of the same object in JSON lines.

Only what is plain is read: texts as names; numbers, texts and None as values. Whatever else
there is, and whatever is wrong, is left to the parser of lines, which says so.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.hashing import xxh64
from rarefy.jit import compiled, inlined
from rarefy.jit.python_objects import (
    BOOL,
    DICT,
    FLOAT,
    FLOAT64,
    INT,
    NONE,
    STR,
    TYPES,
    copy_text,
    float_value,
    next_item,
    text_hash,
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
N_KNOWN = 1 << 10  # names that are known by their hashes
NO_HASH = -1  # which no text has


class KnownNames(NamedTuple):
    """What was found out of names, by the last bits of Python's hash of each.

    That is of 64 bits, as keys are, so that what has the same hash is the same name.
    """

    hashes: NDArray[np.int64]
    columns: NDArray[np.uint64]  # hashes of names, as files have them
    keys: NDArray[np.uint64]  # of numbers in such columns
    kinds: NDArray[np.int64]


def no_names() -> KnownNames:
    columns, keys = np.zeros((2, N_KNOWN), np.uint64)
    return KnownNames(np.full(N_KNOWN, NO_HASH), columns, keys, np.zeros(N_KNOWN, np.int64))


class DictScratch(NamedTuple):
    """What is needed on the way."""

    types: NDArray[np.int64]  # addresses, in the order of TYPES
    name: NDArray[np.uint8]
    text: NDArray[np.uint8]
    words: WordsSoFar
    size: NDArray[np.int64]
    position: NDArray[np.int64]
    item: NDArray[np.int64]
    known: KnownNames
    has_words: NDArray[np.int64]  # one number, which becomes 1 where a text is split into words


def dict_scratch() -> DictScratch:
    return DictScratch(
        np.array(TYPES, np.int64),
        np.zeros(LONGEST_TEXT, np.uint8),
        np.zeros(LONGEST_TEXT, np.uint8),
        room_for_words(LONGEST_TEXT),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(2, np.int64),
        no_names(),
        np.zeros(1, np.int64),
    )


@inlined
def _type_number(types: Any, address: Any) -> int:
    found = type_address(address)
    for number in range(len(types)):
        if types[number] == found:
            return number
    return len(types)


@inlined
def _known_at(plan: Plan, scratch: DictScratch) -> int:
    """Where it stands what is known of the name of an item; NOT_PLAIN if it is no proper name."""
    known, address = scratch.known, scratch.item[0]
    found = text_hash(address)
    at = found & (N_KNOWN - 1)
    if known.hashes[at] != found:
        n_bytes = copy_text(address, scratch.name, scratch.size)
        if n_bytes < 0:
            return NOT_PLAIN
        column = xxh64(scratch.name, 0, n_bytes, np.uint64(0))
        known.columns[at] = column
        known.keys[at] = xxh64(scratch.name, 0, 0, column)
        known.kinds[at] = kind_of(plan.columns, plan.kinds, column, 0, plan.complete)
        known.hashes[at] = found
    return at  # type: ignore[no-any-return]


@inlined
def add_dict(row: Any, plan: Plan, scratch: DictScratch, buffer: BatchBuffer, entry: int) -> int:
    """Write the features of a dict from an entry on; the entry after them, or what is in the way.

    That is NOT_PLAIN, or NAMES_FULL where names are noted.
    """
    types, name, text, words, size, position, item, known, has_words = scratch
    keys, values = buffer.keys, buffer.values
    if type_address(row) != types[DICT]:
        return NOT_PLAIN
    are_names_noted, has_groups = len(buffer.names.recent) > 0, len(buffer.groups) > 0
    name_end = 0
    position[0] = 0
    while next_item(row, position, item) != 0:
        if type_address(item[0]) != types[STR] or entry == len(keys):
            return NOT_PLAIN
        at = _known_at(plan, scratch)
        if at < 0:
            return NOT_PLAIN
        seed, kind = known.columns[at], known.kinds[at]
        if are_names_noted or kind == TEXT:
            name_end = copy_text(item[0], name, size)
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
                has_words[0] = 1
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
            if has_groups:
                buffer.groups[entry] = seed
            if are_names_noted and not note_gram(
                buffer, entry, text, 0, n_bytes, (name, 0, name_end)
            ):
                return NAMES_FULL
            entry += 1
            continue
        if value_type in (FLOAT, FLOAT64):
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
        keys[entry], values[entry] = known.keys[at], value
        if has_groups:
            buffer.groups[entry] = seed
        if are_names_noted and not note_gram(buffer, entry, text, 0, 0, (name, 0, name_end)):
            return NAMES_FULL
        entry += 1
    return entry


@compiled
def read_dicts(
    n_rows: Any, dicts: Any, plan: Plan, scratch: DictScratch, buffer: BatchBuffer
) -> int:
    """Write rows, given by the addresses of dicts; the number of entries, or what is in the way."""
    entry = 0
    for row in range(n_rows[0]):
        entry = add_dict(dicts[row], plan, scratch, buffer, entry)
        if entry < 0:
            break
        end_row(buffer, row, entry, math.nan, 1.0, row + 1)
    return entry
