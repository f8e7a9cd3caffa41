"""Models of one kind that learn side by side: the poor ones make room for others near the best.

They are compared by the losses of their predictions for examples that were new to them, those of
late counting more. Among classifiers, some that are right more often have smaller scores and so a
larger loss; hence scores are taken times 1, 2 or 4, whichever suits the model. A newcomer takes
over what its model of origin has learned, and how it fared.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.engine import Floats, Rows
from rarefy.learner import Learner
from rarefy.losses import REGRESSION_LOSSES
from rarefy.rows import read_only
from rarefy.sweeping.block import NO_FOLD, Block, Lane
from rarefy.tuning.occurring import Occurring
from rarefy.tuning.space import FARTHEST, Point, Space

MEMORY = 0.7  # what a stretch of examples counts, beside the next one
APPRENTICESHIP = 2  # stretches until what a newcomer does is its own
INDIFFERENCE = 0.5  # standard errors by which a smaller model may be worse
EXCESS = 0.05  # what e times the features that a model may have cost, as a loss
EMPTINESS = 1e3  # what it costs to have none
N_SHARPER = 2  # how often scores are doubled
STRIDE = 4.0  # how far to go beyond the outermost models, as a ratio
CLOSEST = 1.2  # models with a smaller ratio of parameters are not told apart


class Race:
    """A block of models, each with its parameters and the history of its losses."""

    def __init__(
        self,
        space: Space,
        points: list[Point],
        usual: Point,
        loss: Any,
        n_features: int,
        **shape: Any,
    ) -> None:
        self._space = space
        self.n_features = n_features
        self.usual = usual
        self.points = points
        n_sharper = 0 if type(loss) in REGRESSION_LOSSES.values() else N_SHARPER
        self.block = Block(
            [Lane(*space.rule_at(point), loss) for point in points],
            n_features=n_features,
            n_sharper=n_sharper,
            **shape,
        )
        self.block.n_features = 0  # room for more never becomes memory until it is used
        self._occurring = Occurring(n_features)
        self._origin: Learner | None = None  # of what has not occurred in the race
        # The mean of each stretch, (stretch, doublings, model).
        self._losses = np.empty((0, n_sharper + 1, len(self.points)))
        self._counts = np.empty(0)  # what each stretch counts
        self._before, self._losses_before = self.block.progress(), self.block.losses()
        self._n_features = np.ones(len(points))  # counted when stock is taken, if it matters
        self._own_stretches = np.full(len(self.points), APPRENTICESHIP)
        self._turn = 0

    def take_over(self, learner: Learner) -> None:
        """Let all models go on from where one is, whose parameters are those of the first."""
        self.block.take_over(learner)
        self._origin = learner
        self._own_stretches[1:] = 0
        if self._space.max_features is not None:  # all have to be counted
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
        n_before = self._occurring.n
        numbers = self._occurring.number(features)
        self.block.grow(self._occurring.n)
        if self._origin is not None:
            self.block.set_state_from(n_before, self._origin, self._occurring.features[n_before:])
        return numbers

    def learner(self, lane: int) -> Learner:
        """A model by itself, with all that it was before the race."""
        learner, features = self.block.learner(lane), self._occurring.features
        learner.move(np.arange(len(features)), features, self.n_features)
        if self._origin is not None:
            others = self._occurring.not_among(self._origin.used())
            learner.set_state_of(others, self._origin.state_of(others))
        return learner

    def grow(self, n_features: int) -> None:
        """Make room for more features."""
        self.n_features = max(self.n_features, n_features)
        self._occurring.grow(n_features)
        if self._origin is not None:
            self._origin.grow(n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""
        self.n_features = n_features
        staying = self._occurring.move(old, new, n_features)
        self.block.move(staying, np.arange(len(staying)), len(staying))
        if self._origin is not None:
            self._origin.move(old, new, n_features)

    def stretch(self) -> Floats:
        """Losses, examples and right answers since stock was taken, (3, model)."""
        return self.block.progress() - self._before

    def take_stock(self) -> None:
        """Add the stretch of examples that ends here to the history."""
        _, examples, _ = self.stretch()
        losses = self.block.losses() - self._losses_before
        self._before, self._losses_before = self.block.progress(), self.block.losses()
        weight = examples.max()
        if weight > 0.0:
            means = np.where(self.block.alive, losses / weight, np.inf)
            self._losses = np.concatenate([self._losses, means[np.newaxis]])
            self._counts = np.append(self._counts * MEMORY, weight)
            self._own_stretches += 1
        if self._space.max_features is not None:
            self._n_features = self.block.n_features_kept()

    @property
    def standing(self) -> float:
        """The mean loss of the best model."""
        return float(self._means().min())

    def _means(self) -> Floats:
        """The mean loss of each model; more, where it has too many features."""
        if len(self._counts) == 0:
            return np.where(self.block.alive, 0.0, np.inf)
        means: Floats = self._counts @ self._history() / self._counts.sum()
        means = np.where(self.block.alive, means, np.inf)
        if self._space.max_features is not None:
            excess = self._n_features / self._space.max_features
            means += EXCESS * np.log(np.maximum(excess, 1.0))
            means[self._n_features == 0.0] += EMPTINESS
        return means

    def _history(self) -> Floats:
        """The mean loss of each stretch, (stretch, model), with scores as it suits the model."""
        doublings = np.tensordot(self._counts, self._losses, 1).argmin(axis=0)
        history: Floats = self._losses[:, doublings, np.arange(len(self.points))]
        return history

    def choice(self) -> int:
        """The model to predict with.

        That is the one with the most l1 of those that are hardly worse than the best, or, where
        there is a limit to its features, the best. Before models have been compared, it is the one
        in the middle.
        """
        is_proven = (self._own_stretches >= APPRENTICESHIP) & self.block.alive
        proven = np.flatnonzero(is_proven if is_proven.any() else self.block.alive)
        if len(self._counts) == 0:
            return int(proven[(len(proven) - 1) // 2])
        means = np.full(len(self.points), np.inf)
        means[proven] = self._means()[proven]
        best = int(means.argmin())
        if "l1" not in self._space.free or self._space.max_features is not None:
            return best
        close = means <= means[best] + INDIFFERENCE * self._uncertainties(best)
        l1 = np.array([point["l1"] for point in self.points])
        return int(np.where(close, l1, -np.inf).argmax())

    def _uncertainties(self, best: int) -> Floats:
        """Standard errors of how much worse than the best one each model is."""
        if len(self._counts) < 2:
            return np.zeros(len(self.points))
        history = self._history()
        behind = history - history[:, best : best + 1]
        behind[:, ~self.block.alive] = 0.0
        spread = behind - self._counts @ behind / self._counts.sum()
        errors: Floats = np.sqrt(self._counts**2 @ spread**2) / self._counts.sum()
        return errors

    def refine(self) -> None:
        """Put a model near the one to predict with in the place of the poorest."""
        origin, means = self.choice(), self._means()
        means[origin] = -np.inf
        poorest = int(means.argmax())
        for _ in self._space.free:
            name = self._space.free[self._turn % len(self._space.free)]
            self._turn += 1
            value = self._value_near(origin, name)
            if value is not None and poorest != origin:
                point = {**self.points[origin], name: value}
                self.block.fork(origin, poorest, *self._space.rule_at(point))
                self.points[poorest] = point
                for past in (self._losses, self._before, self._losses_before):
                    past[..., poorest] = past[..., origin]
                self._n_features[poorest] = self._n_features[origin]
                self._own_stretches[poorest] = 0
                return

    def _value_near(self, origin: int, name: str) -> float | None:
        """A value in the wider of the two gaps around that of a model, if it is wide enough."""
        own = self.points[origin][name]
        alive = np.flatnonzero(self.block.alive)
        others: NDArray[Any] = np.array([self.points[lane][name] for lane in alive.tolist()])
        below, above = others[others < own], others[others > own]
        low = below.max() if len(below) else own / STRIDE**2
        high = above.min() if len(above) else own * STRIDE**2
        far = FARTHEST[name] * self.usual[name], self.usual[name] / FARTHEST[name]
        gaps = [
            (max(own / end, end / own), math.sqrt(own * end))
            for end in (low, high)
            if far[1] <= math.sqrt(own * end) <= far[0]
        ]
        width, value = max(gaps, default=(0.0, own))
        return value if width > CLOSEST else None
