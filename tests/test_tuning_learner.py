"""A learner that finds its parameters, from one moment to the next.

Models are compared after 128 examples, 192, 288, 432 and 648, from which on one learns alone. It is
challenged after 2592, until there are 4529; where parameters drift, from 2779 to 4858.
"""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarefy.errors import DivergenceError
from rarefy.sweeping.loops import ALIVE as LIVES
from tests.tuned import (
    BINARY,
    HINGE,
    N_FEATURES,
    REGRESSION,
    SOFTMAX,
    assert_same,
    assert_same_search,
    learner_in,
    part,
    rows_for,
    space_of,
    tuning,
    weights_of,
)

ALONE, CHALLENGED, OVER = 648, 2592, 4529
N_ROWS = 6000  # of which about 5050 count
KINDS = {
    "binary": (BINARY, {"rule": "ftrl", "l1": "auto"}),
    "drifting": (BINARY, {"rule": "frda", "q": 2.0, "l1": "auto"}),
    "classes": (SOFTMAX, {"rule": "fr-comid", "l1": "auto"}),
    "hinge": (HINGE, {"rule": "fobos", "l1": "auto"}),
    "regression": (REGRESSION, {"rule": "auto"}),
    "limited": (BINARY, {"rule": "ftrl", "max_features": 5}),
    "kinds": (BINARY, {"rule": "frda", "q": "auto", "l1": 1e-3, "eta0": 0.3}),
}
DRIFTING = ("drifting", "classes", "hinge")
ROWS = {task: rows_for(task, n=N_ROWS) for task in (BINARY, SOFTMAX, REGRESSION)}
ROWS[HINGE] = ROWS[SOFTMAX]


@pytest.fixture(params=KINDS)
def name(request):
    return request.param


def start(name: str):
    """A model that has not learned, and its rows."""
    task, left = KINDS[name]
    return tuning(space_of(task, **left), task), ROWS[task]


def places(rows, *examples: int) -> list[int]:
    """How many rows it takes to have had so many examples: those of no weight are none."""
    counted = np.flatnonzero(rows.importance)
    return [int(counted[n - 1]) + 1 for n in examples]


def learned(name: str, n_examples: int):
    learner, rows = start(name)
    (end,) = places(rows, n_examples)
    learner.learn(part(rows, 0, end))
    assert learner.t == n_examples
    return learner, rows, end


class TestPortions:
    """It makes no difference how many rows come at once, after the first 128."""

    @staticmethod
    def by_portions(name, ends, between=lambda learner: None):
        learner, rows = start(name)
        begin = 0
        for end in sorted({*ends, 128, N_ROWS}):
            if end >= 128:
                learner.learn(part(rows, begin, end))
                between(learner)
                begin = end
        return learner

    @pytest.fixture(scope="class")
    @classmethod
    def wholes(cls):
        return {name: cls.by_portions(name, []) for name in KINDS}

    @settings(deadline=None, max_examples=8)
    @given(ends=st.lists(st.integers(129, N_ROWS - 1), max_size=25))
    def test_of_any_size(self, wholes, ends):
        for name, whole in wholes.items():
            assert_same_search(self.by_portions(name, ends), whole)

    def test_one_row_at_a_time_at_the_turns(self, wholes, name):
        rows = ROWS[KINDS[name][0]]
        ends = [
            row + shift
            for row in places(rows, 128, 192, ALONE, 712, CHALLENGED, OVER)
            for shift in range(-2, 3)
        ]
        assert_same_search(self.by_portions(name, ends), wholes[name])

    def test_predictions_in_between_change_nothing(self, wholes, name):
        def look(learner):
            learner.scores(ROWS[KINDS[name][0]])
            learner.usefulness(np.ones(N_FEATURES, np.uint64))
            assert "max_features" in learner.found
            assert "max_features" not in learner._in_use().found

        learner = self.by_portions(name, range(100, N_ROWS, 97), look)
        assert_same_search(learner, wholes[name])

    def test_copies_go_on_alike(self, wholes, name):
        """In a race, alone, and in a challenge."""
        rows = ROWS[KINDS[name][0]]
        for n_examples in (300, 1000, 3000):
            learner, rows, end = learned(name, n_examples)
            copies = [pickle.loads(pickle.dumps(learner)), deepcopy(learner)]
            learner.learn(part(rows, end, N_ROWS))
            for copy in copies:
                assert copy.t == n_examples
                copy.learn(part(rows, end, N_ROWS))
                assert_same_search(copy, wholes[name])
            assert_same_search(learner, wholes[name])

    def test_an_empty_portion_changes_nothing(self, wholes, name):
        learner, rows = start(name)
        for begin, end in ((0, 0), (0, 300), (300, 300), (300, N_ROWS), (N_ROWS, N_ROWS)):
            learner.learn(part(rows, begin, end))
        assert_same_search(learner, wholes[name])


def without_idle_rows(rows):
    """Only the rows that have a weight."""
    kept = np.flatnonzero(rows.importance)
    lengths = np.diff(rows.indptr)
    entries = np.repeat(rows.importance != 0.0, lengths)
    arrays = {
        "indptr": np.concatenate([[0], np.cumsum(lengths[kept])]),
        "indices": rows.indices[entries],
        "values": rows.values[entries],
        "y": rows.y[kept],
        "importance": rows.importance[kept],
    }
    for array in arrays.values():
        array.flags.writeable = False
    return rows._replace(**arrays)


def test_rows_of_no_weight_are_as_if_they_were_not_there(monkeypatch, name):
    monkeypatch.setattr("rarefy.tuning.learner._size", lambda rows: 0.5)
    learner, rows = start(name)
    learner.learn(rows)
    other, _ = start(name)
    other.learn(without_idle_rows(rows))
    assert learner.t == other.t == np.count_nonzero(rows.importance)
    assert_same_search(learner, other)


class TestPhases:
    def test_who_learns_when(self, name):
        learner, rows = start(name)
        n_rules = len(learner.space.kinds)
        challenged, over = (2779, 4858) if name in DRIFTING else (CHALLENGED, OVER)
        phases, begin = [], 0
        for n in (1, 127, 128, 647, ALONE, challenged - 1, challenged, over - 1, over):
            (end,) = places(rows, n)
            learner.learn(part(rows, begin, end))
            begin = end
            alone = learner._best is not None
            phases.append((len(learner._races), learner._challenge is not None, alone))
        together = (0, True, False) if learner.space.free else (0, False, True)
        assert phases[:4] == [(n_rules, False, False)] * 4
        assert phases[4:6] == [(0, False, True)] * 2
        assert phases[6:8] == [together] * 2
        assert phases[8] == (0, False, True)

    def test_whenever_models_are_compared_one_makes_room(self):
        learner, rows, begin = learned("binary", 127)
        for n in (128, 192, 288, 432):
            points = list(learner._races[0].points)
            (end,) = places(rows, n)
            learner.learn(part(rows, begin, end))
            begin = end
            pairs = zip(points, learner._races[0].points, strict=True)
            assert sum(old != new for old, new in pairs) == 1

    def test_the_next_challenge(self):
        learner, rows, _ = learned("binary", OVER)
        for n in (4 * OVER - 1, 4 * OVER):
            while learner.t < n:
                learner.learn(part(rows, 0, min(N_ROWS, n - learner.t)))
            assert (learner._challenge is not None) == (n == 4 * OVER)

    @pytest.mark.parametrize("name", [name for name in KINDS if name not in DRIFTING])
    def test_alone_and_challenged_it_learns_as_by_itself(self, name):
        """From 648 examples until the challenge is over."""
        learner, rows, begin = learned(name, ALONE)
        by_itself = deepcopy(learner._best)
        unlimited = learner.space.max_features is None
        for n in (1000, CHALLENGED - 1, CHALLENGED, CHALLENGED + 1, 3000, OVER - 1):
            (end,) = places(rows, n)
            for one in (learner, by_itself):
                one.learn(part(rows, begin, end))
            begin = end
            if unlimited:
                assert_same(learner, by_itself)
            in_use = learner._in_use()
            assert_same(in_use, by_itself)
            np.testing.assert_allclose(in_use.progress, by_itself.progress, rtol=1e-12)
            np.testing.assert_allclose(learner.progress, by_itself.progress, rtol=1e-12)
            assert learner.found == {**by_itself.found, "max_features": None}

    def test_in_the_end_the_best_goes_on_with_average_parameters(self):
        learner, rows, begin = learned("binary", OVER - 1)
        (end,) = places(rows, OVER)
        challenge = deepcopy(learner._challenge)
        challenge.learn(rows, begin, end)
        challenge.take_stock()
        learner.learn(part(rows, begin, end))
        winner = challenge.winner()
        assert_same(learner, winner)
        assert learner.found == {**winner.found, "max_features": None}
        before = learner.progress.copy()
        (later,) = places(rows, OVER + 100)
        learner.learn(part(rows, end, later))
        winner.learn(part(rows, end, later))
        assert_same(learner, winner)
        np.testing.assert_allclose(
            learner.progress - before, winner.progress - challenge.winner().progress, rtol=1e-9
        )

    def test_where_there_are_only_kinds_the_best_learns_as_if_alone_from_the_beginning(self):
        learner, rows = start("kinds")
        learner.learn(rows)
        (kinds,) = learner.space.kinds
        models = [learner_in(learner.space, kind) for kind in kinds]
        for model in models:
            model.learn(rows)
        found = {name: learner.found[name] for name in ("rule", "q")}
        assert_same(learner, models[kinds.index(found)])

    def test_of_several_kinds_the_one_with_the_least_loss_is_in_use(self):
        learner, _, _ = learned("regression", 432)
        standings = [race.standing for race in learner._races]
        assert standings == sorted(standings)
        assert len(standings) == 3
        assert learner.found["rule"] == learner._races[0].points[0]["rule"]
        in_use = learner._races[0].in_use()
        assert_same(learner, in_use)


class TestDrifting:
    """With a q, l1 falls as the number of examples grows; and steps rise."""

    STOCKS = (648, 777, 932, 1118, 1341)

    def test_while_the_model_learns_alone(self):
        learner, rows, begin = learned("drifting", ALONE)
        first = learner.found
        by_itself = deepcopy(learner._best)
        for stock, following in zip(self.STOCKS, self.STOCKS[1:], strict=False):
            growth, found = stock / ALONE, learner.found
            assert found["l1"] == pytest.approx(first["l1"] / np.sqrt(growth), rel=1e-12)
            assert found["eta0"] == pytest.approx(first["eta0"] * growth**0.4, rel=1e-12)
            assert (learner.rule.l1, learner.clock.schedule.eta0) == (found["l1"], found["eta0"])
            (end,) = places(rows, following)
            learner.learn(part(rows, begin, end - 1))
            by_itself.learn(part(rows, begin, end - 1))
            assert_same(learner, by_itself)
            for one in (learner, by_itself):
                one.learn(part(rows, end - 1, end))
            begin = end
            by_itself.set_rule(learner.rule, learner.clock.schedule)

    def test_in_a_race(self):
        learner, rows, begin = learned("drifting", 191)
        points = [dict(point) for point in learner._races[0].points]
        (end,) = places(rows, 192)
        learner.learn(part(rows, begin, end))
        after = learner._races[0].points
        fallen = [
            new["l1"] == pytest.approx(old["l1"] * np.sqrt(128 / 192))
            and new["eta0"] == pytest.approx(old["eta0"] * (192 / 128) ** 0.4)
            for old, new in zip(points, after, strict=True)
        ]
        assert sum(fallen) >= 7  # one has made room for another

    def test_in_a_challenge(self):
        learner, rows, begin = learned("drifting", CHALLENGED + 400)
        challenge = learner._challenge
        assert challenge is not None
        ratios = [point["l1"] / challenge.points[0]["l1"] for point in challenge.points[:4]]
        assert ratios == pytest.approx([1.0, 0.25, 0.5, 2.0])
        before, stock = learner.found["l1"], learner._stock
        (end,) = places(rows, 4857)
        learner.learn(part(rows, begin, end))
        assert (stock, learner._stock) == (2779, 4225)
        assert learner.found["l1"] == pytest.approx(before * np.sqrt(2779 / 4225), rel=1e-9)

    def test_where_l1_is_given_it_stays(self):
        learner = tuning(space_of(rule="frda", q=2.0, l1=1e-3, eta0="auto"))
        learner.learn(ROWS[BINARY])
        assert learner.rule.l1 == 1e-3


def moved(rows, new):
    """The rows with their features in other places."""
    indices = new[rows.indices].astype(rows.indices.dtype)
    indices.flags.writeable = False
    return rows._replace(indices=indices)


class TestFeatures:
    @pytest.mark.parametrize("n_examples", [300, 1000, 3000])
    def test_features_move(self, name, n_examples):
        learner, rows, begin = learned(name, n_examples)
        other = deepcopy(learner)
        new = np.random.default_rng(0).permutation(40)[:N_FEATURES]
        other.move(np.arange(N_FEATURES), new, 40)
        assert other.n_features == 40
        for end in (begin + 50, N_ROWS):
            learner.learn(part(rows, begin, end))
            other.learn(moved(part(rows, begin, end), new))
            np.testing.assert_array_equal(weights_of(other)[:, new], weights_of(learner))
            assert np.count_nonzero(weights_of(other)) == np.count_nonzero(weights_of(learner))
            np.testing.assert_array_equal(other.progress, learner.progress)
            assert other.found == learner.found
            begin = end

    @pytest.mark.parametrize("n_examples", [300, 1000, 3000])
    def test_what_is_forgotten_has_no_weight(self, n_examples):
        learner, _, _ = learned("classes", n_examples)
        before = weights_of(learner)
        kept = np.arange(0, N_FEATURES, 2)
        learner.move(kept, kept, N_FEATURES)
        after = weights_of(learner)
        np.testing.assert_array_equal(after[:, kept], before[:, kept])
        assert not after[:, 1::2].any()
        assert before[:, 1::2].any()

    @pytest.mark.parametrize("n_examples", [100, 300, 1000, 3000])
    @pytest.mark.parametrize("way", ["learn", "grow"])
    def test_features_are_added(self, n_examples, way, name):
        """As if they had been there from the beginning."""
        task, left = KINDS[name]
        rows = ROWS[task]
        (begin,) = places(rows, n_examples)
        few = moved(rows, np.arange(N_FEATURES) % 9)
        learners = [tuning(space_of(task, **left), task, n_features=n) for n in (9, N_FEATURES)]
        for learner in learners:
            learner.learn(part(few, 0, begin))
        if way == "grow":
            learners[0].grow(N_FEATURES)
            learners[0].learn(part(rows, begin, N_ROWS))
        else:
            learners[0].learn(part(rows, begin, N_ROWS), N_FEATURES)
        learners[1].learn(part(rows, begin, N_ROWS))
        assert learners[0].n_features == N_FEATURES
        assert_same_search(*learners)

    @pytest.mark.parametrize("n_examples", [300, 1000, 3000])
    def test_there_is_room_at_once(self, n_examples):
        learner, _, _ = learned("binary", n_examples)
        before = weights_of(learner)
        learner.grow(40)
        after = weights_of(learner)
        assert after.shape == (1, 40)
        np.testing.assert_array_equal(after[:, :N_FEATURES], before)

    @pytest.mark.parametrize("n_examples", [300, 3000])
    def test_what_some_model_may_know_is_useful(self, n_examples):
        """While there are several, only features that never occurred can go."""
        learner, _, _ = learned("binary", n_examples)
        counts = np.ones(N_FEATURES, np.uint64)
        counts[3] = 0
        useful = learner.usefulness(counts)
        assert useful[3] == -np.inf
        assert (np.delete(useful, 3) >= -1.0).all()
        own = learner._in_use().usefulness(counts)
        seen = (own >= -1.0) & (counts > 0)
        np.testing.assert_array_equal(useful[seen], own[seen])

    def test_alone_it_is_the_model_that_says_what_is_useful(self):
        learner, _, _ = learned("binary", 1000)
        counts = np.ones(N_FEATURES, np.uint64)
        np.testing.assert_array_equal(learner.usefulness(counts), learner._best.usefulness(counts))


class TestLimit:
    @pytest.mark.parametrize("n_examples", [100, 300, 1000, 3000, 4700])
    def test_the_largest_weights_stay(self, n_examples):
        learner, _, _ = learned("limited", n_examples)
        weights, own = weights_of(learner), weights_of(learner._in_use())
        kept = np.flatnonzero(weights)
        assert 1 <= len(kept) <= 5
        np.testing.assert_array_equal(weights[:, kept], own[:, kept])
        if np.count_nonzero(own) > 5:
            assert np.abs(weights[:, kept]).min() >= np.abs(np.delete(own, kept, axis=1)).max()


class TestDivergence:
    def test_the_challenged_one(self):
        """Another that lives is in use until the challenge is over, and counts from then on."""
        learner, rows, begin = learned("regression", 3000)
        first = learner._challenge.in_use()
        learner._challenge.block._seats.work[LIVES, 0] = 0.0  # as after a step that was too large
        learner._settled = None
        assert learner._challenge.predictor == 1
        assert learner.found != {**first.found, "max_features": None}
        learner.learn(part(rows, begin, N_ROWS))
        assert learner._best is not None
        assert np.isfinite(weights_of(learner)).all()
        assert learner.t == np.count_nonzero(rows.importance)

    def test_all_models_of_one_rule(self):
        """Of three that race, frda's steps are the only ones that large values upset."""
        learner, rows, begin = learned("regression", 200)
        values = rows.values * 1e30
        values.flags.writeable = False
        (end,) = places(rows, 400)
        learner.learn(part(rows._replace(values=values, y=rows.y), begin, end))
        alive = {race.points[0]["rule"]: race.is_alive for race in learner._races}
        assert alive == {"adagrad-fobos": True, "ftrl": True, "frda": False}
        assert learner.found["rule"] != "frda"
        assert learner._races[-1].standing == np.inf
        learner.learn(part(rows, end, N_ROWS))
        assert learner.found["rule"] != "frda"

    def test_all_models_of_the_rule_in_use(self):
        """Those of the next best are used at once."""
        learner, rows, begin = learned("regression", 300)
        first, second = learner._races[:2]
        first.block._seats.work[LIVES] = 0.0
        learner.learn(part(rows, begin, begin + 1))
        assert learner.found["rule"] == second.points[0]["rule"]
        assert_same(learner, second.in_use())

    @pytest.mark.parametrize("restorable", [True, False])
    def test_of_the_one_alone_after_part_of_a_call(self, restorable):
        """What was learned up to the last stock stays, and the error says so."""
        learner, rows, begin = learned("drifting", 700)
        other = deepcopy(learner)
        later, end = places(rows, 777, 1000)
        values = rows.values.copy()
        values[rows.indptr[later] :] *= 1e45
        values.flags.writeable = False
        kept = f"the first {later - begin} rows were kept"
        with pytest.raises(DivergenceError, match="after 777 examples") as caught:
            learner.learn(part(rows._replace(values=values), begin, end), restorable=restorable)
        assert (kept in str(caught.value)) == restorable
        if restorable:
            other.learn(part(rows, begin, later))
            assert_same_search(learner, other)

    def test_all_in_a_challenge(self):
        task = REGRESSION
        learner = tuning(space_of(task, rule="fobos", l1="auto"), task)
        rows = ROWS[task]
        (end,) = places(rows, 3000)
        learner.learn(part(rows, 0, end))
        values = rows.values * 1e45
        values.flags.writeable = False
        with pytest.raises(DivergenceError, match="all models diverged"):
            learner.learn(part(rows._replace(values=values), end, end + 200))
        with pytest.raises(DivergenceError, match="all models diverged"):
            learner.scores(rows)
