"""Lanes leave their block, go on from where others are, or go on with other numbers."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from rarefy.jit.lane_intrinsics import WIDTH
from rarefy.lanes import copies
from rarefy.lanes.block import Block, Lane
from rarefy.parameters.build import make_rule
from rarefy.rules import unpenalised
from tests.selecting import slow_but
from tests.tuned import (
    BINARY,
    HINGE,
    N_FEATURES,
    REGRESSION,
    SOFTMAX,
    assert_same,
    learn,
    learner_in,
    rows_for,
    space_of,
    weights_of,
)

L1S = (0.001, 0.01, 0.1)
# Of fobos and fr-comid, weights follow from a sum of steps, too.
KINDS = [("ftrl", BINARY), ("frda", BINARY), ("fr-comid", SOFTMAX), ("fobos", HINGE)]


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1].kind}")
def kind(request):
    return request.param


@pytest.fixture
def task(kind):
    return kind[1]


@pytest.fixture
def space(kind, task):
    return space_of(task, rule=kind[0], l1="auto")


@pytest.fixture
def points(space):
    return [{**space.kinds[0][0], "l1": l1, "eta0": 0.3} for l1 in L1S]


@pytest.fixture
def block(space, points, task):
    lanes = [Lane(*space.rule_at(point), task.loss) for point in points]
    return Block(lanes, n_features=N_FEATURES, n_outputs=task.n_outputs, fit_intercept=True)


def going_on(learner, space, point):
    """The same state with another rule and schedule, by itself."""
    other = deepcopy(learner)
    rule, schedule = space.rule_at(point)
    other.rule, other.intercept_rule = rule, unpenalised(rule)
    eta = schedule.eta(max(other.clock.t, 1.0))
    other.clock = other.clock._replace(schedule=schedule, eta=eta)
    return other


def assert_close(block, lane, learner):
    """Sums of steps are continued to the last bit but one."""
    assert learner.weights().nnz > 0
    np.testing.assert_allclose(block.weights(lane), weights_of(learner), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(block.intercepts(lane), learner.intercept(), rtol=1e-10)


@pytest.mark.slow
def test_a_lane_by_itself_is_what_it_was_and_can_go_on(space, points, block, task):
    learn(block, rows_for(task))
    alone = learner_in(space, points[1], task)
    alone.learn(rows_for(task))
    taken = block.learner(1)
    assert_same(taken, alone)
    np.testing.assert_allclose(taken.progress, alone.progress, rtol=1e-12)
    np.testing.assert_array_equal(
        block.scores(rows_for(task))[:, :, 1], taken.scores(rows_for(task))
    )
    for learner in (taken, alone):
        learner.learn(rows_for(task, seed=1))
    np.testing.assert_allclose(weights_of(taken), weights_of(alone), rtol=1e-10, atol=1e-13)
    assert taken.t == alone.t == np.count_nonzero(rows_for(task).importance) * 2


def test_a_fork_with_the_same_parameters_stays_like_its_origin(space, points, block, task):
    learn(block, rows_for(task))
    block.fork(0, 2, *space.rule_at(points[0]))
    for _ in range(2):
        for one, other in ((block.weights(2), block.weights(0)), block.progress().T[[2, 0]]):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)
        learn(block, rows_for(task, seed=1))
    assert (block.weights(1) != block.weights(0)).any()


@pytest.mark.parametrize("way", ["fork", "set_rule"])
def test_a_lane_goes_on_with_other_numbers(way, space, points, block, task):
    learn(block, rows_for(task))
    source = 0 if way == "fork" else 2
    before = [block.learner(lane) for lane in range(3)]
    point = {**points[0], "l1": 0.02, "eta0": 0.2}
    if way == "fork":
        block.fork(0, 2, *space.rule_at(point))
    else:
        block.set_rule(2, *space.rule_at(point))
    assert block.lanes[2][:2] == space.rule_at(point)
    np.testing.assert_array_equal(block.learner(2).state, before[source].state)
    other = going_on(before[source], space, point)
    for _ in range(2):
        assert_close(block, 2, other)
        for lane in range(2):
            assert_close(block, lane, before[lane])
        assert block.learner(2).t == other.t
        learn(block, rows_for(task, seed=1))
        for learner in (*before[:2], other):
            learner.learn(rows_for(task, seed=1))


def test_rules_may_be_set_again_and_again(space, points, block, task):
    """Without other numbers, nothing changes."""
    lane = 1
    alone = learner_in(space, points[lane], task)
    for seed in range(3):
        block.set_rule(lane, *space.rule_at(points[lane]))
        learn(block, rows_for(task, seed=seed))
        alone.learn(rows_for(task, seed=seed))
        assert_close(block, lane, alone)
    np.testing.assert_allclose(block.progress()[:, lane], alone.progress, rtol=1e-12)


def test_a_lane_that_has_diverged_takes_over_from_one_that_lives():
    space = space_of(REGRESSION, rule="fobos", l1="auto")
    points = [{**space.kinds[0][0], "l1": 1e-3, "eta0": eta0} for eta0 in (0.01, 1e6)]
    lanes = [Lane(*space.rule_at(point), REGRESSION.loss) for point in points]
    block = Block(lanes, n_features=N_FEATURES, n_outputs=1, fit_intercept=True)
    rows = rows_for(REGRESSION)
    learn(block, rows)
    assert block.alive.tolist() == [True, False]
    block.fork(0, 1, *space.rule_at(points[0]))
    assert block.alive.all()
    learn(block, rows)
    np.testing.assert_allclose(block.weights(1), block.weights(0), rtol=1e-10)


def test_features_move_and_room_grows(block, task):
    learn(block, rows_for(task))
    before = block.weights(1).copy()
    for n_features in (N_FEATURES + 1, 2 * N_FEATURES):
        block.grow(n_features)
        assert block.weights(1).shape == (task.n_outputs, n_features)
    np.testing.assert_array_equal(block.weights(1)[:, :N_FEATURES], before)
    assert not block.weights(1)[:, N_FEATURES:].any()
    block.move(np.array([3, 5]), np.array([9, 1]), 10)
    after = np.zeros((task.n_outputs, 10))
    after[:, [9, 1]] = before[:, [3, 5]]
    np.testing.assert_array_equal(block.weights(1), after)


class TestTakingOver:
    """All lanes go on from a model that was learned by itself, each with its own numbers."""

    @pytest.fixture
    def model(self, space, points, task):
        learner = learner_in(space, {**points[1], "eta0": 0.4}, task)
        learner.learn(rows_for(task))
        return learner

    def test_each_goes_on_as_the_model_would_with_its_numbers(
        self, model, block, space, points, task
    ):
        block.take_over(model)
        block.set_state_from(0, model, np.arange(N_FEATURES))
        others = [going_on(model, space, point) for point in points]
        for _ in range(2):
            for lane, other in enumerate(others):
                np.testing.assert_array_equal(block.weights(lane), weights_of(other))
                np.testing.assert_array_equal(block.intercepts(lane), other.intercept())
            learn(block, rows_for(task, seed=1))
            for other in others:
                other.learn(rows_for(task, seed=1))

    def test_a_model_that_has_not_learned(self, block, space, points, task):
        block.take_over(learner_in(space, points[0], task))
        learn(block, rows_for(task))
        for lane, point in enumerate(points):
            alone = learner_in(space, point, task)
            alone.learn(rows_for(task))
            np.testing.assert_array_equal(block.weights(lane), weights_of(alone))

    def test_some_features_only(self, model, block, task):
        """Numbered from the first on; those before it stay."""
        chosen, places = np.array([7, 2, 11]), np.arange(4, 7)
        others = np.setdiff1d(np.arange(N_FEATURES), places)
        learn(block, rows_for(task, seed=2))
        before = block.learner(1)
        block.set_state_from(4, model, chosen)
        for lane in range(len(L1S)):
            learner = block.learner(lane)
            np.testing.assert_array_equal(learner.state_of(places), model.state_of(chosen))
        after = block.learner(1)
        np.testing.assert_array_equal(after.state_of(others), before.state_of(others))

    def test_a_lane_is_written_over_another_model(self, model, block, space, points, task):
        learn(block, rows_for(task, seed=2))
        features = np.array([20, 3, 8])
        own = block.learner(2)
        before, progress = deepcopy(model), model.progress.copy()
        point = {**points[2], "eta0": 0.1}
        block.n_features = 3
        taken = block.learner_over(model, 2, features, *space.rule_at(point))
        assert taken.rule == space.rule_at(point)[0]
        assert taken.intercept_rule == unpenalised(taken.rule)
        assert taken.clock.schedule == space.rule_at(point)[1]
        assert taken.t == own.t
        others = np.setdiff1d(np.arange(N_FEATURES), features)
        np.testing.assert_array_equal(taken.state_of(features), own.state_of(np.arange(3)))
        np.testing.assert_array_equal(taken.state_of(others), before.state_of(others))
        np.testing.assert_array_equal(taken.intercept_state, own.intercept_state)
        np.testing.assert_array_equal(taken.progress, own.progress)
        np.testing.assert_array_equal(model.intercept_state, before.intercept_state)
        np.testing.assert_array_equal(model.progress, progress)
        assert model.clock == before.clock


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rows_of_a_model_go_to_all_lanes_and_back(n_outputs, dtype):
    """With more rows than are fetched ahead; a row of a model may have fields to spare."""
    rng = np.random.default_rng(0)
    n_features, n_chosen, n_fields = 90, 40, 3
    features = rng.permutation(n_features)[:n_chosen].astype(dtype)
    rows = rng.normal(size=(n_features * n_outputs, n_fields + 1))
    state = np.full((50 * n_outputs, n_fields, WIDTH), -7.0)
    copies.give_all_lanes(rows, features, n_outputs, state)
    by_feature = rows.reshape(n_features, n_outputs, n_fields + 1)[features, :, :n_fields]
    expected = by_feature.reshape(-1, n_fields, 1)
    filled = n_chosen * n_outputs
    np.testing.assert_array_equal(state[:filled], np.broadcast_to(expected, (filled, 3, WIDTH)))
    assert (state[filled:] == -7.0).all()

    state[:] = rng.normal(size=state.shape)
    back = rows.copy()
    copies.take_lane(state, 5, features, n_outputs, back)
    expected = rows.reshape(n_features, n_outputs, n_fields + 1).copy()
    expected[features, :, :n_fields] = state[:filled, :, 5].reshape(n_chosen, n_outputs, n_fields)
    np.testing.assert_array_equal(back, expected.reshape(rows.shape))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_no_rows_at_all(n_outputs):
    rows, none = np.ones((4 * n_outputs, 2)), np.empty(0, np.int64)
    state = np.zeros((2 * n_outputs, 2, WIDTH))
    copies.give_all_lanes(rows, none, n_outputs, state)
    copies.take_lane(state, 0, none, n_outputs, rows)
    assert not state.any()
    assert (rows == 1.0).all()


SCALES = (0.5, 2.0, 3.0)


def softmax_loss(scores, label):
    return np.log(np.exp(scores).sum()) - scores[label]


def hinge_loss(scores, label):
    return max(0.0, 1.0 - scores[label] + np.delete(scores, label).max())


LOSSES = {
    "binary": (BINARY, "ftrl", lambda score, y: np.log1p(np.exp(-y * score[0]))),
    "softmax": (SOFTMAX, "fr-comid", lambda scores, y: softmax_loss(scores, int(y))),
    "hinge": (HINGE, "fobos", lambda scores, y: hinge_loss(scores, int(y))),
    "regression": (REGRESSION, "fobos", lambda score, y: (score[0] - y) ** 2),
}


@pytest.mark.parametrize("name", slow_but(LOSSES, "hinge"))
def test_losses_with_scores_times_each_scale(name):
    task, rule, loss = LOSSES[name]
    lanes = [Lane(*make_rule(rule, l1=l1, eta0=0.1), task.loss) for l1 in L1S]
    shape = {"n_features": N_FEATURES, "n_outputs": task.n_outputs, "fit_intercept": True}
    block, rows = Block(lanes, **shape, scales=SCALES), rows_for(task)
    predictions = np.zeros((3, len(rows.y), task.n_outputs))
    for lane in range(3):
        block.learner(lane).learn(rows, predictions=predictions[lane])
    expected = np.zeros((4, 3))
    for lane in range(3):
        for row in np.flatnonzero(rows.importance):
            for number, scale in enumerate((1.0, *SCALES)):
                value = loss(scale * predictions[lane, row], rows.y[row])
                expected[number, lane] += rows.importance[row] * value
    learn(block, rows)
    np.testing.assert_allclose(block.losses(), expected, rtol=1e-10)
    np.testing.assert_array_equal(block.losses()[0], block.progress()[0])
    plain = Block(lanes, **shape)
    learn(plain, rows)
    np.testing.assert_array_equal(plain.losses(), block.losses()[:1])
    np.testing.assert_array_equal(plain.weights(1), block.weights(1))


def test_losses_are_as_of_now():
    """What is said of them later does not change."""
    lanes = [Lane(*make_rule("ftrl"), BINARY.loss)]
    block = Block(lanes, n_features=N_FEATURES, n_outputs=1, fit_intercept=True, scales=(2.0,))
    before, progress = block.losses(), block.progress()
    learn(block, rows_for(BINARY))
    assert not before.any()
    assert not progress.any()
    assert block.losses().all()
