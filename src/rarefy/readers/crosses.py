"""Crosses: every feature of one namespace or column times every feature of another.

The key of a cross is the hash of the two keys, 16 bytes, little-endian; its value is the product of
the values, and its name is `first*second`. A namespace crossed with itself gives each pair once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.config import is_text
from rarefy.errors import ConfigError
from rarefy.hashing import hash_pair, hash_text
from rarefy.jit import compiled, helper
from rarefy.readers.batch import Batch
from rarefy.readers.names import (
    ABSENT,
    Names,
    begin_of,
    find_name,
    note_name,
    wants_name,
    with_more_room,
)

STAR = 42


def checked_crosses(cross: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    """Pairs of names, given as pairs or as 'a,b'."""
    pairs = [tuple(pair.split(",")) if isinstance(pair, str) else tuple(pair) for pair in cross]
    for pair, given in zip(pairs, cross, strict=True):
        if len(pair) != 2 or not all(is_text(name) and name for name in pair):
            raise ConfigError(
                f"cross={given!r}: two names of namespaces or columns are expected, as in 'a,b'."
            )
    return tuple((first, second) for first, second in pairs)


def with_crosses(batch: Batch, cross: Sequence[tuple[str, str]]) -> Batch:
    """The batch with the crosses behind each row's own features."""
    if not cross or len(batch.labels) == 0:
        return batch
    pairs = np.array([[hash_text(name) for name in pair] for pair in cross], dtype=np.uint64)
    indptr = np.empty_like(batch.indptr)
    n_entries = _count(batch.indptr, batch.groups, pairs, indptr)
    keys, values = np.empty(n_entries, np.uint64), np.empty(n_entries)
    names = batch.names
    while not _cross(
        batch.indptr, batch.keys, batch.values, batch.groups, pairs, indptr, keys, values, names
    ):
        names = with_more_room(names)
    return batch._replace(indptr=indptr, keys=keys, values=values, names=names)


@helper
def is_pair(groups: Any, pairs: Any, pair: int, a: int, b: int) -> bool:
    """Whether the entries a and b are to be crossed."""
    if groups[a] != pairs[pair, 0] or groups[b] != pairs[pair, 1]:
        return False
    return a < b or pairs[pair, 0] != pairs[pair, 1]


@compiled
def _count(indptr: Any, groups: Any, pairs: Any, new_indptr: NDArray[np.int64]) -> int:
    """Write where the rows with crosses begin; the number of all entries."""
    total = 0
    new_indptr[0] = 0
    for row in range(len(indptr) - 1):
        begin, end = indptr[row], indptr[row + 1]
        total += end - begin
        for pair in range(len(pairs)):
            for a in range(begin, end):
                if groups[a] == pairs[pair, 0]:
                    for b in range(begin, end):
                        total += is_pair(groups, pairs, pair, a, b)
        new_indptr[row + 1] = total
    return total


@compiled
def _cross(
    indptr: Any,
    keys: Any,
    values: Any,
    groups: Any,
    pairs: Any,
    new_indptr: Any,
    new_keys: Any,
    new_values: Any,
    names: Names,
) -> bool:
    """Write the rows with their crosses; False if there is no room for all names."""
    for row in range(len(indptr) - 1):
        begin, end = indptr[row], indptr[row + 1]
        to = new_indptr[row]
        for j in range(begin, end):
            new_keys[to], new_values[to] = keys[j], values[j]
            to += 1
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
                    if wants_name(names, key) and not note_cross(names, key, keys[a], keys[b]):
                        return False
    return True


@helper
def note_cross(names: Names, key: Any, first: Any, second: Any) -> bool:
    """Remember what a cross is called, if both of its features have names."""
    a, b = find_name(names, first), find_name(names, second)
    if ABSENT in (a, b):
        return True
    text = names.text
    first_begin, second_begin = begin_of(names, a), begin_of(names, b)
    return note_name(
        names, key, text, first_begin, names.ends[a], STAR, text, second_begin, names.ends[b]
    )
