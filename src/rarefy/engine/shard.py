"""The part of a round that one shard learns, without changing the model."""

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from rarefy.arrays import Floats, Rows
from rarefy.engine.learner import Learner
from rarefy.model.clock import next_round
from rarefy.rules.echo import echo_of


class Learned(NamedTuple):
    """What a shard has learned beside the state of its features."""

    rows: Sequence[Rows]
    intercept_state: Floats
    progress: Floats


def learned_by(
    learner: Learner,
    rows: Sequence[Rows],
    numbered: Sequence[Rows],
    state: Floats,
    n_shards: int,
) -> Learned:
    """Learn rows as one of so many shards; the learner stays as it is.

    They are `numbered` if they are relative, and have numbers of coordinates in the state.
    """
    own = copy(learner)
    own.rule = echo_of(learner.rule, n_shards)
    own.intercept_rule = echo_of(learner.intercept_rule, n_shards)
    own.state, own.intercept_state = state, learner.intercept_state.copy()
    own.progress = np.zeros(3)
    for part in numbered:
        own.learn_relative(part)
    return Learned(rows, own.intercept_state, own.progress)


def average_intercepts(learner: Learner, learned: Sequence[Learned]) -> None:
    """Let the intercepts be the mean of what shards have made of them."""
    rule = learner.intercept_rule
    clock, n_fields = next_round(rule, learner.clock), len(rule.state_fields)
    states = np.array([of_shard.intercept_state[:, :n_fields] for of_shard in learned])
    for output, of_shards in enumerate(states.swapaxes(0, 1)):
        if (of_shards == of_shards[0]).all():
            learner.intercept_state[output, :n_fields] = of_shards[0]
            continue
        total = np.array(rule.to_means(clock, tuple(of_shards[0].tolist())))
        for state in of_shards[1:].tolist():
            total += rule.to_means(clock, tuple(state))
        mean = tuple((total * (1.0 / len(learned))).tolist())
        learner.intercept_state[output, :n_fields] = rule.from_means(clock, mean)
