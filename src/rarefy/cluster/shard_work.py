"""The work of one shard in a round, as pure functions that any engine can run.

A function that is called again, elsewhere, gives the same. Rows are those of stored batches; spans
say which rows of each of them, in order.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Numbers, Rows, chosen_rows, read_only, without
from rarefy.cluster.numbering import numbered
from rarefy.engine.learner import Learner
from rarefy.engine.shard import learned_by
from rarefy.engine.state import new_state
from rarefy.readers.feature_names import Names, texts_of
from rarefy.stores import Prepared

Spans = Sequence[NDArray[np.int32]]
NO_NAMES = Names(
    np.empty((0, 2), np.uint64),
    np.empty(0, np.uint64),
    np.empty(0, np.int64),
    np.empty(0, np.uint8),
    np.zeros(1, np.int64),
    np.empty(0, np.uint64),
)


class Met(NamedTuple):
    """The features of a shard's rows, in the order in which they come."""

    indices: NDArray[Any]  # keys, or slots where these are the same for all
    counts: Numbers  # of the rows that have each of them
    in_examples: NDArray[np.bool_]  # whether it is in a row that counts


class Start(NamedTuple):
    """What a shard begins a round with."""

    learner: Learner  # with the features that it meets, and no others
    n_shards: int
    features: NDArray[np.int32] | None  # by number of what is met; -1: it was dropped


class End(NamedTuple):
    """What a shard ends a round with."""

    state: Floats  # of the features that it meets
    intercept_state: Floats
    progress: Floats


def meet(spans: Spans, importance: Floats | None, *stored: Prepared) -> tuple[Met, Rows]:
    """What a shard meets in its rows, and the rows that count, with what they have by its number.

    `importance` is that of the rows, if it is not their own.
    """
    rows = joined(spans, stored).rows()
    if importance is not None:
        rows = rows._replace(importance=read_only(importance))
    indices, numbers = numbered(rows.indices)
    are_examples = rows.importance != 0.0
    in_examples = np.ones(len(indices), np.bool_)
    if not are_examples.all():
        in_examples[:] = False
        in_examples[numbers[np.repeat(are_examples, np.diff(rows.indptr))]] = True
    met = Met(indices, np.bincount(numbers, minlength=len(indices)), in_examples)
    by_number = rows._replace(indices=read_only(numbers))
    if not are_examples.all():
        by_number = chosen_rows(by_number, np.flatnonzero(are_examples))
    return met, by_number


def learn(start: Start, *parts: Rows) -> End:
    """Learn rows as a shard of a round."""
    learner = start.learner
    n_fields = len(learner.rule.state_fields)
    own = new_state(n_fields, len(learner.state))
    own[:, :n_fields] = learner.state
    parts = tuple(Rows(*map(read_only, part)) for part in parts)
    if start.features is not None:
        parts = tuple(_by_feature(part, start.features) for part in parts)
    relative = [learner.reference.relative(part) for part in parts]
    learned = learned_by(learner, parts, relative, own, start.n_shards)
    return End(own[:, :n_fields], learned.intercept_state, learned.progress)


def _by_feature(rows: Rows, features: NDArray[np.int32]) -> Rows:
    indices = features[rows.indices]
    return without(rows._replace(indices=read_only(indices)), indices < 0)


def rows_of(spans: Spans, *stored: Prepared) -> Prepared:
    """Rows, with the names of what they have."""
    part = joined(spans, stored)
    return part._replace(batch=part.batch._replace(names=names_in(part.indices, *stored)))


def names_in(keys: NDArray[Any], *stored: Prepared) -> Names:
    """The names of some keys, as far as the batches have them."""
    found = [_chosen(part.batch.names, keys) for part in stored if part.batch.names.used[0]]
    if not found:
        return NO_NAMES
    keys, lengths, texts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return packed(keys, np.cumsum(lengths), texts)


def _chosen(names: Names, wanted: NDArray[Any]) -> tuple[NDArray[Any], Numbers, NDArray[Any]]:
    keys, ends, text = texts_of(names)
    chosen = np.flatnonzero(np.isin(keys, wanted))
    begins = np.concatenate([[0], ends[:-1]])[chosen]
    lengths = ends[chosen] - begins
    before = np.cumsum(lengths) - lengths
    return (
        keys[chosen],
        lengths,
        text[np.arange(lengths.sum()) + np.repeat(begins - before, lengths)],
    )


def packed(keys: NDArray[Any], ends: NDArray[Any], text: NDArray[Any]) -> Names:
    """Names without a table to look them up in."""
    return NO_NAMES._replace(
        keys=keys.copy(), ends=ends.copy(), text=text.copy(), used=np.array([len(keys)])
    )


def joined(spans: Spans, stored: Sequence[Prepared]) -> Prepared:
    """The rows of several batches as one, without names."""
    parts = [_at(part, rows) for part, rows in zip(stored, spans, strict=True)]
    first = parts[0].batch
    lengths = np.concatenate([np.diff(part.batch.indptr) for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    batch = first._replace(
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        keys=indices,
        values=np.concatenate([part.batch.values for part in parts]),
        labels=np.concatenate([part.batch.labels for part in parts]),
        importance=np.concatenate([part.batch.importance for part in parts]),
        lines=np.concatenate([part.batch.lines for part in parts]),
        names=NO_NAMES,
    )
    return Prepared(batch, indices, np.concatenate([part.y for part in parts]))


def _at(part: Prepared, rows: NDArray[np.int32]) -> Prepared:
    """Some rows of a batch, ascending."""
    begin, end = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    part = part.between(begin, end)
    if len(rows) == end - begin:
        return part
    chosen = np.zeros(end - begin, np.bool_)
    chosen[rows - begin] = True
    return part.only(chosen)
