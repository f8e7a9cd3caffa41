"""The search for a good model among all: population-based training (Jaderberg et al. 2017).

Whenever models are compared, the poorest gives way to a copy of the state of the one in use
(exploit), which goes on with one of its hyperparameters moved (explore). What differs: a comparison
replaces one model only; the move is not drawn at random, but goes to the middle of the wider gap
beside the value in use; and a copy takes over the record of its origin, too, and cannot be chosen
until it has fared for itself for some intervals.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rarefy.arrays import Floats
from rarefy.engine.learner import Learner
from rarefy.engine.snapshots import Arrays, checked_whole, put_back
from rarefy.tuning.population import Population
from rarefy.tuning.space import FARTHEST, Point, Space, kind_of

BURN_IN = 2  # intervals until the record of a copy is its own
INDIFFERENCE = 0.5  # standard errors by which a smaller model may be worse
CLEARLY = 2.0  # standard errors by which a model with the least q is worse if another q is taken
STRIDE = 4.0  # how far to go beyond the outermost models, as a ratio
CLOSEST = 1.2  # models with a smaller ratio of parameters are not told apart


class Race(Population):
    """Models of one rule, of which one is chosen by every comparison."""

    def __init__(
        self,
        space: Space,
        points: list[Point],
        loss: Any,
        usual: Mapping[Any, Point],  # by q
        **shape: Any,
    ) -> None:
        super().__init__(space, points, loss, **shape)
        self._usual = usual
        self._own_intervals = np.full(len(points), BURN_IN)
        self._turn = 0
        self._choose_again()

    def snapshot(self) -> tuple[dict[str, Any], Arrays]:
        numbers, arrays = super().snapshot()
        own = {"turn": self._turn, "chosen": self._chosen}
        return numbers | own, arrays | self._own_arrays()

    def restore(self, numbers: dict[str, Any], arrays: Arrays, t: int) -> None:
        super().restore(numbers, arrays, t)
        self._turn = checked_whole(numbers["turn"], 0)
        self._chosen = checked_whole(numbers["chosen"], 0, len(self.points))
        for name, own in self._own_arrays().items():
            put_back(own, arrays[name], may_be_infinite=name == "means")

    def _own_arrays(self) -> Arrays:
        return {"means": self._means, "own_stretches": self._own_intervals}

    def compare(self) -> None:
        self.record.end_interval()
        self._own_intervals += 1
        self._choose_again()

    def _choose_again(self) -> None:
        self._means = self.record.means()
        self._chosen = self._choose()

    @property
    def standing(self) -> float:
        """The mean loss of the best model."""
        return float(self._means.min())

    @property
    def predictor(self) -> int:
        """The model to predict with: the one that the last comparison chose, if it lives."""
        return self._chosen if self.block.alive[self._chosen] else self._choose()

    def winner(self) -> Learner:
        return self.in_use()

    def _choose(self) -> int:
        """The model with the most l1 of those that are hardly worse than the best.

        Where there is a limit to its features, it is the best. Before models have been compared, it
        is the one in the middle.
        """
        alive = self.block.alive
        is_proven = (self._own_intervals >= BURN_IN) & alive
        proven = is_proven if is_proven.any() else alive
        if self.record.n_intervals == 0:
            candidates = np.flatnonzero(proven)
            return int(candidates[(len(candidates) - 1) // 2]) if len(candidates) else 0
        means = np.where(proven, self._means, np.inf)
        best = int(means.argmin())
        if "l1" not in self.space.free or self.space.target_features is not None:
            return best
        means = self._with_least_norm(means, best)
        best = int(means.argmin())
        close = means <= means[best] + INDIFFERENCE * self.record.uncertainties(best)
        l1 = [point["l1"] for point in self.points]
        return int(np.where(close, l1, -np.inf).argmax())

    def _with_least_norm(self, means: Floats, best: int) -> Floats:
        """The means of the models with the least q of those that are not clearly worse."""
        if len(self._usual) == 1:
            return means
        norms = np.array([point["q"] for point in self.points])
        least = norms[best]
        if least > norms.min():
            likely = means - means[best] <= CLEARLY * self.record.uncertainties(best)
            least = norms[likely].min()
        return np.where(norms == least, means, np.inf)

    def replace_poorest(self) -> None:
        """Put a copy of the model to predict with, moved a little, in the place of the poorest."""
        origin = self.predictor
        others = self._means.copy()
        others[origin] = -np.inf
        poorest = int(others.argmax())
        for _ in self.space.free:
            name = self.space.free[self._turn % len(self.space.free)]
            self._turn += 1
            value = self._value_near(origin, name)
            if value is not None and poorest != origin:
                point = {**self.points[origin], name: value}
                self.block.fork(origin, poorest, *self.rule_at(point))
                self.points[poorest] = point
                self.record.copy(origin, poorest)
                self._own_intervals[poorest] = 0
                return

    def _value_near(self, origin: int, name: str) -> float | None:
        """A value in the wider of the two gaps around that of a model, if it is wide enough."""
        point = self.points[origin]
        own = point[name]
        others = [
            other[name]
            for other, alive in zip(self.points, self.block.alive, strict=True)
            if alive and kind_of(other) == kind_of(point)
        ]
        low = max((other for other in others if other < own), default=own / STRIDE**2)
        high = min((other for other in others if other > own), default=own * STRIDE**2)
        usual = self._usual[point["q"]][name]
        far = FARTHEST[name] * usual, usual / FARTHEST[name]
        gaps = [
            (max(own / end, end / own), math.sqrt(own * end))
            for end in (low, high)
            if far[1] <= math.sqrt(own * end) <= far[0]
        ]
        width, value = max(gaps, default=(0.0, own))
        return value if width > CLOSEST else None
