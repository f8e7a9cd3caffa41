"""What one shard does in a round: it numbers its features, and learns its rows with its own state.

Its features are numbered as they come, so that its state has a row for each of them and no others,
and those of frequent features lie side by side.
"""

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, read_only
from rarefy.engine.learner import CACHE_BYTES, Learner
from rarefy.engine.loop import FETCHED_AHEAD
from rarefy.engine.shared_features import meetings
from rarefy.engine.state import new_state
from rarefy.jit import compiled
from rarefy.jit.intrinsics import prefetch_byte
from rarefy.model.clock import next_round
from rarefy.rules.echo import echo_of

Indices = NDArray[np.int32]
MOST_NUMBERS = (1 << 31) - 1


class Desk:
    """What a thread knows features by, for one shard after the other."""

    def __init__(self) -> None:
        self._numbers: Indices = np.zeros(0, np.int32)  # by slot
        self._first = 1  # the number of a shard's first feature; those of others before are less
        self._slots: Indices = np.empty(0, np.int32)

    def numbered(self, parts: Sequence[Rows], n_features: int, entries: Indices) -> Indices:
        """Number the features of rows; their slots, in that order, which are overwritten later.

        `entries` gets the number of each entry of the rows, one part behind the other.
        """
        if self._first > MOST_NUMBERS - len(entries) or len(self._numbers) < n_features:
            self._numbers, self._first = np.zeros(n_features, np.int32), 1
        if len(self._slots) < len(entries):
            self._slots = np.empty(len(entries), np.int32)
        n_numbered, begin, far = 0, 0, self._numbers.nbytes > CACHE_BYTES
        for rows in parts:
            end = begin + int(rows.indptr[-1] - rows.indptr[0])
            n_numbered = _number(
                rows, self._numbers, far, self._first, n_numbered, self._slots, entries[begin:end]
            )
            begin = end
        self._first += n_numbered
        return self._slots[:n_numbered]


class Learned(NamedTuple):
    """What a shard has learned beside the state of its features."""

    rows: Sequence[Rows]
    added_to_intercepts: Floats  # to their sums
    progress: Floats


class Shard:
    """Rows that are learned with a state of their own."""

    learned: Learned

    def __init__(self, learner: Learner, rows: Sequence[Rows], entries: Indices) -> None:
        """Take rows that the learner would learn next; there is room for their `entries`."""
        self._rows = rows
        self._relative = [learner.reference.relative(part) for part in rows]
        self._entries = entries

    @staticmethod
    def most_entries(learner: Learner, rows: Sequence[Rows]) -> int:
        """For how many entries there has to be room."""
        n_rows, n_centred = sum(len(part.y) for part in rows), len(learner.reference.slots)
        return sum(int(part.indptr[-1] - part.indptr[0]) for part in rows) + n_rows * n_centred

    def number(self, n_features: int, n_groups: int, desk: Desk) -> None:
        """Find the features of the rows, and put them into groups."""
        slots = desk.numbered(self._relative, n_features, self._entries)
        self.n_features = len(slots)
        self.meetings = meetings(slots, n_groups)

    def learn(self, learner: Learner, state: Floats, n_shards: int) -> None:
        """Learn the rows, given the state of the features; the learner stays as it is."""
        numbered, begin = [], 0
        for part in self._relative:
            end = begin + int(part.indptr[-1] - part.indptr[0])
            numbered.append(_with_entries(part, self._entries[begin:end]))
            begin = end
        self.learned = learned_by(learner, self._rows, numbered, state, n_shards)


def learned_by(
    learner: Learner,
    rows: Sequence[Rows],
    numbered: Sequence[Rows],
    state: Floats,
    n_shards: int,
) -> Learned:
    """Learn rows as one of so many shards; the learner stays as it is.

    They are `numbered` if they are relative, and their features are numbered; these have a row in
    the state, where the rule counts what it learns several times.
    """
    own = copy(learner)
    own.rule, own.intercept_rule = echo_of(learner.rule), echo_of(learner.intercept_rule)
    own.state, own.progress = state, np.zeros(3)
    n_fields = len(learner.intercept_rule.state_fields)
    own.intercept_state = new_state(n_fields + 1, len(learner.intercept_state))
    own.intercept_state[:, :n_fields] = learner.intercept_state[:, :n_fields]
    own.intercept_state[:, n_fields] = n_shards
    for part in numbered:
        own.learn_relative(part)
    return Learned(rows, _added_to_intercepts(learner, own), own.progress)


def add_intercepts(learner: Learner, learned: Sequence[Learned]) -> None:
    """Add what shards have added to the sums of the intercepts."""
    rule = learner.intercept_rule
    clock, n_fields = next_round(rule, learner.clock), len(rule.state_fields)
    for output, state in enumerate(learner.intercept_state.tolist()):
        sums = np.array(rule.to_sums(clock, tuple(state[:n_fields])))
        for of_shard in learned:
            sums += of_shard.added_to_intercepts[output]
        learner.intercept_state[output, :n_fields] = rule.from_sums(clock, tuple(sums.tolist()))


def _with_entries(rows: Rows, entries: Indices) -> Rows:
    """The rows with other entries than slots, which begin with those of the first row."""
    begin, end = rows.indptr[0], rows.indptr[-1]
    return rows._replace(
        indptr=read_only(rows.indptr - begin),
        indices=read_only(entries),
        values=rows.values[begin:end],
    )


def _added_to_intercepts(learner: Learner, own: Learner) -> Floats:
    rule = learner.intercept_rule
    clock, n_fields = next_round(rule, learner.clock), len(rule.state_fields)
    pairs = zip(learner.intercept_state.tolist(), own.intercept_state.tolist(), strict=True)
    sums = [
        [rule.to_sums(clock, tuple(state[:n_fields])) for state in before_and_after]
        for before_and_after in pairs
    ]
    times = own.intercept_state[:, n_fields : n_fields + 1]
    return np.array([np.subtract(after, before) for before, after in sums]) / times


@compiled
def _number(
    rows: Rows,
    numbers: Indices,
    far: bool,
    first: int,
    n_features: int,
    slots: Indices,
    entries: Indices,
) -> int:
    """Write which of the shard's features each entry has; how many these are afterwards.

    `numbers` are those of features, by slot, counting from `first`; a feature with a lower number
    has none yet; `far` says that they do not fit the cache. Rows that are no examples are left out.
    """
    begin, last = np.uint64(rows.indptr[0]), np.uint64(rows.indptr[-1] - 1)
    for row in range(len(rows.y)):
        if rows.importance[row] == 0.0:
            continue
        for j in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
            if far:
                prefetch_byte(numbers, np.intp(rows.indices[min(j + FETCHED_AHEAD, last)]))
            slot = np.uint64(rows.indices[j])
            number = int(numbers[slot])
            if number < first:
                number = first + n_features
                numbers[slot] = number
                slots[np.uint64(n_features)] = slot
                n_features += 1
            entries[j - begin] = number - first
    return n_features
