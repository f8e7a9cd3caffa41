"""What every coordinate needs to know about the current round, computed once per example.

Besides the round and its step, the clock holds two running sums by which lazy coordinates find
out what they missed: `total`, S_t, and `decay`, by how much the l2 penalty alone has lowered
log|w| since the beginning. Both are compensated sums, right to the last bit or two at any round.
"""

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from rarefy.jit import helper

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
_SMOOTH_FROM = 64.0  # rounds from which a sum over rounds is replaced by an integral


class Clock(NamedTuple):
    """Round t is being played; `_before` means after round t - 1."""

    schedule: Any
    t: float
    eta: float
    total: float
    decay: float
    eta_before: float
    total_before: float
    decay_before: float
    total_lost: float  # what rounding has taken from the two sums so far
    decay_lost: float
    mistakes: float = 0.0  # wrong predictions so far, counted where steps depend on them
    pass_number: float = 1.0  # how often the examples have been learned, this time included
    unit: float = 1.0  # of scores: in regression, half of how far targets spread
    slope: float = 1.0  # of an example whose score is off by a unit
    steepest: float = sys.float_info.max  # the largest slope of an example of weight 1


@helper
def next_round(rule: Any, clock: Clock) -> Clock:
    """The clock of round t + 1."""
    return round_with_step(rule, clock, clock.schedule.eta(clock.t + 1.0), clock.mistakes)


@helper
def round_with_step(rule: Any, clock: Clock, eta: float, mistakes: float) -> Clock:
    """The clock of round t + 1, if that has some other step than the schedule's."""
    t = clock.t + 1.0
    total, total_lost = compensated_add(clock.total, clock.total_lost, eta)
    decay, decay_lost = compensated_add(clock.decay, clock.decay_lost, rule.log_decay(t, eta))
    return Clock(
        clock.schedule,
        t,
        eta,
        total,
        decay,
        clock.eta,
        clock.total,
        clock.decay,
        total_lost,
        decay_lost,
        mistakes,
        clock.pass_number,
        clock.unit,
        clock.slope,
        clock.steepest,
    )


@helper
def compensated_add(total: float, lost: float, term: float) -> tuple[float, float]:
    """Kahan's sum: the new total and the rounding error to take back next time."""
    corrected = term - lost
    new_total = total + corrected
    return new_total, (new_total - total) - corrected


def clock_after(rule: Any, schedule: Any, t: float = 0.0) -> Clock:
    """The clock when t rounds have been played, without playing them."""
    eta = schedule.eta(max(t, 1.0))
    total, decay = schedule.total(t), decay_between(rule, schedule, 0.0, t)
    return Clock(schedule, float(t), eta, total, decay, eta, total, decay, 0.0, 0.0)


@helper
def decay_between(rule: Any, schedule: Any, after: float, until: float) -> float:
    """The sum of the rule's log_decay over the rounds after+1 ... until.

    Early and short stretches are added up; for the others the sum is the integral with shifted
    ends and central-difference corrections (Euler-Maclaurin), taken by Gauss's rule on a
    logarithmic axis, on which the summand is smooth.
    """
    total = 0.0
    tau = after
    while tau < until and (tau < _SMOOTH_FROM or until - tau <= 48.0):
        tau += 1.0
        total += rule.log_decay(tau, schedule.eta(tau))
    if tau == until:
        return total
    low, high = math.log(tau + 0.5), math.log(until + 0.5)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    for k in range(len(_NODES)):
        x = math.exp(middle + half * _NODES[k])
        total += half * _NODE_WEIGHTS[k] * x * rule.log_decay(x, schedule.eta(x))
    for end in (tau, until):
        f0 = rule.log_decay(end - 1.0, schedule.eta(end - 1.0))
        f1 = rule.log_decay(end, schedule.eta(end))
        f2 = rule.log_decay(end + 1.0, schedule.eta(end + 1.0))
        f3 = rule.log_decay(end + 2.0, schedule.eta(end + 2.0))
        first, third = f2 - f1, f3 - 3.0 * f2 + 3.0 * f1 - f0
        correction = -first / 24.0 + third * 17.0 / 5760.0
        total += correction if end == until else -correction
    return total
