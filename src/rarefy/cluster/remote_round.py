"""A round whose shards are learned by workers; the driver sends them state, and merges.

The features of a shard's rows come to the driver once each, in the order in which they occur, and
get their slots as if the rows themselves had come. Only where that is not the same, because a table
has to be made anew in the midst of them, do the rows come, too.
"""

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Numbers, Rows, chosen_rows, read_only
from rarefy.cluster.shard_work import NO_NAMES, Met, Start, learn, meet, names_in
from rarefy.cluster.stored_rows import RowLocations, StoredRows, with_table
from rarefy.cluster.worker_protocol import Handle
from rarefy.engine.learner import Learner
from rarefy.engine.shard import Learned
from rarefy.engine.shard_states import average
from rarefy.engine.sharding import Sharding, conclude
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import Names
from rarefy.stores import Prepared
from rarefy.streams.rounds import Gathering
from rarefy.streams.stream_model import StreamModel


class Shard(NamedTuple):
    """Rows that a worker learns."""

    outline: list[Rows]  # whose indices are the numbers of the rows
    located: RowLocations
    met: Handle
    rows: Handle  # with what they have by its number in `met`


class Taken(NamedTuple):
    """Where what a shard has met is among the parts that were gathered."""

    parts: slice
    n_met: int | None  # None: the parts are the rows themselves
    in_examples: NDArray[np.bool_] | None


class RemoteRound:
    def __init__(self, model: StreamModel, stored: StoredRows, sharding: Sharding) -> None:
        self._model, self._stored, self._sharding = model, stored, sharding
        self._workers = stored.workers
        self._learner = model.learner.settled()
        self._gathering = Gathering(self._learner)
        self._numbers = np.empty(0, np.int32)  # of a shard's features, by slot

    def learn(self, parts: Sequence[Prepared]) -> None:
        """Learn the rows of the round."""
        dealt, settling = self._sharding.dealt(self._learner.t, self._outlines(parts))
        shards = [self._begun(outline) for outline in dealt]
        rows = [self._stored.fetch(_numbers([part])) for part in settling if len(part.y)]
        met = [self._workers.result(shard.met) for shard in shards]
        names = [self._asked_names(*both) for both in zip(shards, met, strict=True)]
        taken = [self._take_in(*all_of) for all_of in zip(shards, met, names, strict=True)]
        n_dealt = len(self._gathering.parts)
        learner = self._learner if self._sharding.is_in_order else self._gathering
        for part, handle in zip((part for part in settling if len(part.y)), rows, strict=True):
            self._model.store.learn(learner, self._sent(part, handle))
        if shards:
            self._learn(shards, taken)
        for gathered in self._gathering.parts[n_dealt:]:
            self._learner.learn(gathered, restorable=False)

    def _outlines(self, parts: Sequence[Prepared]) -> list[Rows]:
        """The rows, of which each has one entry: its number."""
        outlines, totals = [], self._model.class_totals
        for given in parts:
            part, totals = self._model.weighed(given, totals)
            assert part.y is not None
            assert part.numbers is not None
            n = np.arange(len(part.y) + 1)
            numbers = (n, part.numbers, part.batch.labels, part.y, part.batch.importance)
            outlines.append(Rows(*map(read_only, numbers)))
        self._model.class_totals = totals
        return outlines

    def _begun(self, outline: list[Rows]) -> Shard:
        """A shard whose worker looks at what there is in its rows."""
        located = self._stored.locate(_numbers(outline))
        importance = None
        if self._model.task.class_weight is not None:
            importance = np.concatenate([rows.importance for rows in outline])
        met, rows = self._workers.start(
            meet, located.spans, importance, *located.handles, n_results=2
        )
        return Shard(outline, located, met, rows)

    def _asked_names(self, shard: Shard, met: Met) -> tuple[NDArray[np.uint64], Handle]:
        """Features that the store does not know, and their names, if it keeps any."""
        absent = self._model.store.absent(met.indices)
        if not len(absent) or not self._model.store.names_wanted:
            return absent, None
        return absent, self._workers.start(names_in, absent, *shard.located.handles)

    def _take_in(self, shard: Shard, met: Met, asked: tuple[NDArray[np.uint64], Handle]) -> Taken:
        """Have the store give slots to what a shard has met."""
        store, (absent, names) = self._model.store, asked
        if self._gathering.n_moves:
            absent, names = self._asked_names(shard, met)  # some may have been dropped
        begin = len(self._gathering.parts)
        if len(absent) <= store.n_free:
            found = self._workers.result(names) if names is not None else None
            store.learn(self._gathering, _as_row(met.indices, found))
            store.count_more(self._gathering.parts[-1].indices, met.counts - 1)
            return Taken(slice(begin, begin + 1), len(met.indices), met.in_examples)
        for part in shard.outline:
            store.learn(self._gathering, self._sent(part, self._stored.fetch(_numbers([part]))))
        return Taken(slice(begin, len(self._gathering.parts)), None, None)

    def _sent(self, outline: Rows, handle: Handle) -> Prepared:
        """Rows that come here, which count as the outline says."""
        part = self._stored.fetched(handle)
        return part._replace(batch=part.batch._replace(importance=outline.importance))

    def _learn(self, shards: Sequence[Shard], taken: Sequence[Taken]) -> None:
        """Have all shards learn, and merge what they have learned."""
        slots = [self._slots(one) for one in taken]
        self._numbers = np.empty(self._learner.n_features, np.int32)
        handles = []
        for shard, parts, own in zip(shards, taken, slots, strict=True):
            start = Start(self._part_of_learner(own), len(shards), None)
            handles.append(self._begin(shard, parts, own, start))
        ends = [self._workers.result(handle) for handle in handles]
        average(self._learner, slots, [end.state for end in ends])
        outlines = [shard.outline for shard in shards]
        learned = [Learned(rows, *end[1:]) for rows, end in zip(outlines, ends, strict=True)]
        conclude(self._learner, learned)

    def _slots(self, taken: Taken) -> Numbers:
        """The slots of what a shard learns, ascending, and of what is centred."""
        met = [self._learner.reference.slots]
        for rows in self._gathering.parts[taken.parts]:
            if taken.in_examples is None:
                met.append(_examples(rows).indices)
            else:
                met.append(rows.indices[taken.in_examples[_met(rows)]])
        slots = np.sort(np.concatenate(met))
        return slots[np.concatenate([[True], slots[1:] != slots[:-1]])] if len(slots) else slots

    def _begin(self, shard: Shard, taken: Taken, slots: Numbers, start: Start) -> Handle:
        """Have a worker learn."""
        numbers = self._numbers
        numbers[slots] = np.arange(len(slots))
        parts = self._gathering.parts[taken.parts]
        if taken.n_met is None:
            rows = map(_examples, parts)
            here = [part._replace(indices=numbers[part.indices]) for part in rows]
            return self._workers.start(learn, start, *here)
        features = np.full(taken.n_met, -1, np.int32)
        for part in parts:
            features[_met(part)] = numbers[part.indices]
        return self._workers.start(learn, start._replace(features=features), shard.rows)

    def _part_of_learner(self, slots: Numbers) -> Learner:
        """The learner with some features alone, in the same order."""
        learner, own = self._learner, copy(self._learner)
        own.n_features, own.calibration, own.progress = len(slots), None, np.zeros(3)
        state = learner.state_of(slots)
        own.state = state.reshape(len(slots) * learner.n_outputs, state.shape[-1])
        centred = np.searchsorted(slots, learner.reference.slots)
        own.reference = learner.reference._replace(slots=centred)
        return own


def _numbers(outline: Sequence[Rows]) -> Numbers:
    """The numbers of rows in the data."""
    return np.concatenate([rows.indices[rows.indptr[0] : rows.indptr[-1]] for rows in outline])


def _as_row(indices: NDArray[np.uint64], names: Names | None) -> Prepared:
    """What was met, as a row whose values count from 1: so it is known what is dropped of it."""
    one, values = np.ones(1), np.arange(1.0, len(indices) + 1)
    indptr = np.array([0, len(indices)])
    lookup = with_table(NO_NAMES if names is None else names)
    batch = Batch("", indptr, indices, values, one, one, np.zeros(1, np.int64), lookup)
    return Prepared(batch, indices, one)


def _met(rows: Rows) -> Numbers:
    """The numbers of what is in a row that `_as_row` has made."""
    return rows.values.astype(np.int64) - 1


def _examples(rows: Rows) -> Rows:
    """The rows that count."""
    return chosen_rows(rows, np.flatnonzero(rows.importance))
