"""The features of a table store: key, count and name of each, in the slot that its state has.

It knows nothing of what features are worth, nor of learners.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import read_only
from rarefy.engine.snapshots import Arrays
from rarefy.readers.batch import Batch
from rarefy.stores.name_texts import NameTexts, check_names
from rarefy.stores.store import Keys, check_slots
from rarefy.stores.table_index import TAKEN, TableIndex, insert_all, locate, locate_or_insert

Slots = NDArray[Any]  # 32 bits wide, where a key may be ABSENT


class FeatureTable:
    """An open-addressing table of a size that does not change, empty to begin with."""

    def __init__(self, n_slots: int, *, has_names: bool) -> None:
        self.entries = np.zeros((n_slots, 2), np.uint64)  # key, and whether there is one
        self.counts = np.zeros(n_slots, np.uint64)  # in how many examples each occurred
        self.names = NameTexts(n_slots if has_names else 0)
        self.has_names = has_names
        self._n_features = np.zeros(1, np.int64)

    @property
    def n_features(self) -> int:
        return int(self._n_features[0])

    @property
    def n_slots(self) -> int:
        return len(self.entries)

    @property
    def n_bytes(self) -> int:
        """Memory of keys, counts and names."""
        return self.entries.nbytes + self.counts.nbytes + self.names.memory

    def index(self, most_features: int) -> TableIndex:
        """The table as loops take it that lead from keys to slots, and put new keys into it."""
        names = self.names
        return TableIndex(
            self.entries,
            self.counts,
            self._n_features,
            most_features,
            names.at,
            names.text,
            names.used,
        )

    def is_index(self, index: TableIndex) -> bool:
        """Whether an index is still that of this table."""
        return index.entries is self.entries and index.name_text is self.names.text

    def slots(self) -> NDArray[np.int64]:
        """The slots of all features, ascending."""
        return np.flatnonzero(self.entries[:, 1])

    def keys(self, slots: Slots) -> Keys:
        keys: Keys = self.entries[slots, 0]
        return keys

    def located(self, keys: Keys) -> NDArray[np.int32]:
        """The slot of each key, or ABSENT."""
        slots = np.empty(len(keys), np.int32)
        self.locate(keys, slots, are_guesses=False)
        return slots

    def locate(self, keys: Keys, slots: NDArray[np.int32], *, are_guesses: bool) -> None:
        """Write the slot of each key, or ABSENT; what is in `slots` may be right already."""
        locate(read_only(keys), self.entries, slots, are_guesses)

    def locate_or_insert(
        self,
        batch: Batch,
        keys: Keys,
        begin: int,
        most_features: int,
        slots: NDArray[np.int32],
        *,
        are_guesses: bool,
    ) -> int:
        """Count the features of rows, new ones too, and write their slots, while there is room.

        Rows are those from `begin` on. The row to go on with.
        """
        end, self._n_features[0], self.names.n_bytes = locate_or_insert(
            read_only(batch.indptr),
            read_only(keys),
            begin,
            self.entries,
            self.counts,
            self.n_features,
            most_features,
            batch.names,
            self.names.at,
            self.names.text,
            self.names.n_bytes,
            slots,
            are_guesses,
        )
        return end

    def insert(self, keys: Keys, counts: NDArray[Any]) -> NDArray[np.int32]:
        """Put keys, all different, into the table, which has none of them; their slots."""
        slots = np.empty(len(keys), np.int32)
        insert_all(keys, self.entries, slots)
        self.counts[slots] = counts
        self._n_features[0] += len(keys)
        return slots

    def name(self, slot: int) -> str:
        """The name of a feature; one without a name is called by its index."""
        name = self.names.name(slot)
        return str(self.entries[slot, 0]) if name is None else name

    def texts(self, slots: NDArray[np.int64]) -> list[bytes | None] | None:
        """The names in these slots; None if names are not kept."""
        return self.names.texts(slots) if self.has_names else None

    def add_names(self, names: list[bytes], slots: Slots, known: Slots) -> None:
        """Take the names of new features beside those in the slots that are known."""
        lengths, text = self.names.lengths_and_text(known)
        new_lengths = np.array([len(name) for name in names], np.int64)
        new_text = np.frombuffer(b"".join(names), np.uint8)
        self.names = NameTexts(self.n_slots)
        self.names.put(
            np.concatenate([lengths, new_lengths]),
            np.concatenate([text, new_text]),
            np.concatenate([known, slots]),
        )

    def arrays(self) -> Arrays:
        """All that is needed to make this table again, as snapshots have it."""
        slots = self.slots()
        arrays = {
            "size": np.array([self.n_slots]),
            "slots": slots,
            "state_keys": self.keys(slots),
            "state_counts": self.counts[slots],
        }
        if self.has_names:
            lengths, text = self.names.lengths_and_text(slots)
            arrays |= {"state_name_lengths": lengths, "state_name_text": text}
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Arrays, *, has_names: bool) -> "FeatureTable":
        """The table of a snapshot; an error, if none can be like that."""
        n_slots, slots, keys = int(arrays["size"][0]), arrays["slots"], arrays["state_keys"]
        counts = arrays["state_counts"]
        if not len(slots) == len(keys) == len(counts) or counts.min(initial=1) <= 0:
            raise ValueError("no table is like that")
        check_slots(slots, n_slots)
        table = cls(n_slots, has_names=has_names)
        table.entries[slots, 0], table.entries[slots, 1] = keys, TAKEN
        table.counts[slots] = counts
        table._n_features[0] = len(slots)
        if not np.array_equal(table.located(keys), slots):
            raise ValueError("a key is not where it would be looked for")
        if has_names:
            lengths, text = arrays["state_name_lengths"], arrays["state_name_text"]
            if len(lengths) != len(slots):
                raise ValueError("the names are not those of the features")
            check_names(lengths, text)
            table.names.put(lengths, text, slots)
        return table
