"""Rules that look at a whole example (`meet`), for losses with a score for every class."""

from typing import Any

import numpy as np

from rarefy.arrays import Floats
from rarefy.jit import inlined
from rarefy.jit.intrinsics import load
from rarefy.jit.sum_tuples import plus, row_zeros
from rarefy.model.clock import Clock, with_common
from rarefy.model.example import Example
from rarefy.model.multiclass import best_wrong


@inlined
def _with_class(parts: Any, sums: Any, begin: Any, end: Any, clock: Clock, z: int, n: int) -> Any:
    """The sums with the row's terms of one of n classes."""
    rule, intercept_rule, _, indices, values, state, intercept = parts
    if len(intercept) > 0:
        old = load(intercept_rule, intercept, z)
        sums = plus(sums, intercept_rule.row_terms(clock, old, 1.0))
    for j in range(begin, end):
        old = load(rule, state, np.intp(indices[j]) * n + z)
        sums = plus(sums, rule.row_terms(clock, old, values[j]))
    return sums


@inlined
def meet_pair(
    parts: Any,
    begin: Any,
    end: Any,
    clock: Clock,
    label: int,
    weight: float,
    scores: Floats,
    slopes: Floats,
) -> Clock:
    """Let the rule change the slopes of the right class and the best wrong one; the clock then.

    `parts` are rule and intercept rule, the loss, indices and values of rows, and both states. If
    the loss is not of two scores, nothing happens.
    """
    rule, _, loss, _, _, _, _ = parts
    if not loss.is_of_two_scores():
        return clock
    rival, n = best_wrong(scores, label), len(scores)
    sums = _with_class(parts, row_zeros(rule), begin, end, clock, label, n)
    sums = _with_class(parts, sums, begin, end, clock, rival, n)
    score = scores[label] - scores[rival]
    example = Example(score, 1.0, slopes[label], weight, sums, 2.0, 1.0, 0.0)
    common, slope = rule.meet(clock, example)
    slopes[label], slopes[rival] = slope, -slope
    return with_common(clock, common)


@inlined
def meet_class(
    parts: Any,
    begin: Any,
    end: Any,
    clock: Clock,
    z: int,
    label: int,
    weight: float,
    scores: Floats,
    slopes: Floats,
) -> Clock:
    """Let the rule change the slope of one class; nothing happens if the loss is of two scores."""
    rule, _, loss, _, _, _, _ = parts
    if loss.is_of_two_scores():
        return clock
    sums = _with_class(parts, row_zeros(rule), begin, end, clock, z, len(scores))
    y = 1.0 if z == label else -1.0
    example = Example(scores[z], y, slopes[z], weight, sums, 1.0, 1.0 / len(scores), 0.0)
    common, slopes[z] = rule.meet(clock, example)
    return with_common(clock, common)
