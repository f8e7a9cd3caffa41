"""Labels that are words, numbered in order of appearance."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from rarefy.checks import check_whole, is_text, number_or_none
from rarefy.errors import ConfigError, InputError
from rarefy.hashing import xxh64
from rarefy.jit import compiled, helper
from rarefy.readers.feature_names import (
    ABSENT,
    EQUALS,
    Names,
    enlarged,
    find_name,
    new_names,
    note_name,
    texts_of,
)

MOST_CLASSES = 1000  # more different labels are taken for something else, unless that is allowed
MOST_CLASSES_EVER = 1 << 30
MORE_CLASSES = (
    "To train on more classes, list all of them when training starts: classes=... (--classes)."
)
SHOWN_CLASSES = 20
FIRST_SIZE = 1 << 10
LARGEST_LABEL = 2.0**53  # from here on, different whole numbers are the same float


def checked_classes(classes: Sequence[Any]) -> tuple[str, ...]:
    """The names of all classes that a file may have; numbers may be given as such."""
    names = checked_class_names(classes)
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


def checked_class_names(classes: Sequence[Any]) -> tuple[str, ...]:
    """The names of classes, two at least, and all different."""
    if isinstance(classes, str):
        raise ConfigError(f"classes={classes!r}: a list of labels is expected.")
    names = tuple(map(str, classes))
    if not all(is_text(name) for name in names):
        raise ConfigError(f"classes={names}: labels, as text, are expected.")
    if len(names) == 1 or len(set(names)) < len(names):
        raise ConfigError(f"classes={','.join(names)}: two or more different labels are expected.")
    return names


def check_ending(where: str, labels: Iterable[Any]) -> None:
    """Refuse labels that end in NUL: as texts in an array they would be other labels."""
    for label in labels:
        if isinstance(label, str) and label.endswith("\0"):
            raise InputError(
                f"{where}: the label {label!r} ends in NUL, which arrays of NumPy drop; write it "
                f"without."
            )


def is_word(label: str) -> bool:
    """Whether a label is no number; one that is too large, as 1e999, is a wrong number."""
    is_too_large = "_" not in label and label[-1:].isdigit() and _is_infinite(label)
    return number_or_none(label) is None and not is_too_large


def _is_infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def listed(classes: Sequence[str]) -> str:
    """Some classes, for a message."""
    return ", ".join(classes[:SHOWN_CLASSES]) + (", ..." if len(classes) > SHOWN_CLASSES else "")


class TooManyLabelsError(Exception):
    """There are more different labels than there may be classes."""


@contextmanager
def too_many_labels_at(place: str) -> Iterator[None]:
    """Says where there are too many labels."""
    try:
        yield
    except TooManyLabelsError as error:
        raise InputError(f"{place}: {error}") from None


def labels_of(classes: Sequence[str], most: int | None) -> "Labels":
    """Labels that may be these classes; words are shared, since nothing can be added to them."""
    return _only_words(tuple(classes), most) or Labels(classes, most)


@lru_cache(16)
def _only_words(classes: tuple[str, ...], most: int | None) -> "Labels | None":
    labels = Labels(classes, most)
    return labels if labels.are_words else None


class Labels:
    """The labels of all files that a reader reads: numbers, until a file says otherwise.

    A file can say so only as long as no row has been read. `classes` are all words that may come;
    without them any word may, but no more than `most` different ones, by default MOST_CLASSES.
    """

    def __init__(self, classes: Sequence[str] = (), most: int | None = None) -> None:
        if most is not None:
            check_whole("max_classes", most, 2, MOST_CLASSES_EVER)
        self.classes = tuple(classes)
        self.most = most
        self._limit = len(self.classes) or most or MOST_CLASSES
        self.are_words = self.are_settled = any(number_or_none(name) is None for name in classes)
        self._begin()

    def settle(self, *, words: bool) -> None:
        """Say what the first label is."""
        if not self.are_settled:
            self.are_words = words
            self._begin()
        self.are_settled = True

    def _begin(self) -> None:
        self._names: tuple[str, ...] = ()
        self._set_words(new_names(FIRST_SIZE if self.are_words else 0))
        if self.are_words:
            self.add(self.classes)

    def _set_words(self, words: Names) -> None:
        """`words` is what the parsers look words up in, and write new ones to."""
        self._all_words = words
        keys, ends = words.keys[: self._limit], words.ends[: self._limit]
        self.words = words._replace(keys=keys, ends=ends)

    def enlarge(self) -> None:
        """More room for new words, if there may be more."""
        if self.words.used[0] == self._limit:
            raise TooManyLabelsError(
                f"there are more than {self._limit:,} different labels: is this a column of ids "
                f"or texts? If the labels are in another column, name it with label=... "
                f"(--label); if these are the classes, raise max_classes (--max-classes)."
            )
        self._set_words(enlarged(self._all_words))

    def add(self, names: Iterable[str]) -> None:
        """Words, which may be known already."""
        encoded = [name.encode() for name in names]
        text = np.frombuffer(b"".join(encoded), np.uint8)
        ends = np.cumsum([0, *map(len, encoded)])
        n_added = 0
        while (n_added := _add(self.words, text, ends, n_added)) < len(encoded):
            self.enlarge()

    @property
    def names(self) -> tuple[str, ...] | None:
        """The words by number; None if labels are numbers."""
        n_known = len(self._names)
        if self.words.used[0] > n_known:
            _, ends, text = texts_of(self.words)
            begins = [0, *ends.tolist()][n_known:]
            found = (text[a:b].tobytes().decode() for a, b in pairwise(begins))
            self._names = (*self._names, *found)
        return self._names if self.are_words else None


@compiled
def _add(words: Names, text: Any, ends: Any, n_added: int) -> int:
    """Add the words in a text from number `n_added` on; how many are added then."""
    while n_added < len(ends) - 1:
        if number_of_label(words, text, ends[n_added], ends[n_added + 1], True) == ABSENT:
            break
        n_added += 1
    return n_added


@helper
def number_of_label(words: Names, text: Any, begin: int, end: int, adds: bool) -> Any:
    """The number of a word; ABSENT for a new one that is not to be added, or has no room."""
    key = xxh64(text, begin, end, np.uint64(0))
    number = find_name(words, key)
    if number == ABSENT and adds and note_name(words, key, text, 0, 0, EQUALS, text, begin, end):
        return find_name(words, key)
    return number
