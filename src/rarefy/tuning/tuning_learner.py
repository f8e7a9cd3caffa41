"""A learner that tunes its hyperparameters while it learns."""

from collections.abc import Callable
from copy import copy
from typing import Any

from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, portions
from rarefy.engine.learner import Learner, LearnerCheckpoint
from rarefy.engine.pruning import limited
from rarefy.engine.snapshots import Arrays
from rarefy.jit.lane_intrinsics import WIDTH
from rarefy.model.scoring import Judge
from rarefy.tuning.phases import NotBegun, Phase, Setting, restored_phase
from rarefy.tuning.space import Point, Space
from rarefy.tuning.stationary_rules import ordinary


class TuningLearner:
    """Has several models learn the same rows, and predicts with the one that does best so far.

    Who learns, and until when, is up to the phase; most of the time it is one model alone. Rows
    that come in other portions may lead to other parameters only in so far as the first portion
    tells how large values are.
    """

    is_settled = False

    def __init__(
        self,
        space: Space,
        loss: Any,
        *,
        n_features: int,
        n_outputs: int,
        fit_intercept: bool,
        judge: Judge | None = None,
    ) -> None:
        self.space = space
        self.loss = loss
        self.n_outputs = n_outputs
        self.n_features = n_features
        setting = Setting(space, loss, n_outputs, fit_intercept, judge)
        self.phase: Phase = NotBegun(setting, n_features)
        self._settled: Learner | None = None  # what it would be if learning ended here

    @property
    def t(self) -> int:
        """How many examples have been learned."""
        return self.phase.t

    def learn(
        self,
        rows: Rows,
        n_features: int = 0,
        *,
        restorable: bool = True,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """Learn the rows; only the model that learns alone can go back, if weights diverge.

        `between` is called several times a second, when all models have learned the same rows.
        """
        self.grow(n_features)
        self.phase = self.phase.begun(rows)
        for begin, end in portions(rows.indptr, self.n_outputs * WIDTH):
            between()
            self._settled = None
            self._learn_portion(rows, begin, end, restorable)

    def _learn_portion(self, rows: Rows, begin: int, behind: int, restorable: bool) -> None:
        while begin < behind:
            end = min(behind, begin + self.phase.comparisons.next_at - self.t)
            self.phase.learn(rows, begin, end, restorable)
            begin = end
            if self.t == self.phase.comparisons.next_at:
                self.phase = self.phase.following()

    def begin_pass(self, number: int) -> None:
        """There is but one."""

    def scores(self, rows: Rows) -> Floats:
        """One score per row and output, of the model that there is if learning ends here."""
        return self.settled().scores(rows)

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        """How much each feature would be missed, by any model."""
        return self.phase.usefulness(counts)

    @property
    def progress(self) -> Floats:
        """Weighted losses, examples and right answers of predictions with the model of the time."""
        return self.phase.progress

    @property
    def progressive_loss(self) -> float:
        """Mean loss of these predictions."""
        total, weight, _ = self.progress
        return float(total / weight) if weight else 0.0

    def settled(self) -> Learner:
        """The model to predict with, by itself."""
        if self._settled is None:
            best = copy(self.phase.in_use())
            best.set_rule(*ordinary(best.rule, best.clock.schedule, best.clock.t))
            best.found = {**best.found, **self._numbers(best), "target_features": None}
            if self.space.target_features is not None:
                best = limited(best, self.space.target_features)
            self._settled = best
        return self._settled

    def _numbers(self, model: Learner) -> Point:
        """What was found, as the model has it."""
        steps = model.rule if "eta0" in model.rule._fields else model.clock.schedule
        numbers = {"l1": model.rule.l1, "eta0": steps.eta0}
        return {name: numbers[name] for name in self.space.free}

    def checkpoint(self) -> LearnerCheckpoint:
        """What it takes to go on, beside the space; arrays are not copied."""
        return LearnerCheckpoint(self.phase.in_use(), *self.phase.checkpoint())

    def restore(self, model: Learner, numbers: dict[str, Any], arrays: Arrays) -> None:
        """Go back to a checkpoint; the model was in use then. This one has not learned."""
        self.phase = restored_phase(self.phase.setting, model, numbers, arrays)

    def grow(self, n_features: int) -> None:
        """Make room for more columns, which start at weight zero."""
        self.phase.grow(n_features)
        self._settled = None
        self.n_features = max(self.n_features, n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""
        self.phase.move(old, new, n_features)
        self._settled = None
        self.n_features = n_features
