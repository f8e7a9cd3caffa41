"""How many rows make a round of shards: docs/how-to/shards.md."""

import numpy as np

from rarefy.arrays import Flags, Numbers
from rarefy.engine.reference import FIRST_EXAMPLES

ROUNDS = 8  # while the number of examples doubles,
FEW_EXAMPLES = 1 << 14  # up to so many; then
MOST_ROUNDS, ROUNDS_OF_A_SHARD = 16, 2
ENTRIES_OF_A_FEATURE = 2  # of a round; if there are fewer, there are fewer rounds
MOST_ENTRIES, MOST_OF_A_SHARD = 1 << 24, 1 << 21  # of a round; what is more for all shards

# Fewer shards than these learn only where there are so many features at most for an example before
# the round, and for an entry of the longest one, taken times the shards: with more, merging takes
# what they gain.
MANY_SHARDS, FEATURES_OF_AN_EXAMPLE, FEATURES_OF_AN_ENTRY = 8, 16, 0.5
IN_ORDER = 1 << 13  # examples of a round in which no shards learn
SETTLING = 512  # last examples of a round, but no more than a quarter, which settle the model


def n_dealt(n_examples: int) -> int:
    """How many examples of a round shards learn, if they are enough."""
    return n_examples - min(SETTLING, n_examples // 4)


class RoundSize:
    """Where a round ends that begins when t examples have been learned, of so many features.

    A shard learns `fewest` examples at least. If no shards learn, the round is in order, and so are
    all others until the number of examples has doubled, as features do not become fewer. So it does
    not matter where it ends before that.
    """

    def __init__(self, t: int, n_features: int, n_shards: int, fewest: int) -> None:
        self.is_complete = False
        self._n_examples = self._n_entries = 0
        self._n_entries_wanted = 0
        self._most_entries = max(MOST_ENTRIES, MOST_OF_A_SHARD * n_shards)
        self.is_in_order = t < FIRST_EXAMPLES
        if self.is_in_order:
            self._step = self._most = FIRST_EXAMPLES - t
            return
        doubling = 1 << (t.bit_length() - 1)
        self._most = 2 * doubling - t  # when the reference may change
        if doubling < FEW_EXAMPLES:
            self._step = min(doubling // ROUNDS, self._most)
            self.is_in_order = n_dealt(doubling // ROUNDS) < 2 * fewest
        else:
            n_rounds = min(MOST_ROUNDS, ROUNDS_OF_A_SHARD * n_shards)
            self._step = min(doubling // n_rounds, self._most)
            self._n_entries_wanted = ENTRIES_OF_A_FEATURE * n_features
            most_features = min(
                FEATURES_OF_AN_EXAMPLE * doubling, FEATURES_OF_AN_ENTRY * self._most_entries
            )
            self.is_in_order = n_shards < MANY_SHARDS and n_features * n_shards >= most_features
        if self.is_in_order:
            self._step = self._most = min(IN_ORDER, self._most)

    @property
    def n_missing(self) -> int:
        """How many examples are missing to the next one after which the round may end."""
        return min(self._step - self._n_examples % self._step, self._most - self._n_examples)

    def take(self, lengths: Numbers, are_learned: Flags) -> int:
        """How many of the rows that come next belong to the round; they are counted."""
        learned = np.flatnonzero(are_learned)
        n_entries = np.zeros(len(learned) + 1, np.int64)
        chosen = lengths if len(learned) == len(lengths) else lengths[learned]
        np.cumsum(chosen, out=n_entries[1:])
        # the round is over with the example with which it has as many entries as it may
        n_left = self._most_entries - self._n_entries
        most = max(int(np.searchsorted(n_entries, n_left)), 1)
        taken = 0
        while taken < min(len(learned), most):
            n_missing = self.n_missing
            n = min(n_missing, min(len(learned), most) - taken)
            self._n_examples += n
            self._n_entries += int(n_entries[taken + n] - n_entries[taken])
            taken += n
            is_end = n == n_missing and self._n_entries >= self._n_entries_wanted
            if is_end or taken == most or self._n_examples == self._most:
                self.is_complete = True
                return int(learned[taken - 1]) + 1
        return len(are_learned)
