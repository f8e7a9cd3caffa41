"""Columns of a matrix renumbered for lanes: equal ones joined, frequent ones side by side.

Columns that occur only once, and do so in the same row with the same value, always have the same
weight: they share one feature. In word pairs of reviews, that leaves a fourth of the features.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, read_only
from rarefy.jit import compiled
from rarefy.lanes.layout import LaneRows

MOST_VALUES = 8  # of columns that occur once are remembered, for each row
ENTRIES_OF_A_THREAD = 1_000_000  # at least


class Features(NamedTuple):
    """Rows as lanes learn them, and what their features stand for."""

    rows: LaneRows
    columns: NDArray[np.int64]  # those that occur
    numbers: NDArray[np.int32]  # of the feature that stands for each of them
    sizes: Floats  # how many columns each feature stands for


def _count(indices: Any, counts: NDArray[np.int32]) -> None:
    for j in range(len(indices)):
        counts[np.intp(indices[j])] += 1


def _renumber(indices: Any, feature_of: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    for j in range(len(indices)):
        out[j] = feature_of[np.intp(indices[j])]


def _merge(
    rows: Rows,
    counts: NDArray[np.int32],
    feature_of: NDArray[np.int32],
    first: int,
    entry_with: NDArray[np.int64],
    out: LaneRows,
) -> int:
    """Write the rows with features for columns; how many entries there are then.

    `feature_of` is there for columns that occur more than once, and is written for the others:
    theirs are numbered from `first`.
    """
    n_entries = 0
    for row in range(len(rows.y)):
        n_values = 0
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            column, x = np.intp(rows.indices[j]), rows.values[j]
            if counts[column] == 1:
                known = 0
                while known < n_values and out.values[entry_with[known]] != x:
                    known += 1
                if known < n_values:
                    feature_of[column] = out.indices[entry_with[known]]
                    out.shares[entry_with[known]] += x
                    continue
                if n_values < len(entry_with):
                    entry_with[n_values] = n_entries
                    n_values += 1
                feature_of[column] = first
                first += 1
            out.indices[n_entries] = feature_of[column]
            out.values[n_entries] = x
            out.shares[n_entries] = x
            n_entries += 1
        out.indptr[row + 1] = n_entries
    return n_entries


_counting, _renumbering, _merging = compiled(_count), compiled(_renumber), compiled(_merge)


def features_of(rows: Rows, n_columns: int, n_threads: int = 1) -> Features:
    """Columns that occur often come first; those that occur once share features if they are many.

    The order within the rows, in which scores are summed, stays as it is.
    """
    parts = _parts(len(rows.indices), n_columns, n_threads)
    counts = _counts(rows.indices, n_columns, parts)
    columns = np.flatnonzero(counts)
    n_once = int(np.count_nonzero(counts == 1))
    by_count = columns[np.argsort(-counts[columns], kind="stable")]
    feature_of = np.empty(n_columns, dtype=np.int32)
    feature_of[by_count] = np.arange(len(columns), dtype=np.int32)
    if n_once < len(columns) / 2:
        indices = np.empty(len(rows.indices), dtype=np.int32)
        _for_each(parts, lambda part: _renumbering(rows.indices[part], feature_of, indices[part]))
        lane_rows = LaneRows(*rows._replace(indices=read_only(indices)), rows.values)
    else:
        lane_rows = _merged(rows, counts, feature_of, len(columns) - n_once)
    sizes = np.bincount(feature_of[columns]).astype(np.float64)
    return Features(lane_rows, columns, feature_of[columns], sizes)


def _parts(n_entries: int, n_columns: int, n_threads: int) -> list[slice]:
    """One for each thread, but not so many that counts would take more room than entries."""
    most = n_entries // max(n_columns, ENTRIES_OF_A_THREAD)
    ends = np.linspace(0, n_entries, max(min(most, n_threads), 1) + 1).astype(np.int64)
    return [slice(*both) for both in pairwise(ends.tolist())]


def _for_each(parts: list[slice], work: Callable[[slice], Any]) -> list[Any]:
    if len(parts) == 1:
        return [work(parts[0])]
    with ThreadPoolExecutor(len(parts)) as threads:
        return list(threads.map(work, parts))


def _counts(indices: Any, n_columns: int, parts: list[slice]) -> NDArray[np.int32]:
    """How often each column occurs."""

    def of_part(part: slice) -> NDArray[np.int32]:
        counts = np.zeros(n_columns, dtype=np.int32)
        _counting(indices[part], counts)
        return counts

    counts, *others = _for_each(parts, of_part)
    for more in others:
        counts += more
    return counts  # type: ignore[no-any-return]


def _merged(
    rows: Rows, counts: NDArray[np.int32], feature_of: NDArray[np.int32], first: int
) -> LaneRows:
    n_entries = len(rows.indices)
    indptr = np.zeros(len(rows.y) + 1, dtype=np.int64)
    indices = np.empty(n_entries, dtype=np.int32)
    values, shares = np.empty(n_entries), np.empty(n_entries)
    n_entries = _merging(
        rows,
        counts,
        feature_of,
        first,
        np.empty(MOST_VALUES, dtype=np.int64),
        LaneRows(indptr, indices, values, rows.y, rows.importance, shares),
    )
    return LaneRows(
        read_only(indptr),
        read_only(indices[:n_entries]),
        read_only(values[:n_entries]),
        rows.y,
        rows.importance,
        read_only(shares[:n_entries]),
    )
