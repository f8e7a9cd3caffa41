"""The arrays that everything is made of, and rows as the compiled loops take them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compiled

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Data beyond the first are refused, and scores beyond the second count as diverged: long before
# anything, the square of a subgradient included, overflows to infinity.
LARGEST_VALUE = 1e50
LARGEST_SCORE = 1e75
PORTION = 1 << 24  # entries, times outputs


class Rows(NamedTuple):
    """Examples in CSR layout: columns ascend within a row, and no value is zero."""

    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    values: Floats
    y: Floats
    importance: Floats


def dot(a: Floats, b: Floats) -> float:
    """Without BLAS, whose threads would get in the way of ours and make sums depend on them."""
    return float(np.einsum("i,i->", a, b))


def csr_parts(csr: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """indptr, indices, values of a CSR matrix with the types that the loops are compiled for.

    They are handed on as read-only views, so that memory-mapped input needs no second compilation.
    """
    indices = csr.indices if csr.indices.dtype == np.int32 else csr.indices.astype(np.int64)
    parts = (csr.indptr.astype(np.int64), indices, np.asarray(csr.data, dtype=np.float64))
    return tuple(read_only(part) for part in parts)  # type: ignore[return-value]


def as_rows(csr: Any, y: NDArray[Any], importance: NDArray[Any]) -> Rows:
    return Rows(*csr_parts(csr), read_only(y), read_only(importance))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def part_of(rows: Rows, begin: int, end: int) -> Rows:
    """The rows from `begin` up to `end`, which share their entries with the others."""
    return rows._replace(
        indptr=rows.indptr[begin : end + 1],
        y=rows.y[begin:end],
        importance=rows.importance[begin:end],
    )


def chosen_rows(rows: Rows, numbers: Numbers) -> Rows:
    """The rows of these numbers."""
    lengths = np.diff(rows.indptr)[numbers]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.arange(indptr[-1]) + np.repeat(rows.indptr[:-1][numbers] - indptr[:-1], lengths)
    return Rows(
        read_only(indptr),
        read_only(rows.indices[entries]),
        read_only(rows.values[entries]),
        read_only(rows.y[numbers]),
        read_only(rows.importance[numbers]),
    )


def portions(indptr: NDArray[np.int64], n_outputs: int) -> Iterator[tuple[int, int]]:
    """Where portions of the rows begin and end that take a fraction of a second to learn.

    Compiled code runs to its end; a process that is to stop does so between two portions.
    """
    n_rows = len(indptr) - 1
    work = int(indptr[-1] - indptr[0]) * n_outputs + n_rows
    if work <= PORTION:
        yield 0, n_rows
        return
    done = (indptr - indptr[0]) * n_outputs + np.arange(n_rows + 1)
    begin = 0
    while begin < n_rows:
        end = int(np.searchsorted(done, done[begin] + PORTION, side="right")) - 1
        end = min(max(end, begin + 1), n_rows)
        yield begin, end
        begin = end


@compiled
def longest(indptr: NDArray[np.int64]) -> int:
    """How many entries the longest row has."""
    most = 0
    for row in range(len(indptr) - 1):
        most = max(most, indptr[row + 1] - indptr[row])
    return most


def without(rows: Rows, dropped: NDArray[np.bool_]) -> Rows:
    """The rows without some of their entries."""
    if not dropped.any():
        return rows
    n_dropped = np.concatenate([[0], np.cumsum(dropped)])
    return rows._replace(
        indptr=read_only(rows.indptr - n_dropped[rows.indptr]),
        indices=read_only(rows.indices[~dropped]),
        values=read_only(rows.values[~dropped]),
    )
