"""The states of shards where features are many for the rows of a round: of what a shard meets.

After the round, the state of a feature is the mean of those that the shards have, where a shard
that has not met it has that of the model.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Numbers, Rows, read_only
from rarefy.engine.learner import Learner
from rarefy.engine.met_features import (
    BITS,
    LOWEST,
    ONE,
    Words,
    count_before,
    meet,
    meet_slots,
    position,
    ranges,
    words_of_shards,
)
from rarefy.engine.state import new_state
from rarefy.engine.workers import Run
from rarefy.jit import compiled
from rarefy.jit.intrinsics import load, row_width, store, trailing_zeros
from rarefy.jit.sum_tuples import plus, times
from rarefy.model.clock import next_round


class ShardStates:
    """The states of shards, whose memory is used again from round to round."""

    def __init__(self) -> None:
        self.of_shards = np.zeros((0, 0, 2), np.uint64)  # what each has met
        self.own = new_state(1, 0)  # one shard behind the other
        self.firsts: Numbers = np.zeros(1, np.int64)  # rows of `own`, of each shard, and the end
        self._entries = np.empty(0, np.int32)  # of all shards

    def begin_round(self, learner: Learner, n_entries: Sequence[int], run: Run) -> None:
        """Have room for shards whose rows have so many entries at most."""
        most = [min(n, learner.n_features) for n in n_entries]
        self.firsts = np.array([0, *accumulate(most)]) * learner.n_outputs
        width = row_width(len(learner.rule.state_fields))
        if len(self.own) < self.firsts[-1] or self.own.shape[1] != width:
            n_rows = int(self.firsts[-1])
            self.own = new_state(len(learner.rule.state_fields), n_rows + n_rows // 4)
        self.of_shards = words_of_shards(self.of_shards, len(n_entries), learner.n_features)
        self._ends = [0, *accumulate(n_entries)]
        if len(self._entries) < self._ends[-1]:
            self._entries = np.empty(self._ends[-1], np.int32)

    def hand_out(
        self, learner: Learner, shard: int, rows: Sequence[Rows]
    ) -> tuple[list[Rows], Floats]:
        """A shard's rows with the numbers of their coordinates in its state, and that state."""
        met, own = self.of_shards[shard], self.own[self.firsts[shard] : self.firsts[shard + 1]]
        met[:, 0] = 0
        for part in rows:
            meet(part, met)
        n_rows = count_before(met) * learner.n_outputs
        _copy_met(learner.rule, met, learner.state, learner.n_outputs, own)
        entries = self._entries[self._ends[shard] : self._ends[shard + 1]]
        return list(_numbered(rows, met, entries)), own[:n_rows]

    def pieces(self, learner: Learner, n_threads: int) -> list[tuple[int, int]]:
        """The words of features whose mean is taken at a time."""
        return list(ranges(self.of_shards.shape[1], n_threads))

    def average(self, learner: Learner, words: tuple[int, int]) -> None:
        """Let the state of features be the mean of those that the shards have."""
        rule, clock = learner.rule, next_round(learner.rule, learner.clock)
        states = self.own, learner.state
        _average(rule, clock, learner.n_outputs, self.of_shards, self.firsts, *words, *states)


def average(learner: Learner, slots: Sequence[Numbers], states: Sequence[Floats]) -> None:
    """Let the state of features be the mean of shards, which have left those in slots like that.

    Slots ascend.
    """
    found = states_of(learner, slots, states)
    for words in found.pieces(learner, 1):
        found.average(learner, words)


def states_of(learner: Learner, slots: Sequence[Numbers], states: Sequence[Floats]) -> ShardStates:
    """What shards have that have met the features in these slots."""
    found = ShardStates()
    found.of_shards = words_of_shards(found.of_shards, len(slots), learner.n_features)
    found.own = new_state(len(learner.rule.state_fields), sum(map(len, states)))
    found.own[:, : states[0].shape[1]] = np.concatenate(states)
    found.firsts = np.array([0, *accumulate(map(len, states))])
    for met, some in zip(found.of_shards, slots, strict=True):
        meet_slots(some.astype(np.int32), met)
        count_before(met)
    return found


def _numbered(rows: Sequence[Rows], met: Words, entries: NDArray[Any]) -> Iterator[Rows]:
    """The rows with numbers in place of slots, for which there is room in `entries`."""
    done = 0
    for part in rows:
        begin, end = int(part.indptr[0]), int(part.indptr[-1])
        numbers = entries[done : done + end - begin]
        _number(part, met, numbers)
        yield part._replace(
            indptr=read_only(part.indptr - begin),
            indices=read_only(numbers),
            values=part.values[begin:end],
        )
        done += end - begin


@compiled
def _number(rows: Rows, met: Words, numbers: Any) -> None:
    """Write where the state is of what each entry has. Rows that are no examples are left out."""
    begin = np.uint64(rows.indptr[0])
    for row in range(len(rows.y)):
        if rows.importance[row] == 0.0:
            continue
        for j in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
            slot = np.uint64(rows.indices[j])
            numbers[j - begin] = position(met, slot >> np.uint64(BITS), slot & LOWEST)


@compiled
def _copy_met(rule: Any, met: Words, state: Floats, n_outputs: int, own: Floats) -> None:
    row = np.intp(0)
    for word in range(len(met)):
        rest = met[word, 0]
        while rest != 0:
            slot = np.intp((np.uint64(word) << np.uint64(BITS)) + trailing_zeros(rest))
            for z in range(n_outputs):
                store(rule, own, row, load(rule, state, slot * n_outputs + z))
                row += 1
            rest &= rest - ONE


@compiled
def _average(
    rule: Any,
    clock: Any,
    n_outputs: int,
    of_shards: NDArray[np.uint64],
    firsts: Numbers,
    begin: int,
    end: int,
    own: Floats,
    state: Floats,
) -> None:
    """Write the mean of what shards have; where it is the same for all, that, with no rounding."""
    n_shards, share = len(of_shards), 1.0 / len(of_shards)
    for word in range(begin, end):
        rest = np.uint64(0)
        for k in range(n_shards):
            rest |= of_shards[k, word, 0]
        while rest != 0:
            bit = trailing_zeros(rest)
            slot = np.intp((np.uint64(word) << np.uint64(BITS)) + bit)
            for z in range(n_outputs):
                now = slot * n_outputs + z
                before = load(rule, state, now)
                common, differ = before, False
                total = rule.to_means(clock, before)
                for k in range(n_shards):
                    learned = before
                    if of_shards[k, word, 0] >> bit & ONE != 0:
                        place = position(of_shards[k], word, bit)
                        learned = load(rule, own, firsts[k] + place * n_outputs + z)
                    means = rule.to_means(clock, learned)
                    if k == 0:
                        common, total = learned, means
                    else:
                        differ |= learned != common
                        total = plus(total, means)
                if differ:
                    common = rule.from_means(clock, times(share, total))
                store(rule, state, now, common)
            rest &= rest - ONE
