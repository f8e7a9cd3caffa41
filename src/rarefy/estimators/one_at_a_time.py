"""Learning and predicting single rows of Python."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarefy.arrays import LARGEST_VALUE
from rarefy.engine.task import Task, may_grow, with_growing_classes
from rarefy.errors import InputError
from rarefy.estimators.delayed_labels import NOTHING_LEARNED
from rarefy.estimators.matrices import check_importance
from rarefy.readers.features.columns import columns_given
from rarefy.readers.features.crosses import checked_crosses
from rarefy.readers.single.row_lines import choose_line_format
from rarefy.readers.single.row_loop import OWN
from rarefy.stores import make_store
from rarefy.streams.fast_path import FastPath
from rarefy.streams.fast_path_loops import DONE
from rarefy.streams.single_rows import SingleRows
from rarefy.streams.stream_model import Reading, StreamModel, check_names_kept
from rarefy.system.deferred_signals import Deferral

WITHOUT_COLUMNS = ("vw", "svmlight")


class OneAtATime:
    """Part of the base of both estimators."""

    stream_: StreamModel | None
    _single_rows: SingleRows | None = None
    _fast: FastPath | None = None  # once a row has gone the other way

    def start(
        self: Any,
        *,
        classes: Any = None,
        format: str = "json",
        label: str = "label",
        weight: str | None = None,
        text: Sequence[str] = (),
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        ignore: Sequence[str] = (),
        cross: Sequence[tuple[str, ...]] = (),
        ngram: int | Mapping[str, int] | None = None,
        skips: int | Mapping[str, int] | None = None,
        store: str = "table",
        bits: int | None = None,
        capacity: int | None = None,
        names: bool = True,
    ) -> Any:
        """Begin a new model that has learned nothing, for rows that come one at a time.

        A classifier needs `classes`: the list of all classes, or "grow", if new ones may come at
        any time. `format` says what the rows are like:
        with "json", a dict is an object of JSON lines; with "vw" or "svmlight", names mean what
        they mean there. The other parameters are those of `rarefy.read` and `fit_stream`.

        Models that were trained on files, or loaded, need no start: they go on.
        """
        columns = columns_given(
            label=label,
            weight=weight,
            text=text,
            categorical=categorical,
            numeric=numeric,
            ignore=ignore,
            named=choose_line_format(format) not in WITHOUT_COLUMNS,
            ngram=ngram,
            skips=skips,
        )
        stored = make_store(store, bits=bits, capacity=capacity, names=names)
        with self._draft() as draft:
            task = draft._task()
            if may_grow(classes):
                task = with_growing_classes(task)
            check_names_kept(task, stored)
            model = StreamModel(task, stored, draft._class_names(classes))
            model.reading = Reading(columns, checked_crosses(cross))
            draft._take_over_stream(model, task)
            draft._keep_labels(classes)
        return self

    def learn_one(
        self: Any,
        x: Any = None,
        y: Any = None,
        weight: float | None = None,
        id: Hashable = None,
        format: str | None = None,
    ) -> Any:
        """Learn one example.

        Parameters
        ----------
        x : dict, list of (name, value), or str
            The row: a dict of names to numbers, texts or lists of texts; the same as pairs; a text,
            if the model has one text column; or a line of VW text, svmlight, JSON or CSV. Each
            means what it means in a file.
        y : label or number, optional
            By default that of the row itself.
        weight : float, optional
            The importance of the row; by default 1, or its own, if the label is its own.
        format : {"vw", "svmlight", "json", "csv"}, optional
            Says that x is a line, and of which format. By default that is inferred.
        id : hashable, optional
            Instead of x: the row that was predicted by `predict_one(x, id=...)`. Progressive
            figures count the prediction that was made then.
        """
        fast = self._fast
        if fast is not None and weight is None and format is None and id is None:
            try:
                target = OWN if y is None and type(x) is str else fast.target_of(y)
            except TypeError:
                target = None
            if target is not None and fast.learn_one(x, target, 1.0) == DONE:
                return self
        if id is not None:
            self._learn_asked(id, x, y, weight)
        elif fast is None or not self._learn_one_fast(fast, x, y, weight, format):
            if isinstance(y, list | tuple | np.ndarray):
                raise InputError(f"y={y!r}: a single label is expected (learn_many takes lists).")
            weights = None if weight is None else [weight]
            self._learn_many([x], None if y is None else [y], weights, format)
        self._tell_drifts()
        return self

    def _learn_one_fast(
        self: Any, fast: FastPath, x: Any, y: Any, weight: Any, format: str | None
    ) -> bool:
        """Whether a row was learned on the fast path; if not, nothing has changed."""
        if weight is not None and not _needs_no_check(weight):
            return False
        with self.stream_.lock:
            if not fast.take(x, format, with_label=y is None):
                return False
            target, own_weight = fast.own_target() if y is None else (self._target_at_once(y), 1.0)
            is_learned = target is not None and fast.learn(
                target, own_weight if weight is None else weight
            )
            if is_learned:
                fast.offer()
        return is_learned

    def learn_many(
        self: Any, rows: Sequence[Any], y: Any = None, weight: Any = None, *, format: Any = None
    ) -> Any:
        """Learn several examples, as `learn_one` does one after the other.

        If one of them is invalid, nothing is learned.
        """
        self._learn_many(rows, y, weight, format)
        self._tell_drifts()
        return self

    def _learn_many(self: Any, rows: Sequence[Any], y: Any, weight: Any, format: Any) -> None:
        self._be_ready_to_learn()
        targets = self._targets_at_once(y) if isinstance(y, list | tuple) else None
        if targets is not None and len(targets) != len(rows):
            targets = None
        if weight is None and format is None and self._learn_fast(rows, targets):
            return
        importance = None if weight is None else check_importance(weight, len(rows))
        if self._learned_by.task.classes_grow:
            self._learn_growing(rows, y, importance, format)
            return
        if targets is None and y is not None:
            targets = self._targets_of(rows, y)
        self._learn_rows(rows, targets, importance, format)

    def _learn_fast(self: Any, rows: Any, targets: Any) -> bool:
        """Whether rows were learned on the fast path; if not, nothing has changed."""
        fast = self._fast
        if fast is None or targets is None:
            return False
        with self.stream_.lock:
            return fast.take_dicts(rows) and fast.learn(targets, 1.0)  # type: ignore[no-any-return]

    def _learn_rows(self: Any, rows: Any, y: Any, importance: Any, format: str | None) -> None:
        single: SingleRows = self._single()
        ready = single.prepared(rows, y, importance, format)
        with Deferral():
            single.learn(ready)
            self._note_learned()
        self._begin_fast_path(single.fast_path, has_learned=True)

    def _begin_fast_path(self: Any, fast: FastPath, *, has_learned: bool) -> None:
        """Have rows take the fast path from now on, if they can."""
        fast.bound.has_learned |= has_learned
        fast.target_of, fast.own_target_of, fast.labels = self._for_single_labels()
        fast.bound.own_targets = self._own_targets()
        self._fast = fast

    def predict_one(self: Any, x: Any, id: Hashable = None, format: str | None = None) -> Any:
        """The prediction for one row, which is what `learn_one` takes.

        With an `id`, the row is remembered, until `learn_one(id=..., y=...)` brings its label.
        """
        fast = self._fast
        if fast is not None and id is None and format is None:
            found = fast.score_one(x)
            if found is not None:
                if fast.labels is not None and self.decision_threshold == 0.0:
                    return fast.labels[found > 0.0]
                return self._answer_to(found)
        if id is not None:
            return self._answer(self._remembered_scores(x, id, format))
        if fast is not None:
            with self.stream_.lock:
                if fast.take(x, format) and fast.score():
                    fast.offer()
                    return self._answer(fast.scores)
        answer = self._answers(self._scores_of_rows([x], format)).tolist()[0]
        if fast is None:
            self._begin_fast_path(self._single().fast_path, has_learned=False)
        return answer

    def predict_many(self: Any, rows: Sequence[Any], *, format: str | None = None) -> list[Any]:
        """The predictions for several rows, which are what `learn_many` takes."""
        return self._answers(self._scores_of_rows(rows, format)).tolist()  # type: ignore[no-any-return]

    def _scores_of_row(self: Any, x: Any, format: str | None) -> NDArray[np.float64]:
        """The scores of one row; the next one may overwrite them."""
        fast = self._fast
        if fast is not None and fast.take(x, format) and fast.score():
            return fast.scores  # type: ignore[no-any-return]
        return self._scores_of_rows([x], format)  # type: ignore[no-any-return]

    def _scores_of_rows(self: Any, rows: Sequence[Any], format: str | None) -> NDArray[np.float64]:
        check_is_fitted(self, msg=NOTHING_LEARNED)
        fast = self._fast
        if fast is not None and format is None:
            with self.stream_.lock:
                if isinstance(rows, list | tuple) and fast.take_dicts(rows) and fast.score():
                    return fast.scores.copy()  # type: ignore[no-any-return]
        return self._single().scores(rows, format)  # type: ignore[no-any-return]

    def _single(self: Any) -> SingleRows:
        """What reads rows for the model as it is now."""
        model: StreamModel | None = self.stream_
        if model is None:
            raise InputError(
                "the model was trained on matrices: use partial_fit and predict, or begin with "
                "start() or fit_stream to learn rows with names."
            )
        single: SingleRows | None = self._single_rows
        if single is None or single.model is not model or not single.reads_like(model.reading):
            single = self._single_rows = SingleRows(model)
        return single

    def _task_to_learn(self: Any, classes: Any) -> Task:
        """What the parameters ask for; classes grow if they do so far, or are to from now on."""
        task: Task = self._task()
        if self.__sklearn_is_fitted__():
            return task._replace(classes_grow=self._learned_by.task.classes_grow)
        return with_growing_classes(task) if may_grow(classes) else task

    def _be_ready_to_learn(self: Any) -> None:
        if not self.__sklearn_is_fitted__():
            self._start_by_default(None)
        self._check_can_learn()
        self._refuse_shards()

    def _note_learned(self: Any) -> None:
        """Take note of what follows from having learned rows of a stream."""
        model: StreamModel = self.stream_
        self._class_totals = model.class_totals
        self.n_features_in_ = model.learner.n_features
        if self._learned_by.run is not None:
            self._learned_by = self._learned_by._replace(run=None)


def _needs_no_check(weight: Any) -> bool:
    """Whether a weight needs no further check."""
    return type(weight) in (float, int) and 0.0 <= weight <= LARGEST_VALUE
