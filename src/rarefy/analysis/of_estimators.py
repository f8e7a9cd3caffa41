"""`rarefy.evaluate` and `rarefy.explain`: the Python twins of the commands."""

from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rarefy.analysis.explanation import Explanation, explain_row, explanation_of, rivals_of
from rarefy.arrays import as_rows
from rarefy.checks import check_whole
from rarefy.errors import InputError
from rarefy.estimators.checked_input import has_own_labels
from rarefy.estimators.matrices import check_importance
from rarefy.estimators.persistence import load
from rarefy.estimators.sparse_online import SparseOnline
from rarefy.files.model import model_of
from rarefy.readers import Reader
from rarefy.readers.in_memory import RowsReader
from rarefy.streams.metrics import Metrics, measured


def evaluate(model: Any, X: Any, y: Any = None, *, sample_weight: Any = None) -> dict[str, Any]:
    """Measure how well a model predicts rows whose labels are known, as `rarefy evaluate` does.

    Parameters
    ----------
    model : estimator, or path of a model file
        A fitted estimator of this package.
    X : matrix, rows or Reader
        What the model predicts. A reader, as from `rarefy.read`, has labels and weights itself.
    y : array-like, optional
        The labels of the rows, or the numbers that should be predicted.
    sample_weight : array-like, optional
        How much each row counts.

    Returns
    -------
    dict
        examples, weight and loss; for classification also accuracy, log_loss, precision, recall,
        f1, classes and confusion (a row for each true class); for two classes also auc,
        average_precision, best_f1 and best_threshold; for regression rmse, mae and r2. Undefined
        metrics are left out.

    Raises
    ------
    InputError
        If labels are missing or unknown, or there are no examples.

    See Also
    --------
    explain : Why a single row is predicted as it is.
    flips : Two models compared on the same rows.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> model = rarefy.SparseOnlineClassifier().fit(X, X[:, 0] > 1.0)
    >>> found = rarefy.evaluate(model, X, X[:, 0] > 1.0)
    >>> found["auc"] > 0.9, found["best_f1"] >= found["f1"]
    (True, True)
    """
    estimator = _fitted(model)
    if has_own_labels(X, y, sample_weight):
        return measured(estimator._as_stream(), _checked(estimator, X))
    summary = metrics_of_matrix(estimator, X, y, sample_weight)
    if summary["examples"] == 0:
        raise InputError("there are no examples to evaluate.")
    return summary


def metrics_of_matrix(
    estimator: SparseOnline, X: Any, y: Any, sample_weight: Any
) -> dict[str, Any]:
    """All measures by name, of rows that are a matrix."""
    scores, targets = estimator._scores(X), estimator._known_targets(X, y)
    metrics = Metrics(estimator._as_stream())
    metrics.add(scores, targets, check_importance(sample_weight, len(targets)))
    return metrics.summary()


def explain(model: Any, X: Any, row: int = 0) -> Explanation:
    """Explain the score of a row by value times weight, as `rarefy inspect --why` does.

    Parameters
    ----------
    model : estimator, or path of a model file
        A fitted estimator of this package.
    X : matrix, rows or Reader
        What the model predicts.
    row : int, default=0
        Which row of X, counted from 0.

    Returns
    -------
    Explanation
        `parts` has the name, value, weights and contributions of each feature, strongest first.
        Contributions and `intercepts` add up to `scores`; `label` is the prediction.

    Raises
    ------
    InputError
        If there is no such row.

    See Also
    --------
    evaluate : How well a model predicts many rows.
    flips : Which features cause lost answers.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> model = rarefy.SparseOnlineClassifier().fit(X, X[:, 2] > 0.0)
    >>> why = rarefy.explain(model, X, row=7)
    >>> why.parts[0].name, bool(why.scores[0] == model.decision_function(X)[7])
    ('2', True)
    """
    estimator = _fitted(model)
    check_whole("row", row, 0, 1 << 62)
    reader = _reader(estimator, X)
    stream = estimator._as_stream()
    saved = model_of(stream, {}, slim=True)
    if reader is not None:
        found = explain_row(saved, reader, row + 1)
    else:
        rows = estimator._check_rows(X, reset=False, learning=False)
        if row >= rows.shape[0]:
            raise InputError(f"there is no row {row}; the number of rows is {rows.shape[0]}.")
        one = rows[[row]]
        values = dict(zip(one.indices.tolist(), one.data.tolist(), strict=True))
        named = dict(enumerate(getattr(estimator, "feature_names_in_", ())))
        names = {column: str(named.get(column, column)) for column in values}
        nothing = np.zeros(1)
        scores = estimator.learner_.scores(as_rows(one, nothing, nothing))
        found = explanation_of(saved, stream, f"row {row}", scores, values, names)
    return found.strongest_first(rivals_of(found.scores))


def _fitted(model: Any) -> SparseOnline:
    """The estimator that was given, or chosen by cross-validation, or is in a file."""
    if isinstance(model, str | PathLike):
        return load(model)  # type: ignore[arg-type, no-any-return]
    estimator = getattr(model, "best_estimator_", model)
    if not isinstance(estimator, SparseOnline):
        raise InputError(f"a {type(model).__name__} is not a rarefy model.")
    check_is_fitted(estimator)
    return estimator


def _checked(estimator: SparseOnline, reader: Reader) -> Reader:
    if estimator.stream_ is None:
        raise InputError("the model was trained on a matrix: give a matrix, not a reader.")
    return reader


def _reader(estimator: SparseOnline, X: Any) -> Reader | None:
    """What reads X, if it is not a matrix."""
    if isinstance(X, Reader):
        return _checked(estimator, X)
    if estimator._takes_raw(X):
        assert estimator.stream_ is not None
        return RowsReader(X, estimator.stream_.classes)
    return None
