"""Sweeps that choose by other measures than accuracy, weigh classes, and widen their grid."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as sk

import rarefy
from rarefy import (
    ConfigError,
    RarefyWarning,
    SparseOnlineClassifierCV,
    sweep,
)
from rarefy.sweeping.folds import fold_numbers
from rarefy.sweeping.result import Extent, Sweep
from tests import data
from tests.cli.test_cli import run
from tests.in_order import classifier_in_order

pytestmark = pytest.mark.filterwarnings("ignore:The best l1:rarefy.RarefyWarning")
L1S = [0.3, 1.0, 3.0]
N_FOLDS = 3
RULE = "ftrl"  # which learns rows as they are, and so the same beside others


def imbalanced(n: int = 240) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 1.3, "rare", "common")


def of_folds(measure, y, *, X, sample_weight=None, **parameters) -> list[float]:
    """What the measure says of estimators that have not learned the fold."""
    folds = fold_numbers(N_FOLDS, y, is_regression=False, seed=0)
    found = []
    for fold in range(N_FOLDS):
        own = folds == fold
        model = classifier_in_order(RULE, passes=2, random_state=0, **parameters)
        weights = None if sample_weight is None else sample_weight[~own]
        model.fit(X[~own], y[~own], sample_weight=weights)
        scores = model.decision_function(X[own])
        given = {} if sample_weight is None else {"sample_weight": sample_weight[own]}
        found.append(measure(y[own], scores, **given))
    return found


def average_precision(y, scores, **weights):
    return sk.average_precision_score(y == "rare", scores, **weights)


def f1(y, scores, **weights):
    return sk.f1_score(y == "rare", scores > 0.0, **weights)


MEASURES = {"auc": sk.roc_auc_score, "average_precision": average_precision, "f1": f1}


@pytest.mark.parametrize("scoring", MEASURES)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"refit": True},
        {"class_weight": "balanced"},
        {"class_weight": {"rare": 4.0}, "refit": True},
    ],
    ids=str,
)
def test_a_measure_of_every_fold(scoring, more):
    X, y = imbalanced()
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0], len(y))
    found = sweep(
        X,
        y,
        rule=RULE,
        l1=L1S,
        folds=N_FOLDS,
        passes=2,
        scoring=scoring,
        sample_weight=weights,
        **more,
    )
    assert found.score == scoring
    for point, l1 in enumerate(L1S):
        expected = of_folds(MEASURES[scoring], y, X=X, sample_weight=weights, l1=l1, **more)
        assert found.by_fold[scoring][point] == pytest.approx(expected)
    best = found.table[scoring].index(max(found.table[scoring]))
    assert found.best().parameters["l1"] == L1S[best]


def test_class_weights_are_for_learning_alone():
    X, y = imbalanced()
    chosen = {"rule": RULE, "l1": L1S, "class_weight": "balanced"}
    found = sweep(X, y, **chosen, folds=N_FOLDS, passes=2)

    def accuracy(y, scores):
        return sk.accuracy_score(y, np.where(scores > 0.0, "rare", "common"))

    expected = of_folds(accuracy, y, X=X, l1=L1S[1], class_weight="balanced")
    assert found.by_fold["accuracy"][1] == pytest.approx(expected)


def test_several_classes():
    problem = data.problem("multiclass", n=200)
    chosen = {"rule": RULE, "l1": L1S, "scoring": "f1"}
    found = sweep(problem.csr, problem.y, **chosen, folds=N_FOLDS, passes=2)
    expected = of_folds(
        lambda y, scores: sk.f1_score(y, scores.argmax(axis=1), average="macro"),
        problem.y,
        X=problem.csr,
        l1=L1S[0],
    )
    assert found.by_fold["f1"][0] == pytest.approx(expected)
    with pytest.raises(
        ConfigError, match=r"scoring='auc' \(--by\) is for two classes, and there are 4"
    ):
        sweep(problem.csr, problem.y, l1=L1S, folds=N_FOLDS, scoring="auc")


def test_a_function_sees_labels_and_scores():
    X, y = imbalanced()
    found = sweep(X, y, l1=L1S, folds=N_FOLDS, passes=2, scoring=sk.roc_auc_score)
    by_name = sweep(X, y, l1=L1S, folds=N_FOLDS, passes=2, scoring="auc")
    assert found.score == "score"
    assert found.by_fold["score"] == pytest.approx(by_name.by_fold["auc"])


def test_less_loss_is_better():
    X, y = imbalanced()
    found = sweep(X, y, l1=L1S, folds=N_FOLDS, passes=2, scoring="loss")
    loss = found.table["loss"]
    assert found.best().measures["loss"] == min(loss)
    frontier = [choice.measures for choice in found.frontier()]
    assert [one["loss"] for one in frontier] == sorted(one["loss"] for one in frontier)[::-1]
    close = found.one_standard_error().measures
    assert close["loss"] <= min(loss) + found.best().measures["standard_error"]
    assert close["weights"] <= found.best().measures["weights"]


def test_estimators_choose_by_it():
    X, y = imbalanced()
    model = SparseOnlineClassifierCV(
        l1=L1S, cv=N_FOLDS, passes=2, scoring="average_precision", class_weight="balanced"
    ).fit(X, y)
    assert model.sweep_.score == "average_precision"
    assert model.best_estimator_.class_weight == "balanced"
    assert model.best_params_ == model.sweep_.best().parameters


class TestReaders:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("rows.svm").write_text(data.svmlight_text(data.problem("binary", n=200)))

    def found(self, **more):
        reader = rarefy.read("rows.svm")
        return sweep(reader, l1=L1S, folds=N_FOLDS, passes=2, **more)

    def test_scores_are_those_of_models_that_have_not_learned_the_row(self):
        def accuracy(y, scores):
            return float(np.mean((scores > 0.0) == (y > 0.0)))

        found = self.found(scoring=accuracy)
        assert found.by_fold["score"] == pytest.approx(found.by_fold["accuracy"])

    def test_named(self):
        found = self.found(scoring="auc")
        assert found.by_fold["auc"] == pytest.approx(
            self.found(scoring=sk.roc_auc_score).by_fold["score"]
        )

    def test_classes_weigh(self):
        plain, weighed = self.found(), self.found(class_weight={1: 20.0})
        assert (plain.by_fold["loss"] < weighed.by_fold["loss"]).all()

    def test_memory_for_scores(self):
        with pytest.raises(ConfigError, match="all models and scores"):
            self.found(scoring="auc", memory=2_097_152)


class TestEnds:
    def made(self, scores: list[float], l1s: list[float]) -> Sweep:
        points = [{"rule": "scale-free", "loss": "logistic", "l1": l1} for l1 in l1s]
        column = np.array(scores)[:, np.newaxis]
        measures = dict.fromkeys(("accuracy", "loss", "weights", "features"), column)
        return Sweep(lambda point: None, points, measures, Extent(1, 1))

    def test_which(self):
        assert self.made([0.9, 0.8, 0.7], [1.0, 2.0, 3.0]).end_of_l1()[1] == -1
        assert self.made([0.9, 0.8, 0.7], [3.0, 2.0, 1.0]).end_of_l1()[1] == 1
        assert self.made([0.7, 0.9, 0.8], [1.0, 2.0, 3.0]).end_of_l1() is None
        assert self.made([0.9, 0.9, 0.8], [1.0, 2.0, 3.0]).end_of_l1() is None
        assert self.made([0.9, 0.8], [1.0, 2.0]).end_of_l1() is None
        assert self.made([np.nan] * 3, [1.0, 2.0, 3.0]).end_of_grid == ""

    def test_models_without_weights(self):
        points = [{"rule": "scale-free", "loss": "logistic", "l1": l1} for l1 in (30.0, 60.0)]
        column = np.full((2, 1), 0.9)
        measures = {"accuracy": column, "loss": column, "weights": column, "features": column}
        assert Sweep(lambda _: None, points, measures, Extent(1, 1)).end_of_grid == ""
        measures["weights"] = np.zeros((2, 1))
        empty = Sweep(lambda _: None, points, measures, Extent(1, 1))
        assert "have no weights: smaller values may be better" in empty.end_of_grid

    def test_a_default_grid_is_widened(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 30))
        y = X @ rng.normal(size=30) > 0.0
        with warnings.catch_warnings(record=True):
            found = sweep(X, y, n_l1=4, folds=None, scoring="loss")
        l1s = sorted(found.table["l1"])
        assert len(l1s) > 4
        assert l1s[0] < 0.3
        ratios = np.divide(l1s[1:], l1s[:-1])
        assert ratios == pytest.approx(np.full(len(ratios), ratios[0]))
        at_once = sweep(X, y, l1=l1s[:3], folds=None, scoring="loss")
        order = np.argsort(found.table["l1"])[:3]
        assert at_once.by_fold["loss"].tolist() == found.by_fold["loss"][order].tolist()

    def test_a_given_grid_is_not(self):
        X, y = np.eye(40), np.arange(40) % 2 == 0
        X[:, 0] = y
        with pytest.warns(RarefyWarning, match="is the smallest that was tried: smaller ones may"):
            found = sweep(X, y, l1=[2.0, 3.0, 4.0], folds=None, scoring="loss")
        assert len(found.points) == 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"scoring": "precision"}, "one of accuracy, loss, f1, auc, average_precision"),
        ({"scoring": "r2"}, "one of accuracy"),
        ({"scoring": "auc", "folds": None}, "needs folds"),
        ({"loss": "squared", "scoring": "auc"}, "one of r2, rmse, loss"),
        ({"scoring": lambda model, X, y: 0.0}, "scorers, which take an estimator, cannot"),
        ({"scoring": sk.make_scorer(sk.roc_auc_score)}, "a function of labels and scores"),
    ],
)
def test_what_is_refused(more, message):
    with pytest.raises(ConfigError, match=message):
        sweep(np.eye(6), [0, 1] * 3, **{"l1": [0.1], "folds": 2, **more})


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text(data.svmlight_text(data.problem("binary", n=200)))
    options = ("--l1", "0.3,1,3", "--folds", "3", "--passes", "2", "--by", "average-precision")
    said = run("sweep", "rows.svm", "-o", "out", *options, "--class-weight", "1=5", "--json")
    found = json.loads(said.stdout)
    reader = rarefy.to_matrix(rarefy.read("rows.svm"))
    expected = sweep(reader.X, reader.y, l1=L1S, folds=3, passes=2, class_weight={1: 5},
                     scoring="average_precision").best()  # fmt: skip
    assert found["by"] == "average_precision"
    assert found["choices"]["best"]["parameters"] == expected.parameters
    assert found["choices"]["best"]["average_precision"] == expected.measures["average_precision"]
    model = rarefy.load("out/best.model")
    assert model.class_weight == {"1": 5.0}
    report = Path("out/report.html").read_text()
    assert f"<td>rarefy</td><td class=text>{rarefy.__version__}" in report
    assert "rarefy sweep rows.svm -o out --l1 0.3,1,3" in report
    assert f"l1 {expected.parameters['l1']:.4g}; average_precision" in report
    assert "is evidence for 1, a negative one for -1" in report


def test_the_command_without_folds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text("1 1:1\n-1 2:1\n")
    said = run("sweep", "rows.svm", "-o", "out", "--progressive", "--by", "auc", code=2).stderr
    assert "--by auc needs folds" in said
