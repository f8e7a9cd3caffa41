"""Folds of cross-validation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.checks import check_whole
from rarefy.errors import InputError


def fold_numbers(
    folds: Any, y: Floats, *, is_regression: bool, seed: int
) -> NDArray[np.int64] | None:
    """Every row's fold: drawn, with the classes in equal shares, or as given; None for none."""
    if folds is None:
        return None
    if np.ndim(folds) > 0:
        return _given(folds, len(y))
    check_whole("folds", folds, 2, max(len(y), 2))
    from sklearn.model_selection import KFold, StratifiedKFold

    splitter = KFold if is_regression else StratifiedKFold
    numbers = np.empty(len(y), dtype=np.int64)
    try:
        split = splitter(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
        for number, (_, held_out) in enumerate(split):
            numbers[held_out] = number
    except ValueError as error:
        raise InputError(f"folds={folds}: {error}") from error
    return numbers


def _given(folds: Any, n_rows: int) -> NDArray[np.int64]:
    numbers = np.asarray(folds)
    if numbers.shape != (n_rows,) or numbers.dtype.kind not in "iu":
        raise InputError(
            f"folds is an array of shape {numbers.shape} and type {numbers.dtype}; a number of "
            f"folds, or a whole number for each of the {n_rows} rows is expected."
        )
    names, numbers = np.unique(numbers, return_inverse=True)
    if len(names) < 2:
        raise InputError("folds puts all rows into one fold; at least two are expected.")
    return np.asarray(numbers, dtype=np.int64)
