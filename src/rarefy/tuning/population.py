"""A population of models that learn the same rows, at points of a search space."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, part_of, read_only
from rarefy.engine.learner import Learner
from rarefy.engine.reference import FIRST_EXAMPLES, Reference, new_reference
from rarefy.engine.snapshots import Arrays
from rarefy.jit.lane_intrinsics import WIDTH
from rarefy.lanes.block import NO_FOLD, Block, Lane
from rarefy.model.losses import REGRESSION_LOSSES
from rarefy.model.scoring import Judge
from rarefy.tuning.compact_index import CompactIndex
from rarefy.tuning.record import SCALES, Record
from rarefy.tuning.space import Point, Space, kind_of
from rarefy.tuning.stationary_rules import with_common_norm


class Population(ABC):
    """A block of models of one rule, with room for what occurs, and the record of their losses."""

    def __init__(
        self,
        space: Space,
        points: list[Point],
        loss: Any,
        *,
        n_features: int,
        judge: Judge | None = None,
        **shape: Any,
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
            self.block,
            space.target_features,
            is_regression=is_regression,
            scoring=space.scoring,
            judge=judge,
        )
        self._index = CompactIndex(n_features)
        # Knows what has not occurred to the population, and what all models learn relative to; the
        # rest of its state is overwritten.
        reference = new_reference(lanes[0].rule, loss, fit_intercept=shape["fit_intercept"])
        self._origin = Learner(*lanes[0][:3], n_features=n_features, reference=reference, **shape)

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

    @property
    def reference(self) -> Reference:
        """What the models learn relative to."""
        return self._origin.reference

    def _set_reference(self, reference: Reference) -> None:
        self._origin.set_reference(reference)
        self.block.set_reference(reference)

    def learn(self, rows: Rows, begin: int, end: int) -> None:
        """Predict, and learn, some of the rows, as a learner by itself does."""
        while begin < end:
            behind = begin + self.reference.n_rows_until_change(rows.importance[begin:end])
            part = part_of(rows, begin, behind)
            is_first = self.reference.n == 0  # which is learned relative to itself
            if is_first:
                self._set_reference(self.reference.after(part))
            self._learn(self.reference.relative(part), part.y)
            if not is_first:
                self._set_reference(self.reference.after(part))
            elif self.reference.spread_wanted:
                self.block.predict_zero(float(part.y[-1]), float(part.importance[-1]))
            begin = behind

    def _learn(self, rows: Rows, y: Floats) -> None:
        """Learn rows that are relative to the reference, with targets that are not."""
        indptr, n_rows = rows.indptr, len(rows.y)
        entries = slice(indptr[0], indptr[-1])
        part = rows._replace(
            indptr=read_only(indptr - indptr[0]),
            indices=read_only(self._add(rows.indices[entries])),
            values=rows.values[entries],
        )
        folds = read_only(np.full(n_rows, NO_FOLD))
        noted = self.record.noted
        n_noted = 0 if noted is None else n_rows
        scores = np.zeros((n_noted, self.block.n_outputs, WIDTH))
        self.block.learn(part, folds, read_only(np.arange(n_rows)), judged=True, noted=scores)
        if noted is not None:
            scores = scores[..., : len(self.points)] + self.reference.location
            noted.add(scores, y, rows.importance)

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
        arrays = features | self.block.snapshot() | self.record.snapshot()
        return {"points": self.points}, arrays | self.reference.arrays()

    def restore(self, numbers: dict[str, Any], arrays: Arrays, t: int) -> None:
        """Go back to a snapshot, after t examples, of a population of the same kind."""
        kinds = [kind_of(point) for point in self.points]
        for lane, point in zip(range(len(kinds)), numbers["points"], strict=True):
            self.points[lane] = self.space.checked_point(point, kinds)
            self.block.set_rule(lane, *self.rule_at(self.points[lane]))
        self._restore_reference(arrays)
        self._index.restore(arrays["features"])
        self.block.n_features = self._index.n
        self.block.restore(arrays, t)
        self.record.restore(arrays)

    def _restore_reference(self, arrays: Arrays) -> None:
        reference = self.reference.restored(arrays, self._origin.n_features)
        n_targets = min(reference.n, FIRST_EXAMPLES) if reference.spread_wanted else 0
        if len(reference.targets) != n_targets:
            raise ValueError("there were other examples")
        self._origin.reference = reference

    def grow(self, n_features: int) -> None:
        """Make room for more features."""
        self._index.grow(n_features)
        self._origin.grow(n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""
        staying = self._index.move(old, new, n_features)
        self.block.move(staying, np.arange(len(staying)), len(staying))
        self._origin.move(old, new, n_features)
