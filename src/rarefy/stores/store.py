"""The interface of stores."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import LARGEST_VALUE, Rows, longest, read_only
from rarefy.engine.learner import Learner
from rarefy.engine.online_learner import RowLearner
from rarefy.engine.snapshots import Arrays
from rarefy.errors import InputError
from rarefy.model.numbers_by_name import OwnByName
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import Names
from rarefy.stores.unique_slots import are_within, new_seen, unique_in_rows

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

# What the arrays of a snapshot are made of, in the order that they have in files.
STATE_ARRAYS = {
    "size": "<i8",  # how many features there is room for
    "slots": "<i8",  # of the features that carry state
    "state": "<f8",
    "state_keys": "<u8",
    "state_counts": "<i8",
    "tally": "<i8",  # of what was erased and dropped
    "state_name_lengths": "<i8",  # ABSENT: no name
    "state_name_text": "|u1",
}


Memory = Callable[[int], NDArray[np.uint8]]  # gives so many bytes


def fresh(n_bytes: int) -> NDArray[np.uint8]:
    return np.empty(n_bytes, np.uint8)


class Located(NamedTuple):
    """Where the features of rows were in a table; others may have come to it since."""

    table: NDArray[Any]
    slots: NDArray[np.int32]  # ABSENT: the table did not have the feature

    def only(self, entries: Any) -> "Located":
        return self._replace(slots=self.slots[entries])


class Prepared(NamedTuple):
    """A batch in which every row has a feature once, and no value is zero."""

    batch: Batch
    indices: NDArray[Any]  # of the features: slots (int32), or keys (uint64) where slots may move
    y: Floats | None = None  # what the loss learns for the labels, once that is known
    numbers: NDArray[np.int64] | None = None  # of the rows in the data, where they are shuffled
    is_own: bool = False  # the memory is theirs, and not that of a reader, who will use it again
    located: Located | None = None  # where a store has looked already

    def rows(self) -> Rows:
        y = self.batch.labels if self.y is None else self.y
        parts = (self.batch.indptr, self.indices, self.batch.values, y, self.batch.importance)
        return Rows(*(read_only(part) for part in parts))

    def only(self, chosen: NDArray[np.bool_]) -> "Prepared":
        """Some of the rows."""
        if chosen.all():
            return self
        lengths = np.diff(self.batch.indptr)
        entries = np.repeat(chosen, lengths)
        return self._part(chosen, entries, np.concatenate([[0], np.cumsum(lengths[chosen])]))

    def copied(self) -> "Prepared":
        """The rows in memory of their own."""
        indices, values = self.indices.copy(), self.batch.values.copy()
        batch = self.batch._replace(keys=indices, values=values)
        return self._replace(batch=batch, indices=indices).with_own_rows()

    def with_own_rows(self) -> "Prepared":
        """The rows, of which only indices and values are in memory of their own, all of them so."""
        batch = self.batch
        own = batch._replace(
            indptr=batch.indptr.copy(),
            labels=batch.labels.copy(),
            importance=batch.importance.copy(),
            lines=batch.lines.copy(),
            names=Names._make(array.copy() for array in batch.names),
        )
        return self._replace(batch=own, y=None if self.y is None else self.y.copy(), is_own=True)

    def cut(self, n_rows: int) -> "tuple[Prepared, Prepared | None]":
        """The first so many rows, and the others, if there are any."""
        if n_rows >= len(self.batch.labels):
            return self, None
        return self.between(0, n_rows), self.between(n_rows, len(self.batch.labels))

    def between(self, begin: int, end: int) -> "Prepared":
        """The rows from `begin` up to `end`, in the same memory."""
        indptr = self.batch.indptr[begin : end + 1]
        entries = slice(indptr[0], indptr[-1])
        return self._part(slice(begin, end), entries, indptr - indptr[0])

    def _part(self, rows: Any, entries: Any, indptr: NDArray[Any]) -> "Prepared":
        """The rows, and the entries that are theirs, both as arrays are indexed."""
        batch = self.batch
        part = batch._replace(
            indptr=indptr,
            keys=batch.keys[entries],
            values=batch.values[entries],
            labels=batch.labels[rows],
            importance=batch.importance[rows],
            lines=batch.lines[rows],
        )
        return self._replace(
            batch=part,
            indices=self.indices[entries],
            y=None if self.y is None else self.y[rows],
            numbers=None if self.numbers is None else self.numbers[rows],
            located=self.located and self.located.only(entries),
        )


class Kept(NamedTuple):
    """The weights that are not zero, and what they are the weights of."""

    keys: NDArray[np.uint64]
    outputs: NDArray[np.int64]  # the class, where there are several
    weights: Floats
    names: Sequence[str] | None  # by key; None: the keys are all there is
    counts: NDArray[np.int64] | None  # in how many examples the feature occurred
    r: Floats | None = None  # the norm that scales its penalty, where the rule is feature-aware


class Features(NamedTuple):
    """The features that a model knows, and where their state is."""

    keys: Keys
    slots: NDArray[np.int64]  # ascending
    counts: NDArray[np.int64] | None = None  # in how many examples each occurred
    names: list[bytes | None] | None = None

    def only(self, chosen: NDArray[np.bool_]) -> "Features":
        """Some of them; what they are called is left out."""
        counts = None if self.counts is None else self.counts[chosen]
        return Features(self.keys[chosen], self.slots[chosen], counts)


class Store(Protocol):
    """Leads from keys to coordinates; stores inherit what most of them have in common.

    `prepare` runs in the readers' threads, side by side and ahead of learning, and so must not look
    at anything that learning changes.
    """

    kind: str
    names_wanted: bool = False
    most_keys: int  # keys of a model are below this
    own_by_name: OwnByName | None = None  # numbers that the rule keeps for each feature

    def prepare(self, batch: Batch, memory: Memory | None = None) -> Prepared:
        """The batch for `learn` and `scores`; its arrays are used up.

        Indices and values are in its own memory, or in such that is given.
        """

    @property
    def n_slots(self) -> int:
        """For how many features a learner needs room to begin with."""

    def located(self, prepared: Prepared, memory: Memory = fresh) -> Prepared:
        """A batch with what `learn` and `scores` would else look for.

        It may run in any thread, also while rows are learned.
        """
        return prepared

    def learn(self, learner: RowLearner, prepared: Prepared) -> None: ...

    def scores(self, learner: RowLearner, prepared: Prepared) -> Floats: ...

    def kept(self, learner: Learner) -> Kept: ...

    def slots_for(self, learner: Learner, kept: Kept) -> NDArray[Any]:
        """Slots for the weights of a model that was read; the store and the learner are empty."""

    def slots_of(self, learner: Learner, kept: Kept) -> NDArray[np.int64]:
        """Slots for the weights of a model from which this one has learned on.

        Features that this one has forgotten since get a slot again, unless there is a limit to
        features: then their slot is ABSENT.
        """

    def n_seen(self, learner: Learner) -> int:
        """How many features there are weights for, zero or not."""

    def snapshot(self, learner: Learner) -> Arrays:
        """All that is needed to go on learning later; names of arrays are those of STATE_ARRAYS."""

    def restore(self, learner: Learner, arrays: Arrays) -> None:
        """Go back to a snapshot; the store, and the learner, are empty."""

    def features(self, learner: Learner) -> Features:
        """The features that carry state."""

    def take_over(
        self, learner: RowLearner, keys: Keys, known: Sequence[Features], factors: Sequence[int]
    ) -> NDArray[np.int64]:
        """Make room for features, of which models know some each; their slots.

        What a model has counted counts by its factor. The store and the learner are empty.
        """

    def keep_to_capacity(self, learner: RowLearner) -> None:
        """Drop what is more than the store is to hold."""
        return

    def absent(self, indices: NDArray[Any]) -> NDArray[Any]:
        """Which of these features it has no slots for yet."""
        return indices[:0]

    @property
    def n_free(self) -> int:
        """For how many more features it has slots without being made anew, if it ever is."""
        return 0

    def count_more(self, slots: NDArray[Any], more: NDArray[np.int64]) -> None:
        """Features in these slots, all different, have occurred in so many more examples."""
        return

    def noted(self) -> Any:
        """What preparing rows has brought to light, for another store to `note`; may be None."""
        return None

    def note(self, noted: Any) -> None:
        """What another store of this kind has noted in other rows."""
        return

    def findings(self) -> dict[str, int]:
        """What preparing all the rows has brought to light, for the cache to keep."""
        return {}

    def recall(self, findings: dict[str, int]) -> None:
        """What another store of this kind found in rows that come from a cache."""
        return

    def report(self) -> str:
        """What a user should know about how the store fared; empty if nothing."""
        return ""

    def settings(self) -> dict[str, Any]:
        """The arguments of make_store that give such a store."""


class SlotStore(Store):
    """What stores have in common whose keys are slots, each for ever."""

    def kept(self, learner: Learner) -> Kept:
        coordinates, weights = learner.nonzero()
        slots, outputs = np.divmod(coordinates, learner.n_outputs)
        r = learner.field("r", coordinates)
        return Kept(slots.astype(np.uint64), outputs, weights, None, None, r)

    def slots_of(self, learner: Learner, kept: Kept) -> NDArray[np.int64]:
        return kept.keys.astype(np.int64)

    def snapshot(self, learner: Learner) -> Arrays:
        slots, n_features = learner.used(), np.array([learner.n_features])
        return {"size": n_features, "slots": slots, "state": learner.state_of(slots)}

    def restore(self, learner: Learner, arrays: Arrays) -> None:
        slots, n_features = arrays["slots"], int(arrays["size"][0])
        check_slots(slots, n_features)
        learner.grow(n_features)
        learner.set_state_of(slots, arrays["state"])

    def features(self, learner: Learner) -> Features:
        slots = learner.used()
        return Features(slots.astype(np.uint64), slots)

    def take_over(
        self, learner: RowLearner, keys: Keys, known: Sequence[Features], factors: Sequence[int]
    ) -> NDArray[np.int64]:
        learner.grow(int(keys.max(initial=np.uint64(0))) + 1)
        return keys.astype(np.int64)


def counted(
    keys: Keys, known: Sequence[Features], factors: Sequence[int]
) -> tuple[NDArray[np.int64], list[bytes | None]]:
    """How often features, ascending by key, occurred in all, and what they are called."""
    counts = np.zeros(len(keys), np.int64)
    names: list[bytes | None] = [None] * len(keys)
    for features, factor in zip(known, factors, strict=True):
        assert features.counts is not None
        at = np.searchsorted(keys, features.keys)
        counts[at] += factor * features.counts
        for number, name in zip(at.tolist(), features.names or (), strict=False):
            names[number] = names[number] or name
    return counts, names


def check_slots(slots: NDArray[np.int64], n_slots: int) -> None:
    """Refuse slots that are outside of a store of that size, or not in order."""
    inside = len(slots) == 0 or (slots[0] >= 0 and slots[-1] < n_slots)
    if not inside or not (slots[1:] > slots[:-1]).all():
        raise ValueError("no store has such slots")


def merged(
    batch: Batch, indices: NDArray[Any], mask: int, memory: Memory | None = None
) -> Prepared:
    """The batch with each index, key & mask, once a row; its arrays are used up.

    `indices` are where to write them, and may lie in the memory of the keys; with `memory`, indices
    and values are written to that instead.
    """
    if not all(are_within(part, LARGEST_VALUE) for part in (batch.importance, batch.values)):
        raise _too_large(batch)
    keys, values = batch.keys, batch.values
    if memory is not None:
        block = memory(values.nbytes + indices.nbytes)
        values, indices = (
            block[: values.nbytes].view(values.dtype),
            block[values.nbytes : values.nbytes + indices.nbytes].view(indices.dtype),
        )
    seen, in_place = new_seen(longest(batch.indptr)), memory is None
    n = unique_in_rows(
        batch.indptr, keys, np.uint64(mask), batch.values, indices, values, in_place, seen
    )
    kept = keys if in_place else indices
    return Prepared(batch._replace(keys=kept[:n], values=values[:n]), indices[:n])


def _too_large(batch: Batch) -> InputError:
    """An error that locates the first number that the engine cannot take."""
    for name, numbers in (("importance", batch.importance), ("value", batch.values)):
        if len(numbers) and not np.abs(numbers).max() <= LARGEST_VALUE:
            first = int((np.abs(numbers) > LARGEST_VALUE).argmax())
            row = first
            if name == "value":
                row = int(np.searchsorted(batch.indptr, first, side="right")) - 1
            break
    return InputError(
        f"{batch.location(row)}: the {name} {numbers[first]:g} is too large; "
        f"numbers up to {LARGEST_VALUE:g} are expected."
    )
