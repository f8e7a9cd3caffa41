"""The phases of a search for hyperparameters, and the transitions between them.

    NotBegun -> Racing -> Alone -> Challenged -> Alone -> Challenged -> ...

Models are compared after FIRST_COMPARISON examples and then at growing intervals. The first such
moment after FIRST_RACE examples ends the race: one model goes on alone, which costs no more than a
plain fit. From time to time it is challenged by others near it. Where there is nothing but kinds of
rules to choose from, it stays alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import LARGEST_VALUE, Floats, Rows, part_of
from rarefy.engine.learner import Learner
from rarefy.engine.snapshots import Arrays, checked_whole, put_back
from rarefy.errors import DivergenceError
from rarefy.model.scoring import Judge
from rarefy.tuning.challenge import Challenge
from rarefy.tuning.checkpoint import with_prefixes, without_prefix
from rarefy.tuning.offsets import warn_of_offsets
from rarefy.tuning.population import Population
from rarefy.tuning.race import Race
from rarefy.tuning.space import Space

FIRST_COMPARISON = 128  # examples
FIRST_RACE = 512  # examples after which one model goes on alone
# The next comparison, or phase, comes when there are so many times as many examples.
RACE_INTERVAL = 1.7
ALONE = 3
CHALLENGE = 1.6
CHALLENGE_INTERVAL = 1.17
NEVER = 1 << 62
ROWS_TO_MEASURE = 128
UNCHANGED = " The model is unchanged by this call."
SMALLEST_SIZE = 1e-50  # what is smaller says nothing of how large values are


class Setting(NamedTuple):
    """What all phases of a search have in common."""

    space: Space
    loss: Any
    n_outputs: int
    fit_intercept: bool
    judge: Judge | None = None  # of scores, where losses are not what models are compared by
    size: float = 1.0  # of the first values

    @property
    def shape(self) -> dict[str, Any]:
        return {"n_outputs": self.n_outputs, "fit_intercept": self.fit_intercept}


class Comparisons(NamedTuple):
    """After how many examples models are compared, and what had come of predictions by then."""

    next_at: int
    last_at: int  # the first from here on ends a phase of several models
    progress: Floats  # weighted losses, examples and right answers, up to the comparison before


class Phase(ABC):
    """Who learns, until when, and what follows."""

    populations: Sequence[Population] = ()  # of models that learn side by side

    def __init__(self, setting: Setting, comparisons: Comparisons) -> None:
        self.setting = setting
        self.comparisons = comparisons

    def begun(self, rows: Rows) -> "Phase":
        """The phase in which the rows that come are learned."""
        return self

    @abstractmethod
    def learn(self, rows: Rows, begin: int, end: int, restorable: bool) -> None:
        """Learn the rows from `begin` up to `end`; there are none beyond the next comparison."""

    @abstractmethod
    def following(self) -> "Phase":
        """Compare models, as it is time to; the phase that goes on from here, maybe this one."""

    @property
    @abstractmethod
    def t(self) -> int:
        """How many examples have been learned."""

    @property
    @abstractmethod
    def progress(self) -> Floats:
        """Weighted losses, examples and right answers of the model in use at the time."""

    @abstractmethod
    def in_use(self) -> Learner:
        """The model to predict with."""

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        """How much each feature would be missed, as a learner says it."""
        return self.in_use().usefulness(counts)

    @abstractmethod
    def grow(self, n_features: int) -> None:
        """Make room for more features."""

    @abstractmethod
    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""

    def checkpoint(self) -> tuple[dict[str, Any], Arrays]:
        """What it takes to go on, beside the space and the model in use; arrays are not copied.

        Names are those of model files.
        """
        populations = [population.snapshot() for population in self.populations]
        numbers = {
            "point": self.in_use().found,
            "size": self.setting.size,
            "next_stock": self.comparisons.next_at,
            "last_stock": self.comparisons.last_at,
            "progress": self.comparisons.progress.tolist(),
            "is_challenged": isinstance(self, Challenged),
            "packs": [of_population for of_population, _ in populations],
        }
        return numbers, with_prefixes([arrays for _, arrays in populations])

    def restore(self, numbers: dict[str, Any], arrays: Arrays) -> None:
        """Go back to a checkpoint of the same phase."""
        for number, (population, of_population) in enumerate(
            zip(self.populations, numbers["packs"], strict=True)
        ):
            population.restore(of_population, without_prefix(arrays, number), self.t)
        if self.populations and not any(population.is_alive for population in self.populations):
            raise ValueError("no model lives")
        progress = np.empty(3)
        put_back(progress, np.array(numbers["progress"], dtype=np.float64))
        self.comparisons = Comparisons(
            checked_whole(numbers["next_stock"], self._earliest_comparison),
            checked_whole(numbers["last_stock"], 0),
            progress,
        )

    @property
    def _earliest_comparison(self) -> int:
        return self.t + 1


class NotBegun(Phase):
    """Before the first row, which tells how large values are."""

    def __init__(self, setting: Setting, n_features: int) -> None:
        super().__init__(setting, Comparisons(FIRST_COMPARISON, FIRST_RACE, np.zeros(3)))
        self._n_features = n_features

    def begun(self, rows: Rows) -> Phase:
        if len(rows.y) == 0:
            return self
        if not self.setting.space.is_shift_free:
            warn_of_offsets(rows, self.setting.loss, self.setting.space.sought)
        setting = self.setting._replace(size=size_of_values(rows))
        return Racing(setting, self.comparisons, self._n_features)

    def learn(self, rows: Rows, begin: int, end: int, restorable: bool) -> None:
        raise AssertionError("rows are learned in the phases that follow")

    def following(self) -> Phase:
        return self

    @property
    def t(self) -> int:
        return 0

    @property
    def progress(self) -> Floats:
        return self.comparisons.progress

    def in_use(self) -> Learner:
        """A model of the first kind that has not learned."""
        space, loss = self.setting[:2]
        kind = space.kinds[0][0]
        learner = Learner(
            *space.rule_at(kind), loss, n_features=self._n_features, **self.setting.shape
        )
        learner.found = kind
        return learner

    def grow(self, n_features: int) -> None:
        self._n_features = max(self._n_features, n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        self._n_features = n_features


class SideBySide(Phase):
    """Populations of models that learn the same rows, the best first, until one model goes on."""

    interval: float

    def __init__(
        self,
        setting: Setting,
        comparisons: Comparisons,
        populations: Sequence[Population],
        t: int,
    ) -> None:
        super().__init__(setting, comparisons)
        self.populations = populations
        self._t = t

    @property
    def t(self) -> int:
        return self._t

    def learn(self, rows: Rows, begin: int, end: int, restorable: bool) -> None:
        """Learn the rows, after which there is no going back."""
        for population in self.populations:
            population.learn(rows, begin, end)
        self._t += int(np.count_nonzero(rows.importance[begin:end]))
        self._check_alive()

    def following(self) -> Phase:
        self.comparisons = self.comparisons._replace(progress=self.progress)
        for population in self.populations:
            population.compare()
        self._rank()
        if self.t >= self.comparisons.last_at:
            return Alone(self.setting, self.comparisons, self._winner())
        self._renew()
        self.comparisons = self.comparisons._replace(next_at=int(self.t * self.interval))
        return self

    def _rank(self) -> None:
        """Put the best population first."""

    def _renew(self) -> None:
        """Change models in the light of the comparison."""

    def _winner(self) -> Learner:
        model = self._leading.winner()
        model.progress[:] = self.progress
        return model

    def _check_alive(self) -> None:
        """Refuse to go on when the weights of all models have diverged."""
        if not any(population.is_alive for population in self.populations):
            raise DivergenceError(
                f"The weights of all models diverged within {self.t} examples: the step size is "
                f"too large for these features. Use eta0='auto', or scale the features."
            )

    @property
    def _leading(self) -> Population:
        self._check_alive()
        return next(population for population in self.populations if population.is_alive)

    @property
    def progress(self) -> Floats:
        return self.comparisons.progress + self._leading.progress()

    def in_use(self) -> Learner:
        learner = self._leading.in_use()
        learner.progress[:] = self.progress
        return learner

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        """What the best model has forgotten may matter to the others."""
        return np.where(counts > 0, np.maximum(super().usefulness(counts), -1.0), -np.inf)

    def grow(self, n_features: int) -> None:
        for population in self.populations:
            population.grow(n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        for population in self.populations:
            population.move(old, new, n_features)


class Racing(SideBySide):
    """The search among all models, with a population for each rule; the best one wins."""

    interval = RACE_INTERVAL
    populations: list[Race]

    def __init__(
        self, setting: Setting, comparisons: Comparisons, n_features: int, t: int = 0
    ) -> None:
        space, loss, size = setting.space, setting.loss, setting.size
        races = []
        for kinds in space.kinds:
            usual = {kind["q"]: space.usual(kind, size, FIRST_COMPARISON) for kind in kinds}
            points = space.first_points(kinds, usual)
            shape = {"n_features": n_features, "judge": setting.judge, **setting.shape}
            races.append(Race(space, points, loss, usual, **shape))
        super().__init__(setting, comparisons, races, t)

    def _rank(self) -> None:
        self.populations.sort(key=lambda race: race.standing)

    def _renew(self) -> None:
        for race in self.populations:
            race.replace_poorest()

    def restore(self, numbers: dict[str, Any], arrays: Arrays) -> None:
        order = [population["points"][0]["rule"] for population in numbers["packs"]]
        self.populations.sort(key=lambda race: order.index(race.points[0]["rule"]))
        super().restore(numbers, arrays)


class Challenged(SideBySide):
    """A model that has learned alone beside others near it; what they agree on goes on."""

    interval = CHALLENGE_INTERVAL

    def __init__(self, setting: Setting, model: Learner) -> None:
        t = model.t
        comparisons = Comparisons(int(t * self.interval), int(t * CHALLENGE), model.progress)
        challenge = Challenge(setting.space, model, judge=setting.judge, **setting.shape)
        super().__init__(setting, comparisons, [challenge], t)


class Alone(Phase):
    """One model by itself."""

    def __init__(self, setting: Setting, comparisons: Comparisons, model: Learner) -> None:
        next_at = model.t * (ALONE if setting.space.free else NEVER)
        super().__init__(setting, comparisons._replace(next_at=next_at))
        self.model = model

    @property
    def t(self) -> int:
        return self.model.t

    @property
    def progress(self) -> Floats:
        return self.model.progress

    def in_use(self) -> Learner:
        return self.model

    def learn(self, rows: Rows, begin: int, end: int, restorable: bool) -> None:
        """Learn the rows, or raise and be as before them."""
        try:
            self.model.learn(part_of(rows, begin, end), restorable=restorable)
        except DivergenceError as error:
            kept = f" The first {begin} rows of this call were kept." if begin else UNCHANGED
            kept = kept if restorable else ""
            raise DivergenceError(
                f"The weights diverged after {self.t} examples: the values are much larger than "
                f"before. Scale the features.{kept}"
            ) from error

    def following(self) -> Phase:
        return Challenged(self.setting, self.model)

    def grow(self, n_features: int) -> None:
        self.model.grow(n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        self.model.move(old, new, n_features)

    @property
    def _earliest_comparison(self) -> int:
        return self.t + 1 if self.setting.space.free else NEVER


def restored_phase(
    setting: Setting, model: Learner, numbers: dict[str, Any], arrays: Arrays
) -> Phase:
    """The phase of which there is a checkpoint; the model was in use then."""
    size = numbers["size"]
    if not (isinstance(size, float) and SMALLEST_SIZE < size <= 2.0 * LARGEST_VALUE):
        raise ValueError("no values are of that size")
    setting = setting._replace(size=size)
    phase: Phase = NotBegun(setting, model.n_features)
    if numbers["is_challenged"]:
        phase = Challenged(setting, model)
    elif numbers["packs"]:
        phase = Racing(setting, phase.comparisons, model.n_features, model.t)
    elif model.t:
        phase = Alone(setting, phase.comparisons, model)
    phase.restore(numbers, arrays)
    return phase


def size_of_values(rows: Rows) -> float:
    """How large values are, by their squares, in the first rows."""
    last = rows.indptr[min(ROWS_TO_MEASURE, len(rows.y))]
    values: Floats = rows.values[rows.indptr[0] : last]
    size = float(np.sqrt(np.mean(values**2))) if len(values) else 0.0
    return size if size > SMALLEST_SIZE else 1.0
