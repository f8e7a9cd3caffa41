"""How many rows make a round of shards: docs/how-to/shards.md."""

import numpy as np

from rarefy.arrays import Flags, Numbers
from rarefy.engine.reference import FIRST_EXAMPLES

ROUNDS = 8  # while the number of examples doubles,
FEW_EXAMPLES = 1 << 14  # up to so many; then
MOST_ROUNDS, ROUNDS_OF_A_SHARD = 16, 2
ENTRIES_OF_A_FEATURE = 2  # of a round; if there are fewer, there are fewer rounds
MOST_EXAMPLES, MOST_OF_A_SHARD = 1 << 16, 1 << 11  # of a round; what is more for all shards


# Fewer shards than these learn only where an example of the longest round that there may be stands
# for so many features at most, taken times the shards: with more, merging takes what they gain.
MANY_SHARDS, FEATURES_OF_AN_EXAMPLE = 8, 16
IN_ORDER = 1 << 13  # examples of a round in which no shards learn


class RoundSize:
    """Where a round ends that begins when t examples have been learned, of so many features."""

    def __init__(self, t: int, n_features: int, n_shards: int) -> None:
        self.is_complete = False
        self._n_examples = self._n_entries = 0
        self._n_entries_wanted = 0
        self.is_in_order = t < FIRST_EXAMPLES
        if self.is_in_order:
            self._step = self._most = FIRST_EXAMPLES - t
            return
        doubling = 1 << (t.bit_length() - 1)
        n_rounds, longest = ROUNDS, max(MOST_EXAMPLES, MOST_OF_A_SHARD * n_shards)
        if doubling >= FEW_EXAMPLES:
            n_rounds = min(MOST_ROUNDS, ROUNDS_OF_A_SHARD * n_shards)
            self._n_entries_wanted = ENTRIES_OF_A_FEATURE * n_features
            most_features = FEATURES_OF_AN_EXAMPLE * min(longest, doubling)
            self.is_in_order = n_shards < MANY_SHARDS and n_features * n_shards >= most_features
        if self.is_in_order:
            longest = IN_ORDER
        # at twice as many examples, the reference may change
        self._most = min(longest, 2 * doubling - t)
        self._step = min(doubling // n_rounds, self._most)

    @property
    def n_missing(self) -> int:
        """How many examples are missing to the next one after which the round may end."""
        return min(self._step - self._n_examples % self._step, self._most - self._n_examples)

    def take(self, lengths: Numbers, are_learned: Flags) -> int:
        """How many of the rows that come next belong to the round; they are counted."""
        learned = np.flatnonzero(are_learned)
        n_entries = np.concatenate([[0], np.cumsum(lengths[learned])])
        taken = 0
        while taken < len(learned):
            n_missing = self.n_missing
            n = min(n_missing, len(learned) - taken)
            self._n_examples += n
            self._n_entries += int(n_entries[taken + n] - n_entries[taken])
            taken += n
            is_end = n == n_missing and self._n_entries >= self._n_entries_wanted
            if is_end or self._n_examples == self._most:
                self.is_complete = True
                return int(learned[taken - 1]) + 1
        return len(are_learned)
