"""Features that several shards meet: what each of them begins with, and what becomes of it.

Shards keep the state of their features in a common array, one shard behind the other. A meeting,
an int64, is a feature and a shard that meets it: the slot in the upper half, and the row of the
shard's state in the lower one. In ascending order, the meetings of a feature follow each other, and
go by the order of shards.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Numbers
from rarefy.engine.learner import Learner
from rarefy.engine.state import new_state
from rarefy.jit import compiled, helper
from rarefy.jit.intrinsics import load, prefetch, store
from rarefy.jit.sum_tuples import plus
from rarefy.jit.sum_tuples import times as multiplied
from rarefy.model.clock import next_round
from rarefy.rules.echo import echo_of

BLOCK_BITS = 6  # of slots that are dealt with by the same thread
AHEAD = 16  # meetings from the one that is dealt with to the one whose row is fetched from memory
DIGIT_BITS = 11  # of a slot, to sort by


def meetings(slots: NDArray[np.int32], n_groups: int) -> list[Numbers]:
    """The meetings of a shard with features in these slots, in groups by slot.

    The number of groups is a power of two.
    """
    ends, grouped = np.zeros(n_groups + 1, np.int64), np.empty(len(slots), np.int64)
    _group(slots, ends, grouped)
    return np.split(grouped, ends[:-2])


class Group:
    """Meetings of all shards with some of the features."""

    def __init__(
        self, of_shards: Sequence[Numbers], first_rows: Sequence[int], n_features: int
    ) -> None:
        """Put together meetings of each shard, whose rows begin there."""
        together = np.concatenate(
            [some + first for some, first in zip(of_shards, first_rows, strict=True)]
        )
        self._meetings = _sorted_by_slot(together, n_features)

    def hand_out(self, learner: Learner, own: Floats) -> None:
        """Give shards the state of features, and tell how often what they learn counts."""
        rule, echo, n_outputs = learner.rule, echo_of(learner.rule), learner.n_outputs
        _hand_out(rule, echo, learner.state, self._meetings, n_outputs, own)

    def merge(self, learner: Learner, own: Floats) -> None:
        """Add to the model what shards have added to the sums of features."""
        rule, echo, n_outputs = learner.rule, echo_of(learner.rule), learner.n_outputs
        clock = next_round(rule, learner.clock)
        _merge(rule, echo, clock, learner.state, self._meetings, n_outputs, own)


def merge(learner: Learner, slots: Sequence[Numbers], states: Sequence[Floats]) -> None:
    """Add to the model what each shard has learned, which has so left features in these slots."""
    n_fields, n_rows = len(learner.rule.state_fields), sum(map(len, states))
    own = new_state(len(echo_of(learner.rule).state_fields), n_rows)
    own[:, :n_fields] = np.concatenate(states)
    of_shards = [meetings(some.astype(np.int32), 1)[0] for some in slots]
    first_rows = list(accumulate([0, *map(len, slots[:-1])]))
    Group(of_shards, first_rows, learner.n_features).merge(learner, own)


def _sorted_by_slot(meetings: Numbers, n_features: int) -> Numbers:
    """The meetings by slot; those of the same slot stay in their order."""
    other, ends = np.empty_like(meetings), np.empty(1 << DIGIT_BITS, np.int64)
    for shift in range(0, n_features.bit_length(), DIGIT_BITS):
        _sort_by_digit(meetings, np.uint64(32 + shift), ends, other)
        meetings, other = other, meetings
    return meetings


@compiled
def _sort_by_digit(meetings: Numbers, shift: Any, ends: Numbers, by_digit: Numbers) -> None:
    """Write the meetings in the order of a digit of their slot; equal ones stay in theirs."""
    most = np.uint64(len(ends) - 1)
    ends[:] = 0
    for j in range(len(meetings)):
        ends[(np.uint64(meetings[j]) >> shift) & most] += 1
    end = len(meetings)
    for digit in range(len(ends) - 1, -1, -1):
        end -= ends[digit]
        ends[digit] = end
    for j in range(len(meetings)):
        digit = (np.uint64(meetings[j]) >> shift) & most
        by_digit[np.uint64(ends[digit])] = meetings[j]
        ends[digit] += 1


@compiled
def _group(slots: Any, ends: Numbers, grouped: Numbers) -> None:
    """Write meetings, one group behind the other, and where each group ends."""
    n_groups = len(ends) - 1
    for row in range(len(slots)):
        ends[((slots[row] >> BLOCK_BITS) & (n_groups - 1)) + 1] += 1
    for group in range(n_groups):
        ends[group + 1] += ends[group]
    for row in range(len(slots)):
        group = (slots[row] >> BLOCK_BITS) & (n_groups - 1)
        grouped[ends[group]] = (np.int64(slots[row]) << 32) | row
        ends[group] += 1


@helper
def _end_of_feature(meetings: Numbers, begin: int) -> int:
    """Where the meetings end of the feature whose first one is at `begin`."""
    end = begin + 1
    while end < len(meetings) and meetings[end] >> 32 == meetings[begin] >> 32:
        end += 1
    return end


@helper
def _row(meetings: Numbers, j: int) -> int:
    """The row of a meeting in the common state of shards."""
    return meetings[j] & 0xFFFFFFFF  # type: ignore[no-any-return]


@compiled
def _hand_out(
    rule: Any,
    echo: Any,
    state: Floats,
    meetings: Numbers,
    n_outputs: int,
    own: Floats,
) -> None:
    begin = 0
    while begin < len(meetings):
        end, slot = _end_of_feature(meetings, begin), (meetings[begin] >> 32) * n_outputs
        for j in range(begin, end):
            prefetch(echo, own, _row(meetings, min(j + AHEAD, len(meetings) - 1)) * n_outputs)
            for z in range(n_outputs):
                new = (*load(rule, state, slot + z), float(end - begin))
                store(echo, own, _row(meetings, j) * n_outputs + z, new)
        begin = end


@compiled
def _merge(
    rule: Any,
    echo: Any,
    clock: Any,
    state: Floats,
    meetings: Numbers,
    n_outputs: int,
    own: Floats,
) -> None:
    """Enlarge the sums of features; what one shard alone has learned is the model's as it is."""
    begin = 0
    while begin < len(meetings):
        end, slot = _end_of_feature(meetings, begin), (meetings[begin] >> 32) * n_outputs
        each = 1.0 / (end - begin)
        for j in range(begin, end):
            prefetch(echo, own, _row(meetings, min(j + AHEAD, len(meetings) - 1)) * n_outputs)
        for z in range(n_outputs):
            new = load(echo, own, _row(meetings, begin) * n_outputs + z)[:-1]
            if end - begin > 1:
                before = rule.to_sums(clock, load(rule, state, slot + z))
                sums = before
                for j in range(begin, end):
                    echoed = load(echo, own, _row(meetings, j) * n_outputs + z)
                    after = rule.to_sums(clock, echoed[:-1])
                    added = plus(after, multiplied(-1.0, before))
                    sums = plus(sums, multiplied(each, added))
                new = rule.from_sums(clock, sums)
            store(rule, state, slot + z, new)
        begin = end
