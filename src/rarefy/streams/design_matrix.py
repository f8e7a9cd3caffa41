"""`rarefy.to_matrix`: all rows of a reader in memory, as scikit-learn takes them."""

from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.checks import check_flag, check_whole, refuse_path
from rarefy.errors import InputError
from rarefy.readers import Reader
from rarefy.stores import Prepared, make_store
from rarefy.streams.classes import classes_of, targets_of
from rarefy.streams.pipeline import prepared_batches

# At the most, while the batches are put together.
BYTES_PER_ENTRY = 20
BYTES_PER_ROW = 48
LARGEST_MEMORY = 1 << 62


class RowsTooLargeError(InputError):
    """The rows do not fit the memory that they may take; they need about `n_bytes`."""

    def __init__(self, message: str, n_bytes: int, *, is_estimate: bool) -> None:
        super().__init__(message)
        self.n_bytes = n_bytes
        self.is_estimate = is_estimate  # of all rows; else these are the bytes of the first ones


class DesignMatrix(NamedTuple):
    """Rows as estimators take them.

    Attributes
    ----------
    X : CSR array
        A column for every feature that occurs, in the order of their keys.
    y : array
        The number of each row's class, or the number to predict.
    sample_weight : array
        The importance of each row.
    keys : array of uint64
        What each column is the feature of; in svmlight, the index.
    classes : tuple of str
        The names of the classes; empty for regression.
    """

    X: Any
    y: NDArray[Any]
    sample_weight: Floats
    keys: NDArray[np.uint64]
    classes: tuple[str, ...]

    @property
    def n_bytes(self) -> int:
        """The memory that putting them together has taken, at the most."""
        return BYTES_PER_ENTRY * int(self.X.nnz) + BYTES_PER_ROW * len(self.y)


def to_matrix(
    reader: Reader,
    *,
    regression: bool = False,
    memory: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> DesignMatrix:
    """Read all rows into memory: `X`, `y` and `sample_weight` for `fit` or `rarefy.sweep`.

    Parameters
    ----------
    reader : Reader
        What `rarefy.read` gives.
    regression : bool, default=False
        Whether labels are numbers to predict, and not classes.
    memory : int, default: no limit
        Memory limit in bytes. If the rows need more, an error is raised as soon as that is known.
    progress : function
        Called with the share of the data that has been read, NaN if unknown.

    Returns
    -------
    DesignMatrix
        `X` (CSR), `y`, `sample_weight`, `keys` (the feature of each column) and `classes`.

    Raises
    ------
    InputError
        If there are no rows, a label is missing or of the wrong kind, or the rows do not fit into
        `memory`.

    See Also
    --------
    read : The reader that is given.
    sweep : Takes the rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import rarefy
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sms.csv"
    >>> _ = path.write_text("label,length,site" + chr(10) + "spam,2,a" + chr(10) + "ham,1,b")
    >>> rows = rarefy.to_matrix(rarefy.read(path))
    >>> rows.X.shape, rows.y.tolist(), rows.classes
    ((2, 3), [1, 0], ('ham', 'spam'))
    """
    check_flag("regression", regression)
    if memory is not None:
        check_whole("memory", memory, 1, LARGEST_MEMORY)
    refuse_path(reader)
    classes = reader.labels.classes
    if regression and classes:
        raise InputError(f"classes={classes}: with regression=True, labels are numbers.")
    store = make_store("table", names=False)
    reader.names_wanted = store.names_wanted
    parts, n_bytes = [], 0
    with closing(prepared_batches(reader, store, lambda prepared: prepared)) as batches:
        for prepared in batches:
            batch = prepared.batch
            if len(batch.labels) == 0:
                continue
            if not (regression or classes):
                classes = classes_of(batch, reader.labels.most)
            n_bytes += BYTES_PER_ENTRY * len(batch.values) + BYTES_PER_ROW * len(batch.labels)
            if memory is not None and n_bytes > memory:
                raise _too_large(n_bytes, batch.share, memory)
            parts.append(_copied(prepared, classes))
            if progress is not None:
                progress(batch.share)
    if not parts:
        raise InputError(f"{' '.join(reader.files)}: there are no examples to learn from.")
    return DesignMatrix(*_put_together(parts), classes)


def _copied(prepared: Prepared, classes: tuple[str, ...]) -> list[NDArray[Any]]:
    """Lengths, keys, values, targets and sample weights, whose memory is used again."""
    rows, y = prepared.rows(), targets_of(prepared.batch, classes)
    copies = (np.array(part) for part in (rows.indices, rows.values))
    y = y.astype(np.int64) if classes else np.array(y)
    return [np.diff(rows.indptr), *copies, y, np.array(rows.importance)]


def _put_together(parts: list[list[Any]]) -> tuple[Any, NDArray[Any], Floats, NDArray[np.uint64]]:
    """X, y, importance and keys; the parts are used up."""
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
    return X, y, importance, keys


def _taken(parts: list[list[Any]]) -> Any:
    """The first array of all parts as one; they are let go of."""
    whole = np.concatenate([part[0] for part in parts])
    for part in parts:
        del part[0]
    return whole


def _too_large(n_bytes: int, share: float, memory: int) -> RowsTooLargeError:
    is_estimate = share > 0.0
    needed = int(n_bytes / share) if is_estimate else n_bytes
    about = "about" if is_estimate else "more than"
    return RowsTooLargeError(
        f"memory={memory}: the rows need {about} {needed} bytes. Give that much, or read a part "
        f"of the data.",
        needed,
        is_estimate=is_estimate,
    )
