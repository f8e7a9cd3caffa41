"""Predicted rows that wait for their labels, bounded in number and time."""

import time
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from rarefy.arrays import Floats
from rarefy.checks import check_whole
from rarefy.errors import ConfigError, InputError
from rarefy.model.calibration import Calibration

MOST_ROWS = 100_000
MOST_SECONDS = 24 * 3600.0
MOST_EVER = 1 << 40


class PendingRow(NamedTuple):
    """A row, the scores that it had, what they were scaled by, and when."""

    x: Any
    format: str | None
    scores: Floats
    calibration: Calibration | None
    since: float


class PendingRows:
    """The latest rows that were asked for, by their ids: so many at most, and for so long."""

    def __init__(
        self,
        most: int = MOST_ROWS,
        seconds: float = MOST_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        check_whole("most", most, 1, MOST_EVER)
        if not seconds > 0.0:
            raise ConfigError(f"seconds={seconds!r}: a number above 0 is expected.")
        self._most = most
        self._seconds = seconds
        self._now = now
        self._rows: dict[Hashable, PendingRow] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self,
        id: Hashable,
        x: Any,
        format: str | None,
        scores: Floats,
        calibration: Calibration | None = None,
    ) -> None:
        """Remember a row; one of the same id is forgotten, as are those that are too many."""
        _check_id(id)
        self._rows.pop(id, None)
        self._rows[id] = PendingRow(x, format, scores, calibration, self._now())
        self._forget_old()

    def row(self, id: Hashable) -> PendingRow:
        """The row that was asked for by this id."""
        _check_id(id)
        self._forget_old()
        if id not in self._rows:
            raise InputError(
                f"id={id!r} is not remembered: it was not asked for by predict_one(x, id=...), was "
                f"learned already, or is longer ago than {self._most:,} rows or "
                f"{self._seconds:g} seconds (see remember)."
            )
        return self._rows[id]

    def forget(self, id: Hashable) -> None:
        del self._rows[id]

    def _forget_old(self) -> None:
        oldest = self._now() - self._seconds
        while self._rows:
            first = next(iter(self._rows))
            if len(self._rows) <= self._most and self._rows[first].since >= oldest:
                return
            del self._rows[first]


def _check_id(id: Hashable) -> None:
    try:
        hash(id)
    except TypeError as error:
        raise InputError(
            f"id={id!r}: a number or a text, or what else is hashable, is expected."
        ) from error
