"""From the keys of features to the slots of the state."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.engine import Rows
from rarefy.jit import compiled
from rarefy.readers.batch import Batch
from rarefy.rows import read_only

MOST_BITS = 31
ABSENT = -1


class _Slots:
    """What both kinds of slots share: a row has every slot once."""

    def __init__(self) -> None:
        self._seen = np.full((64, 3), -1, np.int64)

    def _rows(self, batch: Batch, y: NDArray[np.float64], slots: NDArray[np.int32]) -> Rows:
        """Rows for the engine; the batch's arrays are used up."""
        longest = int(np.diff(batch.indptr).max(initial=0))
        if len(self._seen) < 2 * longest:
            self._seen = np.full((4 << longest.bit_length(), 3), -1, np.int64)
        self._seen[:, 0] = -1
        n = _merge(batch.indptr, slots, batch.values, self._seen)
        parts = (batch.indptr, slots[:n], batch.values[:n], y, batch.importance)
        return Rows(*(read_only(part) for part in parts))


class HashedSlots(_Slots):
    """2^bits slots; a key takes the one that its lowest bits name, shared or not.

    Whole numbers below 2^bits, as in svmlight files, thus have a slot each.
    """

    def __init__(self, bits: int) -> None:
        super().__init__()
        self.n_slots = 1 << bits

    def rows(self, batch: Batch, y: NDArray[np.float64]) -> Rows:
        """Rows for the engine: features that share a slot are added up, zeros dropped.

        The batch's arrays are used up.
        """
        mask = np.uint64(self.n_slots - 1)
        return self._rows(batch, y, (batch.keys & mask).astype(np.int32))


class TableSlots(_Slots):
    """A slot for every key that has occurred, in the order in which they came: exact.

    An open-addressing table, at most half full, leads from keys to slots.
    """

    def __init__(self) -> None:
        super().__init__()
        self.n_slots = 0
        self._table_keys = np.zeros(1 << 16, np.uint64)
        self._table_slots = np.full(1 << 16, ABSENT, np.int32)

    def rows(self, batch: Batch, y: NDArray[np.float64], *, learning: bool = True) -> Rows:
        """Rows for the engine; a key that is new gets a slot when learning, and is dropped else."""
        slots = np.empty(len(batch.keys), np.int32)
        if learning:
            self.insert(batch.keys, slots)
        else:
            _find(batch.keys, self._table_keys, self._table_slots, slots)
        return self._rows(batch, y, slots)

    def insert(self, keys: NDArray[np.uint64], slots: NDArray[np.int32]) -> None:
        """Write the slot of each key, giving new ones to keys that have none."""
        while 2 * (self.n_slots + len(keys)) > len(self._table_keys):
            self._enlarge()
        tables = (self._table_keys, self._table_slots)
        self.n_slots = _find_or_insert(keys, *tables, self.n_slots, slots)

    def keys(self) -> NDArray[np.uint64]:
        """The keys by slot."""
        taken = self._table_slots != ABSENT
        keys = np.empty(self.n_slots, np.uint64)
        keys[self._table_slots[taken]] = self._table_keys[taken]
        return keys

    def _enlarge(self) -> None:
        keys, size = self.keys(), 2 * len(self._table_keys)
        self._table_keys = np.zeros(size, np.uint64)
        self._table_slots = np.full(size, ABSENT, np.int32)
        tables = (self._table_keys, self._table_slots)
        _find_or_insert(keys, *tables, 0, np.empty(len(keys), np.int32))


@compiled
def _place(key: Any, table_keys: Any, table_slots: Any) -> int:
    """Where the key is in the table, or where it would be put.

    Keys may be small numbers; multiplying spreads them, and the upper bits of the product are used.
    """
    size_mask = np.uint64(len(table_keys) - 1)
    at = (key * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)) & size_mask
    while table_slots[at] != ABSENT and table_keys[at] != key:
        at = (at + np.uint64(1)) & size_mask
    return at  # type: ignore[no-any-return]


@compiled
def _find(keys: Any, table_keys: Any, table_slots: Any, slots: Any) -> None:
    for j in range(len(keys)):
        slots[j] = table_slots[_place(keys[j], table_keys, table_slots)]


@compiled
def _find_or_insert(keys: Any, table_keys: Any, table_slots: Any, n_slots: int, slots: Any) -> int:
    """Write the slot of each key; the number of slots afterwards."""
    for j in range(len(keys)):
        at = _place(keys[j], table_keys, table_slots)
        if table_slots[at] == ABSENT:
            table_keys[at] = keys[j]
            table_slots[at] = n_slots
            n_slots += 1
        slots[j] = table_slots[at]
    return n_slots


@compiled
def _merge(indptr: Any, slots: Any, values: Any, seen: Any) -> int:
    """Shorten rows in place so that each has every slot once and no zero; the entries left.

    `seen` is a small open-addressing table with (row, slot, position) of what the row has so far;
    entries of earlier rows count as free, so it is never cleared.
    """
    size_mask = len(seen) - 1
    written, begin = 0, 0
    for row in range(len(indptr) - 1):
        end, first = indptr[row + 1], written
        for j in range(begin, end):
            slot = np.int64(slots[j])
            if values[j] == 0.0 or slot == ABSENT:
                continue
            at = slot & size_mask
            while seen[at, 0] == row and seen[at, 1] != slot:
                at = (at + 1) & size_mask
            if seen[at, 0] == row:
                values[seen[at, 2]] += values[j]
                continue
            seen[at, 0], seen[at, 1], seen[at, 2] = row, slot, written
            slots[written] = slot
            values[written] = values[j]
            written += 1
        begin = end
        kept = first
        for j in range(first, written):
            if values[j] != 0.0:
                slots[kept], values[kept] = slots[j], values[j]
                kept += 1
        written = kept
        indptr[row + 1] = written
    return written
