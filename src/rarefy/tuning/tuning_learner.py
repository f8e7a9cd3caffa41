"""A learner that finds its parameters while it learns."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import LARGEST_VALUE, Floats, Rows, part_of, portions
from rarefy.engine.learner import Learner
from rarefy.engine.pruning import limited
from rarefy.engine.snapshots import Arrays, checked_whole, put_back
from rarefy.errors import DivergenceError
from rarefy.jit.lane_intrinsics import WIDTH
from rarefy.tuning.challenge import Challenge
from rarefy.tuning.checkpoint import with_prefixes, without_prefix
from rarefy.tuning.race import Race
from rarefy.tuning.space import Point, Space
from rarefy.tuning.steady_rules import ordinary

FIRST_STOCK = 128  # examples after which models are compared for the first time
STRETCH = 1.7  # the next time, there are so many times as many
FIRST_RACE = 512  # examples after which one model goes on alone
ALONE = 3  # until there are so many times as many; then it is challenged
CHALLENGE = 1.6  # until there are so many times as many
LATER_STRETCH = 1.17
NEVER = 1 << 62
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
        self._shape: dict[str, Any] = {"n_outputs": n_outputs, "fit_intercept": fit_intercept}
        self._races: list[Race] = []  # at the beginning
        self._challenge: Challenge | None = None
        self._best: Learner | None = None  # by itself; None while it is one of several
        self._settled: Learner | None = None  # what it would be if learning ended here
        self._next_stock = FIRST_STOCK
        self._last_stock = FIRST_RACE  # from which on one model learns alone
        self._progress = np.zeros(3)  # up to the last stock
        self._size = 1.0  # of the first values
        self.loss = loss
        self.n_outputs = n_outputs
        self.n_features = n_features
        self.t = 0

    @property
    def _packs(self) -> Sequence[Race | Challenge]:
        """The models that learn side by side."""
        return self._races if self._challenge is None else [self._challenge]

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
        if len(rows.y) and self._best is None and not self._packs:
            self._size = _size(rows)
            self._begin()
        for begin, end in portions(rows.indptr, self.n_outputs * WIDTH):
            between()
            self._learn_portion(rows, begin, end, restorable)

    def _learn_portion(self, rows: Rows, begin: int, behind: int, restorable: bool) -> None:
        while begin < behind:
            end = min(behind, begin + self._next_stock - self.t)
            for pack in self._packs:
                pack.learn(rows, begin, end)
            if self._best is not None:
                self._learn_alone(self._best, rows, begin, end, restorable)
            self.t += int(np.count_nonzero(rows.importance[begin:end]))
            begin = end
            self._check_alive()
            if self.t == self._next_stock:
                self._end_stretch()

    def _learn_alone(
        self, model: Learner, rows: Rows, begin: int, end: int, restorable: bool
    ) -> None:
        try:
            model.learn(part_of(rows, begin, end), restorable=restorable)
        except DivergenceError as error:
            part = f"The first {begin} rows" if begin else "Nothing"
            kept = f" {part} of this call {'were' if begin else 'was'} kept." if restorable else ""
            raise DivergenceError(
                f"The weights diverged after {self.t} examples: the values are much larger than "
                f"before. Scale the features.{kept}"
            ) from error

    def _check_alive(self) -> None:
        """Refuse to go on when the weights of all models have diverged."""
        if self._best is None and not any(pack.is_alive for pack in self._packs):
            raise DivergenceError(
                f"The weights of all models diverged within {self.t} examples: the steps are too "
                f"large for these features. Leave eta0 to be found, or scale the features."
            )

    def _begin(self) -> None:
        shape = {"n_features": self.n_features, **self._shape}
        for kinds in self.space.kinds:
            usual = {kind["q"]: self.space.usual(kind, self._size, FIRST_STOCK) for kind in kinds}
            points = self.space.first_points(kinds, usual)
            self._races.append(Race(self.space, points, self.loss, usual, **shape))

    def _end_stretch(self) -> None:
        """Compare models that learn side by side, and see whether others are to learn now."""
        if self._best is not None:
            self._be_challenged(self._best)
        else:
            self._take_stock()
            if self.t >= self._last_stock:
                self._go_on_alone()
        for race in self._races:
            race.refine()
        self._next_stock = int(self.t * self._stretch)

    @property
    def _stretch(self) -> float:
        """The next time that there is something to do, there are so many times as many examples."""
        if self._best is not None:
            return ALONE if self.space.free else NEVER
        return STRETCH if self._challenge is None else LATER_STRETCH

    def _take_stock(self) -> None:
        self._progress = self.progress
        for pack in self._packs:
            pack.take_stock()
        self._races.sort(key=lambda race: race.standing)

    def _go_on_alone(self) -> None:
        best = self._leading.winner()
        best.progress[:] = self.progress
        self._best, self._races, self._challenge = best, [], None

    def _be_challenged(self, model: Learner) -> None:
        self._progress = model.progress
        self._best, self._challenge = None, Challenge(self.space, model, **self._shape)
        self._last_stock = int(self.t * CHALLENGE)

    @property
    def _leading(self) -> Race | Challenge:
        self._check_alive()
        return next(pack for pack in self._packs if pack.is_alive)

    def in_use(self) -> Learner:
        """The model to predict with."""
        if self._best is not None:
            return self._best
        if not self._packs:
            return self._untaught()
        learner = self._leading.in_use()
        learner.progress[:] = self.progress
        return learner

    def _untaught(self) -> Learner:
        """A model for the time before the first row."""
        kind = self.space.kinds[0][0]
        learner = Learner(
            *self.space.rule_at(kind), self.loss, n_features=self.n_features, **self._shape
        )
        learner.found = kind
        return learner

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        """As a learner's; what the best model has forgotten may matter to the others."""
        useful = self.in_use().usefulness(counts)
        if self._packs:
            return np.where(counts > 0, np.maximum(useful, -1.0), -np.inf)
        return useful

    def settled(self) -> Learner:
        """The model to predict with, by itself."""
        if self._settled is None:
            best = copy(self.in_use())
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

    def snapshot(self) -> tuple[dict[str, Any], Arrays]:
        """What it takes to go on, beside the space and the model in use; arrays are not copied."""
        packs = [pack.snapshot() for pack in self._packs]
        numbers = {
            "point": self.in_use().found,
            "size": self._size,
            "next_stock": self._next_stock,
            "last_stock": self._last_stock,
            "progress": self._progress.tolist(),
            "is_challenged": self._challenge is not None,
            "packs": [of_pack for of_pack, _ in packs],
        }
        return numbers, with_prefixes([arrays for _, arrays in packs])

    def restore(self, model: Learner, numbers: dict[str, Any], arrays: Arrays) -> None:
        """Go back to a snapshot; the model was in use then. This one has not learned."""
        self.t = model.t
        packs, size, progress = (numbers[name] for name in ("packs", "size", "progress"))
        if not (isinstance(size, float) and SMALLEST_SIZE < size <= 2.0 * LARGEST_VALUE):
            raise ValueError("no values are of that size")
        self._size = size
        if numbers["is_challenged"]:
            self._be_challenged(model)
        elif packs:
            self._begin()
            order = [pack["points"][0]["rule"] for pack in packs]
            self._races.sort(key=lambda race: order.index(race.points[0]["rule"]))
        elif self.t:
            self._best = model
        for number, (pack, of_pack) in enumerate(zip(self._packs, packs, strict=True)):
            pack.restore(of_pack, without_prefix(arrays, number), self.t)
        self._progress = np.empty(3)
        put_back(self._progress, np.array(progress, dtype=np.float64))
        is_last = self._best is not None and not self.space.free
        self._next_stock = checked_whole(numbers["next_stock"], NEVER if is_last else self.t + 1)
        self._last_stock = checked_whole(numbers["last_stock"], 0)
        if self._packs and not any(pack.is_alive for pack in self._packs):
            raise ValueError("no model lives")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.settled(), name)

    @property
    def progress(self) -> Floats:
        """As a learner's, of the predictions with the best model of the time."""
        if self._best is not None:
            return self._best.progress
        if not self._packs:
            return self._progress
        return self._progress + self._leading.progress()

    @property
    def progressive_loss(self) -> float:
        """Mean loss of these predictions."""
        total, weight, _ = self.progress
        return float(total / weight) if weight else 0.0

    def grow(self, n_features: int) -> None:
        """Make room for more columns, which start at weight zero."""
        for pack in self._packs:
            pack.grow(n_features)
        if self._best is not None:
            self._best.grow(n_features)
        self._settled = None
        self.n_features = max(self.n_features, n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""
        for pack in self._packs:
            pack.move(old, new, n_features)
        if self._best is not None:
            self._best.move(old, new, n_features)
        self._settled = None
        self.n_features = n_features


def _size(rows: Rows) -> float:
    """How large values are, by their squares, in the first rows."""
    last = rows.indptr[min(ROWS_TO_MEASURE, len(rows.y))]
    values: Floats = rows.values[rows.indptr[0] : last]
    size = float(np.sqrt(np.mean(values**2))) if len(values) else 0.0
    return size if size > SMALLEST_SIZE else 1.0
