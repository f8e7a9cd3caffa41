"""`rarefy sweep`: the table, the chosen model, the report, and plain errors."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.files.model_file import load_model
from rarefy.streams.design_matrix import BYTES_PER_ENTRY, BYTES_PER_ROW
from rarefy.sweeping.report import report
from rarefy.sweeping.result import Choice
from tests import data
from tests.cli.test_cli import run, sms_lines, weights_of
from tests.sweeping.test_sweep import fared

L1S = [0.3, 1.0, 3.0]
QUICK = ("--l1", "0.3,1,3", "--folds", "3", "--passes", "2")
PROBLEMS = {kind: data.problem(kind, n=200, d=25) for kind in ("binary", "regression")}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data in it."""
    monkeypatch.chdir(tmp_path)
    for kind, problem in PROBLEMS.items():
        Path(f"{kind}.svm").write_text(data.svmlight_text(problem))
    Path("sms.tsv").write_text(sms_lines("tsv"))
    return tmp_path


def test_sorted_labels_are_noticed_before_learning():
    rows = Path("binary.svm").read_text().splitlines(keepends=True)
    Path("sorted.svm").write_text("".join(sorted(rows * 6)))
    said = run("sweep", "sorted.svm", "-o", "found", *QUICK).stderr
    assert said.count("the labels come in long runs") == 1
    assert said.index("the labels come in long runs") < said.index("Learning 9 models")
    assert "Shuffle the rows: --shuffle" in said
    for arguments in (("sorted.svm", "--shuffle"), ("binary.svm",)):
        assert "long runs" not in run("sweep", *arguments, "-o", "found", *QUICK).stderr


def test_rare_labels_in_random_order_are_no_long_runs():
    """The sweep looks at them, and then the training of the best model."""
    label = np.where(np.random.default_rng(0).random(3_000) < 0.1, "spam", "ham")
    rows = "".join(f"{kind}\tword{number % 7} {kind[0]}\n" for number, kind in enumerate(label))
    Path("rare.tsv").write_text("kind\tmessage\n" + rows)
    arguments = ("rare.tsv", "--label", "kind", "--text", "message")
    assert "long runs" not in run("sweep", *arguments, "-o", "found", *QUICK).stderr


def sweep(*arguments: str, **options):
    return run("sweep", *arguments, "-o", "found", *QUICK, **options)


def error_of(*arguments: str, code: int = 1) -> str:
    """The message, which is the last line."""
    return run("sweep", *arguments, code=code).stderr.splitlines()[-1]


def table() -> list[dict[str, str]]:
    with open("found/table.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def assert_learned_as_by_train(*arguments: str) -> None:
    """The model is that of `rarefy train` with these arguments."""
    run("train", *arguments, "-o", "alone.model")
    found, alone = load_model("found/best.model"), load_model("alone.model")
    assert weights_of(found) == weights_of(alone)
    assert found.intercepts == alone.intercepts
    assert (found.state is None) == (alone.state is None)
    assert (found.classes, found.reading) == (alone.classes, alone.reading)
    assert (found.parameters, found.examples) == (alone.parameters, alone.examples)


# --- what is written -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("binary", {}), ("regression", {"loss": "squared"})],
    ids=["classification", "regression"],
)
def test_the_table_is_that_of_a_sweep_over_a_matrix(kind, settings):
    problem = PROBLEMS[kind]
    sweep(f"{kind}.svm", "--seed", "4", *(["--loss", "squared"] if settings else []))
    rows = problem.csr, problem.y
    result = rarefy.sweep(*rows, l1=L1S, folds=3, passes=2, random_state=4, **settings)
    columns = result.table
    assert [row["rule"] for row in table()] == columns["rule"]
    assert [row["loss_function"] for row in table()] == columns["loss_function"]
    for name in ("l1", result.score, "standard_error", "weights", "features", "zeros", "loss"):
        ours = [float(row[name]) for row in table()]
        assert ours == pytest.approx(columns[name], rel=1e-9), name
    l1 = repr(result.best().parameters["l1"])
    loss = ["--loss", "squared"] if settings else []
    assert_learned_as_by_train(f"{kind}.svm", "--l1", l1, "--passes", "2", *loss)


def test_every_combination_is_a_row():
    sweep("binary.svm", "--rule", "frda,fobos", "--q", "1,inf")
    points = [(row["rule"], row["q"], float(row["l1"])) for row in table()]
    of_frda = [("frda", q, l1) for q in ("1.0", "inf") for l1 in L1S]
    assert sorted(points) == sorted(of_frda + [("fobos", "", l1) for l1 in L1S])


def test_the_default_is_a_range_of_l1():
    run("sweep", "binary.svm", "-o", "found", "--n-l1", "4", "--folds", "3", "--passes", "2")
    l1s = [float(row["l1"]) for row in table()]
    assert l1s == pytest.approx(np.logspace(-0.5, 1.5, 4))


def test_choices():
    few = str(int(min(float(row["features"]) for row in table_after_a_sweep())) + 1)
    options = ("--choose", "one-standard-error", "--within-features", few, "--json")
    found = json.loads(sweep("binary.svm", *options).stdout)
    problem = PROBLEMS["binary"]
    result = rarefy.sweep(problem.csr, problem.y, l1=L1S, folds=3, passes=2)
    expected = {
        "best": result.best(),
        "one standard error": result.one_standard_error(),
        f"best, at most {few} features": result.best(within_features=int(few)),
        f"one standard error, at most {few} features": result.one_standard_error(
            within_features=int(few)
        ),
    }
    assert list(found["choices"]) == list(expected)
    for label, choice in expected.items():
        assert found["choices"][label]["parameters"]["l1"] == choice.parameters["l1"]
        assert found["choices"][label]["accuracy"] == pytest.approx(choice.measures["accuracy"])
    assert found["chosen"] == list(expected)[-1]
    assert (found["rows"], found["features"]) == (200, 25)
    l1 = repr(expected[found["chosen"]].parameters["l1"])
    assert l1 != repr(result.best().parameters["l1"])
    assert_learned_as_by_train("binary.svm", "--l1", l1, "--passes", "2")


def table_after_a_sweep() -> list[dict[str, str]]:
    sweep("binary.svm")
    return table()


def test_the_table_is_that_of_refitted_models():
    facts = sweep("binary.svm", "--refit").stdout
    assert "3 folds, 2 passes and a refit, in" in facts
    problem = PROBLEMS["binary"]
    result = rarefy.sweep(problem.csr, problem.y, l1=L1S, folds=3, passes=2, refit=True)
    for name in ("accuracy", "loss"):
        assert [float(row[name]) for row in table()] == pytest.approx(result.table[name], rel=1e-9)
    l1 = repr(result.best().parameters["l1"])
    assert_learned_as_by_train("binary.svm", "--l1", l1, "--passes", "2", "--refit")


def test_names_columns_and_labels_travel_with_the_model():
    sweep("sms.tsv", "--label", "kind", "--text", "message", "--refit")
    row = max(table(), key=lambda row: float(row["accuracy"]))
    reading = ("--label", "kind", "--text", "message")
    assert_learned_as_by_train("sms.tsv", *reading, "--l1", row["l1"], "--passes", "2", "--refit")
    names = load_model("found/best.model").kept.names
    assert "message=prize" in names
    assert run("predict", "found/best.model", "sms.tsv").stdout.split()[:2] == ["spam", "ham"]
    assert "message=prize" in Path("found/report.html").read_text()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # as outside of tests
def test_what_is_shown():
    result = sweep("binary.svm")
    assert re.search(r"rows +200 with 25 features", result.stdout)
    assert re.search(r"(?m)^best +\S+ +\d+\.\d\d % ", result.stdout)
    assert "Saved: found/best.model (best), table.csv, report.html" in result.stdout
    assert "Learning 9 models: 3 points of the grid" in result.stderr
    assert not sweep("binary.svm", "--quiet").output
    assert json.loads(sweep("binary.svm", "--json").output)["chosen"] == "best"


def test_columns_and_doubts_are_told_once_before_models_are_learned():
    rows = [f"u{n:05},{n % 7},{'yes' if n % 3 else 'no'}" for n in range(300)]
    Path("users.csv").write_text("\n".join(["user,visits,label", *rows]) + "\n")
    for how in (["--l1", "0.3,1", "--progressive"], QUICK):
        result = run("sweep", "users.csv", "-o", "found", *how)
        words = [(line.split() or [""])[0] for line in result.stderr.splitlines()]
        ours = ("Reading", "Warning:", "column", "Learning", "Writing")  # libraries may warn, too
        told = [word for word in words if word in ours]
        assert told == ["Reading", "Warning:", *3 * ["column"], *2 * ["Learning"], "Writing"]


def test_shuffled():
    arguments = ("binary.svm", "--shuffle", "--seed", "5")
    sweep(*arguments)
    rows = PROBLEMS["binary"].csr, PROBLEMS["binary"].y
    expected = rarefy.sweep(*rows, l1=L1S, folds=3, passes=2, shuffle=True, random_state=5)
    losses = [float(row["loss"]) for row in table()]
    assert losses == pytest.approx(expected.table["loss"], rel=1e-9)
    best = max(table(), key=lambda row: float(row["accuracy"]))
    assert_learned_as_by_train(*arguments, "--l1", best["l1"], "--passes", "2")


def test_a_wider_grid_is_told():
    how = ("--loss", "squared", "--n-l1", "3", "--folds", "2", "--passes", "5")
    result = run("sweep", "regression.svm", "-o", "found", *how)
    assert re.search(r"grid +[4-6] points \([1-3] beyond the end of l1\): ", result.stdout)


# --- the report ----------------------------------------------------------------------------------

WITHOUT_END = {"meta", "img"}


class Page(HTMLParser):
    """Its tables as lists of rows, and all that it refers to; tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.sources: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag not in WITHOUT_END:
            self.open.append(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href")]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += text


EVIL = "<script>alert('&')</script>"


def page_of(sweep, features=(), choices=None) -> str:
    choices = choices or {"best": sweep.best()}
    return report(sweep, {"data": EVIL}, choices, "best", features)


def test_report():
    pytest.importorskip("matplotlib")
    features = [
        {"feature": EVIL, "class": "$a", "weight": -1.5, "count": 3, "r": None},
        {"feature": "b", "class": "$a", "weight": 0.25, "count": 1234, "r": None},
    ]
    result = fared()
    result.points[0]["rule"] = EVIL
    text = page_of(result, features)
    assert "<script>alert" not in text
    page = Page(text)
    facts, choices, points, strongest = page.tables
    assert facts == [["data", EVIL]]
    assert choices[1][:4] == ["best", "frda", "hinge", "0.2"]
    assert len(points) == 1 + len(result.points)
    assert points[0][:3] == ["rule", "loss_function", "l1"]
    assert points[1][:3] == [EVIL, "hinge", "0.1"]
    assert points[-1][3:] == ["–"] * 5
    expected = [["feature", "class", "weight", "count"], [EVIL, "$a", "-1.5", "3"]]
    assert strongest == [*expected, ["b", "$a", "0.25", "1,234"]]
    assert len(page.sources) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.sources)
    assert len(re.findall("<tr class=chosen>", text)) == 2


def test_report_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = page_of(fared())
    assert "rarefy[plots]" in text
    assert Page(text).sources == []


def test_picture_by_l1():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from rarefy.sweeping.plots import draw_by_l1

    result = fared()
    result.points[1] |= {"q": math.inf}
    result.points[2] |= {"q": math.inf, "l1": 0.2}
    result.points[3] = {"rule": "ogd", "loss": "hinge"}
    result.points[0]["l1"] = 0.0
    axes = figure.add_subplot()
    draw_by_l1(result, axes)
    assert axes.get_xscale() == "symlog"
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["frda", "frda, q = inf"]
    of_frda, of_inf = (bars.lines[0] for bars in axes.containers)
    assert of_frda.get_xdata().tolist() == [0.0, 0.5, 0.6]
    assert of_inf.get_ydata().tolist() == pytest.approx([0.94])  # the better one of two
    figure.canvas.draw()


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["binary.svm"], 2, "Missing option '-o'"),
        (["-o", "found"], 2, "Missing argument 'DATA...'"),
        (["binary.svm", "-o", "found", "--json", "--quiet"], 2, "choose between"),
        (["binary.svm", "-o", "found", "--l1", "0.1,x"], 2, "'x' is not a valid float"),
        (["binary.svm", "-o", "found", "--l1", "auto"], 2, "tries values itself: leave --l1 out"),
        (["binary.svm", "-o", "found", "--eta0", "auto"], 2, "the values that you list"),
        (["binary.svm", "-o", "found", "--rule", "frda,best"], 2, "'best' is not one of"),
        (["binary.svm", "-o", "found", "--memory", "much"], 2, "a size such as 500MB"),
        (["binary.svm", "-o", "found", "--epsilon", "1"], 2, "--epsilon does not apply"),
        (["binary.svm", "-o", "found", "--l1", "0.1,-1"], 1, "l1=-1.0: a number >= 0"),
        (["binary.svm", "-o", "found", "--rule", "fobos", "--q", "2"], 1, "q=2.0 does not apply"),
        (["binary.svm", "-o", "found", "--loss", "perceptron", "--refit"], 1, "does not apply to"),
        (["binary.svm", "-o", "found", "--by", "r2"], 1, "scoring='r2' (--by): one of accuracy"),
        (["binary.svm", "-o", "found", "--progressive", "--by", "auc"], 2, "by accuracy or loss"),
        (["binary.svm", "-o", "found", "--progressive", "--shuffle"], 2, "--shuffle needs folds"),
        (["binary.svm", "-o", "found", "--memory", "10kB", "--shuffle"], 1, "the rows need about"),
        (["none.svm", "-o", "found"], 1, "none.svm"),
        (["binary.svm", "-o", "binary.svm"], 2, "is a file"),
        (["-", "-o", "found"], 1, "a sweep reads the data twice"),
        (["empty.svm", "-o", "found"], 1, "there are no examples"),
        (["binary.svm", "-o", "found", "--memory", "10kB"], 1, "all models at a time need"),
        (["binary.svm", "-o", "found", "--memory", "10kB", "--refit"], 1, "the rows need about"),
        (["binary.svm", "-o", "found", "--folds", "500"], 1, "folds=500"),
        (
            ["binary.svm", "-o", "found", *QUICK, "--l1", "0.3,1", "--within-features", "1"],
            1,
            "Try a larger l1",
        ),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else "",
)
def test_errors_are_sentences(arguments, code, message):
    Path("empty.svm").write_text("")
    assert message in error_of(*arguments, code=code)
    assert not Path("found/best.model").exists()


def test_memory_for_rows_and_models():
    """The sentence names as much as is enough."""
    n_bytes = BYTES_PER_ENTRY * np.count_nonzero(PROBLEMS["binary"].dense) + BYTES_PER_ROW * 200
    said = error_of("binary.svm", "-o", "found", *QUICK, "--memory", str(n_bytes))
    assert "eight models at a time" in said
    enough = re.search(r"allow at least (\S+)kB by", said)[1]
    sweep("binary.svm", "--memory", f"{enough}kB")
    error_of("binary.svm", "-o", "found", *QUICK, "--memory", f"{float(enough) - 0.02}kB")


def test_choices_of_the_report_are_those_given():
    """A point that several choices share is marked once in the table of points."""
    best = fared().best()
    text = page_of(fared(), choices={"best": best, "other": Choice(best.parameters, best.measures)})
    assert len(re.findall("<tr class=chosen>", text)) == 2
