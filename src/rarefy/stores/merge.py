"""Making the places of a row unique, compiled."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compiled_in_place


def new_seen(longest_row: int) -> NDArray[np.int64]:
    """What `unique_in_rows` needs for rows of this length: (row, place, position) of entries."""
    return np.full((max(64, 4 << longest_row.bit_length()), 3), -1, np.int64)


@compiled_in_place
def unique_in_rows(
    indptr: Any, keys: Any, mask: Any, values: Any, places: Any, seen: NDArray[np.int64]
) -> int:
    """Write each row's places, key & mask, once each, with the sum of their values; no zeros.

    Rows move together as they get shorter; the number of entries left is returned. As long as
    places ascend within a row, as they mostly do in svmlight files, a comparison is enough. `seen`
    is a small open-addressing table of what the row has so far; entries of earlier rows count as
    free, so it is never cleared.
    """
    size_mask = np.int64(len(seen) - 1)
    written, begin = 0, 0
    for row in range(len(indptr) - 1):
        end, first = indptr[row + 1], written
        j = begin
        previous = np.int64(-1)
        while j < end:
            place = np.int64(keys[j] & mask)
            if place <= previous or values[j] == 0.0:
                break
            places[written], values[written] = place, values[j]
            previous = place
            written += 1
            j += 1
        if j < end:
            for k in range(first, written):
                place = np.int64(places[k])
                at = place & size_mask
                while seen[at, 0] == row:
                    at = (at + 1) & size_mask
                seen[at, 0], seen[at, 1], seen[at, 2] = row, place, k
            sums_to_zero = False
            while j < end:
                place = np.int64(keys[j] & mask)
                value = values[j]
                j += 1
                if value == 0.0:
                    continue
                at = place & size_mask
                while seen[at, 0] == row and seen[at, 1] != place:
                    at = (at + 1) & size_mask
                if seen[at, 0] == row:
                    values[seen[at, 2]] += value
                    sums_to_zero |= values[seen[at, 2]] == 0.0
                    continue
                seen[at, 0], seen[at, 1], seen[at, 2] = row, place, written
                places[written], values[written] = place, value
                written += 1
            if sums_to_zero:
                kept = first
                for k in range(first, written):
                    if values[k] != 0.0:
                        places[kept], values[kept] = places[k], values[k]
                        kept += 1
                written = kept
        begin = end
        indptr[row + 1] = written
    return written
