"""What one shard does in a round: learn its rows, and say what they add to the model."""

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Numbers, Rows
from rarefy.engine.learner import Learner
from rarefy.engine.merged_sums import n_sums
from rarefy.engine.state import new_state
from rarefy.jit import compiled
from rarefy.jit.intrinsics import load, store
from rarefy.model.clock import Clock, next_round
from rarefy.rules.echo import echo_of

Counts = NDArray[np.int32]
SHARE = 0.7  # of the shards that meet a feature, for which each of them stands


class Desk:
    """The memory that a thread works with, for one shard after the other."""

    def __init__(self, learner: Learner) -> None:
        self.marks = np.zeros(learner.n_features, np.bool_)
        n_fields = len(echo_of(learner.rule).state_fields)
        self.state = new_state(n_fields, learner.n_features * learner.n_outputs)


class Learned(NamedTuple):
    """What a shard has learned in a round."""

    slots: Numbers
    added: Floats  # to the sums of each coordinate
    added_to_intercepts: Floats
    progress: Floats
    rows: Sequence[Rows]


def features_of(learner: Learner, parts: Sequence[Rows], desk: Desk) -> Numbers:
    """The slots of the features of rows, and of those that are centred."""
    desk.marks[learner.reference.slots] = True
    for part in parts:
        _mark(part, desk.marks)
    slots = np.flatnonzero(desk.marks)
    desk.marks[slots] = False
    return slots


def learned_by(
    learner: Learner,
    parts: Sequence[Rows],
    slots: Numbers,
    counts: Counts,
    n_shards: int,
    desk: Desk,
) -> Learned:
    """What a shard learns from rows with features in these slots.

    `counts` says how many shards meet a feature, by slot.
    """
    own = copy(learner)
    own.rule, own.intercept_rule = echo_of(learner.rule), echo_of(learner.intercept_rule)
    own.calibration, own.progress = None, np.zeros(3)
    own.state, n_fields = desk.state, len(learner.rule.state_fields)
    _gather(learner.state, slots, learner.n_outputs, n_fields, counts, own.state)
    n_fields = len(learner.intercept_rule.state_fields)
    own.intercept_state = new_state(n_fields + 1, len(learner.intercept_state))
    own.intercept_state[:, :n_fields] = learner.intercept_state[:, :n_fields]
    own.intercept_state[:, n_fields] = n_shards
    for part in parts:
        own.learn(part, restorable=False)
    clock, n_outputs = next_round(learner.rule, learner.clock), learner.n_outputs
    added = np.empty((len(slots) * n_outputs, n_sums(learner.rule, clock)))
    _difference(learner.rule, own.rule, clock, learner.state, own.state, slots, n_outputs, added)
    return Learned(slots, added, _added_to_intercepts(learner, own), own.progress, parts)


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


def add_up(learner: Learner, clock: Clock, shard: Learned) -> None:
    """Add what a shard has added to the sums of the model."""
    total = np.empty(shard.added.shape[1])
    _add(learner.rule, clock, learner.state, shard.slots, shard.added, learner.n_outputs, total)
    rule = learner.intercept_rule
    clock, n_fields = next_round(rule, learner.clock), len(rule.state_fields)
    for output, state in enumerate(learner.intercept_state.tolist()):
        sums = np.add(
            rule.to_sums(clock, tuple(state[:n_fields])), shard.added_to_intercepts[output]
        )
        learner.intercept_state[output, :n_fields] = rule.from_sums(clock, tuple(sums.tolist()))


@compiled
def _mark(rows: Rows, marks: NDArray[np.bool_]) -> None:
    """Mark the features of rows that are examples."""
    for row in range(len(rows.y)):
        if rows.importance[row] != 0.0:
            for j in range(rows.indptr[row], rows.indptr[row + 1]):
                marks[rows.indices[j]] = True


@compiled
def count(slots: Numbers, counts: Counts) -> None:
    """Count a shard that meets features in these slots."""
    for j in range(len(slots)):
        counts[slots[j]] += 1


@compiled
def _gather(
    state: Floats, slots: Numbers, n_outputs: int, n_fields: int, counts: Counts, own: Floats
) -> None:
    """Copy the state of some features, and write behind it how often they count."""
    for j in range(len(slots)):
        times = max(SHARE * counts[slots[j]], 1.0)
        for slot in range(slots[j] * n_outputs, (slots[j] + 1) * n_outputs):
            for k in range(n_fields):
                own[slot, k] = state[slot, k]
            own[slot, n_fields] = times


@compiled
def _difference(
    rule: Any,
    echo: Any,
    clock: Any,
    state: Floats,
    own: Floats,
    slots: Numbers,
    n_outputs: int,
    added: Floats,
) -> None:
    """Write by how much a shard's rows themselves have enlarged the sums of each coordinate."""
    for j in range(len(slots)):
        for z in range(n_outputs):
            before = rule.to_sums(clock, load(rule, state, slots[j] * n_outputs + z))
            echoed = load(echo, own, slots[j] * n_outputs + z)
            after, each = rule.to_sums(clock, echoed[:-1]), 1.0 / echoed[-1]
            for k in range(len(before)):
                added[j * n_outputs + z, k] = (after[k] - before[k]) * each


@compiled
def _add(
    rule: Any,
    clock: Any,
    state: Floats,
    slots: Numbers,
    added: Floats,
    n_outputs: int,
    total: Floats,
) -> None:
    """Enlarge the sums of some features; `total` has room for those of a coordinate."""
    for j in range(len(slots)):
        for z in range(n_outputs):
            slot = slots[j] * n_outputs + z
            before = rule.to_sums(clock, load(rule, state, slot))
            for k in range(len(before)):
                total[k] = before[k] + added[j * n_outputs + z, k]
            store(rule, state, slot, rule.from_sums(clock, total))
