"""`rarefy.flips`: the answers that differ between two models."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from rarefy.analysis.flip_causes import Entries, FlipCauses, Side
from rarefy.analysis.flip_tally import BothAnswers, Flips, Tally
from rarefy.analysis.of_estimators import metrics_of_matrix
from rarefy.analysis.paired_answers import (
    numbers_error,
    other_classes_error,
    qualities_of,
    stream_flips,
)
from rarefy.arrays import Numbers
from rarefy.errors import InputError
from rarefy.estimators import SparseOnlineClassifier
from rarefy.estimators.checked_input import has_own_labels
from rarefy.estimators.matrices import check_importance, sorted_labels
from rarefy.streams.stream_model import StreamModel


def flips(
    old: Any, new: Any, X: Any, y: Any = None, *, sample_weight: Any = None, top: int = 20
) -> Flips:
    """Find the answers that a new model loses and gains, compared with an old one.

    Parameters
    ----------
    old, new : classifier
        Fitted classifiers: those of this package, or anything with `predict`.
    X : matrix or Reader
        Rows that both models predict. For models trained on a stream, a reader, which each model
        reads in its own way.
    y : array-like, optional
        Labels; a reader has its own.
    sample_weight : array-like, optional
        Weights of the rows; a reader has its own.
    top : int, default=20
        Number of flips of each kind, and of features, to list.

    Returns
    -------
    Flips
        If both are rarefy models, it has the features that caused the lost answers.

    Raises
    ------
    InputError
        If a model is a regression model, the models have different classes, labels are missing or
        unknown, or there are no examples.

    See Also
    --------
    update : Keeps lost answers within a budget.
    releases : Replays a chain of releases.
    evaluate : One model, and more metrics.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = np.zeros((4, 1)), ["a", "a", "b", "a"]
    >>> old, new = (DummyClassifier(strategy="constant", constant=c).fit(X, y) for c in "ab")
    >>> found = flips(old, new, X, y)
    >>> found.n_negative, found.negative_rate, found.positive_rows.tolist()
    (3, 0.75, [2])
    """
    for which, model in (("old", old), ("new", new)):
        if not hasattr(model, "predict"):
            raise InputError(f"the {which} model, a {type(model).__name__}, has no `predict`.")
        if hasattr(model, "__sklearn_tags__") and is_regressor(model):
            raise numbers_error(which)
    if has_own_labels(X, y, sample_weight):
        old_stream, new_stream = _stream_of("old", old), _stream_of("new", new)
        return stream_flips(_side(old_stream), _side(new_stream), X, top)
    return _matrix_flips(old, new, X, np.asarray(y), sample_weight, top)


def _stream_of(which: str, model: Any) -> StreamModel:
    if not isinstance(model, SparseOnlineClassifier):
        raise InputError(
            f"the {which} model, a {type(model).__name__}, cannot predict a reader; give a matrix."
        )
    check_is_fitted(model)
    if model.stream_ is None:
        raise InputError(f"the {which} model was trained on a matrix; give a matrix.")
    return model._as_stream()


def _matrix_flips(
    old: Any, new: Any, X: Any, y: NDArray[Any], sample_weight: Any, top: int
) -> Flips:
    classes = _classes(old, new, y)
    every = [y.tolist()]
    for model in (old, new):
        answers = np.asarray(model.predict(X))
        if answers.shape != y.shape:
            raise InputError(
                f"X and y have different lengths: {len(answers)} answers, and {len(y)} labels."
            )
        every.append(answers.tolist())
    importance = check_importance(sample_weight, len(y))
    classes = list(dict.fromkeys([*classes, *(label for labels in every for label in labels)]))
    number_of = {label: number for number, label in enumerate(classes)}
    truth, before, now = (np.array([number_of[label] for label in labels]) for labels in every)
    tally = Tally(classes, top)
    lost = tally.add(BothAnswers(truth, before, now, importance, lambda row: f"row {row}"))
    causes = {}
    if _are_ours(old, new, X):
        old_side, new_side = (_side(model._as_stream()) for model in (old, new))
        flip_causes = FlipCauses(old_side, new_side, _column_names(old) | _column_names(new))
        wrong, right = (old_side.shared_numbers[numbers[lost]] for numbers in (now, truth))
        entries = _entries(old, X, lost), _entries(new, X, lost)
        flip_causes.add(entries, wrong, right, importance[lost])
        causes = flip_causes.findings(top)
        causes |= qualities_of(
            *(metrics_of_matrix(model, X, y, importance) for model in (old, new))
        )
    found = tally.flips(**causes)
    if found is None:
        raise InputError("there are no examples to compare.")
    return found


def _classes(old: Any, new: Any, y: NDArray[Any]) -> list[Any]:
    """The classes of the models, as far as they tell; those of y have to be among them."""
    labels: list[Any] = sorted_labels("y", y).tolist()
    known: list[list[Any]] = [
        model.classes_.tolist() for model in (old, new) if hasattr(model, "classes_")
    ]
    if not known:
        return labels
    if set(known[0]) != set(known[-1]):
        raise other_classes_error(*known)
    unknown = [label for label in labels if label not in known[0]]
    if unknown:
        raise InputError(f"y contains the label {unknown[0]!r}; the classes are {known[0]}.")
    return known[0]


def _are_ours(old: Any, new: Any, X: Any) -> bool:
    """Whether both are linear models in the columns of a matrix."""
    return all(
        isinstance(model, SparseOnlineClassifier) and not model._takes_raw(X)
        for model in (old, new)
    )


def _side(model: StreamModel) -> Side:
    return Side(model, model.kept())


def _entries(model: Any, X: Any, rows: Numbers) -> Entries:
    csr = model._check_rows(X, reset=False, learning=False)[rows]
    return Entries(csr.indptr.astype(np.int64), csr.indices.astype(np.uint64), csr.data)


def _column_names(model: Any) -> dict[int, str]:
    return dict(enumerate(getattr(model, "feature_names_in_", ())))
