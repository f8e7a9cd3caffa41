"""What every reader gives: a batch of rows, and how to say what is wrong with one."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Batch(NamedTuple):
    """Rows of one file in CSR layout; a feature is a 64-bit key, a missing label is NaN."""

    path: str

    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    labels: NDArray[np.float64]
    importance: NDArray[np.float64]
    lines: NDArray[np.int64]  # the line of each row, counted from 1

    def place(self, row: int) -> str:
        """Where a row stands."""
        return f"{self.path}:{self.lines[row]}"


class Problem(IntEnum):
    """What can be wrong with a line."""

    NONE = 0
    LABEL = 1
    IMPORTANCE = 2
    BEFORE_BAR = 3
    INDEX = 4
    COLON = 5
    VALUE = 6
    NAMESPACE_VALUE = 7
    AFTER_FEATURE = 8


EXPECTED = {
    Problem.LABEL: "a number as the label",
    Problem.IMPORTANCE: "a number >= 0 as the importance",
    Problem.BEFORE_BAR: "at most label, importance and tag, and then '|'",
    Problem.INDEX: "the index of a feature, a whole number",
    Problem.COLON: "':' and a value after the index",
    Problem.VALUE: "a finite number as the value",
    Problem.NAMESPACE_VALUE: "a finite number as the weight of the namespace",
    Problem.AFTER_FEATURE: "a space after the feature",
}


class Room(NamedTuple):
    """Arrays for a parser to write a batch to."""

    indptr: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]
    labels: NDArray[np.float64]
    importance: NDArray[np.float64]
    lines: NDArray[np.int64]


class Parsed(NamedTuple):
    """How far a parser came: whole rows and their entries, and the fault it stopped at, if any."""

    n_rows: int
    n_entries: int
    position: int  # where parsing can go on, or the fault
    line: int  # the line of that position
    problem: Problem


def room_size(n_bytes: int) -> int:
    """Features, or rows, that a text of this size can hold: both take two bytes at least."""
    return n_bytes // 2 + 1


def room_for(n_bytes: int) -> Room:
    """Room for a text of this size; most of it is never touched, and so never becomes memory."""
    n = room_size(n_bytes)
    return Room(
        np.zeros(n + 1, np.int64),
        np.empty(n, np.uint64),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int64),
    )


def filled(path: str, room: Room, parsed: Parsed) -> Batch:
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
    )
