"""Held-out rows are predicted and never learned."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rarefy.cli import main
from rarefy.files.model import Model
from rarefy.files.model_file import load_model
from rarefy.readers import read
from rarefy.streams.holdout import HeldOutShare
from rarefy.streams.metrics import Metrics
from tests import data

N_ROWS = 300
KINDS = ("binary", "multiclass", "regression")
STORES = (("--store", "array"), ("-b", "4"), (), ("--capacity", "20"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind in KINDS:
        Path(f"{kind}.svm").write_text(data.svmlight_text(data.problem(kind, n=N_ROWS, d=40)))


def said(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, ["train", *arguments, "-o", "some.model"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments} ended in a traceback") from result.exception
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.output


def trained(*arguments: str) -> tuple[Model, dict]:
    """The model, and what was found out about held-out rows in the end."""
    lines = said(*arguments, "--json").splitlines()
    return load_model("some.model"), json.loads(lines[-1])["holdout"]


def of_kind(kind: str) -> tuple[str, ...]:
    return ("--loss", "huber") if kind == "regression" else ()


def assert_same_state(found: Model, expected: Model) -> None:
    assert (found.clock, found.progress) == (expected.clock, expected.progress)
    assert (found.classes, found.intercepts) == (expected.classes, expected.intercepts)
    assert {name: array.tobytes() for name, array in found.state.items()} == {
        name: array.tobytes() for name, array in expected.state.items()
    }


def without_held_out(path: str, share: float, header: int = 0) -> str:
    """A file of the rows that a share leaves."""
    lines = Path(path).read_text().splitlines(keepends=True)
    held = HeldOutShare(share).chosen(0, len(lines) - header)
    assert 0 < held.sum() < len(held)
    kept = [line for line, is_held in zip(lines[header:], held, strict=True) if not is_held]
    Path(f"rest-{path}").write_text("".join([*lines[:header], *kept]))
    return f"rest-{path}"


# --- a share --------------------------------------------------------------------------------


@pytest.mark.parametrize("passes", ["1", "3"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", STORES, ids=str)
def test_a_share_is_never_learned(store, kind, passes):
    options = (*store, *of_kind(kind), "--rule", "fobos", "--l1", "0.01", "--passes", passes)
    found, _ = trained(f"{kind}.svm", *options, "--holdout", "0.3")
    expected, _ = trained(without_held_out(f"{kind}.svm", 0.3), *options)
    assert found.examples < 0.8 * N_ROWS * int(passes)
    assert_same_state(found, expected)


@pytest.mark.parametrize("share", ["0.001", "0.5", "0.97"])
def test_any_share(share):
    lines = Path("binary.svm").read_text().splitlines(keepends=True)
    held = HeldOutShare(float(share)).chosen(0, N_ROWS)
    Path("rest.svm").write_text(
        "".join(line for line, out in zip(lines, held, strict=True) if not out)
    )
    found, _ = trained("binary.svm", "--holdout", share, "--classes", "-1,1")
    expected, _ = trained("rest.svm", "--classes", "-1,1")
    assert_same_state(found, expected)


def test_a_share_of_rows_with_words_and_weights():
    rng = np.random.default_rng(1)
    rows = [f"{'ab'[n % 2]},s{rng.integers(5)},w{rng.integers(9)} x,{n % 3}\n" for n in range(200)]
    Path("rows.csv").write_text("kind,site,message,weight\n" + "".join(rows))
    options = ("--label", "kind", "--text", "message", "--weight", "weight", "--passes", "2")
    found, _ = trained("rows.csv", *options, "--holdout", "0.2")
    expected, _ = trained(without_held_out("rows.csv", 0.2, header=1), *options)
    assert_same_state(found, expected)


def test_which_rows_are_held_out():
    """About as many as the share says, the first ones not more than others, wherever one begins."""
    chosen = HeldOutShare(0.1).chosen(0, 100_000)
    assert abs(chosen.mean() - 0.1) < 0.004
    assert abs(chosen[::7].mean() - 0.1) < 0.01
    assert (HeldOutShare(0.1).chosen(700, 1000) == chosen[700:1700]).all()
    assert not HeldOutShare(1e-12).chosen(0, 1000).any()
    assert HeldOutShare(1.0 - 1e-12).chosen(0, 1000).all()
    assert (HeldOutShare(0.2).chosen(0, 1000) >= chosen[:1000]).all()


def test_measures_of_a_share():
    """Without any weights they are known."""
    _, holdout = trained("binary.svm", "--holdout", "0.3", "--no-intercept", "--l1", "1000")
    y = data.problem("binary", n=N_ROWS, d=40).y
    held = HeldOutShare(0.3).chosen(0, N_ROWS)
    assert holdout["loss"] == pytest.approx(math.log(2))
    assert holdout["accuracy"] == pytest.approx((y[held] < 0).mean())
    assert holdout["auc"] == 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_share_are_predicted_with_what_was_learned_of_the_others(kind):
    """So few rows are one step, after which all that are held out are predicted."""
    found, holdout = trained(f"{kind}.svm", *of_kind(kind), "--holdout", "0.3")
    lines = Path(f"{kind}.svm").read_text().splitlines(keepends=True)
    held = HeldOutShare(0.3).chosen(0, N_ROWS)
    Path("held.svm").write_text("".join(np.array(lines, dtype=object)[held]))
    every = measures(found, "held.svm")
    assert not holdout.pop("progressive")
    assert holdout == {name: pytest.approx(every[name]) for name in holdout}


@pytest.mark.parametrize("rows", ["many", "few"])
@pytest.mark.parametrize("options", [(), ("--passes", "3"), ("--refit",)], ids=str)
def test_the_end_is_of_all_held_out_rows_by_the_model_that_is_saved(options, rows):
    """Whatever lines were shown before."""
    kind = data.problem("binary", n=2500 if rows == "many" else 30, d=40)
    Path("rows.svm").write_text(data.svmlight_text(kind))
    _, holdout = trained("rows.svm", *options, "--holdout", "0.3")
    held = HeldOutShare(0.3).chosen(0, len(kind.y))
    lines = Path("rows.svm").read_text().splitlines(keepends=True)
    Path("held.svm").write_text("".join(np.array(lines, dtype=object)[held]))
    evaluated = CliRunner().invoke(main, ["evaluate", "some.model", "held.svm", "--json"])
    expected = json.loads(evaluated.stdout)
    assert holdout.pop("examples") == held.sum() == expected["examples"]
    assert not holdout.pop("progressive")
    assert holdout == {name: pytest.approx(expected[name]) for name in holdout}
    assert {"loss", "accuracy", "auc"} <= set(holdout)


def test_rows_that_are_gone_were_predicted_by_the_models_of_their_time(monkeypatch):
    added = []
    add = Metrics.add

    def noted(self, scores, y, importance):
        added.append(scores[:, 0].copy())
        add(self, scores, y, importance)

    monkeypatch.setattr(Metrics, "add", noted)
    text = data.svmlight_text(data.problem("binary", n=2500, d=40))
    command = ["train", "-", "--format", "svmlight", "--holdout", "0.3", "-o", "a", "--json"]
    result = CliRunner().invoke(main, command, input=text)
    end = json.loads(result.stdout.splitlines()[-1])["holdout"]
    assert end["progressive"]
    assert end["examples"] == HeldOutShare(0.3).chosen(0, 2500).sum()
    assert sum(map(len, added)) == 2 * end["examples"]


# --- a file ---------------------------------------------------------------------------------


def measures(model: Model, path: str) -> dict:
    scorer = model.learner()
    metrics = Metrics(scorer)
    for scores, y, importance in scorer.scored(read(path, classes=model.classes)):
        metrics.add(scores, y, importance)
    return metrics.summary()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", STORES, ids=str)
def test_measures_of_a_file(kind, store):
    lines = Path(f"{kind}.svm").read_text().splitlines(keepends=True)
    Path("train.svm").write_text("".join(lines[:200]))
    Path("test.svm").write_text("".join(lines[200:]))
    options = ("train.svm", *store, *of_kind(kind), "--passes", "2")
    found, holdout = trained(*options, "--holdout", "test.svm")
    expected, _ = trained(*options)
    assert_same_state(found, expected)
    every = measures(found, "test.svm")
    assert not holdout.pop("progressive")
    assert holdout == {name: pytest.approx(every[name]) for name in holdout}
    names = {
        "regression": {"rmse", "r2"},
        "binary": {"accuracy", "auc"},
        "multiclass": {"accuracy"},
    }
    assert set(holdout) == {"examples", "loss"} | names[kind]


def test_a_file_that_is_named_like_a_share():
    Path("0.5").write_text(Path("binary.svm").read_text())
    found, holdout = trained("binary.svm", "--holdout", "0.5", "--format", "svmlight")
    assert found.examples == N_ROWS
    assert holdout["loss"] == pytest.approx(measures(found, "binary.svm")["loss"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("0", "between 0 and 1"),
        ("1", "between 0 and 1"),
        ("-0.5", "between 0 and 1"),
        ("1.5", "between 0 and 1"),
        ("missing.svm", "missing.svm: there is no such file"),
        ("nan", "nan: there is no such file"),
        (".", "is a folder"),
    ],
)
def test_nonsense(given, message):
    output = said(
        "binary.svm", "--holdout", given, code=1 if "file" in message or given == "." else 2
    )
    assert message in output
    assert not Path("some.model").exists()


def test_a_label_that_there_is_not():
    Path("test.svm").write_text("5 1:1\n")
    assert "test.svm:1: the label is 5" in said("binary.svm", "--holdout", "test.svm", code=1)


def test_a_file_without_rows():
    Path("test.svm").write_text("")
    _, holdout = trained("binary.svm", "--holdout", "test.svm")
    assert holdout == {"examples": 0, "progressive": False}
