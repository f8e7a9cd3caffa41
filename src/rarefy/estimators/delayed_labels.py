"""Rows that are predicted now, and learned when their labels come.

Until then they are remembered, bounded in number and time.
"""

import time
from collections.abc import Callable, Hashable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rarefy.arrays import Floats
from rarefy.checks import check_whole
from rarefy.engine.watched import Seen
from rarefy.errors import ConfigError, InputError
from rarefy.model.answers import right_answers
from rarefy.model.calibration import Calibration

MOST_ROWS = 100_000
MOST_SECONDS = 24 * 3600.0
MOST_EVER = 1 << 40
NOTHING_LEARNED = (
    "This %(name)s has not begun to learn: call start() first (with classes=[...] to classify), or "
    "learn rows with learn_one, learn_many or fit_stream, or load a model."
)


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


class DelayedLabels:
    """Part of the base of both estimators."""

    _asked: PendingRows | None = None  # rows whose labels are to come

    def remember(self: Any, most: int = MOST_ROWS, seconds: float = MOST_SECONDS) -> Any:
        """Say how many rows to remember that are predicted with an id, and for how long.

        Those that are remembered now are forgotten. They are not saved with the model.
        """
        self._asked = PendingRows(most, seconds)
        return self

    def _learn_asked(self: Any, id: Hashable, x: Any, y: Any, weight: float | None) -> None:
        """Learn a row that was predicted, and count the prediction of that time."""
        if x is not None or y is None:
            raise InputError(f"id={id!r}: give y, the label, and no x: the row is remembered.")
        with self._lock:
            asked = (self._asked or PendingRows()).row(id)
            progress = self.learner_.settled().progress
            before = progress.copy()
            with self._unwatched():
                self.learn_one(asked.x, y, weight, format=asked.format)
            learner = self.learner_.settled()
            target = float(self._targets_of([asked.x], [y])[0])
            added = learner.progress[1] - before[1]
            scores = np.full((1, learner.n_outputs), min(0.0, asked.scores.min()))
            scores[:, : asked.scores.shape[1]] = asked.scores  # no class that has come since
            if learner.n_outputs == 1:
                loss = learner.loss.value(float(scores[0, 0]), target)
            else:
                loss = learner.loss.value(scores[0], int(target))
            right = right_answers(scores, np.array([target]))[0]
            learner.progress[:] = before + added * np.array([loss, 1.0, float(right)])
            self._note_seen(
                [Seen(scores, np.array([target]), np.array([added]), asked.calibration)]
            )
            self._asked.forget(id)

    def _remembered_scores(self: Any, x: Any, id: Hashable, format: str | None) -> Any:
        """The scores of one row, which is remembered, as it is now, with them."""
        check_is_fitted(self, msg=NOTHING_LEARNED)
        with self._lock:
            scores = self._scores_of_row(x, format).copy()
            if self._asked is None:
                self._asked = PendingRows()
            calibration = self.learner_.settled().calibration
            self._asked.add(id, deepcopy(x), format, scores, calibration)
        return scores
