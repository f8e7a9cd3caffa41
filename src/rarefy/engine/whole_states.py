"""The states of shards where features are few for the rows of a round: each shard has all of them.

The first shard learns with the state of the model, the others with copies. Where they differ
afterwards, the mean is written to all, so that the copies are those of the next round, too. What
the model then learns by itself, a shard copies, feature by feature, before it learns again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rarefy.arrays import Floats, Numbers, Rows
from rarefy.engine.learner import Learner
from rarefy.engine.met_features import ranges
from rarefy.engine.state import aligned_zeros, new_state
from rarefy.engine.workers import Run
from rarefy.jit import compiled
from rarefy.jit.intrinsics import load, row_width, store
from rarefy.jit.sum_tuples import plus, times
from rarefy.model.clock import next_round

FEATURES_OF_AN_ENTRY = 2  # that are copied at most
FEWEST = 1 << 12  # features that are dealt with at a time


class WholeStates:
    """Copies of a learner's state, which follow it from round to round."""

    def __init__(self) -> None:
        self._copies = aligned_zeros(0, 0, 0)  # (shard, coordinate, field), without the first
        self._state: Floats | None = None  # what they are copies of,
        self._t = 0  # when so many examples were learned,
        self._n_copies = 0  # as far as they are,
        self._changed: Numbers = np.empty(0, np.int64)  # but for features in these slots,
        self._kept = new_state(1, 0)  # which had these states then

    def are_used(self, learner: Learner, n_entries: Sequence[int]) -> bool:
        """Whether whole states pay for shards whose rows have so many entries at most."""
        n_copies = len(n_entries) - 1
        is_little = learner.n_features * n_copies <= FEATURES_OF_AN_ENTRY * sum(n_entries)
        return is_little or self._are_copies(learner, n_copies)

    def begin_round(self, learner: Learner, n_entries: Sequence[int], run: Run) -> None:
        """Have the states for shards whose rows have so many entries at most."""
        n_shards = len(n_entries)
        if not self._are_copies(learner, n_shards - 1):
            shape = learner.state.shape
            if len(self._copies) < n_shards - 1 or self._copies.shape[1:] != shape:
                self._copies = aligned_zeros(n_shards - 1, *shape)
            copies, state = self._copies[: n_shards - 1], learner.state

            def copy(piece: tuple[int, int]) -> None:
                copies[:, slice(*piece)] = state[slice(*piece)]

            run(copy, self.pieces(learner, n_shards))
            self._changed = np.empty(0, np.int64)
        self._state, self._n_copies = learner.state, n_shards - 1

    def _are_copies(self, learner: Learner, n_copies: int) -> bool:
        """Whether there are so many copies of the learner as it is now."""
        is_as_then = self._state is learner.state and self._t == learner.t
        return is_as_then and self._n_copies >= n_copies

    def hand_out(
        self, learner: Learner, shard: int, rows: Sequence[Rows]
    ) -> tuple[list[Rows], Floats]:
        """A shard's rows, and the state that it learns with."""
        if shard == 0:
            return list(rows), learner.state
        own = self._copies[shard - 1]
        _write_back(learner.rule, self._changed, learner.n_outputs, self._kept, own)
        return list(rows), own

    def pieces(self, learner: Learner, n_threads: int) -> list[tuple[int, int]]:
        """The coordinates whose mean is taken at a time."""
        return list(ranges(learner.n_features * learner.n_outputs, n_threads, FEWEST))

    def average(self, learner: Learner, piece: tuple[int, int]) -> None:
        """Let the state of coordinates, and the copies, be the mean of what the shards have."""
        rule, clock = learner.rule, next_round(learner.rule, learner.clock)
        _average(rule, clock, *piece, learner.state, self._copies[: self._n_copies])

    def note_settled(self, learner: Learner, rows: Sequence[Rows]) -> None:
        """Keep what the learner has made of the features of rows since the mean was taken."""
        is_changed = np.zeros(learner.n_features, np.bool_)
        for part in rows:
            is_changed[part.indices[part.indptr[0] : part.indptr[-1]]] = True
        is_changed[learner.reference.slots] = True  # rows that lack them have them, too
        self._changed = np.flatnonzero(is_changed)
        n_fields, n_kept = len(learner.rule.state_fields), len(self._changed) * learner.n_outputs
        if len(self._kept) < n_kept or self._kept.shape[1] != row_width(n_fields):
            self._kept = new_state(n_fields, n_kept)
        _keep(learner.rule, self._changed, learner.n_outputs, learner.state, self._kept)
        self._t = learner.t


@compiled
def _keep(rule: Any, slots: Numbers, n_outputs: int, state: Floats, kept: Floats) -> None:
    for j in range(len(slots)):
        for z in range(n_outputs):
            store(rule, kept, j * n_outputs + z, load(rule, state, slots[j] * n_outputs + z))


@compiled
def _write_back(rule: Any, slots: Numbers, n_outputs: int, kept: Floats, state: Floats) -> None:
    for j in range(len(slots)):
        for z in range(n_outputs):
            store(rule, state, slots[j] * n_outputs + z, load(rule, kept, j * n_outputs + z))


@compiled
def _average(rule: Any, clock: Any, begin: int, end: int, state: Floats, copies: Floats) -> None:
    """Write the mean of what shards have; where it is the same for all, it stays as it is."""
    share = 1.0 / (len(copies) + 1)
    for now in range(begin, end):
        first, differ = load(rule, state, now), False
        for k in range(len(copies)):
            differ |= load(rule, copies[k], now) != first
        if differ:
            total = rule.to_means(clock, first)
            for k in range(len(copies)):
                total = plus(total, rule.to_means(clock, load(rule, copies[k], now)))
            mean = rule.from_means(clock, times(share, total))
            store(rule, state, now, mean)
            for k in range(len(copies)):
                store(rule, copies[k], now, mean)
