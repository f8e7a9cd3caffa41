"""Shuffling a stream: as many rows at a time as fit a given memory.

Which rows make a window depends on the rows alone, and their order in it on the seed, the pass and
their numbers. So it is the same however the data are cut into batches, and a run that goes on with
a pass meets the rows in the order of the run before.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compiled
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import (
    EQUALS,
    Names,
    begin_of,
    enlarged,
    new_names,
    note_name,
)
from rarefy.splits import random_order
from rarefy.stores import Prepared

DEFAULT_MEMORY = 1_000_000_000
LEAST_MEMORY = 1_000_000
ROW_BYTES = 80  # beside its entries: where they end, label, target, importance, line, order
MOST_ENTRIES = 1 << 17  # of a batch, unless a single row has more
FEWEST_NAMES = 1 << 12


class Shuffle(NamedTuple):
    """How rows are put in random order."""

    seed: int = 0
    memory: int = DEFAULT_MEMORY  # bytes


class Section(NamedTuple):
    """Rows of a window that were read together."""

    begin: int
    end: int
    path: str
    label_names: tuple[str, ...] | None


class Window:
    """Rows that follow each other in the data; most of the room for them never becomes memory."""

    def __init__(self, memory: int, first: Prepared) -> None:
        entry_bytes = first.indices.itemsize + first.batch.values.itemsize
        n_rows = memory // ROW_BYTES + 1
        n_entries = max(memory // entry_bytes, int(np.diff(first.batch.indptr).max(initial=0)))
        self._memory, self._entry_bytes = memory, entry_bytes
        self.indptr = np.zeros(n_rows + 1, np.int64)
        self.labels, self.y, self.importance = (np.empty(n_rows) for _ in range(3))
        self.lines = np.empty(n_rows, np.int64)
        self.indices = np.empty(n_entries, first.indices.dtype)
        self.values = np.empty(n_entries)
        self.names = new_names(FEWEST_NAMES if len(first.batch.names.keys) else 0)
        self.sections: list[Section] = []
        self.n_rows = 0
        self.first_number = 0  # of its rows in the data
        self.shares = (0.0, 0.0)  # of the data that are read before it, and with it

    def n_fitting(self, rows: Prepared) -> int:
        """How many of the first of these rows still fit; into an empty window one does, always."""
        used = self._entry_bytes * int(self.indptr[self.n_rows]) + ROW_BYTES * self.n_rows
        needed = self._entry_bytes * (rows.batch.indptr[1:] - rows.batch.indptr[0])
        needed += ROW_BYTES * np.arange(1, len(needed) + 1)
        n = int(np.searchsorted(needed, self._memory - used, side="right"))
        return max(n, 1) if self.n_rows == 0 else n

    def add(self, rows: Prepared) -> None:
        """Copy rows, whose own memory is used again."""
        batch, begin = rows.batch, self.n_rows
        end, entry = begin + len(batch.labels), int(self.indptr[begin])
        entries = slice(entry, entry + len(rows.indices))
        if entries.stop > len(self.indices):  # a row that is larger than the window
            self.indices = np.empty(entries.stop, self.indices.dtype)
            self.values = np.empty(entries.stop)
        self.indptr[begin + 1 : end + 1] = entry + batch.indptr[1:] - batch.indptr[0]
        self.indices[entries], self.values[entries] = rows.indices, batch.values
        self.labels[begin:end], self.importance[begin:end] = batch.labels, batch.importance
        self.lines[begin:end] = batch.lines
        self.y[begin:end] = np.nan if rows.y is None else rows.y
        self.sections.append(Section(begin, end, batch.path, batch.label_names))
        self.n_rows = end
        self.shares = self.shares[0], batch.share

    def note_names(self, names: Names) -> None:
        """Keep what features are called."""
        while len(self.names.keys) and not _note_all(self.names, names):
            self.names = enlarged(self.names)

    def clear(self) -> None:
        """Begin with the rows behind it."""
        self.first_number += self.n_rows
        self.shares = self.shares[1], self.shares[1]
        self.n_rows, self.sections = 0, []
        self.names = new_names(min(FEWEST_NAMES, len(self.names.keys)))  # others keep the old

    def settle_targets(
        self, begin: Callable[[Batch], None], with_targets: Callable[[Prepared], Prepared]
    ) -> None:
        """Find what is learned for each label; classes are told from all rows of the window."""
        labels = self.labels[: self.n_rows]
        for n, section in enumerate(self.sections):
            rows = slice(section.begin, section.end)
            if n == 0:
                names = self.sections[-1].label_names
                whole = self._batch(section, rows)
                begin(whole._replace(label_names=names, block_labels=labels))
            if np.isnan(self.y[rows]).any():
                prepared = with_targets(Prepared(self._batch(section, rows), self.indices[:0]))
                assert prepared.y is not None
                self.y[rows] = prepared.y

    def _batch(self, section: Section, rows: slice) -> Batch:
        """Rows without features, to look at their labels."""
        return Batch(
            section.path,
            np.zeros(section.end - section.begin + 1, np.int64),
            np.empty(0, np.uint64),
            np.empty(0),
            self.labels[rows],
            self.importance[rows],
            self.lines[rows],
            new_names(0),
            section.label_names,
        )

    def permuted(self, seed: int, pass_number: int) -> Iterator[Prepared]:
        """The rows in random order, in batches."""
        order = random_order(self.first_number, self.n_rows, seed, pass_number)
        ends = np.cumsum(np.diff(self.indptr[: self.n_rows + 1])[order])
        begin = 0
        while begin < self.n_rows:
            most = (ends[begin - 1] if begin else 0) + MOST_ENTRIES
            end = max(int(np.searchsorted(ends, most, side="right")), begin + 1)
            yield self._some(order[begin:end], end / self.n_rows)
            begin = end

    def _some(self, rows: NDArray[np.int64], share: float) -> Prepared:
        indptr = np.concatenate([[0], np.cumsum(self.indptr[rows + 1] - self.indptr[rows])])
        indices, values = np.empty(indptr[-1], self.indices.dtype), np.empty(indptr[-1])
        _gather(self.indptr, self.indices, self.values, rows, indices, values)
        before, after = self.shares
        batch = Batch(
            " ".join(dict.fromkeys(section.path for section in self.sections)),
            indptr,
            indices,
            values,
            self.labels[rows],
            self.importance[rows],
            self.lines[rows],
            self.names,
            self.sections[-1].label_names,
            share=before + share * (after - before),
        )
        return Prepared(batch, indices, self.y[rows], self.first_number + rows, is_own=True)


class Shuffling:
    """Puts the rows of every pass in another random order."""

    def __init__(
        self,
        shuffle: Shuffle,
        begin: Callable[[Batch], None],
        with_targets: Callable[[Prepared], Prepared],
    ) -> None:
        self._shuffle = shuffle
        self._begin = begin
        self._with_targets = with_targets
        self._whole: Window | None = None  # the data, if they fit
        self.remark = ""  # what was possible, once that is known

    def batches(
        self, read: Callable[[], Generator[Prepared]], pass_number: int
    ) -> Generator[Prepared]:
        """All rows of a pass."""
        if self._whole is not None:
            yield from self._whole.permuted(self._shuffle.seed, pass_number)
            return
        with closing(read()) as batches:
            for window, is_last in _windows(batches, self._shuffle.memory):
                if is_last and window.first_number == 0:
                    self._whole = window
                    self.remark = f"Shuffled exactly ({window.n_rows:,} rows)."
                self.remark = self.remark or (
                    f"Shuffled within a window of {window.n_rows:,} rows; a larger "
                    f"--shuffle-memory (shuffle_memory) makes it larger."
                )
                window.settle_targets(self._begin, self._with_targets)
                yield from window.permuted(self._shuffle.seed, pass_number)


def _windows(batches: Iterator[Prepared], memory: int) -> Iterator[tuple[Window, bool]]:
    """As many rows at a time as fit, and whether they are the last; the memory is used again."""
    window: Window | None = None
    for prepared in batches:
        rest: Prepared | None = prepared if len(prepared.batch.labels) else None
        if rest is not None and window is None:
            window = Window(memory, rest)
        while rest is not None:
            assert window is not None
            n_rows = window.n_fitting(rest)
            if n_rows == 0:
                yield window, False
                window.clear()
                continue
            part, rest = rest.cut(n_rows)
            window.note_names(prepared.batch.names)
            window.add(part)
    if window is not None:
        yield window, True


@compiled
def _gather(
    indptr: Any, indices: Any, values: Any, rows: Any, to_indices: Any, to_values: Any
) -> None:
    """Copy the entries of rows, one row after the other."""
    to = 0
    for row in rows:
        for j in range(indptr[row], indptr[row + 1]):
            to_indices[to], to_values[to] = indices[j], values[j]
            to += 1


@compiled
def _note_all(noted: Names, names: Names) -> bool:
    """Take over all names; False if there is no room for them."""
    for number in range(names.used[0]):
        begin = begin_of(names, number)
        if not note_name(
            noted, names.keys[number], names.text, begin, begin, EQUALS,
            names.text, begin, names.ends[number],
        ):  # fmt: skip
            return False
    return True
