"""Scores that models gave to rows before they learned them, for measures of many rows at once."""

from collections import deque
from typing import NamedTuple

import numpy as np

from rarefy.arrays import Flags, Floats
from rarefy.engine.snapshots import Arrays
from rarefy.model.scoring import Judge, judgement

MOST_SCORES = 1 << 21  # 16 MiB; of a longer interval, its last rows are judged


class Noted(NamedTuple):
    """Rows that follow each other."""

    scores: Floats  # (row, output, model)
    y: Floats
    importance: Floats


class Judged(NamedTuple):
    """What a judge says of models, and what the rows weigh that it was shown."""

    values: Floats
    weight: float


class NotedScores:
    """Those of an interval, and of the ones before if these told nothing."""

    def __init__(self, judge: Judge, n_outputs: int, n_models: int) -> None:
        self._judge = judge
        self._most = MOST_SCORES // (n_outputs * n_models)
        self._put(Noted(np.empty((0, n_outputs, n_models)), np.empty(0), np.empty(0)))

    def add(self, scores: Floats, y: Floats, importance: Floats) -> None:
        """Rows that are learned, of which as many of the last are kept as there is room for."""
        self._parts.append(Noted(scores, y.copy(), importance.copy()))
        self._n_rows += len(y)
        while self._n_rows - len(self._parts[0].y) >= self._most:
            self._n_rows -= len(self._parts.popleft().y)

    def judged(self, alive: Flags) -> Judged | None:
        """The measure of each model, after which rows are forgotten; None if it tells nothing."""
        scores, y, importance = self._joined()
        counts = importance > 0.0
        if not (y[counts] != y[counts][:1]).any():  # rows of one class, for which no measure is
            return None
        values = np.zeros(len(alive))
        for model in np.flatnonzero(alive):
            values[model] = judgement(self._judge, scores[..., model], y, importance)
        of_alive = values[alive]
        if not np.isfinite(of_alive).all() or (of_alive == of_alive[:1]).all():
            return None
        self._put(Noted(scores[:0], y[:0], importance[:0]))
        return Judged(values, float(importance.sum()))

    def copy(self, source: int, target: int) -> None:
        """Say of one model what is said of another."""
        for part in self._parts:
            part.scores[..., target] = part.scores[..., source]

    def snapshot(self) -> Arrays:
        """The rows, as they are."""
        return {f"noted_{name}": part for name, part in self._joined()._asdict().items()}

    def restore(self, arrays: Arrays) -> None:
        """Go back to a snapshot of as many models."""
        y, importance = arrays["noted_y"], arrays["noted_importance"]
        shape = (len(y), *self._parts[0].scores.shape[1:])
        scores = arrays["noted_scores"].reshape(shape)
        if len(importance) != len(y) or not all(map(_are_finite, (y, importance))):
            raise ValueError("no rows are like that")
        self._put(Noted(scores.copy(), y.copy(), importance.copy()))

    def _joined(self) -> Noted:
        if len(self._parts) > 1 or self._n_rows > self._most:
            joined = map(np.concatenate, zip(*self._parts, strict=True))
            self._put(Noted(*(part[-self._most :] for part in joined)))
        return self._parts[0]

    def _put(self, rows: Noted) -> None:
        self._parts = deque([rows])
        self._n_rows = len(rows.y)


def _are_finite(numbers: Floats) -> bool:
    return bool(np.isfinite(numbers).all())
