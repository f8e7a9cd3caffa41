"""`rarefy.train`, `fit_stream` and prediction of readers, against matrices and slow references."""

from __future__ import annotations

import copy
import csv
import itertools
import json
import pickle
import random
import re
from pathlib import Path

import numpy as np
import pandas
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score

import rarefy
from rarefy import ConfigError, InputError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.cli import main
from rarefy.files.model_file import load_model
from rarefy.model.losses import REGRESSION_LOSSES
from rarefy.readers.source import BLOCK_BYTES
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order

PATH = "data.svm"
OWN_PARAMETERS = {
    "squared": {},
    "huber": {"epsilon": 0.7},
    "epsilon_insensitive": {"epsilon": 0.4},
    "quantile": {"quantile": 0.8},
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problem(kind: str) -> data.Problem:
    """A problem that lies in PATH too; the last column occurs."""
    found = data.problem(kind, n=150, d=20)
    assert found.dense[:, -1].any()
    Path(PATH).write_text(data.svmlight_text(found))
    return found


def dense(weights: dict[str, float], n: int = 20) -> np.ndarray:
    out = np.zeros((n, *np.shape(next(iter(weights.values())))))
    for name, weight in weights.items():
        out[int(name)] = weight
    return out.T


def same(ours, theirs) -> None:
    """Sums of entries that occur twice are made in another order; otherwise bit for bit."""
    assert np.asarray(ours) == pytest.approx(np.asarray(theirs), rel=1e-12, abs=1e-13)


# --- the same as a matrix, and as the command line ------------------------------------------

CLASSIFIERS = [
    {},
    {"rule": "ftrl", "l1": 0.1, "passes": 3},
    {"rule": "fobos", "l1": 0.01, "loss": "hinge", "fit_intercept": False},
    {"loss": "modified_huber", "l1": 1e-3},
]


@pytest.mark.parametrize("store", ["array", "hashed", "table"])
@pytest.mark.parametrize("parameters", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_a_classifier_learns_from_a_file_as_from_a_matrix(kind, parameters, store):
    matrix = problem(kind)
    expected = classifier_in_order(**parameters).fit(matrix.csr, matrix.y)
    bits = {"bits": 6} if store == "hashed" else {}
    model = rarefy.train(PATH, store=store, **bits, **parameters)
    two_steps = SparseOnlineClassifier(**{"passes": 1, **parameters})
    two_steps.fit_stream(rarefy.read(PATH), store=store, **bits)
    weights = dense(model.weights_)
    same(weights.reshape(expected.coef_.shape), expected.coef_)
    same(model.intercept_, expected.intercept_)
    assert two_steps.get_params() == model.get_params()
    assert dense(two_steps.weights_).tolist() == weights.tolist()
    assert model.t_ == expected.t_
    assert model.progressive_loss_ == pytest.approx(expected.progressive_loss_, rel=1e-12)
    assert model.classes_.tolist() == expected.classes_.tolist()

    reader = rarefy.read(PATH)
    same(model.decision_function(reader), expected.decision_function(matrix.csr))
    assert model.predict(reader).tolist() == expected.predict(matrix.csr).tolist()
    if hasattr(expected, "predict_proba"):
        same(model.predict_proba(reader), expected.predict_proba(matrix.csr))
        same(model.predict_log_proba(reader), expected.predict_log_proba(matrix.csr))
    assert hasattr(model, "predict_proba") == hasattr(expected, "predict_proba")
    score = expected.score(matrix.csr, matrix.y)
    assert model.score(reader, matrix.y) == score
    assert accuracy_score(matrix.y, model.predict(reader)) == score
    if store == "array":
        assert model.n_features_in_ == 20
        same(model.coef_, expected.coef_)
        same(model.decision_function(matrix.csr), expected.decision_function(matrix.csr))


@pytest.mark.parametrize("store", ["array", "hashed", "table"])
@pytest.mark.parametrize("loss", REGRESSION_LOSSES)
def test_a_regressor_learns_from_a_file_as_from_a_matrix(loss, store):
    matrix, own = problem("regression"), OWN_PARAMETERS[loss]
    expected = regressor_in_order(loss=loss, l1=1e-3, **own).fit(matrix.csr, matrix.y)
    model = rarefy.train(PATH, loss=loss, l1=1e-3, store=store, **own)
    assert isinstance(model, SparseOnlineRegressor)
    same(dense(model.weights_), expected.coef_)
    same(model.predict(rarefy.read(PATH)), expected.predict(matrix.csr))
    found = model.score(rarefy.read(PATH), matrix.y)
    assert found == pytest.approx(expected.score(matrix.csr, matrix.y))
    for parameter, value in own.items():
        other = rarefy.train(PATH, loss=loss, l1=1e-3, store=store, **{parameter: value / 2})
        assert other.weights_ != model.weights_


@pytest.mark.parametrize("store", ["array", "hashed", "table"])
@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("binary", {"l1": 1e-3, "passes": 2}),
        ("multiclass", {"rule": "ftrl", "multiclass": "ovr"}),
        ("regression", {"loss": "quantile", "quantile": 0.3}),
        ("regression", {"loss": "huber", "epsilon": 0.6}),
    ],
    ids=str,
)
def test_the_command_line_learns_the_same(kind, parameters, store):
    problem(kind)
    model = rarefy.train(PATH, store=store, **parameters)
    options = [f"--{name}={value}" for name, value in parameters.items()]
    command = ["train", PATH, "-o", "some.model", "--store", store, *options]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    kept = load_model("some.model").kept
    names = kept.names or [str(key) for key in kept.keys]
    weights = {name: np.zeros(model.learner_.n_outputs) for name in names}
    for name, output, weight in zip(names, kept.outputs, kept.weights, strict=True):
        weights[name][output] = weight
    found = {name: np.ravel(weight).tolist() for name, weight in model.weights_.items()}
    assert {name: weight.tolist() for name, weight in weights.items()} == found
    lines = CliRunner().invoke(main, ["predict", "some.model", PATH]).stdout.split()
    predicted = model.predict(rarefy.read(PATH)).tolist()
    assert [float(line) for line in lines] == predicted


def test_sample_weights_are_a_column():
    matrix = data.problem("binary", n=80, d=5)
    importance = data.importances(80)
    frame = pandas.DataFrame(matrix.dense, columns=list("abcde"))
    frame.assign(y=matrix.y.astype(int), w=importance).to_csv("data.csv", index=False)
    expected = classifier_in_order().fit(matrix.dense, matrix.y, sample_weight=importance)
    model = rarefy.train("data.csv", label="y", weight="w")
    weights = [model.weights_.get(name, 0.0) for name in "abcde"]
    assert weights == pytest.approx(expected.coef_.ravel(), rel=1e-9, abs=1e-12)


# --- classes --------------------------------------------------------------------------------


def write_csv(path: str, rows: list[dict[str, object]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize(
    ("labels", "classes", "found"),
    [
        (["3", "7"], (), [3, 7]),
        (["0", "1"], (), [0, 1]),
        (["1", "1"], (), [-1, 1]),
        (["2", "-5", "10"], (), [-5, 2, 10]),
        (["spam", "ham"], (), ["ham", "spam"]),
        (["spam", "ham"], ["spam", "ham"], ["spam", "ham"]),
        (["0.5", "1.5"], ["0.5", "1.5"], [0.5, 1.5]),
        (["1", "2"], [1, 2], [1, 2]),
        (["1", "2"], np.array([1, 2, 3]), [1, 2, 3]),
        (["b", "a"], ["a", "b", "c"], ["a", "b", "c"]),
        (["1.0", "2"], (), [1, 2]),
    ],
    ids=str,
)
def test_classes(labels, classes, found):
    rows = [{"label": label, "x": f"v{label}"} for label in labels * 20]
    write_csv("data.csv", rows)
    model = rarefy.train("data.csv", classes=classes, l1=0.0)
    assert model.classes_.tolist() == found
    assert model.classes_.dtype.kind == np.asarray(found).dtype.kind
    expected = [type(found[0])(float(x)) if found[0] != str(found[0]) else x for x in labels * 20]
    assert model.predict(rarefy.read("data.csv")).tolist() == expected
    assert model.predict_proba(rarefy.read("data.csv")).shape == (len(rows), len(found))


@pytest.mark.parametrize("classes", ["01", ["1"], ["1", "1"], [1, 1.0], ["a", "b", "a"]])
def test_classes_that_are_none(classes):
    Path(PATH).write_text("1 1:1\n0 2:1\n")
    with pytest.raises(ConfigError, match="classes="):
        rarefy.train(PATH, classes=classes)


def test_the_order_of_given_classes_holds_when_learning_goes_on():
    matrix = problem("binary")
    model = rarefy.train(PATH, classes=["1", "-1"], store="array")
    expected = classifier_in_order().fit(matrix.csr, -matrix.y)
    same(model.coef_, expected.coef_)
    model.partial_fit(matrix.csr, matrix.y, classes=[-1, 1])
    expected.partial_fit(matrix.csr, -matrix.y)
    same(model.coef_, expected.coef_)
    assert model.predict(matrix.csr).tolist() == (-expected.predict(matrix.csr)).tolist()
    assert model.t_ == 300


@pytest.mark.parametrize(
    ("text", "parameters", "message"),
    [
        ("", {}, "no examples"),
        ("\n# nothing\n", {}, "no examples"),
        ("2 1:1\n2 2:1\n", {}, "list the classes"),
        ("0.5 1:1\n0.7 2:1\n", {}, "look like numbers to predict"),
        ("1 1:1\n-1 2:1\n2 1:1\n", {"classes": ["-1", "1"]}, "one of the classes -1, 1"),
        ("1 1:1\n-1 2:x\n", {}, f"{PATH}:2:"),
        ("1 1:1\n-1 2:1\n", {"verbose": True}, "verbose=True is for matrices"),
        ("1 1:1\n-1 2:1\n", {"magic": 1, "more": 2}, "magic: there is no such parameter"),
        ("1 1:1\n-1 2:1\n", {"epsilon": 1}, "epsilon does not apply to the logistic loss"),
        ("1 1:1\n-1 2:1\n", {"quantile": 2.0, "loss": "quantile"}, "quantile=2.0"),
        ("1 1:1\n-1 2:1\n", {"bits": 9, "store": "table"}, "bits=9"),
        ("1 1:1\n-1 2:1\n", {"store": "shelf"}, "store='shelf'"),
        ("1 1:1\n-1 2:1\n", {"loss": "magic"}, "loss='magic'"),
        ("1 1:1\n-1 2:1\n", {"passes": 0}, "passes=0"),
        ("1 1:1\n-1 2:1\n", {"capacity": 0}, "capacity=0"),
        ("1 1:1\n-1 2:1\n", {"loss": "squared", "classes": ["a", "b"]}, "not classes"),
        ("1 99999999999:1\n-1 2:1\n", {"store": "array"}, f"{PATH}:1: "),
        ("1 1:1e30\n-1 1:1e30\n" * 9, {"rule": "ogd", "loss": "squared_hinge"}, "diverged"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_cannot_be_learned(text, parameters, message):
    Path(PATH).write_text(text)
    with pytest.raises(rarefy.RarefyError, match=re.escape(message)):
        rarefy.train(PATH, **parameters)


def test_a_class_that_comes_late_is_told_with_its_place():
    n = BLOCK_BYTES // len("1 1:1\n-1 2:1\n") + 100
    Path(PATH).write_text("1 1:1\n-1 2:1\n" * n + "0 1:1\n")
    message = f"{PATH}:{2 * n + 1}: the label is 0; one of the classes -1, 1"
    with pytest.raises(InputError, match=re.escape(message)):
        rarefy.train(PATH)
    assert rarefy.train(PATH, classes=[-1, 0, 1]).t_ == 2 * n + 1


# --- an estimator is one in any state -------------------------------------------------------


def state_of(model) -> dict[str, object]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@pytest.mark.parametrize("before", ["nothing", "a matrix", "a stream"])
@pytest.mark.parametrize("text", ["", "1 1:1\n-1 1:x\n", "2 1:1\n2 1:1\n", "1 1:1\n-1 1:1e99\n"])
def test_a_failure_leaves_the_estimator_as_it_was(before, text):
    matrix = problem("binary")
    model = classifier_in_order()
    if before == "a matrix":
        model.fit(matrix.csr, matrix.y)
    if before == "a stream":
        model.fit_stream(rarefy.read(PATH))
    state = state_of(model)
    weights = copy.deepcopy(model.weights_) if before == "a stream" else None
    Path("bad.svm").write_text(text)
    with pytest.raises(InputError):
        model.fit_stream(rarefy.read("bad.svm"))
    assert state_of(model).keys() == state.keys()
    assert all(state_of(model)[name] is value for name, value in state.items())
    if weights is not None:
        assert model.weights_ == weights


def test_a_model_of_columns_says_how_rows_are_given(tmp_path):
    path = tmp_path / "sms.csv"
    path.write_text("label,m\n" + "spam,win a prize\nham,see you\n" * 20)
    model = rarefy.train(path, text=["m"])
    with pytest.raises(InputError, match=r"on the columns m: give rows as dicts, such as \{'m': "):
        model.predict(["win a prize"])


def test_a_table_takes_no_matrix():
    matrix = problem("binary")
    model = rarefy.train(PATH)
    weights = model.weights_
    for act in (model.predict, model.decision_function, model.predict_proba):
        with pytest.raises(InputError, match="give a reader"):
            act(matrix.csr)
    with pytest.raises(InputError, match="give a reader"):
        model.partial_fit(matrix.csr, matrix.y)
    assert model.weights_ == weights
    model.fit(matrix.csr, matrix.y)
    assert len(model.predict(matrix.csr)) == 150
    with pytest.raises(AttributeError):
        _ = model.weights_


@pytest.mark.parametrize("store", ["array", "hashed"])
def test_learning_goes_on_with_a_matrix(store):
    matrix = problem("binary")
    bits = {"bits": 5} if store == "hashed" else {}
    model = rarefy.train(PATH, store=store, **bits)
    width = 32 if bits else 20
    wide = np.zeros((150, width))
    wide[:, :20] = matrix.dense
    expected = classifier_in_order().fit(wide, matrix.y).partial_fit(wide, matrix.y)
    same(model.partial_fit(wide, matrix.y).coef_, expected.coef_)
    same(dense(model.weights_, width), expected.coef_.ravel())


def test_readers_where_they_cannot_be():
    matrix = problem("binary")
    reader = rarefy.read(PATH)
    with pytest.raises(NotFittedError):
        classifier_in_order().predict(reader)
    model = classifier_in_order().fit(matrix.csr, matrix.y)
    with pytest.raises(InputError, match="after fit_stream"):
        model.predict(reader)
    for act in (model.fit, model.partial_fit):
        with pytest.raises(InputError, match="fit_stream"):
            act(reader, matrix.y)
    for wrong in (matrix.csr, None):
        with pytest.raises(InputError, match="a reader is expected"):
            model.fit_stream(wrong)
    with pytest.raises(ConfigError, match="text='message'"):
        rarefy.read(PATH, text="message")


@pytest.mark.parametrize("path", [PATH, str(PATH)])
def test_a_path_in_place_of_rows(path):
    """The message says what reads it."""
    matrix = problem("binary")
    model = classifier_in_order().fit(matrix.csr, matrix.y)
    for act in (
        model.fit_stream, model.partial_fit, model.predict, rarefy.to_matrix, rarefy.sweep,
        lambda path: model.fit(path, matrix.y), lambda path: rarefy.evaluate(model, path),
        lambda path: rarefy.explain(model, path), lambda path: rarefy.flips(model, model, path),
        lambda path: rarefy.releases(path, every=10),
    ):  # fmt: skip
        with pytest.raises(InputError, match=re.escape(f"rarefy.read({str(path)!r})")):
            act(path)


def test_a_stream_forgets_the_names_of_a_data_frame():
    matrix = problem("binary")
    frame = pandas.DataFrame(matrix.dense, columns=[f"c{n}" for n in range(20)])
    model = classifier_in_order().fit(frame, matrix.y)
    model.fit_stream(rarefy.read(PATH), store="array")
    assert not hasattr(model, "feature_names_in_")
    assert len(model.predict(matrix.csr)) == 150


@pytest.mark.parametrize("store", ["array", "hashed", "table"])
def test_copies(store):
    problem("multiclass")
    model = rarefy.train(PATH, store=store, l1=1e-3, rule="ftrl")
    scores = model.decision_function(rarefy.read(PATH)).tolist()
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert copied.decision_function(rarefy.read(PATH)).tolist() == scores
        assert {n: w.tolist() for n, w in copied.weights_.items()} == {
            n: w.tolist() for n, w in model.weights_.items()
        }
    cloned = clone(model)
    assert not hasattr(cloned, "learner_")
    assert cloned.get_params() == model.get_params()
    assert cloned.stream_ is None
    again = cloned.set_params(rule="frda").fit_stream(rarefy.read(PATH), store=store)
    assert again.decision_function(rarefy.read(PATH)).tolist() != scores


def test_it_can_be_shown():
    problem("binary")
    model = classifier_in_order(l1=0.25)
    assert not hasattr(model, "weights_")
    assert "0.25" in model._repr_html_()
    assert "0.25" in model.fit_stream(rarefy.read(PATH))._repr_html_()
    assert hasattr(model, "weights_")


# --- prediction reads as training did -------------------------------------------------------

ROWS = [
    {"kind": "ham", "code": "1", "size": "2.5", "site": "a", "message": "See you"},
    {"kind": "spam", "code": "x", "size": "-1", "site": "b", "message": "Win a prize"},
    {"kind": "spam", "code": "7", "size": "3", "site": "a", "message": "Prize you win"},
    {"kind": "ham", "code": "x", "size": "", "site": "c", "message": "Lunch?"},
] * 10
PARAMETERS = {"label": "kind", "text": ["message"], "cross": [("site", "message")], "l1": 0.0}


def test_columns_in_another_order_and_without_a_label():
    write_csv("data.csv", ROWS)
    model = rarefy.train("data.csv", **PARAMETERS)
    scores = model.decision_function(rarefy.read("data.csv"))
    names = ["message", "site", "code", "size"]
    write_csv("new.csv", [{name: row[name] for name in names} for row in ROWS])
    assert model.decision_function(rarefy.read("new.csv")) == pytest.approx(scores, abs=1e-12)
    assert model.predict(rarefy.read("new.csv")).tolist() == [row["kind"] for row in ROWS]


def test_columns_that_look_otherwise():
    """The code is a number in all rows, and the label is one that was never seen."""
    write_csv("data.csv", ROWS)
    model = rarefy.train("data.csv", **PARAMETERS)
    assert "code=7" in model.weights_
    assert "size" in model.weights_
    scores = model.decision_function(rarefy.read("data.csv"))
    rows = [{**row, "kind": "eggs"} for row in ROWS if row["code"] != "x"]
    write_csv("new.csv", rows)
    found = model.decision_function(rarefy.read("new.csv"))
    expected = [score for row, score in zip(ROWS, scores, strict=True) if row["code"] != "x"]
    assert found == pytest.approx(expected, abs=1e-12)
    write_csv("words.csv", [{**ROWS[0], "size": "large"}])
    with pytest.raises(InputError, match=r"words\.csv:2:"):
        model.predict(rarefy.read("words.csv"))


def test_a_reader_stays_as_it_was_when_it_is_predicted():
    rows = [{"a": "01"[n % 2], "b": "01"[n % 3 > 0], "x": f"v{n % 6}"} for n in range(60)]
    write_csv("data.csv", rows)
    first = rarefy.train("data.csv", label="a")
    reader = rarefy.read("data.csv", label="b", cross=[("x", "a")])
    first.predict(reader)
    found = classifier_in_order().fit_stream(reader)
    expected = rarefy.train("data.csv", label="b", cross=[("x", "a")])
    assert found.weights_ == expected.weights_


def test_formats_may_differ():
    write_csv("data.csv", ROWS)
    model = rarefy.train("data.csv", **PARAMETERS)
    scores = model.decision_function(rarefy.read("data.csv"))
    rows = [{**row, "size": float(row["size"] or "nan")} for row in ROWS]
    text = "".join(json.dumps(row) + "\n" for row in rows).replace("NaN", "null")
    Path("new.jsonl").write_text(text)
    assert model.decision_function(rarefy.read("new.jsonl")) == pytest.approx(scores, abs=1e-12)
    pytest.importorskip("pyarrow")
    pandas.read_json("new.jsonl", lines=True, dtype={"code": str}).to_parquet("new.parquet")
    assert model.decision_function(rarefy.read("new.parquet")) == pytest.approx(scores, abs=1e-12)


def test_nothing_to_predict():
    problem("multiclass")
    model = rarefy.train(PATH)
    Path("empty.svm").write_text("")
    assert model.predict(rarefy.read("empty.svm")).tolist() == []
    assert model.predict_proba(rarefy.read("empty.svm")).shape == (0, 4)


# --- names ----------------------------------------------------------------------------------

TEXTS = ["Win a PRIZE", "see you, win", "Straße 7", "東京 a", "don't"]
SITES = ["a", "b b", "ü", "=", "1"]


def examples() -> list[dict[str, object]]:
    rng = random.Random(3)
    return [
        {
            "label": n % 2,
            "size": rng.choice([0.5, -2.0, None]),
            "site": rng.choice([*SITES, None]),
            "message": rng.choice([*TEXTS, ""]),
        }
        for n in range(80)
    ]


def features(row: dict[str, object]) -> dict[str, dict[str, float]]:
    """Names and values of a row's features by column, from the description alone."""
    words = [
        word
        for run in re.findall(r"[^\W_]+", str(row["message"]).lower())
        for word in re.findall(r"[一-鿿]|[^一-鿿]+", run)
    ]
    pairs = [f"{first} {second}" for first, second in itertools.pairwise(words)]
    found: dict[str, dict[str, float]] = {"size": {}, "site": {}, "message": {}}
    for text in words + pairs:
        name = f"message={text}"
        found["message"][name] = found["message"].get(name, 0.0) + 1.0
    if row["size"] is not None:
        found["size"]["size"] = float(row["size"])
    if row["site"] is not None:
        found["site"][f"site={row['site']}"] = 1.0
    return found


def crossed(row: dict[str, object], cross: list[tuple[str, str]]) -> dict[str, float]:
    columns = features(row)
    out = {name: value for column in columns.values() for name, value in column.items()}
    for a, b in cross:
        for first, second in itertools.product(columns[a], columns[b]):
            out[f"{first}*{second}"] = columns[a][first] * columns[b][second]
    return out


def matrix_of(rows: list[dict[str, float]]) -> tuple[np.ndarray, list[str]]:
    names = sorted({name for row in rows for name in row})
    return np.array([[row.get(name, 0.0) for name in names] for row in rows]), names


def assert_weights(model, rows: list[dict[str, float]], y: list[int]) -> None:
    """Those of an estimator that learns the matrix which the names describe."""
    matrix, names = matrix_of(rows)
    expected = classifier_in_order(l1=1e-3).fit(matrix, y).coef_.ravel()
    kept = {name: w for name, w in zip(names, expected, strict=True) if w != 0.0}
    assert model.weights_.keys() == kept.keys()
    for name, weight in kept.items():
        assert model.weights_[name] == pytest.approx(weight, rel=1e-9), name


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    "cross", [[], [("site", "message")], [("size", "site"), ("message", "size")]], ids=str
)
def test_names_of_weights(ending, cross):
    rows = examples()
    path = f"data.{ending}"
    if ending == "csv":
        write_csv(path, rows)
    elif ending == "jsonl":
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), path)
    model = rarefy.train(path, text=["message"], categorical=["site"], cross=cross, l1=1e-3)
    assert_weights(model, [crossed(row, cross) for row in rows], [row["label"] for row in rows])


def test_names_of_weights_in_vw():
    rng = random.Random(8)
    lines, rows, y = [], [], []
    for n in range(60):
        a, b = rng.sample(["u", "v", "ü", "12"], 2), rng.choice(["p", "q"])
        bare = rng.choice(["7", "word"])
        lines.append(f"{n % 2} |site {a[0]}:2 {a[1]} |ad:0.5 {b} | {bare}:3\n")
        row = {f"site={a[0]}": 2.0, f"site={a[1]}": 1.0, f"ad={b}": 0.5, bare: 3.0}
        for name, value in [(a[0], 2.0), (a[1], 1.0)]:
            row[f"site={name}*ad={b}"] = value * 0.5
        rows.append(row)
        y.append(n % 2)
    Path("data.vw").write_text("".join(lines))
    assert_weights(rarefy.train("data.vw", cross=[("site", "ad")], l1=1e-3), rows, y)
