"""The exact store: a slot for every feature with state, in a table of 64-bit keys.

A feature's slot in the table is also that of its state. When the table is three quarters full,
features that the rule has forgotten (of weight zero, and no other state) are erased, and the table
is made anew with as many slots as the others need. With `capacity`, the table never holds
more: when it is full, the least useful quarter is dropped, which means features of weight zero
that occurred in the fewest examples first, and then the smallest weights. This happens between two
rows, wherever the batches end, so that the same rows give the same model.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, without
from rarefy.engine.learner import Learner
from rarefy.engine.online_learner import RowLearner
from rarefy.engine.snapshots import Arrays
from rarefy.errors import InputError
from rarefy.model.numbers_by_name import OwnByName
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import ABSENT
from rarefy.stores.feature_table import FeatureTable
from rarefy.stores.name_texts import NO_NAME
from rarefy.stores.namespaces import namespaces_of
from rarefy.stores.store import (
    STATE_ARRAYS,
    Features,
    Kept,
    Keys,
    Located,
    Memory,
    Prepared,
    Store,
    counted,
    fresh,
    merged,
)
from rarefy.stores.table_index import TableIndex

FEWEST_SLOTS = 1 << 12
EVERY_BIT = (1 << 64) - 1
MOST_FEATURES = 3 << 29  # that 2^31 slots, the most there can be, hold


class TableStore(Store):
    kind = "table"
    most_keys = 1 << 64

    def __init__(self, *, capacity: int | None = None, names: bool = True) -> None:
        self.capacity = capacity
        self.names_wanted = names
        self.n_erased = 0  # by the rule's own doing
        self.n_dropped = 0  # to stay below capacity
        self.n_dropped_weights = 0  # of these, with a weight that was not zero
        self._table = self._new_table(
            FEWEST_SLOTS if capacity is None else _slots_for(capacity, 0.75)
        )

    def _new_table(self, n_slots: int) -> FeatureTable:
        return FeatureTable(n_slots, has_names=self.names_wanted)

    @property
    def n_features(self) -> int:
        """How many features are in the table."""
        return self._table.n_features

    @property
    def index(self) -> TableIndex:
        """The table as loops take it that lead from keys to slots, and put new keys into it."""
        return self._table.index(self._most_features())

    def is_index_of(self, index: TableIndex) -> bool:
        """Whether an index is still that of the table."""
        return self._table.is_index(index)

    @property
    def n_slots(self) -> int:
        return self._table.n_slots

    @property
    def n_bytes(self) -> int:
        """Memory of the table and the names; the learner's state comes on top."""
        return self._table.n_bytes

    def prepare(self, batch: Batch, memory: Memory | None = None) -> Prepared:
        return merged(batch, batch.keys, EVERY_BIT, memory)

    def located(self, prepared: Prepared, memory: Memory = fresh) -> Prepared:
        """Keys may come to the table meanwhile; so slots are guesses, and looked at again."""
        table, keys = self._table, prepared.indices
        slots = memory(np.dtype(np.int32).itemsize * len(keys)).view(np.int32)
        table.locate(keys, slots, are_guesses=False)
        return prepared._replace(located=Located(table.entries, slots))

    def learn(self, learner: RowLearner, prepared: Prepared) -> None:
        """Learn the rows; whenever the table is full, make room and go on."""
        batch = prepared.batch
        self._check_lengths(batch)
        slots = _slots_of(prepared)
        if self.names_wanted:
            self._table.names.reserve(batch.names)
        begin, n_rows = 0, len(batch.labels)
        while begin < n_rows:
            known_until = self._table.names.n_bytes
            end = self._table.locate_or_insert(
                batch,
                prepared.indices,
                begin,
                self._most_features(),
                slots,
                are_guesses=self._has_located(prepared),
            )
            if end > begin:
                if self.own_by_name is not None:
                    entries = slots[batch.indptr[begin] : batch.indptr[end]]
                    self._tell_own(learner, self.own_by_name, entries, known_until)
                rows = prepared._replace(indices=slots).rows()
                part = rows._replace(
                    indptr=rows.indptr[begin : end + 1],
                    y=rows.y[begin:end],
                    importance=rows.importance[begin:end],
                )
                learner.learn(part, restorable=False)
            if end < n_rows:
                self._make_room(learner, int(batch.indptr[end + 1] - batch.indptr[end]))
            begin = end

    def _tell_own(
        self, learner: RowLearner, own: OwnByName, slots: NDArray[np.int32], known_until: int
    ) -> None:
        """Tell the numbers of features whose names were not known, and of all without a name."""
        assert isinstance(learner, Learner)
        names = self._table.names
        at = names.at[slots]
        new = slots[(at >= known_until) | (at == NO_NAME)]
        new = new[np.sort(np.unique(new, return_index=True)[1])]  # as they come
        found = namespaces_of(new, self._table.keys(new), names)
        by_name = {name: own.of(name) for name in dict.fromkeys(found)}
        learner.set_own(new, np.array([by_name[name] for name in found]))

    def scores(self, learner: RowLearner, prepared: Prepared) -> Floats:
        slots = _slots_of(prepared)
        are_guesses = self._has_located(prepared)
        self._table.locate(prepared.indices, slots, are_guesses=are_guesses)
        rows = prepared._replace(indices=slots).rows()
        return learner.scores(without(rows, slots == ABSENT))

    def _has_located(self, prepared: Prepared) -> bool:
        """Whether rows come with slots that are those of this table, but for later changes."""
        located = prepared.located
        return located is not None and located.table is self._table.entries

    def slots_for(self, learner: Learner, kept: Kept) -> NDArray[Any]:
        keys, first, which = np.unique(kept.keys, return_index=True, return_inverse=True)
        self._table = self._new_table(_slots_for(len(keys), 0.5))
        learner.grow(self.n_slots)
        return self._inserted(kept, keys, first)[which].astype(np.int64)

    def slots_of(self, learner: Learner, kept: Kept) -> NDArray[np.int64]:
        slots = self._table.located(kept.keys)
        if self.capacity is None and (slots == ABSENT).any():
            self._take_in(learner, kept, np.flatnonzero(slots == ABSENT))
            slots = self._table.located(kept.keys)
        return slots.astype(np.int64)

    def _take_in(self, learner: Learner, kept: Kept, missing: NDArray[np.int64]) -> None:
        """Give slots to features that are not in the table, with all of their state zero."""
        keys, first = np.unique(kept.keys[missing], return_index=True)
        if self.n_features + len(keys) > self._most_features():
            staying = self._table.slots()
            self._rebuild(learner, staying, _slots_for(len(staying) + len(keys), 0.5))
        self._inserted(kept, keys, missing[first])

    def _inserted(self, kept: Kept, keys: Keys, first: NDArray[np.int64]) -> NDArray[np.int32]:
        """Put keys into the table, of which the first weights are there; their slots."""
        known = self._table.slots()
        counts = np.ones(len(keys)) if kept.counts is None else kept.counts[first]
        slots = self._table.insert(keys, counts)
        if self.names_wanted and kept.names is not None:
            names = [kept.names[n].encode() for n in first.tolist()]
            self._table.add_names(names, slots, known)
        return slots

    def kept(self, learner: Learner) -> Kept:
        coordinates, weights = learner.nonzero()
        slots, outputs = np.divmod(coordinates, learner.n_outputs)
        names = None
        if self.names_wanted:
            names = [self._table.name(slot) for slot in slots.tolist()]
        counts = self._table.counts[slots].astype(np.int64)
        r = learner.field("r", coordinates)
        return Kept(self._table.keys(slots), outputs, weights, names, counts, r)

    def n_seen(self, learner: Learner) -> int:
        return self.n_features

    def snapshot(self, learner: Learner) -> Arrays:
        arrays = self._table.arrays()
        arrays["state"] = learner.state_of(arrays["slots"])
        arrays["tally"] = np.array([self.n_erased, self.n_dropped, self.n_dropped_weights])
        return {name: arrays[name] for name in STATE_ARRAYS if name in arrays}

    def restore(self, learner: Learner, arrays: Arrays) -> None:
        n_slots, slots = int(arrays["size"][0]), arrays["slots"]
        if not self._can_have(n_slots, len(slots)):
            raise ValueError("no table is like that")
        self._table = FeatureTable.of_arrays(arrays, has_names=self.names_wanted)
        self.n_erased, self.n_dropped, self.n_dropped_weights = arrays["tally"].tolist()
        learner.move(slots[:0], slots[:0], n_slots)
        learner.set_state_of(slots, arrays["state"])
        if self.own_by_name is not None:
            spaces = namespaces_of(slots, arrays["state_keys"], self._table.names)
            self.own_by_name.recall(spaces, learner.own_of(slots))

    def features(self, learner: Learner) -> Features:
        slots, table = self._table.slots(), self._table
        counts = table.counts[slots].astype(np.int64)
        return Features(table.keys(slots), slots, counts, table.texts(slots))

    def take_over(
        self, learner: RowLearner, keys: Keys, known: Sequence[Features], factors: Sequence[int]
    ) -> NDArray[np.int64]:
        counts, names = counted(keys, known, factors)
        self._table = self._new_table(max(FEWEST_SLOTS, _slots_for(len(keys), 0.5)))
        slots = self._table.insert(keys, np.maximum(counts, 1))
        learner.move(slots[:0], slots[:0], self.n_slots)
        if self.names_wanted:
            self._table.names.put_texts(names, slots)
        return slots.astype(np.int64)

    def keep_to_capacity(self, learner: RowLearner) -> None:
        if self.capacity is not None:
            usefulness = learner.usefulness(self._table.counts)
            staying = self._most_useful(usefulness, self.capacity)
            self._rebuild(learner, staying, _slots_for(self.capacity, 0.75))

    def absent(self, indices: NDArray[Any]) -> NDArray[Any]:
        return indices[self._table.located(indices) == ABSENT]  # type: ignore[no-any-return]

    @property
    def n_free(self) -> int:
        return self._most_features() - self.n_features

    def count_more(self, slots: NDArray[Any], more: NDArray[np.int64]) -> None:
        self._table.counts[slots] += more.astype(np.uint64)

    def _can_have(self, n_slots: int, n_features: int) -> bool:
        """Whether the table can have so many slots, and so many of them taken, between rows."""
        if self.capacity is not None:
            return n_slots == self.n_slots and n_features <= self.capacity
        # a table is made for the features that stay and those of a row, half full or less
        most_slots = max(FEWEST_SLOTS, 8 * n_features)
        is_power = n_slots > 0 and n_slots & (n_slots - 1) == 0
        return is_power and n_features <= n_slots * 3 // 4 and n_slots <= most_slots

    def report(self) -> str:
        if self.n_dropped == 0:
            return ""
        return (
            f"{self.n_dropped:,} features were dropped to stay below {self.capacity:,}, "
            f"{self.n_dropped_weights:,} of them with a non-zero weight."
        )

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "capacity": self.capacity, "names": self.names_wanted}

    def _most_features(self) -> int:
        most = self.n_slots * 3 // 4
        return most if self.capacity is None else min(most, self.capacity)

    def _check_lengths(self, batch: Batch) -> None:
        """Refuse rows that the table cannot hold, before anything is learned."""
        if self.capacity is None:
            return
        lengths = np.diff(batch.indptr)
        too_long = np.flatnonzero(lengths > self.capacity)
        if len(too_long):
            row = int(too_long[0])
            raise InputError(
                f"{batch.location(row)}: the row has {lengths[row]:,} features, more than "
                f"capacity={self.capacity}."
            )

    def _make_room(self, learner: RowLearner, n_needed: int) -> None:
        """Erase and drop, and make a new table with room for so many new features at least."""
        usefulness = learner.usefulness(self._table.counts)
        if self.capacity is None:
            staying = self._most_useful(usefulness, self.n_features)
            n_slots = max(FEWEST_SLOTS, _slots_for(len(staying) + n_needed, 0.5))
        else:
            n_stay = min(self.capacity - n_needed, self.capacity * 3 // 4)
            staying, n_slots = self._most_useful(usefulness, n_stay), self.n_slots
        self._rebuild(learner, staying, n_slots)

    def _most_useful(self, usefulness: Floats, n_stay: int) -> NDArray[np.int64]:
        """The slots of so many features at most; note is taken of the others."""
        staying = np.flatnonzero(usefulness > -np.inf)
        self.n_erased += self.n_features - len(staying)
        if len(staying) > n_stay:
            goes = _least(usefulness[staying], len(staying) - n_stay)
            dropped, staying = staying[goes], staying[~goes]
            self.n_dropped += len(dropped)
            self.n_dropped_weights += int(np.count_nonzero(usefulness[dropped] > 0.0))
        return staying

    def _rebuild(self, learner: RowLearner, staying: NDArray[np.int64], n_slots: int) -> None:
        """A new table of that size with the features in these slots."""
        keys, counts = self._table.keys(staying), self._table.counts[staying]
        names = self._table.names
        self._table = self._new_table(n_slots)
        new = self._table.insert(keys, counts)
        learner.move(staying, new, n_slots)
        if self.names_wanted:
            self._table.names = names.moved(staying, new, n_slots)


def _slots_of(prepared: Prepared) -> NDArray[np.int32]:
    """Where to write the slots of rows; they may be there already."""
    located = prepared.located
    return np.empty(len(prepared.indices), np.int32) if located is None else located.slots


def _slots_for(n_features: int, load: float) -> int:
    """A power of two of slots that so many features fill to that share at most."""
    return 1 << max(4, int(n_features / load).bit_length())


def _least(numbers: Floats, n: int) -> NDArray[np.bool_]:
    """Which are the n least numbers; of equal ones the first, on any machine."""
    limit = np.partition(numbers, n - 1)[n - 1]
    least: NDArray[np.bool_] = numbers < limit
    equal = np.flatnonzero(numbers == limit)
    least[equal[: n - np.count_nonzero(least)]] = True
    return least
