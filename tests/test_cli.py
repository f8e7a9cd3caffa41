"""`rarefy train` and `rarefy predict`: the same models as the estimators, and plain errors."""

from __future__ import annotations

import gzip
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from rarefy import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.cli import main
from rarefy.model_file import Model, load_model
from tests import data

N_FEATURES = 25
BITS = "10"


# --- data as text, and commands -------------------------------------------------------------


def svmlight_text(problem: data.Problem) -> str:
    """The rows as they are: columns out of order, twice, or zero."""
    lines = []
    for row, label in enumerate(problem.y):
        part = slice(problem.csr.indptr[row], problem.csr.indptr[row + 1])
        entries = zip(problem.csr.indices[part], problem.csr.data[part], strict=True)
        lines.append(" ".join([f"{label:.17g}", *(f"{i}:{float(v)!r}" for i, v in entries)]))
    return "\n".join(lines) + "\n"


def vw_text(svmlight: str) -> str:
    return re.sub(r"(?m)^(\S+)", r"\1 |", svmlight)


@pytest.fixture(scope="module")
def binary() -> data.Problem:
    return data.problem("binary", n=200, d=N_FEATURES)


@pytest.fixture(scope="module")
def regression() -> data.Problem:
    return data.problem("regression", n=200, d=N_FEATURES)


@pytest.fixture
def folder(tmp_path, monkeypatch, binary, regression) -> Path:
    """The working directory, with data in it."""
    monkeypatch.chdir(tmp_path)
    Path("binary.svm").write_text(svmlight_text(binary))
    Path("binary.vw").write_text(vw_text(svmlight_text(binary)))
    Path("regression.svm").write_text(svmlight_text(regression))
    return tmp_path


def run(*arguments: str, code: int = 0, stdin: bytes | None = None) -> Result:
    """Run a command in this process; only a wanted end is accepted, and no traceback ever."""
    result = CliRunner().invoke(main, [*arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments} ended in a traceback") from result.exception
    assert result.exit_code == code, result.output
    return result


def train(*arguments: str, **options) -> Model:
    run("train", *arguments, "-o", "some.model", "--bits", BITS, **options)
    return load_model("some.model")


def predictions(*arguments: str) -> list[float]:
    return [float(line) for line in run("predict", *arguments).stdout.splitlines()]


def subprocess_run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "rarefy.cli", *arguments],
        input=stdin, capture_output=True, check=False, timeout=60,
    )  # fmt: skip


def dense_weights(model: Model, n: int = N_FEATURES) -> np.ndarray:
    weights = np.zeros(1 << model.bits)
    weights[model.slots] = model.weights
    assert not weights[n:].any()
    return weights[:n]


def assert_same_model(model: Model, estimator) -> None:
    assert dense_weights(model) == pytest.approx(estimator.coef_.ravel(), rel=1e-12, abs=1e-12)
    assert model.intercept == pytest.approx(estimator.intercept_.item(), rel=1e-12, abs=1e-12)
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
    estimator = SparseOnlineClassifier(**parameters).fit(binary.csr, binary.y)
    assert_same_model(train("binary.svm", *options_of(parameters)), estimator)
    scores = predictions("some.model", "binary.svm", "--scores")
    assert scores == pytest.approx(estimator.decision_function(binary.csr), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("parameters", REGRESSORS, ids=named)
def test_the_model_is_that_of_the_regressor(folder, regression, parameters):
    estimator = SparseOnlineRegressor(**parameters).fit(regression.csr, regression.y)
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
    estimator = SparseOnlineClassifier().fit(binary.csr, binary.y, sample_weight=weights)
    assert_same_model(train("weighted.vw"), estimator)


def test_many_small_files_are_as_one(folder, binary):
    """More files than there are batches under way; in a process of its own, lest a batch that is
    overwritten too early take the tests down."""
    Path("parts").mkdir()
    for i, line in enumerate(Path("binary.svm").read_text().splitlines(keepends=True)):
        Path(f"parts/{i:03}.svm").write_text(line)
    estimator = SparseOnlineClassifier().fit(binary.csr, binary.y)
    done = subprocess_run("train", "parts/*.svm", "-o", "some.model", "--bits", BITS)
    assert done.returncode == 0, done.stderr
    assert_same_model(load_model("some.model"), estimator)
    done = subprocess_run("predict", "some.model", "parts/*.svm", "--scores")
    assert done.returncode == 0, done.stderr
    whole = predictions("some.model", "binary.svm", "--scores")
    assert [float(line) for line in done.stdout.split()] == whole


def test_svmlight_and_vw_are_the_same_data(folder):
    first, second = train("binary.svm"), train("binary.vw")
    assert first.weights.tolist() == second.weights.tolist()
    assert first.slots.tolist() == second.slots.tolist()
    scores = predictions("some.model", "binary.svm", "--scores")
    assert predictions("some.model", "binary.vw", "--scores") == scores


def test_labels_may_be_0_and_1(folder):
    text = Path("binary.svm").read_text()
    Path("zeros.svm").write_text(re.sub("(?m)^-1 ", "0 ", text))
    first, second = train("binary.svm"), train("zeros.svm")
    assert first.weights.tolist() == second.weights.tolist()
    assert first.intercept == second.intercept


def test_compressed_data(folder):
    plain = train("binary.svm")
    Path("binary.svm.gz").write_bytes(gzip.compress(Path("binary.svm").read_bytes()))
    assert train("binary.svm.gz").weights.tolist() == plain.weights.tolist()


def test_few_bits_let_features_share_weights(folder):
    run("train", "binary.svm", "-o", "few.model", "--bits", "2")
    assert load_model("few.model").slots.max() < 4
    assert len(predictions("few.model", "binary.svm")) == 200


# --- predictions ----------------------------------------------------------------------------


class TestPredictions:
    def test_labels(self, folder, binary):
        train("binary.svm")
        expected = SparseOnlineClassifier().fit(binary.csr, binary.y).predict(binary.csr)
        assert predictions("some.model", "binary.svm") == expected.tolist()
        assert set(run("predict", "some.model", "binary.svm").stdout.split()) == {"-1", "1"}

    def test_probabilities(self, folder, binary):
        train("binary.svm")
        estimator = SparseOnlineClassifier().fit(binary.csr, binary.y)
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
    """The message, which is one line."""
    message = run(*arguments, code=code).stderr
    assert message.startswith("Error: ")
    assert message.count("\n") == 1
    return message


class TestErrors:
    @pytest.mark.parametrize("label", ["2", "0.5", "-2", "1e9"])
    def test_a_label_that_the_loss_cannot_take(self, folder, label):
        Path("bad.svm").write_text(f"1 1:2\n\n{label} 1:2\n")
        message = error_of("train", "bad.svm", "-o", "some.model")
        assert message.startswith("Error: bad.svm:3: ")
        assert "logistic" in message
        assert not Path("some.model").exists()

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
        command = ("train", "bad.svm", "-o", "some.model", "--bits", BITS, "--quiet")
        result = run(*command, "--bad-lines", "skip")
        assert "2 bad lines" in result.stderr
        assert "bad.svm:1:1: " in result.stderr
        assert "bad.svm:202:5: " in result.stderr
        assert load_model("some.model").weights.tolist() == clean.weights.tolist()
        result = run("predict", "some.model", "bad.svm", "--bad-lines", "skip")
        assert "2 bad lines" in result.stderr
        assert len(result.stdout.splitlines()) == 200

    def test_bad_lines_are_counted_once_in_several_passes(self, folder):
        Path("bad.svm").write_text("x\n1 1:1\n-1 2:1\n")
        command = ("train", "bad.svm", "-o", "some.model", "--bits", BITS, "--bad-lines", "skip")
        stderr = run(*command, "--passes", "3").stderr
        assert stderr.count("bad.svm:1:1: ") == 1
        assert "3 bad lines" not in stderr

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (("--rule", "ogd", "--q", "2"), "q=2.0 has no meaning for the rule ogd"),
            (("--rule", "ogd", "--l1", "1"), "it has no L1 penalty"),
            (("--rule", "ftrl", "--schedule", "inv_t"), "schedule='inv_t' has no meaning"),
            (("--rule", "rda", "--cumulative"), "cumulative=True has no meaning"),
            (("--l1", "-1"), "l1=-1.0: a number >= 0 is expected"),
            (("--l1", "nan"), "l1=nan: a number >= 0 is expected"),
            (("--rule", "rounding", "--truncate-every", "0"), "truncate_every=0"),
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
            ("train", "binary.svm", "-o", "some.model", "--format", "csv"),
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

    @pytest.mark.parametrize("output", ["missing/some.model", ".", ""], ids=repr)
    def test_a_place_where_no_model_can_be_written(self, folder, output):
        before = sorted(folder.iterdir())
        error_of("train", "binary.svm", "-o", output)
        assert sorted(folder.iterdir()) == before

    @pytest.mark.parametrize("output", ["missing/out.txt", "."])
    def test_a_place_where_no_predictions_can_be_written(self, folder, output):
        train("binary.svm")
        run("predict", "some.model", "binary.svm", "-o", output, code=1)

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
    result = run("train", "binary.svm", "-o", "some.model", "--bits", BITS, "--quiet")
    assert result.output == ""
    result = run("train", "binary.svm", "-o", "some.model", "--bits", BITS)
    assert result.stdout == ""
    assert "200 examples" in result.stderr


# --- help -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [(), ("train",), ("predict",)], ids=" ".join)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(command, flag):
    assert "Usage:" in run(*command, flag).stdout


def example_of(command: str) -> list[str]:
    text = run(command, "--help").stdout
    return shlex.split(re.search(r"Example:\n\s+rarefy (.*)", text)[1])


def test_the_examples_of_the_help_run(folder):
    text = Path("binary.svm").read_bytes()
    Path("reviews.svm.gz").write_bytes(gzip.compress(text))
    Path("new.svm").write_bytes(text)
    run(*example_of("train"))
    assert len(run(*example_of("predict")).stdout.splitlines()) == 200


def test_every_option_of_a_command_is_in_its_help():
    for name, command in main.commands.items():
        text = run(name, "--help").stdout
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
        command = ("train", "-", "-o", "stdin.model", "--bits", BITS)
        assert subprocess_run(*command, stdin=text).returncode == 0
        assert load_model("stdin.model").weights.tolist() == expected.weights.tolist()
        assert subprocess_run(*command, stdin=gzip.compress(text)).returncode == 0
        assert load_model("stdin.model").weights.tolist() == expected.weights.tolist()
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
        assert done.stderr.startswith(b"Error: -:2:5: ")
        assert done.stderr.count(b"\n") == 1

    @pytest.mark.parametrize("options", [("--passes", "2"), ("-",)], ids=["two passes", "twice"])
    def test_standard_input_is_there_once(self, folder, options):
        text = Path("binary.svm").read_bytes()
        done = subprocess_run("train", "-", *options, "-o", "some.model", stdin=text)
        assert done.returncode in (1, 2)
        assert b"Traceback" not in done.stderr
