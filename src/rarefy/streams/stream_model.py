"""A stream model: a learner with its store and classes, for what readers give."""

import math
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from rarefy.arrays import Floats
from rarefy.checks import nearest, numbers_if_all_are
from rarefy.engine.learner import Learner
from rarefy.engine.new_classes import by_new_classes
from rarefy.engine.online_learner import OnlineLearner, RowLearner
from rarefy.engine.pruning import limited
from rarefy.engine.sharding import Sharding
from rarefy.engine.task import Task
from rarefy.engine.watch import Watch
from rarefy.engine.watched import Seen, watched
from rarefy.errors import ConfigError, InputError, RarefyWarning
from rarefy.model.answers import predicted_classes, probabilities
from rarefy.model.class_weights import ClassWeights
from rarefy.model.numbers_by_name import NAMESPACES, L1ByName, fits
from rarefy.readers import Reader
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import texts_of
from rarefy.readers.features.columns import Columns, listed_columns
from rarefy.readers.features.labels import Labels
from rarefy.stores import Kept, Prepared, Store
from rarefy.streams.classes import classes_of, targets_of
from rarefy.streams.pipeline import prepared_batches
from rarefy.streams.rounds import Gathering
from rarefy.system.model_lock import ModelLock


class Reading(NamedTuple):
    """How data was read, so that other data is read in the same way."""

    columns: Columns = Columns()
    cross: tuple[tuple[str, ...], ...] = ()


class Scored(NamedTuple):
    """The scores of rows, what they should have been, and how much each row counts.

    They may be overwritten when the next batch comes.
    """

    scores: Floats
    y: Floats  # -1 or 1, the number of the class, or the number to predict
    importance: Floats


NO_TOTALS: Floats = np.empty(0)
TRUTHS = {"false", "true"}  # as classes
L = TypeVar("L", bound=RowLearner)
L_co = TypeVar("L_co", bound=RowLearner, covariant=True)


class StreamTask(Protocol[L_co]):
    """What has to be known of a task to learn it from a stream."""

    @property
    def loss_name(self) -> str: ...

    @property
    def is_regression(self) -> bool: ...

    def new_learner(self, classes: Collection[Any], n_features: int) -> L_co: ...


class StreamLearner(Generic[L]):
    """A learner whose weights are in a store, and whose classes come from the labels."""

    def __init__(self, task: StreamTask[L], store: Store, classes: tuple[str, ...] = ()) -> None:
        self.task = task
        self.store = store
        self.classes = classes
        self.reading = Reading()
        self._learner: L | None = None
        if task.is_regression and classes:
            raise InputError(
                f"classes={classes}: loss={task.loss_name!r} predicts numbers, not classes."
            )
        if classes or task.is_regression:
            self._new_learner()

    @property
    def learner(self) -> L:
        if self._learner is None:
            raise InputError("there are no examples to learn from.")
        return self._learner

    @property
    def t(self) -> int:
        """How many examples have been learned."""
        return 0 if self._learner is None else self._learner.t

    def _new_learner(self) -> None:
        """The learner, now that it is known which classes there are."""
        classes = numbers_if_all_are(self.classes)
        self._learner = self.task.new_learner(classes, self.store.n_slots)

    def begin(self, batch: Batch, reader: Reader) -> None:
        """Take note of how data is read, and, from the first batch, which classes there are."""
        self.reading = Reading(reader.columns, reader.cross)
        if self._learner is None:
            self.classes = classes_of(batch, reader.labels.most)
            self._new_learner()

    def with_targets(self, prepared: Prepared) -> Prepared:
        """The batch with what the loss learns for each label, if that is known already.

        A label that it cannot take is an error.
        """
        if self._learner is None:
            return prepared
        return with_targets(prepared, self.classes, has_one_score=self.has_one_score)

    @property
    def has_one_score(self) -> bool:
        """Whether there are two classes, and one score for both."""
        return bool(self.classes) and self.learner.n_outputs == 1


def with_targets(prepared: Prepared, classes: tuple[str, ...], *, has_one_score: bool) -> Prepared:
    """The batch with what a loss learns for each label."""
    y = targets_of(prepared.batch, classes)
    return prepared._replace(y=2.0 * y - 1.0 if has_one_score else y)


class StreamModel(StreamLearner[OnlineLearner]):
    """A model that learns from a stream, and predicts one."""

    task: Task

    def __init__(self, task: Task, store: Store, classes: tuple[str, ...] = ()) -> None:
        self.target_features: int | None = None  # once settled, where that is not up to the learner
        self.decision_threshold = 0.0  # the second of two classes is predicted for scores above it
        self.class_totals: Floats = NO_TOTALS  # what the rows of each class weigh that were learned
        self._class_weights: ClassWeights | None = None
        store.own_by_name = task.own_by_name
        self.watch: Watch | None = None  # of what is predicted before it is learned
        self.lock = ModelLock()  # held while rows are learned, or scored
        super().__init__(task, store, classes)
        if task.classes_grow and not classes:
            self._new_learner()

    def _new_learner(self) -> None:
        super()._new_learner()
        if self.task.class_weight is not None:
            self._class_weights = self.task.class_weights(self.classes)

    def learn(self, part: Prepared) -> None:
        """Learn rows, which count by their class, too, where that is asked for."""
        with self.lock:
            self._learn(part, self.learner)

    def learn_with_new_classes(self, part: Prepared, names: Sequence[str]) -> None:
        """Learn rows whose targets are numbers of classes, which have these names.

        Those that are new come in their order.
        """
        assert part.y is not None
        rest: Prepared | None = part
        with self.lock:
            learner = self.learner.settled()
            for begin, end, n_outputs in by_new_classes(part.y, learner.n_outputs):
                assert rest is not None
                now, rest = rest.cut(end - begin)
                learner.grow_outputs(n_outputs)
                self._learn(now, learner)
            n_met = int(part.y.max(initial=-1.0)) + 1
            self.classes = tuple(names[: max(n_met, len(self.classes))])

    def learn_round(self, parts: Sequence[Prepared], sharding: Sharding) -> None:
        """Learn the rows of a round of shards, which count as those of `learn` do."""
        with self.lock:
            learner = self.learner.settled()
            gathering = Gathering(learner)
            for part in parts:
                self._learn(part, gathering)
            sharding.learn_round(learner, gathering.parts)

    def _learn(self, part: Prepared, learner: RowLearner) -> None:
        if self.watch is None or not isinstance(learner, Learner):
            self._learn_weighed(part, learner)
            return
        seen: list[Seen] = []
        with watched(learner, seen):
            self._learn_weighed(part, learner)
        self.watch.add(self.task, learner.loss, seen, learner.t)

    def _learn_weighed(self, part: Prepared, learner: RowLearner) -> None:
        if self._class_weights is None:
            self.store.learn(learner, part)
            return
        weighed, totals = self.weighed(part, self.class_totals)
        self.store.learn(learner, weighed)
        self.class_totals = totals

    def weighed(self, part: Prepared, totals: Floats) -> tuple[Prepared, Floats]:
        """Rows that count by their class, too, and what the rows of each class weigh then."""
        if self._class_weights is None:
            return part, totals
        y = part.batch.labels if part.y is None else part.y
        importance, totals = self._class_weights.running(y, part.batch.importance, totals)
        return part._replace(batch=part.batch._replace(importance=importance)), totals

    def importance_now(self, y: Floats, importance: Floats) -> Floats:
        """What rows count, by their class, too, once all rows are learned."""
        if self._class_weights is None:
            return importance
        return self._class_weights.known(y, importance, self.class_totals)

    def begin(self, batch: Batch, reader: Reader) -> None:
        super().begin(batch, reader)
        if self.t == 0 and self.task.l1_of:
            self._doubt_names(batch, reader.columns)

    def _doubt_names(self, batch: Batch, columns: Columns) -> None:
        """Refuse an l1 for no column; warn of one for features that the first rows do not have."""
        named, ends, text = texts_of(batch.names)
        names = [part.tobytes().decode() for part in np.split(text, ends[:-1])]
        there = {name.partition("=")[0] for name in names}
        there.update(map(str, np.setdiff1d(batch.keys, named).tolist()))  # an index is its name
        known = [name for name, kind in columns.kinds.items() if kind != "ignore"]
        for pattern, _ in self.task.l1_of:
            if columns.complete and not any(fits(pattern, name) for name in known):
                raise InputError(
                    f"{batch.path}: l1_of={pattern!r} (--l1-of) names no features: there is no "
                    f"column {pattern!r}{nearest(pattern, known)}; columns with features are "
                    f"{listed_columns(known)}."
                )
            if len(batch.labels) and not any(fits(pattern, name) for name in there):
                warnings.warn(
                    f"{batch.path}: l1_of={pattern!r} (--l1-of): there is no feature of "
                    f"{pattern!r} in the first {len(batch.labels):,} rows.",
                    RarefyWarning,
                    stacklevel=2,
                )

    def names_in_vain(self) -> str:
        """A warning of an l1 that no feature has got, if there is one."""
        own = self.store.own_by_name
        if not isinstance(own, L1ByName) or not own.not_met:
            return ""
        names = ", ".join(map(repr, own.not_met))
        return (
            f"l1_of (--l1-of) has no effect for {names}: none of the {self.t:,} examples has a "
            f"feature of that namespace, column or index."
        )

    def adopt(self, learner: OnlineLearner) -> None:
        """Take over what was learned elsewhere."""
        with self.lock:
            self._learner = learner

    @property
    def cut_to(self) -> int | None:
        """How many features it has at most once it is settled, where that is a limit."""
        return self.target_features or self.task.target_features

    def settled(self) -> "StreamModel":
        """The model with the parameters that learning has found so far, for good."""
        learner = self.learner.settled()
        if self.learner.is_settled and not self.task.is_open and self.target_features is None:
            return self
        if self.target_features is not None:
            learner = limited(learner, self.target_features)
        model = copy(self)
        model.target_features = None
        model.adopt(learner)
        model.task = self.task.settled(learner)
        return model

    def scores(self, reader: Reader) -> Iterator[Floats]:
        """The scores of every row, a batch at a time: one a row, or one a class.

        The reader reads as the one did from which the model has learned; labels do not matter.
        """
        return (scores for _, scores in self.batches_with_scores(reader))

    def batches_with_scores(self, reader: Reader) -> Iterator[tuple[Batch, Floats]]:
        """The scores of every row, as from `scores`, and the batches that they are in."""
        known = _KnownFeatures(self)
        for prepared in self._read_again(reader, lambda prepared: prepared, label_needed=False):
            yield prepared.batch, known.seen_in(self.scores_of(prepared))
        known.warn_if_none(reader)

    def scored(self, reader: Reader) -> Iterator[Scored]:
        """The scores and targets of every row; a label that the loss cannot take is an error."""
        known = _KnownFeatures(self)
        for prepared in self._read_again(reader, self.with_targets, label_needed=True):
            rows = prepared.rows()
            scores = known.seen_in(self.scores_of(prepared))
            yield Scored(scores, rows.y, rows.importance)
        known.warn_if_none(reader)

    def scores_of(self, prepared: Prepared) -> Floats:
        """The scores of rows that are ready for the store."""
        with self.lock:
            return self.store.scores(self.learner, prepared)

    def _read_again(
        self, reader: Reader, finish: Callable[[Prepared], Prepared], *, label_needed: bool
    ) -> Iterator[Prepared]:
        """The batches of a reader that reads as the one did from which the model has learned."""
        with self.reading_again(reader, label_needed=label_needed) as again:
            yield from prepared_batches(again, self.store, finish)

    @contextmanager
    def reading_again(
        self, reader: Reader, *, label_needed: bool, names_wanted: bool = False
    ) -> Iterator[Reader]:
        """A reader of the same that reads as the one did from which the model has learned.

        What is stated of the other's files holds. The other gets to know the bad lines, and else
        stays as it is.
        """
        again = copy(reader)
        again.names_wanted = names_wanted
        if set(self.classes) == TRUTHS and not reader.labels.classes:
            again.labels = Labels(self.classes)  # in JSON, truths would be numbers else
        again.read_like(
            self.reading.columns._replace(label_needed=label_needed), self.reading.cross
        )
        try:
            yield again
        finally:
            reader.faults = again.faults

    def probabilities(self, scores: Floats) -> Floats:
        """What scores say of the second of two classes, or of each of several."""
        learner = self.learner.settled()
        return probabilities(self.task.loss_name, learner.loss, scores, learner.scaling)

    def loss_without_weights(self) -> float:
        """The loss of an example of class 1 if all weights are zero; NaN in regression."""
        if self.task.is_regression:
            return math.nan
        learner = self.learner
        if learner.n_outputs == 1:
            return float(learner.loss.value(0.0, 1.0))
        return float(learner.loss.value(np.zeros(learner.n_outputs), 0))

    def kept(self) -> Kept:
        """The weights that are not zero."""
        return self.store.kept(self.learner.settled())


def check_names_kept(task: Task, store: Store) -> None:
    """Refuse what goes by the names of features where the store does not keep them."""
    if (task.l1_of or task.groups) and not store.names_wanted:
        what = f"l1_of={dict(task.l1_of)!r}" if task.l1_of else f"groups={task.groups!r}"
        raise ConfigError(
            f"{what} needs the names of features: use the store table, and names=True."
        )
    if task.groups and task.groups != NAMESPACES:
        raise ConfigError(
            f"groups={task.groups!r} is for matrices: files have groups={NAMESPACES!r}."
        )
    if task.groups and store.settings().get("capacity") is not None:
        raise ConfigError("groups cannot be combined with capacity, which drops single features.")


class _KnownFeatures:
    """Whether rows that are predicted have any feature with a weight, as their scores tell."""

    def __init__(self, model: StreamModel) -> None:
        self._learner = model.learner.settled()
        self._intercepts = self._learner.intercept()
        self._n_rows, self._any = 0, False

    def seen_in(self, scores: Floats) -> Floats:
        """The scores, of which note is taken."""
        self._n_rows += len(scores)
        self._any = self._any or bool((scores != self._intercepts).any())
        return scores

    def warn_if_none(self, reader: Reader) -> None:
        if self._n_rows and not self._any and self._learner.n_nonzero():
            warnings.warn(
                f"{' '.join(reader.files) or 'rows'}: the model has no weight for any feature of "
                f"these data ({self._n_rows:,} row{'s' if self._n_rows > 1 else ''}), so all "
                f"predictions are the same. Are columns or namespaces named as in training?",
                RarefyWarning,
                stacklevel=2,
            )


def predicted_labels(model: StreamModel, scores: Floats) -> list[str]:
    """The names of the classes that scores predict."""
    winners = predicted_classes(scores, model.decision_threshold)
    return [model.classes[winner] for winner in winners.tolist()]
