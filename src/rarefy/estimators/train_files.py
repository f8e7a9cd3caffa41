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

    Parameters
    ----------
    *paths : str or path
        Files, globs, or "-" for standard input, as in `rarefy.read`.
    loss : str, default="logistic"
        A loss of classification or of regression, which decides what is returned.
    **parameters
        Any parameter of `rarefy.read`, of the estimator, and of its `fit_stream`.

    Returns
    -------
    SparseOnlineClassifier or SparseOnlineRegressor
        The fitted estimator. It predicts readers, data frames and dicts.

    Raises
    ------
    ConfigError
        If neither reader nor estimator has a parameter of that name, or it makes no sense.
    InputError
        If a file cannot be read, or a line cannot be parsed.

    Examples
    --------
    >>> import rarefy, tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = file.write_text("kind,words\\n" + "spam,win a prize\\nham,see you\\n" * 20)
    >>> model = rarefy.train(file, label="kind", text=["words"], l1=0.5)
    >>> model.predict({"words": "a prize"}).tolist()
    ['spam']
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
