"""Budgets for each value of a column, and rows of which none may be lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.errors import InputError

WORDS = [f"w{n}" for n in range(60)]
COUNTRIES = ("de", "fr", "us", "")


def write(path: str, n: int, seed: int) -> None:
    """Texts of a few words; in fr, some words mean something else."""
    random = np.random.default_rng(seed)
    weights = np.random.default_rng(9).normal(size=len(WORDS))
    lines = ["label,text,country"]
    for _ in range(n):
        words, country = random.choice(len(WORDS), 6), random.integers(len(COUNTRIES))
        score = weights[words].sum() * (-1.0 if country == 1 else 1.0) + 0.5 * random.normal()
        text = " ".join(WORDS[word] for word in words)
        lines.append(f"{'yes' if score > 0 else 'no'},{text},{COUNTRIES[country]}")
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, n, seed in (("old", 300, 1), ("new", 1500, 2), ("test", 2000, 3)):
        write(f"{name}.csv", n, seed)
    rarefy.train("old.csv", output="old.model", text=["text"], ignore=["country"])


def update(**parameters):
    asked = {"max_negative": 0.2, "holdout": "test.csv", **parameters}
    return rarefy.update("old.model", "new.csv", **asked)


def country(line: str) -> str:
    return line.rpartition(",")[2] or "(none)"


def lost_by_country(updated) -> dict[str, int]:
    reader = rarefy.read("test.csv", ignore=["country"])
    rows = rarefy.flips(rarefy.load("old.model"), updated.model, reader).negative_rows
    lines = Path("test.csv").read_text().splitlines()[1:]
    return {
        value: sum(country(lines[row]) == value for row in rows.tolist())
        for value in sorted(set(map(country, lines)))
    }


def test_the_budget_is_kept_in_each_slice():
    without, sliced = update(), update(slice_by="country")
    assert sliced.alpha > without.alpha
    assert {loss.value: loss.n_lost for loss in sliced.slices} == lost_by_country(sliced)
    assert all(loss.bound <= 0.2 for loss in sliced.slices)
    assert sliced.slices[0].value == "fr"
    rates = [loss.lost_rate for loss in sliced.slices]
    assert rates == sorted(rates, reverse=True)


def test_slices_of_a_share_that_is_held_out():
    updated = update(holdout=0.5, slice_by="country")
    assert sum(loss.n_rows for loss in updated.slices) == updated.n_examples
    replayed = update(holdout=0.5, slice_by="country", replay="old.csv")
    assert {loss.value: loss.n_rows for loss in replayed.slices} == {
        loss.value: loss.n_rows for loss in updated.slices
    }


def test_a_slice_with_too_few_rows_may_lose_nothing():
    lines = Path("test.csv").read_text().splitlines()
    old = rarefy.load("old.model").predict(rarefy.read("test.csv", ignore=["country"]))
    plain = rarefy.train("new.csv", resume="old.model", ignore=["country"])
    new = plain.predict(rarefy.read("test.csv", ignore=["country"]))
    labels = np.array([line.partition(",")[0] for line in lines[1:]])
    lost = int(np.flatnonzero((old == labels) & (new != labels))[0]) + 1
    lines[lost] = lines[lost].rpartition(",")[0] + ",ch"
    Path("test.csv").write_text("\n".join(lines) + "\n")
    updated = update(max_negative=0.5, slice_by="country")
    assert next(loss for loss in updated.slices if loss.value == "ch")[1:3] == (1, 0)
    assert not updated.plain.is_allowed


def test_protected_rows_are_never_lost():
    labels = [line.partition(",")[0] for line in Path("test.csv").read_text().splitlines()[1:]]
    reader = rarefy.read("test.csv", ignore=["country"])
    right = rarefy.load("old.model").predict(reader) == np.array(labels)
    header, *lines = Path("test.csv").read_text().splitlines()
    golden = [line for line, is_right in zip(lines, right, strict=True) if is_right]
    Path("golden.csv").write_text("\n".join([header, *golden]) + "\n")
    updated = update(protect="golden.csv")
    assert updated.model is None or updated.chosen.n_lost == 0
    Path("golden.csv").write_text("\n".join([header, *golden[:3]]) + "\n")
    updated = update(protect="golden.csv")
    reader = rarefy.read("golden.csv", ignore=["country"])
    assert rarefy.evaluate(updated.model, reader)["accuracy"] == 1.0


def test_bad_input():
    for parameters, message in (
        ({"slice_by": "land"}, r"slice_by='land' \(--slice\): .* the columns are"),
        ({"protect": "test.csv"}, r"has \d+ of the protected rows wrong: test.csv:\d+"),
        ({"protect": "none.csv"}, "none.csv"),
    ):
        with pytest.raises(InputError, match=message):
            update(output="new.model", **parameters)
    for file in ("old.svm", "new.svm"):
        Path(file).write_text("1 1:1\n-1 2:1\n" * 20)
    rarefy.train("old.svm", output="numbers.model")
    with pytest.raises(InputError, match="without named columns"):
        rarefy.update("numbers.model", "new.svm", max_negative=0.1, slice_by="country")
    assert not Path("new.model").exists()
