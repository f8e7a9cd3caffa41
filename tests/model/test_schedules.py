"""Steps and their running sums."""

import math

import numpy as np
import pytest

from rarefy.model.schedules import EXACT_ROUNDS, SCHEDULES, Constant, InvSqrt, InvT

ETA = {
    "inv_sqrt": lambda t: 1.0 / np.sqrt(t),
    "constant": np.ones_like,
    "inv_t": lambda t: 1.0 / t,
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("t", [1, 2, 31, 32, 33, 40, 1_000, 1_000_000])
def test_eta_and_total_are_the_step_and_the_sum_of_steps(name, t):
    schedule = SCHEDULES[name](0.3)
    steps = ETA[name](np.arange(1.0, t + 1.0))
    assert schedule.eta(float(t)) == pytest.approx(0.3 * steps[-1], rel=1e-15)
    assert schedule.total(float(t)) == pytest.approx(0.3 * math.fsum(steps), rel=2e-15)


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("t", [1e9, 1e12])
def test_total_grows_by_the_steps_at_late_rounds(name, t):
    schedule = SCHEDULES[name](1.0)
    grown = schedule.total(t + 1e6) - schedule.total(t)
    steps = math.fsum(ETA[name](t + np.arange(1.0, 1e6 + 1.0)))
    assert grown == pytest.approx(steps, abs=4 * np.spacing(schedule.total(t)))


@pytest.mark.parametrize("kind", [InvSqrt, InvT])
def test_no_jump_where_the_closed_form_begins(kind):
    before, after = kind(1.0).total(EXACT_ROUNDS), kind(1.0).total(EXACT_ROUNDS + 1.0)
    assert after - before == pytest.approx(kind(1.0).eta(EXACT_ROUNDS + 1.0), rel=1e-14)


def test_no_round_has_no_sum():
    assert [kind(2.0).total(0.0) for kind in (InvSqrt, Constant, InvT)] == [0.0, 0.0, 0.0]
