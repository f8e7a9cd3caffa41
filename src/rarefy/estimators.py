"""The scikit-learn faces of the engine."""

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from rarefy.checks import as_csr, check_importance, check_structure, check_targets
from rarefy.config import check_flag, check_number, choose, make_rule
from rarefy.errors import ConfigError, InputError
from rarefy.learner import Learner
from rarefy.losses import MARGIN_LOSSES, REGRESSION_LOSSES
from rarefy.multiclass import MULTICLASS, multiclass_loss
from rarefy.rows import as_rows

RULE_PARAMETERS = ("l1", "l2", "q", "basis", "cap", "beta", "truncate_every", "threshold")


class _SparseOnline(BaseEstimator):
    """What classifier and regressor share: checking, learning, reading the weights."""

    learner_: Learner
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learner_")

    def _check_parameters(self) -> tuple[Any, Any]:
        """The rule and schedule that the parameters describe; all parameters are checked."""
        if self.n_features not in (None, "grow"):
            raise ConfigError(f"n_features={self.n_features!r}: None or 'grow' is expected.")
        for flag in ("cumulative", "fit_intercept", "shuffle"):
            check_flag(flag, getattr(self, flag))
        passes = self.passes
        if not isinstance(passes, numbers.Integral) or isinstance(passes, bool) or passes < 1:
            raise ConfigError(f"passes={passes!r}: a whole number >= 1 is expected.")
        try:
            check_random_state(self.random_state)
        except ValueError as error:
            raise ConfigError(f"random_state={self.random_state!r}: {error}") from error
        return make_rule(
            self.rule,
            cumulative=self.cumulative,
            schedule=self.schedule,
            eta0=self.eta0,
            loss=self.loss,
            **{name: getattr(self, name) for name in RULE_PARAMETERS},
        )

    def _new_learner(self, loss: Any, n_outputs: int = 1) -> Learner:
        rule, schedule = self._check_parameters()
        return Learner(
            rule,
            schedule,
            loss,
            n_features=self.n_features_in_,
            n_outputs=n_outputs,
            fit_intercept=self.fit_intercept,
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
        if not importance.any():
            raise InputError("sample_weight is zero for all rows, which leaves nothing to learn.")
        random = check_random_state(self.random_state)
        for _ in range(self.passes):
            if self.shuffle:
                order = random.permutation(len(y))
                learner.learn(as_rows(X[order], y[order], importance[order]))
            else:
                learner.learn(as_rows(X, y, importance))
        self.learner_ = learner

    def _learn_more(self, X: sparse.csr_array, y: Any, importance: Any) -> None:
        rule, schedule = self._check_parameters()
        if (rule, schedule) != (self.learner_.rule, self.learner_.clock.schedule):
            raise ConfigError(
                f"The parameters describe {rule} with {schedule}, but learning began with "
                f"{self.learner_.rule} and {self.learner_.clock.schedule}. Go on with those, or "
                f"begin anew with fit."
            )
        self.learner_.learn(as_rows(X, y, importance), self.n_features_in_)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
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
    def t_(self) -> int:
        """How many examples have been learned, over all passes and calls."""
        check_is_fitted(self)
        return self.learner_.t

    @property
    def progressive_loss_(self) -> float:
        """Mean loss of the predictions made just before each example was learned."""
        check_is_fitted(self)
        return self.learner_.progressive_loss


def column_names(X: Any) -> list[str] | None:
    """The names of a data frame's columns, if it is one and they are strings."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def sorted_labels(name: str, labels: Any) -> NDArray[Any]:
    """The distinct labels in order, if they are labels at all."""
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise InputError(f"{name} has {labels.ndim} dimensions; a list of labels is expected.")
    missing = labels[:0]
    if labels.dtype.kind == "f":
        missing = labels[np.isnan(labels)]
    elif labels.dtype.kind == "O":
        missing = labels[[is_missing(label) for label in labels]]
    if len(missing):
        raise InputError(f"{name} contains {missing[0]}, which is not a label.")
    try:
        return np.unique(labels)
    except TypeError as error:
        raise InputError(f"{name} mixes labels that cannot be put in order: {error}") from error


def is_missing(label: Any) -> bool:
    return label is None or (isinstance(label, float) and np.isnan(label))


def _has_probabilities(estimator: "SparseOnlineClassifier") -> bool:
    if estimator.loss in ("logistic", "modified_huber"):
        return True
    raise AttributeError(
        f"predict_proba needs loss='logistic' or 'modified_huber', not {estimator.loss!r}."
    )


class SparseOnlineClassifier(ClassifierMixin, _SparseOnline):
    """A sparse linear classifier, learned online: one example at a time, in one pass if need be.

    Parameters
    ----------
    rule : str or rule, default="frda"
        How weights follow from subgradients: ogd, fobos, fr-comid (sgft, hf-fobos), rda, frda
        (stda), ftprl, ftpfrl, truncated-gradient, rounding, adagrad-fobos, adagrad-rda, ftrl, or a
        rule of your own (see `rarefy.rule`).
    loss : {"logistic", "hinge", "squared_hinge", "modified_huber", "perceptron"}
    l1, l2 : float
        Strength of the penalties. More l1 means fewer weights. The default of l1 is 3e-4 (1e-4 for
        AdaGrad, 1 for ftrl, whose l1 acts once and not in every round), that of l2 is 0.
    q : float >= 1 or inf, default=inf
        Norm of a feature's past subgradients by which its l1 is scaled (fr-comid, frda, ftpfrl).
    basis : {"gradient", "update", "feature"}, default="gradient"
        What the norm is taken of: subgradients, subgradients times step, or feature values.
    cap : float, default=1e6
        Upper bound of that norm.
    eta0 : float
        Size of the first step; the default is 1 (0.1 for ftrl, AdaGrad and steep losses, a
        twentieth of that for a constant schedule).
    beta : float, default: 1 for ftrl, 0 for AdaGrad
        Added to the root of the summed squares by which these rules divide their steps.
    schedule : {"inv_sqrt", "constant", "inv_t"}, default="inv_sqrt"
        How steps shrink with the round.
    truncate_every, threshold : default=10 and inf (rounding: 1e-3)
        Truncated gradient and rounding act every so many rounds, on weights up to the threshold.
    cumulative : bool, default=False
        Use the cumulative penalty (fobos, fr-comid).
    multiclass : {"auto", "crammer_singer", "softmax", "ovr"}
        With three classes or more, every class has weights of its own. "auto" is softmax for
        logistic, crammer_singer for hinge, and one-vs-rest otherwise.
    fit_intercept : bool, default=True
        The intercept is not penalised.
    passes : int, default=1
        How often `fit` goes over the data; the clock goes on from pass to pass.
    shuffle : bool, default=False
        Whether `fit` takes the rows of each pass in random order.
    random_state : int, RandomState instance or None
        Seed of the shuffling.
    n_features : None or "grow"
        With "grow", later calls of `partial_fit` may bring more columns.

    Attributes
    ----------
    classes_ : array of the class labels
    coef_ : array of shape (1 or n_classes, n_features), built when asked for
    sparse_coef_ : the same in CSR, never dense
    intercept_, n_nonzero_, sparsity_, t_, progressive_loss_

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import SparseOnlineClassifier
    >>> X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> y = np.array(["spam", "ham", "spam", "ham"])
    >>> model = SparseOnlineClassifier(rule="frda", l1=0.01, passes=5).fit(X, y)
    >>> model.predict(X).tolist()
    ['spam', 'ham', 'spam', 'ham']
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        rule: Any = "frda",
        loss: str = "logistic",
        *,
        l1: float | None = None,
        l2: float | None = None,
        q: float | None = None,
        basis: str | None = None,
        cap: float | None = None,
        eta0: float | None = None,
        beta: float | None = None,
        schedule: str | None = None,
        truncate_every: int | None = None,
        threshold: float | None = None,
        cumulative: bool = False,
        multiclass: str = "auto",
        fit_intercept: bool = True,
        passes: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
        n_features: str | None = None,
    ) -> None:
        self.rule = rule
        self.loss = loss
        self.l1 = l1
        self.l2 = l2
        self.q = q
        self.basis = basis
        self.cap = cap
        self.eta0 = eta0
        self.beta = beta
        self.schedule = schedule
        self.truncate_every = truncate_every
        self.threshold = threshold
        self.cumulative = cumulative
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_features = n_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: `passes` times over the rows of X."""
        with self._all_or_nothing():
            self._check_parameters()
            X = self._check_rows(X, reset=True)
            y = self._check_labels(X, y)
            importance = check_importance(sample_weight, len(y))
            self.classes_ = sorted_labels("y", y)
            learner = self._classes_learner()
            self._learn_passes(learner, X, self._encode(y), importance)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn the rows of X once, going on from what was learned before.

        The first call needs `classes`, all the labels that will ever come. Any split of the data
        into calls gives the same weights, bit for bit, as one call.
        """
        with self._all_or_nothing():
            first = not self.__sklearn_is_fitted__()
            X = self._check_rows(X, reset=first)
            y = self._check_labels(X, y)
            importance = check_importance(sample_weight, len(y))
            self._check_classes(classes, first)
            if first:
                self.learner_ = self._classes_learner()
            self._learn_more(X, self._encode(y), importance)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: one per row for two classes (positive means classes_[1]), else one per class."""
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The label with the highest score, for each row."""
        scores = self.decision_function(X)
        winners = (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winners]  # type: ignore[no-any-return]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, from the logistic or modified Huber loss."""
        scores = self._scores(X)
        if self.loss == "modified_huber":
            positive = (np.clip(scores, -1.0, 1.0) + 1.0) / 2.0
        elif type(self.learner_.loss).__name__ == "Softmax":
            positive = np.exp(scores - scores.max(axis=1, keepdims=True))
        else:
            positive = 0.5 * (1.0 + np.tanh(0.5 * scores))
        if positive.shape[1] == 1:
            return np.hstack([1.0 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        even = np.full_like(positive, 1.0 / positive.shape[1])
        return np.divide(positive, total, out=even, where=total > 0.0)  # type: ignore[no-any-return]

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))  # type: ignore[no-any-return]

    @property
    def coef_(self) -> NDArray[np.float64]:
        """All weights, (1 or n_classes, n_features); `sparse_coef_` is smaller."""
        return self.sparse_coef_.toarray()  # type: ignore[no-any-return]

    def _check_parameters(self) -> tuple[Any, Any]:
        choose("loss", self.loss, MARGIN_LOSSES)
        choose("multiclass", self.multiclass, dict.fromkeys(MULTICLASS))
        if self.multiclass == "softmax" and self.loss != "logistic":
            raise ConfigError(
                f"multiclass='softmax' has no meaning for loss={self.loss!r}: softmax is the "
                f"logistic loss of many classes. Use loss='logistic', or 'crammer_singer' or 'ovr'."
            )
        return super()._check_parameters()

    def _classes_learner(self) -> Learner:
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise InputError(
                f"y contains {n_classes} class; a classifier needs at least two classes."
            )
        loss = choose("loss", self.loss, MARGIN_LOSSES)()
        if n_classes == 2:
            return self._new_learner(loss)
        return self._new_learner(multiclass_loss(self.multiclass, loss), n_classes)

    def _check_labels(self, X: Any, y: Any) -> NDArray[Any]:
        y = self._check_y(X, y)
        if y.dtype.kind == "f":
            check_targets("y", y)
        elif y.dtype.kind == "O":
            sorted_labels("y", y)
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise InputError(str(error)) from error
        return y  # type: ignore[no-any-return]

    def _check_classes(self, classes: Any, first: bool) -> None:
        if first:
            if classes is None:
                raise InputError(
                    "classes=None: the first call of partial_fit needs all labels that will come."
                )
            self.classes_ = sorted_labels("classes", classes)
        elif classes is not None and not np.array_equal(
            self.classes_, sorted_labels("classes", classes)
        ):
            raise InputError(
                f"classes={classes!r} is not the same as on the last call to partial_fit: "
                f"{self.classes_!r}."
            )

    def _encode(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """-1 and +1 for two classes, else the number of the class."""
        numbers_of_labels = np.searchsorted(self.classes_, y)
        numbers_of_labels[numbers_of_labels == len(self.classes_)] = 0
        unseen = self.classes_[numbers_of_labels] != y
        if unseen.any():
            row = int(unseen.argmax())
            raise InputError(
                f"y contains the label {y[row]!r} in row {row}; the classes given to the first "
                f"call are {self.classes_.tolist()}."
            )
        if len(self.classes_) == 2:
            return np.where(numbers_of_labels == 1, 1.0, -1.0)
        return numbers_of_labels.astype(np.float64)


class SparseOnlineRegressor(RegressorMixin, _SparseOnline):
    """A sparse linear regressor, learned online.

    Parameters
    ----------
    loss : {"squared", "huber", "epsilon_insensitive", "quantile"}
        Note that squared is (y - p)^2, without the factor 1/2.
    epsilon : float, default=0.1
        Where huber turns into a straight line; the error that epsilon_insensitive forgives.
    quantile : float in (0, 1), default=0.5
        The quantile that the quantile loss aims at.

    All other parameters and attributes are those of SparseOnlineClassifier. The default rule is
    adagrad-fobos, whose steps fit themselves to each column's scale: with a common schedule the
    squared loss diverges on columns that are not scaled (eta0 is 0.05 for it then).

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import SparseOnlineRegressor
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> model = SparseOnlineRegressor(l1=0.0, eta0=0.5, passes=200).fit(X, [1, 2, 3])
    >>> model.predict(X).round(1).tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        rule: Any = "adagrad-fobos",
        loss: str = "squared",
        *,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        l1: float | None = None,
        l2: float | None = None,
        q: float | None = None,
        basis: str | None = None,
        cap: float | None = None,
        eta0: float | None = None,
        beta: float | None = None,
        schedule: str | None = None,
        truncate_every: int | None = None,
        threshold: float | None = None,
        cumulative: bool = False,
        fit_intercept: bool = True,
        passes: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
        n_features: str | None = None,
    ) -> None:
        self.rule = rule
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.l1 = l1
        self.l2 = l2
        self.q = q
        self.basis = basis
        self.cap = cap
        self.eta0 = eta0
        self.beta = beta
        self.schedule = schedule
        self.truncate_every = truncate_every
        self.threshold = threshold
        self.cumulative = cumulative
        self.fit_intercept = fit_intercept
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_features = n_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: `passes` times over the rows of X."""
        with self._all_or_nothing():
            loss = self._make_loss()
            self._check_parameters()
            X = self._check_rows(X, reset=True)
            y = self._check_targets(X, y)
            importance = check_importance(sample_weight, len(y))
            self._learn_passes(self._new_learner(loss), X, y, importance)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows of X once, going on from what was learned before."""
        with self._all_or_nothing():
            first = not self.__sklearn_is_fitted__()
            X = self._check_rows(X, reset=first)
            y = self._check_targets(X, y)
            importance = check_importance(sample_weight, len(y))
            if first:
                self.learner_ = self._new_learner(self._make_loss())
            self._learn_more(X, y, importance)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The prediction for each row."""
        return self._scores(X).ravel()

    @property
    def coef_(self) -> NDArray[np.float64]:
        """All weights, (n_features,)."""
        return self.sparse_coef_.toarray().ravel()  # type: ignore[no-any-return]

    def _make_loss(self) -> Any:
        cls = choose("loss", self.loss, REGRESSION_LOSSES)
        if not isinstance(self.quantile, numbers.Real) or not 0.0 < self.quantile < 1.0:
            raise ConfigError(f"quantile={self.quantile!r}: a number between 0 and 1 is expected.")
        given = {"epsilon": check_number("epsilon", self.epsilon), "quantile": float(self.quantile)}
        return cls(**{name: given[name] for name in cls._fields})

    def _check_targets(self, X: Any, y: Any) -> NDArray[np.float64]:
        y = self._check_y(X, y)
        try:
            return check_targets("y", y)
        except (TypeError, ValueError) as error:
            raise InputError(f"y has to be numbers: {error}") from error
