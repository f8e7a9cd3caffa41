"""What parameters are found by: loss, right answers, both, or a measure of many rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import f1_score, roc_auc_score

import rarefy
from rarefy import ConfigError
from rarefy.arrays import as_rows
from rarefy.lanes.block import NO_FOLD, Block, Lane
from rarefy.model.losses import Logistic
from rarefy.model.schedules import Constant
from rarefy.model.scoring import make_scoring
from rarefy.rules.ogd import Ogd
from rarefy.tuning.record import COST_OF_ERRORS, SCALES, Record
from tests import data
from tests.cli.test_cli import run
from tests.in_order import classifier_in_order


def recorded(scoring: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The costs of one interval by scale and model, and what they are made of."""
    lanes = [Lane(Ogd(), Constant(eta0), Logistic()) for eta0 in (0.01, 1.0)]
    problem = data.problem("binary", n=80)
    block = Block(lanes, n_features=25, n_outputs=1, fit_intercept=True, scales=SCALES)
    asked = None if scoring is None else make_scoring(scoring, is_regression=False)
    record = Record(block, None, scoring=asked)
    rows = as_rows(problem.csr, problem.y, np.ones(80))
    block.learn(rows, np.full(80, NO_FOLD), np.arange(80), judged=True)
    _, examples, right = block.progress()
    expected = {"loss": block.losses(), "accuracy": COST_OF_ERRORS * (examples - right)}
    record.end_interval()
    wanted = sum(expected.values()) if scoring is None else expected[scoring]
    return record.means(), np.broadcast_to(wanted, (3, 2)).min(axis=0) / examples


@pytest.mark.parametrize("scoring", [None, "loss", "accuracy"])
def test_costs(scoring):
    found, expected = recorded(scoring)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("scoring", ["loss", "f1", "auc"])
@pytest.mark.parametrize("stop", [200, 1_700])
def test_it_is_saved(scoring, stop, tmp_path):
    """In the middle of an interval, too: of the race, and of a challenge."""
    problem = data.problem("binary", n=2_600)
    model = classifier_in_order(l1="auto", scoring=scoring)
    whole = classifier_in_order(l1="auto", scoring=scoring)
    whole.partial_fit(problem.csr, problem.y, np.unique(problem.y))
    model.partial_fit(problem.csr[:stop], problem.y[:stop], np.unique(problem.y))
    model.save(tmp_path / "some.model")
    again = rarefy.load(tmp_path / "some.model")
    assert again.scoring == scoring
    again.partial_fit(problem.csr[stop:], problem.y[stop:])
    assert again.coef_.tobytes() == whole.coef_.tobytes()


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_a_function_is_asked_as_its_name_is(task):
    """Names and functions that measure the same find the same."""
    problem = data.problem(task, n=2_000)
    several = task == "multiclass"

    def macro_f1(labels, scores, sample_weight=None):
        predicted = scores.argmax(axis=1) if several else (scores > 0.0).astype(int)
        labels = np.searchsorted(np.unique(problem.y), labels)
        average = "macro" if several else "binary"
        return f1_score(
            labels, predicted, average=average, sample_weight=sample_weight, zero_division=0
        )

    by_name, by_function = (
        classifier_in_order(l1="auto", scoring=scoring).fit(problem.csr, problem.y)
        for scoring in ("f1", macro_f1)
    )
    assert by_function.found_["l1"] == pytest.approx(by_name.found_["l1"], rel=1e-6)
    by_default = classifier_in_order(l1="auto").fit(problem.csr, problem.y)
    assert several or by_name.found_ != by_default.found_


def test_regressions_are_tuned_by_functions():
    problem = data.problem("regression", n=2_000)
    seen = []

    def closeness(targets, predictions):
        seen.append(targets)
        return -float(np.abs(targets - predictions).mean())

    targets = problem.y + 1_000.0  # which functions are given as they are
    model = rarefy.SparseOnlineRegressor(l1="auto", scoring=closeness, shuffle=False)
    model.fit(problem.csr, targets)
    assert all(np.isin(some, targets).all() for some in seen)
    assert sum(map(len, seen)) > 500


def test_from_a_file(tmp_path):
    """By name in the command, by name or function in Python; progress counts every row once."""
    problem = data.problem("binary", n=1_500)
    file = tmp_path / "a.svm"
    dump_svmlight_file(problem.csr, problem.y, str(file), zero_based=False)
    model = tmp_path / "a.model"
    run("train", str(file), "-o", str(model), "--l1", "auto", "--by", "auc")
    by_command = rarefy.load(model).decision_function(rarefy.read(file))
    by_name = rarefy.train(file, l1="auto", scoring="auc")
    by_function = rarefy.train(file, l1="auto", scoring=roc_auc_score)
    np.testing.assert_array_equal(by_command, by_name.decision_function(rarefy.read(file)))
    assert by_function.found_["l1"] == pytest.approx(by_name.found_["l1"])
    assert by_name.learner_.progress[1] == 1_500
    with pytest.raises(ConfigError, match="no file holds a function"):
        rarefy.train(file, output=model, l1="auto", scoring=roc_auc_score)
    with pytest.raises(ConfigError, match="save it with slim=True"):
        by_function.save(model)
    by_function.save(model, slim=True)
    np.testing.assert_array_equal(
        rarefy.load(model).predict(rarefy.read(file)), by_function.predict(rarefy.read(file))
    )


def test_what_is_refused(tmp_path):
    X, y = np.eye(6), [0, 1] * 3
    with pytest.raises(ConfigError, match='is for tuning, and no parameter is "auto"'):
        classifier_in_order(scoring="loss").fit(X, y)
    with pytest.raises(ConfigError, match=r"scoring='roc_auc' \(--by\) \(use 'auc'\)"):
        classifier_in_order(l1="auto", scoring="roc_auc").fit(X, y)
    with pytest.raises(ConfigError, match="a function of labels and scores is expected"):
        classifier_in_order(l1="auto", scoring=lambda estimator, X, y: 0.0).fit(X, y)
    with pytest.raises(ConfigError, match="is for two classes, and there are 3"):
        classifier_in_order(l1="auto", scoring="auc").fit(X, [0, 1, 2] * 2)
    (tmp_path / "a.svm").write_text("1.5 1:1\n2.5 2:1\n")
    with pytest.raises(ConfigError, match="which predicts numbers"):
        rarefy.train(tmp_path / "a.svm", loss="squared", rule="auto", scoring="accuracy")
