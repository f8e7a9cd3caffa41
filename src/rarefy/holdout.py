"""Examples that are not learned, to see how well the model predicts them while it learns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.engine import Floats
from rarefy.metrics import Metrics
from rarefy.readers import Reader
from rarefy.stores import Prepared
from rarefy.stream import StreamModel


class HeldOutShare:
    """A share of the rows, the same in every pass, which is predicted when their turn comes."""

    def __init__(self, share: float) -> None:
        self.share = share
        self._metrics: Metrics | None = None

    def chosen(self, first_row: int, n_rows: int) -> NDArray[np.bool_]:
        """Which of the rows of a pass from the first one on are held out."""
        numbers = np.arange(first_row, first_row + n_rows, dtype=np.uint64)
        return _scattered(numbers) < np.uint64(self.share * 2.0**64)

    def score(self, model: StreamModel, part: Prepared) -> None:
        """Predict rows that are held out."""
        if self._metrics is None:
            self._metrics = Metrics(model)
        if len(part.batch.labels):
            assert part.y is not None
            self._metrics.add(
                model.store.scores(model.learner, part), part.y, part.batch.importance
            )

    def begin_with(self, model: StreamModel, scores: Floats, y: Floats, importance: Floats) -> None:
        """Forget earlier predictions; these are of all rows that are held out."""
        self._metrics = Metrics(model)
        self._metrics.add(scores, y, importance)

    def summary(self, model: StreamModel) -> dict[str, Any]:
        """How well it went since the last summary."""
        metrics, self._metrics = self._metrics, None
        return {} if metrics is None else metrics.summary()


class HeldOutFiles:
    """Files of their own, all of which are predicted whenever a summary is asked for."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def summary(self, model: StreamModel) -> dict[str, Any]:
        metrics = Metrics(model)
        for scores, y, importance in model.scored(self._reader):
            metrics.add(scores, y, importance)
        return metrics.summary()


def _scattered(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers that look random, for numbers in a row (the finaliser of SplitMix64)."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
