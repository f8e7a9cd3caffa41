"""The exact store: a slot for every feature with state, in a table of 64-bit keys.

A feature's place in the table is also that of its state. When the table is three quarters full,
features that the rule has forgotten (of weight zero, and no other state) are erased, and the table
is made anew with as many places as the others need. With `capacity`, the table never holds
more: when it is full, the least useful quarter is dropped, which means features of weight zero
that occurred in the fewest examples first, and then the smallest weights. This happens between two
rows, wherever the batches end, so that the same rows give the same model.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, read_only, without
from rarefy.engine.learner import Learner
from rarefy.engine.online_learner import RowLearner
from rarefy.engine.snapshots import Arrays
from rarefy.errors import InputError
from rarefy.model.numbers_by_name import OwnByName
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import ABSENT
from rarefy.stores.name_texts import NO_NAME, NameTexts, check_names
from rarefy.stores.namespaces import namespaces_of
from rarefy.stores.store import (
    Features,
    Kept,
    Keys,
    Located,
    Memory,
    Prepared,
    check_slots,
    counted,
    fresh,
    merged,
)
from rarefy.stores.table_index import TAKEN, TableIndex, insert_all, locate, locate_or_insert

FEWEST_PLACES = 1 << 12
EVERY_BIT = (1 << 64) - 1
MOST_FEATURES = 3 << 29  # that 2^31 places, the most that slots can count, hold


class TableStore:
    kind = "table"
    most_keys = 1 << 64

    def __init__(self, *, capacity: int | None = None, names: bool = True) -> None:
        self.capacity = capacity
        self.names_wanted = names
        self.own_by_name: OwnByName | None = None  # numbers that the rule keeps for each feature
        self._n_features = np.zeros(1, np.int64)
        self.n_erased = 0  # by the rule's own doing
        self.n_dropped = 0  # to stay below capacity
        self.n_dropped_weights = 0  # of these, with a weight that was not zero
        n_places = FEWEST_PLACES if capacity is None else _places_for(capacity, 0.75)
        self._new_table(n_places)

    def _new_table(self, n_places: int) -> None:
        self._entries = np.zeros((n_places, 2), np.uint64)  # key, and whether there is one
        self._counts = np.zeros(n_places, np.uint64)  # how often each occurred
        self._names = NameTexts(n_places if self.names_wanted else 0)

    @property
    def n_features(self) -> int:
        """How many features are in the table."""
        return int(self._n_features[0])

    @n_features.setter
    def n_features(self, n_features: int) -> None:
        self._n_features[0] = n_features

    @property
    def index(self) -> TableIndex:
        """The table as loops take it that lead from keys to places, and put new keys into it."""
        return TableIndex(
            self._entries,
            self._counts,
            self._n_features,
            self._most_features(),
            self._names.at,
            self._names.text,
            self._names.used,
        )

    def is_index_of(self, index: TableIndex) -> bool:
        """Whether an index is still that of the table."""
        return index.entries is self._entries and index.name_text is self._names.text

    @property
    def n_slots(self) -> int:
        return len(self._entries)

    @property
    def n_bytes(self) -> int:
        """Memory of the table and the names; the learner's state comes on top."""
        return self._entries.nbytes + self._counts.nbytes + self._names.memory

    def prepare(self, batch: Batch, memory: Memory | None = None) -> Prepared:
        return merged(batch, batch.keys, EVERY_BIT, memory)

    def located(self, prepared: Prepared, memory: Memory = fresh) -> Prepared:
        """Keys may come to the table meanwhile; so slots are guesses, and looked at again."""
        table, keys = self._entries, prepared.places
        slots = memory(np.dtype(np.int32).itemsize * len(keys)).view(np.int32)
        locate(read_only(keys), table, slots, False)
        return prepared._replace(located=Located(table, slots))

    def learn(self, learner: RowLearner, prepared: Prepared) -> None:
        """Learn the rows; whenever the table is full, make room and go on."""
        batch, located = prepared.batch, prepared.located
        self._check_lengths(batch)
        slots = np.empty(len(prepared.places), np.int32) if located is None else located.slots
        if self.names_wanted:
            self._names.reserve(batch.names)
        begin, n_rows = 0, len(batch.labels)
        while begin < n_rows:
            known_until = self._names.n_bytes
            end, self.n_features, self._names.n_bytes = locate_or_insert(
                read_only(batch.indptr),
                read_only(prepared.places),
                begin,
                self._entries,
                self._counts,
                self.n_features,
                self._most_features(),
                batch.names,
                self._names.at,
                self._names.text,
                self._names.n_bytes,
                slots,
                located is not None and located.table is self._entries,
            )
            if end > begin:
                if self.own_by_name is not None:
                    entries = slots[batch.indptr[begin] : batch.indptr[end]]
                    self._tell_own(learner, self.own_by_name, entries, known_until)
                rows = prepared._replace(places=slots).rows()
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
        at = self._names.at[slots]
        new = slots[(at >= known_until) | (at == NO_NAME)]
        new = new[np.sort(np.unique(new, return_index=True)[1])]  # as they come
        found = namespaces_of(new, self._entries[new, 0], self._names)
        by_name = {name: own.of(name) for name in dict.fromkeys(found)}
        learner.set_own(new, np.array([by_name[name] for name in found]))

    def scores(self, learner: RowLearner, prepared: Prepared) -> Floats:
        located = prepared.located
        slots = np.empty(len(prepared.places), np.int32) if located is None else located.slots
        are_guesses = located is not None and located.table is self._entries
        locate(read_only(prepared.places), self._entries, slots, are_guesses)
        rows = prepared._replace(places=slots).rows()
        return learner.scores(without(rows, slots == ABSENT))

    def slots_for(self, learner: Learner, kept: Kept) -> NDArray[Any]:
        keys, first, which = np.unique(kept.keys, return_index=True, return_inverse=True)
        counts = np.ones(len(keys)) if kept.counts is None else kept.counts[first]
        self._new_table(_places_for(len(keys), 0.5))
        self.n_features = len(keys)
        learner.grow(self.n_slots)
        places = np.empty(len(keys), np.int32)
        self._insert(keys, counts, places)
        if self.names_wanted and kept.names is not None:
            names = [kept.names[n].encode() for n in first.tolist()]
            lengths = np.array([len(name) for name in names], np.int64)
            self._names.put(lengths, np.frombuffer(b"".join(names), np.uint8), places)
        return places[which].astype(np.int64)

    def places_of(self, learner: Learner, kept: Kept) -> NDArray[np.int64]:
        slots = self._located(kept.keys)
        if self.capacity is None and (slots == ABSENT).any():
            self._take_in(learner, kept, np.flatnonzero(slots == ABSENT))
            slots = self._located(kept.keys)
        return slots.astype(np.int64)

    def _located(self, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
        slots = np.empty(len(keys), np.int32)
        locate(read_only(keys), self._entries, slots, False)
        return slots

    def _take_in(self, learner: Learner, kept: Kept, missing: NDArray[np.int64]) -> None:
        """Give places to features that are not in the table, with all of their state zero."""
        keys, first = np.unique(kept.keys[missing], return_index=True)
        features = missing[first]
        if self.n_features + len(keys) > self._most_features():
            staying = np.flatnonzero(self._entries[:, 1])
            self._rebuild(learner, staying, _places_for(len(staying) + len(keys), 0.5))
        known = np.flatnonzero(self._entries[:, 1])
        counts = np.ones(len(keys)) if kept.counts is None else kept.counts[features]
        places = np.empty(len(keys), np.int32)
        self._insert(keys, counts, places)
        self.n_features += len(keys)
        if self.names_wanted and kept.names is not None:
            names = [kept.names[n].encode() for n in features.tolist()]
            lengths, text = self._names.lengths_and_text(known)
            self._names = NameTexts(self.n_slots)
            self._names.put(
                np.concatenate([lengths, np.array([len(name) for name in names], np.int64)]),
                np.concatenate([text, np.frombuffer(b"".join(names), np.uint8)]),
                np.concatenate([known, places]),
            )

    def kept(self, learner: Learner) -> Kept:
        places, weights = learner.nonzero()
        slots, outputs = np.divmod(places, learner.n_outputs)
        names = None
        if self.names_wanted:
            names = [self._name(slot) for slot in slots.tolist()]
        counts = self._counts[slots].astype(np.int64)
        r = learner.field("r", places)
        return Kept(self._entries[slots, 0], outputs, weights, names, counts, r)

    def n_seen(self, learner: Learner) -> int:
        return self.n_features

    def snapshot(self, learner: Learner) -> Arrays:
        slots = np.flatnonzero(self._entries[:, 1])
        arrays = {
            "size": np.array([self.n_slots]),
            "slots": slots,
            "state": learner.state_of(slots),
            "state_keys": self._entries[slots, 0],
            "state_counts": self._counts[slots],
            "tally": np.array([self.n_erased, self.n_dropped, self.n_dropped_weights]),
        }
        if self.names_wanted:
            lengths, text = self._names.lengths_and_text(slots)
            arrays |= {"state_name_lengths": lengths, "state_name_text": text}
        return arrays

    def restore(self, learner: Learner, arrays: Arrays) -> None:
        n_places, slots, keys = int(arrays["size"][0]), arrays["slots"], arrays["state_keys"]
        counts = arrays["state_counts"]
        right = (
            self._can_have(n_places, len(slots))
            and len(slots) == len(keys) == len(counts)
            and counts.min(initial=1) > 0
        )
        if not right:
            raise ValueError("no table is like that")
        check_slots(slots, n_places)
        self._new_table(n_places)
        self._entries[slots, 0], self._entries[slots, 1] = keys, TAKEN
        self._counts[slots] = counts
        found = np.empty(len(keys), np.int32)
        locate(read_only(keys), self._entries, found, False)
        if not np.array_equal(found, slots):
            raise ValueError("a key is not where it would be looked for")
        self.n_features = len(slots)
        self.n_erased, self.n_dropped, self.n_dropped_weights = arrays["tally"].tolist()
        learner.move(slots[:0], slots[:0], n_places)
        learner.set_state_of(slots, arrays["state"])
        if self.names_wanted:
            lengths, text = arrays["state_name_lengths"], arrays["state_name_text"]
            if len(lengths) != len(slots):
                raise ValueError("the names are not those of the features")
            check_names(lengths, text)
            self._names.put(lengths, text, slots)
        if self.own_by_name is not None:
            spaces = namespaces_of(slots, keys, self._names)
            self.own_by_name.recall(spaces, learner.own_of(slots))

    def features(self, learner: Learner) -> Features:
        slots = np.flatnonzero(self._entries[:, 1])
        keys, counts = self._entries[slots, 0], self._counts[slots].astype(np.int64)
        return Features(
            keys, slots, counts, self._names.texts(slots) if self.names_wanted else None
        )

    def take_over(
        self, learner: RowLearner, keys: Keys, known: Sequence[Features], factors: Sequence[int]
    ) -> NDArray[np.int64]:
        counts, names = counted(keys, known, factors)
        self._new_table(max(FEWEST_PLACES, _places_for(len(keys), 0.5)))
        self.n_features = len(keys)
        places = np.empty(len(keys), np.int32)
        self._insert(keys, np.maximum(counts, 1), places)
        learner.move(places[:0], places[:0], self.n_slots)
        if self.names_wanted:
            self._names.put_texts(names, places)
        return places.astype(np.int64)

    def keep_to_capacity(self, learner: RowLearner) -> None:
        if self.capacity is not None:
            usefulness = learner.usefulness(self._counts)
            staying = self._most_useful(usefulness, self.capacity)
            self._rebuild(learner, staying, _places_for(self.capacity, 0.75))

    def absent(self, places: NDArray[Any]) -> NDArray[Any]:
        return places[self._located(places) == ABSENT]  # type: ignore[no-any-return]

    @property
    def n_free(self) -> int:
        return self._most_features() - self.n_features

    def count_more(self, slots: NDArray[Any], more: NDArray[np.int64]) -> None:
        self._counts[slots] += more.astype(np.uint64)

    def noted(self) -> Any:
        return None

    def note(self, noted: Any) -> None:
        """There is nothing to note."""

    def _can_have(self, n_places: int, n_features: int) -> bool:
        """Whether the table can have so many places, and so many of them taken, between rows."""
        if self.capacity is not None:
            return n_places == self.n_slots and n_features <= self.capacity
        # a table is made for the features that stay and those of a row, half full or less
        most_places = max(FEWEST_PLACES, 8 * n_features)
        is_power = n_places > 0 and n_places & (n_places - 1) == 0
        return is_power and n_features <= n_places * 3 // 4 and n_places <= most_places

    def findings(self) -> dict[str, int]:
        return {}

    def recall(self, findings: dict[str, int]) -> None:
        """There is nothing to recall."""

    def report(self) -> str:
        if self.n_dropped == 0:
            return ""
        return (
            f"{self.n_dropped:,} features were dropped to stay below {self.capacity:,}, "
            f"{self.n_dropped_weights:,} of them with a non-zero weight."
        )

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "capacity": self.capacity, "names": self.names_wanted}

    def _insert(
        self, keys: NDArray[np.uint64], counts: NDArray[Any], places: NDArray[np.int32]
    ) -> None:
        """Put keys, all different, into the table, which has none of them; their places."""
        insert_all(keys, self._entries, places)
        self._counts[places] = counts

    def _most_features(self) -> int:
        most = len(self._entries) * 3 // 4
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
                f"{batch.place(row)}: the row has {lengths[row]:,} features, more than "
                f"capacity={self.capacity}."
            )

    def _make_room(self, learner: RowLearner, n_needed: int) -> None:
        """Erase and drop, and make a new table with room for so many new features at least."""
        usefulness = learner.usefulness(self._counts)
        if self.capacity is None:
            staying = self._most_useful(usefulness, self.n_features)
            n_places = max(FEWEST_PLACES, _places_for(len(staying) + n_needed, 0.5))
        else:
            n_stay = min(self.capacity - n_needed, self.capacity * 3 // 4)
            staying, n_places = self._most_useful(usefulness, n_stay), len(self._entries)
        self._rebuild(learner, staying, n_places)

    def _most_useful(self, usefulness: Floats, n_stay: int) -> NDArray[np.int64]:
        """The places of so many features at most; note is taken of the others."""
        staying = np.flatnonzero(usefulness > -np.inf)
        self.n_erased += self.n_features - len(staying)
        if len(staying) > n_stay:
            goes = _least(usefulness[staying], len(staying) - n_stay)
            dropped, staying = staying[goes], staying[~goes]
            self.n_dropped += len(dropped)
            self.n_dropped_weights += int(np.count_nonzero(usefulness[dropped] > 0.0))
        return staying

    def _rebuild(self, learner: RowLearner, staying: NDArray[np.int64], n_places: int) -> None:
        """A new table of that size with the features in these places."""
        keys, counts, names = self._entries[staying, 0], self._counts[staying], self._names
        self._new_table(n_places)
        self.n_features = len(staying)
        new = np.empty(len(staying), np.int32)
        self._insert(keys, counts, new)
        learner.move(staying, new, n_places)
        if self.names_wanted:
            self._names = names.moved(staying, new, n_places)

    def _name(self, slot: int) -> str:
        """The name of a feature; one without a name is called by its index."""
        name = self._names.name(slot)
        return str(self._entries[slot, 0]) if name is None else name


def _places_for(n_features: int, load: float) -> int:
    """A power of two of places that so many features fill to that share at most."""
    return 1 << max(4, int(n_features / load).bit_length())


def _least(numbers: Floats, n: int) -> NDArray[np.bool_]:
    """Which are the n least numbers; of equal ones the first, on any machine."""
    limit = np.partition(numbers, n - 1)[n - 1]
    least: NDArray[np.bool_] = numbers < limit
    equal = np.flatnonzero(numbers == limit)
    least[equal[: n - np.count_nonzero(least)]] = True
    return least
