"""The fast path for matrices of few rows.

All else, and all that is wrong, is left to the checks of every matrix, with the same results.
"""

from collections.abc import Sequence
from operator import attrgetter, is_, le
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rarefy.engine.online_learner import OnlineLearner
from rarefy.engine.task import Task
from rarefy.engine.watch import Watch
from rarefy.readers.features.columns import Columns
from rarefy.streams.fast_path import FastPath
from rarefy.system.model_lock import ModelLock

CALLS_BEFORE = 100  # of the other way: what is called less often is not worth being compiled
FEW_ENTRIES = 1 << 12
PLAIN_VALUES = (int, float, str, bool, type(None))  # of parameters that cannot change by themselves


class MatrixRows:
    """What an estimator needs to learn and score a few rows of matrices in a short time."""

    store = None  # columns are slots
    classes = ()

    def __init__(self, parameters: Sequence[str]) -> None:
        self._parameters = attrgetter(*parameters)
        self.lock = ModelLock()  # that of the estimator is held by who calls
        self.learner: OnlineLearner | None = None
        self.task: Task | None = None
        self.watch: Watch | None = None
        self._n_calls = 0
        self._fast: FastPath | None = None
        self._checked: tuple[Any, ...] = ()  # parameters that were checked

    def note_parameters(self, estimator: Any) -> None:
        """Take note that the parameters of an estimator are checked, and are those learned by."""
        values = self._parameters(estimator)
        is_plain = all(type(value) in PLAIN_VALUES for value in values)
        self._checked = values if is_plain else ()

    def forget_parameters(self) -> None:
        self._checked = ()

    def are_parameters_checked(self, estimator: Any) -> bool:
        """Whether they are the same as when they were checked."""
        return bool(self._checked) and all(map(is_, self._parameters(estimator), self._checked))

    def take(self, X: Any, learner: OnlineLearner, task: Task, n_columns: int) -> FastPath | None:
        """What learns or scores the rows, if they are as they should be and such calls are many."""
        entries = _entries_of(X, n_columns)
        if entries is None:
            return None
        self._n_calls += 1
        if self._n_calls <= CALLS_BEFORE:
            return None
        self.learner, self.task = learner, task
        if self._fast is None:
            self._fast = FastPath(self, Columns())
        return self._fast if self._fast.take_features(*entries) else None


def _entries_of(X: Any, n_columns: int) -> tuple[Any, NDArray[Any], NDArray[Any]] | None:
    """indptr, columns and values of a small matrix; None if something is, or may be, wrong with it.

    That values are finite is found out when they are used.
    """
    if type(X) is np.ndarray:
        if X.shape != (1, n_columns) or n_columns > FEW_ENTRIES or not _are_numbers(X):
            return None
        (columns,) = X[0].nonzero()
        return (0, len(columns)), columns, X[0, columns]
    if not isinstance(X, sparse.csr_array | sparse.csr_matrix) or X.shape[1] != n_columns:
        return None
    indptr, columns, values = X.indptr, X.indices, X.data
    n = len(values)
    is_small = n <= FEW_ENTRIES and len(columns) == n and len(indptr) == X.shape[0] + 1
    if not is_small or not _are_numbers(values) or not _are_in_order(indptr, columns, n_columns):
        return None
    return indptr, columns, values


def _are_numbers(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "fiub" and values.dtype.itemsize <= 8


def _are_in_order(indptr: NDArray[Any], columns: NDArray[Any], n_columns: int) -> bool:
    """Whether rows lie one after the other, and columns ascend in each and exist."""
    bounds = indptr.tolist()
    if bounds[0] != 0 or bounds[-1] != len(columns):
        return False
    if not len(columns):
        return True
    falls = np.flatnonzero(columns[1:] <= columns[:-1]) + 1
    if len(falls) and (len(bounds) == 2 or not set(falls.tolist()) <= set(bounds)):
        return False
    is_rising = len(bounds) == 2 or all(map(le, bounds, bounds[1:]))
    return is_rising and columns.min() >= 0 and columns.max() < n_columns
