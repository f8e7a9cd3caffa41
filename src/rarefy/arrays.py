"""Array types, and rows in the form in which compiled loops take them."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
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


def chosen_rows(
    rows: Rows, numbers: Numbers, n_parts: int = 1, run: Callable[..., Any] = map
) -> Rows:
    """The rows of these numbers; `run` copies so many parts of them, side by side if it can."""
    indptr = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(np.diff(rows.indptr)[numbers], out=indptr[1:])
    indices, values = np.empty(indptr[-1], rows.indices.dtype), np.empty(indptr[-1])

    def copy(part: int) -> None:
        begin, end = (len(numbers) * n // n_parts for n in (part, part + 1))
        _copy_rows(rows, numbers[begin:end], indptr[begin:], indices, values)

    for _ in run(copy, range(n_parts)):
        pass
    parts = (indptr, indices, values, rows.y[numbers], rows.importance[numbers])
    return Rows(*map(read_only, parts))


@compiled
def _copy_rows(
    rows: Rows, numbers: Numbers, indptr: Numbers, indices: NDArray[Any], values: Floats
) -> None:
    """Copy the entries of rows to where `indptr` says."""
    for n in range(len(numbers)):
        begin, to = np.uint64(rows.indptr[numbers[n]]), np.uint64(indptr[n])
        for j in range(np.uint64(rows.indptr[numbers[n] + 1]) - begin):
            indices[to + j], values[to + j] = rows.indices[begin + j], rows.values[begin + j]


def portions(indptr: NDArray[np.int64], n_outputs: int) -> Iterator[tuple[int, int]]:
    """Where portions of the rows begin and end that take a fraction of a second to learn.

    Compiled code runs to its end; a process that is to stop does so between two portions.
    """
    n_rows = len(indptr) - 1

    def work_before(row: int) -> int:
        return int(indptr[row]) * n_outputs + row

    begin = 0
    while True:
        most = work_before(begin) + PORTION
        end = n_rows
        if work_before(end) > most:
            end = max(bisect_right(range(n_rows), most, key=work_before) - 1, begin + 1)
        yield begin, end
        begin = end
        if begin >= n_rows:
            return


def longest(indptr: NDArray[np.int64]) -> int:
    """How many entries the longest row has."""
    return int(np.diff(indptr).max(initial=0))


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
