"""Labels that are words: each has a number, in the order in which they came."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.config import is_text, number_or_none
from rarefy.errors import ConfigError
from rarefy.hashing import hash_text

LARGEST_LABEL = 2.0**53  # from here on, different whole numbers are the same float


def checked_classes(classes: Sequence[Any]) -> tuple[str, ...]:
    """The names of all classes that a file may have; numbers may be given as such."""
    names = checked_names(classes)
    numbers = [number_or_none(name) for name in names]
    if None in numbers:
        return names
    of_number: dict[Any, str] = {}
    for name, number in zip(names, numbers, strict=True):
        other = of_number.setdefault(number, name)
        why = f"{other} and {name} are the same" if other != name else f"{name} is too large"
        if other != name or abs(float(name)) >= LARGEST_LABEL:
            raise ConfigError(
                f"classes={','.join(names)}: labels that are numbers are read as numbers, and "
                f"{why}. Use words, such as class{name}."
            )
    return names


def checked_names(classes: Sequence[Any]) -> tuple[str, ...]:
    """The names of classes, two at least, and all different."""
    if isinstance(classes, str):
        raise ConfigError(f"classes={classes!r}: a list of labels is expected.")
    names = tuple(map(str, classes))
    if not all(is_text(name) for name in names):
        raise ConfigError(f"classes={names}: labels, as text, are expected.")
    if len(names) == 1 or len(set(names)) < len(names):
        raise ConfigError(f"classes={','.join(names)}: two or more different labels are expected.")
    return names


class Labels:
    """The labels of all files that a reader reads: numbers, until a file says otherwise.

    A file can say so only as long as no row has been read. `classes` are all words that may come;
    without them any word may.
    """

    def __init__(self, classes: Sequence[str] = ()) -> None:
        self.classes = tuple(classes)
        words = any(number_or_none(name) is None for name in classes)
        self.names: tuple[str, ...] | None = self.classes if words else None
        self.hashes = _hashes(self.names or ())
        self._settled = words

    def settle(self, *, words: bool) -> None:
        """Say what the first label is."""
        if not self._settled:
            self.names = self.classes if words else None
            self.hashes = _hashes(self.names or ())
        self._settled = True

    @property
    def are_words(self) -> bool:
        return self.names is not None

    def add(self, name: str) -> None:
        """A word that was not known so far."""
        self.names = (*(self.names or ()), name)
        self.hashes = np.append(self.hashes, _hashes([name]))


def _hashes(names: Sequence[str]) -> NDArray[np.uint64]:
    """By these the compiled parsers tell labels."""
    return np.array([hash_text(name) for name in names], dtype=np.uint64)
