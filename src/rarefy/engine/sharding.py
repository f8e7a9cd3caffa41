"""Learning in shards: side by side, each from its own rows, and put together in rounds.

In a round, each of K shards begins with the model so far and learns its part of the rows, where
what it learns about a feature counts several times, on behalf of the shards that meet it, too. What
it has added to the sums that the rule's state is made of is divided by that again, and then added
to the model, in the order of the shards. The last rows of a round are learned by the model itself,
which settles it. So the number of shards is part of what is learned, and that of threads is not.

Why rows count more often, and how many rows make a round: docs/how-to/shards.md.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Numbers, Rows, part_of
from rarefy.engine.learner import Learner
from rarefy.engine.merged_sums import at_round
from rarefy.engine.reference import FIRST_EXAMPLES
from rarefy.engine.shard import Desk, Learned, add_up, count, features_of, learned_by
from rarefy.errors import ConfigError
from rarefy.model.clock import next_round
from rarefy.model.importance import PLAIN
from rarefy.rules import RULES, name_of

IN_ORDER = 64  # first examples, for each shard, that are learned without shards
MOST_ROUNDS = 8  # while the number of examples doubles; one for each shard, if these are fewer
MOST_EXAMPLES = 1 << 16  # of a round
SETTLING = 32  # one in so many examples of a round settles the model,
FEWEST_SETTLING = 64  # or so many, but no more than a quarter


def can_be_sharded(rule: Any) -> bool:
    """Whether a rule says how an example counts several times, and of what sums its state is."""
    return hasattr(rule, "repeated") and hasattr(rule, "to_sums")


def n_cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Sharding:
    """A number of shards, and the threads that do their work."""

    def __init__(self, n_shards: int, n_threads: int | None = None) -> None:
        self.n_shards = n_shards
        self.n_threads = min(n_shards, n_threads or n_cores())
        self._n_rounds = min(n_shards, MOST_ROUNDS)
        self._in_order = max(FIRST_EXAMPLES, IN_ORDER * n_shards)
        self._desks: SimpleQueue[Desk] = SimpleQueue()  # of which each thread has one
        self._counts = np.zeros(0, np.int32)  # of the shards that meet a feature, by slot

    def n_examples(self, t: int) -> int:
        """How many examples the round takes that begins when t have been learned."""
        if t < self._in_order:
            return self._in_order - t
        doubling = 1 << (t.bit_length() - 1)
        n = max(min(doubling // self._n_rounds, MOST_EXAMPLES), self.n_shards)
        return min(n, 2 * doubling - t)  # at twice as many examples, the reference may change

    def n_rows(self, t: int, is_example: NDArray[np.bool_]) -> int:
        """How many of the rows belong to the round that begins when t have been learned.

        They are fewer than it takes where all of them belong to it.
        """
        examples, n = np.flatnonzero(is_example), self.n_examples(t)
        return len(is_example) if len(examples) < n else int(examples[n - 1]) + 1

    def learn(self, learner: Learner, rows: Rows) -> None:
        """Learn rows in as many rounds as it takes, of which the last may be short."""
        begin, is_example = 0, rows.importance != 0.0
        while begin < len(rows.y):
            end = begin + self.n_rows(learner.t, is_example[begin:])
            self.learn_round(learner, [part_of(rows, begin, end)])
            begin = end

    def learn_round(self, learner: Learner, parts: Sequence[Rows]) -> None:
        """Learn the rows of a round, which may come in parts."""
        dealt, settling = self.dealt(learner.t, parts)
        if dealt:
            merge(learner, self._learned(learner, dealt))
        for part in settling:
            learner.learn(part, restorable=False)

    def dealt(self, t: int, parts: Sequence[Rows]) -> tuple[list[list[Rows]], list[Rows]]:
        """The rows of each shard that gets any, and those that the model itself learns then.

        The round begins when t examples have been learned.
        """
        if t < self._in_order or not parts:
            return [], list(parts)
        return _dealt(parts, self.n_shards)

    def _learned(self, learner: Learner, dealt: Sequence[Sequence[Rows]]) -> list[Learned]:
        """What each shard has learned; the learner is as it was."""
        self._make_room(learner)
        with ThreadPoolExecutor(self.n_threads) as pool:
            met = list(pool.map(lambda rows: self._features(learner, rows), dealt))
            self._counts[:] = 0
            for slots in met:
                count(slots, self._counts)
            return list(pool.map(lambda *both: self._learned_by(learner, *both), dealt, met))

    def _make_room(self, learner: Learner) -> None:
        if len(self._counts) != learner.n_features:
            self._counts = np.zeros(learner.n_features, np.int32)
            self._desks = SimpleQueue()
            for _ in range(self.n_threads):
                self._desks.put(Desk(learner))

    def _features(self, learner: Learner, parts: Sequence[Rows]) -> Numbers:
        with self._desk() as desk:
            return features_of(learner, parts, desk)

    def _learned_by(self, learner: Learner, parts: Sequence[Rows], slots: Numbers) -> Learned:
        with self._desk() as desk:
            return learned_by(learner, parts, slots, self._counts, self.n_shards, desk)

    @contextmanager
    def _desk(self) -> Iterator[Desk]:
        desk = self._desks.get()
        try:
            yield desk
        finally:
            self._desks.put(desk)


def check_sharding(n_shards: int, task: Any) -> None:
    """Refuse shards for what cannot be learned in them."""
    if n_shards == 1:
        return
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


def _dealt(parts: Sequence[Rows], n_shards: int) -> tuple[list[list[Rows]], list[Rows]]:
    """The rows of each shard that gets any, and the last rows, which settle the model.

    A shard gets rows that follow each other, as many examples as any other, or one more.
    """
    is_example = np.concatenate([part.importance != 0.0 for part in parts])
    n_before = np.concatenate([[0], np.cumsum(is_example)])
    n_examples = int(n_before[-1])
    n_settling = max(n_examples // SETTLING, min(FEWEST_SETTLING, n_examples // 4))
    n_dealt = n_examples - n_settling
    ends = np.searchsorted(n_before, [n_dealt * k // n_shards for k in range(n_shards + 1)])
    shards = [list(_between(parts, *bounds)) for bounds in pairwise(ends.tolist())]
    return [rows for rows in shards if rows], list(_between(parts, int(ends[-1]), len(is_example)))


def _between(parts: Sequence[Rows], begin: int, end: int) -> Iterator[Rows]:
    """The rows from `begin` up to `end` of all."""
    for part in parts:
        n_rows = len(part.y)
        if begin < n_rows and end > 0:
            yield part_of(part, max(begin, 0), min(end, n_rows))
        begin, end = begin - n_rows, end - n_rows


def merge(learner: Learner, learned: Sequence[Learned]) -> None:
    """Add what shards have learned to the model, in their order."""
    clock = next_round(learner.rule, learner.clock)
    n_examples = 0
    for shard in learned:
        add_up(learner, clock, shard)
        learner.progress += shard.progress
        for rows in shard.rows:
            n_examples += int(np.count_nonzero(rows.importance))
            learner.set_reference(learner.reference.after(rows))
    learner.clock = at_round(learner, learner.clock.t + n_examples)
