"""The open-addressing table of a store: from 64-bit keys to slots, with counts.

Counts change with every row, keys do not. So they lie apart: readers' threads look keys up while
rows are learned, and would else wait for each other's cache lines.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compile_methods, compiled, helper
from rarefy.jit.intrinsics import prefetch_item, prefetch_row
from rarefy.probing import first_slot, probe
from rarefy.readers.feature_names import ABSENT, Names, begin_of, find_name
from rarefy.stores.name_texts import append_name

TAKEN = np.uint64(1)
PREFETCHED = 12  # a slot is asked for so many keys before it is needed


class TableIndex(NamedTuple):
    """A table, and what changes when keys come to it."""

    entries: NDArray[np.uint64]  # keys, and whether there is one; none: there is no table
    counts: NDArray[np.uint64]  # in how many examples each occurred
    n_features: NDArray[np.int64]  # one number
    most_features: int
    name_at: NDArray[np.int64]  # by slot; none: names are not kept
    name_text: NDArray[np.uint8]
    n_name_bytes: NDArray[np.int64]  # one number: how much of the text is used


NO_TABLE = TableIndex(
    np.empty((0, 2), np.uint64),
    np.empty(0, np.uint64),
    np.zeros(1, np.int64),
    0,
    np.empty(0, np.int64),
    np.empty(0, np.uint8),
    np.zeros(1, np.int64),
)


@compile_methods
class _Entries(NamedTuple):
    """Keys, and whether their slot is taken."""

    entries: NDArray[np.uint64]

    def n_slots(self) -> int:
        return len(self.entries)

    def is_slot_of(self, key: Any, at: Any) -> Any:
        """Whether a key is in a slot, or would be put there."""
        return self.entries[at, 1] == 0 or self.entries[at, 0] == key


@helper
def slot_of(entries: Any, key: Any) -> Any:
    """Where the key is in the table, or where it would be put."""
    return probe(_Entries(entries), key, first_slot(key, len(entries)))


@helper
def _has_at(entries: Any, key: Any, slot: Any) -> Any:
    """Whether the table has the key in that slot, which may be ABSENT."""
    return slot != ABSENT and entries[slot, 0] == key and entries[slot, 1] != 0


@compiled
def locate(keys: Any, entries: Any, slots: Any, are_guesses: bool) -> None:
    """Write the slot of each key, or ABSENT; right guesses are left."""
    for j in range(len(keys)):
        if are_guesses and _has_at(entries, keys[j], np.intp(slots[j])):
            continue
        if j + PREFETCHED < len(keys):
            prefetch_row(entries, np.intp(first_slot(keys[j + PREFETCHED], len(entries))))
        at = slot_of(entries, keys[j])
        slots[j] = np.int32(at) if entries[at, 1] != 0 else ABSENT


@compiled
def locate_or_insert(
    indptr: Any,
    keys: Any,
    row: int,
    entries: Any,
    counts: Any,
    n_features: int,
    most_features: int,
    names: Names,
    name_at: Any,
    name_text: Any,
    name_bytes: int,
    slots: Any,
    are_guesses: bool,
) -> tuple[int, int, int]:
    """Write the slots of rows from `row` on, giving slots to new keys, while there is room.

    If there are guesses in `slots`, keys are looked for only where these are wrong. The row to go
    on with, the number of features, and of bytes of names, afterwards.
    """
    while row < len(indptr) - 1:
        begin, end = indptr[row], indptr[row + 1]
        if n_features + (end - begin) > most_features:
            n_new = 0
            for j in range(begin, end):
                n_new += entries[slot_of(entries, keys[j]), 1] == 0
            if n_features + n_new > most_features:
                break
        for j in range(begin, end):
            if are_guesses:
                if j + PREFETCHED < len(keys):
                    coming = np.intp(max(slots[j + PREFETCHED], 0))
                    prefetch_row(entries, coming)
                    prefetch_item(counts, coming)
                if _has_at(entries, keys[j], np.intp(slots[j])):
                    counts[np.intp(slots[j])] += np.uint64(1)
                    continue
            if j + PREFETCHED < len(keys):
                coming = np.intp(first_slot(keys[j + PREFETCHED], len(entries)))
                prefetch_row(entries, coming)
                prefetch_item(counts, coming)
            at = slot_of(entries, keys[j])
            if entries[at, 1] == 0:
                entries[at, 0], entries[at, 1] = keys[j], TAKEN
                n_features += 1
                if len(name_at) > 0:
                    name = find_name(names, keys[j])
                    if name != ABSENT:
                        name_at[at] = name_bytes
                        name_bytes = append_name(
                            name_text,
                            name_bytes,
                            names.text,
                            begin_of(names, name),
                            names.ends[name],
                        )
            counts[at] += np.uint64(1)
            slots[j] = np.int32(at)
        row += 1
    return row, n_features, name_bytes


@compiled
def insert_all(keys: Any, entries: Any, slots: Any) -> None:
    """Put keys, all different, into a table without them, and write their slots."""
    for j in range(len(keys)):
        at = slot_of(entries, keys[j])
        entries[at, 0], entries[at, 1] = keys[j], TAKEN
        slots[j] = np.int32(at)
