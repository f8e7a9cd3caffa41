"""Features that several shards of a round have: handing out their state, and merging it.

What a shard meets in a round is a bit for each feature, in words of 64. Where features are many,
one that a shard alone has met is learned in the state of the model, as nobody else looks at it. Of
the others, which are shared, each shard has a state of its own, in a common array, one shard behind
the other, where features are in the order of their slots. Beside each word stands how many of the
shard's features come before it; so where the state of a feature is can be counted.

Where most features are shared anyway, a shard has a state of its own for each slot, and nothing has
to be counted. What is learned is the same.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Numbers, Rows, read_only
from rarefy.engine.learner import Learner
from rarefy.engine.state import CountedState, new_state
from rarefy.jit import compiled, helper
from rarefy.jit.intrinsics import count_ones, load, store, trailing_zeros
from rarefy.jit.sum_tuples import plus
from rarefy.jit.sum_tuples import times as multiplied
from rarefy.model.clock import next_round

Words = NDArray[np.uint64]
Counts = NDArray[np.uint16]
BITS = 6  # of a slot, that say which bit of a word it is
FEWEST_WORDS = 1 << 8  # that are dealt with at a time
MOST_TO_SPARE = 2  # times as many states as are needed, to have one for each slot
ONE, LOWEST, ALL = np.uint64(1), np.uint64((1 << BITS) - 1), np.uint64((1 << 64) - 1)


class Meetings:
    """What each shard meets in a round: (shard, word, bits of features and how many come before).

    Once it is known where its own state of a feature is, the bits of those without are cleared.
    """

    def __init__(self, n_shards: int, n_features: int) -> None:
        self.n_features = n_features
        n_words = (n_features >> BITS) + 1
        self.of_shards: Words = np.zeros((n_shards, n_words, 2), np.uint64)
        self._shared: Words = np.empty(n_words, np.uint64)
        self._counts: Counts = np.empty(n_features, np.uint16)  # of the shards that share a feature
        self._is_whole = False  # a shard has a state for each slot

    def has_room(self, n_shards: int, n_features: int) -> bool:
        return n_shards <= len(self.of_shards) and n_features == self.n_features

    def ranges(self, n_threads: int) -> Iterator[tuple[int, int]]:
        """Words from which up to which to deal with at a time."""
        n_words = self.of_shards.shape[1]
        step = max(n_words // (4 * n_threads), FEWEST_WORDS)
        for begin in range(0, n_words, step):
            yield begin, min(begin + step, n_words)

    def meet(self, shard: int, parts: Sequence[Rows]) -> None:
        """Take note of what there is in the rows of a shard."""
        met = self.of_shards[shard]
        met[:, 0] = 0
        for rows in parts:
            _meet(rows, met)

    def share(self, n_shards: int, words: tuple[int, int]) -> Numbers:
        """Find which features are shared; how many of them each shard has."""
        n_shared = np.zeros(n_shards, np.int64)
        _share(self.of_shards, *words, self._shared, self._counts, n_shared)
        return n_shared

    def n_own(self, n_shared: Numbers) -> Numbers:
        """Of how many features each shard has a state of its own, given how many it shares."""
        self._is_whole = self.n_features * len(n_shared) <= MOST_TO_SPARE * n_shared.sum()
        return np.full_like(n_shared, self.n_features) if self._is_whole else n_shared

    def number(self, shard: int, rows: Sequence[Rows], entries: NDArray[Any]) -> list[Rows]:
        """The rows of a shard with where the states of features are in place of slots."""
        met = self.of_shards[shard]
        if self._is_whole:
            return list(rows)
        _count_before(met, self._shared)
        numbered, begin = [], 0
        for part in rows:
            end = begin + int(part.indptr[-1] - part.indptr[0])
            _number(part, met, self.n_features, entries[begin:end])
            numbered.append(_with_entries(part, entries[begin:end]))
            begin = end
        return numbered

    def hand_out(self, learner: Learner, shard: int, own: Floats, times: Counts) -> CountedState:
        """Give a shard the state of its features, and tell how often what it learns counts."""
        _hand_out(
            learner.rule,
            self.of_shards[shard],
            self._shared,
            learner.state,
            self._counts,
            learner.n_outputs,
            self._is_whole,
            own,
            times,
        )
        first = 0 if self._is_whole else self.n_features * learner.n_outputs
        return CountedState(learner.state, own, times, first)

    def merge(self, learner: Learner, firsts: Numbers, own: Floats, words: tuple[int, int]) -> None:
        """Add to the model what shards, whose rows begin there, have added to sums of features."""
        rule, n_outputs = learner.rule, learner.n_outputs
        how = next_round(rule, learner.clock), self._is_whole
        _merge(rule, *how, learner.state, self.of_shards, firsts, *words, n_outputs, own)


def merge(learner: Learner, slots: Sequence[Numbers], states: Sequence[Floats]) -> None:
    """Add to the model what each shard has learned, which has so left features in these slots.

    They are ascending.
    """
    meetings, own, firsts = met_by(learner, slots, states)
    for words in meetings.ranges(1):
        meetings.merge(learner, firsts, own, words)


def met_by(
    learner: Learner, slots: Sequence[Numbers], states: Sequence[Floats]
) -> tuple[Meetings, Floats, Numbers]:
    """Meetings of shards with features in slots, their states together, and where each begins."""
    meetings = Meetings(len(slots), learner.n_features)
    own = new_state(len(learner.rule.state_fields), sum(map(len, states)))
    own[:, : states[0].shape[1]] = np.concatenate(states)
    for of_shard, some in zip(meetings.of_shards, slots, strict=True):
        _meet_slots(some.astype(np.int32), of_shard)
        _count_before(of_shard, np.full(len(of_shard), ALL))
    return meetings, own, np.array(list(accumulate([0, *map(len, slots[:-1])])))


def _with_entries(rows: Rows, entries: NDArray[Any]) -> Rows:
    """The rows with other entries than slots, which begin with those of the first row."""
    begin, end = rows.indptr[0], rows.indptr[-1]
    return rows._replace(
        indptr=read_only(rows.indptr - begin),
        indices=read_only(entries),
        values=rows.values[begin:end],
    )


@compiled
def _meet(rows: Rows, met: Words) -> None:
    """Set the bits of features in rows that are examples."""
    for row in range(len(rows.y)):
        if rows.importance[row] == 0.0:
            continue
        for j in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
            slot = np.uint64(rows.indices[j])
            met[slot >> np.uint64(BITS), 0] |= ONE << (slot & LOWEST)


@compiled
def _meet_slots(slots: Any, met: Words) -> None:
    for j in range(len(slots)):
        slot = np.uint64(slots[j])
        met[slot >> np.uint64(BITS), 0] |= ONE << (slot & LOWEST)


@compiled
def _share(
    of_shards: Words, begin: int, end: int, shared: Words, counts: Counts, n_shared: Numbers
) -> None:
    """Write which features several shards have, and how many; and how many such each shard has."""
    for word in range(begin, end):
        once, rest = np.uint64(0), np.uint64(0)
        for k in range(len(n_shared)):
            rest |= once & of_shards[k, word, 0]
            once |= of_shards[k, word, 0]
        for k in range(len(n_shared)):
            n_shared[k] += count_ones(of_shards[k, word, 0] & rest)
        shared[word] = rest
        while rest != 0:
            bit, n = trailing_zeros(rest), np.uint64(0)
            for k in range(len(n_shared)):
                n += of_shards[k, word, 0] >> bit & ONE
            counts[(np.uint64(word) << np.uint64(BITS)) + bit] = n
            rest &= rest - ONE


@compiled
def _count_before(met: Words, kept: Words) -> None:
    """Keep some bits, and write how many features come before each word then."""
    n = np.uint64(0)
    for word in range(len(met)):
        met[word, 0] &= kept[word]
        met[word, 1] = n
        n += count_ones(met[word, 0])


@helper
def _position(met: Words, word: Any, bit: Any) -> int:
    """How many features of a shard come before one."""
    before = met[word, 0] & ((ONE << bit) - ONE)
    return np.intp(met[word, 1] + count_ones(before))  # type: ignore[return-value]


@compiled
def _number(rows: Rows, met: Words, first: int, entries: Any) -> None:
    """Write where the state is of what each entry has: its slot, or, if it is shared, its number.

    Numbers count from `first`. Rows that are no examples are left out.
    """
    begin = np.uint64(rows.indptr[0])
    for row in range(len(rows.y)):
        if rows.importance[row] == 0.0:
            continue
        for j in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
            slot = np.uint64(rows.indices[j])
            word, bit = slot >> np.uint64(BITS), slot & LOWEST
            is_shared = (met[word, 0] >> bit & ONE) != 0
            own = first + _position(met, word, bit)
            entries[j - begin] = own if is_shared else np.intp(slot)


@compiled
def _hand_out(
    rule: Any,
    met: Words,
    shared: Words,
    state: Floats,
    counts: Counts,
    n_outputs: int,
    is_whole: bool,
    own: Floats,
    times: Counts,
) -> None:
    row = np.intp(0)
    times[0] = 1  # of what is not a shard's own
    for word in range(len(met)):
        rest = met[word, 0]
        while rest != 0:
            bit = trailing_zeros(rest)
            slot = np.intp((np.uint64(word) << np.uint64(BITS)) + bit)
            if is_whole:
                row = slot * n_outputs
            is_shared = (shared[word] >> bit & ONE) != 0
            for z in range(n_outputs):
                store(rule, own, row, load(rule, state, slot * n_outputs + z))
                row += 1
                times[row] = counts[slot] if is_shared else 1
            rest &= rest - ONE


@compiled
def _merge(
    rule: Any,
    clock: Any,
    is_whole: bool,
    state: Floats,
    of_shards: Words,
    firsts: Numbers,
    begin: int,
    end: int,
    n_outputs: int,
    own: Floats,
) -> None:
    """Enlarge the sums of features; what one shard alone has learned is the model's as it is."""
    for word in range(begin, end):
        rest = np.uint64(0)
        for k in range(len(firsts)):
            rest |= of_shards[k, word, 0]
        while rest != 0:
            bit, n = trailing_zeros(rest), np.uint64(0)
            slot = np.intp((np.uint64(word) << np.uint64(BITS)) + bit)
            for k in range(len(firsts)):
                n += of_shards[k, word, 0] >> bit & ONE
            for z in range(n_outputs):
                now = slot * n_outputs + z
                before = rule.to_sums(clock, load(rule, state, now))
                sums, each = before, 1.0 / n
                for k in range(len(firsts)):
                    if of_shards[k, word, 0] >> bit & ONE == 0:
                        continue
                    position = slot if is_whole else _position(of_shards[k], word, bit)
                    learned = load(rule, own, (firsts[k] + position) * n_outputs + z)
                    if n == 1:
                        store(rule, state, now, learned)
                    added = plus(rule.to_sums(clock, learned), multiplied(-1.0, before))
                    sums = plus(sums, multiplied(each, added))
                if n > 1:
                    store(rule, state, now, rule.from_sums(clock, sums))
            rest &= rest - ONE
