"""The hashed store: 2^bits slots, chosen by the lowest bits of a key; keys may collide.

Whole numbers below 2^bits, as in svmlight files, thus have a slot each. To tell the user how many
slots are shared, each has a byte: a mark of the key that came, the least one of several (0: none
did), and whether there were several, in whatever order. Of the slots that are shared, one in 127
goes unnoticed.
"""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.engine.learner import Learner
from rarefy.engine.loop import FETCHED_AHEAD
from rarefy.engine.online_learner import RowLearner
from rarefy.engine.snapshots import Arrays
from rarefy.jit import compiled
from rarefy.jit.intrinsics import prefetch_byte
from rarefy.probing import SPREAD
from rarefy.readers.batch import Batch
from rarefy.stores.store import Kept, Memory, Prepared, SlotStore, merged

MOST_BITS = 31
SHARED = 0x80

_noting_owners = threading.Lock()  # not part of a store, which can be pickled


class HashedStore(SlotStore):
    kind = "hashed"

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.most_keys = 1 << bits
        self.owners = np.zeros(self.n_slots, np.uint8)
        self._recalled: dict[str, int] = {}

    @property
    def n_slots(self) -> int:
        return self.most_keys

    def prepare(self, batch: Batch, memory: Memory | None = None) -> Prepared:
        """The slots take the memory of the keys."""
        with _noting_owners:
            note_owners(batch.keys, self.owners)
        slots = batch.keys.view(np.int32)[: len(batch.keys)]
        return merged(batch, slots, self.n_slots - 1, memory)

    def learn(self, learner: RowLearner, prepared: Prepared) -> None:
        learner.learn(prepared.rows(), restorable=False)

    def scores(self, learner: RowLearner, prepared: Prepared) -> Floats:
        return learner.scores(prepared.rows())

    def slots_for(self, learner: Learner, kept: Kept) -> NDArray[Any]:
        return kept.keys.astype(np.int64)

    def n_seen(self, learner: Learner) -> int:
        return learner.n_used()

    def restore(self, learner: Learner, arrays: Arrays) -> None:
        if arrays["size"][0] != self.n_slots:
            raise ValueError("no store is like that")
        super().restore(learner, arrays)

    def noted(self) -> Any:
        slots = np.flatnonzero(self.owners)
        return slots, self.owners[slots]

    def note(self, noted: Any) -> None:
        slots, theirs = noted
        own = self.owners[slots]
        are_new = own == 0
        marks = np.minimum(own & (SHARED - 1), theirs & (SHARED - 1))
        are_shared = (own | theirs) & SHARED
        are_shared[(own & (SHARED - 1)) != (theirs & (SHARED - 1))] = SHARED
        self.owners[slots] = np.where(are_new, theirs, marks | are_shared)

    def findings(self) -> dict[str, int]:
        if not self._recalled:
            return {
                "n_shared": int(np.count_nonzero(self.owners & SHARED)),
                "n_used": int(np.count_nonzero(self.owners)),
            }
        return self._recalled

    def recall(self, findings: dict[str, int]) -> None:
        self._recalled = findings

    def report(self) -> str:
        n_shared, n_used = self.findings().values()
        if n_shared == 0:
            return ""
        return (
            f"{n_shared:,} of {n_used:,} weights are shared by several features; use more than "
            f"{self.bits} bits for fewer collisions, or a table for none."
        )

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, "bits": self.bits}


@compiled
def note_owners(keys: Any, owners: Any) -> None:
    mask, n_keys = np.uint64(len(owners) - 1), np.uint64(len(keys))
    for j in range(n_keys):
        prefetch_byte(owners, keys[min(j + FETCHED_AHEAD, n_keys - np.uint64(1))] & mask)
        slot = keys[j] & mask
        mark = max(np.uint8(keys[j] * SPREAD >> np.uint64(57)), np.uint8(1))
        owner = owners[slot] & np.uint8(SHARED - 1)
        if owner == 0:
            owners[slot] = mark
        elif owner != mark:
            owners[slot] = min(owner, mark) | np.uint8(SHARED)
