"""What users give to `fit` and `predict`, checked as scikit-learn has it, with our errors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from rarefy.checks import refuse_path
from rarefy.errors import ConfigError, InputError
from rarefy.estimators.matrices import (
    as_csr,
    check_structure,
    check_targets,
    refuse_missing_labels,
    refuse_other_than_numbers,
    sorted_labels,
)
from rarefy.parameters.entry import LARGEST_SEED
from rarefy.readers import Reader


def checked_matrix(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    any_width: bool = False,
    for_words: str = "",
    n_threads: int = 1,
) -> sparse.csr_array:
    """X as the engine needs it; with `reset` its columns become those of the estimator.

    `for_words` is what to do with words, which no matrix has. So many threads look at its values.
    """
    check_structure(X)
    checks = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": False}
    try:
        refuse_other_than_numbers("X", X)
        if any_width:
            return as_csr(check_array(X, estimator=estimator, **checks), n_threads)
        return as_csr(validate_data(estimator, X, reset=reset, **checks), n_threads)
    except InputError:
        raise
    except ValueError as error:
        remedy = for_words if "could not convert string to float" in str(error) else ""
        raise InputError(f"{error}{remedy}") from error
    except OverflowError as error:
        raise InputError(f"X must be numeric: {error}") from error


def checked_y(X: Any, y: Any) -> NDArray[Any]:
    """One value for each row."""
    try:
        found = column_or_1d(y, warn=True)
        check_consistent_length(X, found)
    except ValueError as error:
        raise InputError(str(error)) from error
    if found.dtype.kind == "U" and isinstance(y, list | tuple):
        refuse_missing_labels("y", y)  # of which NumPy has made the word "nan"
    return found  # type: ignore[no-any-return]


def checked_labels(X: Any, y: Any) -> NDArray[Any]:
    """One label for each row."""
    y = checked_y(X, y)
    if y.dtype.kind == "f":
        check_targets("y", y)
    elif y.dtype.kind not in "iubU":
        sorted_labels("y", y)
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise InputError(str(error)) from error
    return y  # type: ignore[no-any-return]


def has_own_labels(X: Any, y: Any, sample_weight: Any) -> bool:
    """Whether X is a reader, which gives labels and weights itself; with a matrix come labels."""
    refuse_path(X)
    if isinstance(X, Reader):
        if y is not None or sample_weight is not None:
            raise InputError("y and sample_weight are for matrices; a reader has its own.")
        return True
    if y is None:
        raise InputError("y=None: labels are needed.")
    return False


def class_numbers(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """The number of each label among the classes."""
    order = np.argsort(classes)  # a reader gives classes in the order that a user wants
    numbers = np.searchsorted(classes, y, sorter=order)
    numbers = order[np.minimum(numbers, len(order) - 1)]
    unseen = classes[numbers] != y
    if unseen.any():
        row = int(unseen.argmax())
        label = y[row : row + 1].tolist()[0]  # as Python would show it
        raise InputError(
            f"y contains the label {label!r} in row {row}; the classes of the model are "
            f"{classes.tolist()}."
        )
    return numbers


def check_seed(random_state: Any) -> None:
    """As scikit-learn does; but whole numbers are not made generators of, which takes a while."""
    if isinstance(random_state, int) and 0 <= random_state <= LARGEST_SEED:
        return
    try:
        check_random_state(random_state)
    except ValueError as error:
        raise ConfigError(f"random_state={random_state!r}: {error}") from error
