"""Consecutive numbers for keys, in order of first occurrence, compiled."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import read_only
from rarefy.jit import compile_methods, compiled
from rarefy.probing import first_slot, probe


@compile_methods
class _Known(NamedTuple):
    """What has a number; a slot with 0 is free."""

    table: NDArray[np.int32]  # 1 + the number
    keys: NDArray[np.uint64]  # by number

    def n_slots(self) -> int:
        return len(self.table)

    def is_slot_of(self, key: Any, at: Any) -> Any:
        """Whether a key is in a slot, or would be put there."""
        return self.table[at] == 0 or self.keys[self.table[at] - 1] == key


def numbered(keys: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The different ones in the order in which they come, and the number of each key."""
    table = np.zeros(2 << max(len(keys), 1).bit_length(), np.int32)
    known, numbers = np.empty(len(keys), np.uint64), np.empty(len(keys), np.int32)
    n = _number(read_only(keys.astype(np.uint64)), table, known, numbers)
    return known[:n].astype(keys.dtype), numbers


@compiled
def _number(keys: Any, table: Any, known: Any, numbers: Any) -> int:
    """Write the different keys, and the number of each key; how many are different."""
    n = 0
    for j in range(len(keys)):
        at = probe(_Known(table, known), keys[j], first_slot(keys[j], len(table)))
        if table[at] == 0:
            known[n] = keys[j]
            n += 1
            table[at] = n
        numbers[j] = table[at] - 1
    return n
