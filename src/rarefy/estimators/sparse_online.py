"""The base of classifier and regressor: checks, learning, weights."""

import functools
import numbers
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rarefy.arrays import as_rows
from rarefy.checks import refuse_path
from rarefy.engine.online_learner import OnlineLearner
from rarefy.engine.sharding import check_sharding
from rarefy.engine.task import Task
from rarefy.engine.workers import n_cores
from rarefy.errors import InputError
from rarefy.estimators.checked_input import check_seed, checked_matrix
from rarefy.estimators.delayed_labels import DelayedLabels
from rarefy.estimators.from_matrices import FromMatrices
from rarefy.estimators.from_streams import FromStreams
from rarefy.estimators.matrices import check_importance
from rarefy.estimators.matrix_rows import MatrixRows
from rarefy.estimators.one_at_a_time import OneAtATime
from rarefy.estimators.partial_fit_rows import PartialFitOfRows
from rarefy.estimators.persistence import LearnedBy, Saving
from rarefy.estimators.signatures import Parametrised
from rarefy.estimators.watching import Watching
from rarefy.files.model_file import parameter_in_files
from rarefy.parameters.combinations import check_refit, is_refitted
from rarefy.parameters.entry import AUTO
from rarefy.parameters.table import (
    DECISION_PARAMETERS,
    check_values,
)
from rarefy.readers import Reader
from rarefy.readers.in_memory import RowsReader
from rarefy.system.deferred_signals import Deferral
from rarefy.system.model_lock import ModelLock
from rarefy.tasks import make_task

# What to do with rows that are no matrix.
WORDS = (
    "; for words, begin with start(...), after which partial_fit takes data frames and dicts, or "
    "encode them, as with OneHotEncoder or CountVectorizer."
)


class SparseOnline(
    FromMatrices,  # what fit and partial_fit do with matrices
    FromStreams,  # fit_stream, predictions for readers, weights_
    OneAtATime,  # start, learn_one, learn_many, predict_one, predict_many
    DelayedLabels,  # remember, and rows with an id
    PartialFitOfRows,  # what partial_fit does with rows that are no matrix
    Watching,  # watch
    Saving,  # save, load
    Parametrised,  # the signature, from the table of parameters
):
    """The base of both estimators; it has no `__init__` and is not used by itself."""

    learner_: OnlineLearner
    n_features_in_: int
    _learned_by: LearnedBy

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learner_")

    def __getstate__(self) -> dict[str, Any]:
        """Without what reads single rows, which is made anew."""
        state = dict(super().__getstate__())
        for name in ("_single_rows", "_fast", "_labels", "_few_rows"):
            state.pop(name, None)
        return state

    @property
    def _lock(self) -> ModelLock:
        """Held while rows are learned, or scored."""
        if self.stream_ is not None:
            return self.stream_.lock
        lock: ModelLock = self.__dict__.setdefault("_lock_of_matrices", ModelLock())
        return lock

    @property
    def _matrix_rows(self) -> MatrixRows:
        """The fast path of matrices with few rows."""
        few: MatrixRows | None = self.__dict__.get("_few_rows")
        if few is None:
            few = self.__dict__["_few_rows"] = MatrixRows(_parameter_names(type(self)))  # type: ignore[arg-type]
        return few

    def _task(self, *, is_refitted: bool = False) -> Task:
        """What the parameters ask for, with or without a refit; all of them are checked."""
        loss = self._make_loss()
        asked = {name: getattr(self, name) for name in self._table}
        check_values(asked)
        check_refit(self.refit, self.refit_l2, self.refit_features, self.loss)
        check_seed(self.random_state)
        asked |= {"rule": self.rule, "loss": self.loss}
        task = make_task(asked, loss, is_refitted=is_refitted, passes=self._stream_passes)
        check_sharding(self.shards, task)
        return task

    @property
    def _is_refitted(self) -> bool:
        """Whether there is a refit after learning, where all rows are at hand."""
        return is_refitted(self.refit, self.target_features, self.loss)

    @property
    def _stream_passes(self) -> int:
        """How often to learn what cannot be looked at before: once, unless more is asked for."""
        return 1 if self.passes == AUTO else int(self.passes)

    def _new_learner(self, task: Task) -> OnlineLearner:
        classes = () if task.classes_grow else self._known_classes  # or they come with rows
        learner = task.new_learner(classes, self.n_features_in_)
        self._tell_own(task, learner)
        return learner

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Learn a matrix further, in one pass, or rows that are no matrix."""
        is_learned = classes is None and sample_weight is None and self._learn_one_row(X, y)
        if not is_learned and self._is_no_matrix(X):
            self._go_on(X, y, classes, sample_weight)
        elif not is_learned:
            with Deferral() as signals, self._draft(keeps_rows=True) as draft:
                X = draft._check_rows(X, reset=not draft.__sklearn_is_fitted__())
                y = draft._checked_y(X, y)
                importance = check_importance(sample_weight, len(y))
                task = draft._task_to_learn(classes)
                targets = draft._targets_to_learn(y, task, classes)
                draft._learn_more(task, X, targets, importance, signals)
        self._tell_drifts()
        return self

    @contextmanager
    def _draft(self, *, keeps_rows: bool = False) -> Iterator[Self]:
        """A copy to work on, which takes this one's place, in one go, if nothing fails.

        If something does, what was learned until then can be kept: learners that find their
        parameters cannot go back.
        """
        draft = type(self).__new__(type(self))
        draft.__dict__.update(self.__dict__)
        t = self._n_learned
        try:
            yield draft
        except BaseException:
            if keeps_rows and draft._n_learned != t:
                self.__dict__ = draft.__dict__
            raise
        self.__dict__ = draft.__dict__

    @property
    def _n_learned(self) -> int:
        return self.learner_.t if self.__sklearn_is_fitted__() else 0

    def _learned(self, task: Task) -> None:
        """Note what was learned by; parameters may be set to something else afterwards."""
        names = _parameter_names(type(self))  # type: ignore[arg-type]
        parameters = {
            name: getattr(self, name) for name in names if name not in DECISION_PARAMETERS
        }
        if not isinstance(self.random_state, numbers.Integral):
            parameters["random_state"] = None  # no file can hold a generator
        if self.is_slim_:
            parameters["refit"] = True  # a target was met by one
        self._learned_by = LearnedBy(task, parameters)
        _ = self._lock  # made now, as the next, since predicting leaves an estimator as it is
        self._matrix_rows.forget_parameters()

    def _check_rows(self, X: Any, *, reset: bool, learning: bool = True) -> sparse.csr_array:
        """X as the engine needs it; with `reset` its columns become those of the estimator."""
        refuse_path(X)
        if isinstance(X, Reader):
            raise InputError("X is a reader: use fit_stream or partial_fit, or give a matrix.")
        if learning and isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
            raise InputError(f"X has dicts as rows; numbers are expected{WORDS}")
        if not reset:
            self._refuse_matrix()
        if self.n_features == "grow" and not reset:
            rows = checked_matrix(self, X, reset=False, any_width=True, for_words=WORDS)
            return self._with_known_columns(rows, column_names(X), learning)
        n_threads = min(self.shards, n_cores()) if reset else 1  # when parameters are checked
        return checked_matrix(self, X, reset=reset, for_words=WORDS, n_threads=n_threads)

    def _with_known_columns(
        self, rows: sparse.csr_array, names: list[str] | None, learning: bool
    ) -> sparse.csr_array:
        """Rows that may be narrower or wider than those before; new columns are for learning."""
        known = getattr(self, "feature_names_in_", None)
        if known is not None and names is not None:
            for column, (ours, theirs) in enumerate(zip(known, names, strict=False)):
                if ours != theirs:
                    raise InputError(
                        f"X has the name {theirs!r} for column {column}; {ours!r} is expected. "
                        f"New columns must come last."
                    )
        n_rows, width = rows.shape
        if width > self.n_features_in_:
            if not learning:
                return rows[:, : self.n_features_in_]
            self.n_features_in_ = width
            if known is not None and names is not None:
                self.feature_names_in_ = np.asarray(names, dtype=object)
        shape = (n_rows, self.n_features_in_)
        return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=shape)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        scores = self._scores_of_few(X)
        if scores is not None:
            return scores
        check_is_fitted(self)
        if isinstance(X, Reader):
            return self._stream_scores(X)
        if self.stream_ is not None and self._takes_raw(X):
            return self._stream_scores(RowsReader(X, self.stream_.classes))
        rows = self._check_rows(X, reset=False, learning=False)
        nothing = np.zeros(rows.shape[0])
        with self._lock:
            return self.learner_.scores(as_rows(rows, nothing, nothing))

    @property
    def sparse_coef_(self) -> sparse.csr_array:
        """The non-zero weights as a CSR matrix, one row per class (one row for two classes)."""
        check_is_fitted(self)
        return self.learner_.settled().weights()

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercepts, one per row of `sparse_coef_`; zeros without `fit_intercept`."""
        check_is_fitted(self)
        return self.learner_.settled().intercept()

    @property
    def n_nonzero_(self) -> int:
        """Number of non-zero weights, without the intercept."""
        return int(self.sparse_coef_.nnz)

    @property
    def sparsity_(self) -> float:
        """The share of weights that are zero."""
        coef = self.sparse_coef_
        return float(1.0 - coef.nnz / (coef.shape[0] * coef.shape[1]))

    @property
    def found_(self) -> dict[str, Any]:
        """The values of parameters that are "auto", and the l1 and eta0 that `fit` chose."""
        check_is_fitted(self)
        found = self.learner_.settled().found
        return {name: value for name, value in found.items() if value is not None}

    @property
    def t_(self) -> int:
        """Number of examples learned, over all passes and calls."""
        check_is_fitted(self)
        return self.learner_.t

    @property
    def progressive_loss_(self) -> float:
        """Mean loss of the predictions made just before each example was learned.

        With several passes, most predictions are for examples that were already learned in an
        earlier pass. With a refit or a target, it is for the model before the refit.
        """
        check_is_fitted(self)
        return self.learner_.progressive_loss


def task_of(estimator: SparseOnline) -> Task:
    """What the parameters of an estimator ask for; all of them are checked."""
    return estimator._task()


class Examples(NamedTuple):
    """Rows, targets and importance as the engine takes them; regression has 0 classes."""

    X: sparse.csr_array
    y: NDArray[np.float64]
    importance: NDArray[np.float64]
    classes: NDArray[Any]  # in order; none in regression


def examples_for(estimator: SparseOnline, X: Any, y: Any, sample_weight: Any) -> Examples:
    """What an estimator would learn from; it gets to know the classes and columns."""
    X, y, importance = estimator._prepare(X, y, sample_weight)
    return Examples(X, y, importance, estimator._known_classes)


@functools.cache
def _parameter_names(cls: Any) -> list[str]:
    """The parameters of an estimator, in the order of files; to look for them takes a while."""
    return sorted(cls._get_param_names(), key=parameter_in_files)


def has_partial_fit(estimator: SparseOnline) -> bool:
    if not estimator.refit:
        return True
    raise AttributeError("refit=True needs all data at once: use fit or fit_stream.")


def column_names(X: Any) -> list[str] | None:
    """The names of a data frame's columns, if it is one and they are strings."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None
