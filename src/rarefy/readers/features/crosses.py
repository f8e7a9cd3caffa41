"""Crosses: every feature of one namespace or column times every feature of another, or of two more.

The key of a cross is the hash of the two keys, 16 bytes, little-endian; its value is the product of
the values, and its name is `first*second`. A cross of three is that of the first two, crossed with
the third. What features can be crossed in several orders, as those of a namespace with itself, is
crossed once. The name `*` stands for all features of a row.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.checks import is_text
from rarefy.errors import ConfigError
from rarefy.hashing import hash_pair, hash_text
from rarefy.jit import compiled, helper
from rarefy.readers.batch import Batch
from rarefy.readers.buffers import MOST_IN_ROW
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
FEWEST_NAMES = 1 << 12  # of a part, that there is room for
MOST_ENTRIES = 1 << 19  # of a batch with crosses, unless a single row has more
ANY_NAME = "*"  # every feature of the row
ANY = np.uint64(0xA9EDECEBEB03AE4)  # its hash, written out: to compute it takes a compiled loop
NONE = np.uint64(0)  # in the place of a third name


def checked_crosses(cross: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
    """Pairs or triples of names, given as such or as 'a,b'."""
    crosses = [
        tuple(names.split(",")) if isinstance(names, str) else tuple(names) for names in cross
    ]
    for names, given in zip(crosses, cross, strict=True):
        if len(names) not in (2, 3) or not all(is_text(name) and name for name in names):
            raise ConfigError(
                f"cross={given!r} (--cross): two or three names of namespaces or columns are "
                f"expected, as in 'a,b'."
            )
    return each_once(
        (names[1], ANY_NAME, ANY_NAME) if _is_around(names) else names for names in crosses
    )


def each_once(crosses: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Each cross as it comes first, in whatever order its names come again."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for names in crosses:
        found.setdefault(tuple(sorted(names)), names)
    return tuple(found.values())


def _is_around(names: tuple[str, ...]) -> bool:
    """Whether it is '*,a,*', of which some features could be crossed in two ways."""
    return len(names) == 3 and names[0] == names[2] == ANY_NAME


class Crossing(NamedTuple):
    """Some rows of a batch that are to be crossed, and how many entries they will have."""

    batch: Batch
    crosses: NDArray[np.uint64]
    lengths: NDArray[np.int64]
    is_part: bool = False

    @property
    def size(self) -> int:
        """How much work it is, where an ordinary batch is 1."""
        return max(int(self.lengths.sum()) // MOST_ENTRIES, 1)

    def batch_with_crosses(self) -> Batch:
        """The rows with the crosses behind each row's own features."""
        batch = self.batch
        indptr = np.concatenate([[0], np.cumsum(self.lengths)])
        keys, values = np.empty(indptr[-1], np.uint64), np.empty(indptr[-1])
        names, row = batch.names, 0
        if self.is_part:  # other parts have those names, too, and many are not of these rows
            names = new_names(FEWEST_NAMES if len(names.keys) else 0)
        while True:
            row = _cross(
                row,
                batch.indptr,
                batch.keys,
                batch.values,
                batch.groups,
                batch.names,
                self.crosses,
                indptr,
                keys,
                values,
                names,
                self.is_part,
            )
            if row == len(self.lengths):
                break
            names = enlarged(names)
        return batch._replace(indptr=indptr, keys=keys, values=values, names=names)


def hashed_crosses(cross: Sequence[tuple[str, ...]]) -> NDArray[np.uint64]:
    """A row for each cross, with the hashes of its names."""
    crosses = np.full((len(cross), 3), NONE)
    for n, names in enumerate(cross):
        crosses[n, : len(names)] = [hash_text(name) for name in names]
    return crosses


def crossings(
    batch: Batch, cross: Sequence[tuple[str, ...]], refuse: Callable[[str], None]
) -> Iterator[Crossing]:
    """The batch in parts whose crosses take a limited amount of memory.

    A row that would have too many is refused and, if that is all right, left out.
    """
    crosses = hashed_crosses(cross)
    lengths = np.empty(len(batch.labels), np.int64)
    _count(batch.indptr, batch.groups, crosses, lengths, np.empty(8))
    if lengths.sum() <= MOST_ENTRIES:
        yield Crossing(batch, crosses, lengths)
        return
    block_labels: NDArray[np.float64] | None = batch.labels
    for begin, end in _cuts(lengths):
        if lengths[begin] > MOST_IN_ROW:
            refuse(_too_many(batch, begin, int(lengths[begin])))
            continue
        part = _rows(batch, begin, end)._replace(block_labels=block_labels)
        yield Crossing(part, crosses, lengths[begin:end], is_part=True)
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
        tags=batch.tags[begin:end],
    )


def _too_many(batch: Batch, row: int, n_entries: int) -> str:
    return (
        f"{batch.location(row)}: with its crosses the row has {n_entries:,} features, more than "
        f"{MOST_IN_ROW:,}. Cross columns that have fewer features: a text of n words has 2n - 1."
    )


@helper
def is_of(group: Any, wanted: Any) -> bool:
    """Whether a feature is of a namespace or column."""
    return bool(group == wanted or wanted == ANY)  # noqa: PLR1714 a tuple would be slower


@helper
def may_join(groups: Any, first: Any, a: int, second: Any, b: int) -> bool:
    """Whether b can be the feature of the second name where a is that of the first.

    If it could be the other way round, too, the order in the row decides.
    """
    if not is_of(groups[b], second):
        return False
    return a < b or not (is_of(groups[a], second) and is_of(groups[b], first))


@helper
def n_pairs(groups: Any, first: Any, second: Any, begin: int, end: int) -> int:
    """How many crosses of two names a row has."""
    n_first, n_second, n_both = 0, 0, 0
    for j in range(begin, end):
        is_first, is_second = is_of(groups[j], first), is_of(groups[j], second)
        n_first += is_first
        n_second += is_second
        n_both += is_first and is_second
    return n_first * n_second - n_both * (n_both + 1) // 2


@helper
def n_triples(
    groups: Any, first: Any, second: Any, third: Any, begin: int, end: int, counts: Any
) -> int:
    """How many crosses of three names a row has; about, if that is more than 2^53.

    Features that are of the same names, of which each is a bit, are counted together.
    """
    counts[:] = 0.0
    for j in range(begin, end):
        group = groups[j]
        counts[is_of(group, first) + 2 * is_of(group, second) + 4 * is_of(group, third)] += 1
    found = 0.0
    for x in range(1, 8):
        for y in range(x, 8):
            for z in range(y, 8):
                if can_be_crossed(x, y, z) or can_be_crossed(x, z, y):
                    pairs = counts[x] * (counts[y] - (x == y)) / (1 + (x == y))
                    found += pairs * (counts[z] - (y == z) - (x == z)) / (1 + (y == z) + (x == z))
    return int(min(found, 2.0**53))


@helper
def can_be_crossed(x: int, y: int, z: int) -> bool:
    """Whether three features, each of the names in its bits, have one for each name, in turn."""
    return (
        x & y // 2 & z // 4 & 1 == 1 or y & z // 2 & x // 4 & 1 == 1 or z & x // 2 & y // 4 & 1 == 1
    )


@compiled
def _count(
    indptr: Any, groups: Any, crosses: Any, lengths: NDArray[np.int64], counts: NDArray[np.float64]
) -> None:
    """Write how many entries the rows have with their crosses; `counts` is room for `n_triples`."""
    for row in range(len(indptr) - 1):
        begin, end = indptr[row], indptr[row + 1]
        lengths[row] = end - begin
        for n in range(len(crosses)):
            first, second, third = crosses[n, 0], crosses[n, 1], crosses[n, 2]
            if third == NONE:
                lengths[row] += n_pairs(groups, first, second, begin, end)
            else:
                lengths[row] += n_triples(groups, first, second, third, begin, end, counts)


@compiled
def _cross(
    first_row: int,
    indptr: Any,
    keys: Any,
    values: Any,
    groups: Any,
    names: Names,
    crosses: Any,
    new_indptr: Any,
    new_keys: Any,
    new_values: Any,
    noted: Names,
    note_all: bool,
) -> int:
    """Write the rows with their crosses, and note what these are called, or all features of a row.

    How many rows are done: not all if there is no room for more names.
    """
    n_rows = len(indptr) - 1
    for row in range(first_row, n_rows):
        begin, end = indptr[row], indptr[row + 1]
        to = new_indptr[row]
        for j in range(begin, end):
            key = keys[j]
            new_keys[to], new_values[to] = key, values[j]
            to += 1
            if note_all and wants_name(noted, key) and not note_own(noted, key, names):
                return row
        for n in range(len(crosses)):
            first, second, third = crosses[n, 0], crosses[n, 1], crosses[n, 2]
            for a in range(begin, end):
                if not is_of(groups[a], first):
                    continue
                for b in range(begin, end):
                    if not may_join(groups, first, a, second, b):
                        continue
                    pair = hash_pair(keys[a], keys[b])
                    if wants_name(noted, pair) and not note_cross(
                        noted, pair, names, keys[a], names, keys[b]
                    ):
                        return row
                    if third == NONE:
                        new_keys[to], new_values[to] = pair, values[a] * values[b]
                        to += 1
                        continue
                    for c in range(begin, end):
                        if not may_join(groups, first, a, third, c) or not may_join(
                            groups, second, b, third, c
                        ):
                            continue
                        key = hash_pair(pair, keys[c])
                        new_keys[to] = key
                        new_values[to] = values[a] * values[b] * values[c]
                        to += 1
                        if wants_name(noted, key) and not note_cross(
                            noted, key, noted, pair, names, keys[c]
                        ):
                            return row
    return n_rows


@helper
def note_own(noted: Names, key: Any, names: Names) -> bool:
    """Remember what a feature is called, if it has a name."""
    number = find_name(names, key)
    if number == ABSENT:
        return True
    text, begin = names.text, begin_of(names, number)
    return note_name(noted, key, text, begin, begin, STAR, text, begin, names.ends[number])


@helper
def note_cross(
    noted: Names, key: Any, firsts: Names, first: Any, seconds: Names, second: Any
) -> bool:
    """Remember what a cross is called, if both of its parts have names."""
    a, b = find_name(firsts, first), find_name(seconds, second)
    if ABSENT in (a, b):
        return True
    a_begin, b_begin = begin_of(firsts, a), begin_of(seconds, b)
    return note_name(
        noted,
        key,
        firsts.text,
        a_begin,
        firsts.ends[a],
        STAR,
        seconds.text,
        b_begin,
        seconds.ends[b],
    )
