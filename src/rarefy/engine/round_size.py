"""How many rows make a round of shards: docs/how-to/shards.md."""

from typing import Any

import numpy as np

from rarefy.arrays import Flags, Floats, Numbers
from rarefy.engine.reference import FIRST_EXAMPLES
from rarefy.jit import compiled

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
NONE_HELD = np.empty(0, np.bool_)
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

    def take(self, indptr: Any, importance: Floats, held: Flags = NONE_HELD) -> int:
        """How many of the rows that come next belong to the round; they are counted.

        Rows count that have importance and are not held out; `held` may be empty, if none is.
        """
        bounds = self._step, self._most, self._n_entries_wanted, self._most_entries
        so_far = np.array([self._n_examples, self._n_entries])
        n_rows, self.is_complete = _take(indptr, importance, held, bounds, so_far)
        self._n_examples, self._n_entries = so_far.tolist()
        return n_rows


@compiled
def _take(
    indptr: Any, importance: Floats, held: Flags, bounds: tuple[int, ...], so_far: Numbers
) -> tuple[int, bool]:
    """How many rows, and whether the round is over; `so_far` counts examples and entries.

    In one go, as arrays of a batch are long enough for NumPy to let other threads go first.
    """
    step, most, wanted, most_entries = bounds
    for row in range(len(importance)):
        if importance[row] == 0.0 or (len(held) > 0 and held[row]):
            continue
        so_far[0] += 1
        so_far[1] += indptr[row + 1] - indptr[row]
        may_end = so_far[0] % step == 0 and so_far[1] >= wanted
        if may_end or so_far[0] == most or so_far[1] >= most_entries:
            return row + 1, True
    return len(importance), False
