"""The clock: compensated sums, and their values at rounds that were never played."""

import math

import numpy as np
import pytest

from rarefy.model.clock import clock_after, compensated_add, decay_between, next_round
from rarefy.model.schedules import SCHEDULES, InvSqrt
from rarefy.rules.fobos import Fobos
from rarefy.rules.leader import Ftprl

L2 = 0.01
RULES = [Fobos(l2=L2), Ftprl(l2=L2)]


def decay_of_rounds(rule, schedule, after, until):
    """The sum of log_decay over the rounds, term by term."""
    rounds = np.arange(after + 1.0, until + 1.0)
    return math.fsum(rule.log_decay(t, schedule.eta(t)) for t in rounds)


@pytest.mark.parametrize("rule", RULES, ids=["fobos", "ftprl"])
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize(
    ("after", "until"), [(0, 0), (0, 1), (0, 50), (0, 40_000), (70, 75), (63, 64), (500, 90_000)]
)
def test_decay_between_equals_the_sum_over_rounds(rule, name, after, until):
    schedule = SCHEDULES[name](0.5)
    expected = decay_of_rounds(rule, schedule, after, until)
    assert decay_between(rule, schedule, float(after), float(until)) == pytest.approx(
        expected, rel=1e-12, abs=1e-15
    )


@pytest.mark.parametrize("rule", RULES, ids=["fobos", "ftprl"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_played_clock_equals_one_that_was_set(rule, name):
    clock = clock_after(rule, SCHEDULES[name](0.5))
    for _ in range(3_000):
        clock = next_round(rule, clock)
    expected = clock_after(rule, SCHEDULES[name](0.5), 3_000.0)
    assert clock.t == expected.t
    assert clock.eta == expected.eta
    assert clock.total == pytest.approx(expected.total, rel=1e-14)
    assert clock.decay == pytest.approx(expected.decay, rel=1e-12)


def test_before_means_the_round_before():
    rule = Fobos(l2=L2)
    second = next_round(rule, next_round(rule, clock_after(rule, InvSqrt(1.0))))
    assert second.t == 2.0
    assert second.eta_before == 1.0
    assert second.total_before == 1.0
    assert second.total == 1.0 + second.eta
    assert second.decay - second.decay_before == pytest.approx(rule.log_decay(2.0, second.eta))


def test_compensation_keeps_what_plain_addition_loses():
    total, lost = 1e9, 0.0
    for _ in range(100_000):
        total, lost = compensated_add(total, lost, 1e-8)
    assert total - lost == pytest.approx(1e9 + 1e-3, abs=1.2e-7)
    plain = np.cumsum([1e9, *[1e-8] * 100_000])[-1]
    assert plain != pytest.approx(1e9 + 1e-3, abs=1e-5)
