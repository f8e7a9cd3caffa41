"""The short way of plain dicts leads to the same bits as files, and is taken."""

from __future__ import annotations

import copy
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rarefy
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor

N = 420  # rows: features are centred by the first 256


def rows(n_classes: int = 2) -> list[dict[str, Any]]:
    random = np.random.default_rng(0)
    return [
        {
            "year": float(random.normal(2000.0, 5.0)),
            "age": [float(np.round(random.normal(), 3)), None, 0.0][random.integers(3)],
            "visits": int(random.integers(-3, 5)),
            "new": bool(random.integers(2)),
            "città": ["Rome", "", "Århus"][random.integers(3)],
            "label": "abcdef"[random.integers(n_classes)],
        }
        for _ in range(N)
    ]


def train(some: list[dict[str, Any]], **options: Any) -> Any:
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in some))
    return rarefy.train("rows.jsonl", **options)


def state(model: Any) -> dict[str, Any]:
    learner = model.stream_.learner
    found = dict(model.stream_.store.snapshot(learner))
    found |= {"intercept": learner.intercept_state, "progress": learner.progress}
    found |= {"clock": np.array(learner.clock[1:-1])}
    if learner.calibration is not None:
        found["calibration"] = np.array(learner.calibration)
    return found


def assert_same(model: Any, expected: Any) -> None:
    ours, theirs = state(model), state(expected)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("n_classes", "options"),
    [
        (2, {}),
        pytest.param(3, {}, marks=pytest.mark.slow),
        pytest.param(2, {"rule": "ftrl", "loss": "hinge"}, marks=pytest.mark.slow),
        pytest.param(
            2,
            {"rule": "ogd", "fit_intercept": False, "calibrate": False},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_dicts_on_the_short_way(n_classes, options):
    """Also with weights of zero, a look at the clock in between, and features that are new."""
    some = rows(n_classes)
    some[300]["later"] = 3.5
    weights = [float(n % 4) for n in range(N)]
    weighed = [{**row, "w": weight} for row, weight in zip(some, weights, strict=True)]
    expected = train(weighed, weight="w", **options)
    model = SparseOnlineClassifier(**options).start(classes=list("abcdef"[:n_classes]))
    n_short = 0
    for n, (row, weight) in enumerate(zip(some, weights, strict=True)):
        model.learn_one(row, row["label"], weight)
        n_short += model._hot._learner is not None and model._hot._learner.loan is not None
        if n % 50 == 0:
            assert model.t_ > 0 or n < 2
    assert n_short > 50
    assert_same(model, expected)
    reader = rarefy.read("rows.jsonl")
    predicted = expected.predict(reader).tolist()
    assert [model.predict_one(row) for row in some] == predicted
    assert model.predict_many(some) == predicted
    scores = [model._scores_of_rows([row], None)[0].tolist() for row in some[:20]]
    for row, expected_scores in zip(some, scores, strict=False):
        assert model._hot.take_dicts([row]) and model._hot.score()
        assert model._hot.scores[0].tolist() == expected_scores
    assert_same(
        copy.deepcopy(model).learn_one(some[0]), expected.partial_fit([{**some[0], "w": 1.0}])
    )


@pytest.mark.slow
def test_regression_on_the_short_way():
    some = [{**row, "label": float(n % 7)} for n, row in enumerate(rows())]
    expected = train(some, loss="huber", rule="adagrad-fobos")
    model = SparseOnlineRegressor(loss="huber", rule="adagrad-fobos").start()
    for row in some:
        model.learn_one(row, row["label"])
    assert model._hot._learner.loan is not None
    assert_same(model, expected)
    predicted = expected.predict(rarefy.read("rows.jsonl")).tolist()
    assert [model.predict_one(row) for row in some] == predicted


def test_what_is_not_plain_goes_the_other_way():
    """And has its errors from there, with nothing changed."""
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["a", "b"], numeric=["year"])
    for row in rows():
        model.learn_one(row)
    before = copy.deepcopy(state(model))
    for bad in ({"year": np.inf}, {"year": "x"}, {"year": 10**400}, {"\udc80": 1.0}, {"a": 1e300}):
        for act in (model.predict_one, lambda x: model.learn_one(x, "a")):
            with pytest.raises(rarefy.InputError, match="rows:1"):
                act(bad)
    for name, array in state(model).items():
        np.testing.assert_array_equal(array, before[name])
    as_text = {
        "year": "2001",
        "list": ["x", "y"],
        "deep": {"a": 1},
        "whole": 2**60,
        "n": np.int8(3),
    }
    plain = {"year": 2001.0, "list": ["x", "y"], "deep": {"a": 1}, "whole": 2.0**60, "n": 3}
    twin = copy.deepcopy(model)
    assert_same(model.learn_one(as_text, "a"), twin.learn_many([plain], ["a"]))


def test_predictions_while_another_thread_learns():
    """Each is one that the model gives after some number of examples, and not in between."""
    random = np.random.default_rng(0)
    names = [f"f{n}" for n in range(30)]
    some = [dict(zip(names, random.normal(size=30).tolist(), strict=True)) for _ in range(100)]
    labels = ["ab"[n] for n in random.integers(2, size=100)]
    probe = dict.fromkeys(names, 1.0)

    def new() -> Any:
        model = SparseOnlineClassifier(rule="ftrl").start(classes=["a", "b"])
        return model.learn_one(probe, "a")

    model, possible = new(), set()
    for x, label in zip(some, labels, strict=True):
        possible.add(model.predict_proba_one(probe)["b"])
        model.learn_one(x, label)
    possible.add(model.predict_proba_one(probe)["b"])
    assert len(possible) == 101

    model, seen, stop = new(), set(), threading.Event()

    def predict() -> None:
        for _ in range(1000):
            if stop.is_set():
                return
            seen.add(model.predict_proba_one(probe)["b"])
            model.predict_one(probe)
            seen.add(float(model.predict_proba([probe])[0, 1]))

    threads = [threading.Thread(target=predict) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for n, (x, label) in enumerate(zip(some, labels, strict=True)):
            model.learn_one(x, label)
            time.sleep(0.001 if n % 5 == 0 else 0.0)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        for thread in threads:
            thread.join()
    assert seen <= possible
    assert len(seen) > 3
    assert model.predict_proba_one(probe)["b"] in possible
    assert model.t_ == 101
