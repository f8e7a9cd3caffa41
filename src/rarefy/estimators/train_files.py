"""From files to an estimator in one call."""

import inspect
from pathlib import Path
from typing import Any

from rarefy.errors import ConfigError
from rarefy.estimators import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.model.losses import REGRESSION_LOSSES
from rarefy.readers import read


def train(*paths: str | Path, loss: str = "logistic", **parameters: Any) -> Any:
    """Learn a model from files, as `rarefy train` does, and return it as an estimator.

    The parameters are those of `rarefy.read`, of the estimator (a regressor for the losses of
    regression), and of its `fit_stream`.
    """
    regression = loss in REGRESSION_LOSSES
    estimator_class: Any = SparseOnlineRegressor if regression else SparseOnlineClassifier
    reading = _taken(parameters, read)
    storing = _taken(parameters, estimator_class.fit_stream)
    model = _taken(parameters, estimator_class)
    if parameters:
        names = ", ".join(parameters)
        raise ConfigError(f"{names}: neither the reader nor the estimator has such a parameter.")
    return estimator_class(loss=loss, **model).fit_stream(read(*paths, **reading), **storing)


def _taken(parameters: dict[str, Any], function: Any) -> dict[str, Any]:
    """The parameters that a function has, taken out."""
    names = [name for name in inspect.signature(function).parameters if name in parameters]
    return {name: parameters.pop(name) for name in names}
