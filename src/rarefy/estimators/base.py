"""What classifier and regressor share: checking, learning, reading the weights."""

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from rarefy.checks import as_csr, check_structure
from rarefy.config import check_flag
from rarefy.errors import ConfigError, InputError
from rarefy.estimators.saving import Saving
from rarefy.estimators.streams import FromStreams
from rarefy.learner import Learner
from rarefy.readers import Reader
from rarefy.refit import check_refit, refitted
from rarefy.rows import as_rows
from rarefy.tuning import new_learner
from rarefy.tuning.space import Space, rule_or_space
from rarefy.weighting import Weighting

WEIGHTING_PARAMETERS = ("importance", "endowment", "endowment_by")
RULE_PARAMETERS = (
    *("rule", "loss", "l1", "l2", "q", "basis", "cap", "eta0", "beta", "schedule"),
    *("truncate_every", "threshold", "cumulative"),
)


class SparseOnline(FromStreams, Saving, BaseEstimator):
    """The base of both estimators; it has no `__init__` and is not used by itself."""

    learner_: Learner
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learner_")

    def _check_parameters(self) -> tuple[Any, Any, Weighting]:
        """Rule, schedule and weighting that the parameters describe; all of them are checked.

        Where some are to be found, there is a space of rules instead of a rule, and no schedule.
        """
        if self.n_features not in (None, "grow"):
            raise ConfigError(f"n_features={self.n_features!r}: None or 'grow' is expected.")
        for flag in ("cumulative", "fit_intercept", "shuffle"):
            check_flag(flag, getattr(self, flag))
        check_refit(self.refit, self.refit_l2, self.refit_features, self.loss)
        passes = self.passes
        if not isinstance(passes, numbers.Integral) or isinstance(passes, bool) or passes < 1:
            raise ConfigError(f"passes={passes!r}: a whole number >= 1 is expected.")
        _check_seed(self.random_state)
        parameters = {name: getattr(self, name) for name in RULE_PARAMETERS}
        weighting = {
            name: getattr(self, name) for name in WEIGHTING_PARAMETERS if hasattr(self, name)
        }
        return rule_or_space(
            parameters, weighting, max_features=self.max_features, passes=int(passes)
        )

    def _new_learner(self, loss: Any, n_outputs: int = 1) -> Learner:
        rule, schedule, weighting = self._check_parameters()
        return new_learner(
            rule,
            schedule,
            loss,
            n_features=self.n_features_in_,
            n_outputs=n_outputs,
            fit_intercept=self.fit_intercept,
            weighting=weighting,
        )

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever fails inside leaves the estimator as it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_rows(self, X: Any, *, reset: bool, learning: bool = True) -> sparse.csr_array:
        """X as the engine needs it; with `reset` its columns become those of the estimator."""
        if isinstance(X, Reader):
            raise InputError("X is a reader, which fit_stream learns from; here give a matrix.")
        if not reset:
            self._refuse_matrix()
        check_structure(X)
        checks = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": False}
        try:
            if self.n_features == "grow" and not reset:
                rows = as_csr(check_array(X, estimator=self, **checks))
                return self._with_known_columns(rows, column_names(X), learning)
            return as_csr(validate_data(self, X, reset=reset, **checks))
        except InputError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from error

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
                        f"Columns may be added at the end, but not moved."
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

    def _check_y(self, X: Any, y: Any) -> NDArray[Any]:
        try:
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        except ValueError as error:
            raise InputError(str(error)) from error
        return y  # type: ignore[no-any-return]

    def _learn_passes(self, learner: Learner, X: Any, y: Any, importance: Any) -> None:
        """Learn from scratch; if that fails, the learner is of no use."""
        if not importance.any():
            raise InputError("sample_weight is zero for all rows, which leaves nothing to learn.")
        random = check_random_state(self.random_state)
        for _ in range(self.passes):
            if self.shuffle:
                order = random.permutation(len(y))
                rows = as_rows(X[order], y[order], importance[order])
            else:
                rows = as_rows(X, y, importance)
            learner.learn(rows, restorable=False)
        learner = learner.settled()
        if self.refit:
            learner = refitted(learner, X, y, importance, self.refit_l2, self.refit_features)
        self.learner_, self.stream_, self.is_slim_ = learner, None, bool(self.refit)

    def _learn_more(self, X: sparse.csr_array, y: Any, importance: Any) -> None:
        if self.is_slim_:
            raise InputError(
                "the model was refitted or saved slim: it can predict, but not go on learning. "
                "Begin anew with fit."
            )
        asked = self._check_parameters()
        if isinstance(asked[0], Space):
            self._check_same_space(asked[0])
        else:
            self._check_same(asked)
        self.learner_.learn(as_rows(X, y, importance), self.n_features_in_)

    def _check_same_space(self, asked: Space) -> None:
        begun = getattr(self.learner_, "space", None)
        if begun is None and self.learner_.found and asked.max_features is not None:
            raise ConfigError(
                f"max_features={asked.max_features} was settled by fit. To go on learning within "
                f"it, begin with partial_fit instead."
            )
        if begun != asked and not (begun is None and self.learner_.found):
            raise ConfigError(
                "What is to be found cannot be changed once learning has begun. Go on with the "
                "parameters that it began with, or begin anew with fit."
            )

    def _check_same(self, asked: tuple[Any, Any, Weighting]) -> None:
        begun = (self.learner_.rule, self.learner_.clock.schedule, self.learner_.weighting)
        if asked != begun:
            raise ConfigError(
                f"The parameters describe {asked[0]} with {asked[1]} and {asked[2]}, but learning "
                f"began with {begun[0]}, {begun[1]} and {begun[2]}. Go on with those, or begin "
                f"anew with fit."
            )

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        if isinstance(X, Reader):
            return self._stream_scores(X)
        if self._takes_raw(X):
            return self._raw_scores(X)
        rows = self._check_rows(X, reset=False, learning=False)
        nothing = np.zeros(rows.shape[0])
        return self.learner_.scores(as_rows(rows, nothing, nothing))

    @property
    def sparse_coef_(self) -> sparse.csr_array:
        """The weights that are not zero, CSR, one row per class (one in all for two classes)."""
        check_is_fitted(self)
        return self.learner_.weights()

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercepts, one per row of `sparse_coef_`; zeros without `fit_intercept`."""
        check_is_fitted(self)
        return self.learner_.intercept()

    @property
    def n_nonzero_(self) -> int:
        """How many weights are not zero (the intercept is not counted)."""
        return int(self.sparse_coef_.nnz)

    @property
    def sparsity_(self) -> float:
        """The share of weights that are zero."""
        coef = self.sparse_coef_
        return float(1.0 - coef.nnz / (coef.shape[0] * coef.shape[1]))

    @property
    def found_(self) -> dict[str, Any]:
        """The parameters that were left to be found, and what was found so far."""
        check_is_fitted(self)
        found = self.learner_.found
        return {name: value for name, value in found.items() if value is not None}

    @property
    def t_(self) -> int:
        """How many examples have been learned, over all passes and calls."""
        check_is_fitted(self)
        return self.learner_.t

    @property
    def progressive_loss_(self) -> float:
        """Mean loss of the predictions made just before each example was learned."""
        check_is_fitted(self)
        return self.learner_.progressive_loss


def has_partial_fit(estimator: SparseOnline) -> bool:
    if not estimator.refit:
        return True
    raise AttributeError("refit=True needs all data at once: use fit or fit_stream.")


def _check_seed(random_state: Any) -> None:
    """As scikit-learn does; but whole numbers are not made generators of, which takes a while."""
    if isinstance(random_state, int) and 0 <= random_state < 1 << 32:
        return
    try:
        check_random_state(random_state)
    except ValueError as error:
        raise ConfigError(f"random_state={random_state!r}: {error}") from error


def column_names(X: Any) -> list[str] | None:
    """The names of a data frame's columns, if it is one and they are strings."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None
