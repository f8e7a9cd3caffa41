"""`classes="grow"`: classes that may appear at any time."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.checks import numbers_if_all_are
from rarefy.errors import InputError
from rarefy.estimators.checked_input import checked_labels
from rarefy.estimators.matrices import sorted_labels
from rarefy.readers.features.labels import LARGEST_LABEL
from rarefy.streams.class_numbers import ClassNumbers, class_name_in_files
from rarefy.system.deferred_signals import Deferral

KINDS = {"b": "truths", "U": "texts", "O": "texts"}  # all else are numbers


class GrowingClasses:
    """Part of the classifier."""

    classes_: NDArray[Any]

    def _learn_growing(self: Any, rows: Any, y: Any, importance: Any, format: str | None) -> None:
        """Learn rows with names, whose classes may be new."""
        single, numbers = self._single(), ClassNumbers(self.stream_.classes)
        labels = targets = None
        if y is not None:
            labels = checked_labels(rows, y)
            targets = numbers.of(map(class_name_in_files, labels.tolist()))
        ready = single.prepared(rows, targets, importance, format, numbers)
        new = range(len(self.classes_), len(numbers.names))
        if labels is None:
            classes = _with_named(self.classes_, [numbers.names[number] for number in new])
        else:
            classes = _with_labels(self.classes_, _first(labels, targets, new))
        with Deferral(), self._lock:
            single.learn(ready, numbers)
            self.classes_ = classes
            self._note_learned()
        self._begin_fast_path(single.fast_path, has_learned=True)

    def _grown_targets(self: Any, y: NDArray[Any]) -> NDArray[np.float64]:
        """The numbers of the classes of a matrix; those that are new become known."""
        numbers = ClassNumbers(self.classes_.tolist())
        targets = numbers.of(y.tolist())
        new = range(len(self.classes_), len(numbers.names))
        self.classes_ = _with_labels(self.classes_, _first(y, targets, new))
        return targets


def classes_in_files(names: Sequence[str]) -> NDArray[Any]:
    """Classes by their names in files: numbers if all look like it, whole ones if floats can be."""
    classes = np.array(numbers_if_all_are(names))
    if classes.dtype == np.float64:
        whole = ((classes % 1.0 == 0.0) & (np.abs(classes) < LARGEST_LABEL)).all()
        classes = classes.astype(np.int64) if whole else classes
    return classes


def _first(labels: NDArray[Any], targets: Any, numbers: Iterable[int]) -> NDArray[Any]:
    """The labels of classes of these numbers, as they came first."""
    return labels[[int(np.argmax(targets == number)) for number in numbers]]


def _with_labels(classes: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """The classes with those that have come."""
    if len(new) == 0:
        return classes
    sorted_labels("y", new)
    if len(classes) == 0:
        return new
    ours, theirs = (KINDS.get(labels.dtype.kind, "numbers") for labels in (classes, new))
    if ours != theirs:
        raise InputError(
            f"y contains the label {new.tolist()[0]!r}; the classes so far are {ours}: "
            f"{classes.tolist()}."
        )
    return np.concatenate([classes, new])


def _with_named(classes: NDArray[Any], names: list[str]) -> NDArray[Any]:
    """The classes with those that have come by their names in files.

    They are what they would be, had all come from files; those that are texts stay so.
    """
    if not names:
        return classes
    if classes.dtype.kind in "UO":
        return _with_labels(classes, np.array(names))
    return classes_in_files([*map(class_name_in_files, classes.tolist()), *names])
