"""`rarefy export`: whoever reads the text gets the model that was written."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

import rarefy
from rarefy.engine.task import Task
from rarefy.files.model import Model
from rarefy.files.model_file import save_model
from rarefy.files.text_export import NOT_IN_VW_NAMES
from rarefy.model.losses import LOSSES
from rarefy.model.schedules import InvSqrt
from tests import data
from tests.cli.test_cli import error_of, predictions, run, sms_lines, table_of, train
from tests.files.test_model_file import MODELS

KINDS = {"binary": (), "multiclass": (), "regression": ("--loss", "squared")}
STORES = {"table": (), "hashed": ("-b", "10"), "array": ("--store", "array")}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data in it."""
    monkeypatch.chdir(tmp_path)
    for kind in KINDS:
        Path(f"{kind}.svm").write_text(data.svmlight_text(data.problem(kind, n=200)))
    Path("sms.csv").write_text(sms_lines("csv"))
    return tmp_path


def trained(kind: str, store: str) -> Model:
    return train(f"{kind}.svm", *KINDS[kind], *STORES[store])


def exported(format: str) -> str:
    return run("export", "some.model", "--to", format).stdout


def scores(kind: str) -> np.ndarray:
    return table_of("some.model", f"{kind}.svm", "--scores")


def triples(model: Model) -> dict[tuple[str, int], float]:
    """The weights by name and number of the class."""
    kept = model.kept
    names = kept.names or map(str, kept.keys.tolist())
    return dict(
        zip(zip(names, kept.outputs.tolist(), strict=True), kept.weights.tolist(), strict=True)
    )


def class_number(model: Model, name: str | None) -> int:
    return 0 if name is None else model.classes.index(name)


# --- JSON -----------------------------------------------------------------------------------


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("kind", KINDS)
def test_json_is_enough_to_predict(kind, store):
    model = trained(kind, store)
    found = json.loads(exported("json"))
    assert found["task"] == ("regression" if kind == "regression" else "classification")
    assert found["classes"] == list(model.classes)
    assert found["store"] == model.store
    coef = np.zeros((25, len(found["intercepts"])))
    for entry in found["weights"]:
        coef[int(entry["key"]), class_number(model, entry.get("class"))] = entry["weight"]
    expected = data.problem(kind, n=200).dense @ coef + found["intercepts"]
    assert scores(kind) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("loss", "multiclass", "link"),
    [
        ("logistic", "auto", "softmax"),
        ("logistic", "ovr", "logistic"),
        ("modified_huber", "auto", "modified_huber"),
        ("hinge", "auto", None),
    ],
)
def test_json_says_how_to_find_probabilities(loss, multiclass, link):
    task = Task(None, InvSqrt(0.5), LOSSES[loss](), multiclass)
    several = MODELS["four classes"]._replace(task=task)
    save_model("some.model", several)
    assert json.loads(exported("json"))["probabilities"] == link
    save_model("some.model", MODELS["table"]._replace(task=task))
    assert json.loads(exported("json"))["probabilities"] == (link and loss)


@pytest.mark.parametrize("name", MODELS)
def test_json_and_csv_of_any_model(name):
    """Whatever the names of features, and however large the keys."""
    model = MODELS[name]
    save_model("some.model", model)
    found = json.loads(exported("json"))
    keys = [int(entry["key"]) for entry in found["weights"]]
    assert sorted(keys) == sorted(model.kept.keys.tolist())
    rows = list(csv.DictReader(StringIO(exported("csv"), newline="")))
    assert len(rows) == len(keys)
    for entry, row in zip(found["weights"], rows, strict=True):
        assert float(row["weight"]) == entry["weight"]
        assert row["feature"] == entry["feature"]
        assert row.get("class") == entry.get("class")
        assert row.get("count") == (str(entry["count"]) if "count" in entry else None)
    sizes = [abs(entry["weight"]) for entry in found["weights"]]
    assert sizes == sorted(sizes, reverse=True)
    assert found["reading"]["columns"]["text"] == ["message"]
    assert found["reading"]["cross"] == [["site", "ad"], ["ad", "ad"]]


# --- CSV ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "store", "header"),
    [
        ("binary", "table", "feature,weight,count"),
        ("multiclass", "table", "feature,class,weight,count"),
        ("multiclass", "hashed", "feature,class,weight"),
        ("regression", "array", "feature,weight"),
    ],
)
def test_columns_of_csv(kind, store, header):
    model = trained(kind, store)
    text = exported("csv")
    assert text.startswith(header + "\n")
    found = {
        (row["feature"], class_number(model, row.get("class"))): float(row["weight"])
        for row in csv.DictReader(StringIO(text))
    }
    assert found == triples(model)


# --- svmlight -------------------------------------------------------------------------------


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("kind", KINDS)
def test_svmlight_is_read_by_others(kind, store):
    trained(kind, store)
    text = exported("svmlight")
    Path("weights.svm").write_text(text)
    coef, labels = load_svmlight_file("weights.svm", n_features=25, zero_based=True)
    intercepts = [float(number) for number in re.findall(r"intercept (\S+)$", text, re.MULTILINE)]
    expected = data.problem(kind, n=200).dense @ coef.T.toarray() + intercepts
    assert scores(kind) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert labels.tolist() == {"binary": [1], "multiclass": [0, 1, 2, 3], "regression": [0]}[kind]
    (batch,) = rarefy.read("weights.svm")
    rows = np.split(batch.keys, batch.indptr[1:-1])
    assert all((np.diff(row.astype(np.int64)) > 0).all() for row in rows)


def test_svmlight_labels_of_words():
    train("sms.csv", "--label", "kind", "--classes", "spam,ham")
    (line,) = exported("svmlight").splitlines()
    assert line.startswith("1 ")
    assert '# class "ham", intercept ' in line


# --- VW -------------------------------------------------------------------------------------


def vw_weights(text: str) -> dict[tuple[str, int], float]:
    """What stands below the header, by name and number of the class."""
    header, body = re.split(r"(?m)^:\d+\n", text)
    assert re.search(r"(?m)^bits:\d+$", header)
    found = {}
    for line in body.splitlines():
        name, number, index, weight = re.fullmatch(
            r"([^\s:|]*?)(?:\[(\d+)\])?:(\d+):(\S+)", line
        ).groups()
        assert int(index) < 1 << 64
        found[name, int(number or 0)] = float(weight)
    return found


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("kind", KINDS)
def test_vw_has_all_weights(kind, store):
    model = trained(kind, store)
    constants = {("Constant", output): weight for output, weight in enumerate(model.intercepts)}
    assert vw_weights(exported("vw")) == {**triples(model), **constants}


def test_vw_has_no_constant_without_an_intercept():
    model = train("binary.svm", "--no-intercept")
    assert vw_weights(exported("vw")) == triples(model)


def test_vw_names_have_neither_blanks_nor_colons_nor_bars():
    model = train("sms.csv", "--label", "kind", "--no-intercept")
    found = vw_weights(exported("vw"))
    assert "message=Prize__win,_WIN" in {name for name, _ in found}
    assert found == {
        (NOT_IN_VW_NAMES.sub("_", name), 0): weight for (name, _), weight in triples(model).items()
    }


@pytest.mark.skipif(find_spec("vowpalwabbit") is None, reason="needs vowpalwabbit")
@pytest.mark.parametrize("options", [(), ("--oaa", "4")], ids=" ".join)
def test_vw_writes_the_same_form(options):
    """The same header, line for line, and lines that the same program can read."""
    kind = "multiclass" if options else "binary"
    text = re.sub(r"(?m)^(\S+)", r"\1 |", Path(f"{kind}.svm").read_text())
    if options:
        text = re.sub(r"(?m)^(\d+)", lambda found: str(int(found[1]) + 1), text)
    Path("rows.vw").write_text(text)
    command = ["--invert_hash", "theirs.txt", "--predict_only_model", "--ftrl", "--quiet", *options]
    subprocess.run(
        [sys.executable, "-m", "vowpalwabbit", "-d", "rows.vw", *command], check=True, timeout=60
    )
    train(f"{kind}.svm", "-b", "18", "--l1", "0")
    ours, theirs = exported("vw"), Path("theirs.txt").read_text()
    assert fields(ours) == fields(theirs)
    assert set(vw_weights(ours)) == set(vw_weights(theirs))


def fields(text: str) -> list[str]:
    """The lines of a header, without what is different in every model."""
    header = text[: re.search(r"(?m)^:\d+\n", text).end()]
    return [re.split(r"(?<=:)|(?<= )", line)[0] for line in header.splitlines()]


# --- the command ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "format"),
    [
        ("w.json", "json"),
        ("w.CSV", "csv"),
        ("w.svm", "svmlight"),
        ("w.libsvm", "svmlight"),
        ("w.vw", "vw"),
    ],
)
def test_the_ending_tells_the_format(file, format):
    train("binary.svm")
    assert run("export", "some.model", "-o", file).output == ""
    assert Path(file).read_text() == exported(format)
    run("export", "some.model", "-o", "other.txt", "--to", format)
    assert Path("other.txt").read_text() == exported(format)


@pytest.mark.parametrize(
    "arguments",
    [
        ("some.model",),
        ("some.model", "-o", "weights.txt"),
        ("some.model", "--to", "onnx"),
        ("some.model", "--to", "xml"),
        (),
    ],
    ids=" ".join,
)
def test_wrong_commands(arguments):
    train("binary.svm")
    run("export", *arguments, code=2)


def test_what_cannot_be_exported():
    train("binary.svm")
    assert "no folder missing" in error_of("export", "some.model", "-o", "missing/w.csv")
    assert "binary.svm is not a rarefy model" in error_of("export", "binary.svm", "--to", "csv")
    assert "missing.model" in error_of("export", "missing.model", "--to", "csv")


def test_exported_weights_of_a_model_without_any():
    train("binary.svm", "--l1", "1e9")
    assert json.loads(exported("json"))["weights"] == []
    assert exported("csv") == "feature,weight,count\n"
    assert len(exported("svmlight").split("#")[0].split()) == 1
    assert len(set(predictions("some.model", "binary.svm", "--scores"))) == 1
