"""`rarefy evaluate`: measures of what `rarefy predict` predicts."""

from __future__ import annotations

import json
import math
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy import special
from sklearn import metrics as sk

from rarefy.cli.views.metrics_view import show_metrics
from rarefy.cli.views.tables import Page
from rarefy.model.losses import LOSSES
from tests import data
from tests.cli.test_cli import error_of, predictions, run, sms_lines, table_of, train


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data in it."""
    monkeypatch.chdir(tmp_path)
    for kind in ("binary", "multiclass", "regression"):
        Path(f"{kind}.svm").write_text(data.svmlight_text(data.problem(kind, n=200)))
    Path("sms.csv").write_text(sms_lines("csv"))
    return tmp_path


def evaluated(*arguments: str) -> dict:
    return json.loads(run("evaluate", *arguments, "--json").stdout)


def targets(kind: str) -> np.ndarray:
    return data.problem(kind, n=200).y


@pytest.mark.parametrize("store", ["table", "hashed", "array"])
def test_two_classes(store):
    train("binary.svm", "--store", store)
    found = evaluated("some.model", "binary.svm")
    y, scores = targets("binary"), predictions("some.model", "binary.svm", "--scores")
    p = predictions("some.model", "binary.svm", "--probabilities")
    labels = predictions("some.model", "binary.svm")
    assert (found["examples"], found["weight"]) == (200, 200.0)
    assert found["classes"] == ["-1", "1"]
    assert found["confusion"] == sk.confusion_matrix(y, labels).tolist()
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(y, labels))
    assert found["auc"] == pytest.approx(sk.roc_auc_score(y, scores))
    assert found["loss"] == pytest.approx(sk.log_loss(y, special.expit(scores)))
    assert found["log_loss"] == pytest.approx(sk.log_loss(y, p))


def test_a_better_threshold_is_pointed_out():
    """Where it matters, as with a rare class, and not in JSON."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 5))
    y = X[:, 0] + 0.7 * rng.normal(size=3_000) > 2.2
    lines = [f"{int(label)},{','.join(map(str, x))}" for label, x in zip(y, X, strict=True)]
    Path("rare.csv").write_text("\n".join(["y,a,b,c,d,e", *lines]) + "\n")
    run("train", "rare.csv", "-o", "rare.model", "--label", "y", "--quiet")
    summary = evaluated("rare.model", "rare.csv")
    assert summary["best_f1"] > summary["f1"] + 0.05
    said = run("evaluate", "rare.model", "rare.csv")
    assert f"F1 can be {summary['best_f1']:.2f}: rarefy threshold rare.model DATA" in said.stderr
    run("threshold", "rare.model", "rare.csv")
    assert "rarefy threshold" not in run("evaluate", "rare.model", "rare.csv").stderr


def test_several_classes():
    train("multiclass.svm", "--loss", "hinge", "--rule", "ogd")
    found = evaluated("some.model", "multiclass.svm")
    y = targets("multiclass")
    labels = table_of("some.model", "multiclass.svm", "--scores").argmax(axis=1)
    assert found["confusion"] == sk.confusion_matrix(y, labels).tolist()
    f1 = sk.f1_score(y, labels, average="macro")
    assert found["f1"] == pytest.approx(f1)
    assert set(found) == {"examples", "weight", "loss", "accuracy", "precision", "recall", "f1",
                          "classes", "confusion"}  # fmt: skip


@pytest.mark.parametrize(
    ("loss", "parameters"),
    [
        ("squared", {}),
        ("huber", {"epsilon": 0.7}),
        ("epsilon_insensitive", {"epsilon": 0.4}),
        ("quantile", {"quantile": 0.8}),
    ],
)
def test_numbers_with_the_parameters_of_the_loss(loss, parameters):
    options = [part for name, value in parameters.items() for part in (f"--{name}", str(value))]
    train("regression.svm", "--loss", loss, *options)
    found = evaluated("some.model", "regression.svm")
    y, p = targets("regression"), predictions("some.model", "regression.svm")
    own_loss = LOSSES[loss](**parameters)
    losses = [own_loss.value(*pair) for pair in zip(p, y.tolist(), strict=True)]
    assert found == {
        "examples": 200,
        "weight": 200.0,
        "loss": pytest.approx(np.mean(losses)),
        "rmse": pytest.approx(math.sqrt(sk.mean_squared_error(y, p))),
        "mae": pytest.approx(sk.mean_absolute_error(y, p)),
        "r2": pytest.approx(sk.r2_score(y, p)),
    }


def test_importance_and_columns_are_those_of_training():
    Path("rows.csv").write_text("kind,x,w\n" + "spam,1,2\nham,-1,1\nspam,-1,0.5\nham,-1,0\n" * 90)
    train("rows.csv", "--label", "kind", "--weight", "w")
    Path("new.csv").write_text("w,x,kind\n2,1,spam\n0.5,-1,spam\n1,-1,ham\n0,1,ham\n")
    found = evaluated("some.model", "new.csv")
    assert (found["examples"], found["weight"]) == (3, 3.5)
    assert found["confusion"] == [[1.0, 0.0], [0.5, 2.0]]
    Path("short.csv").write_text("x,kind\n1,spam\n")
    assert "there is no column 'w' (weight)" in error_of("evaluate", "some.model", "short.csv")


def test_auc_of_one_class_is_left_out():
    train("binary.svm")
    Path("ones.svm").write_text("1 1:1\n1 2:1\n")
    found = evaluated("some.model", "ones.svm")
    assert "auc" not in found
    assert sum(found["confusion"][1]) == 2.0


class TestLabels:
    def test_a_number_that_is_no_class(self):
        train("binary.svm")
        Path("new.svm").write_text("1 1:1\n\n3 1:1\n")
        message = error_of("evaluate", "some.model", "new.svm")
        assert message.startswith("Error: new.svm:3: the label is 3; one of the classes -1, 1")

    def test_a_word_that_is_no_class(self):
        train("sms.csv", "--label", "kind")
        Path("new.csv").write_text("kind,message,length,site\neggs,a,1,x\n")
        message = error_of("evaluate", "some.model", "new.csv")
        assert message.startswith("Error: new.csv:2:")
        assert "'eggs' is not one of ham, spam" in message
        assert "list all of them when training starts" in message  # evaluate has no --classes

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    def test_that_are_missing(self, loss):
        Path("rows.vw").write_text("1 |a b\n-1 |a c\n" * 5)
        train("rows.vw", "--loss", loss)
        Path("new.vw").write_text("1 |a b\n|a c\n")
        message = error_of("evaluate", "some.model", "new.vw")
        assert message.startswith("Error: new.vw:2: the label is missing; ")

    def test_whose_column_is_missing(self):
        train("sms.csv", "--label", "kind")
        Path("new.csv").write_text(sms_lines("csv", label=None))
        message = error_of("evaluate", "some.model", "new.csv")
        assert "there is no column 'kind' for the label" in message

    def test_that_are_words_where_numbers_are_predicted(self):
        train("regression.svm", "--loss", "squared")
        Path("new.csv").write_text("label,1\nham,1\n")
        assert "the label is ham; a number" in error_of("evaluate", "some.model", "new.csv")


def test_bad_lines():
    train("binary.svm")
    Path("bad.svm").write_text("1 1:1\nx\n-1 1:1\n")
    assert error_of("evaluate", "some.model", "bad.svm").startswith("Error: bad.svm:2:1: ")
    result = run("evaluate", "some.model", "bad.svm", "--bad-lines", "skip", "--json")
    assert "1 bad line was skipped:" in result.stderr
    assert json.loads(result.stdout)["examples"] == 2


def test_nothing_to_evaluate():
    train("binary.svm")
    Path("empty.svm").write_text("\n")
    message = error_of("evaluate", "some.model", "empty.svm")
    assert message == "Error: empty.svm: there are no examples to evaluate.\n"


def test_lines_where_there_is_no_terminal():
    train("sms.csv", "--label", "kind")
    found = evaluated("some.model", "sms.csv")
    lines = [
        line.split("\t") for line in run("evaluate", "some.model", "sms.csv").stdout.split("\n")
    ]
    assert dict(line for line in lines if len(line) == 2) == {
        name: str(value) for name, value in found.items() if isinstance(value, int | float)
    }
    pairs = {
        (truth, predicted): float(w) for _, truth, predicted, w in (x for x in lines if len(x) == 4)
    }
    assert pairs == {("ham", "ham"): 20.0, ("spam", "spam"): 20.0}


def shown(summary: dict, width: int = 80) -> str:
    console = Console(force_terminal=True, color_system=None, width=width)
    with redirect_stdout(StringIO()) as shown:
        show_metrics(summary, Page(console))
    return shown.getvalue()


SUMMARY = {
    "examples": 1234,
    "weight": 1300.5,
    "loss": 0.25,
    "accuracy": 0.9,
    "auc": 1e-7,
    "classes": ["ham", "[red]spam"],
    "confusion": [[1000.0, 0.0], [33.25, 200.0]],
}


class TestTerminal:
    def test_numbers_and_matrix(self):
        assert shown(SUMMARY) == (
            "examples        1,234\n"
            "weight    1,300.50000\n"
            "loss          0.25000\n"
            "accuracy      0.90000\n"
            "AUC        1.0000e-07\n"
            "\n"
            "  truth / predicted     ham   [red]spam\n"
            " ───────────────────────────────────────\n"
            "  ham                 1,000           0\n"
            "  [red]spam           33.25         200\n"
            "\n"
        )

    def test_a_matrix_that_is_too_wide_is_a_list(self):
        assert "  [red]spam   ham          33.25\n" in shown(SUMMARY, width=39)
        assert "truth / predicted" not in shown(SUMMARY, width=39)

    def test_more_than_twenty_classes_are_a_list_of_what_is_confused_most(self):
        n = 21
        matrix = np.diag(np.full(n, 1000.0))
        matrix[3, 7], matrix[7, 3] = 5.0, 6.0
        summary = {**SUMMARY, "classes": [f"c{i}" for i in range(n)], "confusion": matrix.tolist()}
        pairs = re.findall(r"(c\d+) +(c\d+) +([\d,]+)", shown(summary, width=300))
        assert pairs == [("c7", "c3", "6"), ("c3", "c7", "5")]
        matrix[:] = np.arange(n * n).reshape(n, n)
        summary["confusion"] = matrix.tolist()
        pairs = re.findall(r"(c\d+) +(c\d+) +([\d,]+)", shown(summary))
        assert len(pairs) == 20
        assert pairs[0] == ("c20", "c19", "439")

    def test_numbers_to_predict_have_no_matrix(self):
        summary = {"examples": 2, "weight": 2.0, "loss": 0.5, "rmse": 12345.678, "r2": -0.5}
        assert shown(summary) == (
            "examples             2\n"
            "loss           0.50000\n"
            "RMSE      12,345.67800\n"
            "R2            -0.50000\n"
        )
