"""Which features a shard meets in a round: a bit for each, in words of 64.

Beside each word stands how many of the shard's features come before it: so which of them a feature
is can be counted.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Rows
from rarefy.jit import compiled, helper
from rarefy.jit.intrinsics import count_ones

Words = NDArray[np.uint64]  # (word, bits and number)
BITS = 6  # of a slot, that say which bit of a word it is
FEWEST_WORDS = 1 << 8  # that are dealt with at a time
ONE, LOWEST = np.uint64(1), np.uint64((1 << BITS) - 1)


def words_of_shards(before: NDArray[np.uint64], n_shards: int, n_features: int) -> Any:
    """Words of each shard, (shard, word, bits and number): those before, if they are as many."""
    shape = n_shards, (n_features >> BITS) + 1, 2
    return before if before.shape == shape else np.zeros(shape, np.uint64)


def ranges(n: int, n_threads: int, fewest: int = FEWEST_WORDS) -> Iterator[tuple[int, int]]:
    """Words, or other things, from which up to which to deal with at a time."""
    n_pieces = min(4 * n_threads, max(n // fewest, 1))
    if n_pieces > n_threads:
        n_pieces -= n_pieces % n_threads  # so that no thread has a piece more than another
    yield from pairwise(n * piece // n_pieces for piece in range(n_pieces + 1))


@compiled
def meet(rows: Rows, met: Words) -> None:
    """Set the bits of features in rows that are examples."""
    for row in range(len(rows.y)):
        if rows.importance[row] == 0.0:
            continue
        for j in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
            slot = np.uint64(rows.indices[j])
            met[slot >> np.uint64(BITS), 0] |= ONE << (slot & LOWEST)


@compiled
def meet_slots(slots: Any, met: Words) -> None:
    for j in range(len(slots)):
        slot = np.uint64(slots[j])
        met[slot >> np.uint64(BITS), 0] |= ONE << (slot & LOWEST)


@compiled
def count_before(met: Words) -> int:
    """Write how many features come before each word; how many there are."""
    n = np.uint64(0)
    for word in range(len(met)):
        met[word, 1] = n
        n += count_ones(met[word, 0])
    return np.intp(n)  # type: ignore[return-value]


@helper
def position(met: Words, word: Any, bit: Any) -> int:
    """How many features of a shard come before one."""
    before = met[word, 0] & ((ONE << bit) - ONE)
    return np.intp(met[word, 1] + count_ones(before))  # type: ignore[return-value]
