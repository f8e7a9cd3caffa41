"""Joining entries of a row that have the same slot, compiled."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compile_methods, compiled, inlined
from rarefy.jit.intrinsics import trailing_zeros
from rarefy.probing import SPREAD, probe


@compile_methods
class _Seen(NamedTuple):
    """The numbers of a row's entries, by slot; numbers of earlier rows are free slots."""

    numbers: NDArray[np.int64]
    indices: NDArray[Any]  # of the entries that were not left out
    first_number: int  # of the row
    left_out: int

    def n_slots(self) -> int:
        return len(self.numbers)

    def is_slot_of(self, key: Any, at: Any) -> Any:
        """Whether a key is in a slot, or would be put there."""
        number = self.numbers[at]
        if number < self.first_number:
            return True
        return np.uint64(self.indices[number - self.left_out]) == key


def new_seen(longest_row: int) -> NDArray[np.int64]:
    """What `unique_in_rows` needs for rows of this length: the numbers of entries, by slot."""
    return np.full(max(64, 2 << longest_row.bit_length()), -1, np.int64)


@compiled
def are_within(numbers: Any, largest: float) -> Any:
    """Whether no number is larger, whatever its sign, and all are numbers."""
    outside = np.uint64(0)
    for j in range(len(numbers)):
        outside |= np.uint64(not abs(numbers[j]) <= largest)
    return outside == 0


@compiled
def unique_in_rows(
    indptr: Any,
    keys: Any,
    mask: Any,
    values: Any,
    indices: Any,
    sums: Any,
    in_place: bool,
    seen: NDArray[np.int64],
) -> int:
    """Write each row's indices, key & mask, once each, and the sum of their values; no zeros.

    Indices may take the memory of the keys; sums take that of the values if they are `in_place`.
    Rows move together as they get shorter; the number of entries left is returned. As long as
    indices ascend within a row, as they mostly do in svmlight files, a comparison is enough. `seen`
    is a small open-addressing table of what the row has so far; all bits of a index count in the
    upper bits of a product, which say where to begin to look for it. Entries are numbered through,
    those that were left out too; numbers of earlier rows count as free, so it is never cleared.
    """
    n_bits = trailing_zeros(np.uint64(len(seen)))
    to_slot = np.uint64(64) - n_bits
    written, begin, left_out = 0, 0, 0
    for row in range(len(indptr) - 1):
        end, first = indptr[row + 1], written
        if _is_unique(keys, mask, values, np.uint64(begin), np.uint64(end)):
            entries = np.uint64(begin), np.uint64(end), np.uint64(written)
            _move(keys, mask, indices, *entries)
            if written != begin or not in_place:
                _copy(values, sums, *entries)
            written += end - begin
        else:
            sums_to_zero, first_number = False, first + left_out
            for j in range(begin, end):
                index = keys[j] & mask
                value = values[j]
                if value == 0.0:
                    continue
                known = _Seen(seen, indices, first_number, left_out)
                slot = probe(known, index, index * SPREAD >> to_slot)
                number = seen[slot]
                if number >= first_number:
                    known = number - left_out
                    sums[known] += value
                    sums_to_zero |= sums[known] == 0.0
                    continue
                seen[slot] = written + left_out
                indices[written], sums[written] = index, value
                written += 1
            if sums_to_zero:
                kept = first
                for k in range(first, written):
                    if sums[k] != 0.0:
                        indices[kept], sums[kept] = indices[k], sums[k]
                        kept += 1
                left_out += written - kept
                written = kept
        begin = end
        indptr[row + 1] = written
    return written


@inlined
def _is_unique(keys: Any, mask: Any, values: Any, begin: Any, end: Any) -> Any:
    """Whether the indices of a row ascend, and no value is zero; told without a branch an entry."""
    wrong = np.uint64(0)
    for j in range(begin, end):
        wrong |= np.uint64(values[j] == 0.0)
    for j in range(begin + np.uint64(1), end):
        wrong |= np.uint64((keys[j] & mask) <= (keys[j - np.uint64(1)] & mask))
    return wrong == 0


@inlined
def _move(keys: Any, mask: Any, indices: Any, begin: Any, end: Any, to: Any) -> None:
    """Write the indices of a row."""
    for k in range(end - begin):
        indices[to + k] = keys[begin + k] & mask


@inlined
def _copy(values: Any, sums: Any, begin: Any, end: Any, to: Any) -> None:
    for k in range(end - begin):
        sums[to + k] = values[begin + k]
