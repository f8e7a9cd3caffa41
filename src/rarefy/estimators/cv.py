"""Estimators that choose their own parameters by cross-validation over a grid."""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rarefy.checks import check_whole, choose
from rarefy.estimators.classifier import check_probabilities
from rarefy.estimators.sweep_grid import DEFAULT_MEMORY, DEFAULT_PASSES, sweep
from rarefy.model.losses import MARGIN_LOSSES, REGRESSION_LOSSES
from rarefy.parameters.build import DEFAULT_RULE
from rarefy.sweeping.grid import values
from rarefy.sweeping.result import Sweep

# The parameters that `sweep` does not have, or calls by another name.
OF_THE_CHOICE = ("cv", "choose", "max_features")
MOST_FEATURES = 1 << 62


def of_best(name: str) -> Any:
    """An attribute of the chosen estimator."""

    def get(estimator: Any) -> Any:
        check_is_fitted(estimator)
        return getattr(estimator.best_estimator_, name)

    return property(get, doc=f"`{name}` of `best_estimator_`.")


class CrossValidated(BaseEstimator):
    """The base of both; it has no `__init__` and is not used by itself."""

    best_estimator_: Any
    best_params_: dict[str, Any]
    sweep_: Sweep
    _losses: dict[str, Any]

    n_features_in_ = of_best("n_features_in_")
    feature_names_in_ = of_best("feature_names_in_")
    coef_ = of_best("coef_")
    sparse_coef_ = of_best("sparse_coef_")
    intercept_ = of_best("intercept_")
    n_nonzero_ = of_best("n_nonzero_")
    sparsity_ = of_best("sparsity_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Judge every point of the grid by cross-validation, and fit the chosen one to all rows."""
        for loss in values(self.loss):
            choose("loss", loss, self._losses)
        chooser = choose("choose", self.choose, CHOOSERS)
        if self.max_features is not None:
            check_whole("max_features", self.max_features, 0, MOST_FEATURES)
        parameters = self.get_params(deep=False)
        for name in OF_THE_CHOICE:
            del parameters[name]
        found = sweep(X, y, folds=self.cv, sample_weight=sample_weight, **parameters)
        most = math.inf if self.max_features is None else self.max_features
        choice = chooser(found, max_features=most)
        best = found.refit(X, y, choice, sample_weight)
        results = {"best_estimator_": best, "best_params_": choice.parameters, "sweep_": found}
        self.__dict__.update(results)  # all at once, whenever a signal comes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """What the chosen estimator predicts for each row."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)  # type: ignore[no-any-return]

    def save(self, path: Any, *, slim: bool = False) -> None:
        """Write the chosen estimator to a model file, which `rarefy.load` reads."""
        check_is_fitted(self)
        self.best_estimator_.save(path, slim=slim)


CHOOSERS = {"best": Sweep.best, "one_standard_error": Sweep.one_standard_error}


def _has_probabilities(estimator: "SparseOnlineClassifierCV") -> bool:
    if estimator.__sklearn_is_fitted__():
        return check_probabilities(estimator.best_estimator_._loss_in_use)
    return all(check_probabilities(loss) for loss in values(estimator.loss))


class SparseOnlineClassifierCV(ClassifierMixin, CrossValidated):
    """A sparse linear classifier that chooses its parameters by cross-validation.

    Parameters
    ----------
    rule, loss, l1, ..., cumulative, multiclass : a value, or a list of values
        The parameters of SparseOnlineClassifier, whose default None stands for. Every combination
        is tried; with several rules, parameters that one does not have are left out there.
    n_l1 : int, default=30
        How many values of l1 are tried if none is given: for scale-free, from 0.3 to 32; for other
        rules, from a thousandth of the rule's own default to a hundred times that.
    cv : int, or array of the number of every row's fold, default=10
        Folds are drawn, with the classes in equal shares.
    passes : int, default=20
        How often each model, and at last the chosen one, learns its rows.
    choose : {"best", "one_standard_error"}
        The point with the best mean accuracy, or the one with the fewest weights among those
        within a standard error of it.
    max_features : int or None
        Choose among the points that keep so many features at most, in the mean over the folds.
    refit, refit_l2 : as in SparseOnlineClassifier
        Whether weights are learned again without l1, in every model before it is judged and in the
        chosen one.
    refit_features : int or list of int, default: no limit
        How many features that leaves. All values take about as long as one.
    fit_intercept, shuffle : as in SparseOnlineClassifier
    random_state : int, default=0
        Seed of the folds and of the shuffling.
    n_jobs : int, default: the number of cores
        How many threads the cross-validation uses.
    memory : int
        How many bytes its models may take; if all together take more, they are learned in parts.

    Attributes
    ----------
    best_estimator_ : the SparseOnlineClassifier that was fitted to all rows
    best_params_ : the chosen point of the grid
    sweep_ : all points and how they fared, see `rarefy.sweep`
    classes_, coef_, sparse_coef_, intercept_, n_nonzero_, sparsity_ : those of `best_estimator_`

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import SparseOnlineClassifierCV
    >>> X = np.random.default_rng(0).normal(size=(200, 30))
    >>> y = X[:, 0] > 0.0
    >>> model = SparseOnlineClassifierCV(l1=[1e-3, 1e-2, 0.1], cv=5, passes=2).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    _losses = MARGIN_LOSSES
    classes_ = of_best("classes_")

    def __init__(
        self,
        rule: Any = DEFAULT_RULE,
        loss: Any = "logistic",
        *,
        n_l1: int = 30,
        l1: Any = None,
        l2: Any = None,
        q: Any = None,
        basis: Any = None,
        cap: Any = None,
        eta0: Any = None,
        beta: Any = None,
        schedule: Any = None,
        truncate_every: Any = None,
        threshold: Any = None,
        cumulative: Any = None,
        multiclass: Any = None,
        fit_intercept: bool = True,
        cv: Any = 10,
        passes: int = DEFAULT_PASSES,
        choose: str = "best",
        max_features: int | None = None,
        refit: bool = False,
        refit_l2: float | None = None,
        refit_features: Any = None,
        shuffle: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        self.rule = rule
        self.loss = loss
        self.n_l1 = n_l1
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
        self.cv = cv
        self.passes = passes
        self.choose = choose
        self.max_features = max_features
        self.refit = refit
        self.refit_l2 = refit_l2
        self.refit_features = refit_features
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory = memory

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: one per row for two classes (positive means classes_[1]), else one per class."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)  # type: ignore[no-any-return]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, from the logistic or modified Huber loss."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)  # type: ignore[no-any-return]

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)  # type: ignore[no-any-return]


class SparseOnlineRegressorCV(RegressorMixin, CrossValidated):
    """A sparse linear regressor that chooses its parameters by cross-validation.

    Parameters
    ----------
    rule, loss, epsilon, quantile, l1, ..., cumulative : a value, or a list of values
        The parameters of SparseOnlineRegressor, whose default None stands for.

    All other parameters and attributes are those of SparseOnlineClassifierCV, with R² in the place
    of accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import SparseOnlineRegressorCV
    >>> X = np.random.default_rng(0).normal(size=(200, 30))
    >>> model = SparseOnlineRegressorCV(l1=[1e-4, 1e-2, 1.0], cv=5).fit(X, 3.0 * X[:, 0])
    >>> model.score(X, 3.0 * X[:, 0]) > 0.9
    True
    """

    _losses = REGRESSION_LOSSES

    def __init__(
        self,
        rule: Any = "adagrad-fobos",
        loss: Any = "squared",
        *,
        epsilon: Any = None,
        quantile: Any = None,
        n_l1: int = 30,
        l1: Any = None,
        l2: Any = None,
        q: Any = None,
        basis: Any = None,
        cap: Any = None,
        eta0: Any = None,
        beta: Any = None,
        schedule: Any = None,
        truncate_every: Any = None,
        threshold: Any = None,
        cumulative: Any = None,
        fit_intercept: bool = True,
        cv: Any = 10,
        passes: int = DEFAULT_PASSES,
        choose: str = "best",
        max_features: int | None = None,
        refit: bool = False,
        refit_l2: float | None = None,
        refit_features: Any = None,
        shuffle: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        self.rule = rule
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.n_l1 = n_l1
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
        self.cv = cv
        self.passes = passes
        self.choose = choose
        self.max_features = max_features
        self.refit = refit
        self.refit_l2 = refit_l2
        self.refit_features = refit_features
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory = memory
