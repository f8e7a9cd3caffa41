"""Learning in shards: side by side, each on its own rows, merged after every round.

In a round, each of K shards begins with the model so far and learns its part of the rows, each of
which counts K times, on behalf of the other shards, too. The model is then the mean of the shards,
in the numbers that the rule's state is made of, added up in their order. The last rows of a round
are learned by the model itself, which settles it. So the number of shards is part of what is
learned, and that of threads is not.

Why rows count more often, and how many rows make a round: docs/how-to/shards.md.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from rarefy.arrays import Rows, part_of
from rarefy.engine.learner import Learner
from rarefy.engine.merged_sums import at_round
from rarefy.engine.online_learner import OnlineLearner
from rarefy.engine.reference import FIRST_EXAMPLES
from rarefy.engine.round_size import RoundSize, n_dealt
from rarefy.engine.shard import Learned, average_intercepts, learned_by
from rarefy.engine.shard_states import ShardStates
from rarefy.engine.whole_states import WholeStates
from rarefy.engine.workers import Pool, Run, n_cores
from rarefy.errors import ConfigError
from rarefy.model.importance import PLAIN
from rarefy.rules import RULES, name_of

FEWEST_OF_A_SHARD = 1024  # examples of a round; if there are fewer, fewer shards learn
MOST_SHARDS = (1 << 16) - 1


def can_be_sharded(rule: Any) -> bool:
    """Whether a rule says how an example counts several times, and of what sums its state is."""
    return hasattr(rule, "repeated") and hasattr(rule, "to_sums")


class Sharding:
    """A number of shards, and the threads that do their work."""

    def __init__(self, n_shards: int, n_threads: int | None = None) -> None:
        self.n_shards = n_shards
        self.n_threads = min(n_shards, n_threads or n_cores())
        self._round: RoundSize | None = None  # that has begun, or is just learned
        self._pool = Pool(self.n_threads)
        self._states, self._whole = ShardStates(), WholeStates()

    def new_round(self, learner: OnlineLearner) -> RoundSize:
        """Where the round ends that begins now."""
        sizes = learner.t, learner.n_features, self.n_shards, FEWEST_OF_A_SHARD
        self._round = RoundSize(*sizes)
        return self._round

    @property
    def is_in_order(self) -> bool:
        """Whether no shards learn in the round, whatever its rows are."""
        return self._round is not None and self._round.is_in_order

    def learn(self, learner: Learner, rows: Rows) -> None:
        """Learn rows in as many rounds as it takes, of which the last may be short."""
        begin = end = 0
        while begin < len(rows.y):
            size = self.new_round(learner)
            end += size.take(rows.indptr[end:], rows.importance[end:])
            self.learn_round(learner, [part_of(rows, begin, end)])
            begin = end

    def learn_round(self, learner: Learner, parts: Sequence[Rows]) -> None:
        """Learn the rows of a round, which may come in parts."""
        dealt, settling = self.dealt(learner.t, parts)
        n_entries = [_most_entries(learner, rows) for rows in dealt]
        run = self._pool.runner(sum(n_entries) * learner.n_outputs)
        is_whole = dealt and self._whole.are_used(learner, n_entries)
        if dealt:
            states = self._whole if is_whole else self._states
            states.begin_round(learner, n_entries, run)
            self._learn_in_shards(learner, dealt, states, run)
        for part in settling:
            learner.learn(part, restorable=False)
        if is_whole:
            self._whole.note_settled(learner, settling)

    def dealt(self, t: int, parts: Sequence[Rows]) -> tuple[list[list[Rows]], list[Rows]]:
        """The rows of each shard, if there are any, and those that the model itself learns then.

        The round begins when t examples have been learned.
        """
        if t < FIRST_EXAMPLES or not parts or self.is_in_order:
            return [], list(parts)
        return _dealt(parts, self.n_shards, t)

    def _learn_in_shards(
        self,
        learner: Learner,
        dealt: Sequence[Sequence[Rows]],
        states: ShardStates | WholeStates,
        run: Run,
    ) -> None:
        """What shards do side by side, and then what is done with all features."""

        def learn(shard: int) -> Learned:
            relative = [learner.reference.relative(part) for part in dealt[shard]]
            numbered, state = states.hand_out(learner, shard, relative)
            return learned_by(learner, dealt[shard], numbered, state, len(dealt))

        learned = run(learn, range(len(dealt)))
        run(partial(states.average, learner), states.pieces(learner, self.n_threads))
        conclude(learner, learned)


def check_sharding(n_shards: int, task: Any) -> None:
    """Refuse shards for what cannot be learned in them."""
    if n_shards == 1:
        return
    if n_shards > MOST_SHARDS:
        raise ConfigError(f"shards={n_shards}: {MOST_SHARDS:,} at most.")
    if task.is_open:
        raise ConfigError(
            f"shards={n_shards}: parameters cannot be found while shards learn. Give them, or "
            f"find them without shards."
        )
    if not can_be_sharded(task.rule):
        can = ", ".join(name for name, kind in RULES.items() if can_be_sharded(kind))
        raise ConfigError(
            f"shards={n_shards}: the rule {name_of(task.rule)} cannot learn in shards. Rules that "
            f"can: {can}."
        )
    if task.weighting != PLAIN:
        raise ConfigError(
            f"shards={n_shards}: endowment, and importance='aware', cannot be combined with shards."
        )


def _dealt(parts: Sequence[Rows], n_shards: int, t: int) -> tuple[list[list[Rows]], list[Rows]]:
    """The rows of each shard, if they are enough for two, and the last, which settle the model.

    A shard gets rows that follow each other, as many examples as any other, or one more.
    """
    is_example = np.concatenate([part.importance != 0.0 for part in parts])
    n_before = np.concatenate([[0], np.cumsum(is_example)])
    n_examples = int(n_before[-1])
    n_of_shards = n_dealt(n_examples)
    # with more shards, examples would count for more in the round than those before it
    most = max(2, (1 << t.bit_length() - 1) // max(n_examples, 1))
    n_shards = min(n_shards, most, n_of_shards // FEWEST_OF_A_SHARD)
    if n_shards < 2:
        return [], list(parts)
    ends = np.searchsorted(n_before, [n_of_shards * k // n_shards for k in range(n_shards + 1)])
    shards = [list(_between(parts, *bounds)) for bounds in pairwise(ends.tolist())]
    return shards, list(_between(parts, int(ends[-1]), len(is_example)))


def _most_entries(learner: Learner, rows: Sequence[Rows]) -> int:
    """For how many entries there has to be room when rows are learned."""
    n_rows, n_centred = sum(len(part.y) for part in rows), len(learner.reference.slots)
    return sum(int(part.indptr[-1] - part.indptr[0]) for part in rows) + n_rows * n_centred


def _between(parts: Sequence[Rows], begin: int, end: int) -> Iterator[Rows]:
    """The rows from `begin` up to `end` of all."""
    for part in parts:
        n_rows = len(part.y)
        if begin < n_rows and end > 0:
            yield part_of(part, max(begin, 0), min(end, n_rows))
        begin, end = begin - n_rows, end - n_rows


def conclude(learner: Learner, learned: Sequence[Learned]) -> None:
    """Add to the learner, in the order of shards, what they have learned beside features."""
    average_intercepts(learner, learned)
    n_examples = 0
    for of_shard in learned:
        learner.progress += of_shard.progress
        for rows in of_shard.rows:
            n_examples += int(np.count_nonzero(rows.importance))
            learner.set_reference(learner.reference.after(rows))
    learner.clock = at_round(learner, learner.clock.t + n_examples)
