"""All rows of files in memory, for `rarefy sweep`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.cli.views.texts import size
from rarefy.errors import InputError
from rarefy.streams.run import Run

# At the most, while the parts are put together.
BYTES_PER_ENTRY = 20
BYTES_PER_ROW = 48


class TooManyRowsError(InputError):
    """They do not fit memory."""


class RowsInMemory(NamedTuple):
    X: Any  # CSR; a column for every feature that occurs
    y: Floats  # as the loss takes it
    importance: Floats

    @property
    def n_bytes(self) -> int:
        return BYTES_PER_ENTRY * int(self.X.nnz) + BYTES_PER_ROW * len(self.y)


def read_rows(run: Run, memory: int, on_progress: Callable[[float], None]) -> RowsInMemory:
    """What the model of a run would learn in one pass; it learns nothing."""
    parts, n_bytes = [], 0
    for prepared, _ in run.again():
        if len(prepared.batch.labels) == 0:
            continue
        run.model.begin(prepared.batch, run.reader)
        rows = run.model.with_targets(prepared).rows()
        n_bytes += BYTES_PER_ENTRY * len(rows.values) + BYTES_PER_ROW * len(rows.y)
        share = prepared.batch.share
        if n_bytes > memory:
            raise _too_many(n_bytes, share, memory)
        lengths = np.diff(rows.indptr)
        parts.append([lengths, *(np.array(part) for part in rows[1:])])
        on_progress(share)
    if not parts:
        raise InputError(f"{' '.join(run.reader.files)}: there are no examples to learn from.")
    return _put_together(parts)


def _put_together(parts: list[list[Any]]) -> RowsInMemory:
    from scipy import sparse

    keys = np.unique(np.concatenate([np.unique(part[1]) for part in parts]))
    for part in parts:
        part[1] = np.searchsorted(keys, part[1]).astype(np.int32)
    lengths, indices, values, y, importance = (_taken(parts) for _ in range(5))
    indptr = np.append(0, np.cumsum(lengths))
    if indptr[-1] <= np.iinfo(np.int32).max:  # else SciPy makes the indices 64 bits wide, too
        indptr = indptr.astype(np.int32)
    X = sparse.csr_array((values, indices, indptr), shape=(len(y), len(keys)))
    X.sort_indices()
    return RowsInMemory(X, y, importance)


def _taken(parts: list[list[Any]]) -> Any:
    """The first array of all parts as one; they are let go of."""
    whole = np.concatenate([part[0] for part in parts])
    for part in parts:
        del part[0]
    return whole


def _too_many(n_bytes: int, share: float, memory: int) -> TooManyRowsError:
    needed = f"about {size(int(n_bytes / share))}" if share > 0.0 else f"more than {size(n_bytes)}"
    return TooManyRowsError(
        f"the rows need {needed} of memory, and {size(memory)} may be taken: allow more by "
        f"--memory, or sweep over a part of the data."
    )
