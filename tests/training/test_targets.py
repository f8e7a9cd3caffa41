"""A target of so many features: the best of them by a refit, where the rows can be had again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse

import rarefy
from rarefy import ConfigError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.cli.group import main
from rarefy.engine.pruning import CANDIDATES, only_candidates
from rarefy.files.model_file import load_model
from tests import data
from tests.in_order import classifier_in_order

N_ROWS, N_LEARNED = 1500, 1000
rng = np.random.default_rng(0)
X = sparse.random_array((N_ROWS, 400), density=0.05, rng=rng, format="csr")
Y = X[:, :30] @ rng.normal(size=30) > 0.0


def fitted(**parameters) -> SparseOnlineClassifier:
    return classifier_in_order(**parameters).fit(X[:N_LEARNED], Y[:N_LEARNED])


def features_of(model) -> np.ndarray:
    return np.unique(model.sparse_coef_.indices)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for kind in ("binary", "multiclass", "regression"):
        Path(f"{kind}.svm").write_text(data.svmlight_text(data.problem(kind, n=600, d=60)))
    return tmp_path


def said(*arguments: str, text: str | None = None) -> dict:
    command = ["train", *arguments, "-o", "some.model", "--json"]
    result = CliRunner().invoke(main, command, input=text)
    assert result.exit_code == 0, result.output
    return {"stderr": result.stderr, **json.loads(result.stdout.splitlines()[-1])}


def test_it_is_met_as_by_a_refit_to_so_many_features():
    found, expected = fitted(target_features=30), fitted(refit=True, refit_features=30)
    assert len(features_of(found)) == 30
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_only_the_strongest_are_candidates():
    before = fitted(l1=0.1)
    squares = np.asarray(X[:N_LEARNED].power(2).sum(axis=0)).ravel()
    learner = before.learner_.settled()
    assert only_candidates(learner, 30, lambda: squares) is learner
    left = np.unique(only_candidates(learner, 3, lambda: squares).nonzero()[0])
    strengths = before.coef_[0] ** 2 * squares
    assert left.tolist() == np.sort(np.argsort(-strengths)[: 3 * CANDIDATES]).tolist()
    assert before.n_nonzero_ > 3 * CANDIDATES


def test_it_is_better_than_what_is_found_while_learning():
    online = classifier_in_order(target_features=20)
    online.partial_fit(X[:N_LEARNED], Y[:N_LEARNED], classes=[False, True])
    scores = [m.score(X[N_LEARNED:], Y[N_LEARNED:]) for m in (fitted(target_features=20), online)]
    assert scores[0] > scores[1] + 0.01


@pytest.mark.parametrize("target", [2, 20])
@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_files_and_matrices_lead_to_the_same_features(folder, kind, target):
    loss = {"loss": "squared"} if kind == "regression" else {}
    estimator = SparseOnlineRegressor if kind == "regression" else SparseOnlineClassifier
    problem = data.problem(kind, n=600, d=60)
    expected = estimator(target_features=target, passes=1, shuffle=False, **loss)
    expected.fit(problem.csr, problem.y)
    read = rarefy.train(f"{kind}.svm", target_features=target, output="a.model", **loss)
    streamed = estimator(target_features=target, **loss).fit_stream(rarefy.read(f"{kind}.svm"))
    for model in (read, streamed, rarefy.load("a.model")):
        assert sorted(map(int, model.weights_)) == features_of(expected).tolist()
        assert model.target_features == target
    assert len(features_of(expected)) == target


def test_rows_that_come_once_meet_it_while_they_are_learned(folder):
    text = Path("binary.svm").read_text()
    found = said("-", "--format", "svmlight", "--target-features", "7", text=text)
    assert found["cut_to"] == 7
    assert "before it is cut to 7 features" in found["stderr"]
    saved = load_model("some.model")
    assert len(saved.kept.weights) == 7
    assert saved.state is not None


def test_losses_without_a_refit_meet_it_while_learning():
    model = fitted(loss="perceptron", target_features=10)
    assert 1 <= len(features_of(model)) <= 10
    assert not model.is_slim_


def test_several_passes_and_an_endowment_are_welcome():
    assert len(features_of(fitted(target_features=5, passes=2, endowment=1.0))) == 5


def test_the_smaller_limit_holds():
    assert len(features_of(fitted(target_features=9, refit=True, refit_features=4))) == 4
    assert len(features_of(fitted(target_features=4, refit=True, refit_features=9))) == 4


def test_without_an_intercept_there_is_none():
    assert fitted(target_features=3, fit_intercept=False).intercept_.tolist() == [0.0]


def test_it_is_saved_and_finished(folder):
    model = fitted(target_features=5)
    model.save("a.model")
    again = rarefy.load("a.model")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    for one in (model, again):
        with pytest.raises((ConfigError, AttributeError)):
            one.partial_fit(X, Y)


def test_an_interrupted_run_ends_with_the_same_model(folder, monkeypatch):
    from rarefy.training import procedure

    whole = rarefy.train("binary.svm", target_features=5, output="whole.model")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(procedure, "refit_stream", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rarefy.train("binary.svm", target_features=5, output="part.model")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    again = rarefy.train(resume="part.model", output="part.model")
    assert again.weights_ == whole.weights_
    assert Path("part.model").read_bytes() == Path("whole.model").read_bytes()


@pytest.mark.parametrize("how", [["--target-features", "5"], ["--refit"]], ids=str)
def test_the_end_is_of_the_model_that_is_saved(folder, how):
    found = said("binary.svm", *how)
    leaves = ", which leaves at most 5 features" if "--target-features" in how else ""
    assert f"lines but the last describe the model before the refit{leaves};" in found["stderr"]
    assert "has the weights and held-out figures of the refitted model." in found["stderr"]
    evaluated = CliRunner().invoke(main, ["evaluate", "some.model", "binary.svm", "--json"])
    expected = json.loads(evaluated.stdout)
    shown = found["refitted"]
    assert shown == {name: pytest.approx(expected[name]) for name in shown}
    assert shown["examples"] == 600
    inspected = CliRunner().invoke(main, ["inspect", "some.model", "--json"])
    assert json.loads(inspected.stdout)["progressive_loss"] is None
