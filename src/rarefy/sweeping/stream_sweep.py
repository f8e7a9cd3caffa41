"""All models of a grid learn from a stream: rows are read, and never kept."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows
from rarefy.engine.learner import Learner
from rarefy.engine.task import Task
from rarefy.errors import InputError
from rarefy.lanes.block import NO_FOLD, Lane
from rarefy.lanes.lane_set import Lanes
from rarefy.readers import Reader
from rarefy.splits import stream_folds
from rarefy.stores import Store, make_store
from rarefy.streams.run import Run
from rarefy.streams.stream_model import StreamModel
from rarefy.sweeping.cross_validation import MemoryTooSmallError, lanes_of, measures_of
from rarefy.sweeping.result import Extent


class GridLearner:
    """Stands in for the learner of a stream's model; a store looks up features once for all lanes.

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
        self._row = 0
        self._moments = np.zeros((3, n_folds or 1))  # weighted sums of 1, y - origin and its square
        self._origin: float | None = None  # the first y, so that large numbers do not cancel
        self._lanes = Lanes(lanes, **{**shape, "n_features": 0})
        self._check_memory(self.n_features)
        self._lanes.grow(self.n_features)

    def end_pass(self) -> None:
        self._passes_left -= 1
        self._row = 0

    def learn(self, rows: Rows, n_features: int = 0, *, restorable: bool = True) -> None:
        self.grow(n_features)
        is_judged = self._n_folds is None and self._passes_left == 1
        folds = self._next_folds(rows)
        if is_judged:
            self._add_moments(rows, folds)
        self._lanes.learn(rows, folds, judged=is_judged)
        self.t += len(rows.y)

    def scores(self, rows: Rows) -> Floats:
        """Judge every lane by the rows of its own fold; there is no score to give."""
        folds = self._next_folds(rows)
        self._add_moments(rows, folds)
        self._lanes.judge(rows, folds)
        return np.empty((len(rows.y), self.n_outputs))

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
                raise InputError("all rows have weight zero, which leaves nothing to learn.")
            empty = int(weight.argmin())
            raise InputError(f"fold {empty} has no row that counts; take fewer folds.")
        spread = squares - total**2 / weight
        return measures_of(
            self._lanes.tallies(),
            len(weight),
            max(n_columns, 1) * self.n_outputs,
            spread if is_regression else None,
        )

    def grow(self, n_features: int) -> None:
        if n_features > self.n_features:
            self._check_memory(n_features)
            self._lanes.grow(n_features)
            self.n_features = n_features

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        self._check_memory(n_features)
        self._lanes.move(old, new, n_features)
        self.n_features = n_features

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        """Whatever has occurred may matter to one of the lanes."""
        return np.where(counts > 0, 0.0, -np.inf)

    def _check_memory(self, n_features: int) -> None:
        n_bytes = self._lanes.n_bytes(n_features)
        if n_bytes > self._memory:
            raise MemoryTooSmallError(
                f"memory={self._memory}: all models with {n_features:,} features take {n_bytes} "
                f"bytes. Give that much, or sweep over a smaller grid.",
                n_bytes,
            )


class _GridModel(StreamModel):
    """Knows the classes from the first rows, and then makes the lanes."""

    def __init__(self, store: Store, classes: tuple[str, ...], grid: dict[str, Any]) -> None:
        first = grid["models"][0]
        multiclass = getattr(first, "multiclass", "auto")
        task = Task(None, None, first._make_loss(), multiclass, first.fit_intercept)
        self._grid = grid
        super().__init__(task, store, classes)

    @property
    def grid_learner(self) -> GridLearner:
        return cast(GridLearner, self.learner)

    def _new_learner(self) -> None:
        models, n_folds, seed, memory, passes, n_threads = self._grid.values()
        if not self.task.is_regression:
            for model in models:
                model.classes_ = np.array(self.classes)
        lanes, n_outputs = lanes_of(models, n_folds)
        learner = GridLearner(
            lanes,
            n_folds,
            seed,
            memory,
            passes,
            n_features=self.store.n_slots,
            n_outputs=n_outputs,
            fit_intercept=self.task.fit_intercept,
            n_threads=n_threads,
        )
        self.adopt(cast(Learner, learner))


def sweep_stream(
    models: Sequence[Any],
    reader: Reader,
    *,
    n_folds: int | None,
    seed: int,
    memory: int,
    n_threads: int,
    progress: Callable[[float], None],
) -> tuple[dict[str, Floats], Extent]:
    """Measures of estimators that have not learned, and how large the data are.

    Without folds, models are judged by what they predict for each row before they learn it. With
    folds, the data are read once more than the models have passes. All models learn at a time.
    """
    store = make_store("table", names=False)
    grid = {
        "models": models,
        "n_folds": n_folds,
        "seed": seed,
        "memory": memory,
        "passes": models[0].passes,
        "n_threads": n_threads,
    }
    model = _GridModel(store, reader.labels.classes, grid)
    passes = models[0].passes
    n_readings = passes if n_folds is None else passes + 1
    for number in range(passes):
        run = Run(model, reader)
        for _ in run.steps():
            progress((number + run.share) / n_readings)
        if model.t == 0:
            raise InputError(f"{' '.join(reader.files)}: there are no examples to learn from.")
        model.grid_learner.end_pass()
    if n_folds is not None:
        for prepared, _ in Run(model, reader).again():
            if len(prepared.batch.labels):
                store.scores(model.learner, model.with_targets(prepared))
                progress((passes + prepared.batch.share) / n_readings)
    n_features = store.n_seen(model.learner)
    measures = model.grid_learner.measures(n_features, is_regression=model.task.is_regression)
    return measures, Extent(model.t // passes, n_features)
