"""The search among all models: who is chosen, who makes room, and for whom."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from rarefy.lanes.layout import ALIVE
from rarefy.tuning.race import Race
from tests.tuned import (
    BINARY,
    N_FEATURES,
    REGRESSION,
    SOFTMAX,
    assert_same,
    assert_same_kind,
    learner_in,
    rows_for,
    rule_in,
    space_of,
)

L1 = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28]
MEANS = np.array([0.50, 0.49, 0.51, 0.52, 0.60, 0.61, 0.62, 0.63])
ERRORS = np.array([0.03, 0.00, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05])
USUAL = {"l1": 0.1, "eta0": 0.1}


class Told:
    """What a race asks of its record, as the test says it; errors may be by the best model."""

    def __init__(self, means=MEANS, errors=ERRORS, n_intervals=2) -> None:
        self.n_intervals = n_intervals
        self._means, self._errors = np.array(means), errors
        self.copies = []

    def end_interval(self) -> None:
        self.n_intervals += 1

    def means(self):
        return self._means.copy()

    def uncertainties(self, best):
        if isinstance(self._errors, dict):
            return self._errors[best]
        assert best == np.argmin(self._means)
        return self._errors

    def copy(self, source, target):
        self.copies.append((source, target))


def race_over(l1s=L1, eta0s=None, *, usual=USUAL, target_features=None, **parameters) -> Race:
    left = {"rule": "ftrl", "l1": None if target_features else "auto", **parameters}
    space = space_of(target_features=target_features, **left)
    eta0s = [0.1] * len(l1s) if eta0s is None else eta0s
    points = [
        {**space.kinds[0][0], "l1": l1, "eta0": eta0} for l1, eta0 in zip(l1s, eta0s, strict=True)
    ]
    shape = {"n_features": N_FEATURES, "n_outputs": 1, "fit_intercept": True}
    race = Race(space, points, BINARY.loss, {None: usual}, **shape)
    race.learn(rows_for(BINARY), 0, 100)
    return race


def compared(race: Race, **told) -> Race:
    race.record = Told(**told)
    race.compare()
    return race


def kill(race: Race, *lanes: int) -> None:
    race.block._seats.work[ALIVE, list(lanes)] = 0.0


@pytest.mark.parametrize(
    ("task", "rule", "scales"),
    [
        (BINARY, "ftrl", [0.5, 2.0]),
        (SOFTMAX, "fr-comid", [0.5, 2.0]),
        (BINARY, "scale-free", [0.5, 2.0]),
        (REGRESSION, "fobos", []),
    ],
)
def test_scores_of_classifiers_are_scaled(task, rule, scales):
    space = space_of(task, rule=rule, l1="auto")
    points = space.first_points(space.kinds[0], {None: USUAL})
    shape = {"n_features": N_FEATURES, "n_outputs": task.n_outputs, "fit_intercept": True}
    race = Race(space, points, task.loss, {None: USUAL}, **shape)
    assert race.block._seats.scales.tolist() == scales


class TestChoice:
    def test_before_models_are_compared_the_one_in_the_middle(self):
        race = race_over()
        assert race.predictor == 3
        kill(race, 3, 5)
        assert race.predictor == 2  # of 0, 1, 2, 4, 6, 7
        kill(race, *range(8))
        assert race.predictor == 0

    def test_the_most_l1_within_half_a_standard_error_of_the_best(self):
        """0.50 and 0.51 are, and 0.52 is not, by 0.03 against 0.025."""
        race = compared(race_over())
        assert race.predictor == 2
        assert race.standing == 0.49
        assert compared(race_over(), errors=ERRORS * 1.3).predictor == 3
        assert compared(race_over(), errors=ERRORS * 0.7).predictor == 1
        assert compared(race_over(l1s=L1[::-1])).predictor == 0

    def test_where_l1_is_not_looked_for_the_best(self):
        assert compared(race_over(l1=0.1, eta0="auto")).predictor == 1

    def test_where_features_are_limited_the_best(self):
        assert compared(race_over(target_features=5)).predictor == 1

    def test_another_if_the_chosen_one_dies(self):
        race = compared(race_over())
        kill(race, 2)
        assert race.predictor == 1
        assert race.in_use().found == race.points[1]

    def test_not_newcomers_until_they_have_seen_two_intervals(self):
        race = race_over()
        race.record = Told(means=MEANS)
        race._own_intervals[1] = 0  # as one that has just come
        race.record.uncertainties = lambda best: ERRORS
        race.compare()
        assert race.predictor == 3  # 0.52 is close to 0.50
        race.compare()
        assert race.predictor == 2  # and not to 0.49

    def test_newcomers_if_there_is_no_other(self):
        race = race_over()
        race._own_intervals[:] = -9
        assert compared(race).predictor == 2

    def test_the_winner_is_the_one_in_use(self):
        race = compared(race_over())
        assert race.winner().found == race.points[2]
        np.testing.assert_array_equal(race.winner().state, race.in_use().state)


FIRST_IS_BEST = {"errors": np.zeros(8), "means": np.where(np.arange(8) == 0, 0.1, MEANS)}


class TestReplacing:
    @staticmethod
    def refined(race: Race, **told) -> SimpleNamespace:
        compared(race, **told)
        before = [dict(point) for point in race.points]
        race.replace_poorest()
        changed = [lane for lane, point in enumerate(race.points) if point != before[lane]]
        return SimpleNamespace(race=race, before=before, changed=changed)

    def test_the_poorest_makes_room(self):
        """For one between 0.04, which is in use, and a neighbour that is twice or half of it."""
        seen = self.refined(race_over())
        assert seen.changed == [7]
        new = seen.race.points[7]
        assert new["l1"] == pytest.approx(np.sqrt(0.04 * 0.08))
        assert new["eta0"] == 0.1
        assert seen.race.record.copies == [(2, 7)]
        assert seen.race._own_intervals[7] == 0
        assert_same_kind(seen.race.block.lanes[7].rule, rule_in(seen.race.space, new)[0])
        states = [seen.race.block.learner(lane).state for lane in (2, 7)]
        np.testing.assert_array_equal(*states)

    def test_not_the_one_in_use_even_if_it_is_the_poorest(self):
        """Of eight that are alike but for chance, it has the most l1."""
        means = 0.5 + 0.001 * np.arange(8)
        seen = self.refined(race_over(), means=means, errors=np.ones(8))
        assert seen.race.predictor == 7
        assert seen.changed == [6]

    def test_one_that_has_diverged_makes_room_first(self):
        race = race_over()
        kill(race, 4)
        means = np.where(np.arange(8) == 4, np.inf, MEANS)
        seen = self.refined(race, means=means)
        assert seen.changed == [4]
        assert race.block.alive.all()

    def test_the_wider_gap(self):
        l1s = [0.01, 0.02, 0.04, 0.05, 0.16, 0.32, 0.64, 1.28]
        assert self.refined(race_over(l1s)).race.points[7]["l1"] == pytest.approx(
            np.sqrt(0.02 * 0.04)
        )

    @pytest.mark.parametrize("factor", [4.0, 0.25])
    def test_beyond_the_outermost_it_goes_by_four(self, factor):
        nearer = 1.01 if factor < 1.0 else 1.0 / 1.01
        seen = self.refined(race_over([0.04 * nearer**k for k in range(8)]), **FIRST_IS_BEST)
        assert seen.race.points[7]["l1"] == pytest.approx(0.04 * factor)

    def test_parameters_take_turns(self):
        race = compared(race_over(eta0s=[0.1, 0.1, 0.1, 0.3, 0.1, 0.1, 0.1, 0.1]))
        origin = race.predictor
        assert origin == 2
        race.replace_poorest()
        assert race.points[7]["eta0"] == 0.1
        race.replace_poorest()
        assert race.points[7]["l1"] == race.points[2]["l1"]
        assert race.points[7]["eta0"] == pytest.approx(0.1 / 4.0)

    def test_values_that_are_close_are_not_told_apart(self):
        """The other parameter is tried then."""
        close = [0.04, 0.04 / 1.19, *[0.04 * 1.19] * 6]
        seen = self.refined(race_over(close), **FIRST_IS_BEST)
        assert seen.race.points[7]["l1"] == 0.04
        assert seen.race.points[7]["eta0"] != 0.1
        eta0s = [0.1, 0.09, *[0.11] * 6]
        assert self.refined(race_over(close, eta0s), **FIRST_IS_BEST).changed == []
        apart = [0.04, 0.04 / 1.19, *[0.04 * 1.21] * 6]
        assert self.refined(race_over(apart, eta0s), **FIRST_IS_BEST).changed == [7]

    @pytest.mark.parametrize(("l1", "is_near"), [(240.0, True), (260.0, False)])
    @pytest.mark.parametrize("is_large", [True, False])
    def test_not_farther_from_what_is_usual_than_that(self, l1, is_near, is_large):
        """10,000 times; what is four times as far as 2,600 times is beyond it."""
        l1s = [l1 / 1.01**k for k in range(8)]
        l1s = l1s if is_large else [0.1 * 0.1 / value for value in l1s]
        seen = self.refined(race_over(l1s), **FIRST_IS_BEST)
        assert seen.changed == [7]
        assert (seen.race.points[7]["l1"] != l1s[0]) == is_near

    def test_a_model_by_itself_makes_no_room(self):
        assert self.refined(race_over([0.1]), means=[0.5], errors=np.zeros(1)).changed == []

    def test_one_that_has_diverged_is_no_neighbour(self):
        race = race_over([0.04, 0.05, 0.03, *[0.02] * 5])
        kill(race, 1, 2)
        means = np.array([0.1, np.inf, np.inf, *MEANS[3:]])
        seen = self.refined(race, means=means, errors=np.zeros(8))
        assert seen.changed == [1]
        assert race.points[1]["l1"] == pytest.approx(0.04 * 4.0)


def race_of_norms() -> Race:
    """Of two models with q = inf and six with q = 1."""
    space = space_of(rule="frda", q="auto")
    (kinds,) = space.kinds
    usual = {kind["q"]: USUAL for kind in kinds}
    shape = {"n_features": N_FEATURES, "n_outputs": 1, "fit_intercept": True}
    race = Race(space, space.first_points(kinds, usual), BINARY.loss, usual, **shape)
    assert [point["q"] for point in race.points] == [inf] * 2 + [1.0] * 6
    return race


class TestNorms:
    """Side by side: the least q is taken of which some model is not clearly worse than the best."""

    L1 = (0.5, 0.2, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)

    def chosen(self, means, errors, dead=()) -> int:
        race = race_of_norms()
        race.learn(rows_for(BINARY), 0, 100)
        for point, l1 in zip(race.points, self.L1, strict=True):
            point["l1"] = l1
        kill(race, *dead)
        return compared(race, means=means, errors=errors).predictor

    def test_each_learns_as_with_its_own_norm_by_itself(self):
        race, rows = race_of_norms(), rows_for(BINARY)
        race.learn(rows, 0, len(rows.y))
        for lane, point in enumerate(race.points):
            alone = learner_in(race.space, point)
            alone.learn(rows)
            one = race.learner(lane, point)
            assert_same(one, alone)
            assert_same_kind(one.rule, alone.rule)
            assert one.weights().nnz > 0

    def test_the_least_is_the_best(self):
        """Of its own models, one with more l1 is taken, and none with the other q."""
        means = [0.491, 0.60, 0.50, 0.49, 0.51, 0.52, 0.60, 0.60]
        assert self.chosen(means, np.full(8, 0.05)) == 4
        assert self.chosen(means, np.full(8, 0.07)) == 5
        assert self.chosen(means, np.zeros(8)) == 3

    def test_the_least_is_slightly_worse(self):
        """One of its models, the sixth, is not clearly worse; of these, the fourth is the best."""
        means = [0.60, 0.40, 0.50, 0.49, 0.51, 0.51, 0.60, 0.60]
        errors = np.full(8, 0.04)
        errors[5] = 0.06
        of_least = np.array([9.0, 9.0, 0.05, 0.0, 0.05, 0.03, 0.05, 0.05])
        assert self.chosen(means, {1: errors, 3: of_least}) == 4
        assert self.chosen(means, {1: errors, 3: np.zeros(8)}) == 3

    def test_the_least_is_clearly_worse(self):
        means = [0.42, 0.40, 0.50, 0.49, 0.51, 0.52, 0.60, 0.60]
        assert self.chosen(means, np.full(8, 0.044)) == 0
        assert self.chosen(means, np.full(8, 0.036)) == 1

    @pytest.mark.parametrize(("error", "chosen"), [(0.125, 7), (0.1249, 1)])
    def test_two_standard_errors_are_not_clear(self, error, chosen):
        means = [0.75, 0.25, 0.75, 0.75, 0.75, 0.75, 0.75, 0.5]
        errors = np.full(8, error)
        assert self.chosen(means, {1: errors, 7: np.zeros(8)}) == chosen

    def test_models_that_diverged_do_not_count(self):
        """The only model with the least q that is not clearly worse."""
        means = [0.60, 0.40, 0.60, 0.60, 0.60, 0.60, 0.60, 0.41]
        errors = {1: np.full(8, 0.04), 7: np.zeros(8)}
        assert self.chosen(means, errors) == 7
        assert self.chosen(means, errors, dead=[7]) == 1

    def test_newcomers_do_not_count(self):
        race = race_of_norms()
        race.learn(rows_for(BINARY), 0, 100)
        race._own_intervals[2:] = 0
        means = [0.42, 0.40, *[0.40] * 6]
        assert compared(race, means=means, errors={1: np.full(8, 0.01)}).predictor == 1

    def test_a_newcomer_has_the_norm_of_its_origin(self):
        """Only the models of that norm are its neighbours: not those with 0.03 and 0.05."""
        race = race_of_norms()
        race.learn(rows_for(BINARY), 0, 100)
        l1s = (0.05, 0.03, 0.01, 0.02, 0.04, 0.16, 0.32, 0.64)
        for point, l1 in zip(race.points, l1s, strict=True):
            point["l1"] = l1
        compared(race, means=[0.5, 0.9, 0.5, 0.5, 0.1, 0.5, 0.5, 0.5], errors=np.zeros(8))
        assert race.predictor == 4
        race.replace_poorest()
        assert race.points[1]["q"] == 1.0
        assert race.points[1]["l1"] == pytest.approx(np.sqrt(0.04 * 0.16))
        states = [race.block.learner(lane).state for lane in (4, 1)]
        np.testing.assert_array_equal(*states)
        assert race.block.lanes[1].rule.intensity.total.norm.q == 1.0


@pytest.mark.parametrize(("task", "cost"), [(BINARY, 2.0), (SOFTMAX, 2.0), (REGRESSION, 0.0)])
def test_wrong_answers_cost_where_there_are_classes(task, cost):
    space = space_of(task, rule="ftrl", l1="auto")
    points = space.first_points(space.kinds[0], {None: USUAL})
    shape = {"n_features": N_FEATURES, "n_outputs": task.n_outputs, "fit_intercept": True}
    race = Race(space, points, task.loss, {None: USUAL}, **shape)
    race.learn(rows_for(task), 0, 300)
    losses, (_, examples, right) = race.block.losses(), race.block.progress()
    race.compare()
    expected = losses.min(axis=0) / examples + cost * (1.0 - right / examples)
    np.testing.assert_allclose(race.record.means(), expected, rtol=1e-12)
    assert ((right > 0.0) & (right < examples)).all()
