"""`rarefy slim`: the model that `rarefy train --slim` would have written."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

from tests import data
from tests.cli.test_cli import error_of, run, train
from tests.in_order import classifier_in_order


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("binary.svm").write_text(data.svmlight_text(data.problem("binary", n=200)))
    return tmp_path


def test_the_bytes_are_those_of_train_slim():
    train("binary.svm", "--slim")
    expected = Path("some.model").read_bytes()
    train("binary.svm")
    assert "weights" in run("slim", "some.model", "-o", "small.model").stderr
    assert Path("small.model").read_bytes() == expected
    assert "is slim already" in error_of("slim", "small.model", "-o", "smaller.model")


@pytest.mark.parametrize(("options", "why"), [((), "slim"), (("--refit",), "refitted")])
def test_why_a_model_cannot_be_trained_further(options, why):
    train("binary.svm", "--slim", *options)
    assert f"not possible: the model is {why}\n" in run("inspect", "some.model").stdout


def test_the_threshold_and_the_predictions_are_kept():
    train("binary.svm", "-b", "10")
    run("threshold", "some.model", "--set", "1.5")
    run("slim", "some.model", "-o", "small.model")
    for options in ((), ("--scores",)):
        expected = run("predict", "some.model", "binary.svm", *options).stdout
        assert run("predict", "small.model", "binary.svm", *options).stdout == expected


def test_names_of_columns_are_shown():
    rows = pandas.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "height": [4.0, 3.0, 1.0, 2.0]})
    model = classifier_in_order(l1=0.0, passes=3).fit(rows, [0, 1, 1, 0])
    for slim in (False, True):
        model.save("frame.model", slim=slim)
        shown = run("inspect", "frame.model").stdout
        assert "age" in shown
        assert "height" in shown
    assert "age" in run("export", "frame.model", "--to", "csv").stdout


def test_data_that_were_learned_already():
    Path("more.svm").write_text(Path("binary.svm").read_text())
    train("binary.svm")
    said = "some.model has learned ./binary.svm already"
    assert said in run("train", "--resume", "some.model", "./binary.svm", "-o", "x.model").stderr
    assert "already" not in run("train", "--resume", "some.model", "more.svm").stderr
    assert said in run("train", "--resume", "some.model", "./binary.svm", "-o", "x.model").stderr
