"""Rows that are predicted now, and learned when their labels come."""

from collections.abc import Hashable
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rarefy.engine.watched import Seen
from rarefy.errors import InputError
from rarefy.estimators.pending_rows import MOST_ROWS, MOST_SECONDS, PendingRows
from rarefy.model.answers import right_answers

NOTHING_LEARNED = (
    "This %(name)s has not begun to learn: call start() first (with classes=[...] to classify), or "
    "learn rows with learn_one, learn_many or fit_stream, or load a model."
)


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
