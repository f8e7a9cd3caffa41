"""From the keys of features to the slots of the state."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.engine import Rows
from rarefy.jit import compiled
from rarefy.readers.batch import Batch
from rarefy.rows import read_only

MOST_BITS = 31


class HashedSlots:
    """2^bits slots; a key takes the one that its lowest bits name, shared or not.

    Whole numbers below 2^bits, as in svmlight files, thus have a slot each.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.n_slots = 1 << bits
        self._seen = np.full((64, 3), -1, np.int64)

    def rows(self, batch: Batch, y: NDArray[np.float64]) -> Rows:
        """Rows for the engine: features that share a slot are added up, zeros dropped.

        The batch's arrays are used up.
        """
        longest = int(np.diff(batch.indptr).max(initial=0))
        if len(self._seen) < 2 * longest:
            self._seen = np.full((4 << longest.bit_length(), 3), -1, np.int64)
        self._seen[:, 0] = -1
        slots = np.empty(len(batch.keys), np.int32)
        mask = np.uint64(self.n_slots - 1)
        n = _merge(batch.indptr, batch.keys, batch.values, mask, slots, self._seen)
        parts = (batch.indptr, slots[:n], batch.values[:n], y, batch.importance)
        return Rows(*(read_only(part) for part in parts))


@compiled
def _merge(indptr: Any, keys: Any, values: Any, mask: Any, slots: Any, seen: Any) -> int:
    """Write each row's slots, every slot once; shorten rows in place; the number of entries left.

    `seen` is a small open-addressing table with (row, slot, position) of what the row has so far;
    entries of earlier rows count as free, so it is never cleared.
    """
    size_mask = len(seen) - 1
    written, begin = 0, 0
    for row in range(len(indptr) - 1):
        end, first = indptr[row + 1], written
        for j in range(begin, end):
            if values[j] == 0.0:
                continue
            slot = np.int64(keys[j] & mask)
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
