"""A learner that finds its parameters while it learns."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.engine import Floats, Rows
from rarefy.errors import DivergenceError
from rarefy.learner import Learner
from rarefy.tuning.limit import limited
from rarefy.tuning.race import Race
from rarefy.tuning.space import Point, Space

FIRST_STOCK = 128  # examples after which models are compared for the first time
STRETCH = 1.5  # the next time, there are so many times as many
FIRST_RACE = 512  # examples after which one model goes on alone
ALONE = 10  # until there are so many times as many; then others join it
RACE = 1.3  # until there are so many times as many
LATER_STRETCH = 1.1
FROM_KINDS_TO = {256: 2, 512: 1}  # after so many examples only so many kinds of rules go on
ROWS_TO_MEASURE = 128
SMALLEST_SIZE = 1e-50  # what is smaller says nothing of how large values are


class TuningLearner:
    """Has several models learn the same rows, and predicts with the one that does best so far.

    Whatever else is asked of it is asked of that model, which learns alone most of the time. Rows
    that come in other portions may lead to other parameters only in so far as the first portion
    tells how large values are.
    """

    def __init__(
        self, space: Space, loss: Any, *, n_features: int, n_outputs: int, fit_intercept: bool
    ) -> None:
        self.space = space
        self._shape = {"n_outputs": n_outputs, "fit_intercept": fit_intercept}
        self._races: list[Race] = []  # none while one model learns alone
        self._best: Learner | None = None  # by itself; None while it is one of several
        self._settled: Learner | None = None  # what it would be if learning ended here
        self._next_stock, self._stretch = FIRST_STOCK, STRETCH
        self._last_stock = FIRST_RACE
        self._progress = np.zeros(3)  # up to the last comparison
        self._usual: Point = {}
        self.loss = loss
        self.n_outputs = n_outputs
        self.n_features = n_features
        self.t = 0

    def learn(self, rows: Rows, n_features: int = 0, *, restorable: bool = True) -> None:
        """Learn the rows; only the model that learns alone can go back, if weights diverge."""
        self.grow(n_features)
        self._settled = None
        begin, n_rows = 0, len(rows.y)
        if n_rows and self._best is None and not self._races:
            self._begin(_size(rows))
        while begin < n_rows:
            end = min(n_rows, begin + self._next_stock - self.t)
            for race in self._races:
                race.learn(rows, begin, end)
            if self._best is not None:
                self._best.learn(_part(rows, begin, end), restorable=restorable)
            self.t += int(np.count_nonzero(rows.importance[begin:end]))
            begin = end
            self._check_alive()
            if self.t == self._next_stock:
                self._end_stretch()

    def _check_alive(self) -> None:
        """Refuse to go on when the weights of all models have diverged."""
        if self._best is None and not any(race.block.alive.any() for race in self._races):
            raise DivergenceError(
                f"The weights of all models diverged within {self.t} examples: the steps are too "
                f"large for these features. Leave eta0 to be found, or scale the features."
            )

    def _begin(self, size: float) -> None:
        for kind in self.space.kinds:
            points, usual = self.space.first_points(kind, size), self.space.usual(kind, size)
            self._races.append(self._race(points, usual))

    def _race(self, points: list[Point], usual: Point) -> Race:
        return Race(self.space, points, usual, self.loss, n_features=self.n_features, **self._shape)

    def _end_stretch(self) -> None:
        """Compare the models; or let others join the one that has learned alone."""
        if self._best is None:
            self._take_stock()
        else:
            race = self._race(self.space.points_around(self._best.found), self._usual)
            race.take_over(self._best)
            self._progress = self._best.progress
            self._races, self._best = [race], None
            self._last_stock, self._stretch = int(self.t * RACE), LATER_STRETCH
        self._next_stock = int(self.t * self._stretch)
        if self.t >= self._last_stock:
            self._usual = self._races[0].usual
            self._best, self._races = self._best_of_races(), []
            self._next_stock = self.t * ALONE

    def _take_stock(self) -> None:
        """Compare; what does poorly makes room."""
        self._progress = self.progress
        for race in self._races:
            race.take_stock()
        self._races.sort(key=lambda race: race.standing)
        for n_examples, n_kinds in FROM_KINDS_TO.items():
            if self.t >= n_examples:
                del self._races[n_kinds:]
        for race in self._races:
            race.refine()

    @property
    def _leading(self) -> Race:
        self._check_alive()
        return next(race for race in self._races if race.block.alive.any())

    def _best_of_races(self) -> Learner:
        race = self._leading
        chosen = race.choice()
        learner = race.learner(chosen)
        learner.progress[:] = self.progress
        learner.found = race.points[chosen]
        return learner

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        """As a learner's; what the best model has forgotten may matter to the others."""
        best = self._best_of_races() if self._best is None else self._best
        useful = best.usefulness(counts)
        if self._races:
            return np.where(counts > 0, np.maximum(useful, -1.0), -np.inf)
        return useful

    def settled(self) -> Learner:
        """The best model so far, by itself."""
        if self._settled is None:
            best = self._best_of_races() if self._best is None else copy(self._best)
            best.found = {**best.found, "max_features": None}
            if self.space.max_features is not None:
                best = limited(best, self.space.max_features)
            self._settled = best
        return self._settled

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.settled(), name)

    @property
    def progress(self) -> Floats:
        """As a learner's, of the predictions with the best model of the time."""
        if self._best is not None:
            return self._best.progress
        if not self._races:
            return self._progress
        race = self._leading
        return self._progress + race.stretch()[:, race.choice()]

    @property
    def progressive_loss(self) -> float:
        """Mean loss of these predictions."""
        total, weight, _ = self.progress
        return float(total / weight) if weight else 0.0

    def grow(self, n_features: int) -> None:
        """Make room for more columns, which start at weight zero."""
        for race in self._races:
            race.grow(n_features)
        if self._best is not None:
            self._best.grow(n_features)
        self._settled = None
        self.n_features = max(self.n_features, n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""
        for race in self._races:
            race.move(old, new, n_features)
        if self._best is not None:
            self._best.move(old, new, n_features)
        self._settled = None
        self.n_features = n_features


def _part(rows: Rows, begin: int, end: int) -> Rows:
    return rows._replace(
        indptr=rows.indptr[begin : end + 1],
        y=rows.y[begin:end],
        importance=rows.importance[begin:end],
    )


def _size(rows: Rows) -> float:
    """How large values are, by their squares, in the first rows."""
    last = rows.indptr[min(ROWS_TO_MEASURE, len(rows.y))]
    values: Floats = rows.values[rows.indptr[0] : last]
    size = float(np.sqrt(np.mean(values**2))) if len(values) else 0.0
    return size if size > SMALLEST_SIZE else 1.0
