"""The array store: the index of a feature is its slot."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, without
from rarefy.engine.learner import Learner
from rarefy.engine.online_learner import RowLearner
from rarefy.engine.snapshots import Arrays
from rarefy.errors import InputError
from rarefy.readers.batch import Batch
from rarefy.stores.store import Kept, Memory, Prepared, SlotStore, merged

MOST_FEATURES = 1 << 30
EVERY_BIT = (1 << 64) - 1


class ArrayStore(SlotStore):
    kind = "array"
    most_keys = MOST_FEATURES
    n_slots = 0

    def prepare(self, batch: Batch, memory: Memory | None = None) -> Prepared:
        """The slots take the memory of the keys."""
        if len(batch.keys) and batch.keys.max() >= MOST_FEATURES:
            entry = int((batch.keys >= MOST_FEATURES).argmax())
            row = int(np.searchsorted(batch.indptr, entry, side="right")) - 1
            raise InputError(
                f"{batch.location(row)}: the store array needs features that are whole numbers "
                f"below 2^30, not {batch.keys[entry]} (names are hashed to large numbers). To "
                f"train on names, use the store table or hashed; a model that was fitted to a "
                f"matrix predicts matrices, in Python."
            )
        slots = batch.keys.view(np.int32)[: len(batch.keys)]
        return merged(batch, slots, EVERY_BIT, memory)

    def learn(self, learner: RowLearner, prepared: Prepared) -> None:
        n_features = int(prepared.indices.max(initial=-1)) + 1
        learner.learn(prepared.rows(), n_features, restorable=False)

    def scores(self, learner: RowLearner, prepared: Prepared) -> Floats:
        rows = prepared.rows()
        return learner.scores(without(rows, rows.indices >= learner.n_features))

    def slots_for(self, learner: Learner, kept: Kept) -> NDArray[Any]:
        learner.grow(int(kept.keys.max(initial=0)) + 1)
        return kept.keys.astype(np.int64)

    def n_seen(self, learner: Learner) -> int:
        return learner.n_features

    def restore(self, learner: Learner, arrays: Arrays) -> None:
        if not 0 <= arrays["size"][0] <= MOST_FEATURES:
            raise ValueError("no array is that large")
        super().restore(learner, arrays)

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind}
