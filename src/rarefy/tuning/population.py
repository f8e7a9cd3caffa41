"""A population of models that learn the same rows side by side, at points of a space."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, read_only
from rarefy.engine.learner import Learner
from rarefy.engine.snapshots import Arrays
from rarefy.lanes.block import NO_FOLD, Block, Lane
from rarefy.model.losses import REGRESSION_LOSSES
from rarefy.tuning.compact_index import CompactIndex
from rarefy.tuning.record import SCALES, Record
from rarefy.tuning.space import Point, Space
from rarefy.tuning.stationary_rules import with_common_norm


class Population(ABC):
    """A block of models of one rule, with room for what occurs, and the record of their losses."""

    def __init__(
        self, space: Space, points: list[Point], loss: Any, *, n_features: int, **shape: Any
    ) -> None:
        self.space = space
        self.points = points
        self._has_several_norms = len({point["q"] for point in points}) > 1
        lanes = [Lane(*self.rule_at(point), loss) for point in points]
        is_regression = type(loss) in REGRESSION_LOSSES.values()
        scales = () if is_regression else SCALES
        self.block = Block(lanes, n_features=n_features, scales=scales, **shape)
        self.block.n_features = 0  # room for more never becomes memory until it is used
        self.record = Record(
            self.block, space.target_features, is_regression=is_regression, scoring=space.scoring
        )
        self._index = CompactIndex(n_features)
        # Knows what has not occurred to the population; the rest of its state is overwritten.
        self._origin = Learner(*lanes[0][:3], n_features=n_features, **shape)

    def rule_at(self, point: Point) -> tuple[Any, Any]:
        """Rule and schedule as they can stand side by side."""
        rule, schedule = self.space.rule_at(point)
        return (with_common_norm(rule) if self._has_several_norms else rule), schedule

    @property
    def is_alive(self) -> bool:
        """Whether the weights of some model have not diverged."""
        return bool(self.block.alive.any())

    def take_over(self, learner: Learner) -> None:
        """Let all models go on from where one is, which is given away."""
        self.block.take_over(learner)
        self._origin = learner
        if self.space.target_features is not None:  # all have to be counted
            self._add(learner.used())

    def learn(self, rows: Rows, begin: int, end: int) -> None:
        """Predict, and learn, some of the rows."""
        indptr = rows.indptr[begin : end + 1]
        entries = slice(indptr[0], indptr[-1])
        part = Rows(
            read_only(indptr - indptr[0]),
            read_only(self._add(rows.indices[entries])),
            rows.values[entries],
            rows.y[begin:end],
            rows.importance[begin:end],
        )
        folds = read_only(np.full(end - begin, NO_FOLD))
        self.block.learn(part, folds, read_only(np.arange(end - begin)), judged=True)

    def _add(self, features: NDArray[Any]) -> NDArray[np.int32]:
        """The numbers of features that occur; what was known of them before is taken over."""
        n_before = self._index.n
        numbers = self._index.number(features)
        self.block.grow(self._index.n)
        if self._origin.t:
            self.block.set_state_from(n_before, self._origin, self._index.features[n_before:])
        return numbers

    @abstractmethod
    def compare(self) -> None:
        """End an interval: compare the models by how they fared."""

    @property
    @abstractmethod
    def predictor(self) -> int:
        """The model to predict with."""

    @abstractmethod
    def winner(self) -> Learner:
        """The model that goes on by itself."""

    def in_use(self) -> Learner:
        """That model by itself."""
        return self.learner(self.predictor, self.points[self.predictor])

    def progress(self) -> Floats:
        """Losses, examples and right answers of that model since the last comparison."""
        return self.record.progress()[:, self.predictor]

    def learner(self, lane: int, point: Point) -> Learner:
        """A model by itself, as it would go on from another point.

        It has all that it was before. This one is good until the next is asked for.
        """
        learner = self.block.learner_over(
            self._origin, lane, self._index.features, *self.space.rule_at(point)
        )
        learner.found = point
        return learner

    def snapshot(self) -> tuple[dict[str, Any], Arrays]:
        """All that the models know which are side by side; arrays are not copied."""
        features = {"features": self._index.features}
        return {"points": self.points}, features | self.block.snapshot() | self.record.snapshot()

    def restore(self, numbers: dict[str, Any], arrays: Arrays, t: int) -> None:
        """Go back to a snapshot, after t examples, of a population of the same kind."""
        kinds = [{"rule": point["rule"], "q": point["q"]} for point in self.points]
        for lane, point in zip(range(len(kinds)), numbers["points"], strict=True):
            self.points[lane] = self.space.checked_point(point, kinds)
            self.block.set_rule(lane, *self.rule_at(self.points[lane]))
        self._index.restore(arrays["features"])
        self.block.n_features = self._index.n
        self.block.restore(arrays, t)
        self.record.restore(arrays)

    def grow(self, n_features: int) -> None:
        """Make room for more features."""
        self._index.grow(n_features)
        self._origin.grow(n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""
        staying = self._index.move(old, new, n_features)
        self.block.move(staying, np.arange(len(staying)), len(staying))
        self._origin.move(old, new, n_features)
