"""Where the batches are that workers have read and keep."""

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from rarefy.arrays import Numbers
from rarefy.cluster.shard_work import Spans, rows_of
from rarefy.cluster.worker_protocol import Handle, Workers
from rarefy.readers.feature_names import Names, names_of, new_names, texts_of
from rarefy.stores import Prepared


class RowLocations(NamedTuple):
    """Where rows are."""

    spans: Spans  # the rows of each batch
    handles: list[Handle]


class StoredRows:
    """Batches in the order of their rows, which are known by their numbers in the data."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self._begins: list[int] = []  # the first row of each batch
        self._handles: list[Handle] = []

    def add(self, first_row: int, handle: Handle) -> None:
        self._begins.append(first_row)
        self._handles.append(handle)

    def forget_before(self, row: int) -> None:
        """Let go of batches all of whose rows come before that one."""
        n = max(bisect_right(self._begins, row) - 1, 0)
        del self._begins[:n], self._handles[:n]

    def locate(self, numbers: Numbers) -> RowLocations:
        """Where the rows of these numbers, ascending, are."""
        if len(numbers) == 0:
            return RowLocations([np.empty(0, np.int32)], self._handles[:1])
        bounds = [*self._begins[1:], int(numbers[-1]) + 1]
        ends = np.searchsorted(numbers, bounds).tolist()
        spans, handles, begin = [], [], 0
        for first_row, handle, end in zip(self._begins, self._handles, ends, strict=True):
            if end > begin:
                spans.append((numbers[begin:end] - first_row).astype(np.int32))
                handles.append(handle)
                begin = end
        return RowLocations(spans, handles)

    def fetch(self, numbers: Numbers) -> Handle:
        """Have rows sent here."""
        located = self.locate(numbers)
        return self.workers.start(rows_of, located.spans, *located.handles)

    def fetched(self, handle: Handle) -> Prepared:
        """Rows that were sent."""
        part: Prepared = self.workers.result(handle)
        return part._replace(batch=part.batch._replace(names=with_table(part.batch.names)))


def with_table(names: Names) -> Names:
    """Names that can be looked up."""
    return names_of(*texts_of(names)) if names.used[0] else new_names(0)
