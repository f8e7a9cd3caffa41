"""The classes of a stream, from its labels, and the target for each label."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import LARGEST_VALUE, Floats
from rarefy.checks import number_or_none
from rarefy.errors import InputError, RarefyWarning
from rarefy.jit import compiled
from rarefy.readers.batch import Batch
from rarefy.readers.features.labels import (
    LARGEST_LABEL,
    MORE_CLASSES,
    MOST_CLASSES,
    check_ending,
    listed,
)

CLASSES_BEYOND_DOUBT = 20
ROWS_OF_CLASS = 3  # on average, at the least
LEAST_COUNTED = 0.9  # share of the numbers from the first to the last class that are classes


def classes_of(batch: Batch, most: int | None) -> tuple[str, ...]:
    """The classes, sorted, inferred from the first batch's labels; numbers that are more are none.

    Without `most`, numbers are none either that do not look like those of classes. Of words the
    reader sees to it that they are not more. A batch that was cut counts as a whole.
    """
    if batch.block_labels is not None:
        batch = batch._replace(labels=batch.block_labels)
    if batch.label_names is not None:
        names = sorted({batch.label_names[int(n)] for n in set(batch.labels.tolist())})
        if len(names) < 2:
            raise _too_few_classes(batch, names)
        check_ending(batch.path, names)
        _doubt_alike(batch.path, names)
        return tuple(names)
    values = np.array(sorted(set(batch.labels[~np.isnan(batch.labels)].tolist())))
    are_whole = bool((values % 1.0 == 0.0).all())
    if not are_whole or _are_too_many(values, len(batch.labels), most):
        some = ", ".join(f"{value:g}" for value in values[:3])
        allow = (
            f" If these {len(values):,} numbers are classes, use max_classes="
            f"{len(values)} (--max-classes {len(values)})."
        )
        raise InputError(
            f"{batch.path}: labels such as {some} look like numbers to predict; use a regression "
            f"loss, such as loss='squared' (--loss squared).{allow if are_whole else ''}"
        )
    if (np.abs(values) >= LARGEST_LABEL).any():
        raise InputError(
            f"{batch.path}: labels such as {values[-1]:.0f} are too large to be distinguished, "
            f"and look like ids; name the label column, or write labels as words."
        )
    found = [f"{value:.0f}" for value in values]
    if set(found) <= {"-1", "1"}:
        return ("-1", "1")
    if set(found) <= {"0", "1"}:
        return ("0", "1")
    if len(found) < 2:
        raise _too_few_classes(batch, found)
    return tuple(found)


def _doubt_alike(path: str, names: list[str]) -> None:
    """Warn of classes that are probably one, written in two ways."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(" ".join(name.split()).casefold(), name)
        if other != name:
            warnings.warn(
                f"{path}: the labels {other!r} and {name!r} are two classes, and differ only in "
                f"case or blanks; if they mean the same, write them alike.",
                RarefyWarning,
                stacklevel=2,
            )
            return


def _are_too_many(values: Floats, n_rows: int, most: int | None) -> bool:
    """Whether whole numbers are too many, and too little like numbers of classes, to be such.

    Classes have several rows each, and are counted from 0 or 1 with few gaps.
    """
    n = len(values)
    if most is not None or n > MOST_CLASSES:
        return n > (most or MOST_CLASSES)
    return _look_measured(values, n_rows)


def doubt_measured(classes: NDArray[Any], n_rows: int) -> None:
    """Warn of classes in memory that are probably numbers to predict."""
    if classes.dtype.kind in "iuf" and _look_measured(classes.astype(np.float64), n_rows):
        some = ", ".join(f"{value:g}" for value in classes[:3])
        warnings.warn(
            f"y has {len(classes):,} distinct numbers, such as {some}, and each of them becomes a "
            f"class. If they are numbers to predict, use SparseOnlineRegressor.",
            RarefyWarning,
            stacklevel=4,
        )


def _look_measured(values: Floats, n_rows: int) -> bool:
    n = len(values)
    are_counted = (
        n > 0 and values[0] in (0.0, 1.0) and n > LEAST_COUNTED * (values[-1] - values[0] + 1)
    )
    return n > CLASSES_BEYOND_DOUBT and (n_rows < ROWS_OF_CLASS * n or not are_counted)


def _too_few_classes(batch: Batch, found: list[str]) -> InputError:
    return InputError(
        f"{batch.path}: all labels of the first {len(batch.labels):,} rows are "
        f"{found[0] if found else 'missing'}; list the classes with classes=... (--classes). If "
        f"rows are sorted by label, put them in random order, too: --shuffle (shuffle=True), with "
        f"memory for all of them."
    )


def targets_of(batch: Batch, classes: tuple[str, ...]) -> Floats:
    """The number of the class of each row; without classes, the number to predict.

    A label that is neither is an error.
    """
    y = _label_numbers(batch, classes) if classes else _numbers_to_predict(batch)
    if np.isnan(y).any():
        row = int(np.isnan(y).argmax())
        label = "missing" if np.isnan(batch.labels[row]) else batch.label(row)
        accepted, remedy = "a number", ""
        if classes:
            accepted, remedy = f"one of the classes {listed(classes)}", f" {MORE_CLASSES}"
        raise InputError(
            f"{batch.location(row)}: the label is {label}; {accepted} is expected.{remedy}"
        )
    return y


def _numbers_to_predict(batch: Batch) -> Floats:
    """The labels; NaN for words and for numbers that are too large."""
    if batch.label_names is not None:
        return np.full(len(batch.labels), np.nan)
    return np.where(np.abs(batch.labels) <= LARGEST_VALUE, batch.labels, np.nan)


def _label_numbers(batch: Batch, classes: tuple[str, ...]) -> Floats:
    """The number of the class of each row; NaN for other labels."""
    if batch.label_names is not None:
        positions = {name: float(n) for n, name in enumerate(classes)}
        table = np.array([positions.get(name, np.nan) for name in batch.label_names])
        missing = np.isnan(batch.labels)
        numbers = table[np.where(missing, 0.0, batch.labels).astype(np.int64)]
        return np.where(missing, np.nan, numbers)
    values = np.array([number_or_none(name) for name in classes], dtype=np.float64)
    order = np.argsort(values)
    numbers = np.empty(len(batch.labels))
    _find_labels(batch.labels, values[order], order, numbers)
    return numbers


@compiled
def _find_labels(labels: Floats, ascending: Floats, order: NDArray[np.int64], out: Floats) -> None:
    """Where each label is among the values; NaN if nowhere."""
    for row in range(len(labels)):
        low, high = 0, len(ascending)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if labels[row] >= ascending[middle] else (low, middle)
        out[row] = order[low] if labels[row] == ascending[low] else np.nan
