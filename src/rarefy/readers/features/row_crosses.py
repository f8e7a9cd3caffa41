"""Crosses of single rows, in one compiled call."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.hashing import hash_text
from rarefy.jit import compiled, helper, inlined
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.features import crosses as of_batches

DONE, NO_ROOM = range(2)

_count = helper(of_batches._count.function)  # type: ignore[attr-defined]
_cross = helper(of_batches._cross.function)  # type: ignore[attr-defined]


@inlined
def _leave_out(indptr: Any, buffer: BatchBuffer, ignored: Any) -> None:
    """Take the features of some namespaces out of rows."""
    n, begin = 0, 0
    for row in range(len(indptr) - 1):
        end = indptr[row + 1]
        for j in range(begin, end):
            keeps = True
            for k in range(len(ignored)):
                keeps &= buffer.groups[j] != ignored[k]
            if keeps:
                buffer.keys[n], buffer.values[n] = buffer.keys[j], buffer.values[j]
                buffer.groups[n] = buffer.groups[j]
                n += 1
        begin = end
        indptr[row + 1] = n


@compiled
def cross_rows(
    n_rows: NDArray[np.int64],
    raw: BatchBuffer,
    ignored: Any,
    crosses: Any,
    lengths: NDArray[np.int64],
    counts: NDArray[np.float64],
    crossed: BatchBuffer,
) -> int:
    """Write rows without what is ignored, and with their crosses; what is in the way.

    Where features have names, those of crosses are noted beside them.
    """
    n = n_rows[0]
    indptr, new_indptr = raw.indptr[: n + 1], crossed.indptr[: n + 1]
    _leave_out(indptr, raw, ignored)
    _count(indptr, raw.groups, crosses, lengths[:n], counts)
    for row in range(n):
        new_indptr[row + 1] = new_indptr[row] + lengths[row]
        if new_indptr[row + 1] > len(crossed.labels):
            return NO_ROOM
    n_crossed = _cross(
        0, indptr, raw.keys, raw.values, raw.groups, raw.names, crosses, new_indptr, crossed.keys,
        crossed.values, raw.names, False,
    )  # fmt: skip
    return DONE if n_crossed == n else NO_ROOM


class RowCrosses:
    """What rows have more, or less, than their own features: crosses, and namespaces to ignore."""

    def __init__(self, cross: Sequence[tuple[str, ...]], ignored: Sequence[str]) -> None:
        self._crosses = of_batches.hashed_crosses(cross)
        self._ignored = np.array([hash_text(name) for name in ignored], np.uint64)
        self.is_needed = bool(cross or ignored)

    def step(
        self, n_rows: NDArray[np.int64], raw: BatchBuffer, crossed: BatchBuffer
    ) -> tuple[Any, tuple[Any, ...]]:
        """The loop that crosses so many rows, and its arguments."""
        how = self._ignored, self._crosses, np.zeros(len(raw.labels), np.int64), np.empty(8)
        return cross_rows, (n_rows, raw, *how, crossed)
