"""Answers that flip between two models: `rarefy.flips`, `rarefy flips`, and held-out data."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

import rarefy
from rarefy import InputError, SparseOnlineClassifier
from rarefy.analysis.flip_causes import Entries, FlipCauses, Side
from rarefy.analysis.paired_answers import Part, side_by_side
from rarefy.engine.task import Task
from rarefy.files.model_file import load_model
from rarefy.model.losses import Logistic
from rarefy.model.schedules import Constant
from rarefy.rules.ogd import Ogd
from rarefy.stores import Kept, make_store
from rarefy.streams.stream_model import StreamModel
from tests import data
from tests.cli.test_cli import sms_lines
from tests.cli.test_inspect import run, train_on_odd_names
from tests.in_order import classifier_in_order, regressor_in_order

STORES = {"table": (), "hashed": ("-b", "8"), "array": ("--store", "array")}
SMS = ("--label", "kind", "--text", "message")


class Says:
    """A model that answers what it is told to."""

    def __init__(self, answers) -> None:
        self.answers = answers

    def predict(self, X):
        return self.answers


def slow_flips(labels, old, new, weights=None) -> dict:
    """Counted row by row."""
    rows = [
        *zip(labels, old, new, [1.0] * len(labels) if weights is None else weights, strict=True)
    ]
    examples = [(n, *row) for n, row in enumerate(rows) if row[3] > 0.0]
    total = math.fsum(weight for *_, weight in examples)

    def share(chosen, of=total) -> float:
        return math.fsum(weight for *_, weight in chosen) / of if of else 0.0

    old_right = [row for row in examples if row[1] == row[2]]
    negative = [row for row in old_right if row[1] != row[3]]
    positive = [row for row in examples if row[1] != row[2] and row[1] == row[3]]
    return {
        "n_examples": len(examples),
        "weight": pytest.approx(total),
        "old_accuracy": pytest.approx(share(old_right)),
        "new_accuracy": pytest.approx(share([row for row in examples if row[1] == row[3]])),
        "negative_rate": pytest.approx(share(negative)),
        "positive_rate": pytest.approx(share(positive)),
        "lost_rate": pytest.approx(share(negative, math.fsum(row[4] for row in old_right))),
        "negative_rows": [row[0] for row in negative],
        "positive_rows": [row[0] for row in positive],
    }


def counts_of(found) -> dict:
    names = ("n_examples", "weight", "old_accuracy", "new_accuracy", "negative_rate")
    counts = {name: getattr(found, name) for name in (*names, "positive_rate", "lost_rate")}
    rows = {name: getattr(found, name).tolist() for name in ("negative_rows", "positive_rows")}
    return counts | rows


def slow_causes(labels, old, new, rows, importance=None) -> tuple[np.ndarray, float]:
    """By feature, and for the intercept, of two linear models over the rows of a dense matrix."""
    moved, of_intercept = np.zeros(rows.shape[1]), 0.0
    answers = old.predict(rows), new.predict(rows)
    for n, label in enumerate(labels):
        if answers[0][n] != label or answers[1][n] == label:
            continue
        weight = 1.0 if importance is None else importance[n]
        for model, sign in ((old, -weight), (new, weight)):
            coef, intercept = np.atleast_2d(model.coef_), model.intercept_
            classes = model.classes_.tolist()
            if len(coef) == 1:
                coef, intercept = (
                    np.vstack([-coef / 2, coef / 2]),
                    [-intercept[0] / 2, intercept[0] / 2],
                )
            wrong, right = classes.index(answers[1][n]), classes.index(label)
            moved += sign * rows[n] * (coef[wrong] - coef[right])
            of_intercept += sign * (intercept[wrong] - intercept[right])
    return moved, of_intercept


# --- matrices -------------------------------------------------------------------------------


@st.composite
def three_answers(draw):
    n_rows = draw(st.integers(1, 30))
    label = st.sampled_from(draw(st.sampled_from([["ham", "spam"], [0, 1, 7], [-0.5, 2.0]])))
    labels = [draw(st.lists(label, min_size=n_rows, max_size=n_rows)) for _ in range(3)]
    weight = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    weights = draw(st.none() | st.lists(weight, min_size=n_rows, max_size=n_rows).filter(any))
    return labels, weights, draw(st.integers(0, 5))


class TestMatrices:
    @settings(deadline=None)
    @given(three_answers())
    def test_counts_are_those_of_a_slow_count(self, drawn):
        (labels, old, new), weights, top = drawn
        rows = np.zeros((len(labels), 1))
        found = rarefy.flips(Says(old), Says(new), rows, labels, sample_weight=weights, top=top)
        expected = slow_flips(labels, old, new, weights)
        assert counts_of(found) == expected
        assert found.n_negative == len(expected["negative_rows"])
        assert found.n_positive == len(expected["positive_rows"])
        assert found.features is None
        assert [tuple(example) for example in found.first_negative] == [
            (n, f"row {n}", labels[n], old[n], new[n]) for n in expected["negative_rows"][:top]
        ]
        assert [example.row for example in found.first_positive] == expected["positive_rows"][:top]

    @pytest.mark.parametrize("kind", ["binary", "multiclass"])
    @pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
    def test_features_are_those_of_a_slow_sum(self, kind, weighted):
        problem = data.problem(kind, n=300)
        weights = data.importances(300) if weighted else None
        old = classifier_in_order("ogd").fit(problem.csr[:100], problem.y[:100])
        new = classifier_in_order("frda", l1=0.01).fit(problem.csr, problem.y)
        found = rarefy.flips(
            old, new, problem.csr, problem.y, sample_weight=weights, top=problem.csr.shape[1]
        )
        assert counts_of(found) == slow_flips(
            problem.y, old.predict(problem.csr), new.predict(problem.csr), weights
        )
        assert found.n_negative > 3
        moved, of_intercept = slow_causes(problem.y, old, new, problem.dense, weights)
        for name, key, amount in found.features:
            assert name == str(key)
            assert amount == pytest.approx(moved[key], rel=1e-9, abs=1e-12)
        assert np.count_nonzero(moved) == len(found.features)
        amounts = [feature.towards_wrong for feature in found.features]
        assert amounts == sorted(amounts, reverse=True)
        assert found.intercept == pytest.approx(of_intercept)

    def test_features_have_the_names_of_columns(self):
        pd = pytest.importorskip("pandas")
        X = pd.DataFrame({"size": [1.0, 2.0, -1.0, -2.0], "colour": [1.0, -1.0, 1.0, -1.0]})
        old = classifier_in_order("ogd").fit(X, [1, 1, 0, 0])
        new = classifier_in_order("ogd").fit(X, [1, 0, 1, 0])
        found = rarefy.flips(old, new, X, [1, 1, 0, 0], top=1)
        assert found.negative_rows.tolist() == [1, 2]
        assert [(feature.name, feature.key) for feature in found.features] == [("size", 0)]

    def test_columns_that_came_later(self):
        problem = data.problem("binary", n=200, d=25)
        old = classifier_in_order("ogd", n_features="grow", l1=None)
        old.partial_fit(problem.csr[:50, :10], problem.y[:50], classes=[-1, 1])
        new = classifier_in_order("ogd").fit(problem.csr, problem.y)
        found = rarefy.flips(old, new, problem.csr, problem.y, top=99)
        narrow = problem.csr[:, :10]
        assert counts_of(found) == slow_flips(
            problem.y, old.predict(narrow), new.predict(problem.csr)
        )
        assert max(feature.key for feature in found.features) >= 10

    def test_any_classifier_will_do(self):
        texts = ["win a prize now", "see you at lunch", "claim your prize", "lunch at noon?"] * 5
        labels = ["spam", "ham"] * 10
        ours = make_pipeline(CountVectorizer(), classifier_in_order()).fit(texts, labels)
        theirs = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels[::-1])
        found = rarefy.flips(ours, theirs, texts, labels)
        assert found.n_negative == 20
        assert found.features is None

    def test_raw_rows(self, tmp_path):
        path = tmp_path / "sms.csv"
        path.write_text(sms_lines("csv"))
        model = rarefy.train(path, label="kind", text=["message"])
        rows = [{"message": "win a prize"}, {"message": "see you at lunch"}]
        found = rarefy.flips(model, Says(["ham", "ham"]), rows, ["spam", "ham"])
        assert found.negative_rows.tolist() == [0]
        assert rarefy.flips(model, model, rows, ["spam", "ham"]).features is None

    def test_in_words(self):
        found = rarefy.flips(Says([1, 1, 0, 0]), Says([1, 0, 0, 1]), [0] * 4, [1, 1, 1, 1])
        assert repr(found) == (
            "4 examples: 1 negative flips (25.00% of all, 50.00% of what was right before), 1 "
            "positive "
            "flips (25.00% of all); accuracy 50.00% before, 50.00% now"
        )

    def test_nothing_was_right(self):
        found = rarefy.flips(Says([1]), Says([0]), [0], [0])
        assert (found.lost_rate, found.positive_rate) == (0.0, 1.0)


def fitted(labels) -> SparseOnlineClassifier:
    return classifier_in_order().fit(np.eye(len(labels)), labels)


class TestRefused:
    @pytest.mark.parametrize(
        ("old", "new", "y", "message"),
        [
            (regressor_in_order(), Says([1]), [1], "the old model is a regression model"),
            (Says([1]), LinearRegression(), [1], "the new model is a regression model"),
            (object(), Says([1]), [1], "the old model, a object, has no `predict`"),
            (Says([1]), Says([1]), None, "y=None"),
            (Says([1, 0]), Says([1]), [1], "2 answers, and 1 labels"),
            (Says([[1]]), Says([1]), [1], "have different lengths"),
            (Says([]), Says([]), [], "no examples to compare"),
            (Says([1]), Says([1]), [[1]], "y has 2 dimensions"),
            (Says([1.0]), Says([1.0]), [math.nan], "y contains nan"),
            (fitted([0, 1]), fitted([1, 2]), [0, 1], "classes 0, 1 and the new one the classes"),
            (fitted([0, 1]), fitted(["0", "1"]), [0, 1], "classes 0, 1 and the new .* '0', '1'"),
            (fitted([0, 1]), Says([0, 1]), ["0", "1"], r"y contains the label '0'; .* \[0, 1\]"),
        ],
    )
    def test_with_a_sentence(self, old, new, y, message):
        rows = np.eye(2) if y is None or len(y) == 2 else np.zeros((1, 2))
        with pytest.raises(InputError, match=message):
            rarefy.flips(old, new, rows, y)

    def test_weights_of_zero(self):
        with pytest.raises(InputError, match="no examples to compare"):
            rarefy.flips(Says([1]), Says([1]), [0], [1], sample_weight=[0.0])

    def test_readers_of_what_cannot_read(self, tmp_path):
        path = tmp_path / "rows.svm"
        path.write_text("1 1:1\n-1 2:1\n")
        reader, streamed = rarefy.read(path), rarefy.train(path)
        with pytest.raises(InputError, match="a Says, cannot predict a reader"):
            rarefy.flips(streamed, Says([1, 1]), reader)
        with pytest.raises(InputError, match="the old model was trained on a matrix"):
            rarefy.flips(fitted([-1, 1]), streamed, reader)
        with pytest.raises(InputError, match="a reader has its own"):
            rarefy.flips(streamed, streamed, reader, [1, -1])
        with pytest.raises(InputError, match="can be read only once, but two models"):
            rarefy.flips(streamed, streamed, rarefy.read("-"))


# --- readers --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize("store", STORES)
def test_a_reader_is_as_a_matrix(tmp_path, kind, store):
    problem = data.problem(kind, n=300)
    path, half = tmp_path / "all.svm", tmp_path / "half.svm"
    lines = data.svmlight_text(problem).splitlines(keepends=True)
    path.write_text("".join(lines))
    half.write_text("".join(lines[:100]))
    options = {"store": store} | ({"bits": 8} if store == "hashed" else {})
    old = rarefy.train(half, rule="ogd", **options)
    new = rarefy.train(path, rule="frda", l1=0.01, store="array")
    found = rarefy.flips(old, new, rarefy.read(path), top=99)
    old_matrix = classifier_in_order("ogd").fit(problem.csr[:100], problem.y[:100])
    new_matrix = classifier_in_order("frda", l1=0.01).fit(problem.csr, problem.y)
    expected = rarefy.flips(old_matrix, new_matrix, problem.csr, problem.y, top=99)
    assert counts_of(found) == counts_of(expected)
    moved = {feature.name: feature.towards_wrong for feature in found.features}
    assert moved == pytest.approx(
        {feature.name: feature.towards_wrong for feature in expected.features}
    )
    assert found.intercept == pytest.approx(expected.intercept)
    first = found.first_negative[0]
    assert first.location == f"{path}:{first.row + 1}"
    assert float(first.label) == problem.y[first.row]


def parts_of(lines: list[tuple[str, int]], cuts: list[int]) -> list[Part]:
    """Rows of files as parts that end at these cuts, and at the ends of files."""
    parts = []
    ends = sorted({0, len(lines), *(cut % (len(lines) + 1) for cut in cuts)} | {
        n for n in range(1, len(lines)) if lines[n][0] != lines[n - 1][0]
    })  # fmt: skip
    for begin, end in pairwise(ends):
        rows = lines[begin:end]
        numbers = np.array([line for _, line in rows])
        lengths = [line % 3 for _, line in rows]
        keys = [line for _, line in rows for _ in range(line % 3)]
        entries = Entries(
            np.concatenate([[0], np.cumsum(lengths)]).astype(int),
            np.array(keys, np.uint64),
            np.ones(len(keys)),
        )
        parts.append(Part(rows[0][0], numbers, numbers, numbers, np.ones(len(rows)), entries))
    return parts


some_cuts = st.lists(st.integers(0, 40), max_size=6)
some_lines = st.lists(st.integers(1, 30), unique=True, max_size=20).map(sorted)


@settings(deadline=None)
@given(some_lines, some_lines, some_cuts, some_cuts)
def test_rows_are_matched_wherever_batches_end(first_file, second_file, old_cuts, new_cuts):
    lines = [("a", line) for line in first_file] + [("b", line) for line in second_file]
    both = (iter(parts_of(lines, cuts)) for cuts in (old_cuts, new_cuts))
    found = []
    for old, new in side_by_side(*both):
        found += [(old.path, line) for line in old.lines.tolist()]
        for part in (old, new):
            assert part.lines.tolist() == new.lines.tolist() == part.truth.tolist()
            chosen = np.arange(0, len(part.lines), 2)
            keys = part.entries.only(chosen).keys.tolist()
            assert keys == [n for n in part.lines[chosen].tolist() for _ in range(n % 3)]
    assert found == lines


@settings(deadline=None)
@given(some_lines.filter(len), some_cuts, some_cuts, st.data())
def test_a_row_that_one_of_them_does_not_have(numbers, old_cuts, new_cuts, drawn):
    lines = [("a", line) for line in numbers]
    fewer = lines.copy()
    fewer.remove(drawn.draw(st.sampled_from(lines)))
    both = [iter(parts_of(lines, old_cuts)), iter(parts_of(fewer, new_cuts))]
    if drawn.draw(st.booleans()):
        both.reverse()
    with pytest.raises(InputError, match="there is a line that only one of them can read"):
        for _ in side_by_side(*both):
            pass


def test_sums_are_the_same_however_often_they_are_summed_up(monkeypatch):
    monkeypatch.setattr("rarefy.analysis.flip_causes.FEWEST_TO_SUM_UP", 3)
    model = StreamModel(Task(Ogd(), Constant(1.0), Logistic()), make_store("array"), ("a", "b"))
    keys = np.array([1, 4, 9], np.uint64)
    none = Kept(keys[:0], np.empty(0, np.int64), np.empty(0), None, None)
    weights = Kept(keys, np.zeros(3, np.int64), np.array([0.5, -2.0, 1.0]), None, None)
    blame = FlipCauses(Side(model, none), Side(model, weights))
    expected = dict.fromkeys(keys.tolist(), 0.0)
    for n in range(20):
        chosen = np.array([1, 9, 9, 4, 2][: 1 + n % 5], np.uint64)
        entries = Entries(np.array([0, len(chosen)]), chosen, np.full(len(chosen), n**2.0))
        wrong = np.array([n % 2])
        blame.add((entries, entries), wrong, 1 - wrong, np.ones(1))
        for key in chosen.tolist():
            weight = {1: 0.5, 4: -2.0, 9: 1.0}.get(key, 0.0)
            if weight:
                expected[key] += n**2 * weight * (1 if n % 2 else -1)
    found = {feature.key: feature.towards_wrong for feature in blame.findings(9)["features"]}
    assert found == pytest.approx(expected)


# --- the command ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data and two models in it."""
    monkeypatch.chdir(tmp_path)
    for kind in ("binary", "multiclass", "regression"):
        Path(f"{kind}.svm").write_text(data.svmlight_text(data.problem(kind, n=200)))
    for kind in ("binary", "multiclass"):
        Path(f"half-{kind}.svm").write_text(data.svmlight_text(data.problem(kind, n=200, seed=3)))
    Path("sms.csv").write_text(sms_lines("csv"))
    return tmp_path


def train(*arguments: str, to: str) -> None:
    run("train", *arguments, "-o", to, "--quiet")


def train_both(kind: str, *options: str) -> None:
    train(f"half-{kind}.svm", *options, to="old.model")
    train(f"{kind}.svm", *options, to="new.model")


def flips(*arguments: str) -> dict:
    return json.loads(run("flips", "old.model", "new.model", *arguments, "--json"))


def predicted(model: str, *files: str) -> list[str]:
    return run("predict", model, *files).split()


class TestCommand:
    @pytest.mark.parametrize("kind", ["binary", "multiclass"])
    @pytest.mark.parametrize("store", STORES)
    def test_counts_are_those_of_what_is_predicted(self, folder, kind, store):
        train_both(kind, *STORES[store])
        labels = [line.split()[0] for line in Path(f"{kind}.svm").read_text().splitlines()]
        old, new = (predicted(f"{name}.model", f"{kind}.svm") for name in ("old", "new"))
        expected = slow_flips(labels, old, new)
        found = flips(f"{kind}.svm", "--top", "3")
        negative, positive = expected.pop("negative_rows"), expected.pop("positive_rows")
        assert min(len(negative), len(positive)) > 3
        assert (found["negative_flips"], found["positive_flips"]) == (len(negative), len(positive))
        expected["examples"] = expected.pop("n_examples")
        assert {name: found[name] for name in expected} == expected
        for listed, rows in ((found["negative"], negative), (found["positive"], positive)):
            assert listed == [
                {
                    "row": f"{kind}.svm:{n + 1}",
                    "label": labels[n],
                    "old": old[n],
                    "new": new[n],
                }
                for n in rows[:3]
            ]
        assert len(found["features"]) == 3

    def test_the_sum_of_what_moved_is_the_change_of_the_scores(self, folder):
        """Between models that read, and keep, features in different ways."""
        numbers = np.random.default_rng(0).integers(0, [2, 5, 3, 2, 11], (150, 5)).tolist()
        rows = [f"{('ham', 'spam')[a]},word{b} word{c},s{d},{e}" for a, b, c, d, e in numbers]
        Path("rows.csv").write_text("\n".join(["kind,message,site,size", *rows]) + "\n")
        train("rows.csv", *SMS, "--cross", "site,message", "--rule", "ogd", to="old.model")
        options = ("--categorical", "size", "--ignore", "site", "-b", "18", "--rule", "ogd")
        train("rows.csv", *SMS, *options, "--classes", "spam,ham", to="new.model")
        assert load_model("old.model").classes != load_model("new.model").classes
        found = flips("rows.csv", "--top", "999")
        labels = [row.split(",")[0] for row in rows]
        expected = slow_flips(
            labels, *(predicted(f"{name}.model", "rows.csv") for name in ("old", "new"))
        )
        assert found["negative_flips"] == len(expected["negative_rows"]) > 3
        assert found["positive_flips"] == len(expected["positive_rows"]) > 3
        scores = {
            name: [
                float(score)
                for score in run("predict", f"{name}.model", "rows.csv", "--scores").split()
            ]
            for name in ("old", "new")
        }  # those of spam, and those of ham
        change = sum(
            (-scores["new"][n] - scores["old"][n]) * (-1 if labels[n] == "spam" else 1)
            for n in expected["negative_rows"]
        )
        moved = sum(feature["towards_wrong"] for feature in found["features"])
        assert moved + found["intercept"] == pytest.approx(change)
        names = {feature["feature"] for feature in found["features"]}
        assert {"message=word1", "size=3", "size", "site=s1*message=word1"} <= names

    def test_classes_may_be_written_differently(self, folder):
        problem = data.problem("binary", n=200)
        classifier_in_order().fit(problem.csr, problem.y.astype(float)).save("old.model")
        assert load_model("old.model").classes == ("-1.0", "1.0")
        train("half-binary.svm", "--classes", "1,-1", to="new.model")
        labels = problem.y.tolist()
        answers = [
            [float(label) for label in predicted(f"{name}.model", "binary.svm")]
            for name in ("old", "new")
        ]
        expected = slow_flips(labels, *answers)
        found = flips("binary.svm")
        assert found["negative_flips"] == len(expected["negative_rows"]) > 0
        assert found["positive_flips"] == len(expected["positive_rows"]) > 0

    def test_importance_is_that_of_the_data(self, folder):
        Path("rows.vw").write_text("1 |a x\n-1 |a y\n" * 20)
        Path("others.vw").write_text("1 |a y\n-1 |a x\n" * 20)
        train("rows.vw", to="old.model")
        train("others.vw", to="new.model")
        Path("new.vw").write_text("1 2 |a x\n-1 0 |a y\n-1 0.5 |a x\n1 1.5 |a y\n1 |a x\n")
        found = flips("new.vw")
        assert (found["examples"], found["weight"]) == (4, 5.0)
        assert (found["negative_flips"], found["positive_flips"]) == (2, 2)
        assert found["negative_rate"] == pytest.approx(3 / 5)
        assert found["lost_rate"] == 1.0
        assert found["old_accuracy"] == pytest.approx(3 / 5)
        assert found["new_accuracy"] == pytest.approx(2 / 5)
        assert [example["row"] for example in found["negative"]] == ["new.vw:1", "new.vw:5"]

    def test_several_files(self, folder):
        train_both("binary")
        lines = Path("binary.svm").read_text().splitlines(keepends=True)
        Path("a.svm").write_text("".join(lines[:90]))
        Path("b.svm").write_text("\n# rows\n" + "".join(lines[90:]))
        whole, parts = flips("binary.svm", "--top", "200"), flips("a.svm", "b.svm", "--top", "200")
        numbers = [int(example["row"].split(":")[1]) for example in whole["negative"]]
        assert [example["row"] for example in parts["negative"]] == [
            f"a.svm:{n}" if n <= 90 else f"b.svm:{n - 88}" for n in numbers
        ]
        features, expected = (
            {feature["feature"]: feature["towards_wrong"] for feature in found["features"]}
            for found in (parts, whole)
        )
        assert features == pytest.approx(expected)
        assert parts["positive_flips"] == whole["positive_flips"] == len(parts["positive"])

    def test_the_same_model_twice(self, folder):
        train("binary.svm", to="old.model")
        train("binary.svm", to="new.model")
        found = flips("binary.svm")
        assert found["negative_flips"] == found["positive_flips"] == 0
        assert found["negative"] == found["features"] == []
        text = run("flips", "old.model", "new.model", "binary.svm", "--max-negative", "0")
        assert len(text.splitlines()) == 7

    @pytest.mark.parametrize("as_json", [(), ("--json",)], ids=" ".join)
    def test_the_exit_code_guards_against_losses(self, folder, as_json):
        train_both("binary")
        rate = flips("binary.svm")["negative_rate"]
        command = ("flips", "old.model", "new.model", "binary.svm", *as_json)
        report = run(*command, "--max-negative", repr(rate))
        message = run(*command, "--max-negative", repr(0.999 * rate), code=3)
        assert re.fullmatch(r"More answers were lost than allowed: .*%\.\n", message)
        assert run(*command, "--max-negative", f"{99.9 * rate}%", code=3) == message
        assert report == run(*command)
        assert "negative" in report

    @pytest.mark.parametrize("gate", ["--max-log-loss-rise", "--max-auc-drop"])
    def test_gates_by_other_measures(self, folder, gate):
        train_both("binary")
        found = flips("binary.svm")
        rise = found["new_log_loss"] - found["old_log_loss"]
        drop = found["old_auc"] - found["new_auc"]
        worse = rise if gate == "--max-log-loss-rise" else drop
        pair = ["old.model", "new.model"] if worse > 0.0 else ["new.model", "old.model"]
        command = ("flips", *pair, "binary.svm", gate)
        run(*command, repr(abs(worse)))
        message = run(*command, repr(0.999 * abs(worse)), code=3)
        assert "and the limit is" in message
        if gate == "--max-auc-drop":
            assert run(*command, f"{99.9 * abs(worse)!r}%", code=3) == message
        for name in ("log_loss", "auc"):
            for which in ("old", "new"):
                evaluated = rarefy.evaluate(f"{which}.model", rarefy.read("binary.svm"))
                assert found[f"{which}_{name}"] == evaluated[name]

    def test_no_gate_by_what_is_undefined(self, folder):
        train_both("multiclass")
        command = ("flips", "old.model", "new.model", "multiclass.svm", "--max-auc-drop", "1")
        assert "the AUC of these models on these data is undefined" in run(*command, code=1)

    def test_as_text(self, folder):
        train_both("binary")
        found = flips("binary.svm", "--top", "2")
        lines = run("flips", "old.model", "new.model", "binary.svm", "--top", "2").splitlines()
        n_negative, n_positive = found["negative_flips"], found["positive_flips"]
        assert lines[:7] == [
            "examples        200",
            f"old accuracy    {100 * found['old_accuracy']:.2f} % (old.model)",
            f"new accuracy    {100 * found['new_accuracy']:.2f} % (new.model)",
            f"log-loss        {found['old_log_loss']:.5f} before, {found['new_log_loss']:.5f} now",
            f"AUC             {found['old_auc']:.5f} before, {found['new_auc']:.5f} now",
            f"negative flips  {n_negative} ({100 * found['negative_rate']:.2f} % of all, "
            f"{100 * found['lost_rate']:.2f} % of what the old model had right)",
            f"positive flips  {n_positive} ({100 * found['positive_rate']:.2f} % of all)",
        ]
        assert lines[8] == f"2 of {n_negative} negative flips:"
        assert lines[9].split() == ["label", "old", "new", "row"]
        assert lines[10].split() == [found["negative"][0][name] for name in lines[9].split()]
        assert lines[13] == f"2 of {n_positive} positive flips:"
        assert [line.split()[1] for line in lines[-3:]] == [
            *(feature["feature"] for feature in found["features"]),
            "(intercept)",
        ]
        short = run("flips", "old.model", "new.model", "binary.svm", "--top", "0")
        assert short.splitlines() == lines[:7]

    def test_fits_a_terminal_and_does_not_steer_it(self, folder):
        train_on_odd_names()
        Path("some.model").rename("old.model")
        lines = Path("odd.jsonl").read_text().splitlines(keepends=True)
        Path("few.jsonl").write_text("".join(lines[:4]))
        train("few.jsonl", "--l1", "0", "--no-intercept", to="new.model")
        command = ("flips", "old.model", "new.model", "odd.jsonl")
        assert all(line.isprintable() for line in run(*command).splitlines())
        text = re.sub(r"\x1b\[[0-9;]*m", "", run(*command, terminal=True))
        for line in text.splitlines():
            assert line.isprintable()
            assert cell_len(line) <= 80
        assert "█" in text
        assert "negative flips:" in text

    def test_bad_lines(self, folder):
        train_both("binary")
        Path("bad.svm").write_text("1 1:1\nx\n-1 1:1\n")
        command = ("flips", "old.model", "new.model", "bad.svm")
        assert run(*command, code=1).startswith("Error: bad.svm:2:1: ")
        assert flips("bad.svm", "--bad-lines", "skip")["examples"] == 2

    def test_standard_input_cannot_be_read_twice(self, folder):
        train_both("binary")
        message = run("flips", "old.model", "new.model", "-", code=1, stdin="1 1:1\n")
        assert message == (
            "Error: -: standard input can be read only once, but two models have to read the "
            "data; write it to a file first.\n"
        )

    @pytest.mark.parametrize("limit", ["-0.1", "1.1", "nan", "x"])
    def test_limits_that_are_no_share(self, folder, limit):
        train_both("binary")
        command = ("flips", "old.model", "new.model", "binary.svm", "--max-negative", limit)
        assert "--max-negative" in run(*command, code=2)


class TestModelsThatCannotBeCompared:
    @pytest.fixture(autouse=True)
    def rows(self, folder) -> None:
        Path("rows.csv").write_text("kind,sort,size\n" + "a,b,1\nb,a,2\n" * 10)

    def refused(self, *data: str) -> str:
        return run("flips", "old.model", "new.model", *data, code=1)

    def test_they_predict_numbers(self):
        train("regression.svm", "--loss", "squared", to="new.model")
        train("binary.svm", to="old.model")
        assert self.refused("binary.svm").startswith("Error: the new model is a regression model")

    def test_they_have_other_classes(self):
        train("multiclass.svm", to="old.model")
        train("binary.svm", to="new.model")
        assert "'0', '1', '2', '3' and the new one the classes '-1', '1'" in self.refused(
            "binary.svm"
        )

    def test_they_have_learned_other_columns(self):
        train("rows.csv", "--label", "kind", to="old.model")
        train("rows.csv", "--label", "sort", to="new.model")
        assert self.refused("rows.csv").startswith(
            "Error: rows.csv:2: the label is a for the old model and b for the new one"
        )

    def test_they_do_not_read_the_same_rows(self):
        train("rows.csv", "--label", "kind", "--numeric", "size", to="old.model")
        train("rows.csv", "--label", "kind", "--categorical", "size", to="new.model")
        Path("odd.csv").write_text("kind,sort,size\na,b,1\nb,a,large\na,a,3\n")
        assert "old model's next row is odd.csv:4, and the new one's odd.csv:3" in run(
            "flips", "old.model", "new.model", "odd.csv", "--bad-lines", "skip", code=1
        )  # fmt: skip

    def test_there_is_nothing_to_compare(self):
        train_both("binary")
        Path("empty.svm").write_text("\n")
        assert self.refused("empty.svm") == (
            "Error: empty.svm: there are no examples to compare.\n"
        )
