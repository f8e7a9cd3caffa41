"""A refit that leaves fewer features than were kept: which ones go, and that sweeps do the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import rarefy
from rarefy import ConfigError, SparseOnlineClassifier, SparseOnlineClassifierCV
from rarefy import SparseOnlineRegressor as Regressor
from rarefy.engine.refit import RANKS_CLASSES
from rarefy.estimators.sweep_grid import task_of
from rarefy.files.model_file import load_model
from rarefy.rules import Fobos, Rda
from rarefy.sweeping.cross_validation import Candidate, alike
from tests import data
from tests.cli.test_cli import run, weights_of
from tests.in_order import classifier_in_order

L2 = 0.02
PROBLEM = data.problem("binary", n=400, d=50)
X, Y = PROBLEM.csr, PROBLEM.y
LIMITS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 1000]


def classifier(**parameters) -> SparseOnlineClassifier:
    return classifier_in_order(**{"l1": 0.3, "refit_l2": L2, **parameters})


def features_of(model) -> np.ndarray:
    return np.unique(model.sparse_coef_.indices)


def minimum(kept: np.ndarray, importance: np.ndarray) -> LogisticRegression:
    """The refit of some features, as scikit-learn finds it, in the features' own units."""
    columns = PROBLEM.dense[:, kept]
    sizes = np.sqrt((importance @ columns**2) / (importance @ (columns != 0.0)))
    share = importance / importance.sum()
    peer = LogisticRegression(C=1.0 / L2, tol=1e-10, max_iter=10_000, solver="newton-cg")
    peer.fit(columns / sizes, Y, sample_weight=share)
    peer.coef_ /= sizes
    return peer


def by_elimination(kept: np.ndarray, limit: int, importance: np.ndarray) -> tuple[np.ndarray, ...]:
    """Features and weights: the weakest go until their number is the next smaller power of two."""
    while True:
        (weights,) = minimum(kept, importance).coef_
        if len(kept) <= limit:
            return kept, weights
        strengths = weights**2 * (importance @ PROBLEM.dense[:, kept] ** 2)
        powers = [2**n for n in range(20) if limit <= 2**n < len(kept)]
        n_left = max(powers, default=limit)
        kept = np.sort(kept[np.argsort(-strengths)[:n_left]])


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_weakest_go_half_of_them_at_a_time(limit, weighted):
    importance = data.importances(len(Y)) if weighted else np.ones(len(Y))
    first = features_of(classifier().fit(X, Y, sample_weight=importance))
    assert 32 < len(first) < 50
    kept, weights = by_elimination(first, limit, importance)
    model = classifier(refit=True, refit_features=limit).fit(X, Y, sample_weight=importance)
    np.testing.assert_array_equal(features_of(model), kept)
    assert len(kept) == min(limit, len(first))
    np.testing.assert_allclose(model.coef_[0, kept], weights, rtol=0, atol=1e-5)


def test_it_is_not_the_weights_of_learning_that_count():
    """Of 20 features the ten strongest before the refit are not those that it leaves."""
    before = classifier(l1=1.0).fit(X, Y)
    energy = (PROBLEM.dense**2).mean(axis=0)
    strongest = np.sort(np.argsort(-(before.coef_[0] ** 2) * energy)[:10])
    left = features_of(classifier(l1=1.0, refit=True, refit_features=10).fit(X, Y))
    assert len(left) == 10
    assert left.tolist() != strongest.tolist()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_more_than_were_kept(fit_intercept):
    wide, without = (
        classifier(refit=True, fit_intercept=fit_intercept, refit_features=limit).fit(X, Y)
        for limit in (50, None)
    )
    np.testing.assert_array_equal(wide.coef_, without.coef_)
    np.testing.assert_array_equal(wide.intercept_, without.intercept_)


def test_without_an_intercept_none_is_left():
    model = classifier(refit=True, refit_features=3, fit_intercept=False).fit(X, Y)
    assert (model.intercept_ == 0.0).all()


@pytest.mark.parametrize("kind", ["multiclass", "regression"])
@pytest.mark.parametrize("limit", [1, 3, 8])
def test_classes_and_targets(kind, limit):
    """A feature is counted once, however many classes it has weights for."""
    problem = data.problem(kind, n=300, d=30, classes=3)
    cls = Regressor if kind == "regression" else SparseOnlineClassifier
    wide, small = (
        cls(l1=1e-3, refit=True, refit_features=left).fit(problem.csr, problem.y)
        for left in (None, limit)
    )
    assert len(features_of(wide)) > limit
    assert len(features_of(small)) == limit
    assert set(features_of(small)) < set(features_of(wide))
    assert small.score(problem.csr, problem.y) < wide.score(problem.csr, problem.y)


def most_significant(dense: np.ndarray, y: np.ndarray, limit: int) -> np.ndarray:
    """What elimination leaves: squared weights over their variances, summed over the classes."""
    kept = np.arange(dense.shape[1])
    while len(kept) > limit:
        columns = dense[:, kept] / np.sqrt(
            (dense[:, kept] ** 2).sum(0) / (dense[:, kept] != 0).sum(0)
        )
        peer = LogisticRegression(C=1.0 / RANKS_CLASSES, tol=1e-10, max_iter=10_000)
        chances = peer.fit(columns, y).predict_proba(columns)
        curvatures = (chances * (1.0 - chances)).T @ columns**2
        variances = curvatures / (curvatures + RANKS_CLASSES) ** 2
        powers = [2**n for n in range(20) if limit <= 2**n < len(kept)]
        strengths = (peer.coef_**2 / variances).sum(axis=0)
        kept = np.sort(kept[np.argsort(-strengths)[: max(powers, default=limit)]])
    return kept


@pytest.mark.parametrize("limit", [1, 3, 8, 13, 20])
@pytest.mark.parametrize("l2", [None, L2])
def test_features_of_classes_are_ranked_by_what_is_significant(limit, l2):
    problem = data.problem("multiclass", n=300, d=30, classes=3)
    model = SparseOnlineClassifier(l1=0.0, refit=True, refit_l2=l2, refit_features=limit)
    left = features_of(model.fit(problem.csr, problem.y))
    np.testing.assert_array_equal(left, most_significant(problem.dense, problem.y, limit))


def test_common_words_do_not_crowd_out_those_of_a_class():
    """Ten words each mark a class in a few rows; forty are in most rows, and say nothing."""
    random = np.random.default_rng(0)
    y = random.integers(5, size=1000)
    marks = (random.random((1000, 10)) < 0.2) & (y[:, np.newaxis] == np.arange(10) % 5)
    common = random.poisson(3.0, size=(1000, 40))
    model = SparseOnlineClassifier(target_features=10).fit(np.hstack([marks, common]) * 1.0, y)
    assert features_of(model).tolist() == list(range(10))


def test_the_given_l2_is_that_of_the_refit_of_classes():
    """Features are ranked with another one."""
    problem = data.problem("multiclass", n=300, d=30, classes=3)
    model = SparseOnlineClassifier(l1=0.0, refit=True, refit_l2=L2, refit_features=5)
    model.fit(problem.csr, problem.y)
    kept = features_of(model)
    columns = problem.dense[:, kept]
    sizes = np.sqrt((columns**2).sum(axis=0) / (columns != 0.0).sum(axis=0))
    peer = LogisticRegression(C=1.0 / (L2 * 300), tol=1e-10, max_iter=10_000)
    peer.fit(columns / sizes, problem.y)
    np.testing.assert_allclose(model.coef_[:, kept], peer.coef_ / sizes, rtol=0, atol=1e-4)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "10", [1, 2]])
def test_what_is_no_number_of_features(wrong):
    with pytest.raises(ConfigError, match="refit_features"):
        classifier(refit=True, refit_features=wrong).fit(X, Y)


def test_without_a_refit():
    with pytest.raises(ConfigError, match="needs refit=True"):
        classifier(refit_features=5).fit(X, Y)
    with pytest.raises(ConfigError, match="needs refit=True"):
        rarefy.sweep(X, Y, refit_features=[5, 10], folds=3)


# --- sweeps -------------------------------------------------------------------------------------


FOLDS = np.random.default_rng(2).integers(3, size=len(Y))
SWEPT = {
    "rule": "ftrl",
    "l1": [0.1, 1.0],
    "passes": 2,
    "refit": True,
    "refit_features": [2, None, 7, 16],
}


def test_every_limit_is_judged_as_by_itself():
    result = rarefy.sweep(X, Y, folds=FOLDS, **SWEPT)
    assert [(p["l1"], p["refit_features"]) for p in result.points] == [
        (l1, limit) for l1 in SWEPT["l1"] for limit in SWEPT["refit_features"]
    ]
    for point, accuracy, weights, loss in zip(
        result.points,
        *(result.by_fold[name] for name in ("accuracy", "weights", "loss")),
        strict=True,
    ):
        for fold in range(3):
            own = fold == FOLDS
            model = classifier_in_order(**point, passes=2, refit=True).fit(X[~own], Y[~own])
            assert accuracy[fold] == pytest.approx(model.score(X[own], Y[own]), abs=1e-9)
            assert weights[fold] == model.n_nonzero_
            probability = model.predict_proba(X[own])[:, 1]
            losses = -np.log(np.where(Y[own] > 0, probability, 1.0 - probability))
            assert loss[fold] == pytest.approx(losses.mean(), rel=1e-6)


def candidates_of(models):
    return [Candidate(task_of(model), 0, model.refit_features) for model in models]


def test_models_that_learn_the_same_are_learned_once():
    models = [
        classifier_in_order(l1=l1, rule=rule, refit=True, refit_features=limit)
        for limit in (1, 2)
        for rule in ("frda", "ftrl")
        for l1 in (0.1, 1.0)
    ]
    assert alike(candidates_of(models)) == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_rules_of_different_classes_are_not_alike():
    """Even if they have the same parameters."""
    rules = [Rda(0.01, None), Fobos(0.01, None)]
    models = [classifier_in_order(rule) for rule in rules]
    assert alike(candidates_of(models)) == [[0], [1]]
    swept = rarefy.sweep(X, Y, rule=rules, folds=FOLDS, passes=2)
    for rule, weights in zip(rules, swept.by_fold["weights"], strict=True):
        alone = rarefy.sweep(X, Y, rule=rule, folds=FOLDS, passes=2)
        assert weights.tolist() == alone.by_fold["weights"][0].tolist()


def test_the_same_point_twice():
    result = rarefy.sweep(X, Y, folds=FOLDS, l1=[0.1, 1.0, 0.1], passes=2)
    first, _, third = result.by_fold["accuracy"].tolist()
    assert first == third


def test_the_chosen_model_keeps_to_it():
    model = SparseOnlineClassifierCV(cv=3, **{**SWEPT, "refit_features": [3, 6]}).fit(X, Y)
    assert model.best_params_["refit_features"] in (3, 6)
    assert model.n_nonzero_ == model.best_params_["refit_features"]


# --- streams, files and the command -------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text(data.svmlight_text(PROBLEM))
    return tmp_path


def test_streams_and_the_command_do_the_same(folder):
    parameters = {"l1": 0.3, "refit": True, "refit_features": 6}
    fitted = classifier_in_order(**parameters).fit(X, Y)
    streamed = classifier_in_order(**parameters).fit_stream(rarefy.read("rows.svm"))
    assert len(streamed.weights_) == 6
    np.testing.assert_allclose(
        streamed.decision_function(rarefy.read("rows.svm")),
        fitted.decision_function(X),
        rtol=0,
        atol=1e-5,
    )
    run("train", "rows.svm", "-o", "a.model", "--l1", "0.3", "--refit", "--refit-features", "6")
    model = load_model("a.model")
    streamed.save("b.model")
    assert weights_of(model) == weights_of(load_model("b.model"))
    assert rarefy.load("a.model").refit_features == 6


def test_a_sweep_by_the_command(folder):
    how = ("--l1", "0.3", "--folds", "3", "--passes", "2", "--refit", "--refit-features", "2,5")
    run("sweep", "rows.svm", "-o", "found", *how)
    lines = Path("found/table.csv").read_text().splitlines()
    assert len(lines) == 3
    assert "refit_features" in lines[0]
    assert len(load_model("found/best.model").kept.weights) in (2, 5)


def test_the_command_needs_a_refit_for_it(folder):
    train = ("train", "rows.svm", "-o", "a.model", "--refit-features", "5")
    assert "needs --refit" in run(*train, code=2).stderr
    sweep = ("sweep", "rows.svm", "-o", "found", "--refit-features", "5")
    assert "needs --refit" in run(*sweep, code=2).stderr
    assert "0" in run(*train[:-1], "0", "--refit", code=2).stderr
