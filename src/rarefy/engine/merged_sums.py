"""Merging models that have learned different rows of the same problem.

What a rule knows of a coordinate is made of sums over examples (a rule says which, and how far that
is exact: `to_sums`). So what models have added to a common beginning can be added up,

    merged = base + (A - base) + (B - base) + ... = A + B + ... - (n - 1) base,

where the base is empty unless there is one. It makes no difference in which order and in which
groups models are merged, but for rounding.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats, Numbers
from rarefy.engine.learner import Learner
from rarefy.jit import compiled
from rarefy.jit.intrinsics import load, store
from rarefy.model.calibration import PRIOR, Calibration
from rarefy.model.clock import Clock, clock_after, next_round


class Part(NamedTuple):
    """A model that is to be merged, and where its features and classes are in the merged one."""

    learner: Learner
    slots: Numbers  # of its features
    features: Numbers  # the numbers of these among all features
    outputs: Numbers  # the numbers of its outputs among all outputs


def can_be_merged(rule: Any) -> bool:
    """Whether a rule says of which sums its state is made."""
    return hasattr(rule, "to_sums")


def n_sums(rule: Any, clock: Clock) -> int:
    return len(rule.to_sums(clock, (0.0,) * len(rule.state_fields)))


def merge_into(
    learner: Learner, slots: Numbers, parts: Sequence[Part], base: Part | None = None
) -> None:
    """Make a learner that has not learned yet know what the parts have learned since the base.

    `slots` are those of all features, in the order of their numbers; there is room for them.
    """
    learners = [part.learner for part in parts]
    begun = None if base is None else base.learner
    learner.clock = _merged_clock(learners, begun)
    learner.progress[:] = _merged([one.progress for one in learners], begun and begun.progress)
    learner.calibration = _merged_calibration([one.calibration for one in learners])
    every_class = np.arange(learner.n_outputs)
    _set_state(
        learner.rule,
        next_round(learner.rule, learner.clock),
        _sums(parts, base, len(slots), learner.n_outputs),
        (slots[:, np.newaxis] * learner.n_outputs + every_class).ravel(),
        learner.state,
    )
    if len(learner.intercept_state):
        of_intercepts = [_only_intercepts(part) for part in parts]
        base = None if base is None else _only_intercepts(base)
        _set_state(
            learner.intercept_rule,
            next_round(learner.intercept_rule, learner.clock),
            _sums(of_intercepts, base, 1, learner.n_outputs),
            every_class,
            learner.intercept_state,
        )


def _only_intercepts(part: Part) -> Part:
    """The model as one of a single feature, the intercept."""
    of_intercepts = Learner(
        part.learner.intercept_rule,
        part.learner.clock.schedule,
        part.learner.loss,
        n_features=1,
        n_outputs=part.learner.n_outputs,
    )
    of_intercepts.clock, of_intercepts.state = part.learner.clock, part.learner.intercept_state
    first = np.zeros(1, np.int64)
    return Part(of_intercepts, first, first, part.outputs)


def _sums(parts: Sequence[Part], base: Part | None, n_features: int, n_outputs: int) -> Floats:
    """The sums of every coordinate of the merged model."""
    rule = parts[0].learner.rule
    width = n_sums(rule, next_round(rule, parts[0].learner.clock))
    totals = np.zeros((n_features * n_outputs, width))
    n_knowing = np.zeros(n_features, np.int64)
    for part in parts:
        _add(part, np.ones(len(part.features)), n_outputs, totals)
        n_knowing[part.features] += 1
    if base is not None:
        # a model that has dropped a feature of the base has added nothing to it
        _add(base, (1 - n_knowing[base.features]).astype(np.float64), n_outputs, totals)
    return totals


def _add(part: Part, factors: Floats, n_outputs: int, totals: Floats) -> None:
    learner = part.learner
    clock = next_round(learner.rule, learner.clock)
    _add_sums(
        learner.rule,
        clock,
        learner.state,
        part.slots,
        part.features,
        part.outputs,
        factors,
        n_outputs,
        totals,
    )


@compiled
def _add_sums(
    rule: Any,
    clock: Any,
    state: Floats,
    slots: Numbers,
    features: Numbers,
    outputs: Numbers,
    factors: Floats,
    n_outputs: int,
    totals: Floats,
) -> None:
    """Add the sums of the features in these slots, times a factor each, to those of all."""
    for j in range(len(slots)):
        for z in range(len(outputs)):
            sums = rule.to_sums(clock, load(rule, state, slots[j] * len(outputs) + z))
            to = features[j] * n_outputs + outputs[z]
            for k in range(len(sums)):
                totals[to, k] += factors[j] * sums[k]


@compiled
def _set_state(rule: Any, clock: Any, totals: Floats, slots: Numbers, state: Floats) -> None:
    """Write the states that are made of these sums."""
    for j in range(len(slots)):
        store(rule, state, slots[j], rule.from_sums(clock, totals[j]))


def _merged(numbers: Sequence[Any], at_first: Any) -> Any:
    """The sum of what there was at first, if anything, and of what was added to that."""
    total = sum(numbers[1:], numbers[0])
    return total if at_first is None else total - (len(numbers) - 1) * at_first


def _merged_clock(learners: Sequence[Learner], base: Learner | None) -> Clock:
    """The clock when all examples have been learned."""
    clocks = [learner.clock for learner in learners]
    begun = None if base is None else base.clock
    t, mistakes = (
        _merged([getattr(clock, name) for clock in clocks], begun and getattr(begun, name))
        for name in ("t", "mistakes")
    )
    return at_round(learners[0], t)._replace(
        mistakes=mistakes, pass_number=max(clock.pass_number for clock in clocks)
    )


def at_round(learner: Learner, t: float) -> Clock:
    """The clock of a learner when t examples have been learned."""
    clock = learner.clock
    return clock_after(learner.rule, clock.schedule, t)._replace(
        **{name: getattr(clock, name) for name in Clock._fields[10:]}
    )


def _merged_calibration(parts: Sequence[Calibration | None]) -> Calibration | None:
    """The mean of the slopes, each of which counts by what it rests on."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    slopes, squares, *others = np.array(known).T
    slope = float(np.average(slopes, weights=PRIOR + squares))
    return Calibration(slope, *(float(one.sum()) for one in (squares, *others)))
