"""Learning from readers, for files larger than memory, and predicting them."""

import numbers
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rarefy.checks import refuse_path
from rarefy.engine.task import GROW, Task, may_grow
from rarefy.errors import InputError
from rarefy.estimators.training_warnings import WarningReporter
from rarefy.parameters.entry import LARGEST_SEED
from rarefy.readers import Reader
from rarefy.readers.features.columns import listed_columns
from rarefy.readers.in_memory import are_rows
from rarefy.stores import make_store
from rarefy.streams.fast_path import FastPath
from rarefy.streams.stream_model import StreamModel
from rarefy.training.plan import make_plan, new_model, run_settings
from rarefy.training.procedure import Training
from rarefy.training.request import OF_RUN

if TYPE_CHECKING:
    from rarefy.estimators.sparse_online import SparseOnline


def _seed(random_state: Any) -> int:
    """A whole number, drawn where a generator or nothing is given."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(LARGEST_SEED, dtype=np.uint32))


def _are_growing(classes: Any) -> bool:
    if classes is not None and not may_grow(classes):
        raise InputError(
            f"classes={classes!r}: {GROW!r} is expected, or nothing. Readers are given the list "
            f"of classes: rarefy.read(..., classes=[...])."
        )
    return classes is not None


class FromStreams:
    """Part of the base of both estimators."""

    stream_: StreamModel | None = None  # of an estimator that learned from a reader
    _fast: FastPath | None

    def fit_stream(
        self: Any,
        reader: Reader,
        *,
        classes: str | None = None,
        store: str = "table",
        bits: int | None = None,
        capacity: int | None = None,
        names: bool = True,
        cache: str | Path | None = None,
        shuffle: bool = False,
        shuffle_memory: int | None = None,
    ) -> Any:
        """Train a new model on the rows of a reader, with `passes` passes.

        The classes are those of the reader. With `classes="grow"`, new ones may come in any row.
        `store` says how weights are stored: "array" (by column), "hashed" (2^bits weights, with
        collisions) or "table" (exact; if there are more than `capacity` features, the least useful
        are dropped). `cache` is a file that keeps the parsed rows for further passes and runs. With
        `shuffle`, rows come in random order, seeded by `random_state`: as many at a time as fit
        `shuffle_memory` (bytes, by default 1 GB). With `refit`, the data are read once more, and
        the rows, reduced to the selected features, must fit in memory.

        Afterwards `predict` and similar methods accept readers; data frames, Arrow tables and
        dicts, if the data had named columns; and matrices, unless the store is a table.
        """
        estimator: SparseOnline = self
        refuse_path(reader)
        if not isinstance(reader, Reader):
            raise InputError(
                f"a reader is expected (see rarefy.read), not a {type(reader).__name__}."
            )
        with estimator._draft() as draft:
            is_refitted = draft._is_refitted and (
                draft.refit or cache is not None or reader.can_be_read_again
            )
            task, classes_grow = draft._task(is_refitted=is_refitted), _are_growing(classes)
            stored = make_store(store, bits=bits, capacity=capacity, names=names)
            model = new_model(task, stored, reader, classes_grow=classes_grow)
            asked = {
                **OF_RUN,
                "passes": draft._stream_passes,
                "shards": draft.shards,
                "cache": cache,
                "shuffle": shuffle,
                "shuffle_memory": shuffle_memory,
                "random_state": _seed(draft.random_state) if shuffle else None,
            }
            parameters = {**draft.get_params(), "refit": is_refitted}
            plan = make_plan(model, reader, None, parameters, run_settings(asked, None), slim=False)
            Training(plan, reporter=WarningReporter()).carry_out()
            is_slim = plan.refit is not None
            draft._take_over_stream(plan.run.model, model.task, is_slim=is_slim)
        return self

    def _take_over_stream(
        self: Any, model: StreamModel, task: Task, *, is_slim: bool = False
    ) -> None:
        """Be the model that has learned this task from a stream."""
        self._take_over(model)
        self.is_slim_ = is_slim
        self._learned(task)

    def _take_over(self: Any, model: StreamModel) -> None:
        """Have the weights and classes of a model of a stream."""
        if self.stream_ is not model:
            self._fast = None
        self.stream_ = model
        model.watch = self._watch
        self.learner_ = model.learner
        self._class_totals = model.class_totals
        self.n_features_in_ = model.learner.n_features
        self.__dict__.pop("feature_names_in_", None)
        self._adopt(model)

    @property
    def weights_(self: Any) -> dict[str, Any]:
        """The non-zero weights by feature name (an array per feature with several classes).

        Features without a name have their index, or the position of their weight.
        """
        check_is_fitted(self)
        if self.stream_ is None:
            raise AttributeError(
                "weights_ is available after start, fit_stream or rarefy.train; after fit, use "
                "coef_, with the names of the columns (feature_names_in_)."
            )
        kept, n_outputs = self.stream_.kept(), self.learner_.n_outputs
        names = kept.names or [str(key) for key in kept.keys.tolist()]
        if n_outputs == 1:
            return dict(zip(names, kept.weights.tolist(), strict=True))
        weights: dict[str, Any] = {}
        for name, output, weight in zip(names, kept.outputs, kept.weights, strict=True):
            weights.setdefault(name, np.zeros(n_outputs))[output] = weight
        return weights

    def _stream_scores(self: Any, reader: Reader) -> NDArray[np.float64]:
        if self.stream_ is None:
            raise InputError("a reader can be predicted only after fit_stream; give a matrix.")
        batches = list(self.stream_.scores(reader))
        return np.concatenate(batches) if batches else np.empty((0, self.learner_.n_outputs))

    def _takes_raw(self: Any, X: Any) -> bool:
        """Whether these are rows with named columns, and the model has learned from such rows."""
        if self.stream_ is None:
            return False
        columns = self.stream_.reading.columns
        return (columns.named or columns.complete) and are_rows(X)

    def _refuse_matrix(self: Any) -> None:
        """A table has no columns; only a reader leads from features to keys."""
        if self.stream_ is not None and self.stream_.store.kind == "table":
            columns = self.stream_.reading.columns
            names = [name for name, kind in columns.kinds.items() if kind != "ignore"]
            if names:
                raise InputError(
                    f"the model was trained on the columns {listed_columns(names)}: give rows as "
                    f"dicts, such as {{{names[0]!r}: ...}}, a data frame, or a reader (see "
                    f"rarefy.read)."
                )
            raise InputError(
                "the features are in a table and have no column numbers: give a reader (see "
                "rarefy.read), or train with store='array' or 'hashed'. Data frames and dicts "
                "need a model trained on named columns, as in CSV, JSON lines or Parquet."
            )
