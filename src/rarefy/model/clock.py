"""What all coordinates need to know about the current round, computed once per row.

Besides the round and its step, the clock holds two running sums by which lazy coordinates find
out what they missed: `total`, S_t, and `decay`, by how much the l2 penalty alone has lowered
log|w| since the beginning. Both are compensated sums, right to the last bit or two at any round.
"""

import sys
from typing import Any, NamedTuple

from rarefy.jit import compile_methods, helper
from rarefy.model.sums import SMOOTH_FROM, smooth_sum, sum_between


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
    common: tuple[float, ...] = ()  # what a rule keeps for all coordinates together


@helper
def clock_of(schedule: Any, n: Any) -> Clock:
    """The clock with this schedule and nothing in common; all other numbers are in an array."""
    return Clock(
        schedule, n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12],
        n[13], (),
    )  # fmt: skip


@helper
def write_clock(clock: Clock, numbers: Any) -> None:
    """Write all numbers of a clock to an array, but the schedule's and those in common."""
    own = clock[1:15]
    for k in range(len(own)):
        numbers[k] = own[k]


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
        clock.common,
    )


@helper
def with_common(clock: Clock, common: tuple[float, ...]) -> Clock:
    """The clock with other floats that all coordinates have in common."""
    return Clock(
        clock.schedule,
        clock.t,
        clock.eta,
        clock.total,
        clock.decay,
        clock.eta_before,
        clock.total_before,
        clock.decay_before,
        clock.total_lost,
        clock.decay_lost,
        clock.mistakes,
        clock.pass_number,
        clock.unit,
        clock.slope,
        clock.steepest,
        common,
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
    clock = Clock(schedule, float(t), eta, total, decay, eta, total, decay, 0.0, 0.0)
    return clock._replace(common=(0.0,) * len(rule.common_fields))


@compile_methods
class LogDecay(NamedTuple):
    """By how much the l2 penalty lowers log|w| in a round."""

    rule: Any
    schedule: Any

    def at(self, t: float) -> float:
        return self.rule.log_decay(t, self.schedule.eta(t))  # type: ignore[no-any-return]


@helper
def decay_between(rule: Any, schedule: Any, after: float, until: float) -> float:
    """The sum of the rule's log_decay over the rounds after+1 ... until."""
    if rule.log_decay(1.0, 1.0) == 0.0:
        return 0.0
    return sum_between(LogDecay(rule, schedule), after, until)


@helper
def earlier_round(rule: Any, clock: Clock, t: float) -> Clock:
    """The clock of a round before this one, if steps are the schedule's; t may be a fraction.

    It has what weights depend on: what was before the round.
    """
    played, now = t - 1.0, clock.t - 1.0
    eta, total = clock.schedule.eta(played), clock.schedule.total(played)
    decay = clock.decay_before
    if rule.log_decay(1.0, 1.0) != 0.0 and played < now:
        if played < SMOOTH_FROM:
            decay -= decay_between(rule, clock.schedule, played, now)
        else:
            decay -= smooth_sum(LogDecay(rule, clock.schedule), played, now, 0.0)
    return Clock(
        clock.schedule,
        t,
        eta,
        total,
        decay,
        eta,
        total,
        decay,
        0.0,
        0.0,
        clock.mistakes,
        clock.pass_number,
        clock.unit,
        clock.slope,
        clock.steepest,
        clock.common,
    )
