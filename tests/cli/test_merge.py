"""`rarefy merge`."""

from __future__ import annotations

from pathlib import Path

import pytest

import rarefy
from tests import data
from tests.cli.test_cli import error_of, run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = data.svmlight_text(data.problem("binary", n=900)).splitlines(keepends=True)
    for n, name in enumerate(("base", "a", "b")):
        Path(f"{name}.svm").write_text("".join(lines[300 * n : 300 * (n + 1)]))
    return tmp_path


def test_models_of_parts_become_one():
    for name in ("a", "b"):
        run("train", f"{name}.svm", "-o", f"{name}.model")
    said = run("merge", "a.model", "b.model", "-o", "one.model").stderr
    assert said.startswith("one.model: 2 models, 600 examples, ")
    rarefy.merge(["a.model", "b.model"]).save("python.model")
    assert Path("python.model").read_bytes() == Path("one.model").read_bytes()
    run("evaluate", "one.model", "base.svm")
    run("train", "base.svm", "--resume", "one.model", "-o", "more.model")
    assert rarefy.load("more.model").t_ == 900


def test_a_merged_model_knows_the_files_of_all():
    for name in ("base", "a", "b"):
        run("train", f"{name}.svm", "-o", f"{name}.model", "--holdout", "0.1")
    run("merge", "a.model", "b.model", "-o", "one.model")
    run("merge", "one.model", "base.model", "-o", "all.model")
    assert "a.svm, b.svm, base.svm" in run("inspect", "all.model").stdout
    said = run("train", "b.svm", "--resume", "all.model", "-o", "more.model").stderr
    assert "all.model has learned b.svm already" in said
    assert "both learned a.svm" in run("merge", "one.model", "a.model", "-o", "two.model").stderr


def test_a_base_counts_once():
    run("train", "base.svm", "-o", "base.model")
    for name in ("a", "b"):
        run("train", f"{name}.svm", "--resume", "base.model", "-o", f"{name}.model")
    said = run("merge", "a.model", "b.model", "--base", "base.model", "-o", "one.model").stderr
    assert "900 examples" in said


def test_files_that_both_have_learned_are_told():
    run("train", "base.svm", "-o", "base.model")
    for name in ("a", "b"):
        run("train", f"{name}.svm", "--resume", "base.model", "-o", f"{name}.model")
    said = run("merge", "a.model", "b.model", "-o", "one.model").stderr
    assert "a.model and b.model have both learned base.svm" in said
    assert "--base" in said
    told = run("merge", "a.model", "b.model", "--base", "base.model", "-o", "one.model").stderr
    assert "both learned" not in told


def test_refusals_name_files_and_write_nothing():
    run("train", "a.svm", "-o", "a.model")
    run("train", "b.svm", "-o", "b.model", "--loss", "hinge")
    assert "a.model and b.model cannot be merged, as their loss differs" in error_of(
        "merge", "a.model", "b.model", "-o", "one.model"
    )
    assert "at least two models" in error_of("merge", "a.model", "-o", "one.model")
    assert not Path("one.model").exists()
    assert "a.model" in error_of("merge", "a.model", "b.model", "-o", "a.model")
