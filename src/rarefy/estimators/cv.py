"""Estimators that choose their own parameters by cross-validation over a grid."""

import math
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rarefy.checks import choose
from rarefy.estimators.classifier import check_probabilities
from rarefy.estimators.signatures import Parametrised, takes
from rarefy.estimators.sweep_grid import sweep
from rarefy.model.losses import MARGIN_LOSSES, REGRESSION_LOSSES
from rarefy.parameters.table import (
    CHOICE,
    CLASSIFIER_CV,
    DEFAULT_RULE,
    REGRESSOR_CV,
    ClassifierCVParameters,
    RegressorCVParameters,
)
from rarefy.sweeping.grid import values
from rarefy.sweeping.result import Sweep

# The parameters that `sweep` does not have, or calls by another name.
OF_THE_CHOICE = ("cv", "choose", "within_features")


def of_best(name: str) -> Any:
    """An attribute of the chosen estimator."""

    def get(estimator: Any) -> Any:
        check_is_fitted(estimator)
        return getattr(estimator.best_estimator_, name)

    return property(get, doc=f"`{name}` of `best_estimator_`.")


class CrossValidated(Parametrised):
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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Judge every point of the grid by cross-validation, and fit the chosen one to all rows."""
        for loss in values(self.loss):
            choose("loss", loss, self._losses)
        chooser = choose("choose", self.choose, CHOOSERS)
        CHOICE["within_features"].check("within_features", self.within_features)
        parameters = self.get_params(deep=False)
        for name in OF_THE_CHOICE:
            del parameters[name]
        found = sweep(X, y, folds=self.cv, sample_weight=sample_weight, **parameters)
        most = math.inf if self.within_features is None else self.within_features
        choice = chooser(found, within_features=most)
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


@takes(CLASSIFIER_CV)
class SparseOnlineClassifierCV(ClassifierMixin, CrossValidated):
    """Sparse linear classifier with parameters chosen by cross-validation.

    Parameters
    ----------
    rule, loss : a value, or a list of values
        As in SparseOnlineClassifier, as are the parameters that may have several values. With
        several rules, a parameter applies to the rules that have it.
    {parameters}

    Attributes
    ----------
    best_estimator_ : the SparseOnlineClassifier that was fitted to all rows
    best_params_ : the chosen point of the grid
    sweep_ : all points and their scores, see `rarefy.sweep`
    classes_, coef_, sparse_coef_, intercept_, n_nonzero_, sparsity_ : those of `best_estimator_`

    See Also
    --------
    SparseOnlineClassifier : One model, with given parameters.
    rarefy.sweep : The whole table of results.

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
        **parameters: Unpack[ClassifierCVParameters],
    ) -> None:
        self._store(rule=rule, loss=loss, **parameters)

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


@takes(REGRESSOR_CV)
class SparseOnlineRegressorCV(RegressorMixin, CrossValidated):
    """Sparse linear regressor with parameters chosen by cross-validation.

    Parameters
    ----------
    rule, loss : a value, or a list of values
        As in SparseOnlineRegressor, and so are the parameters that may have several values. With
        several rules or losses, parameters that one does not have are left out there.
    {parameters}

    Attributes
    ----------
    best_estimator_ : the SparseOnlineRegressor that was fitted to all rows
    best_params_ : the chosen point of the grid
    sweep_ : all points and how they fared, by R², see `rarefy.sweep`
    coef_, sparse_coef_, intercept_, n_nonzero_, sparsity_ : those of `best_estimator_`

    See Also
    --------
    SparseOnlineRegressor : One model, with given parameters.
    rarefy.sweep : The whole table of results.

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
        rule: Any = DEFAULT_RULE,
        loss: Any = "squared",
        **parameters: Unpack[RegressorCVParameters],
    ) -> None:
        self._store(rule=rule, loss=loss, **parameters)
