"""A learner that finds its parameters, from one moment to the next.

Models are compared after 128 examples, 217, 368 and 625, from which on one learns alone. It is
challenged after 1875, until there are 3001.
"""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarefy.errors import DivergenceError
from rarefy.lanes.layout import ALIVE as LIVES
from rarefy.model.schedules import InvSqrt
from rarefy.parameters.build import make_rule
from rarefy.tuning.phases import Alone, Challenged, Racing
from tests.tuned import (
    BINARY,
    HINGE,
    N_FEATURES,
    REGRESSION,
    SOFTMAX,
    assert_close_points,
    assert_same,
    assert_same_kind,
    assert_same_search,
    learner_in,
    part,
    rows_for,
    space_of,
    tuning,
    weights_of,
)

pytestmark = pytest.mark.slow  # test_tuning.py has what is tried by default

ALONE, CHALLENGED, OVER = 625, 1875, 3001
N_ROWS = 6000  # of which about 5050 count
KINDS = {
    "binary": (BINARY, {"rule": "ftrl", "l1": "auto"}),
    "stationary": (BINARY, {"rule": "frda", "q": 2.0, "l1": "auto"}),
    "classes": (SOFTMAX, {"rule": "fr-comid", "q": 1.0, "l1": "auto"}),
    "hinge": (HINGE, {"rule": "fobos", "l1": "auto"}),
    "regression": (REGRESSION, {"rule": "auto"}),
    "limited": (BINARY, {"rule": "ftrl", "target_features": 5}),
    "kinds": (BINARY, {"rule": "frda", "q": "auto", "l1": 1e-3, "eta0": 0.3}),
    "norms": (BINARY, {"rule": "frda", "q": "auto"}),
}
STATIONARY = ("stationary", "classes", "hinge", "norms")  # found in another form than the ordinary
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


def found_by_hand(name: str, model) -> dict:
    """What is said to be found when that model is in use: l1 falls by t^(1/q), steps rise."""
    found = {**model.found, "target_features": None}
    if name in STATIONARY:
        found["l1"] /= model.t ** (1.0 / (found["q"] or np.inf))
        found["eta0"] *= model.t**0.375
    return found


@pytest.mark.slow
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
            for row in places(rows, 128, 217, 368, ALONE, CHALLENGED, 2193, OVER)
            for shift in range(-2, 3)
        ]
        assert_same_search(self.by_portions(name, ends), wholes[name])

    def test_predictions_in_between_change_nothing(self, wholes, name):
        def look(learner):
            learner.scores(ROWS[KINDS[name][0]])
            learner.usefulness(np.ones(N_FEATURES, np.uint64))
            assert "target_features" in learner.settled().found
            assert "target_features" not in learner.phase.in_use().found

        learner = self.by_portions(name, range(100, N_ROWS, 97), look)
        assert_same_search(learner, wholes[name])

    def test_copies_go_on_alike(self, wholes, name):
        """In a race, alone, and in a challenge."""
        rows = ROWS[KINDS[name][0]]
        for n_examples in (300, 1000, 2000):
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
    monkeypatch.setattr("rarefy.tuning.phases.size_of_values", lambda rows: 0.5)
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
        phases, begin = [], 0
        for n in (1, 127, 128, ALONE - 1, ALONE, CHALLENGED - 1, CHALLENGED, OVER - 1, OVER):
            (end,) = places(rows, n)
            learner.learn(part(rows, begin, end))
            begin = end
            phases.append((type(learner.phase), len(learner.phase.populations)))
        later = (Challenged, 1) if learner.space.free else (Alone, 0)
        assert phases[:4] == [(Racing, n_rules)] * 4
        assert phases[4:6] == [(Alone, 0)] * 2
        assert phases[6:8] == [later] * 2
        assert phases[8] == (Alone, 0)

    def test_whenever_models_are_compared_one_makes_room(self):
        learner, rows, begin = learned("binary", 127)
        for n in (128, 217, 368):
            points = list(learner.phase.populations[0].points)
            (end,) = places(rows, n)
            learner.learn(part(rows, begin, end))
            begin = end
            pairs = zip(points, learner.phase.populations[0].points, strict=True)
            assert sum(old != new for old, new in pairs) == 1

    def test_the_next_challenge(self):
        learner, rows, _ = learned("binary", OVER)
        for n in (3 * OVER - 1, 3 * OVER):
            while learner.t < n:
                learner.learn(part(rows, 0, min(N_ROWS, n - learner.t)))
            assert isinstance(learner.phase, Challenged) == (n == 3 * OVER)

    def test_alone_and_challenged_it_learns_as_by_itself(self, name):
        """From 625 examples until the challenge is over."""
        learner, rows, begin = learned(name, ALONE)
        by_itself = deepcopy(learner.phase.model)
        bit_by_bit = learner.space.target_features is None and name not in STATIONARY
        for n in (1000, CHALLENGED - 1, CHALLENGED, CHALLENGED + 1, 2500, OVER - 1):
            (end,) = places(rows, n)
            for one in (learner, by_itself):
                one.learn(part(rows, begin, end))
            begin = end
            if bit_by_bit:
                assert_same(learner, by_itself)
            in_use = learner.phase.in_use()
            assert_same(in_use, by_itself)
            np.testing.assert_allclose(in_use.progress, by_itself.progress, rtol=1e-12)
            np.testing.assert_allclose(learner.progress, by_itself.progress, rtol=1e-12)
            assert_close_points(learner.settled().found, found_by_hand(name, by_itself))

    def test_in_the_end_the_best_goes_on_with_average_parameters(self):
        learner, rows, begin = learned("binary", OVER - 1)
        (end,) = places(rows, OVER)
        challenge = deepcopy(learner.phase.populations[0])
        challenge.learn(rows, begin, end)
        challenge.compare()
        learner.learn(part(rows, begin, end))
        winner = challenge.winner()
        assert_same(learner, winner)
        assert learner.settled().found == {**winner.found, "target_features": None}
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
        found = {name: learner.settled().found[name] for name in ("rule", "q")}
        assert_same(learner, models[kinds.index(found)])

    def test_of_several_kinds_the_one_with_the_least_loss_is_in_use(self):
        learner, _, _ = learned("regression", 368)
        standings = [race.standing for race in learner.phase.populations]
        assert standings == sorted(standings)
        assert len(standings) == 4
        assert learner.settled().found["rule"] == learner.phase.populations[0].points[0]["rule"]
        in_use = learner.phase.populations[0].in_use()
        assert_same(learner, in_use)


class TestOrdinary:
    """Whatever form a rule has while its numbers are found, it is an ordinary one to others."""

    @pytest.mark.parametrize("n_examples", [1, 100, 300, 1000, 2000, 4000])
    @pytest.mark.parametrize("name", STATIONARY)
    def test_at_any_moment(self, name, n_examples):
        learner, rows, _ = learned(name, n_examples)
        in_use, found = deepcopy(learner.phase.in_use()), learner.settled().found
        assert_close_points(found, found_by_hand(name, in_use))
        task, left = KINDS[name]
        own = {name: found[name] for name in ("rule", "q", "l1", "eta0")}
        ordinary = make_rule(**{**left, "loss": task.name, **own})
        assert_same_kind((learner.settled().rule, learner.settled().clock.schedule), ordinary)
        np.testing.assert_allclose(
            learner.scores(rows), in_use.scores(rows), rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(weights_of(learner), weights_of(in_use), rtol=1e-9, atol=1e-12)
        assert learner.settled().weights().nnz == in_use.weights().nnz
        assert n_examples < 300 or in_use.weights().nnz > 0

    @pytest.mark.parametrize("name", STATIONARY)
    def test_what_is_looked_for_does_not_depend_on_the_number_of_examples(self, name):
        learner, rows, begin = learned(name, ALONE)
        found = learner.phase.model.found
        learner.learn(part(rows, begin, places(rows, CHALLENGED)[0]))
        assert learner.phase.populations[0].points[0] == found

    def test_where_l1_is_given_it_stays(self):
        learner = tuning(space_of(rule="frda", q=2.0, l1=1e-3, eta0="auto"))
        learner.learn(ROWS[BINARY])
        assert learner.settled().rule.l1 == 1e-3
        assert_same_kind(learner.settled().clock.schedule, InvSqrt(learner.settled().found["eta0"]))
        assert "l1" not in learner.settled().found

    def test_where_steps_are_given_they_stay(self):
        learner = tuning(space_of(rule="frda", q=2.0, l1="auto", eta0=0.3))
        learner.learn(ROWS[BINARY])
        assert_same_kind(learner.settled().clock.schedule, InvSqrt(0.3))
        assert_same_kind(
            learner.settled().rule, make_rule("frda", q=2.0, l1=learner.settled().found["l1"])[0]
        )
        assert "eta0" not in learner.settled().found


def moved(rows, new):
    """The rows with their features in other places."""
    indices = new[rows.indices].astype(rows.indices.dtype)
    indices.flags.writeable = False
    return rows._replace(indices=indices)


class TestFeatures:
    @pytest.mark.parametrize("n_examples", [300, 1000, 2000])
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
            assert other.settled().found == learner.settled().found
            begin = end

    @pytest.mark.parametrize("n_examples", [300, 1000, 2000])
    def test_what_is_forgotten_has_no_weight(self, n_examples):
        learner, _, _ = learned("classes", n_examples)
        before = weights_of(learner)
        kept = np.arange(0, N_FEATURES, 2)
        learner.move(kept, kept, N_FEATURES)
        after = weights_of(learner)
        np.testing.assert_array_equal(after[:, kept], before[:, kept])
        assert not after[:, 1::2].any()
        assert before[:, 1::2].any()

    @pytest.mark.parametrize("n_examples", [100, 300, 1000, 2000])
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

    @pytest.mark.parametrize("n_examples", [300, 1000, 2000])
    def test_there_is_room_at_once(self, n_examples):
        learner, _, _ = learned("binary", n_examples)
        before = weights_of(learner)
        learner.grow(40)
        after = weights_of(learner)
        assert after.shape == (1, 40)
        np.testing.assert_array_equal(after[:, :N_FEATURES], before)

    @pytest.mark.parametrize("n_examples", [300, 2000])
    def test_what_some_model_may_know_is_useful(self, n_examples):
        """While there are several, only features that never occurred can go."""
        learner, _, _ = learned("binary", n_examples)
        counts = np.ones(N_FEATURES, np.uint64)
        counts[3] = 0
        useful = learner.usefulness(counts)
        assert useful[3] == -np.inf
        assert (np.delete(useful, 3) >= -1.0).all()
        own = learner.phase.in_use().usefulness(counts)
        seen = (own >= -1.0) & (counts > 0)
        np.testing.assert_array_equal(useful[seen], own[seen])

    def test_alone_it_is_the_model_that_says_what_is_useful(self):
        learner, _, _ = learned("binary", 1000)
        counts = np.ones(N_FEATURES, np.uint64)
        np.testing.assert_array_equal(
            learner.usefulness(counts), learner.phase.model.usefulness(counts)
        )


class TestLimit:
    @pytest.mark.parametrize("n_examples", [100, 300, 1000, 2000, 4700])
    def test_the_largest_weights_stay(self, n_examples):
        learner, _, _ = learned("limited", n_examples)
        weights, own = weights_of(learner), weights_of(learner.phase.in_use())
        kept = np.flatnonzero(weights)
        assert 1 <= len(kept) <= 5
        np.testing.assert_array_equal(weights[:, kept], own[:, kept])
        if np.count_nonzero(own) > 5:
            assert np.abs(weights[:, kept]).min() >= np.abs(np.delete(own, kept, axis=1)).max()


class TestDivergence:
    def test_the_challenged_one(self):
        """Another that lives is in use until the challenge is over, and counts from then on."""
        learner, rows, begin = learned("regression", 2000)
        (challenge,) = learner.phase.populations
        first = challenge.in_use()
        challenge.block._seats.work[LIVES, 0] = 0.0  # as after a step that was too large
        learner._settled = None
        assert challenge.predictor == 1
        assert learner.settled().found != {**first.found, "target_features": None}
        learner.learn(part(rows, begin, N_ROWS))
        assert isinstance(learner.phase, Alone)
        assert np.isfinite(weights_of(learner)).all()
        assert learner.t == np.count_nonzero(rows.importance)

    def test_all_models_of_one_rule(self):
        """Of four that race, frda's steps are the only ones that large values upset."""
        learner, rows, begin = learned("regression", 200)
        values = rows.values * 1e30
        values.flags.writeable = False
        (end,) = places(rows, 400)
        learner.learn(part(rows._replace(values=values, y=rows.y), begin, end))
        alive = {race.points[0]["rule"]: race.is_alive for race in learner.phase.populations}
        living = {"scale-free-ftrl": True, "adagrad-fobos": True, "ftrl": True}
        assert alive == {**living, "frda": False}
        assert learner.settled().found["rule"] != "frda"
        assert learner.phase.populations[-1].standing == np.inf
        learner.learn(part(rows, end, N_ROWS))
        assert learner.settled().found["rule"] != "frda"

    def test_all_models_of_the_rule_in_use(self):
        """Those of the next best are used at once."""
        learner, rows, begin = learned("regression", 300)
        first, second = learner.phase.populations[:2]
        first.block._seats.work[LIVES] = 0.0
        learner.learn(part(rows, begin, begin + 1))
        assert learner.settled().found["rule"] == second.points[0]["rule"]
        assert_same(learner, second.in_use())

    @pytest.mark.parametrize("restorable", [True, False])
    def test_of_the_one_alone_after_part_of_a_call(self, restorable):
        """What was learned up to the last comparison stays, and the error says so."""
        learner, rows, begin = learned("stationary", 600)
        other = deepcopy(learner)
        later, end = places(rows, ALONE, 1000)
        values = rows.values.copy()
        values[rows.indptr[later] :] *= 1e45
        values.flags.writeable = False
        kept = f"The first {later - begin} rows of this call were kept"
        with pytest.raises(DivergenceError, match="after 625 examples") as caught:
            learner.learn(part(rows._replace(values=values), begin, end), restorable=restorable)
        assert (kept in str(caught.value)) == restorable
        if restorable:
            other.learn(part(rows, begin, later))
            assert_same_search(learner, other)

    def test_all_in_a_challenge(self):
        task = REGRESSION
        learner = tuning(space_of(task, rule="fobos", l1="auto"), task)
        rows = ROWS[task]
        (end,) = places(rows, 2000)
        learner.learn(part(rows, 0, end))
        values = rows.values * 1e45
        values.flags.writeable = False
        with pytest.raises(DivergenceError, match="all models diverged"):
            learner.learn(part(rows._replace(values=values), end, end + 200))
        with pytest.raises(DivergenceError, match="all models diverged"):
            learner.scores(rows)
