"""Crosses: every feature of one namespace or column times every feature of another.

The key of a cross is the hash of the two keys, 16 bytes, little-endian; its value is the product of
the values, and its name is `first*second`. A namespace crossed with itself gives each pair once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.checks import is_text
from rarefy.errors import ConfigError
from rarefy.hashing import hash_pair, hash_text
from rarefy.jit import compiled, helper
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import (
    ABSENT,
    Names,
    begin_of,
    enlarged,
    find_name,
    new_names,
    note_name,
    wants_name,
)

STAR = 42
FEWEST_NAMES = 1 << 12  # that there is room for
MOST_ENTRIES = 1 << 17  # of a batch with crosses, unless a single row has more
MOST_IN_ROW = 1 << 24


def checked_crosses(cross: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    """Pairs of names, given as pairs or as 'a,b'."""
    pairs = [tuple(pair.split(",")) if isinstance(pair, str) else tuple(pair) for pair in cross]
    for pair, given in zip(pairs, cross, strict=True):
        if len(pair) != 2 or not all(is_text(name) and name for name in pair):
            raise ConfigError(
                f"cross={given!r}: two names of namespaces or columns are expected, as in 'a,b'."
            )
    return tuple((first, second) for first, second in pairs)


class Crossing(NamedTuple):
    """Some rows of a batch that are to be crossed, and how many entries they will have."""

    batch: Batch
    pairs: NDArray[np.uint64]
    lengths: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How much work it is, where an ordinary batch is 1."""
        return max(int(self.lengths.sum()) // MOST_ENTRIES, 1)

    def batch_with_crosses(self) -> Batch:
        """The rows with the crosses behind each row's own features."""
        batch = self.batch
        indptr = np.concatenate([[0], np.cumsum(self.lengths)])
        keys, values = np.empty(indptr[-1], np.uint64), np.empty(indptr[-1])
        names = new_names(FEWEST_NAMES if len(batch.names.keys) else 0)
        while not _cross(
            batch.indptr,
            batch.keys,
            batch.values,
            batch.groups,
            batch.names,
            self.pairs,
            indptr,
            keys,
            values,
            names,
        ):
            names = enlarged(names)
        return batch._replace(indptr=indptr, keys=keys, values=values, names=names)


def crossings(
    batch: Batch, cross: Sequence[tuple[str, ...]], refuse: Callable[[str], None]
) -> Iterator[Crossing]:
    """The batch in parts whose crosses take a limited amount of memory.

    A row that would have too many is refused and, if that is all right, left out.
    """
    pairs = np.array([[hash_text(name) for name in pair] for pair in cross], dtype=np.uint64)
    lengths = np.empty(len(batch.labels), np.int64)
    _count(batch.indptr, batch.groups, pairs, lengths)
    if lengths.sum() <= MOST_ENTRIES:
        yield Crossing(batch, pairs, lengths)
        return
    block_labels: NDArray[np.float64] | None = batch.labels
    for begin, end in _cuts(lengths):
        if lengths[begin] > MOST_IN_ROW:
            refuse(_too_many(batch, begin, int(lengths[begin])))
            continue
        part = _rows(batch, begin, end)._replace(block_labels=block_labels)
        yield Crossing(part, pairs, lengths[begin:end])
        block_labels = None


def _cuts(lengths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """The first row of each part, and the one behind its last."""
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(lengths):
        most = ends[begin] - lengths[begin] + MOST_ENTRIES
        end = max(int(np.searchsorted(ends, most, side="right")), begin + 1)
        yield begin, end
        begin = end


def _rows(batch: Batch, begin: int, end: int) -> Batch:
    """Some rows of a batch, in the same memory."""
    return batch._replace(
        indptr=batch.indptr[begin : end + 1],
        labels=batch.labels[begin:end],
        importance=batch.importance[begin:end],
        lines=batch.lines[begin:end],
    )


def _too_many(batch: Batch, row: int, n_entries: int) -> str:
    return (
        f"{batch.place(row)}: with its crosses the row has {n_entries:,} features; up to "
        f"{MOST_IN_ROW:,} are possible. Cross columns that have fewer features: a text of n words "
        f"has 2n - 1."
    )


@helper
def is_pair(groups: Any, pairs: Any, pair: int, a: int, b: int) -> bool:
    """Whether the entries a and b are to be crossed."""
    if groups[a] != pairs[pair, 0] or groups[b] != pairs[pair, 1]:
        return False
    return a < b or pairs[pair, 0] != pairs[pair, 1]


@compiled
def _count(indptr: Any, groups: Any, pairs: Any, lengths: NDArray[np.int64]) -> None:
    """Write how many entries the rows have with their crosses."""
    for row in range(len(indptr) - 1):
        begin, end = indptr[row], indptr[row + 1]
        lengths[row] = end - begin
        for pair in range(len(pairs)):
            n_first, n_second = 0, 0
            for j in range(begin, end):
                n_first += groups[j] == pairs[pair, 0]
                n_second += groups[j] == pairs[pair, 1]
            if pairs[pair, 0] == pairs[pair, 1]:
                lengths[row] += n_first * (n_first - 1) // 2
            else:
                lengths[row] += n_first * n_second


@compiled
def _cross(
    indptr: Any,
    keys: Any,
    values: Any,
    groups: Any,
    names: Names,
    pairs: Any,
    new_indptr: Any,
    new_keys: Any,
    new_values: Any,
    noted: Names,
) -> bool:
    """Write the rows with their crosses; False if there is no room for all names."""
    for row in range(len(indptr) - 1):
        begin, end = indptr[row], indptr[row + 1]
        to = new_indptr[row]
        for j in range(begin, end):
            key = keys[j]
            new_keys[to], new_values[to] = key, values[j]
            to += 1
            if wants_name(noted, key) and not note_own(noted, key, names):
                return False
        for pair in range(len(pairs)):
            for a in range(begin, end):
                if groups[a] != pairs[pair, 0]:
                    continue
                for b in range(begin, end):
                    if not is_pair(groups, pairs, pair, a, b):
                        continue
                    key = hash_pair(keys[a], keys[b])
                    new_keys[to], new_values[to] = key, values[a] * values[b]
                    to += 1
                    if wants_name(noted, key) and not note_cross(
                        noted, key, names, keys[a], keys[b]
                    ):
                        return False
    return True


@helper
def note_own(noted: Names, key: Any, names: Names) -> bool:
    """Remember what a feature is called, if it has a name."""
    number = find_name(names, key)
    if number == ABSENT:
        return True
    text, begin = names.text, begin_of(names, number)
    return note_name(noted, key, text, begin, begin, STAR, text, begin, names.ends[number])


@helper
def note_cross(noted: Names, key: Any, names: Names, first: Any, second: Any) -> bool:
    """Remember what a cross is called, if both of its features have names."""
    a, b = find_name(names, first), find_name(names, second)
    if ABSENT in (a, b):
        return True
    text = names.text
    first_begin, second_begin = begin_of(names, a), begin_of(names, b)
    return note_name(
        noted, key, text, first_begin, names.ends[a], STAR, text, second_begin, names.ends[b]
    )
