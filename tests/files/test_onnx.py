"""Models as ONNX graphs: onnxruntime gives what `rarefy predict` gives."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.files.model_file import load_model, save_model
from rarefy.readers import Batch
from tests import data
from tests.cli.test_cli import error_of, run, sms_lines, table_of, train

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

STORES = {"table": (), "hashed": ("-b", "4"), "array": ("--store", "array")}
LEARNERS = {
    "binary": [
        ("--loss", "logistic"),
        ("--loss", "modified_huber"),
        ("--loss", "hinge", "--rule", "ogd", "--no-intercept"),
    ],
    "multiclass": [
        ("--loss", "logistic"),
        ("--loss", "logistic", "--multiclass", "ovr"),
        ("--loss", "modified_huber", "--multiclass", "ovr"),
    ],
    "regression": [("--loss", "squared")],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data in it."""
    monkeypatch.chdir(tmp_path)
    for kind in LEARNERS:
        Path(f"{kind}.svm").write_text(data.svmlight_text(data.problem(kind, n=200)))
    Path("sms.csv").write_text(sms_lines("csv"))
    return tmp_path


def session(path: str = "some.onnx") -> onnxruntime.InferenceSession:
    run("export", "some.model", "-o", path)
    onnx.checker.check_model(path, full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def sparse_inputs(batch: Batch) -> dict[str, np.ndarray]:
    n_rows = len(batch.labels)
    return {
        "rows": np.repeat(np.arange(n_rows), np.diff(batch.indptr)),
        "keys": batch.keys.view(np.int64),
        "values": batch.values,
        "n_rows": np.array([n_rows]),
    }


def outputs(model: onnxruntime.InferenceSession, inputs: dict) -> dict[str, np.ndarray]:
    names = [output.name for output in model.get_outputs()]
    return dict(zip(names, model.run(None, inputs), strict=True))


def assert_same(found: dict[str, np.ndarray], path: str) -> None:
    """The outputs are what the command predicts for that file."""
    saved = load_model("some.model")
    n_outputs = len(saved.intercepts)
    scores = table_of("some.model", path, "--scores")
    assert found["scores"].dtype == np.float64
    assert found["scores"] == pytest.approx(scores.reshape(-1, n_outputs), rel=1e-12, abs=1e-13)
    assert ("label" in found) == bool(saved.classes)
    if saved.classes:
        labels = run("predict", "some.model", path).stdout.split()
        assert [str(label) for label in found["label"].tolist()] == labels
    assert ("probabilities" in found) == (saved.loss in ("logistic", "modified_huber"))
    if "probabilities" in found:
        expected = table_of("some.model", path, "--probabilities").reshape(-1, n_outputs)
        assert found["probabilities"] == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    ("kind", "options"),
    [(kind, options) for kind, several in LEARNERS.items() for options in several],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[1::2]),
)
def test_the_runtime_predicts_the_same(kind, options, store):
    train(f"{kind}.svm", *options, *STORES[store])
    model = session()
    if store == "array":
        inputs = {"X": data.problem(kind, n=200).dense}
    else:
        (batch,) = rarefy.read(f"{kind}.svm")
        inputs = sparse_inputs(batch)
    found = outputs(model, inputs)
    assert_same(found, f"{kind}.svm")
    if kind != "regression":
        assert found["label"].dtype == np.int64


@pytest.mark.parametrize("store", ["table", "hashed"])
def test_names_words_and_crosses(store):
    """Keys of 64 bits, classes that are words."""
    columns = {"label": "kind", "text": ["message"], "cross": [("site", "message")]}
    options = ("--label", "kind", "--text", "message", "--cross", "site,message")
    train("sms.csv", *options, *STORES[store])
    (batch,) = rarefy.read("sms.csv", **columns)
    assert (batch.keys >= 1 << 63).any()
    found = outputs(session(), sparse_inputs(batch))
    assert set(found["label"]) == {"ham", "spam"}
    assert_same(found, "sms.csv")


@pytest.mark.parametrize("store", ["table", "hashed"])
def test_features_that_are_new_or_come_twice_and_rows_without_any(store):
    train("binary.svm", *STORES[store])
    Path("new.svm").write_text("1 999:3 1:1 1:2 2:5\n1\n-1 7:1 7:-1 18446744073709:1\n1\n")
    (batch,) = rarefy.read("new.svm")
    assert_same(outputs(session(), sparse_inputs(batch)), "new.svm")


def test_columns_beyond_those_with_a_weight():
    train("binary.svm", "--store", "array")
    wide = np.hstack([data.problem("binary", n=200).dense, np.ones((200, 7))])
    assert_same(outputs(session(), {"X": wide}), "binary.svm")


@pytest.mark.parametrize("store", STORES)
def test_a_model_without_weights(store):
    model = train("binary.svm", "--l1", "1e9", *STORES[store])
    assert len(model.kept.weights) == 0
    (batch,) = rarefy.read("binary.svm")
    inputs = {"X": np.ones((200, 1))} if store == "array" else sparse_inputs(batch)
    assert_same(outputs(session(), inputs), "binary.svm")


@pytest.mark.parametrize("store", STORES)
def test_no_rows(store):
    train("multiclass.svm", *STORES[store])
    nothing = np.empty(0, np.int64)
    inputs = {"rows": nothing, "keys": nothing, "values": np.empty(0), "n_rows": np.array([0])}
    if store == "array":
        inputs = {"X": np.empty((0, 25))}
    found = outputs(session(), inputs)
    assert found["scores"].shape == found["probabilities"].shape == (0, 4)
    assert found["label"].shape == (0,)


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        ("-1,1", {-1, 1}),
        ("1.0,-1", {"1.0", "-1"}),
        ("+1,-1", {"+1", "-1"}),
        ("1,-1,many", {"1", "-1", "many"}),
    ],
)
def test_labels_are_numbers_where_all_are_whole_ones(classes, labels):
    train("binary.svm", "--classes", classes)
    (batch,) = rarefy.read("binary.svm")
    found = outputs(session(), sparse_inputs(batch))["label"]
    assert set(found.tolist()) <= labels


def test_probabilities_of_classes_that_are_all_impossible_are_the_same():
    """One-vs-rest with scores below −1 throughout."""
    settings = ("--loss", "modified_huber", "--multiclass", "ovr", "--no-calibrate")
    model = train("multiclass.svm", *settings)
    low = model._replace(intercepts=tuple(-1e3 for _ in model.intercepts))
    save_model("some.model", low)
    (batch,) = rarefy.read("multiclass.svm")
    found = outputs(session(), sparse_inputs(batch))
    assert (found["probabilities"] == 0.25).all()


def test_without_the_extra(monkeypatch):
    train("binary.svm")
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "rarefy.files.onnx_export", raising=False)
    message = error_of("export", "some.model", "-o", "some.onnx")
    assert message == "Error: writing ONNX files needs `pip install rarefy[onnx]`.\n"
    assert not Path("some.onnx").exists()


def test_too_many_weights(monkeypatch):
    train("binary.svm", "--l1", "0")
    monkeypatch.setattr("rarefy.files.onnx_export.MOST_BYTES", 100)
    message = error_of("export", "some.model", "-o", "some.onnx")
    assert "the weights of 25 features are too many for ONNX" in message
    assert not Path("some.onnx").exists()
