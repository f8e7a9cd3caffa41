"""Numbers of growing classes, in order of appearance."""

from collections.abc import Iterable, Sequence

import numpy as np

from rarefy.arrays import Floats
from rarefy.checks import number_or_none
from rarefy.errors import InputError
from rarefy.readers.batch import Batch
from rarefy.readers.features.labels import LARGEST_LABEL, check_ending


class ClassNumbers:
    """The classes that a model has, and those that come to them; the model does not change."""

    def __init__(self, classes: Sequence[str]) -> None:
        self.names = list(classes)
        self._numbers = {name: float(number) for number, name in enumerate(classes)}

    def of(self, names: Iterable[str]) -> Floats:
        """The number of each class; one that is new gets the next."""
        return np.array([self._number(name) for name in names], dtype=np.float64)

    def _number(self, name: str) -> float:
        number = self._numbers.setdefault(name, float(len(self.names)))
        if number == len(self.names):
            self.names.append(name)
        return number

    def of_batch(self, batch: Batch) -> Floats:
        """The number of the class of each row; what is no label of a class is an error."""
        labels = batch.labels
        wrong = np.isnan(labels)
        if batch.label_names is None:
            wrong |= (labels % 1.0 != 0.0) | (np.abs(labels) >= LARGEST_LABEL)
        if wrong.any():
            row = int(wrong.argmax())
            said = "missing" if np.isnan(labels[row]) else batch.label(row)
            raise InputError(
                f"{batch.location(row)}: the label is {said}; a word or a whole number is "
                f"expected, as the label of a class."
            )
        if batch.label_names is not None:
            found = [batch.label_names[int(number)] for number in labels]
            for name in set(found).difference(self._numbers):
                check_ending(batch.location(found.index(name)), [name])
            return self.of(found)
        return self.of(map(_whole, labels))


def class_name_in_files(label: object) -> str:
    """What files call a class; whole numbers are the same however they are written."""
    name = str(label).lower() if isinstance(label, bool | np.bool_) else str(label)
    number = number_or_none(name)
    return name if number is None or number % 1.0 else _whole(number)


def _whole(number: float) -> str:
    """The name of a whole number; that of -0 is 0."""
    return f"{number + 0.0:.0f}"
