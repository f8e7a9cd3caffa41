"""Buffers that parsers write batches to; they are used again, as fresh memory is slow."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import inlined
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import Names, clear_names, enlarged, new_names
from rarefy.readers.parsed import Parsed
from rarefy.readers.source import BLOCK_BYTES
from rarefy.readers.text.short_names import ShortNames, new_short_names
from rarefy.readers.text.short_numbers import Words, new_words

MOST_IN_ROW = 1 << 24  # features


class BatchBuffer(NamedTuple):
    """Arrays for a parser to write a batch to."""

    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    labels: NDArray[np.float64]
    importance: NDArray[np.float64]
    lines: NDArray[np.int64]
    groups: NDArray[np.uint64]  # hash of each feature's namespace or column; empty if not needed
    names: Names
    words: Words  # numbers that are still to be worked out
    short_names: ShortNames


def buffer_size(n_bytes: int) -> int:
    """Features, or rows, that a text of this size can hold.

    Every word and every number takes two bytes at least, and a word can make a pair as well.
    """
    return n_bytes + 2


def new_buffer(
    n_bytes: int, *, groups: bool = False, names: bool = False, expansion: int = 1
) -> BatchBuffer:
    """Room for a text of this size; most of it is never touched, and so never becomes memory.

    Where there are more n-grams than pairs, `expansion` times as many at most, they have room of
    their own: enough for a row that has as many as it may.
    """
    n = n_entries = buffer_size(n_bytes)
    if expansion > 1:
        n_entries += min(n * expansion, 2 * MOST_IN_ROW)
    indptr = np.empty(n + 1, np.int64)
    indptr[0] = 0
    return BatchBuffer(
        indptr,
        np.empty(n_entries, np.uint64),
        np.empty(n_entries),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n_entries if groups else 0, np.uint64),
        new_names(1 << 12 if names else 0),
        new_words(n_entries),
        new_short_names(),
    )


@inlined
def has_room(buffer: BatchBuffer, entry: int, n_grams: int) -> bool:
    """Whether n-grams may follow; what else a text can make has its room in any case."""
    return n_grams <= 1 or entry + n_grams < len(buffer.keys) - len(buffer.labels)


@inlined
def end_row(
    buffer: BatchBuffer, row: int, entry: int, label: float, importance: float, line: int
) -> int:
    """Write what a row has beside its entries, which end before `entry`; the next row."""
    buffer.labels[row] = label
    buffer.importance[row] = importance
    buffer.lines[row] = line
    buffer.indptr[row + 1] = entry
    return row + 1


class BufferPool:
    """Buffers to be used in turn; without a number, every batch gets one of its own."""

    def __init__(
        self, n_buffers: int | None, *, groups: bool, names: bool, expansion: int = 1
    ) -> None:
        self.expansion = expansion
        self._settings = groups, names, expansion
        self._reused = [PooledBuffer(*self._settings) for _ in range(n_buffers or 0)]
        self._at = -1

    def next(self, n_bytes: int) -> "PooledBuffer":
        """A buffer that a text of this size fits."""
        if self._reused:
            self._at = (self._at + 1) % len(self._reused)
            pooled = self._reused[self._at]
        else:
            pooled = PooledBuffer(*self._settings)
        pooled.prepare(n_bytes, BLOCK_BYTES // self.expansion if self._reused else 0)
        return pooled


class PooledBuffer:
    """Holds a buffer, once it is prepared, and changes it for a larger one where needed."""

    buffer: BatchBuffer

    def __init__(self, groups: bool, with_names: bool, expansion: int) -> None:
        self.expansion = expansion
        self.groups = groups
        self.with_names = with_names
        self._room = 0

    def prepare(self, n_bytes: int, at_least: int) -> None:
        if self._room >= buffer_size(n_bytes):
            clear_names(self.buffer.names)
            return
        n_bytes = max(n_bytes, at_least)
        self._room = buffer_size(n_bytes)
        self.buffer = new_buffer(
            n_bytes, groups=self.groups, names=self.with_names, expansion=self.expansion
        )

    def enlarge_names(self) -> BatchBuffer:
        """The buffer, in which more names fit now."""
        self.buffer = self.buffer._replace(names=enlarged(self.buffer.names))
        return self.buffer


def written_batch(
    path: str, buffer: BatchBuffer, parsed: Parsed, label_names: tuple[str, ...] | None
) -> Batch:
    """The part of the buffer that a parser has written to."""
    rows, entries = parsed.n_rows, parsed.n_entries
    return Batch(
        path,
        buffer.indptr[: rows + 1],
        buffer.keys[:entries],
        buffer.values[:entries],
        buffer.labels[:rows],
        buffer.importance[:rows],
        buffer.lines[:rows],
        buffer.names,
        label_names,
        buffer.groups[:entries],
    )
