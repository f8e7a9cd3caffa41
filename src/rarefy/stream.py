"""A model that learns from, and predicts, what a reader gives."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.config import number_or_none
from rarefy.engine import LARGEST_VALUE
from rarefy.errors import InputError
from rarefy.jit import compiled
from rarefy.learner import Learner
from rarefy.losses import LOSSES, REGRESSION_LOSSES
from rarefy.multiclass import multiclass_loss
from rarefy.readers import Reader
from rarefy.readers.batch import Batch
from rarefy.readers.columns import Columns
from rarefy.readers.labels import LARGEST_LABEL, listed
from rarefy.row_cache import prepared_ahead
from rarefy.run import Run
from rarefy.stores import Kept, Prepared, Store
from rarefy.tuning import new_learner
from rarefy.tuning.limit import limited
from rarefy.tuning.space import Space
from rarefy.weighting import PLAIN, Weighting

Floats = NDArray[np.float64]


class Reading(NamedTuple):
    """How data was read, so that other data is read in the same way."""

    columns: Columns = Columns()
    cross: tuple[tuple[str, str], ...] = ()


class Task(NamedTuple):
    """What is to be learned, in the words of the user."""

    rule: Any
    schedule: Any
    loss: Any
    multiclass: str = "auto"
    fit_intercept: bool = True
    weighting: Weighting = PLAIN

    @property
    def loss_name(self) -> str:
        return next(name for name, kind in LOSSES.items() if isinstance(self.loss, kind))

    @property
    def is_regression(self) -> bool:
        return self.loss_name in REGRESSION_LOSSES


class Scored(NamedTuple):
    """The scores of rows, what they should have been, and how much each row counts.

    They may be overwritten when the next batch comes.
    """

    scores: Floats
    y: Floats  # -1 or 1, the number of the class, or the number to predict
    importance: Floats


class StreamModel:
    """A learner whose weights are in a store, and whose classes come from the labels."""

    def __init__(self, task: Task, store: Store, classes: tuple[str, ...] = ()) -> None:
        self.task = task
        self.store = store
        self.classes = classes
        self.reading = Reading()
        self.max_features: int | None = None  # once settled, where that is not up to the learner
        self._learner: Learner | None = None
        if task.is_regression and classes:
            raise InputError(
                f"classes={classes}: loss={task.loss_name!r} predicts numbers, not classes."
            )
        if classes or task.is_regression:
            self._new_learner()

    @property
    def learner(self) -> Learner:
        if self._learner is None:
            raise InputError("there are no examples to learn from.")
        return self._learner

    def adopt(self, learner: Learner) -> None:
        """Take over what was learned elsewhere."""
        self._learner = learner

    def settled(self) -> "StreamModel":
        """The model with the parameters that learning has found so far, for good."""
        learner = self.learner.settled()
        is_settled = learner is self.learner and not isinstance(self.task.rule, Space)
        if is_settled and self.max_features is None:
            return self
        if self.max_features is not None:
            learner = limited(learner, self.max_features)
        model = copy(self)
        model.max_features = None
        model.adopt(learner)
        model.task = self.task._replace(rule=learner.rule, schedule=learner.clock.schedule)
        return model

    @property
    def t(self) -> int:
        """How many examples have been learned."""
        return 0 if self._learner is None else self._learner.t

    def _new_learner(self) -> None:
        """The learner, now that it is known how many classes there are."""
        rule, schedule, loss, multiclass, fit_intercept, weighting = self.task
        n_outputs = len(self.classes) if len(self.classes) > 2 else 1
        self._learner = new_learner(
            rule,
            schedule,
            loss if n_outputs == 1 else multiclass_loss(multiclass, loss),
            n_features=self.store.n_slots,
            n_outputs=n_outputs,
            fit_intercept=fit_intercept,
            weighting=weighting,
        )

    def begin(self, batch: Batch, reader: Reader) -> None:
        """Take note of how data is read, and, from the first batch, which classes there are."""
        self.reading = Reading(reader.columns, reader.cross)
        if self._learner is None:
            self.classes = classes_of(batch, reader.labels.most)
            self._new_learner()

    def learn(self, reader: Reader, *, passes: int = 1, cache: str | Path | None = None) -> None:
        """Learn all that the reader gives, `passes` times; with `cache`, parse it only once."""
        for _ in Run(self, reader, passes=passes, cache=cache).steps():
            pass

    def scores(self, reader: Reader) -> Iterator[Floats]:
        """The scores of every row, a batch at a time: one a row, or one a class.

        The reader reads as the one did from which the model has learned; labels do not matter.
        """
        for prepared in self._read_again(reader, lambda prepared: prepared, label_needed=False):
            yield self.store.scores(self.learner, prepared)

    def scored(self, reader: Reader) -> Iterator[Scored]:
        """The same with the targets; a label that the loss cannot take is an error."""
        for prepared in self._read_again(reader, self.with_targets, label_needed=True):
            rows = prepared.rows()
            yield Scored(self.store.scores(self.learner, prepared), rows.y, rows.importance)

    def _read_again(
        self, reader: Reader, finish: Callable[[Prepared], Prepared], *, label_needed: bool
    ) -> Iterator[Prepared]:
        """The batches of a reader that reads as the one did from which the model has learned."""
        with self.reading_again(reader, label_needed=label_needed) as again:
            yield from prepared_ahead(again, self.store, finish)

    @contextmanager
    def reading_again(
        self, reader: Reader, *, label_needed: bool, names_wanted: bool = False
    ) -> Iterator[Reader]:
        """A reader of the same that reads as the one did from which the model has learned.

        What the other is told to ignore, and the model has not learned from, is ignored still. The
        other gets to know the bad lines, and else stays as it is.
        """
        known = self.reading.columns
        more = [name for name in reader.columns.ignore if name not in known.kinds]
        again = copy(reader)
        again.names_wanted = names_wanted
        again.columns = known._replace(label_needed=label_needed, ignore=(*known.ignore, *more))
        again.cross = self.reading.cross
        try:
            yield again
        finally:
            reader.faults = again.faults

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
        return self.store.kept(self.learner)

    def with_targets(self, prepared: Prepared) -> Prepared:
        """The batch with what the loss learns for each label, if that is known already.

        A label that it cannot take is an error.
        """
        if self._learner is None:
            return prepared
        batch = prepared.batch
        y, accepted = self._encoded(batch)
        if np.isnan(y).any():
            row = int(np.isnan(y).argmax())
            raise InputError(
                f"{batch.place(row)}: the label is {batch.label(row)}; {accepted} is expected."
            )
        return prepared._replace(y=y)

    def _encoded(self, batch: Batch) -> tuple[Floats, str]:
        """Targets, NaN where there is none for a label, and which labels there are targets for."""
        if self.task.is_regression:
            if batch.label_names is not None:
                return np.full(len(batch.labels), np.nan), "a number"
            return np.where(np.abs(batch.labels) <= LARGEST_VALUE, batch.labels, np.nan), "a number"
        accepted = f"one of the classes {listed(self.classes)} (give all of them if there are more)"
        numbers = label_numbers(batch, self.classes)
        if len(self.classes) > 2:
            return numbers, accepted
        return 2.0 * numbers - 1.0, accepted


def classes_of(batch: Batch, most: int) -> tuple[str, ...]:
    """The classes, sorted, told from the labels of the first batch; numbers that are more are none.

    Of words the reader sees to it that they are not more. A batch that was cut counts as a whole.
    """
    if batch.block_labels is not None:
        batch = batch._replace(labels=batch.block_labels)
    if batch.label_names is not None:
        names = sorted({batch.label_names[int(n)] for n in set(batch.labels.tolist())})
        if len(names) < 2:
            raise _too_few_classes(batch, names)
        return tuple(names)
    values = np.array(sorted(set(batch.labels[~np.isnan(batch.labels)].tolist())))
    are_whole = bool((values % 1.0 == 0.0).all())
    if not are_whole or len(values) > most:
        some = ", ".join(f"{value:g}" for value in values[:3])
        allow = (
            f" If these {len(values):,} numbers are classes, allow as many with max_classes=... "
            f"(--max-classes)."
        )
        raise InputError(
            f"{batch.path}: labels such as {some} look like numbers to predict; "
            f"choose a loss for that, such as squared.{allow if are_whole else ''}"
        )
    if (np.abs(values) >= LARGEST_LABEL).any():
        raise InputError(
            f"{batch.path}: labels such as {values[-1]:.0f} are too large to be told apart, and "
            f"look like ids; name the column that has the label, or write labels as words."
        )
    found = [f"{value:.0f}" for value in values]
    if set(found) <= {"-1", "1"}:
        return ("-1", "1")
    if set(found) <= {"0", "1"}:
        return ("0", "1")
    if len(found) < 2:
        raise _too_few_classes(batch, found)
    return tuple(found)


def _too_few_classes(batch: Batch, found: list[str]) -> InputError:
    return InputError(
        f"{batch.path}: all labels of the first {len(batch.labels):,} rows are "
        f"{found[0] if found else 'missing'}; say which classes there are."
    )


def label_numbers(batch: Batch, classes: tuple[str, ...]) -> Floats:
    """The number of the class of each row; NaN for other labels."""
    if batch.label_names is not None:
        positions = {name: float(n) for n, name in enumerate(classes)}
        table = np.array([positions.get(name, np.nan) for name in batch.label_names])
        missing = np.isnan(batch.labels)
        numbers = table[np.where(missing, 0.0, batch.labels).astype(np.int64)]
        return np.where(missing, np.nan, numbers)
    values = np.array([number_or_none(name) for name in classes], dtype=np.float64)
    order = np.argsort(values)
    numbers = np.empty(len(batch.labels))
    _find_labels(batch.labels, values[order], order, numbers)
    return numbers


@compiled
def _find_labels(labels: Floats, ascending: Floats, order: NDArray[np.int64], out: Floats) -> None:
    """Where each label is among the values; NaN if nowhere."""
    for row in range(len(labels)):
        low, high = 0, len(ascending)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if labels[row] >= ascending[middle] else (low, middle)
        out[row] = order[low] if labels[row] == ascending[low] else np.nan


def predicted_classes(scores: Floats) -> NDArray[np.int64]:
    """The number of the class with the highest score, for each row."""
    winners = scores[:, 0] > 0.0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return winners.astype(np.int64)


def true_classes(scores: Floats, y: Floats) -> NDArray[np.int64]:
    """The number of the class that a target stands for, for each row."""
    return (y > 0.0 if scores.shape[1] == 1 else y).astype(np.int64)


def predicted_labels(model: StreamModel, scores: Floats) -> list[str]:
    """The name of that class."""
    return [model.classes[winner] for winner in predicted_classes(scores).tolist()]
