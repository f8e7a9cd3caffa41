"""A model and others near it, against models that learn by themselves and formulas by hand."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from rarefy.arrays import as_rows
from rarefy.estimators.matrices import as_csr
from rarefy.model.schedules import InvSqrt
from rarefy.parameters.build import make_rule
from rarefy.rules import unpenalised
from rarefy.tuning.challenge import Challenge
from tests.tuned import (
    BINARY,
    REGRESSION,
    SOFTMAX,
    assert_close_points,
    assert_same,
    assert_same_kind,
    learner_in,
    part,
    rows_for,
    rule_in,
    space_of,
    weights_of,
)

KINDS = {
    "scale-free": (BINARY, {"rule": "scale-free"}),
    "ftrl": (BINARY, {"rule": "ftrl"}),
    "frda": (BINARY, {"rule": "frda"}),
    "stationary": (BINARY, {"rule": "frda", "q": 2.0}),
    "classes": (SOFTMAX, {"rule": "fr-comid"}),
    "regression": (REGRESSION, {"rule": "fobos"}),
}
INTERVALS = ((0, 90), (90, 95), (95, 180), (180, 240), (240, 300))


@pytest.fixture(params=KINDS)
def name(request):
    return request.param


@pytest.fixture
def task(name):
    return KINDS[name][0]


@pytest.fixture
def space(name, task):
    return space_of(task, **{"l1": "auto", **KINDS[name][1]})


@pytest.fixture
def model(space, task):
    learner = learner_in(space, {**space.kinds[0][0], "l1": 0.02, "eta0": 0.05}, task)
    learner.learn(rows_for(task, seed=1))
    return learner


def challenge_of(space, model) -> Challenge:
    """Of a copy: the model is given away."""
    model = deepcopy(model)
    return Challenge(space, model, n_outputs=model.n_outputs, fit_intercept=True)


def assert_close(one, other) -> None:
    np.testing.assert_allclose(weights_of(one), weights_of(other), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(one.intercept(), other.intercept(), rtol=1e-10)


def held(challenge: Challenge, rows) -> Challenge:
    for begin, end in INTERVALS:
        challenge.learn(rows, begin, end)
        challenge.compare()
    return challenge


class TestFirst:
    def test_it_learns_as_the_one_alone(self, space, model, task):
        rows = rows_for(task)
        challenge, before = challenge_of(space, model), model.progress.copy()
        for begin, end in ((0, 4), (4, 5), (5, 200)):
            challenge.learn(rows, begin, end)
            model.learn(part(rows, begin, end))
            assert challenge.predictor == 0
            assert_same(challenge.in_use(), model)
        np.testing.assert_array_equal(challenge.in_use().scores(rows), model.scores(rows))
        np.testing.assert_allclose(challenge.progress(), model.progress - before, rtol=1e-10)

    def test_the_others_learn_as_it_would_with_their_parameters(self, space, model, task):
        rows = rows_for(task)
        challenge = challenge_of(space, model)
        challenge.learn(rows, 0, 300)
        assert len(challenge.points) == 8
        for lane, point in enumerate(challenge.points):
            other = deepcopy(model)
            rule, schedule = rule_in(space, point)
            other.rule, other.intercept_rule = rule, unpenalised(rule)
            eta = schedule.eta(other.clock.t)
            other.clock = other.clock._replace(schedule=schedule, eta=eta)
            other.learn(rows)
            assert_same(challenge.learner(lane, point), other)

    def test_features_move_and_grow_in_between(self, space, model, task):
        rows = rows_for(task)
        challenge = challenge_of(space, model)
        for one in (challenge, model):
            one.grow(60)
        challenge.learn(rows, 0, 10)
        model.learn(part(rows, 0, 10))
        old, new = np.arange(0, 60, 2), np.arange(30)[::-1]
        for one in (challenge, model):
            one.move(old, new, 30)
        assert_same(challenge.in_use(), model)
        challenge.learn(rows, 10, 300)
        model.learn(part(rows, 10, 300))
        assert_same(challenge.in_use(), model)

    def test_asking_for_a_model_changes_nothing(self, space, model, task):
        rows = rows_for(task)
        asked, quiet = challenge_of(space, model), challenge_of(space, model)
        for begin in range(0, 300, 20):
            asked.learn(rows, begin, begin + 20)
            for lane in (3, 0, 6):
                asked.learner(lane, asked.points[1])
            quiet.learn(rows, begin, begin + 20)
        for lane in range(8):
            one, other = (some.learner(lane, some.points[lane]) for some in (asked, quiet))
            state = one.state.copy()
            np.testing.assert_array_equal(state, other.state)
            assert_same(one, other)


def geometric_mean(values, weights):
    return np.prod(np.power(values, np.divide(weights, sum(weights))))


def average_by_hand(challenge):
    """Of each free parameter, models counting by how likely they are to be no worse than the best.

    Those that have diverged do not count.
    """
    means = challenge.record.means()
    best = int(np.argmin(means))
    errors = challenge.record.uncertainties(best)
    weights = np.zeros(len(means))
    for lane in np.flatnonzero(np.isfinite(means)):
        behind = means[lane] - means[best]
        weights[lane] = 1.0 if lane == best else np.exp(-0.5 * (behind / errors[lane]) ** 2)
    return best, {
        name: geometric_mean([point[name] for point in challenge.points], weights)
        for name in challenge.space.free
    }


class TestWinner:
    def test_it_has_the_state_of_the_best_and_average_parameters(self, space, model, task):
        challenge = held(challenge_of(space, model), rows_for(task))
        best, average = average_by_hand(challenge)
        winner = challenge.winner()
        assert_close_points(winner.found, {**space.kinds[0][0], **average})
        assert_same_kind((winner.rule, winner.clock.schedule), rule_in(space, winner.found))
        state, intercept = winner.state.copy(), winner.intercept_state
        other = challenge.learner(best, challenge.points[best])
        np.testing.assert_array_equal(state, other.state)
        np.testing.assert_array_equal(intercept, other.intercept_state)
        assert winner.t == model.t + np.count_nonzero(rows_for(task).importance)

    def test_the_best_alone_counts_where_chance_is_not_known(self, space, model, task):
        challenge = challenge_of(space, model)
        challenge.learn(rows_for(task), 0, 300)
        challenge.compare()
        best = int(np.argmin(challenge.record.means()))
        assert_close_points(challenge.winner().found, challenge.points[best])

    def test_parameters_that_are_given_stay(self):
        space = space_of(rule="ftrl", l1="auto", eta0=0.07)
        model = learner_in(space, {**space.kinds[0][0], "l1": 0.02})
        model.learn(rows_for(BINARY, seed=1))
        challenge = held(challenge_of(space, model), rows_for(BINARY))
        assert len(challenge.points) == 4
        _, average = average_by_hand(challenge)
        winner = challenge.winner()
        assert set(average) == {"l1"}
        assert_close_points(winner.found, {**space.kinds[0][0], **average})
        assert winner.rule.eta0 == 0.07


class TestStationary:
    """Where good parameters depend on the number of examples, all models follow it."""

    @pytest.mark.parametrize(
        ("q", "basis", "power"),
        [(1.0, None, 1.0), (2.0, None, 0.5), (1.0, "feature", 1.0), (np.inf, None, 0.0)],
    )
    def test_each_goes_on_as_an_ordinary_model_that_is_told_so_row_by_row(self, q, basis, power):
        """Its l1 falls with the growth of the norm, and its eta0 rises by the power 3/8."""
        space = space_of(rule="frda", q=q, l1="auto", basis=basis)
        model = learner_in(space, {**space.kinds[0][0], "l1": 3e-3, "eta0": 0.05})
        model.learn(rows_for(BINARY, seed=1))
        rows = rows_for(BINARY)
        challenge = challenge_of(space, model)
        ordinary, points = deepcopy(model), challenge.points
        challenge.learn(rows, 0, 100)
        for lane in (0, 1, 7):
            other, point = deepcopy(ordinary), points[lane]
            for row in range(101):
                rule = make_rule("frda", q=q, basis=basis, l1=point["l1"] / other.t**power)[0]
                other.set_rule(rule, InvSqrt(point["eta0"] * other.t**0.375))
                if row < 100:
                    other.learn(part(rows, row, row + 1))
            assert_close(challenge.learner(lane, point), other)
            assert other.weights().nnz > 0

    @pytest.mark.parametrize(
        "given", [{"l1": 0.01, "eta0": "auto"}, {"l1": "auto", "eta0": 0.3}], ids=str
    )
    def test_what_is_given_stays(self, given):
        space = space_of(rule="frda", q=1.0, **given)
        model = learner_in(space, {**space.kinds[0][0], **dict.fromkeys(space.free, 0.05)})
        model.learn(rows_for(BINARY, seed=1))
        challenge = challenge_of(space, model)
        rule, schedule = make_rule("frda", q=1.0, l1=0.01, eta0=0.3)
        for lane in challenge.block.lanes:
            if "l1" in space.free:
                assert_same_kind(lane.schedule, schedule)
            else:
                assert_same_kind(lane.rule, rule)


class TestDivergence:
    """Of one feature that is always there, with steps that never shrink: too large from 1 on."""

    @staticmethod
    def challenge_with(eta0: float) -> Challenge:
        space = space_of(REGRESSION, rule="fobos", l1=1e-6, eta0="auto", schedule="constant")
        model = learner_in(space, {**space.kinds[0][0], "eta0": eta0}, REGRESSION, n_features=1)
        model.learn(part(ONES, 0, 1))
        return Challenge(space, model, n_outputs=1, fit_intercept=True)

    def test_the_challenged_one_is_in_use_as_long_as_it_lives(self):
        challenge = self.challenge_with(0.65)
        for begin, end in ((1, 5), (5, 9)):
            challenge.learn(ONES, begin, end)
            challenge.compare()
        assert challenge.predictor == 0
        for begin in range(9, 800, 100):
            challenge.learn(ONES, begin, begin + 100)
            challenge.compare()
        assert challenge.block.alive.tolist() == [False, True, True, False, False]
        assert challenge.is_alive
        assert challenge.predictor == 1
        assert challenge.in_use().found == challenge.points[1]
        _, average = average_by_hand(challenge)
        winner = challenge.winner()
        assert winner.found["eta0"] == pytest.approx(average["eta0"], rel=1e-9)

    def test_all_of_them(self):
        challenge = self.challenge_with(1e4)
        challenge.learn(ONES, 1, 800)
        assert not challenge.is_alive


def ones(n: int = 900):
    y = np.random.default_rng(0).normal(size=n)
    return as_rows(as_csr(np.ones((n, 1))), y, np.ones(n))


ONES = ones()


def test_with_a_limit_all_features_of_the_challenged_one_count():
    """And not only those that occur."""
    space = space_of(rule="ftrl", l1=None, target_features=2)
    model = learner_in(space, {**space.kinds[0][0], "l1": 0.02, "eta0": 0.05})
    model.learn(rows_for(BINARY, seed=1))
    n_kept = len(np.unique(model.weights().indices))
    assert n_kept > 10
    challenge = challenge_of(space, model)
    assert challenge.block.n_features_kept()[0] == n_kept
    challenge.learn(rows_for(BINARY), 0, 20)
    for lane, n_kept in enumerate(challenge.block.n_features_kept()):
        learner = challenge.learner(lane, challenge.points[lane])
        assert n_kept == len(np.unique(learner.weights().indices))


def test_without_an_intercept():
    space = space_of(rule="ftrl", l1="auto")
    point = {**space.kinds[0][0], "l1": 0.02, "eta0": 0.05}
    model = learner_in(space, point, fit_intercept=False)
    model.learn(rows_for(BINARY, seed=1))
    challenge = Challenge(space, deepcopy(model), n_outputs=1, fit_intercept=False)
    challenge.learn(rows_for(BINARY), 0, 300)
    model.learn(rows_for(BINARY))
    assert_same(challenge.in_use(), model)
    assert not model.intercept().any()
