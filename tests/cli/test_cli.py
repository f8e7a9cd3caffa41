"""`rarefy train` and `rarefy predict`: the same models as the estimators, and plain errors."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import rarefy.readers
from rarefy.cli import COMMANDS, main
from rarefy.files.model import Model
from rarefy.files.model_file import load_model
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order

N_FEATURES = 25


# --- data as text, and commands -------------------------------------------------------------


def vw_text(svmlight: str) -> str:
    return re.sub(r"(?m)^(\S+)", r"\1 |", svmlight)


@pytest.fixture(scope="module")
def binary() -> data.Problem:
    return data.problem("binary", n=200, d=N_FEATURES)


@pytest.fixture(scope="module")
def regression() -> data.Problem:
    return data.problem("regression", n=200, d=N_FEATURES)


@pytest.fixture(scope="module")
def multiclass() -> data.Problem:
    return data.problem("multiclass", n=200, d=N_FEATURES)


@pytest.fixture
def folder(tmp_path, monkeypatch, binary, regression, multiclass) -> Path:
    """The working directory, with data in it."""
    monkeypatch.chdir(tmp_path)
    Path("multiclass.svm").write_text(data.svmlight_text(multiclass))
    Path("binary.svm").write_text(data.svmlight_text(binary))
    Path("binary.vw").write_text(vw_text(data.svmlight_text(binary)))
    Path("regression.svm").write_text(data.svmlight_text(regression))
    return tmp_path


def run(*arguments: str, code: int = 0, stdin: bytes | None = None) -> Result:
    """Run a command in this process; only a wanted end is accepted, and no traceback ever."""
    result = CliRunner().invoke(main, [*arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments} ended in a traceback") from result.exception
    assert result.exit_code == code, result.output
    return result


def train(*arguments: str, **options) -> Model:
    run("train", *arguments, "-o", "some.model", **options)
    return load_model("some.model")


def predictions(*arguments: str) -> list[float]:
    return [float(line) for line in run("predict", *arguments).stdout.splitlines()]


def table_of(*arguments: str) -> np.ndarray:
    """Predictions of several numbers a line."""
    lines = run("predict", *arguments).stdout.splitlines()
    return np.array([[float(number) for number in line.split("\t")] for line in lines])


def subprocess_run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "rarefy", *arguments],
        input=stdin, capture_output=True, check=False, timeout=60,
    )  # fmt: skip


def weights_of(model: Model) -> dict[tuple[int, int], float]:
    """By key and class, whatever the order in the store."""
    kept = model.kept
    places = zip(kept.keys.tolist(), kept.outputs.tolist(), strict=True)
    return dict(zip(places, kept.weights.tolist(), strict=True))


def named_weights(model: Model) -> dict[str, float]:
    return dict(zip(model.kept.names, model.kept.weights.tolist(), strict=True))


def dense_weights(model: Model) -> np.ndarray:
    out = np.zeros((len(model.intercepts), N_FEATURES))
    for (key, output), weight in weights_of(model).items():
        out[output, key] = weight
    return out


def assert_same_model(model: Model, estimator) -> None:
    coef = np.reshape(estimator.coef_, (-1, N_FEATURES))
    assert dense_weights(model) == pytest.approx(coef, rel=1e-12, abs=1e-12)
    assert model.intercepts == pytest.approx(np.ravel(estimator.intercept_), rel=1e-12, abs=1e-12)
    assert model.progressive_loss == pytest.approx(estimator.progressive_loss_, rel=1e-12)
    assert model.examples == estimator.t_


def options_of(parameters: dict[str, object]) -> list[str]:
    """Parameters of an estimator as options of the command."""
    options = []
    for name, value in parameters.items():
        if name == "fit_intercept":
            options += [] if value else ["--no-intercept"]
        elif value is True:
            options.append("--" + name)
        else:
            options += ["--" + name.replace("_", "-"), str(value)]
    return options


# --- models are those of the estimators -----------------------------------------------------

CLASSIFIERS = [
    {},
    {"rule": "frda", "l1": 0.01, "q": 2, "passes": 3},
    {"rule": "ogd", "loss": "hinge", "eta0": 0.5, "fit_intercept": False},
    {"rule": "ftrl", "l1": 0.3, "l2": 0.1, "beta": 0.5, "eta0": 0.2},
    {"rule": "fobos", "l1": 0.01, "cumulative": True, "schedule": "inv_t"},
    {"rule": "truncated-gradient", "l1": 0.01, "truncate_every": 7, "threshold": 0.5},
    {"rule": "sgft", "l1": 0.001, "cap": 3.0},
    {"rule": "frda", "loss": "squared_hinge"},
]
REGRESSORS = [
    {"loss": "squared"},
    {"loss": "squared", "rule": "adagrad-rda", "l1": 0.001, "passes": 2},
    {"loss": "huber", "rule": "rda", "l1": 0.01, "eta0": 0.3},
]


def named(parameters: dict[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items()) or "defaults"


@pytest.mark.parametrize("parameters", CLASSIFIERS, ids=named)
def test_the_model_is_that_of_the_classifier(folder, binary, parameters):
    estimator = classifier_in_order(**parameters).fit(binary.csr, binary.y)
    assert_same_model(train("binary.svm", *options_of(parameters)), estimator)
    scores = predictions("some.model", "binary.svm", "--scores")
    assert scores == pytest.approx(estimator.decision_function(binary.csr), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"rule": "ogd", "loss": "hinge"},
        {"rule": "ftrl", "multiclass": "ovr", "passes": 2},
        {"rule": "fobos", "multiclass": "crammer_singer", "l1": 0.01},
    ],
    ids=named,
)
def test_the_model_of_several_classes_is_that_of_the_classifier(folder, multiclass, parameters):
    estimator = classifier_in_order(**parameters).fit(multiclass.csr, multiclass.y)
    assert_same_model(train("multiclass.svm", *options_of(parameters)), estimator)
    scores = table_of("some.model", "multiclass.svm", "--scores")
    assert scores == pytest.approx(estimator.decision_function(multiclass.csr), rel=1e-9, abs=1e-12)
    found = run("predict", "some.model", "multiclass.svm").stdout.split()
    assert found == [str(label) for label in estimator.predict(multiclass.csr)]


@pytest.mark.parametrize("parameters", REGRESSORS, ids=named)
def test_the_model_is_that_of_the_regressor(folder, regression, parameters):
    estimator = regressor_in_order(**parameters).fit(regression.csr, regression.y)
    assert_same_model(train("regression.svm", *options_of(parameters)), estimator)
    found = predictions("some.model", "regression.svm")
    assert found == pytest.approx(estimator.predict(regression.csr), rel=1e-9, abs=1e-12)


def test_importance_is_a_sample_weight(folder, binary):
    weights = data.importances(len(binary.y))
    lines = Path("binary.vw").read_text().splitlines()
    Path("weighted.vw").write_text(
        "\n".join(
            line.replace(" |", f" {float(weight)!r} |", 1)
            for line, weight in zip(lines, weights, strict=True)
        )
    )
    estimator = classifier_in_order().fit(binary.csr, binary.y, sample_weight=weights)
    assert_same_model(train("weighted.vw"), estimator)


def test_many_small_files_are_as_one(folder, binary):
    """More files than there are batches under way; in a process of its own, lest a batch that is
    overwritten too early take the tests down."""
    Path("parts").mkdir()
    for i, line in enumerate(Path("binary.svm").read_text().splitlines(keepends=True)):
        Path(f"parts/{i:03}.svm").write_text(line)
    estimator = classifier_in_order().fit(binary.csr, binary.y)
    done = subprocess_run("train", "parts/*.svm", "-o", "some.model")
    assert done.returncode == 0, done.stderr
    assert_same_model(load_model("some.model"), estimator)
    done = subprocess_run("predict", "some.model", "parts/*.svm", "--scores")
    assert done.returncode == 0, done.stderr
    whole = predictions("some.model", "binary.svm", "--scores")
    assert [float(line) for line in done.stdout.split()] == whole


def test_svmlight_and_vw_are_the_same_data(folder):
    first, second = train("binary.svm"), train("binary.vw")
    assert weights_of(first) == weights_of(second)
    scores = predictions("some.model", "binary.svm", "--scores")
    assert predictions("some.model", "binary.vw", "--scores") == scores


def test_labels_0_and_1_are_learned_as_others_and_printed_as_they_are(folder):
    text = Path("binary.svm").read_text()
    Path("zeros.svm").write_text(re.sub(r"(?m)^-1\b", "0", text))
    first = train("binary.svm")
    labels = run("predict", "some.model", "binary.svm").stdout.split()
    second = train("zeros.svm")
    assert (first.classes, second.classes) == (("-1", "1"), ("0", "1"))
    assert weights_of(first) == weights_of(second)
    assert first.intercepts == second.intercepts
    assert set(labels) == {"-1", "1"}
    expected = [label.replace("-1", "0") for label in labels]
    assert run("predict", "some.model", "zeros.svm").stdout.split() == expected


def test_compressed_data(folder):
    plain = train("binary.svm")
    Path("binary.svm.gz").write_bytes(gzip.compress(Path("binary.svm").read_bytes()))
    assert weights_of(train("binary.svm.gz")) == weights_of(plain)


class TestStores:
    def test_a_table_is_the_default_and_bits_mean_hashed(self, folder):
        assert train("binary.svm").store["kind"] == "table"
        assert train("binary.svm", "-b", "7").store == {"kind": "hashed", "bits": 7}
        assert train("binary.svm", "--store", "hashed").store == {"kind": "hashed", "bits": 22}
        assert train("binary.svm", "--store", "array").store["kind"] == "array"

    @pytest.mark.parametrize("options", [(), ("-b", "10"), ("--store", "array")], ids=" ".join)
    def test_all_give_the_same_model(self, folder, binary, options):
        model = train("binary.svm", "--passes", "2", *options)
        assert_same_model(model, classifier_in_order(passes=2).fit(binary.csr, binary.y))

    def test_few_bits_let_features_share_weights_and_that_is_said(self, folder):
        result = run("train", "binary.svm", "-o", "few.model", "--bits", "2")
        assert load_model("few.model").kept.keys.max() < 4
        assert "4 of 4 weights are shared by several features" in result.stderr
        assert len(predictions("few.model", "binary.svm")) == 200
        assert "shared" not in run("train", "binary.svm", "-o", "m", "--bits", "10").stderr

    def test_what_is_dropped_is_said(self, folder):
        result = run("train", "binary.svm", "-o", "few.model", "--capacity", "21")
        model = load_model("few.model")
        assert model.store["capacity"] == 21
        assert len(model.kept.keys) <= 21
        assert re.search(r"\d+ features were dropped to stay below 21, \d+ of", result.stderr)
        quiet = run("train", "binary.svm", "-o", "m", "--capacity", "21", "--quiet")
        assert quiet.output == ""

    def test_names_are_kept_or_not(self, folder):
        model = train("binary.svm")
        assert model.kept.names == [str(key) for key in model.kept.keys.tolist()]
        assert train("binary.svm", "--no-names").kept.names is None

    def test_an_array_is_for_whole_numbers(self, folder):
        Path("large.svm").write_text("1 5:1\n-1 4294967296:1\n")
        message = error_of("train", "large.svm", "-o", "some.model", "--store", "array")
        assert message.startswith("Error: large.svm:2: the store array needs")

    def test_rows_longer_than_the_limit_are_refused_with_their_place(self, folder):
        Path("long.svm").write_text("1 1:1\n-1 1:1 2:1 3:1\n")
        message = error_of("train", "long.svm", "-o", "some.model", "--capacity", "2")
        assert message.startswith("Error: long.svm:2: the row has 3 features")


# --- columns, words as labels, crosses, texts -------------------------------------------------

SMS = [
    ("spam", "Win a prize now!", 3, "x"),
    ("ham", "See you at lunch", 1, "y"),
    ("ham", "lunch now? See me", "", "x"),
    ("spam", "Prize: win, WIN", 2, "y"),
] * 10


def sms_lines(format: str, label: str | None = "kind", rows=SMS) -> str:
    names = [label, "message", "length", "site"] if label else ["message", "length", "site"]
    rows = [row if label else row[1:] for row in rows]
    if format == "jsonl":
        objects = [dict(zip(names, row, strict=True)) for row in rows]
        kept = [{name: value for name, value in row.items() if value != ""} for row in objects]
        return "".join(json.dumps(row) + "\n" for row in kept)
    if format == "vw":
        numbers = {"spam": "1 ", "ham": "-1 "}
        return "".join(
            (numbers[row[0]] if label else "") + f"|message {re.sub('[:|]', '', row[-3])}\n"
            for row in rows
        )
    if format == "svm":
        assert label
        return "".join(f"{1 if row[0] == 'spam' else -1} {len(row[1])}:1\n" for row in rows)
    mark = {"csv": ",", "tsv": "\t"}[format]

    def field(value) -> str:
        return f'"{value}"' if mark in str(value) else str(value)

    return "\n".join(mark.join(map(field, row)) for row in [names, *rows]) + "\n"


@pytest.fixture
def sms(folder) -> Path:
    for format in ("csv", "tsv", "jsonl", "vw", "svm"):
        Path(f"sms.{format}").write_text(sms_lines(format))
    return folder


class TestColumns:
    @pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
    def test_words_are_labels_and_texts_are_cut_into_words(self, sms, format):
        options = ("--label", "kind", "--text", "message")
        model = train(f"sms.{format}", *options, "--rule", "ogd", "--passes", "3")
        assert model.classes == ("ham", "spam")
        weights = named_weights(model)
        assert weights["message=win"] > 0 > weights["message=lunch"]
        assert {"message=win a", "message=prize win", "length", "site=x"} <= set(weights)
        found = run("predict", "some.model", f"sms.{format}").stdout.split()
        assert found == [row[0] for row in SMS]

    def test_all_formats_with_columns_give_the_same_model(self, sms):
        options = ("--label", "kind", "--text", "message", "--cross", "site,message")
        first, *others = (train(f"sms.{kind}", *options) for kind in ("csv", "tsv", "jsonl"))
        for other in others:
            assert named_weights(other) == pytest.approx(named_weights(first))
            assert other.reading.cross == first.reading.cross == (("site", "message"),)

    def test_crosses_are_features(self, sms):
        weights = named_weights(train("sms.csv", "--label", "kind", "--cross", "site,length"))
        assert {"site=x*length", "site=y*length"} <= set(weights)
        assert "message=Win a prize now!" in weights
        rows = run("predict", "some.model", "sms.csv", "--scores").stdout
        Path("short.csv").write_text(sms_lines("csv", label=None))
        assert run("predict", "some.model", "short.csv", "--scores").stdout == rows

    def test_several_crosses(self, sms):
        options = ("--cross", "site,length", "--cross", "site,message")
        weights = named_weights(train("sms.csv", "--label", "kind", *options))
        assert {"site=x*length", "site=y*message=See you at lunch"} <= set(weights)

    def test_ignored_numeric_and_categorical_columns(self, sms):
        options = ("--ignore", "message,site", "--categorical", "length")
        weights = named_weights(train("sms.csv", "--label", "kind", *options))
        assert set(weights) <= {"length=1", "length=2", "length=3"}

    def test_weights_of_rows(self, sms):
        assert train("sms.csv", "--label", "kind", "--ignore", "length").examples == 40
        assert "length" not in named_weights(train("sms.csv", "--label", "kind", "--weight",
                                                   "length", "--bad-lines", "skip"))  # fmt: skip

    def test_without_a_header(self, folder):
        Path("plain.csv").write_text("a,1,x\nb,2,y\n" * 5)
        options = ("--no-header", "--label", "1")
        assert set(named_weights(train("plain.csv", *options))) == {"2", "3=x", "3=y"}
        assert run("predict", "some.model", "plain.csv").stdout.split() == ["a", "b"] * 5

    def test_delimiter_and_quotes(self, folder):
        Path("odd.csv").write_text('label^q\na^"\nb^x\n')
        options = ("--delimiter", "^", "--no-quotes", "--l1", "0")
        assert set(named_weights(train("odd.csv", *options))) == {'q="', "q=x"}


class TestClasses:
    def test_a_class_may_come_later_if_all_are_named(self, folder):
        text = Path("multiclass.svm").read_text()
        Path("late.svm").write_text(text + "9 1:1\n")
        model = train("late.svm", "--classes", "9,0,1,2,3")
        assert model.classes == ("9", "0", "1", "2", "3")
        assert table_of("some.model", "late.svm", "--scores").shape == (201, 5)

    def test_two_classes_are_in_the_order_given(self, sms):
        options = ("sms.jsonl", "--label", "kind", "--text", "message")
        train(*options)
        scores = predictions("some.model", "sms.jsonl", "--scores")
        assert train(*options, "--classes", "spam,ham").classes == ("spam", "ham")
        reversed_scores = predictions("some.model", "sms.jsonl", "--scores")
        assert reversed_scores == pytest.approx([-score for score in scores], abs=1e-9)
        found = run("predict", "some.model", "sms.jsonl").stdout.split()
        assert found == [row[0] for row in SMS]

    @pytest.mark.parametrize("format", ["csv", "jsonl"])
    def test_a_label_that_is_not_named_is_refused_with_its_place(self, sms, format):
        options = ("--label", "kind", "--classes", "ham,eggs")
        message = error_of("train", f"sms.{format}", *options, "-o", "some.model")
        assert message.startswith(f"Error: sms.{format}:{2 if format == 'csv' else 1}:")
        assert "the label 'spam' is not one of ham, eggs" in message

    @pytest.mark.parametrize("format", ["svm", "vw"])
    @pytest.mark.parametrize("label", ["-1", "0", "1", "7"])
    def test_numbers_are_no_words(self, folder, format, label):
        """Not even numbers by which the words could be counted."""
        Path(f"some.{format}").write_text(f"{label} {'' if format == 'svm' else '|'} 1:1\n")
        message = error_of("train", f"some.{format}", "-o", "m", "--classes", "ham,spam")
        assert message.startswith(f"Error: some.{format}:1: the label is {label}; one of the cla")

    @pytest.mark.parametrize("classes", ["", "ham", "ham,ham", "1,2,1"])
    def test_two_different_classes_at_least(self, sms, classes):
        message = error_of("train", "sms.svm", "-o", "m", "--classes", classes)
        assert "two or more different labels are expected" in message

    def test_one_label_alone_cannot_be_learned(self, folder):
        Path("one.csv").write_text("label,x\nham,1\nham,2\n")
        assert "all labels of the first 2 rows are ham" in error_of("train", "one.csv", "-o", "m")

    def test_one_of_two_usual_labels_is_enough(self, folder):
        Path("one.svm").write_text("1 1:1\n" * 3)
        assert train("one.svm").classes == ("-1", "1")

    def test_numbers_to_predict_are_no_classes(self, folder):
        message = error_of("train", "regression.svm", "-o", "m")
        assert "look like numbers to predict; use a regression loss" in message


def write_arrow(path: str, rows, labels: bool = True) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    names = ["kind", "message", "length", "site"]
    columns = [[None if value == "" else value for value in column] for column in zip(*rows)]  # noqa: B905
    table = pa.table(dict(zip(names, columns, strict=True)))
    table = table if labels else table.drop_columns(["kind"])
    if path.endswith("parquet"):
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)


# --- predictions ----------------------------------------------------------------------------


class TestPredictions:
    def test_labels(self, folder, binary):
        train("binary.svm")
        expected = classifier_in_order().fit(binary.csr, binary.y).predict(binary.csr)
        assert predictions("some.model", "binary.svm") == expected.tolist()
        assert set(run("predict", "some.model", "binary.svm").stdout.split()) == {"-1", "1"}

    @pytest.mark.parametrize("scheme", ["softmax", "ovr"])
    def test_probabilities_of_several_classes(self, folder, multiclass, scheme):
        train("multiclass.svm", "--multiclass", scheme)
        estimator = classifier_in_order(multiclass=scheme).fit(multiclass.csr, multiclass.y)
        found = table_of("some.model", "multiclass.svm", "--probabilities")
        assert found.shape == (200, 4)
        assert found == pytest.approx(estimator.predict_proba(multiclass.csr), abs=1e-12)

    def test_probabilities(self, folder, binary):
        train("binary.svm")
        estimator = classifier_in_order().fit(binary.csr, binary.y)
        found = predictions("some.model", "binary.svm", "--probabilities")
        assert found == pytest.approx(estimator.predict_proba(binary.csr)[:, 1], abs=1e-12)

    def test_probabilities_need_the_logistic_loss(self, folder):
        train("binary.svm", "--loss", "hinge", "--rule", "ogd")
        result = run("predict", "some.model", "binary.svm", "--probabilities", code=2)
        assert "hinge" in result.stderr

    def test_rows_without_labels(self, folder):
        train("binary.vw")
        scores = predictions("some.model", "binary.vw", "--scores")
        unlabelled = re.sub(r"(?m)^\S+ ", "", Path("binary.vw").read_text())
        Path("unlabelled.vw").write_text(unlabelled)
        assert predictions("some.model", "unlabelled.vw", "--scores") == scores

    @pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "vw", "parquet", "arrow"])
    def test_rows_without_labels_in_every_format(self, sms, format):
        text = () if format == "vw" else ("--label", "kind", "--text", "message")
        if format in ("parquet", "arrow"):
            write_arrow(f"sms.{format}", SMS)
        train(f"sms.{format}", *text)
        scores = predictions("some.model", f"sms.{format}", "--scores")
        if format in ("parquet", "arrow"):
            write_arrow(f"new.{format}", SMS, labels=False)
        else:
            Path(f"new.{format}").write_text(sms_lines(format, label=None))
        assert predictions("some.model", f"new.{format}", "--scores") == scores
        assert len(set(scores)) > 1

    @pytest.mark.parametrize("label", ["eggs", "?", "", "7", "-1.5"])
    @pytest.mark.parametrize("format", ["csv", "tsv", "jsonl"])
    def test_labels_do_not_matter(self, sms, format, label):
        train(f"sms.{format}", "--label", "kind", "--text", "message")
        scores = predictions("some.model", f"sms.{format}", "--scores")
        others = [(label, *row[1:]) if n % 3 else row for n, row in enumerate(SMS)]
        Path(f"new.{format}").write_text(sms_lines(format, rows=others))
        assert predictions("some.model", f"new.{format}", "--scores") == scores

    @pytest.mark.parametrize("label", ["7", "0.5", "-2"])
    def test_labels_that_are_numbers_do_not_matter(self, folder, label):
        train("binary.svm")
        scores = predictions("some.model", "binary.svm", "--scores")
        text = Path("binary.svm").read_text()
        Path("new.svm").write_text(re.sub(r"(?m)^-1\b", label, text))
        assert predictions("some.model", "new.svm", "--scores") == scores

    @pytest.mark.parametrize("what", ["model", "data", "late data", "option"])
    def test_an_older_file_stays_if_there_is_nothing_to_replace_it(self, folder, what):
        train("binary.svm")
        Path("out.txt").write_text("old\n")
        arguments = {
            "model": ["binary.vw", "binary.svm"],
            "data": ["some.model", "missing.svm"],
            "late data": ["some.model", "binary.svm", "bad.svm"],
            "option": ["some.model", "binary.svm", "--scores", "--probabilities"],
        }[what]
        Path("bad.svm").write_text("1 1:1\n" * 100 + "1 1:x\n")
        files = sorted(os.listdir())
        run("predict", *arguments, "-o", "out.txt", code=2 if what == "option" else 1)
        assert Path("out.txt").read_text() == "old\n"
        assert sorted(os.listdir()) == files

    def test_go_into_a_pipe_and_through_a_link(self, folder):
        train("binary.svm")
        expected = run("predict", "some.model", "binary.svm").stdout
        os.mkfifo("pipe")
        received = []
        thread = threading.Thread(target=lambda: received.append(Path("pipe").read_text()))
        thread.start()
        run("predict", "some.model", "binary.svm", "-o", "pipe")
        thread.join(10)
        assert Path("pipe").is_fifo()
        assert received == [expected]
        Path("link").symlink_to("target")
        run("predict", "some.model", "binary.svm", "-o", "link")
        assert Path("link").is_symlink()
        assert Path("target").read_text() == expected

    def test_names_of_classes_are_written_in_utf8(self, folder):
        Path("words.jsonl").write_text('{"label": "é", "x": 1}\n{"label": "東", "x": -1}\n' * 5)
        train("words.jsonl")
        run("predict", "some.model", "words.jsonl", "-o", "out.txt")
        assert Path("out.txt").read_bytes() == "é\n東\n".encode() * 5

    def test_into_a_file(self, folder):
        train("binary.svm")
        on_screen = run("predict", "some.model", "binary.svm").stdout
        assert run("predict", "some.model", "binary.svm", "-o", "out.txt").stdout == ""
        assert Path("out.txt").read_text() == on_screen

    def test_of_nothing(self, folder):
        train("binary.svm")
        Path("empty.svm").write_text("")
        assert run("predict", "some.model", "empty.svm").stdout == ""

    def test_scores_and_probabilities_exclude_each_other(self, folder):
        train("binary.svm")
        run("predict", "some.model", "binary.svm", "--scores", "--probabilities", code=2)


# --- errors ---------------------------------------------------------------------------------


def error_of(*arguments: str, code: int = 1) -> str:
    """The message, which is one line; another one says what was saved."""
    message = run(*arguments, code=code).stderr
    assert message.startswith("Error: ")
    assert message.count("\n") == 1 + ("\nWhat was learned before" in message)
    return message


class TestErrors:
    @pytest.mark.parametrize("label", ["2", "0.5", "-2", "1e9"])
    def test_a_label_that_is_no_class(self, folder, label):
        Path("good.svm").write_text("1 1:2\n-1 1:1\n")
        Path("bad.svm").write_text(f"1 1:2\n\n{label} 1:2\n")
        message = error_of("train", "good.svm", "bad.svm", "-o", "some.model")
        assert message.startswith(
            f"Error: bad.svm:3: the label is {float(label):g}; one of the classes -1, 1 is "
            "expected. To train on more classes, list all of them when training starts: "
            "classes=... (--classes).\n"
        )
        assert load_model("some.model").examples == 2

    def test_a_word_where_a_number_is_to_be_predicted(self, sms):
        message = error_of("train", "sms.csv", "--label", "kind", "--loss", "squared", "-o", "m")
        assert message.startswith("Error: sms.csv:2: the label is spam; a number is expected")

    def test_a_column_that_is_not_there(self, sms):
        message = error_of("train", "sms.csv", "-o", "some.model")
        assert "there is no column 'label'" in message
        assert "kind, message, length, site" in message
        assert "--label" in message

    @pytest.mark.parametrize("format", ["csv", "jsonl"])
    def test_an_empty_label(self, sms, format):
        rows = [*SMS, ("", "no label", 1, "x")]
        Path(f"bad.{format}").write_text(sms_lines(format, rows=rows))
        message = error_of("train", f"bad.{format}", "--label", "kind", "-o", "some.model")
        assert message.startswith(f"Error: bad.{format}:{len(rows) + (format == 'csv')}:")

    @pytest.mark.parametrize("loss", ["logistic", "squared"])
    def test_a_missing_label(self, folder, loss):
        Path("bad.vw").write_text("1 |a b\n|a b\n")
        message = error_of("train", "bad.vw", "-o", "some.model", "--loss", loss)
        assert message.startswith("Error: bad.vw:2: ")

    def test_a_bad_line(self, folder):
        Path("bad.svm").write_text("1 1:2\n1 1:x\n")
        message = error_of("train", "bad.svm", "-o", "some.model")
        assert message.startswith("Error: bad.svm:2:5: a finite number as the value is expected")
        train("binary.svm")
        assert error_of("predict", "some.model", "bad.svm").startswith("Error: bad.svm:2:5: ")

    def test_skipped_bad_lines_are_reported(self, folder):
        text = Path("binary.svm").read_text()
        Path("bad.svm").write_text("x\n" + text + "1 1:x\n")
        clean = train("binary.svm")
        command = ("train", "bad.svm", "-o", "some.model", "--quiet")
        result = run(*command, "--bad-lines", "skip")
        assert "2 bad lines" in result.stderr
        assert "bad.svm:1:1: " in result.stderr
        assert "bad.svm:202:5: " in result.stderr
        assert weights_of(load_model("some.model")) == weights_of(clean)
        result = run("predict", "some.model", "bad.svm", "--bad-lines", "skip")
        assert "2 bad lines" in result.stderr
        assert len(result.stdout.splitlines()) == 200

    def test_bad_lines_are_counted_once_in_several_passes(self, folder):
        Path("bad.svm").write_text("x\n1 1:1\n-1 2:1\n")
        command = ("train", "bad.svm", "-o", "some.model", "--bad-lines", "skip")
        stderr = run(*command, "--passes", "3").stderr
        assert stderr.count("bad.svm:1:1: ") == 1
        assert "3 bad lines" not in stderr

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (("--rule", "ogd", "--q", "2"), "q=2.0 does not apply to the rule ogd"),
            (("--rule", "ogd", "--l1", "1"), "it has no L1 penalty"),
            (("--rule", "ftrl", "--schedule", "inv_t"), "schedule='inv_t' does not apply"),
            (("--rule", "rda", "--cumulative"), "cumulative=True does not apply"),
            (("--l1", "-1"), "l1=-1.0: a number >= 0 is expected"),
            (("--l1", "nan"), "l1=nan: a number >= 0 is expected"),
            (("--rule", "rounding", "--truncate-every", "0"), "truncate_every=0"),
            (("--rule", "sgft", "--basis", "feature"), "sgft is fr-comid with the basis 'update'"),
            (("--rule", "truncated-gradient", "--schedule", "inv_t"), "needs a constant step size"),
            (("--store", "table", "-b", "5"), "bits=5 does not apply to the store table"),
            (("--store", "array", "-b", "5"), "bits=5 does not apply to the store array"),
            (("-b", "5", "--capacity", "7"), "capacity=7 does not apply to the store has"),
            (("--store", "array", "--capacity", "7"), "capacity=7 does not apply to the"),
            (("--capacity", "9999999999"), "capacity=9999999999: a whole number between"),
            (("--loss", "squared", "--classes", "a,b"), "predicts numbers, not classes"),
            (("--loss", "squared", "--multiclass", "ovr"), "multiclass='ovr' does not apply to"),
            (("--loss", "hinge", "--multiclass", "softmax"), "multiclass='softmax' does not apply"),
            (("--loss", "quantile", "--quantile", "1"), "quantile=1.0: a number between 0 and 1"),
            (("--loss", "huber", "--epsilon", "-1"), "epsilon=-1.0: a number >= 0 is expected"),
            (("--cross", "a"), "two or three names of namespaces or columns are expected"),
            (("--cross", "a,b,c,d"), "two or three names of namespaces or columns are expected"),
            (("--cross", "a,"), "two or three names of namespaces or columns are expected"),
            (("--text", "a", "--ignore", "b,a"), "'a' is given as both text and ignore"),
            (("--label", "a", "--weight", "a"), "'a' is given as both label and weight"),
            (("--label", "a", "--numeric", "a"), "'a' is given as both label and numeric"),
            (("--delimiter", "ab"), "delimiter='ab': a single character"),
            (("--delimiter", "1"), "delimiter='1': a single character"),
            (("--cache", "missing/rows.arrow"), "missing/rows.arrow"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
    )
    def test_parameters_without_meaning(self, folder, options, sentence):
        assert sentence in error_of("train", "binary.svm", "-o", "some.model", *options)

    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("unknown",),
            ("train",),
            ("train", "binary.svm"),
            ("train", "-o", "some.model"),
            ("train", "binary.svm", "-o", "some.model", "--rule", "magic"),
            ("train", "binary.svm", "-o", "some.model", "--loss", "magic"),
            ("train", "binary.svm", "-o", "some.model", "--passes", "0"),
            ("train", "binary.svm", "-o", "some.model", "--bits", "0"),
            ("train", "binary.svm", "-o", "some.model", "--bits", "32"),
            ("train", "binary.svm", "-o", "some.model", "--l1", "much"),
            ("train", "binary.svm", "-o", "some.model", "--bad-lines", "love"),
            ("train", "binary.svm", "-o", "some.model", "--format", "xml"),
            ("train", "binary.svm", "-o", "some.model", "--store", "tree"),
            ("train", "binary.svm", "-o", "some.model", "--capacity", "0"),
            ("train", "binary.svm", "-o", "some.model", "--multiclass", "magic"),
            ("train", "binary.svm", "-o", "some.model", "--basis", "magic"),
            ("train", "binary.svm", "-o", "some.model", "--schedule", "magic"),
            ("train", "binary.svm", "-o", "some.model", "--cache", "."),
            ("predict",),
            ("predict", "some.model"),
        ],
        ids=lambda arguments: " ".join(arguments) or "nothing",
    )
    def test_wrong_commands(self, folder, arguments):
        run(*arguments, code=2)

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("missing.svm", None),
            ("*.none", None),
            (".", None),
            ("x" * 300, None),
            ("noise.svm", np.random.default_rng(0).bytes(5000)),
            ("noise", np.random.default_rng(0).bytes(5000)),
            ("zeros.svm", bytes(5000)),
            ("cut.svm.gz", gzip.compress(b"1 1:2\n" * 1000)[:-9]),
        ],
        ids=["missing", "glob", "folder", "long name", "binary", "binary, no format", "zeros",
             "cut off"],
    )  # fmt: skip
    def test_data_that_cannot_be_read(self, folder, name, content):
        train("binary.svm")
        before = Path("some.model").read_bytes()
        if content is not None:
            Path(name).write_bytes(content)
        for arguments in (("train", name, "-o", "some.model"), ("predict", "some.model", name)):
            assert error_of(*arguments).startswith(f"Error: {name}")
        assert Path("some.model").read_bytes() == before

    @pytest.mark.parametrize("content", [None, b"", b"1 1:2\n"], ids=["missing", "empty", "data"])
    def test_a_model_that_is_none(self, folder, content):
        if content is not None:
            Path("no.model").write_bytes(content)
        assert "no.model" in error_of("predict", "no.model", "binary.svm")

    def test_a_folder_for_a_model(self, folder):
        assert "directory" in error_of("predict", ".", "binary.svm")

    def test_columns_of_a_file_without_columns(self, folder, sms):
        for column in ("--text", "--categorical", "--numeric"):
            message = error_of("train", "binary.svm", "-o", "other.model", column, "message")
            assert message == (
                f"Error: binary.svm: svmlight has no columns: {column[2:]}=[...] ({column}) does "
                f"not apply.\n"
            )
        run("train", "sms.tsv", "-o", "sms.model", "--label", "kind", "--text", "message")
        assert "no columns" in error_of("predict", "sms.model", "binary.svm")

    def test_a_model_and_its_data_in_the_wrong_order(self, folder):
        train("binary.svm")
        message = error_of("predict", "binary.svm", "some.model")
        assert message == "Error: binary.svm is not a rarefy model.\n"

    @pytest.mark.parametrize("options", [(), ("--bad-lines", "skip")], ids=" ".join)
    def test_a_model_in_place_of_data(self, folder, options):
        train("binary.svm")
        before = Path("some.model").read_bytes()
        for command in (("train", "some.model", "-o", "other.model"),
                        ("predict", "some.model", "some.model")):  # fmt: skip
            message = error_of(*command, *options)
            assert message == "Error: some.model is a rarefy model; data is expected.\n"
        assert Path("some.model").read_bytes() == before
        assert not Path("other.model").exists()

    @pytest.mark.parametrize("format", ["svmlight", "vw", "csv", "json", "parquet", "arrow"])
    @pytest.mark.parametrize("content", ["", "\n", "\n\n \n"], ids=repr)
    def test_empty_files(self, folder, format, content):
        Path("empty").write_text(content)
        message = error_of("train", "empty", "-o", "some.model", "--format", format)
        assert message.startswith("Error: empty")
        assert not Path("some.model").exists()

    @pytest.mark.parametrize("content", ["", "# nothing\n", "\n"], ids=repr)
    def test_empty_files_beside_others_do_no_harm(self, folder, content):
        expected = weights_of(train("binary.svm"))
        Path("empty.svm").write_text(content)
        for files in (("empty.svm", "binary.svm"), ("binary.svm", "empty.svm")):
            assert weights_of(train(*files)) == expected

    def test_other_columns_than_those_that_were_learned(self, sms):
        train("sms.csv", "--label", "kind", "--text", "message")
        Path("other.csv").write_text("message,length\nhello,1\n")
        message = error_of("predict", "some.model", "other.csv")
        assert "there is no column 'site'" in message
        assert "All data for a model need the same columns, under the same names." in message
        assert "If the file has no header, add a line with the names." in message
        Path("more.csv").write_text("message,length,site,more\nhello,1,x,2\n")
        assert "new columns are ignored: 'more'" in run("predict", "some.model", "more.csv").stderr

    @pytest.mark.parametrize("option", ["--label", "--text", "--cross", "--classes"])
    def test_arguments_that_are_not_utf8(self, sms, option):
        """As a shell hands them over."""
        value = b"\xff,\xfe" if option in ("--cross", "--classes") else b"\xff"
        message = error_of("train", "sms.jsonl", "-o", "m", option, os.fsdecode(value))
        assert option[2:] in message

    def test_weights_that_diverge(self, folder):
        command = ("train", "regression.svm", "-o", "m", "--loss", "squared", "--rule", "ogd")
        message = error_of(*command, "--eta0", "1e9", "--passes", "30")
        assert "diverged" in message
        assert not Path("m").exists()

    @pytest.mark.parametrize("output", ["missing/some.model", ".", ""], ids=repr)
    def test_a_place_where_no_model_can_be_written(self, folder, output):
        before = sorted(folder.iterdir())
        error_of("train", "binary.svm", "-o", output)
        assert sorted(folder.iterdir()) == before

    @pytest.mark.parametrize("output", ["missing/out.txt", "."])
    def test_a_place_where_no_predictions_can_be_written(self, folder, output):
        train("binary.svm")
        error_of("predict", "some.model", "binary.svm", "-o", output)

    def test_values_too_large_to_learn_from(self, folder):
        """The estimators refuse them with their place; so should the command."""
        Path("large.svm").write_text("1 1:1\n-1 1:1e200\n")
        assert "large.svm:2" in error_of("train", "large.svm", "-o", "some.model")

    def test_more_memory_than_there_is(self, folder):
        script = (
            "import resource; resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30));"
            "from rarefy.cli import main; main()"
        )
        command = ["train", "binary.svm", "-o", "some.model", "--bits", "31"]
        done = subprocess.run(
            [sys.executable, "-c", script, *command], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "Traceback" not in done.stderr


def test_quiet_says_nothing(folder):
    result = run("train", "binary.svm", "-o", "some.model", "--quiet")
    assert result.output == ""
    result = run("train", "binary.svm", "-o", "some.model")
    assert result.stdout == ""
    assert "200 examples" in result.stderr


def test_quiet_makes_no_table(folder, monkeypatch):
    monkeypatch.setattr("rarefy.training.progress_tracker.ProgressLine", None)
    run("train", "binary.svm", "-o", "some.model", "--quiet")
    with pytest.raises(AssertionError, match="traceback"):
        run("train", "binary.svm", "-o", "some.model")


# --- the cache of rows ------------------------------------------------------------------------


def about(model):
    """All that a file says, but for arrays, and the cache."""
    run = {**model.run, "cache": None}
    return model._replace(kept=None, state=None, run=run)


class TestCache:
    @pytest.fixture
    def parsed(self, monkeypatch) -> Iterator[list[str]]:
        """The files that were parsed."""
        parsed = []
        monkeypatch.setattr(
            "rarefy.readers.reader.blocks",
            lambda *given, blocks=rarefy.readers.reader.blocks, **options: (
                parsed.append(given[0]) or blocks(*given, **options)
            ),
        )
        return parsed

    @pytest.mark.parametrize("options", [(), ("-b", "10"), ("--store", "array")], ids=" ".join)
    def test_files_are_parsed_once_for_all_passes_and_runs(self, folder, parsed, options):
        options = (*options, "--passes", "3")
        plain = train("binary.svm", *options)
        assert len(parsed) == 3
        for n_parsed in (4, 4):
            cached = train("binary.svm", *options, "--cache", "rows.arrow")
            assert len(parsed) == n_parsed
            assert weights_of(cached) == weights_of(plain)
            assert about(cached) == about(plain)
        assert cached.kept.names == plain.kept.names

    def test_names_and_columns_come_from_it(self, sms, parsed):
        options = ("--label", "kind", "--text", "message", "--cross", "site,length")
        plain = train("sms.csv", *options)
        train("sms.csv", *options, "--cache", "rows.arrow")
        cached = train("sms.csv", *options, "--cache", "rows.arrow", "--quiet")
        assert len(parsed) == 2
        assert named_weights(cached) == named_weights(plain)
        assert cached.reading == plain.reading
        assert run("predict", "some.model", "sms.csv").stdout.split() == [row[0] for row in SMS]

    def test_files_that_changed_are_parsed_again(self, folder, parsed):
        train("binary.svm", "--cache", "rows.arrow")
        text = Path("binary.svm").read_text()
        Path("binary.svm").write_text(text + "1 1:1\n")
        assert train("binary.svm", "--cache", "rows.arrow").examples == 201
        assert len(parsed) == 2

    @pytest.mark.parametrize("content", ["", "# nothing\n", "\n", "x\n"], ids=repr)
    @pytest.mark.parametrize("options", [(), ("-b", "10")], ids=" ".join)
    def test_files_without_rows_do_no_harm(self, folder, content, options):
        """In any place; and what was skipped is counted in any case."""
        options = (*options, "--bad-lines", "skip")
        expected = weights_of(train("binary.svm"))
        Path("empty.svm").write_text(content)
        for files in (("empty.svm", "binary.svm"), ("binary.svm", "empty.svm")):
            for _ in range(2):
                command = ("train", *files, *options, "--cache", "rows.arrow", "-o", "m")
                stderr = run(*command).stderr
                assert weights_of(load_model("m")) == expected
                assert ("1 bad line was skipped" in stderr) == (content == "x\n")

    def test_what_is_no_cache_is_not_overwritten(self, folder):
        before = Path("binary.vw").read_bytes()
        message = error_of("train", "binary.svm", "-o", "m", "--cache", "binary.vw")
        assert "binary.vw is not a row cache" in message
        assert Path("binary.vw").read_bytes() == before

    def test_bad_lines_leave_none(self, folder):
        Path("bad.svm").write_text("1 1:1\n1 1:x\n")
        error_of("train", "bad.svm", "-o", "m", "--cache", "rows.arrow")
        assert not [name for name in os.listdir() if name.startswith("rows.arrow")]

    def test_standard_input_in_several_passes(self, folder):
        text = Path("binary.svm").read_bytes()
        options = ("--passes", "2", "--cache", "rows.arrow")
        assert train("-", *options, stdin=text).examples == 400


# --- help -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=" ".join)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(command, flag):
    assert "Usage:" in run(*command, flag).stdout


def examples_of(command: str) -> list[list[str]]:
    text = run(command, "--help").stdout
    return [shlex.split(line) for line in re.findall(r"(?m)^\s+rarefy (.*)", text)]


def test_the_examples_of_the_help_run(sms):
    text = Path("binary.svm").read_bytes()
    Path("reviews.svm.gz").write_bytes(gzip.compress(text))
    Path("new.svm").write_bytes(text)
    Path("more.svm").write_bytes(text)
    Path("clicks.csv").write_text("click,site,ad\n" + "1,a,x\n0,a,y\n0,b,x\n1,b,y\n" * 20)
    outputs = {}
    for command in COMMANDS:
        examples = examples_of(command)
        assert examples
        if command in ("update", "releases"):  # which take more rows, and are tested with them
            continue
        if command in ("serve", "replay", "token"):  # of a service, and tested in tests/serving
            continue
        for example in examples:
            outputs[example[0]] = run(*example).stdout
        for name in ("old.model", "new.model"):
            shutil.copy("reviews.model", name)
        for name in ("sunday.model", "monday.model", "tuesday.model"):
            shutil.copy("newer.model", name)
    assert len(outputs["predict"].splitlines()) == 200
    assert load_model("newer.model").examples == 400
    expected = ["1", "0", "0", "1"] * 20  # which only the cross can tell
    assert run("predict", "clicks.model", "clicks.csv").stdout.split() == expected


def test_every_option_of_a_command_is_in_its_help():
    for name in COMMANDS:
        text = run(name, "--help").stdout
        command = main.get_command(click.Context(main), name)
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert all(option in text for option in parameter.opts)


def test_version():
    assert re.search(r"\d+\.\d+", run("--version").stdout)


# --- real processes -------------------------------------------------------------------------


class TestProcesses:
    def test_standard_input_and_output(self, folder):
        expected = train("binary.svm")
        text = Path("binary.svm").read_bytes()
        command = ("train", "-", "-o", "stdin.model")
        assert subprocess_run(*command, stdin=text).returncode == 0
        assert weights_of(load_model("stdin.model")) == weights_of(expected)
        assert subprocess_run(*command, stdin=gzip.compress(text)).returncode == 0
        assert weights_of(load_model("stdin.model")) == weights_of(expected)
        done = subprocess_run("predict", "stdin.model", "-", "--scores", stdin=text)
        assert done.returncode == 0
        scores = predictions("some.model", "binary.svm", "--scores")
        assert [float(line) for line in done.stdout.split()] == scores

    def test_errors_are_one_line(self, folder):
        done = subprocess_run("train", "missing.svm", "-o", "some.model")
        assert done.returncode == 1
        assert done.stderr == b"Error: missing.svm: there is no such file.\n"
        done = subprocess_run("train", "-", "-o", "some.model", stdin=b"1 1:2\n1 1:x\n")
        assert done.returncode == 1
        (line,) = done.stderr.decode().splitlines()
        assert line.startswith("Error: -:2:5: ")

    def test_a_reader_that_has_seen_enough(self, folder):
        train("binary.svm")
        Path("long.svm").write_text(Path("binary.svm").read_text() * 200)
        command = [sys.executable, "-m", "rarefy", "predict", "some.model", "long.svm"]
        process = subprocess.Popen(
            [*command, "--scores"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(60) in (0, 1)

    @pytest.mark.parametrize("options", [("--passes", "2"), ("-",)], ids=["two passes", "twice"])
    def test_standard_input_is_there_once(self, folder, options):
        text = Path("binary.svm").read_bytes()
        done = subprocess_run("train", "-", *options, "-o", "some.model", stdin=text)
        assert done.returncode in (1, 2)
        assert b"Traceback" not in done.stderr


class TestDoubt:
    """A warning where weights made predictions worse than none."""

    def test_numbers_that_are_too_large(self, folder):
        rows = [f"{n % 2},{(n * 7919) % 100_003}" for n in range(300)]
        Path("large.csv").write_text("label,a\n" + "\n".join(rows) + "\n")
        with_steps = run("train", "large.csv", "-o", "m", "--rule", "fobos").stderr
        assert "worse than those of an empty model" in with_steps
        assert "try --rule scale-free, a smaller --eta0" in with_steps

    def test_nothing_to_learn(self, folder):
        """Steps of the default rule are never too long, and there is no other rule to try."""
        rng = np.random.default_rng(0)
        rows = [f"{rng.integers(2)},w{rng.integers(9)},{rng.integers(9)}" for _ in range(300)]
        Path("chance.csv").write_text("label,a,b\n" + "\n".join(rows) + "\n")
        said = run("train", "chance.csv", "-o", "m").stderr
        assert "worse than those of an empty model" in said
        assert "look at held-out rows (--holdout 0.2)" in said
        assert "--rule" not in said

    def test_no_weights_are_left(self, folder):
        Path("fine.csv").write_text("label,a\n" + "0,x\n1,y\n" * 100)
        said = run("train", "fine.csv", "-o", "m", "--l1", "1000").stderr
        assert "The model keeps no weights" in said

    def test_a_single_label(self, folder):
        Path("ones.svm").write_text("1 1:1\n1 2:1\n" * 100)
        assert "All 200 labels are the same" in run("train", "ones.svm", "-o", "m").stderr
        Path("more.svm").write_text("0 1:1\n1 2:1\n" * 100)
        run("train", "more.svm", "-o", "m")
        said = run("train", "ones.svm", "--resume", "m", "-o", "n").stderr
        assert "labels are the same" not in said

    def test_none_where_something_was_learned(self, folder):
        Path("fine.csv").write_text("label,a\n" + "0,x\n1,y\n" * 100)
        assert "Warning" not in run("train", "fine.csv", "-o", "m").stderr


def test_probabilities_of_modified_huber_are_those_of_the_classifier(folder, binary):
    train("binary.svm", "--loss", "modified_huber")
    found = predictions("some.model", "binary.svm", "--probabilities")
    estimator = classifier_in_order(loss="modified_huber").fit(binary.csr, binary.y)
    expected = estimator.predict_proba(binary.csr)[:, 1]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("option", ["--passes", "--save-every", "--target-features"])
def test_whole_numbers_have_limits(folder, option):
    """What is saved can be loaded."""
    run("train", "binary.svm", "-o", "m", option, str(1 << 63), code=2)
    assert not Path("m").exists()
    run("sweep", "binary.svm", "-o", "found", "--seed", str(1 << 32), code=2)
    run("sweep", "binary.svm", "-o", "found", "--memory", "9" * 400 + "GB", code=2)
