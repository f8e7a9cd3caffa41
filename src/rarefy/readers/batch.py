"""What every reader gives: a batch of rows, and how to say what is wrong with one."""

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.readers.features.names import Names, clear_names, new_names, with_more_room
from rarefy.readers.source import BLOCK_BYTES
from rarefy.readers.text.short_names import ShortNames, new_short_names
from rarefy.readers.text.short_numbers import Words, new_words


class Batch(NamedTuple):
    """Rows of one file in CSR layout; a feature is a 64-bit key, a missing label is NaN.

    Labels that are words have numbers, by which `label_names` leads back to them.
    """

    path: str
    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    labels: NDArray[np.float64]
    importance: NDArray[np.float64]
    lines: NDArray[np.int64]  # the line of each row, counted from 1
    names: Names  # what the keys stand for, if that was asked for
    label_names: tuple[str, ...] | None = None
    groups: NDArray[np.uint64] = np.empty(0, np.uint64)  # hash of each feature's namespace
    share: float = math.nan  # of the bytes of all files that have been read, where that is known
    block_labels: NDArray[np.float64] | None = None  # of more rows, if it is the first part of them

    def place(self, row: int) -> str:
        """Where a row stands."""
        return f"{self.path}:{self.lines[row]}"

    def label(self, row: int) -> str:
        """The label of a row, as it is written."""
        number = self.labels[row]
        return f"{number:g}" if self.label_names is None else self.label_names[int(number)]


class Problem(IntEnum):
    """Why a parser stopped before the end."""

    NONE = 0
    LABEL = 1
    IMPORTANCE = 2
    BEFORE_BAR = 3
    INDEX = 4
    COLON = 5
    VALUE = 6
    NAMESPACE_VALUE = 7
    AFTER_FEATURE = 8
    NOT_UTF8 = 9
    TOO_FEW_FIELDS = 10
    TOO_MANY_FIELDS = 11
    AFTER_QUOTE = 12
    OPEN_QUOTE = 13  # a fault in the last block; in others, the row goes on in the next one
    NUMBER = 14
    JSON = 15
    NO_LABEL = 16
    TOO_DEEP = 17
    UNKNOWN_COLUMN = 18  # the position is that of its name
    MEMBER = 30
    AFTER_NAME = 31
    JSON_VALUE = 32
    COMMA = 33
    STRING = 34
    ESCAPE = 35
    SURROGATE = 36
    REST_OF_OBJECT = 37
    AFTER_OBJECT = 38
    # not faults: the reader does what is needed, and parsing goes on
    NEW_LABEL = 100  # the position is that of a label, in text, that was not known so far
    NO_ROOM = 101  # the names do not fit; the position is that of the row


NO_QUOTES = "if quotes are ordinary characters: --no-quotes"
EXPECTED = {
    Problem.LABEL: "a number as the label",
    Problem.IMPORTANCE: "a number >= 0 as the importance",
    Problem.BEFORE_BAR: "at most label, importance and tag, and then '|'",
    Problem.INDEX: "the index of a feature, a whole number",
    Problem.COLON: "':' and a value after the index",
    Problem.VALUE: "a finite number as the value",
    Problem.NAMESPACE_VALUE: "a finite number as the weight of the namespace",
    Problem.AFTER_FEATURE: "a space after the feature",
    Problem.NOT_UTF8: "text in UTF-8",
    Problem.TOO_FEW_FIELDS: "a field for every column",
    Problem.TOO_MANY_FIELDS: "the end of the row (there are no more columns)",
    Problem.AFTER_QUOTE: f"the end of the field after the closing quote ({NO_QUOTES})",
    Problem.OPEN_QUOTE: f"a closing quote somewhere below ({NO_QUOTES})",
    Problem.NUMBER: "a number (or nothing) in this column (if it holds words: --categorical)",
    Problem.JSON: "a JSON object on a line of its own",
    Problem.NO_LABEL: "a label",
    Problem.TOO_DEEP: "JSON that is nested less deeply",
    Problem.MEMBER: "a member, that is, a name in double quotes, ':' and a value,",
    Problem.AFTER_NAME: "':' after the name",
    Problem.JSON_VALUE: "a value (string, finite number, object, array, true, false or null)",
    Problem.COMMA: "',' or the end of the object or array",
    Problem.STRING: "an escape, as in \\t or \\u0000, for a control character",
    Problem.ESCAPE: "a valid escape, as in \\n, \\\\ or \\u00e9,",
    Problem.SURROGATE: "a whole character, that is, both \\u of a surrogate pair,",
    Problem.REST_OF_OBJECT: "the rest of the object, on the same line,",
    Problem.AFTER_OBJECT: "the end of the line after the object",
}


class Room(NamedTuple):
    """Arrays for a parser to write a batch to."""

    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    labels: NDArray[np.float64]
    importance: NDArray[np.float64]
    lines: NDArray[np.int64]
    groups: NDArray[np.uint64]  # hash of each feature's namespace or column; empty if not needed
    names: Names
    words: Words  # numbers that are still to be worked out
    short_names: ShortNames


class Parsed(NamedTuple):
    """How far a parser came: whole rows and their entries, and why it stopped, if it did."""

    n_rows: int
    n_entries: int
    position: int  # where parsing can go on, or the fault
    line: int  # the line of that position
    problem: int  # a Problem; going on, a plain 0 is faster to hand over than an enumeration


def room_size(n_bytes: int) -> int:
    """Features, or rows, that a text of this size can hold.

    Every word and every number takes two bytes at least, and a word can make a pair as well.
    """
    return n_bytes + 2


def room_for(n_bytes: int, *, groups: bool = False, names: bool = False) -> Room:
    """Room for a text of this size; most of it is never touched, and so never becomes memory."""
    n = room_size(n_bytes)
    return Room(
        np.zeros(n + 1, np.int64),
        np.empty(n, np.uint64),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n if groups else 0, np.uint64),
        new_names(1 << 12 if names else 0),
        new_words(n),
        new_short_names(),
    )


class Rooms:
    """Rooms to be used in turn; without a number, every batch gets one of its own."""

    def __init__(self, n_rooms: int | None, *, groups: bool, names: bool) -> None:
        self._reused = n_rooms is not None
        self._places = [RoomPlace(groups, names) for _ in range(n_rooms or 1)]
        self._at = -1

    def next(self, n_bytes: int) -> "RoomPlace":
        """A place with room for a text of this size."""
        self._at = (self._at + 1) % len(self._places)
        place = self._places[self._at]
        if not self._reused:
            place = RoomPlace(place.groups, place.with_names)
        place.prepare(n_bytes, BLOCK_BYTES if self._reused else 0)
        return place


class RoomPlace:
    """Holds a room, and changes it for a larger one where needed."""

    def __init__(self, groups: bool, with_names: bool) -> None:
        self.groups = groups
        self.with_names = with_names
        self.room = room_for(0, groups=groups, names=with_names)

    def prepare(self, n_bytes: int, at_least: int) -> None:
        if len(self.room.values) < room_size(n_bytes):
            size = max(n_bytes, at_least)
            self.room = room_for(size, groups=self.groups, names=self.with_names)
        clear_names(self.room.names)

    def with_more_names(self) -> Room:
        """Change the room for one with more room for names, and all else as it is."""
        self.room = self.room._replace(names=with_more_room(self.room.names))
        return self.room


def filled(path: str, room: Room, parsed: Any, label_names: tuple[str, ...] | None) -> Batch:
    """The part of the room that was written to."""
    rows, entries = parsed.n_rows, parsed.n_entries
    return Batch(
        path,
        room.indptr[: rows + 1],
        room.keys[:entries],
        room.values[:entries],
        room.labels[:rows],
        room.importance[:rows],
        room.lines[:rows],
        room.names,
        label_names,
        room.groups[:entries],
    )
