"""`rarefy.merge`: one model from several that have learned different rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rarefy.errors import InputError
from rarefy.estimators.persistence import Saving, estimator_of, model_of_estimator
from rarefy.files.merged_file import NamedModel, merge_models
from rarefy.files.model_file import load_model


def merge(models: Sequence[Any], base: Any = None) -> Any:
    """Make one model of models that were trained on different rows of the same problem.

    Parameters
    ----------
    models : sequence of estimators or model files
        Two or more, with the same parameters. Features and classes that only some of them know are
        kept.
    base : estimator or model file, optional
        The model from which all others were trained further. What it has learned counts once.

    Returns
    -------
    SparseOnlineClassifier or SparseOnlineRegressor
        It predicts, and can be trained further. The given models stay as they are. For rules whose
        state is a sum over examples (`scale-free`, `da`, `rda`, `adagrad-rda`) the state is the sum
        of theirs; for others it is an approximation (docs/how-to/shards.md).

    Raises
    ------
    InputError
        If models cannot be merged: they are slim, still being tuned, or differ in rule, loss,
        classes, columns or store.

    See Also
    --------
    train : Trains further from a model, one after the other, with `resume`.
    SparseOnlineClassifier.partial_fit : Learns more rows.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> X = np.random.default_rng(0).normal(size=(3000, 5))
    >>> y = X[:, 0] > X[:, 1]
    >>> start = rarefy.SparseOnlineClassifier()
    >>> _ = start.partial_fit(X[:1000], y[:1000], classes=[False, True])
    >>> from copy import deepcopy
    >>> parts = [
    ...     deepcopy(start).partial_fit(X[rows], y[rows])
    ...     for rows in (slice(1000, 2000), slice(2000, 3000))
    ... ]
    >>> model = rarefy.merge(parts, base=start)
    >>> model.t_, model.score(X, y) > 0.95
    (3000, True)
    """
    if isinstance(models, (str, Path, Saving)):
        raise InputError("a list of models is expected.")
    named = [_named(f"model {number}", model) for number, model in enumerate(models, 1)]
    return estimator_of(merge_models(named, None if base is None else _named("the base", base)))


def _named(name: str, model: Any) -> NamedModel:
    if isinstance(model, (str, Path)):
        return str(model), load_model(model)
    if isinstance(model, Saving):
        return name, model_of_estimator(model)
    raise InputError(
        f"{name} is a {type(model).__name__}; an estimator, or the path of a model file, is "
        f"expected."
    )
