"""The part of a round that one shard learns, without changing the model."""

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from rarefy.arrays import Floats, Rows
from rarefy.engine.learner import Learner
from rarefy.engine.state import CountedState, new_state
from rarefy.model.clock import next_round
from rarefy.rules.echo import echo_of


class Learned(NamedTuple):
    """What a shard has learned beside the state of its features."""

    rows: Sequence[Rows]
    added_to_intercepts: Floats  # to their sums
    progress: Floats


def learned_by(
    learner: Learner,
    rows: Sequence[Rows],
    numbered: Sequence[Rows],
    state: CountedState,
    n_shards: int,
) -> Learned:
    """Learn rows as one of so many shards; the learner stays as it is.

    They are `numbered` if they are relative, and have numbers of coordinates in the state.
    """
    own = copy(learner)
    own.rule, own.intercept_rule = echo_of(learner.rule), echo_of(learner.intercept_rule)
    own.state = state  # type: ignore[assignment]
    own.progress = np.zeros(3)
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
