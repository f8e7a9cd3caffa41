"""Held-out rows: predicted while the model learns, and never learned."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Numbers
from rarefy.model.answers import right_answers
from rarefy.readers import Reader
from rarefy.splits import are_held_out
from rarefy.stores import Prepared
from rarefy.streams.bitset import Bits
from rarefy.streams.metrics import Metrics
from rarefy.streams.stream_model import Scored, StreamModel


class RunningFlips:
    """How many answers were lost and won since the same examples were last seen.

    Examples are known by their number; what was right is kept in two bits for each.
    """

    def __init__(self) -> None:
        self._seen, self._right = Bits(), Bits()
        self._start()

    def _start(self) -> None:
        self._n_again = self._n_negative = self._n_positive = 0

    def add(self, examples: Numbers, scored: Scored, decision_threshold: float) -> None:
        """Examples that were just predicted; those of importance zero do not count."""
        counts = scored.importance > 0.0
        right = right_answers(scored.scores, scored.y, decision_threshold)
        examples, right = examples[counts], right[counts]
        again, before = self._seen.get(examples), self._right.get(examples)
        self._n_again += int(np.count_nonzero(again))
        self._n_negative += int(np.count_nonzero(again & before & ~right))
        self._n_positive += int(np.count_nonzero(again & ~before & right))
        self._seen.set(examples, np.ones_like(right))
        self._right.set(examples, right)

    def summary(self) -> dict[str, int | None]:
        """The counts since the last summary; None if no example has been seen a second time."""
        negative, positive = (self._n_negative, self._n_positive) if self._n_again else (None, None)
        self._start()
        return {"negative_flips": negative, "positive_flips": positive}


class HeldOutShare:
    """A share of the rows, the same in every pass, predicted once those beside them are learned.

    Of the first `n_spared` rows of the data, none is held out.

    With flips, they are told from pass to pass. In the end all of them are predicted by the final
    model, if they can be read again.
    """

    def __init__(self, share: float, *, with_flips: bool = False) -> None:
        self.share = share
        self.n_spared = 0
        self._metrics: Metrics | None = None  # since the last summary
        self._of_pass: Metrics | None = None
        self._of_final_model: Metrics | None = None
        self._flips = RunningFlips() if with_flips else None

    def begin_pass(self) -> None:
        self._of_pass = self._of_final_model = None

    def chosen(self, first_row: int, n_rows: int) -> NDArray[np.bool_]:
        """Which of the rows of the data from the first one on are held out."""
        return self.among(np.arange(first_row, first_row + n_rows))

    def among(self, rows: Numbers) -> NDArray[np.bool_]:
        """Which of the rows of these numbers in the data are held out."""
        chosen: NDArray[np.bool_] = are_held_out(rows - self.n_spared, self.share)
        return chosen & (rows >= self.n_spared)

    def score(self, model: StreamModel, part: Prepared, rows: Numbers) -> None:
        """Predict rows that are held out; `rows` are their numbers in the data."""
        self._metrics = self._metrics or Metrics(model)
        self._of_pass = self._of_pass or Metrics(model)
        if len(rows) == 0:
            return
        scored = _scored(model, part)
        self._metrics.add(*scored)
        self._of_pass.add(*scored)
        if self._flips is not None:
            self._flips.add(rows, scored, model.decision_threshold)

    def end_with(self, model: StreamModel, scores: Floats, y: Floats, importance: Floats) -> None:
        """These are the scores that the final model gives to all rows that are held out."""
        self._of_final_model = Metrics(model)
        self._of_final_model.add(scores, y, importance)
        self._metrics = self._of_final_model

    def of_final_model(
        self, model: StreamModel, rows: Iterator[tuple[Prepared, NDArray[np.bool_]]]
    ) -> dict[str, Any]:
        """How well the final model predicts all of them; `rows` reads the data once more."""
        if self._of_final_model is None:
            metrics = Metrics(model)
            for prepared, is_held_out in rows:
                if is_held_out.any():
                    metrics.add(*_scored(model, prepared.only(is_held_out)))
            self._of_final_model = metrics
        return self._of_final_model.summary()

    def of_pass(self) -> dict[str, Any]:
        """How well those of this pass were predicted, each by the model at that time."""
        return {} if self._of_pass is None else self._of_pass.summary()

    def summary(self, model: StreamModel) -> dict[str, Any]:
        """How well it went since the last summary."""
        metrics, self._metrics = self._metrics, None
        return {} if metrics is None else metrics.summary() | _flips(self._flips)


def _scored(model: StreamModel, part: Prepared) -> Scored:
    assert part.y is not None
    return Scored(model.store.scores(model.learner, part), part.y, part.batch.importance)


class HeldOutFiles:
    """Files of their own, all of which are predicted whenever a summary is asked for."""

    def __init__(self, reader: Reader, *, with_flips: bool = False) -> None:
        self.reader = reader
        self._flips = RunningFlips() if with_flips else None

    @property
    def files(self) -> list[str]:
        return self.reader.files

    def summary(self, model: StreamModel) -> dict[str, Any]:
        metrics, n_rows = Metrics(model), 0
        for scored in model.scored(self.reader):
            metrics.add(*scored)
            if self._flips is not None:
                self._flips.add(n_rows + np.arange(len(scored.y)), scored, model.decision_threshold)
            n_rows += len(scored.y)
        return metrics.summary() | _flips(self._flips)

    def loss(self, model: StreamModel) -> float | None:
        """The mean loss of all rows now; flips are not counted."""
        metrics = Metrics(model)
        for scored in model.scored(self.reader):
            metrics.add(*scored)
        return metrics.summary().get("loss")


def _flips(flips: RunningFlips | None) -> dict[str, int | None]:
    return {} if flips is None else flips.summary()
