"""A learner that records its predictions just before it learns."""

from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats, Rows
from rarefy.engine.learner import Learner
from rarefy.model.calibration import Calibration


class Seen(NamedTuple):
    """Rows, their scores just before they were learned, and the calibration before the first."""

    scores: Floats  # (row, output)
    y: Floats
    importance: Floats
    calibration: Calibration | None


class Watched:
    """Learns as the learner does, of which it has all else."""

    def __init__(self, learner: Learner, seen: list[Seen]) -> None:
        self._learner = learner
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def learn(self, rows: Rows, n_features: int = 0, **how: Any) -> None:
        calibration = self._learner.calibration
        scores = np.zeros((len(rows.y), self._learner.n_outputs))
        self._learner.learn(rows, n_features, predictions=scores, **how)
        self._seen.append(Seen(scores, rows.y, rows.importance, calibration))
