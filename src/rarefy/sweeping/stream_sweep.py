"""A sweep over a stream, without keeping its rows."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Numbers, Rows, part_of, portions, read_only
from rarefy.checks import numbers_if_all_are
from rarefy.engine.reference import Reference, reference_of
from rarefy.engine.task import Task
from rarefy.errors import InputError
from rarefy.lanes.block import NO_FOLD, Lane
from rarefy.lanes.lane_set import Lanes, Tallies
from rarefy.model.class_weights import ClassWeights
from rarefy.model.scoring import Judge, Scoring, judgement
from rarefy.readers import Reader
from rarefy.splits import stream_folds
from rarefy.stores import Prepared
from rarefy.stores.table_store import TableStore
from rarefy.streams.pipeline import prepared_batches
from rarefy.streams.stream_model import StreamLearner
from rarefy.sweeping.cross_validation import (
    MemoryTooSmallError,
    by_reference,
    lanes_of,
    measures_of,
)
from rarefy.sweeping.result import Extent


class Scored(NamedTuple):
    """Rows that were judged."""

    scores: Floats  # (point, row, output)
    y: Floats
    importance: Floats
    folds: Numbers


class Team:
    """Lanes that learn the same rows: relative to where the first ones lie, or as they are."""

    def __init__(self, numbers: list[int], lanes: Lanes, reference: Reference) -> None:
        self.numbers = np.array(numbers, dtype=np.int64)  # of the lanes, among all
        self.lanes = lanes
        self._reference = reference

    def learn(self, rows: Rows, folds: Floats, *, judged: bool) -> None:
        if self._reference.n == 0:
            self._reference = reference_of(self._reference, rows)
            self.lanes.set_reference(self._reference)
        self.lanes.learn(self._reference.relative(rows), folds, judged=judged)

    def judge(self, rows: Rows, folds: Floats) -> None:
        self.lanes.judge(self._reference.relative(rows), folds)

    def scores(self, rows: Rows) -> Floats:
        """(lane, row, output)."""
        return self.lanes.scores(self._reference.relative(rows)) + self._reference.location

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        self.lanes.move(old, new, n_features)
        self._reference = self._reference.moved(old, new)


class GridLearner:
    """The models of a grid as one learner, so that a store looks up features once for all lanes.

    Rows belong to folds by their number. What is to be scored is what lanes are judged by.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        n_folds: int | None,
        seed: int,
        memory: int,
        passes: int,
        **shape: Any,
    ) -> None:
        self.n_features: int = shape["n_features"]
        self.n_outputs: int = shape["n_outputs"]
        self.t = 0
        self._n_folds = n_folds
        self._seed = seed
        self._memory = memory
        self._passes_left = passes
        self._pass_number = 1
        self._row = 0
        self._moments = np.zeros((3, n_folds or 1))  # weighted sums of 1, y - origin and its square
        self._origin: float | None = None  # the first y, so that large numbers do not cancel
        self.class_weights: ClassWeights | None = None
        self._class_totals: Floats = np.empty(0)
        self._scored: list[Scored] | None = None  # rows as they are judged, where scores are kept
        self._teams = [
            Team(numbers, Lanes([lanes[n] for n in numbers], **{**shape, "n_features": 0}), start)
            for start, numbers in by_reference(lanes, fit_intercept=shape["fit_intercept"])
        ]
        self._check_memory(self.n_features)
        self._grow(self.n_features)

    def end_pass(self) -> None:
        self._passes_left -= 1
        self._row = 0
        self._pass_number += 1
        for team in self._teams:
            team.lanes.begin_pass(self._pass_number)

    def learn(self, rows: Rows, n_features: int = 0, *, restorable: bool = True) -> None:
        """Learn the rows; whatever `restorable` says, there is no going back."""
        self.grow(n_features)
        is_judged = self._n_folds is None and self._passes_left == 1
        for begin, end in portions(rows.indptr, self.n_outputs):
            part = part_of(rows, begin, end)
            folds = self._next_folds(part)
            if is_judged:
                self._add_moments(part, folds)
            part = self._weighed(part)
            for team in self._teams:
                team.learn(part, folds, judged=is_judged)
        self.t += len(rows.y)

    def scores(self, rows: Rows) -> Floats:
        """Judge every lane by the rows of its own fold; there is no score to give."""
        folds = self._next_folds(rows)
        self._add_moments(rows, folds)
        for team in self._teams:
            team.judge(rows, folds)
        if self._scored is not None:
            self._keep_scores(self._scored, rows, folds.astype(np.int64))
        return np.empty((len(rows.y), self.n_outputs))

    def _weighed(self, rows: Rows) -> Rows:
        if self.class_weights is None:
            return rows
        importance, self._class_totals = self.class_weights.running(
            rows.y, rows.importance, self._class_totals
        )
        return rows._replace(importance=read_only(importance))

    def keep_scores(self) -> None:
        """Keep the scores of rows that are judged from now on."""
        self._scored = []

    def _keep_scores(self, kept: list[Scored], rows: Rows, folds: Numbers) -> None:
        """Of every point, the scores of the model that has not learned the fold of the row."""
        n_folds = self._moments.shape[1]
        of_lanes = self._in_order([team.scores(rows) for team in self._teams])
        by_point = of_lanes.reshape(-1, n_folds, *of_lanes.shape[1:])
        scores = by_point[:, folds, np.arange(len(folds))]
        self._check_memory(self.n_features, sum(one.scores.nbytes for one in kept) + scores.nbytes)
        kept.append(Scored(scores, rows.y.copy(), rows.importance.copy(), folds))

    def judged(self, judge: Judge) -> Floats:
        """What the judge says of every point and fold."""
        assert self._scored is not None
        scores = np.concatenate([one.scores for one in self._scored], axis=1)
        y, importance, folds = (
            np.concatenate([one[part] for one in self._scored]) for part in (1, 2, 3)
        )
        found = np.empty((len(scores), self._moments.shape[1]))
        for fold in range(found.shape[1]):
            own = folds == fold
            for point, of_point in enumerate(scores):
                found[point, fold] = judgement(judge, of_point[own], y[own], importance[own])
        return found

    def _next_folds(self, rows: Rows) -> Floats:
        numbers = np.arange(self._row, self._row + len(rows.y), dtype=np.uint64)
        self._row += len(rows.y)
        if self._n_folds is None:
            return np.full(len(rows.y), NO_FOLD)
        return stream_folds(numbers, self._n_folds, self._seed).astype(np.float64)

    def _add_moments(self, rows: Rows, folds: Floats) -> None:
        if self._origin is None:
            self._origin = float(rows.y[0])
        numbers, n = np.nan_to_num(folds).astype(np.int64), self._moments.shape[1]
        y = rows.y - self._origin
        for power in range(len(self._moments)):
            self._moments[power] += np.bincount(numbers, rows.importance * y**power, n)

    def measures(self, n_columns: int, *, is_regression: bool) -> dict[str, Floats]:
        """Every measure by model and fold."""
        weight, total, squares = self._moments
        if not weight.all():
            if self._n_folds is None:
                raise InputError("all rows have weight zero: there is nothing to learn.")
            empty = int(weight.argmin())
            raise InputError(f"fold {empty} has no row with a weight above zero; use fewer folds.")
        spread = squares - total**2 / weight
        return measures_of(
            self._tallies(),
            len(weight),
            max(n_columns, 1) * self.n_outputs,
            spread if is_regression else None,
        )

    def _tallies(self) -> Tallies:
        """Those of all lanes, in their order."""
        of_lanes = [np.array(team.lanes.tallies()).T for team in self._teams]
        return Tallies(*self._in_order(of_lanes).T)

    def _in_order(self, of_lanes: list[Floats]) -> Floats:
        """What there is of the lanes of each team, in the order of all lanes."""
        numbers = np.concatenate([team.numbers for team in self._teams])
        in_order: Floats = np.concatenate(of_lanes)[np.argsort(numbers)]
        return in_order

    def grow(self, n_features: int) -> None:
        if n_features > self.n_features:
            self._check_memory(n_features)
            self._grow(n_features)
            self.n_features = n_features

    def _grow(self, n_features: int) -> None:
        for team in self._teams:
            team.lanes.grow(n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        self._check_memory(n_features)
        for team in self._teams:
            team.move(old, new, n_features)
        self.n_features = n_features

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        """Whatever has occurred may matter to one of the lanes."""
        return np.where(counts > 0, 0.0, -np.inf)

    def _check_memory(self, n_features: int, n_bytes_of_scores: int = 0) -> None:
        n_bytes = sum(team.lanes.n_bytes(n_features) for team in self._teams) + n_bytes_of_scores
        if n_bytes > self._memory:
            what = "models and scores" if n_bytes_of_scores else "models"
            raise MemoryTooSmallError(
                f"memory={self._memory}: all {what} with {n_features:,} features take {n_bytes} "
                f"bytes. Give that much, or sweep over a smaller grid.",
                n_bytes,
            )


@dataclass(frozen=True)
class GridTask:
    """What a whole grid learns; the lanes are made when the classes are known."""

    tasks: Sequence[Task]
    n_folds: int | None
    seed: int
    memory: int
    passes: int
    n_threads: int

    @property
    def loss_name(self) -> str:
        return self.tasks[0].loss_name

    @property
    def is_regression(self) -> bool:
        return self.tasks[0].is_regression

    def new_learner(self, classes: Collection[Any], n_features: int) -> GridLearner:
        """All lanes, none of which has learned."""
        lanes, n_outputs = lanes_of(self.tasks, len(classes), self.n_folds)
        return GridLearner(
            lanes,
            self.n_folds,
            self.seed,
            self.memory,
            self.passes,
            n_features=n_features,
            n_outputs=n_outputs,
            fit_intercept=self.tasks[0].fit_intercept,
            n_threads=self.n_threads,
        )


def sweep_stream(
    task: GridTask, reader: Reader, progress: Callable[[float], None], scoring: Scoring
) -> tuple[dict[str, Floats], Extent]:
    """Measures of all models, and how large the data are.

    Without folds, models are judged by what they predict for each row before they learn it. With
    folds, the data are read once more than the models have passes. All models learn at a time.
    """
    store, passes = TableStore(names=False), task.passes
    model = StreamLearner(task, store, reader.labels.classes)
    reader.names_wanted = store.names_wanted
    n_readings = passes if task.n_folds is None else passes + 1
    for number in range(n_readings):
        if number == passes and scoring.needs_scores:
            model.learner.keep_scores()
        for prepared in _batches(task, model, reader):
            if number < passes:
                store.learn(model.learner, prepared)
            else:
                store.scores(model.learner, prepared)
            progress((number + prepared.batch.share) / n_readings)
        if model.t == 0:
            raise InputError(f"{' '.join(reader.files)}: there are no examples to learn from.")
        model.learner.end_pass()
    measures = model.learner.measures(store.n_features, is_regression=task.is_regression)
    judge = scoring.judge(np.array(numbers_if_all_are(model.classes)))
    if judge is not None:
        by_fold = np.where(np.isnan(measures["loss"]), np.nan, model.learner.judged(judge))
        measures = {scoring.name: by_fold, **measures}
    return measures, Extent(model.t // passes, store.n_features)


def _batches(
    task: GridTask, model: StreamLearner[GridLearner], reader: Reader
) -> Iterator[Prepared]:
    """All that a reader gives, with targets; from the first batch on the classes are known."""
    with closing(prepared_batches(reader, model.store, model.with_targets)) as batches:
        for prepared in batches:
            if len(prepared.batch.labels):
                model.begin(prepared.batch, reader)
                if model.t == 0:
                    model.learner.class_weights = task.tasks[0].class_weights(model.classes)
                yield prepared if prepared.y is not None else model.with_targets(prepared)
