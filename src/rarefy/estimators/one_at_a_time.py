"""Learning and predicting single rows of Python, and going on with whatever rows come."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import groupby, islice
from operator import length_hint
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarefy.arrays import LARGEST_VALUE
from rarefy.engine.task import Task, with_growing_classes
from rarefy.engine.watched import Seen
from rarefy.errors import InputError
from rarefy.estimators.asked_rows import MOST_ROWS, MOST_SECONDS, AskedRows
from rarefy.estimators.growing_classes import may_grow
from rarefy.estimators.matrices import check_importance
from rarefy.estimators.row_counter import shown_progress
from rarefy.model.answers import right_answers
from rarefy.readers import Reader
from rarefy.readers.features.columns import Columns, checked_columns, checked_names
from rarefy.readers.features.crosses import checked_crosses
from rarefy.readers.features.grams import checked_sizes
from rarefy.readers.in_memory import are_rows
from rarefy.readers.row_lines import choose_line_format
from rarefy.stores import make_store
from rarefy.streams.hot_rows import HotRows
from rarefy.streams.single_rows import SingleRows, learn_reader
from rarefy.streams.stream_model import Reading, StreamModel, check_names_kept
from rarefy.system.deferred_signals import Deferral

ROWS_AT_ONCE = 1000  # of an iterator
WITHOUT_COLUMNS = ("vw", "svmlight")
NOTHING_LEARNED = (
    "This %(name)s has not begun to learn: call start() first (with classes=[...] to classify), or "
    "learn rows with learn_one, learn_many or fit_stream, or load a model."
)


class OneAtATime:
    """Part of the base of both estimators."""

    stream_: StreamModel | None
    _single_rows: SingleRows | None = None
    _asked: AskedRows | None = None  # rows whose labels are to come
    _hot: HotRows | None = None  # once a row has been learned, for all that can go the short way

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
        columns = Columns(
            label,
            weight,
            checked_names("text", text),
            checked_names("categorical", categorical),
            checked_names("numeric", numeric),
            checked_names("ignore", ignore),
            named=choose_line_format(format) not in WITHOUT_COLUMNS,
            ngram=checked_sizes("ngram", ngram, 1),
            skips=checked_sizes("skips", skips, 0),
        )
        stored = make_store(store, bits=bits, capacity=capacity, names=names)
        with self._draft() as draft:
            task = draft._task()
            if may_grow(classes):
                task = with_growing_classes(task)
            check_names_kept(task, stored)
            draft.is_slim_ = False
            model = StreamModel(task, stored, draft._class_names(classes))
            model.reading = Reading(checked_columns(columns), checked_crosses(cross))
            draft._take_over(model)
            draft._keep_labels(classes)
            draft._learned(task)
        return self

    def learn_one(
        self: Any,
        x: Any = None,
        y: Any = None,
        weight: float | None = None,
        *,
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
        if id is not None:
            return self._learn_asked(id, x, y, weight)
        if not self._learn_one_short(x, y, weight, format):
            weights = None if weight is None else [weight]
            self.learn_many([x], None if y is None else [y], weights, format=format)
        return self

    def _learn_one_short(self: Any, x: Any, y: Any, weight: Any, format: str | None) -> bool:
        """Whether a row was learned on the short way; if not, nothing has changed."""
        hot = self._hot
        is_plain = weight is None or _is_plain(weight)
        if hot is None or hot.owner is not self.stream_ or not is_plain:
            return False
        with hot.owner.lock.lock:
            if not hot.take(x, format):
                return False
            if y is not None:
                target, own_weight = self._plain_target(y), 1.0
            elif type(x) is str:
                target, own_weight = self._own_target(hot.label), hot.weight
            else:
                return False
            return target is not None and hot.learn(
                target, own_weight if weight is None else weight
            )

    def learn_many(
        self: Any, rows: Sequence[Any], y: Any = None, weight: Any = None, *, format: Any = None
    ) -> Any:
        """Learn several examples, as `learn_one` does one after the other.

        If one of them is invalid, nothing is learned.
        """
        self._be_ready_to_learn()
        targets = self._plain_targets(y) if isinstance(y, list | tuple) else None
        if targets is not None and len(targets) != len(rows):
            targets = None
        if weight is None and format is None and self._learn_short(rows, targets):
            return self
        importance = None if weight is None else check_importance(weight, len(rows))
        if self._learned_by.task.classes_grow:
            self._learn_growing(rows, y, importance, format)
            return self
        if targets is None and y is not None:
            targets = self._targets_of(rows, y)
        return self._learn_rows(rows, targets, importance, format)

    def _learn_short(self: Any, rows: Any, targets: Any) -> bool:
        """Whether rows were learned on the short way; if not, nothing has changed."""
        hot = self._hot
        if hot is None or hot.owner is not self.stream_ or targets is None:
            return False
        with self.stream_.lock:
            return hot.take_dicts(rows) and hot.learn(targets, 1.0)  # type: ignore[no-any-return]

    def _learn_rows(self: Any, rows: Any, y: Any, importance: Any, format: str | None) -> Any:
        single: SingleRows = self._single()
        ready = single.prepared(rows, y, importance, format)
        with Deferral():
            single.learn(ready)
            self._note_learned()
        self._hot = single.hot
        return self

    def remember(self: Any, most: int = MOST_ROWS, seconds: float = MOST_SECONDS) -> Any:
        """Say how many rows to remember that are predicted with an id, and for how long.

        Those that are remembered now are forgotten. They are not saved with the model.
        """
        self._asked = AskedRows(most, seconds)
        return self

    def _learn_asked(self: Any, id: Hashable, x: Any, y: Any, weight: float | None) -> Any:
        """Learn a row that was predicted, and count the prediction of that time."""
        if x is not None or y is None:
            raise InputError(f"id={id!r}: give y, the label, and no x: the row is remembered.")
        with self._lock:
            asked = (self._asked or AskedRows()).row(id)
            progress = self.learner_.settled().progress
            before = progress.copy()
            with self._unwatched():
                self.learn_one(asked.x, y, weight, format=asked.format)
            learner = self.learner_.settled()
            target = float(self._targets_of([asked.x], [y])[0])
            added = learner.progress[1] - before[1]
            scores = np.full((1, learner.n_outputs), min(0.0, asked.scores.min()))
            scores[:, : asked.scores.shape[1]] = asked.scores  # no class that has come since
            if learner.n_outputs == 1:
                loss = learner.loss.value(float(scores[0, 0]), target)
            else:
                loss = learner.loss.value(scores[0], int(target))
            right = right_answers(scores, np.array([target]))[0]
            learner.progress[:] = before + added * np.array([loss, 1.0, float(right)])
            self._note_seen(
                [Seen(scores, np.array([target]), np.array([added]), asked.calibration)]
            )
            self._asked.forget(id)
        return self

    def predict_one(self: Any, x: Any, *, id: Hashable = None, format: str | None = None) -> Any:
        """The prediction for one row, which is what `learn_one` takes.

        With an `id`, the row is remembered, until `learn_one(id=..., y=...)` brings its label.
        """
        if id is not None:
            return self._answer(self._remembered_scores(x, id, format))
        hot = self._hot
        if hot is not None and hot.owner is self.stream_:
            with hot.owner.lock.lock:
                if hot.take(x, format) and hot.score():
                    return self._answer(hot.scores)
        return self._answers(self._scores_of_rows([x], format)).tolist()[0]

    def predict_many(self: Any, rows: Sequence[Any], *, format: str | None = None) -> list[Any]:
        """The predictions for several rows, which are what `learn_many` takes."""
        return self._answers(self._scores_of_rows(rows, format)).tolist()  # type: ignore[no-any-return]

    def _remembered_scores(self: Any, x: Any, id: Hashable, format: str | None) -> Any:
        """The scores of one row, which is remembered, as it is now, with them."""
        check_is_fitted(self, msg=NOTHING_LEARNED)
        with self._lock:
            scores = self._scores_of_row(x, format).copy()
            if self._asked is None:
                self._asked = AskedRows()
            calibration = self.learner_.settled().calibration
            self._asked.add(id, deepcopy(x), format, scores, calibration)
        return scores

    def _scores_of_row(self: Any, x: Any, format: str | None) -> NDArray[np.float64]:
        """The scores of one row; the next one may overwrite them."""
        hot = self._hot
        is_short = hot is not None and hot.owner is self.stream_
        if is_short and hot.take(x, format) and hot.score():
            return hot.scores  # type: ignore[no-any-return]
        return self._scores_of_rows([x], format)  # type: ignore[no-any-return]

    def _scores_of_rows(self: Any, rows: Sequence[Any], format: str | None) -> NDArray[np.float64]:
        check_is_fitted(self, msg=NOTHING_LEARNED)
        hot = self._hot
        if hot is not None and hot.owner is self.stream_ and format is None:
            with self.stream_.lock:
                if isinstance(rows, list | tuple) and hot.take_dicts(rows) and hot.score():
                    return hot.scores.copy()  # type: ignore[no-any-return]
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

    # --- partial_fit of other things than matrices ------------------------------------------

    def _is_no_matrix(self: Any, X: Any) -> bool:
        """Whether these are rows to go on with that are no matrix."""
        if isinstance(X, Reader | Mapping) or _is_iterator(X) or self._takes_raw(X):
            return True
        return isinstance(X, list | tuple) and len(X) > 0 and are_rows(X)

    def _go_on(self: Any, X: Any, y: Any = None, classes: Any = None, weight: Any = None) -> None:
        """Learn from a reader, from rows with names, or from an iterator of such."""
        if self.__sklearn_is_fitted__():
            self._single()  # refused, if the model is one of matrices
            self._check_can_learn()
            self._refuse_shards()
            self._task_to_go_on(self._task())
        has_own_labels = isinstance(X, Reader) or _is_iterator(X)
        if has_own_labels and (y is not None or weight is not None):
            raise InputError(
                f"a {type(X).__name__} has its own labels and weights: do not give y or "
                f"sample_weight."
            )
        if isinstance(X, Reader):
            self._learn_reader(X, classes)
            return
        if not self.__sklearn_is_fitted__():
            self._start_by_default(classes)
        if _is_iterator(X):
            with shown_progress(bool(self.verbose), length_hint(X) or None) as tell:
                for rows, labels, n_items in _in_parts(X):
                    self._go_on(rows, labels)
                    tell(n_items, self.t_)
            return
        self.learn_many([X] if isinstance(X, Mapping) else X, y, weight)

    def _learn_reader(self: Any, reader: Reader, classes: Any) -> None:
        with self._draft(keeps_rows=True) as draft:
            model = draft.stream_
            task = draft._task_to_learn(classes) if model is None else model.task
            if model is None:
                names = reader.labels.classes if classes is None else draft._class_names(classes)
                model = StreamModel(task, make_store(), names)
            try:
                learn_reader(model, reader)
            finally:
                if model.t:
                    draft._take_over(model)
                    draft._learned(task)
            if not model.t:
                raise InputError(f"{' '.join(reader.files)}: there are no examples to learn from.")


def _is_plain(weight: Any) -> bool:
    """Whether a weight needs no further check."""
    return type(weight) in (float, int) and 0.0 <= weight <= LARGEST_VALUE


def _is_iterator(X: Any) -> bool:
    return isinstance(X, Iterator)


def _in_parts(items: Iterator[Any]) -> Iterator[tuple[Any, Any, int]]:
    """What an iterator gives: rows and their labels, some at a time, and of how many items.

    An item is a dict; a dict and its label; or a reader, a data frame or a list of dicts, alone or
    with its labels, each of which is learned by itself.
    """
    for kind, group in groupby(items, _kind):
        if kind == "other":
            yield from ((item, None, 1) for item in group)
        elif kind == "labelled":
            yield from ((*item, 1) for item in group)
        else:
            while part := list(islice(group, ROWS_AT_ONCE)):
                if kind == "labelled row":
                    yield [x for x, _ in part], [y for _, y in part], len(part)
                else:
                    yield part, None, len(part)


def _kind(item: Any) -> str:
    if isinstance(item, Mapping):
        return "row"
    if isinstance(item, tuple) and len(item) == 2 and not isinstance(item[1], Mapping):
        return "labelled row" if isinstance(item[0], Mapping) else "labelled"
    return "other"
