"""Progressive metrics of champion and challengers, and their comparison."""

import math
import time
from collections import deque
from typing import Any

import numpy as np

from rarefy.arrays import Floats
from rarefy.engine.task import Task
from rarefy.engine.watch import ERROR, LOSS, WEIGHT, Watch
from rarefy.model.page_hinkley import losses_test
from rarefy.serving.bodies import Body
from rarefy.streams.stream_model import StreamModel
from rarefy.updating.bound import upper_bound

WINDOW = 1000
FADING = 0.9999
ENOUGH = 500  # rows, before a challenger can be better by more than chance
Z = 4.0  # standard errors; of equal challengers, 1 in 70 ever is so good in 1,000,000 rows
SAMPLE_SECONDS = 0.2
JUDGED = 20_000  # rows by which challengers are compared


class Record(Watch):
    """A watch that also hands out what it has counted, if somebody is there to compare it with."""

    def __init__(self, task: Task) -> None:
        super().__init__(WINDOW, FADING, losses_test(of_numbers=task.is_regression), None)
        self._fresh: list[Floats] = []
        self._is_compared = False

    def compare(self, *, wanted: bool) -> None:
        """Hand out the rows that come from now on, or no more of them."""
        self._count()
        self._is_compared, self._fresh = wanted, []

    def _keep(self, rows: Floats) -> None:
        super()._keep(rows)
        if self._is_compared:
            self._fresh.append(rows[:, [WEIGHT, LOSS, ERROR]])

    def fresh(self) -> Floats:
        """Weight, loss and error of the rows since the last call."""
        self._count()
        found = np.concatenate(self._fresh) if self._fresh else np.empty((0, 3))
        self._fresh = []
        return found


class Rivalry:
    """A challenger against the champion, on the rows that both have met since it came."""

    def __init__(self) -> None:
        self._rows: deque[Floats] = deque()
        self._n_rows = 0

    def add(self, champion: Floats, challenger: Floats) -> None:
        """Take note of the same rows, as each of them predicted it."""
        if len(champion) != len(challenger) or not len(champion):
            return
        weight = champion[:, 0]
        gain = champion[:, 1] - challenger[:, 1]
        lost = (champion[:, 2] == 0.0) & (challenger[:, 2] == 1.0)
        won = (champion[:, 2] == 1.0) & (challenger[:, 2] == 0.0)
        self._rows.append(np.column_stack([weight, gain, lost, won]))
        self._n_rows += len(weight)
        while self._n_rows - len(self._rows[0]) >= JUDGED:
            self._n_rows -= len(self._rows.popleft())

    def figures(self) -> dict[str, Any]:
        """The mean gain in loss with its standard error, and answers lost and won."""
        if not self._n_rows:
            return {"rows": 0}
        weight, gain, lost, won = np.concatenate(self._rows).T
        mean = float(np.average(gain, weights=weight))
        spread = math.sqrt(float(np.average((gain - mean) ** 2, weights=weight)))
        error = spread * math.sqrt(float(weight @ weight)) / float(weight.sum())
        return {
            "rows": self._n_rows,
            "gain": mean,
            "standard_error": error,
            "is_better": self._n_rows >= ENOUGH and mean > Z * error,
            "lost": int(lost.sum()),
            "won": int(won.sum()),
            "lost_at_most": upper_bound(lost.astype(bool), weight),
        }


class SinceSnapshot:
    """Which answers a model has lost and won since its last snapshot, by a sample of new rows.

    Each row is predicted as the snapshot would, and as the model does before it learns the row.
    """

    def __init__(self) -> None:
        self._scorer: StreamModel | None = None
        self._next = 0.0
        self.rows = self.lost = self.won = 0

    def begin(self, member: Any) -> None:
        """A snapshot is written of a model; what it predicts is compared with later on."""
        self._scorer = member.described().scorer()
        self.rows = self.lost = self.won = 0

    def look_at(self, body: Body, member: Any) -> None:
        """Compare both on rows that are about to be learned, if it is time for that."""
        if self._scorer is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + SAMPLE_SECONDS
        now = member.judged(body, member.estimator.stream_)
        then = member.judged(body, self._scorer)
        if now is not None and then is not None and len(now) == len(then):
            self.rows += len(now)
            self.lost += int((then & ~now).sum())
            self.won += int((now & ~then).sum())

    def figures(self) -> dict[str, int]:
        return {"rows": self.rows, "lost": self.lost, "won": self.won}
