"""Progressive metrics: over a rolling window, and fading over all rows.

Every row counts as it was predicted just before it was learned, by its importance.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats
from rarefy.engine.loop import total_loss
from rarefy.engine.task import Task
from rarefy.engine.watched import Seen
from rarefy.model.answers import (
    LEAST_PROBABILITY,
    LOSSES_WITH_PROBABILITIES,
    predicted_classes,
    probabilities,
    true_classes,
)
from rarefy.model.calibration import slopes_before
from rarefy.model.page_hinkley import PageHinkley
from rarefy.model.ranking import Ranking
from rarefy.system.model_lock import ModelLock

WEIGHT, LOSS, ERROR, LOG_LOSS, SHARE, HIT, SCORE = range(7)
N_BINS = 10  # of probabilities, to compare them with what came
STEP, FARTHEST = 0.1, 10.0  # of scores, in what fades
LARGEST_FACTOR = 1e100
MOST_DRIFTS = 1000  # that are kept
MOST_WAITING = 1000  # rows


class _Part(NamedTuple):
    """Rows as they were predicted, all of which count."""

    task: Task
    link: Any  # the loss
    scores: Floats  # (row, output)
    y: Floats
    importance: Floats
    losses: Floats
    slopes: Floats | None  # by which scores were scaled to be probabilities; NaN: not yet


class Watch:
    """What `watch` of an estimator gives.

    Attributes
    ----------
    rolling : dict
        Figures of the last `window` examples.
    fading : dict
        Figures of all examples, each of which counts `fading` times as much as the next.
    drifts : list of int
        The numbers of the examples (as in `t_`) with which a rise of the loss was noticed, the
        latest 1,000 of them.

    Figures are `loss`; of classes `accuracy`, and if the loss has probabilities `log_loss` and
    `calibration_error`; of two classes `auc`, by the scores; of numbers `rmse` and
    `mae`. What is undefined, such as the AUC of rows of one class, is left out.
    """

    def __init__(
        self,
        window: int,
        fading: float,
        drift: PageHinkley,
        on_drift: Callable[[int], None] | None,
    ) -> None:
        self._window = window
        self._last: deque[Floats] = deque()  # rows, of which there may be more than the window
        self._n_last = 0
        self._fading = fading
        self._factor = 1.0  # by which the next example counts
        self._sums = np.zeros((2 * (2 * round(FARTHEST / STEP) + 1), SCORE + 1))
        self._drift = drift
        self._on_drift = on_drift
        self._drifts: deque[int] = deque(maxlen=MOST_DRIFTS)
        self._events: deque[int] = deque()  # drifts that are still to be told
        self._of_classes = False
        self._waiting: list[_Part] = []  # to be counted: together, that takes far less time
        self._n_waiting = 0
        self._lock = ModelLock()

    def __getstate__(self) -> dict[str, Any]:
        """Without what is to be called, which belongs to this process."""
        self._count()
        return {**self.__dict__, "_on_drift": None, "_events": deque()}

    @property
    def rolling(self) -> dict[str, float]:
        with self._lock:
            self._count()
            rows = np.concatenate([*self._last, np.empty((0, SCORE + 1))])
            return self._figures(rows[-self._window :])

    @property
    def fading(self) -> dict[str, float]:
        with self._lock:
            self._count()
            sums = self._sums[self._sums[:, WEIGHT] > 0.0]
            return self._figures(np.hstack([sums[:, :1], sums[:, 1:] / sums[:, :1]]))

    @property
    def drifts(self) -> list[int]:
        return list(self._drifts)

    def add(self, task: Task, loss: Any, seen: Sequence[Seen], t: int) -> None:
        """Take note of rows; with the last of them, t examples have been learned."""
        parts = [_part(task, loss, one) for one in seen]
        losses = [value for part in parts for value in part.losses.tolist()]
        with self._lock:
            self._of_classes = not task.is_regression
            self._waiting += parts
            self._n_waiting += len(losses)
            if self._n_waiting > MOST_WAITING:
                self._count()
            drifts = [t - len(losses) + 1 + place for place in self._drift.rises_at(losses)]
            self._drifts.extend(drifts)
            self._events.extend(drifts)

    def tell(self) -> None:
        """Call `on_drift` for what has been noticed; who learns does so when it is done.

        If it raises an exception, that is the caller's, and the events after it wait.
        """
        while self._events:
            number = self._events.popleft()
            if self._on_drift is not None:
                self._on_drift(number)

    def _count(self) -> None:
        """Count the rows that wait."""
        with self._lock:
            waiting, self._waiting, self._n_waiting = self._waiting, [], 0
            for part in _joined(waiting):
                self._keep(_judged(part))

    def _keep(self, rows: Floats) -> None:
        """Take note of rows that have been judged."""
        self._last.append(rows)
        self._n_last += len(rows)
        while self._n_last - len(self._last[0]) >= self._window:
            self._n_last -= len(self._last.popleft())
        self._fade(rows)

    def _fade(self, rows: Floats) -> None:
        at_once = int(100.0 / -math.log10(self._fading)) if self._fading < 1.0 else len(rows)
        for begin in range(0, len(rows), max(1, at_once)):
            part = rows[begin : begin + at_once]
            factors = self._factor * self._fading ** -np.arange(1.0, len(part) + 1.0)
            weighed = part * (factors * part[:, WEIGHT])[:, np.newaxis]
            weighed[:, WEIGHT] = factors * part[:, WEIGHT]
            np.add.at(self._sums, _places(part), weighed)
            self._factor = float(factors[-1])
            if self._factor > LARGEST_FACTOR:
                self._sums /= self._factor
                self._factor = 1.0

    def _figures(self, rows: Floats) -> dict[str, float]:
        """Rows of numbers, or of their means, and what each counts."""
        if len(rows) == 0:
            return {}
        means = np.average(rows, axis=0, weights=rows[:, WEIGHT])
        found = {"loss": means[LOSS]}
        if self._of_classes:
            found["accuracy"] = 1.0 - means[ERROR]
            found["log_loss"] = means[LOG_LOSS]
            found["auc"] = _auc(rows)
            found["calibration_error"] = _calibration_error(rows)
        else:
            found["rmse"], found["mae"] = math.sqrt(means[LOG_LOSS]), means[ERROR]
        return {name: float(value) for name, value in found.items() if math.isfinite(value)}


def _part(task: Task, loss: Any, seen: Seen) -> _Part:
    """The rows that count, with their losses."""
    counts = seen.importance > 0.0
    scores, y, importance = (np.array(part[counts]) for part in seen[:3])
    losses, ones = np.empty(len(y)), np.ones(len(y))
    total_loss(loss, scores, y, ones, losses)
    slopes = None
    if seen.calibration is not None and task.loss_name in LOSSES_WITH_PROBABILITIES:
        slopes = slopes_before(seen.calibration, scores, y, importance)
        if seen.calibration.scaling is None:
            slopes[:1] = np.nan
    return _Part(task, loss, scores, y, importance, losses, slopes)


def _joined(parts: Sequence[_Part]) -> Iterator[_Part]:
    """Rows that follow each other, and have the same number of scores, as one part."""
    for (_, is_scaled), group in groupby(
        parts, lambda part: (part.scores.shape[1], part.slopes is not None)
    ):
        some = list(group)
        columns = zip(*(part[2 : None if is_scaled else -1] for part in some), strict=True)
        first = some[0]
        joined = [np.concatenate(column) for column in columns]
        yield _Part(first.task, first.link, *joined, *(() if is_scaled else (None,)))


def _judged(part: _Part) -> Floats:
    """What is kept of each row: weight, loss, error and so on, in the order of the names above.

    Of numbers, LOG_LOSS is the squared error. SHARE is the probability of the second of two
    classes, or of that which is predicted; HIT, whether it was that.
    """
    scores, y = part.scores, part.y
    rows = np.full((len(y), SCORE + 1), np.nan)
    rows[:, WEIGHT], rows[:, LOSS] = part.importance, part.losses
    if part.task.is_regression:
        rows[:, ERROR] = np.abs(scores[:, 0] - y)
        rows[:, LOG_LOSS] = rows[:, ERROR] ** 2
        return rows
    truth, answer = true_classes(scores, y), predicted_classes(scores)
    rows[:, ERROR] = truth != answer
    is_of_two = scores.shape[1] == 1
    rows[:, HIT] = truth if is_of_two else truth == answer
    if is_of_two:
        rows[:, SCORE] = scores[:, 0]
    if part.task.loss_name in LOSSES_WITH_PROBABILITIES:
        of_class = _probabilities_then(part)
        each = np.arange(len(y))
        rows[:, LOG_LOSS] = -np.log(np.maximum(of_class[each, truth], LEAST_PROBABILITY))
        rows[:, SHARE] = of_class[each, 1 if is_of_two else answer]
    return rows


def _probabilities_then(part: _Part) -> Floats:
    """The probability of each class, scaled as it was when each row was predicted."""
    loss_name, scores = part.task.loss_name, part.scores
    if part.slopes is None:
        found = probabilities(loss_name, part.link, scores)
    else:
        found = probabilities(loss_name, part.link, part.slopes[:, np.newaxis] * scores, 1.0)
        early = np.isnan(part.slopes)
        if early.any():
            found[early] = probabilities(loss_name, part.link, scores[early])
    return np.hstack([1.0 - found, found]) if found.shape[1] == 1 else found


def _places(rows: Floats) -> Any:
    """Where rows are added up that fade: by score, or log-odds, and by what came."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(rows[:, SHARE] / (1.0 - rows[:, SHARE]))
    by = np.where(np.isnan(rows[:, SCORE]), odds, rows[:, SCORE])
    steps = np.clip(np.nan_to_num(by), -FARTHEST, FARTHEST) / STEP
    at = np.rint(steps).astype(np.int64) + round(FARTHEST / STEP)
    return 2 * at + (rows[:, HIT] == 1.0)


def _auc(rows: Floats) -> float:
    if np.isnan(rows[:, SCORE]).any():
        return math.nan
    return Ranking(rows[:, SCORE], rows[:, HIT] == 1.0, rows[:, WEIGHT]).auc()


def _calibration_error(rows: Floats) -> float:
    """By how much the probabilities of a tenth of the range miss what came, on average."""
    shares, weights = rows[:, SHARE], rows[:, WEIGHT]
    if np.isnan(shares).any():
        return math.nan
    bins = np.minimum((N_BINS * shares).astype(np.int64), N_BINS - 1)
    misses = np.bincount(bins, weights * (shares - rows[:, HIT]), N_BINS)
    return float(np.abs(misses).sum() / weights.sum())
