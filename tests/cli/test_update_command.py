"""`rarefy update`: what it writes, shows and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import error_of, run, train
from tests.updating.test_update_files import N_NEW, N_OLD, N_TEST, rows, write


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, n, seed in (("old", N_OLD, 1), ("new", N_NEW, 2), ("test", N_TEST, 3)):
        write(f"{name}.svm", *rows(n, seed))
    train("old.svm", "--l1", "0.1")
    Path("some.model").rename("old.model")


def update(*options: str):
    return run("update", "old.model", "new.svm", "-o", "new.model", *options)


def test_what_is_shown_is_what_flips_finds():
    shown = update("--max-negative", "3%", "--holdout", "test.svm").stdout
    assert "3.00 % of all answers may be lost" in shown
    assert shown.count("chosen") == 1
    found = json.loads(run("flips", "old.model", "new.model", "test.svm", "--json").stdout)
    assert f"{found['negative_flips']} answers lost" in shown
    told = json.loads(update("--max-negative", "0.03", "--holdout", "test.svm", "--json").stdout)
    assert told["accepted"] is True
    assert told["new"]["n_lost"] == found["negative_flips"]
    assert told["new"]["accuracy"] == pytest.approx(found["new_accuracy"])
    assert len(told["points"]) == 51
    run("train", "--resume", "new.model", "test.svm", "-o", "more.model")


def test_the_old_model_stays():
    found = run(
        "update", "old.model", "new.svm", "-o", "x.model", "--max-negative", "0.01%", code=3
    )
    assert "Nothing was written, old.model stays: there are too few held-out rows" in found.stderr
    assert "36,887 at least" in found.stderr
    assert not Path("x.model").exists()


def test_refusals():
    def said(*options: str, code: int = 2, data: str = "new.svm", to: str = "x.model") -> str:
        return run("update", "old.model", data, "-o", to, *options, code=code).stderr

    assert "above 0 and below 1" in said("--max-negative", "100%")
    assert "above 0 and below 1" in said("--max-negative", "0")
    assert "not a valid float" in said("--max-negative", "few")
    assert "Missing option '--max-negative'" in said()
    assert "--holdout 1.5: a share" in said("--max-negative", "1%", "--holdout", "1.5")
    assert "name a file" in said("--max-negative", "1%", to="-")
    assert "new.svm is also read" in said("--max-negative", "1%", to="new.svm", code=1)
    assert "cannot be read again" in said("--max-negative", "1%", data="-", code=1)
    run("slim", "old.model", "-o", "slim.model")
    assert "slim.model: the model is slim" in error_of(
        "update", "slim.model", "new.svm", "-o", "x.model", "--max-negative", "1%"
    )
    assert not Path("x.model").exists()
