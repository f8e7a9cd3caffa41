"""Cross-validation of a grid: all models learn the same rows side by side."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, chosen_rows, dot, read_only
from rarefy.engine.reference import FIRST_EXAMPLES, Reference, new_reference, reference_of
from rarefy.engine.task import Task
from rarefy.errors import ConfigError, InputError
from rarefy.lanes.block import NO_FOLD, Block, Lane
from rarefy.lanes.lane_set import Lanes, Tallies, blocks_of
from rarefy.lanes.layout import LaneRows, rows_at
from rarefy.model.class_weights import ClassWeights
from rarefy.model.scoring import Judge, judgement
from rarefy.sweeping.lane_refit import Refitting
from rarefy.sweeping.shared_columns import features_of


class Candidate(NamedTuple):
    """A point of the grid, as it is learned."""

    task: Task
    seed: int = 0  # of the order of rows
    refit_features: int | None = None  # which a refit leaves


class Fitting(NamedTuple):
    """How all candidates are fitted."""

    passes: int
    shuffle: bool = False
    refit: bool = False
    refit_l2: float | None = None


class Seen(NamedTuple):
    """Rows as lanes learn them, what their features stand for, and what they are relative to."""

    rows: LaneRows
    columns: NDArray[np.int64]
    numbers: NDArray[np.int32]
    sizes: Floats
    reference: Reference


class MemoryTooSmallError(ConfigError):
    """Not even eight models, which are learned together, fit; they take `n_bytes`."""

    def __init__(self, message: str, n_bytes: int) -> None:
        super().__init__(message)
        self.n_bytes = n_bytes


def lanes_of(tasks: Sequence[Task], n_classes: int, n_folds: int | None) -> tuple[list[Lane], int]:
    """A lane for each task and fold, in this order, and how many outputs they have."""
    lanes, n_outputs = [], 1
    for task in tasks:
        loss, n_outputs = task.loss_over(n_classes)
        folds = [NO_FOLD] if n_folds is None else range(n_folds)
        lanes += [Lane(task.rule, task.schedule, loss, float(fold)) for fold in folds]
    return lanes, n_outputs


def by_reference(
    lanes: Sequence[Lane], *, fit_intercept: bool
) -> Iterator[tuple[Reference, list[int]]]:
    """The numbers of lanes that learn relative to the same, and what that is before any example."""
    groups: dict[tuple[bool, bool], tuple[Reference, list[int]]] = {}
    for number, lane in enumerate(lanes):
        unknown = new_reference(lane.rule, lane.loss, fit_intercept=fit_intercept)
        wanted = (unknown.means_wanted, unknown.spread_wanted)
        groups.setdefault(wanted, (unknown, []))[1].append(number)
    yield from groups.values()


def alike(candidates: Sequence[Candidate]) -> list[list[int]]:
    """The numbers of candidates that learn the same: all that differs is what a refit leaves."""
    by_learning: dict[tuple[Task, int], list[int]] = {}
    for number, (task, seed, _) in enumerate(candidates):
        by_learning.setdefault((task, seed), []).append(number)
    return list(by_learning.values())


def measures_of(
    tallies: Tallies, n_folds: int, n_weights: int, spread: Floats | None
) -> dict[str, Floats]:
    """Every measure by model and fold, NaN where weights diverged.

    `spread`, for regression, is the weighted sum of squared distances of the targets from their
    mean, for every fold; `n_weights` says how many weights there are, zeros included.
    """
    loss, examples, right, squared_error, weights, features = (
        np.where(tallies.diverged, np.nan, tally).reshape(-1, n_folds) for tally in tallies[:-1]
    )
    measures = {"loss": loss / examples}
    if spread is None:
        measures["accuracy"] = right / examples
    else:
        measures["r2"] = 1.0 - squared_error / spread
        measures["rmse"] = np.sqrt(squared_error / examples)
    measures["zeros"] = 1.0 - weights / n_weights
    return measures | {"weights": weights, "features": features}


class CrossValidation:
    """A lane for each fold, if there are any, and candidate; those that learn the same share it.

    `folds` are the numbers of every row's fold; without them, the rows of the last pass are judged
    just before they are learned. `n_classes` is 0 in regression. `judge` makes a number of the
    scores of a fold. `class_weights` are for learning: rows are judged by their own importance
    alone, if there are folds.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        fitting: Fitting,
        rows: Rows,
        folds: NDArray[np.int64] | None,
        *,
        n_columns: int,
        n_classes: int,
        n_threads: int,
        judge: Judge | None = None,
        class_weights: ClassWeights | None = None,
    ) -> None:
        self._candidates = candidates
        self._judge = judge
        self._class_weights = class_weights
        self._fitting = fitting
        self._n_threads = n_threads
        self._y, self._importance = rows.y, rows.importance
        self._n_columns = n_columns
        self._folds = None if folds is None else folds.astype(np.float64)
        self._n_folds = 1 if folds is None else int(folds.max()) + 1
        self._check_weights()
        self._spread = self._checked_spread() if self._is_regression else None
        self._by_fold = folds is not None and (judge is not None or class_weights is not None)
        self._refitting = self._checked_refitting(rows)
        self._alike = alike(candidates)
        self._lanes, self._n_outputs = lanes_of(
            [candidates[numbers[0]].task for numbers in self._alike],
            n_classes,
            None if folds is None else self._n_folds,
        )
        self._data: dict[int, Seen] = {}  # as each lane learns them
        for reference, numbers in by_reference(self._lanes, fit_intercept=self._fit_intercept):
            self._data |= dict.fromkeys(numbers, self._seen(rows, reference))

    def _seen(self, rows: Rows, reference: Reference) -> Seen:
        """The rows relative to what some of them, drawn from all over the data, tell."""
        if not reference.is_known:
            examples = np.flatnonzero(rows.importance)
            order = np.random.RandomState(0).permutation(examples)[:FIRST_EXAMPLES]
            reference = reference_of(reference, chosen_rows(rows, np.sort(order)))
        features = features_of(reference.relative(rows), self._n_columns, self._n_threads)
        return Seen(*features, reference)

    def run(
        self, memory: int, on_progress: Callable[[float], None], judged_as: str = ""
    ) -> dict[str, Floats]:
        """Learn, and judge; every measure by model and fold, NaN where weights diverged.

        What the judge says is the measure `judged_as`. A thread takes one block of lanes after the
        other, and no more learn at a time than fit the memory.
        """
        blocks = list(self._blocks())
        n_threads = min(self._n_threads, self._n_blocks_in(memory), len(blocks))
        tallies = np.empty((len(Tallies._fields) + 1, len(self._candidates), self._n_folds))
        steps_of_a_lane = self._fitting.passes * (1 if self._refitting is None else 2)
        progress = _Progress(len(self._lanes) * steps_of_a_lane, on_progress)
        with ThreadPoolExecutor(n_threads) as threads, progress:
            found = threads.map(lambda numbers: self._learned(numbers, progress), blocks)
            for numbers, of_block in zip(blocks, found, strict=True):
                for lane, of_lane in zip(numbers, of_block, strict=True):
                    tallies[:, self._candidates_of(lane), lane % self._n_folds] = of_lane
        measures = measures_of(
            Tallies(*tallies[:-1]),
            self._n_folds,
            self._n_columns * self._n_outputs,
            self._spread,
        )
        return {judged_as: tallies[-1], **measures} if judged_as else measures

    def _blocks(self) -> Iterator[list[int]]:
        """The numbers of lanes of one kind that take their rows in the same order.

        They are of one fold where its rows are scored, or weighed, by themselves.
        """
        alike: dict[tuple[int, float], list[int]] = {}
        for lane in range(len(self._lanes)):
            fold = self._lanes[lane].fold if self._by_fold else 0.0
            alike.setdefault((self._seed_of(lane), fold), []).append(lane)
        for lanes in alike.values():
            for block in blocks_of([self._lanes[lane] for lane in lanes]):
                yield [lanes[number] for number in block]

    def _candidates_of(self, lane: int) -> list[int]:
        """The numbers of the candidates that it is."""
        return self._alike[lane // self._n_folds]

    def _seed_of(self, lane: int) -> int:
        return self._candidates[self._candidates_of(lane)[0]].seed

    def _n_blocks_in(self, memory: int) -> int:
        largest = max(self._lanes, key=lambda lane: len(lane.rule.state_fields))
        n_features = max(len(data.sizes) for data in self._data.values())
        n_bytes = Block.n_bytes(largest, n_features, self._n_outputs)
        if n_bytes > memory:
            raise MemoryTooSmallError(
                f"memory={memory}: eight models side by side with {n_features:,} features "
                f"and the rule {type(largest.rule).__name__} take {n_bytes} bytes. Give that much.",
                n_bytes,
            )
        return memory // max(n_bytes, 1)

    def _learned(self, numbers: Sequence[int], progress: "_Progress") -> list[Floats]:
        """What becomes of the lanes of a block: Tallies of each, with a column for each candidate.

        One column stands for all of them, if they are the same.
        """
        data = self._data[numbers[0]]
        lanes = Lanes(
            [self._lanes[number] for number in numbers],
            n_features=len(data.sizes),
            n_outputs=self._n_outputs,
            fit_intercept=self._fit_intercept,
        )
        lanes.set_reference(data.reference)
        fold = self._lanes[numbers[0]].fold
        rows = data.rows._replace(importance=self._weighed(fold))
        random = np.random.RandomState(self._seed_of(numbers[0]))
        for number in range(1, self._fitting.passes + 1):
            order = random.permutation(len(self._y)) if self._fitting.shuffle else None
            judged = self._folds is None and number == self._fitting.passes
            lanes.begin_pass(number)
            lanes.learn(rows, self._folds, order, judged=judged)
            progress.add(len(numbers))
        if self._refitting is not None:
            return self._refitted(numbers, lanes, data, self._refitting, progress)
        if self._folds is not None:
            lanes.judge(data.rows, self._folds)
        judged_as = self._judged(lanes, data, fold, len(numbers))
        return _by_lane(lanes.tallies(data.sizes), judged_as)

    def _weighed(self, fold: float) -> Floats:
        """What rows count for lanes of that fold; its own rows do not matter."""
        if self._class_weights is None:
            return self._importance
        learned = np.ones(len(self._y), np.bool_)
        if self._folds is not None:
            learned = self._folds != fold
        importance = self._importance.copy()
        importance[learned] = self._class_weights.of_all(
            self._y[learned], importance[learned]
        ).importance
        return read_only(importance)

    def _judged(self, lanes: Lanes, data: Seen, fold: float, n_lanes: int) -> Floats:
        """What the judge says of the scores that lanes give to the rows of their fold."""
        if self._judge is None or self._folds is None:
            return np.full(n_lanes, np.nan)
        own = np.flatnonzero(self._folds == fold)
        scores = lanes.scores(rows_at(data.rows, own)) + data.reference.location
        y, importance = self._y[own], self._importance[own]
        return np.array([judgement(self._judge, one, y, importance) for one in scores])

    def _refitted(
        self,
        numbers: Sequence[int],
        lanes: Lanes,
        data: Seen,
        refitting: Refitting,
        progress: "_Progress",
    ) -> list[Floats]:
        """What becomes of lanes once they are refitted; a refit counts as much as all passes."""
        before = lanes.tallies(data.sizes)
        tallies = _by_lane(before, np.full(len(numbers), np.nan))
        for place, number in enumerate(numbers):
            if not before.diverged[place]:
                weights = lanes.weights(place)[:, data.numbers]
                limits = [
                    self._candidates[one].refit_features for one in self._candidates_of(number)
                ]
                lane = self._lanes[number]
                tallies[place] = refitting.tallies(lane, data.columns, weights, limits)
            progress.add(self._fitting.passes)
        return tallies

    @property
    def _is_regression(self) -> bool:
        return self._candidates[0].task.is_regression

    @property
    def _fit_intercept(self) -> bool:
        return self._candidates[0].task.fit_intercept

    def _checked_refitting(self, rows: Rows) -> Refitting | None:
        if not self._fitting.refit:
            return None
        if self._folds is None:
            raise ConfigError("refit=True needs folds.")
        return Refitting(
            rows,
            self._n_columns,
            self._folds,
            self._fit_intercept,
            self._fitting.refit_l2,
            self._judge,
            self._class_weights,
        )

    def _of_fold(self, fold: int) -> tuple[Floats, Floats]:
        """The targets and weights of its rows."""
        chosen = slice(None) if self._folds is None else self._folds == fold
        return self._y[chosen], self._importance[chosen]

    def _check_weights(self) -> None:
        for fold in range(self._n_folds):
            _, importance = self._of_fold(fold)
            if not importance.any():
                raise InputError(f"fold {fold} has no row whose sample_weight is not zero.")

    def _checked_spread(self) -> Floats:
        """The weighted sum of squared distances of the targets from their mean, for every fold."""
        spread = np.empty(self._n_folds)
        for fold in range(self._n_folds):
            y, importance = self._of_fold(fold)
            spread[fold] = dot(importance, (y - np.average(y, weights=importance)) ** 2)
            if spread[fold] == 0.0:
                raise InputError(
                    f"y is the same in all rows of fold {fold}, so R² is undefined there; use "
                    f"fewer folds."
                )
        return spread


def _by_lane(tallies: Tallies, judged: Floats) -> list[Floats]:
    """For each lane its tallies and what the judge says, none of a lane that diverged."""
    judged = np.where(tallies.diverged, np.nan, judged)
    return list(np.array([*tallies, judged]).T[:, :, np.newaxis])


class _Progress:
    """Adds up what the threads have done; when it is left, or an error occurs, all of them stop."""

    def __init__(self, total: int, on_progress: Callable[[float], None]) -> None:
        self._total = total
        self._on_progress = on_progress
        self._done = 0
        self._end: BaseException | None = None
        self._lock = Lock()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._end = self._end or CancelledError()

    def add(self, n_lanes: int) -> None:
        with self._lock:
            if self._end is not None:
                raise self._end
            self._done += n_lanes
            try:
                self._on_progress(self._done / self._total)
            except BaseException as error:
                self._end = error
                raise
