"""Sums of smooth functions over many rounds, without a loop over them.

A term is a NamedTuple with a method at(t). Early and short stretches are added up; for the others
the sum is the integral with shifted ends and central-difference corrections (Euler-Maclaurin),
taken by Gauss's rule on a logarithmic axis, on which the term is smooth.
"""

import math
from typing import Any

import numpy as np

from rarefy.jit import helper

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
SMOOTH_FROM = 64.0  # rounds from which a sum over rounds is replaced by an integral
_SHORT = 48.0  # as many rounds, at most, are added up
_STAGE = 16.0  # a stretch that is longer in proportion is taken in several
_RAGGED = 3.0  # rounds before a term is cut off at zero: corrections look so far ahead


@helper
def sum_between(term: Any, after: float, until: float) -> float:
    """The sum of the term over the rounds after+1 ... until."""
    total = 0.0
    tau = after
    while tau < until and (tau < SMOOTH_FROM or until - tau <= _SHORT):
        tau += 1.0
        total += term.at(tau)
    if tau == until:
        return total
    return smooth_sum(term, tau, until, total)


@helper
def smooth_sum(term: Any, after: float, until: float, total: float) -> float:
    """`total` and the sum of the term, by its integral; the ends need not be whole numbers."""
    low, high = math.log(after + 0.5), math.log(until + 0.5)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    for k in range(len(_NODES)):
        x = math.exp(middle + half * _NODES[k])
        total += half * _NODE_WEIGHTS[k] * x * term.at(x)
    for end in (after, until):
        f0 = term.at(end - 1.0)
        f1 = term.at(end)
        f2 = term.at(end + 1.0)
        f3 = term.at(end + 2.0)
        first, third = f2 - f1, f3 - 3.0 * f2 + 3.0 * f1 - f0
        correction = -first / 24.0 + third * 17.0 / 5760.0
        total += correction if end == until else -correction
    return total


@helper
def sum_until_zero(term: Any, after: float, until: float) -> float:
    """The sum over the rounds after+1 ... until of a term that stays at zero once it is there."""
    end = last_nonzero(term, after, until)
    total = 0.0
    tau = max(end - _RAGGED, after)
    while tau < end:
        tau += 1.0
        total += term.at(tau)
    end = max(end - _RAGGED, after)
    begin = after
    while begin < end:
        stage = min(end, max(math.floor(_STAGE * begin), _STAGE * SMOOTH_FROM))
        total += sum_between(term, begin, stage)
        begin = stage
    return total


@helper
def last_nonzero(term: Any, after: float, until: float) -> float:
    """The last of the rounds after+1 ... until in which the term is not zero, or `after`."""
    if after >= until or term.at(until) != 0.0:
        return until
    low, high = after, until  # low: not zero, or no such round; high: zero
    while high - low > 1.0:
        middle = math.floor(0.5 * (low + high))
        if term.at(middle) != 0.0:
            low = middle
        else:
            high = middle
    return low
