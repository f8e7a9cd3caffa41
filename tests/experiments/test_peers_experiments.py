"""The comparison with other tools: frontiers, grids, and a small page from beginning to end."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from rich.console import Console
from scipy import sparse

from experiments.peers import data as real_data
from experiments.peers import ours, theirs, vw
from experiments.peers.__main__ import write
from experiments.peers.data import Task
from experiments.peers.frontier import (
    Frontier,
    Lead,
    chosen_without,
    frontier,
    leads,
    leads_of_chosen,
)
from experiments.peers.outcome import Outcome
from experiments.peers.plan import FULL, QUICK
from experiments.peers.work import outcomes, read
from tests import data
from tests.in_order import classifier_in_order

SMALL = QUICK._replace(n_points=6, n_folds=2)


@pytest.fixture(scope="module")
def small() -> Task:
    problem = data.problem("binary", n=300)
    X = sparse.csr_array(problem.dense)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return Task(X, problem.y, np.arange(300) % 2)


# --- frontiers ----------------------------------------------------------------------------------

GRID = Outcome(
    accuracy=[[0.5, 0.5], [0.6, 0.8], [0.9, 0.7], [0.5, 0.7], [0.8, 0.8]],
    weights=[[0.0, 0.0], [10.0, 10.0], [1000.0, 1000.0], [40.0, 60.0], [5000.0, 6000.0]],
)


def test_a_frontier_has_what_nothing_beats():
    found = frontier(GRID)
    assert found.weights.tolist() == [10.0, 1000.0]
    assert found.means.tolist() == pytest.approx([0.7, 0.8])
    np.testing.assert_allclose(found.at(100), [0.75, 0.75])
    np.testing.assert_allclose(found.at(10**6), [0.9, 0.7])
    assert found.fewest(0.65) == 10.0
    assert found.fewest(0.75) == pytest.approx(100.0)
    assert found.fewest(0.81) == inf


def test_more_tries_never_lower_a_frontier():
    rng = np.random.default_rng(0)
    for _ in range(100):
        few, more = (
            Outcome(
                rng.random((n, 2)).tolist(), np.exp(rng.uniform(0, 9, (n, 1))).repeat(2, 1).tolist()
            )
            for n in (5, 5)
        )
        alone, together = frontier(few), frontier(few + more)
        for n_weights in np.geomspace(alone.weights[0], 1e5, 30):
            assert together.at(n_weights).mean() >= alone.at(n_weights).mean() - 1e-12
        assert (np.diff(together.means) > 0).all()


def test_a_fold_is_judged_by_what_the_others_choose():
    accuracy = [[0.9, 0.5, 0.6], [0.7, 0.8, 0.7], [1.0, 1.0, 1.0], [0.0, 0.9, 0.9]]
    tries = Outcome(accuracy, [[10.0] * 3, [20.0] * 3, [30.0] * 3, [0.0] * 3])
    assert chosen_without(tries, 10).tolist() == [0.9, 0.5, 0.6]
    assert chosen_without(tries, 29).tolist() == [0.7, 0.5, 0.7]
    assert chosen_without(tries, 1000).tolist() == [1.0, 1.0, 1.0]
    found = leads_of_chosen(tries, Outcome([[0.5] * 3], [[15.0] * 3]))
    assert [(lead.n_weights, round(lead.mean, 3)) for lead in found] == [(20, 0.133)]


def test_leads_are_differences_by_fold():
    flat = Frontier(np.array([20.0]), np.array([[0.7, 0.7]]))
    found = {lead.n_weights: lead for lead in leads(frontier(GRID), flat)}
    assert list(found) == [20, 50, 100, 200, 500, 1000]
    at_100, at_1000 = found[100], found[1000]
    assert (at_100.mean, at_100.error) == pytest.approx((0.05, 0.0))
    assert at_100.is_clear
    assert (at_1000.mean, at_1000.error) == pytest.approx((0.1, 0.1))
    assert not Lead(1, 0.1, 0.2).is_clear


# --- grids --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_our_grid_is_what_estimators_learn(small):
    found = ours.one_rule(small, SMALL, ours.FTRL, refit=True)
    l1 = np.logspace(*ours.DECADES["ftrl"], SMALL.n_points)[3]
    X, y, X_own, y_own = small.split(1)
    model = classifier_in_order("ftrl", l1=l1, passes=SMALL.passes, refit=True).fit(X, y)
    assert found.weights[3][1] == model.n_nonzero_
    assert found.accuracy[3][1] == pytest.approx(model.score(X_own, y_own))
    assert len(ours.mixed(small, SMALL).weights) == SMALL.n_points
    assert len(ours.unrefitted(small, SMALL).weights) == SMALL.n_points
    assert len(ours.wide(small, SMALL).weights) == 17 * SMALL.n_points


@pytest.mark.parametrize(
    "run", [theirs.liblinear_logistic, theirs.liblinear_squared_hinge, theirs.sgd_l1]
)
def test_paths_go_from_few_weights_to_many(small, run):
    found = run(small, SMALL)
    assert np.shape(found.weights) == np.shape(found.accuracy) == (SMALL.n_points, SMALL.n_folds)
    weights = np.mean(found.weights, axis=1)
    assert weights.min() < 5
    assert weights.max() > 20
    assert np.max(found.accuracy) > 0.7


def test_weights_of_vw_are_those_that_it_predicts_with(small, tmp_path):
    workspace = pytest.importorskip("vowpalwabbit").Workspace
    X, y, _, _ = small.split(0)
    text = tmp_path / "rows.vw"
    text.write_text(vw.as_text(X, y))
    options = ("--sgd", "--l1", "0.003")
    weights, intercept = vw.learned(text, X.shape[1], 3, options)
    assert 0 < np.count_nonzero(weights) < len(weights)
    model, scores = tmp_path / "model", tmp_path / "scores"
    files = ["-d", str(text), "--cache_file", str(tmp_path / "cache"), "-k", "-f", str(model)]
    workspace(arg_list=[*vw.COMMON, "--passes", "3", *files, *options]).finish()
    asked = ["--quiet", "-t", "-i", str(model), "-d", str(text), "-r", str(scores)]
    workspace(arg_list=asked).finish()
    theirs_ = [float(line.split()[0]) for line in scores.read_text().splitlines()]
    np.testing.assert_allclose(X @ weights + intercept, theirs_, atol=1e-3)


def test_the_intercept_of_vw_has_an_index_of_its_own():
    columns = np.arange(vw.CONSTANT - 1, vw.CONSTANT + 2)
    assert vw.places(columns).tolist() == [vw.CONSTANT - 1, vw.CONSTANT + 1, vw.CONSTANT + 2]


# --- all of it ----------------------------------------------------------------------------------


def test_what_was_run_is_not_run_again(tmp_path):
    file = tmp_path / "outcomes.jsonl"
    file.write_text('["sms", "frda", [[[0.5]], [[3.0]]]]\n["sms", "ft')
    plan = QUICK._replace(datasets=("sms",), methods=("frda",))
    calls = []
    found = outcomes(plan, file, 1, lambda done, all_: calls.append((done, all_)))
    assert found == {("sms", "frda"): Outcome([[0.5]], [[3.0]])} == read(file)
    assert calls == [(1, 1)]


def test_grids_divide_evenly():
    for plan in (FULL, QUICK):
        assert plan.n_points % 6 == 0


@pytest.mark.slow
def test_a_small_page(tmp_path):
    if real_data.absent(QUICK.datasets):
        pytest.skip("the data are not here")
    file = write(QUICK, tmp_path / "docs", tmp_path, 1, Console(quiet=True))
    text = file.read_text()
    for name in QUICK.datasets:
        assert f"### {name}\n" in text
        assert (file.parent / "img" / f"peers-{name}.svg").stat().st_size > 1_000
    assert "{" not in text
    assert write(QUICK, tmp_path / "docs", tmp_path, 1, Console(quiet=True)).read_text() == text
