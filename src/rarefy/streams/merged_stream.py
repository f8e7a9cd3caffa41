"""Merging models that have learned from streams: their features, classes and weights."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rarefy.arrays import Floats, Numbers
from rarefy.engine.learner import Learner
from rarefy.engine.merged_sums import Part, can_be_merged, merge_into
from rarefy.engine.reference import FIRST_EXAMPLES, Reference
from rarefy.engine.task import Task
from rarefy.errors import InputError
from rarefy.readers.features.columns import listed_columns
from rarefy.readers.features.labels import listed
from rarefy.rules import MERGEABLE, name_of
from rarefy.stores import Features, make_store
from rarefy.stores.store import Keys
from rarefy.streams.stream_model import StreamModel

LISTS = {  # of columns, and what to call them in messages
    "columns' text": "text columns",
    "columns' categorical": "categorical columns",
    "columns' numeric": "numeric columns",
    "columns' ignore": "ignored columns or namespaces",
}


class Named(NamedTuple):
    """A model, and what to call it in messages."""

    name: str
    model: StreamModel

    @property
    def learner(self) -> Learner:
        return self.model.learner.settled()


def merged(models: Sequence[Named], base: Named | None = None) -> StreamModel:
    """One model of all that models have learned, each from other rows.

    `base` is the model that all of them began with, if they began with one.
    """
    first, *others = models if base is None else [base, *models]
    _check_can_be_merged(first)
    for other in others:
        _check_can_be_merged(other)
        _check_alike(first, other)
        if base is not None and other.model.t < base.model.t:
            raise InputError(
                f"{other.name} has learned {other.model.t:,} examples, fewer than {base.name}, "
                f"which it cannot have begun with."
            )
    classes = _all_classes([one.model for one in (first, *others)])
    model = StreamModel(first.model.task, make_store(**first.model.store.settings()), classes)
    model.reading = first.model.reading
    model.decision_threshold = first.model.decision_threshold
    _merge_learners(model, models, base)
    _merge_class_totals(model, models, base)
    return model


def _check_can_be_merged(one: Named) -> None:
    model = one.model
    if model.task.is_open or not model.learner.is_settled or model.target_features is not None:
        raise InputError(f"{one.name} is still being tuned, and so cannot be merged.")
    if not can_be_merged(model.task.rule):
        raise InputError(
            f"{one.name}: models of the rule {name_of(model.task.rule)} cannot be merged; "
            f"those of {', '.join(MERGEABLE)} can."
        )


def _check_alike(first: Named, other: Named) -> None:
    """Refuse models that are not of the same problem."""
    ours, theirs = first.model, other.model
    pairs = {
        **{name: (getattr(ours.task, name), getattr(theirs.task, name)) for name in Task._fields},
        **{
            f"columns' {name}": (value, getattr(theirs.reading.columns, name))
            for name, value in ours.reading.columns._asdict().items()
        },
        "crosses": (ours.reading.cross, theirs.reading.cross),
        "decision_threshold": (ours.decision_threshold, theirs.decision_threshold),
        **{
            f"store's {name}": (value, theirs.store.settings().get(name))
            for name, value in ours.store.settings().items()
        },
    }
    for name, (mine, its) in pairs.items():
        if mine != its and name in LISTS:
            raise InputError(
                f"{first.name} and {other.name} cannot be merged: they were trained with different "
                f"{LISTS[name]}: {listed_columns(mine)} / {listed_columns(its)}."
            )
        if mine != its:
            raise InputError(
                f"{first.name} and {other.name} cannot be merged, as their {name} differs: "
                f"{mine} and {its}."
            )


def _all_classes(models: Sequence[StreamModel]) -> tuple[str, ...]:
    """All classes, sorted; two classes that share a score cannot be put beside others."""
    each = [model.classes for model in models]
    if len(set(each)) == 1:
        return each[0]
    different = next(classes for classes in each if classes != each[0])
    if min(model.learner.n_outputs for model in models) == 1:
        raise InputError(
            f"models of the classes {listed(each[0])} and {listed(different)} cannot be merged: "
            f"a model of two classes has one weight a feature, and one of more has a weight a "
            f"class. List all classes in training (classes=..., --classes)."
        )
    return tuple(sorted({name for classes in each for name in classes}))


def _merge_learners(model: StreamModel, models: Sequence[Named], base: Named | None) -> None:
    everyone = list(models) if base is None else [*models, base]
    known = [one.model.store.features(one.learner) for one in everyone]
    reference = _common_reference(everyone, known)
    n = len(models)
    keys = np.unique(np.concatenate([features.keys for features in known[:n]]))
    known[n:] = [features.only(np.isin(features.keys, keys)) for features in known[n:]]
    learner = model.learner.settled()
    slots = model.store.take_over(learner, keys, known, [1] * n + [1 - n] * len(known[n:]))
    parts = [
        Part(
            one.learner,
            features.slots,
            np.searchsorted(keys, features.keys),
            _numbers_of(one.model.classes, model.classes, one.learner.n_outputs),
        )
        for one, features in zip(everyone, known, strict=True)
    ]
    merge_into(learner, slots, parts[:n], None if base is None else parts[n])
    learner.set_reference(reference.put_into(keys, slots))
    model.store.keep_to_capacity(learner)


def _numbers_of(own: tuple[str, ...], every: tuple[str, ...], n_outputs: int) -> Numbers:
    """The outputs of the merged model that stand for those of a model."""
    if n_outputs == 1:
        return np.zeros(1, np.int64)
    return np.array([every.index(name) for name in own], np.int64)


def _merge_class_totals(model: StreamModel, models: Sequence[Named], base: Named | None) -> None:
    totals = np.zeros(len(model.classes))
    signed = [(1.0, one) for one in models]
    if base is not None:
        signed.append((1.0 - len(models), base))
    for sign, one in signed:
        if len(one.model.class_totals) == 0:
            return
        totals[[model.classes.index(name) for name in one.model.classes]] += (
            sign * one.model.class_totals
        )
    model.class_totals = totals


class Common(NamedTuple):
    """What all models were learned relative to, with the keys of the features that are centred."""

    reference: Reference
    keys: Keys
    means: Floats

    def put_into(self, keys: Keys, slots: Numbers) -> Reference:
        """The reference of a model whose features have these keys, ascending, and slots."""
        of_centred = slots[np.searchsorted(keys, self.keys)]
        order = np.argsort(of_centred)
        return self.reference._replace(slots=of_centred[order], means=self.means[order])


def _common_reference(everyone: Sequence[Named], known: Sequence[Features]) -> Common:
    """What all models were learned relative to; if it is not the same, that is an error."""
    each = [_with_keys(one, features) for one, features in zip(everyone, known, strict=True)]
    first = each[0]
    for one, other in zip(everyone, each, strict=True):
        is_same = (
            np.array_equal(other.keys, first.keys)
            and np.array_equal(other.means, first.means)
            and other.reference.location == first.reference.location
        )
        if not is_same:
            raise InputError(
                f"{everyone[0].name} and {one.name} cannot be merged: they learned features "
                f"without zeros, or targets, relative to the means of their first "
                f"{FIRST_EXAMPLES} examples, which differ. Train a base on some of the rows, go on "
                f"from it with each part of the others (resume), and name it as the base."
            )
    spread = max(one.reference.spread for one in each)
    n = max(one.reference.n for one in each)
    return first._replace(reference=first.reference._replace(n=n, spread=spread))


def _with_keys(one: Named, features: Features) -> Common:
    reference = one.learner.reference
    if reference.means_wanted and reference.n < FIRST_EXAMPLES:
        raise InputError(
            f"{one.name} has learned {one.model.t:,} examples; from {FIRST_EXAMPLES} on, its "
            f"features are centred for good, and it can be merged."
        )
    keys = features.keys[np.searchsorted(features.slots, reference.slots)]
    order = np.argsort(keys)
    return Common(reference, keys[order], reference.means[order])
