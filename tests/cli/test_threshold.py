"""`rarefy threshold`, and that the threshold of a model holds wherever it predicts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score

import rarefy
from rarefy import ConfigError
from tests import data
from tests.cli.test_cli import error_of, predictions, run, train
from tests.in_order import classifier_in_order


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data and a model in it."""
    monkeypatch.chdir(tmp_path)
    for kind in ("binary", "multiclass", "regression"):
        Path(f"{kind}.svm").write_text(data.svmlight_text(data.problem(kind, n=200)))
    train("binary.svm")
    return tmp_path


def scores_and_labels(model: str) -> tuple[np.ndarray, np.ndarray]:
    both = predictions(model, "binary.svm", "--scores"), predictions(model, "binary.svm")
    return np.array(both[0]), np.array(both[1])


def evaluated(model: str) -> dict:
    return json.loads(run("evaluate", model, "binary.svm", "--json").stdout)


def test_that_is_given():
    result = run("threshold", "some.model", "--set", "0.7", "-o", "other.model")
    assert result.stdout == "other.model: 1 is predicted for scores above 0.7.\n"
    scores, labels = scores_and_labels("other.model")
    assert (labels == np.where(scores > 0.7, 1.0, -1.0)).all()
    assert (labels != scores_and_labels("some.model")[1]).any()


def test_that_is_found():
    before = evaluated("some.model")
    run("threshold", "some.model", "binary.svm")
    after = evaluated("some.model")
    assert after["f1"] == after["best_f1"] == before["best_f1"] >= before["f1"]
    assert after["auc"] == before["auc"]
    _, labels = scores_and_labels("some.model")
    assert f1_score(data.problem("binary", n=200).y, labels) == pytest.approx(after["f1"])


def test_zero_gives_the_file_of_before():
    before = Path("some.model").read_bytes()
    run("threshold", "some.model", "--set", "2")
    assert Path("some.model").read_bytes() != before
    run("threshold", "some.model", "--set", "0")
    assert Path("some.model").read_bytes() == before


def test_data_and_a_threshold_at_once():
    message = run("threshold", "some.model", "binary.svm", "--set", "1", code=2).stderr
    assert "either DATA to find the threshold on, or --set, not both." in message


def test_a_threshold_in_the_place_of_data():
    message = run("threshold", "some.model", "0.7", code=2).stderr
    assert "to set the threshold to 0.7, use --set 0.7." in message


def test_the_threshold_of_truncation_is_another_one():
    message = error_of("train", "binary.svm", "-o", "other.model", "--threshold", "0.7")
    assert "the score above which a class is predicted is decision_threshold, or `rare" in message


def test_in_python():
    run("threshold", "some.model", "--set", "0.7")
    model = rarefy.load("some.model")
    assert model.decision_threshold == 0.7
    scores, labels = scores_and_labels("some.model")
    reader = rarefy.read("binary.svm")
    assert (model.predict(reader) == labels).all()
    model.set_params(decision_threshold=-0.3).save("other.model", slim=True)
    again = rarefy.load("other.model")
    again.save("again.model", slim=True)
    for name in ("other.model", "again.model"):
        assert (predictions(name, "binary.svm") == np.where(scores > -0.3, 1.0, -1.0)).all()


def test_matrices():
    problem = data.problem("binary", n=200)
    model = classifier_in_order(decision_threshold=0.4).fit(problem.csr, problem.y)
    above = model.decision_function(problem.csr) > 0.4
    assert (model.predict(problem.csr) == np.where(above, 1.0, -1.0)).all()
    model.save("matrix.model")
    assert rarefy.load("matrix.model").decision_threshold == 0.4


def test_learning_goes_on():
    """A threshold is no part of what is learned."""
    run("threshold", "some.model", "--set", "0.7")
    run("train", "binary.svm", "--resume", "some.model", "-o", "more.model", "--quiet")
    scores, labels = scores_and_labels("more.model")
    assert (labels == np.where(scores > 0.7, 1.0, -1.0)).all()


def test_explanations_and_flips():
    run("threshold", "some.model", "--set", "100", "-o", "never.model")
    why = run("inspect", "never.model", "--why", "binary.svm", "--json").stdout
    assert json.loads(why)["label"] == "-1"
    found = json.loads(run("flips", "some.model", "never.model", "binary.svm", "--json").stdout)
    assert found["new_accuracy"] == pytest.approx(evaluated("never.model")["accuracy"])
    assert found["negative_flips"] > 0


class TestExports:
    @pytest.fixture(autouse=True)
    def threshold(self):
        run("threshold", "some.model", "--set", "0.7")

    def test_json(self):
        assert (
            json.loads(run("export", "some.model", "--to", "json").stdout)["decision_threshold"]
            == 0.7
        )

    def test_svmlight(self):
        assert run("export", "some.model", "--to", "svmlight").stdout.endswith(", threshold 0.7\n")

    @pytest.mark.parametrize("format", ["csv", "vw"])
    def test_formats_that_have_no_place_for_it(self, format):
        said = run("export", "some.model", "--to", format).stderr
        assert said.startswith(f"Warning: the decision threshold 0.7 is not in the {format} file")

    def test_onnx(self):
        pytest.importorskip("onnx")
        runtime = pytest.importorskip("onnxruntime")
        train("binary.svm", "--store", "array")
        run("threshold", "some.model", "--set", "0.7")
        run("export", "some.model", "-o", "some.onnx")
        session = runtime.InferenceSession("some.onnx")
        X = data.problem("binary", n=200).dense
        scores, labels, _ = session.run(None, {"X": X})
        assert (labels == np.where(scores[:, 0] > 0.7, 1, -1)).all()


def test_data_that_the_model_has_learned():
    said = run("threshold", "some.model", "./binary.svm", "-o", "other.model").stderr
    assert "Warning: the model has learned ./binary.svm" in said
    Path("copy.svm").write_bytes(Path("binary.svm").read_bytes())
    assert run("threshold", "some.model", "copy.svm", "-o", "other.model").stderr == ""


def test_figures_of_further_training():
    """Accuracy is that of the threshold, or is not shown: progressive answers are those at 0."""
    run("threshold", "some.model", "--set", "-9")
    Path("new.svm").write_text(data.svmlight_text(data.problem("binary", n=100, seed=7)))
    more = ("new.svm", "--resume", "some.model", "--holdout", "binary.svm", "-o", "more.model")
    events = [json.loads(line) for line in run("train", *more, "--json").stdout.splitlines()]
    assert events[-1]["accuracy"] is None
    expected = evaluated("more.model")["accuracy"]
    assert events[-1]["holdout"]["accuracy"] == pytest.approx(expected)
    assert expected == np.mean(data.problem("binary", n=200).y > 0)
    *_, progressive, held_out, _ = run("train", *more).stderr.splitlines()
    assert "progressive loss" in progressive
    assert "accuracy" not in progressive
    assert f"accuracy {expected:.1%}".replace("%", " %") in held_out


class TestRefused:
    def test_several_classes_and_numbers(self):
        train("multiclass.svm")
        error = error_of("threshold", "some.model", "--set", "1")
        assert "only models of two classes have a decision threshold" in error
        X, y = np.eye(6), [0, 1, 2] * 2
        with pytest.raises(ConfigError, match=r"decision_threshold=0\.5 is for two classes"):
            classifier_in_order(decision_threshold=0.5).fit(X, y)

    def test_nothing_to_go_by(self):
        assert "give DATA" in run("threshold", "some.model", code=2).stderr

    def test_no_examples_of_the_second_class(self):
        Path("negative.svm").write_text("-1 1:1\n-1 2:1\n")
        message = run("threshold", "some.model", "negative.svm", code=1).stderr
        assert message.endswith("Error: negative.svm: there are no examples of 1.\n")

    @pytest.mark.parametrize("given", ["nan", "inf"])
    def test_no_number(self, given):
        assert "a finite number is expected" in error_of("threshold", "some.model", "--set", given)

    def test_while_training(self):
        with pytest.raises(ConfigError, match="set it after training"):
            rarefy.train("binary.svm", decision_threshold=0.5)
