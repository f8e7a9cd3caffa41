"""A batch of rows, the result of every reader."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.readers.feature_names import Names


class Batch(NamedTuple):
    """Rows of one file in CSR layout.

    Attributes
    ----------
    path, lines : str and array
        The file, and the line of each row, counted from 1.
    indptr, keys, values : array
        The features of row n are `keys[indptr[n]:indptr[n + 1]]`, and `values` of the same places.
        A key has 64 bits.
    labels, importance : array
        The label and the weight of each row. A missing label is NaN; labels that are words have
        numbers, which are indices of `label_names`.
    names : names of keys
        If these were asked for.
    tags : tuple of str
        What rows are called, if that was asked for and the format has it.
    """

    path: str
    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    labels: NDArray[np.float64]
    importance: NDArray[np.float64]
    lines: NDArray[np.int64]  # the line of each row, counted from 1
    names: Names  # what the keys stand for, if that was asked for
    label_names: tuple[str, ...] | None = None
    groups: NDArray[np.uint64] = np.empty(0, np.uint64)  # hash of each feature's namespace
    share: float = math.nan  # of the bytes of all files that have been read, where that is known
    block_labels: NDArray[np.float64] | None = None  # of more rows, if it is the first part of them
    tags: tuple[str, ...] = ()  # what rows are called, if that was asked for and the format has it

    def without_groups(self, groups: Sequence[int]) -> "Batch":
        """The batch without the features of some namespaces."""
        keeps = ~np.isin(self.groups, np.array(groups, np.uint64))
        ends = np.concatenate([[0], np.cumsum(keeps)])
        return self._replace(
            indptr=ends[self.indptr],
            keys=self.keys[keeps],
            values=self.values[keeps],
            groups=self.groups[keeps],
        )

    def location(self, row: int) -> str:
        """Where a row stands."""
        return f"{self.path}:{self.lines[row]}"

    def label(self, row: int) -> str:
        """The label of a row, as it is written."""
        number = self.labels[row]
        return f"{number:g}" if self.label_names is None else self.label_names[int(number)]
