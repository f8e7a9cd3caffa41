"""Learners whose weights are set from outside, and that learn on from there."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.engine.learner import Learner
from rarefy.jit import compiled
from rarefy.jit.intrinsics import load
from rarefy.model.clock import Clock, next_round
from rarefy.rules.averaging import SUM, is_averaged, predicting

TOLERANCE = 1e-9  # of the largest weight
BEYOND = 1e100  # any number of a state


def moved(
    learner: Learner, slots: NDArray[np.int64], weights: Floats, intercepts: Floats
) -> Learner | None:
    """A copy that has other weights in some slots, and other intercepts.

    One number of each state is changed, from which the weight follows: the weight itself, the sum
    of subgradients, or that of past weights. All else that the rule knows of a feature stays. None
    if no state has such a weight, or if weights depend on sums over the states of all features, so
    that none can be set by itself: the learner cannot be moved there.
    """
    if learner.rule.step_sums:
        return None
    other = copy(learner)
    other.state, other.progress = learner.state.copy(), learner.progress.copy()
    other.intercept_state = learner.intercept_state.copy()
    off = _set(other, other.rule, other.state, slots, weights)
    if len(other.intercept_state):
        outputs = np.arange(len(intercepts))
        own = _weights(other, other.intercept_rule, other.intercept_state)
        wanted = own + (intercepts - other.intercept())
        off = max(off, _set(other, other.intercept_rule, other.intercept_state, outputs, wanted))
    off = max(off, float(np.abs(other.intercept() - intercepts).max()))
    largest = max(np.abs(weights).max(initial=0.0), np.abs(intercepts).max())
    return other if off <= TOLERANCE * largest else None


def _set(
    learner: Learner, rule: Any, state: Floats, slots: NDArray[np.int64], weights: Floats
) -> float:
    """Set the weights of slots; by how much one is off at most."""
    field = rule.state_fields.index(SUM) if is_averaged(rule) else 0
    clock = next_round(learner.rule, learner.clock)
    return float(_set_weights(predicting(rule), clock, state, field, slots, weights))


def _weights(learner: Learner, rule: Any, state: Floats) -> Floats:
    """The weights of all states."""
    clock, n_fields = next_round(learner.rule, learner.clock), len(rule.state_fields)
    return np.array(
        [predicting(rule).weight(clock, tuple(row[:n_fields])) for row in state.tolist()]
    )


@compiled
def _set_weights(
    rule: Any, clock: Clock, state: Floats, field: int, slots: NDArray[np.int64], weights: Floats
) -> float:
    """Change one number of the state of each slot until its weight is the wanted one.

    The weight never falls, or never rises, with that number; so the two neighbouring numbers around
    the wanted weight are found by halving. Returns by how much a weight is off at most.
    """
    furthest = 0.0
    for j in range(len(slots)):
        slot, wanted = slots[j], weights[j]
        if rule.weight(clock, load(rule, state, slot)) == wanted:
            continue
        size = max(abs(state[slot, field]), 1e-9)
        state[slot, field] = BEYOND
        sign = 1.0 if rule.weight(clock, load(rule, state, slot)) > 0.0 else -1.0
        low, high = -size, size  # times the sign: the weight rises from low to high
        state[slot, field] = sign * low
        while low > -BEYOND and rule.weight(clock, load(rule, state, slot)) > wanted:
            low *= 4.0
            state[slot, field] = sign * low
        state[slot, field] = sign * high
        while high < BEYOND and rule.weight(clock, load(rule, state, slot)) < wanted:
            high *= 4.0
            state[slot, field] = sign * high
        middle = 0.5 * (low + high)
        while low < middle < high:
            state[slot, field] = sign * middle
            if rule.weight(clock, load(rule, state, slot)) < wanted:
                low = middle
            else:
                high = middle
            middle = 0.5 * (low + high)
        state[slot, field] = sign * low
        off = abs(rule.weight(clock, load(rule, state, slot)) - wanted)
        state[slot, field] = sign * high
        off_above = abs(rule.weight(clock, load(rule, state, slot)) - wanted)
        if off < off_above:
            state[slot, field] = sign * low
        furthest = max(furthest, min(off, off_above))
    return furthest
