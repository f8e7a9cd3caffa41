"""`classes="grow"`: classes that may appear at any time."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.checks import number_or_none, numbers_if_all_are
from rarefy.errors import InputError
from rarefy.estimators.checked_input import checked_labels
from rarefy.estimators.matrices import sorted_labels
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
        self._begin_short_way(single.hot, has_learned=True)

    def _grown_targets(self: Any, y: NDArray[Any]) -> NDArray[np.float64]:
        """The numbers of the classes of a matrix; those that are new become known."""
        numbers = ClassNumbers(self.classes_.tolist())
        targets = numbers.of(y.tolist())
        new = range(len(self.classes_), len(numbers.names))
        self.classes_ = _with_labels(self.classes_, _first(y, targets, new))
        return targets


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
    """The classes with those that have come by their names in files."""
    if len(classes) == 0:
        values = numbers_if_all_are(names)
        return np.array(names if values == names else [int(value) for value in values])
    if classes.dtype.kind in "iuf":
        for name in names:
            if number_or_none(name) is None:
                raise InputError(
                    f"the label is {name!r}; the classes so far are numbers: {classes.tolist()}."
                )
        return _with_labels(classes, np.array([int(float(name)) for name in names]))
    return _with_labels(classes, np.array(names))
