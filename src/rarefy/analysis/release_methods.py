"""How each model of a chain of releases follows from the one before."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rarefy.analysis.hysteresis import Hysteresis
from rarefy.analysis.lessons import Lesson
from rarefy.arrays import Floats
from rarefy.estimators import SparseOnlineClassifier
from rarefy.estimators.anchor_models import anchored
from rarefy.estimators.update_models import update

Teacher = Callable[[SparseOnlineClassifier, Any, Any], Lesson]


class Rows(NamedTuple):
    X: Any
    y: Any
    importance: Floats

    def part(self, chosen: Any) -> "Rows":
        return Rows(self.X[chosen], self.y[chosen], self.importance[chosen])

    def share(self, chosen: Any) -> float:
        """Of some of the rows, by weight."""
        return float(self.importance[chosen].sum() / self.importance.sum())


def learning_on(
    model: SparseOnlineClassifier, rows: Rows, ends: Sequence[int]
) -> Iterator[SparseOnlineClassifier]:
    model = with_parameters(model)
    for begin, end in pairwise([0, *ends]):
        yield deepcopy(_learn(model, rows, slice(begin, end)))


def retrained(
    model: SparseOnlineClassifier, rows: Rows, ends: Sequence[int]
) -> Iterator[SparseOnlineClassifier]:
    for number, end in enumerate(ends):
        order = np.random.default_rng(number).permutation(end)
        yield _learn(with_parameters(model), rows, order)


def taught(
    model: SparseOnlineClassifier, rows: Rows, ends: Sequence[int], teacher: Teacher
) -> Iterator[SparseOnlineClassifier]:
    """Each model learns on from what is made of rows and the model before."""
    live = _learn(with_parameters(model), rows, slice(0, ends[0]))
    yield live
    for begin, end in pairwise(ends):
        new = rows.part(slice(begin, end))
        lesson = teacher(live, new.X, new.y).rows(new.X, live.classes_, new.importance)
        live = deepcopy(live).partial_fit(lesson.X, lesson.y, sample_weight=lesson.sample_weight)
        yield live


def with_hysteresis(models: Iterator[SparseOnlineClassifier], lead: float) -> Iterator[Hysteresis]:
    """Each model answers only where it leads by so much over what was answered before."""
    shipped: tuple[SparseOnlineClassifier, ...] = ()
    for model in models:
        shipped = (*shipped, model)
        yield Hysteresis(shipped, lead)


def updated(
    model: SparseOnlineClassifier,
    rows: Rows,
    ends: Sequence[int],
    how: dict[str, Any],
    *,
    replays: bool = False,
) -> Iterator[SparseOnlineClassifier]:
    live, learned = _learn(with_parameters(model), rows, slice(0, ends[0])), ends[0]
    if "anchor" in how:
        anchored(live, l1=how["anchor"])  # or say now that it cannot be
    yield live
    for end in ends[1:]:
        new = rows.part(slice(learned, end))
        how["replay"] = rows.part(slice(0, learned)) if replays else ()
        found = update(live, new.X, new.y, sample_weight=new.importance, **how)
        if found.model is not None:
            live, learned = found.model, end
        yield live


def with_parameters(model: SparseOnlineClassifier, **parameters: Any) -> SparseOnlineClassifier:
    """A model like it that has learned nothing."""
    return SparseOnlineClassifier(**{**model.get_params(), **parameters})


def _learn(model: SparseOnlineClassifier, rows: Rows, chosen: Any) -> SparseOnlineClassifier:
    part = rows.part(chosen)
    classes = np.unique(rows.y)
    model.partial_fit(part.X, part.y, classes=classes, sample_weight=part.importance)
    return model
