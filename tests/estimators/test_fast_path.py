"""The fast path of plain dicts leads to the same bits as files, and is taken."""

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
def test_dicts_on_the_fast_path(n_classes, options):
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
        n_short += model.learner_.live_scalars is not None
        if n % 50 == 0:
            assert model.t_ > 0 or n < 2
    assert n_short > 50
    assert_same(model, expected)
    reader = rarefy.read("rows.jsonl")
    predicted = expected.predict(reader).tolist()
    assert [model.predict_one(row) for row in some] == predicted
    assert model.predict_many(some) == predicted
    scores = [model._single().scores([row], None)[0].tolist() for row in some[:20]]
    for row, expected_scores in zip(some, scores, strict=False):
        assert model._fast.take_dicts([row])
        assert model._fast.score()
        assert model._fast.scores[0].tolist() == expected_scores
    assert_same(
        copy.deepcopy(model).learn_one(some[0]), expected.partial_fit([{**some[0], "w": 1.0}])
    )


@pytest.mark.slow
def test_regression_on_the_fast_path():
    some = [{**row, "label": float(n % 7)} for n, row in enumerate(rows())]
    expected = train(some, loss="huber", rule="adagrad-fobos")
    model = SparseOnlineRegressor(loss="huber", rule="adagrad-fobos").start()
    for row in some:
        model.learn_one(row, row["label"])
    assert model.learner_.live_scalars is not None
    assert_same(model, expected)
    predicted = expected.predict(rarefy.read("rows.jsonl")).tolist()
    assert [model.predict_one(row) for row in some] == predicted


def test_many_at_once_and_one_by_one():
    """In portions of any size, the same bits, also with features that are new."""
    some = [{name: x for name, x in row.items() if name != "label"} for row in rows()]
    labels = [row["label"] for row in rows()]
    some[350]["later"] = 3.5
    one, many = (SparseOnlineClassifier().start(classes=["a", "b"]) for _ in range(2))
    for row, label in zip(some, labels, strict=True):
        one.learn_one(row, label)
    begin, short = 0, []
    for n in (256, 1, 70, 2, 30, 61):
        many.learn_many(some[begin : begin + n], labels[begin : begin + n])
        short.append(many.learner_.live_scalars is not None)
        begin += n
    assert begin == N
    assert short == [False, True, True, True, True, True]
    assert_same(many, one)
    assert many.predict_many(some) == [one.predict_one(row) for row in some]
    before = copy.deepcopy(state(many))
    with pytest.raises(rarefy.InputError, match="rows:3"):
        many.learn_many([*some[:2], {"year": np.inf}], labels[:3])
    with pytest.raises(rarefy.InputError, match="label 'c' in row 1"):
        many.learn_many(some[:2], ["a", "c"])
    for name, array in state(many).items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("at_once", [1, 7, N])
def test_words_have_the_names_of_files(at_once):
    """Also where there are more names than room is made for at first."""
    random = np.random.default_rng(0)
    some = rows()
    for row in some:
        row["words"] = " ".join(f"Wört{n}" for n in random.integers(5000, size=12))
    expected = train(some, text=["words"])
    model = SparseOnlineClassifier().start(classes=["a", "b"], text=["words"])
    for begin in range(0, N, at_once):
        part = some[begin : begin + at_once]
        model.learn_many(part, [row["label"] for row in part])
    assert_same(model, expected)
    assert model.weights_ == expected.weights_


def lines(format: str) -> list[str]:
    """With features twice, one whose values add up to zero, tags, and long numbers."""
    random = np.random.default_rng(0)
    found = []
    for n in range(N):
        values = [f"{x:.{k}g}" for k, x in enumerate(random.normal(size=4).tolist(), 1)]
        label = random.integers(2) * 2 - 1
        if format == "svmlight":
            features = " ".join(f"{3 * k + 1}:{x}" for k, x in enumerate(values))
            found.append(f"{label} {features} 5:{n % 3} # remark")
            continue
        words = " ".join(random.choice(["a", "bc", "città"], 3))
        head = f"{label} {n % 3}.5 'tag{n}" if n % 5 else f"{label} "
        found.append(f"{head}| x:{values[0]} y:{values[3]} z:1 z:-1 |w {words} |v:2 u")
    return found


@pytest.mark.parametrize("format", ["svmlight", pytest.param("vw", marks=pytest.mark.slow)])
def test_lines_on_the_fast_path(format):
    some = lines(format)
    Path(f"rows.{format}").write_text("\n".join(some) + "\n")
    options = {"ngram": {"w": 2}} if format == "vw" else {}
    expected = rarefy.train(f"rows.{format}", **options)
    model = SparseOnlineClassifier().start(classes=[-1, 1], format=format, **options)
    for line in some:
        model.learn_one(line)
    assert model.learner_.live_scalars is not None
    assert_same(model, expected)
    predicted = expected.predict(rarefy.read(f"rows.{format}")).tolist()
    assert [model.predict_one(line + "\n", format=format) for line in some] == predicted
    twin = copy.deepcopy(model)
    assert_same(model.learn_one(some[1], 1), twin.learn_many([some[1]], [1]))
    assert_same(model.learn_one(some[1], weight=3), twin.learn_many([some[1]], weight=[3]))
    before = copy.deepcopy(state(model))
    no_number, no_class = some[2].replace(":", ":x", 1), "7" + some[2].lstrip("-")
    for bad in (no_number, no_class, some[2] + "\n" + some[3], ""):
        with pytest.raises(rarefy.InputError, match="rows"):
            model.learn_one(bad, format=format)
    for name, array in state(model).items():
        np.testing.assert_array_equal(array, before[name])


def json_lines(some: list[dict[str, Any]]) -> list[str]:
    """With dicts in dicts, lists, numbers as long as can be, and a member twice."""
    found = []
    for n, row in enumerate(some):
        deep = {"deep": {"a": n % 3, "list": ["x", "y"][: n % 3]}, "whole": 2**60 + n % 2}
        text = json.dumps({**row, **deep}, ensure_ascii=n % 2 == 0)
        found.append(text[:-1] + f', "visits": {n % 2}' + "}")
    return found


@pytest.mark.parametrize("store", ["table", pytest.param("hashed", marks=pytest.mark.slow)])
def test_lines_of_json_on_the_fast_path(store):
    some = json_lines(rows())
    Path("rows.jsonl").write_text("\n".join(some) + "\n")
    stored = {"store": store} if store == "table" else {"store": store, "bits": 5}
    expected = rarefy.train("rows.jsonl", **stored)
    model = SparseOnlineClassifier().start(classes=["a", "b"], **stored)
    twin = SparseOnlineClassifier().start(classes=["a", "b"], **stored)
    labels, n_short = [row["label"] for row in rows()], 0
    for line, label in zip(some, labels, strict=True):
        model.learn_one(line)
        twin.learn_one(line, label)
        n_short += model.learner_.live_scalars is not None
    assert n_short > 100
    assert_same(model, expected)
    assert_same(twin, expected)
    assert model.stream_.store.findings() == expected.stream_.store.findings()
    predicted = expected.predict(rarefy.read("rows.jsonl")).tolist()
    assert [model.predict_one(line) for line in some] == predicted
    before = copy.deepcopy(state(model))
    for bad in ('{"age": NaN}', '{"age": 1', '{"age": 1e999}', some[0] + some[1], "{} {}"):
        with pytest.raises(rarefy.InputError, match="rows"):
            model.learn_one(bad, "a")
    for name, array in state(model).items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.slow
def test_the_hashed_store_on_the_fast_path():
    some = [{name: x for name, x in row.items() if name != "label"} for row in rows()]
    labels = [row["label"] for row in rows()]
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows()))
    expected = rarefy.train("rows.jsonl", store="hashed", bits=4)
    model = SparseOnlineClassifier().start(classes=["a", "b"], store="hashed", bits=4)
    for row, label in zip(some, labels, strict=True):
        model.learn_one(row, label)
    assert model.learner_.live_scalars is not None
    assert_same(model, expected)
    predicted = expected.predict(rarefy.read("rows.jsonl")).tolist()
    assert [model.predict_one(row) for row in some] == predicted


def test_texts_and_floats_of_numpy_on_the_fast_path():
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["x", "y"], text=["words"])
    twin = SparseOnlineClassifier(rule="ftrl").start(classes=["x", "y"], text=["words"])
    for n in range(20):
        text, label = ["see you", "a prize"][n % 2], "xy"[n % 2]
        model.learn_one(text, label)
        twin.learn_many([{"words": text}], [label])
    assert model.learner_.live_scalars is not None
    assert model.predict_one("a prize") == twin.predict_one({"words": "a prize"}) == "y"
    for n in range(5):
        model.learn_one({"a": np.float64(n), "words": "you"}, "x")
        twin.learn_one({"a": float(n), "words": "you"}, "x")
    assert_same(model, twin)


def test_a_model_that_is_loaded_predicts_on_the_short_way_and_learns_if_it_may():
    some = rows()
    train(some, rule="ftrl", output="full.model")
    train(some, rule="ftrl", output="slim.model", slim=True)
    full, slim = rarefy.load("full.model"), rarefy.load("slim.model")
    answers = [full.predict_one(row) for row in some]
    assert [slim.predict_one(row) for row in some] == answers
    assert slim._fast.score_one(some[0]) is not None
    with pytest.raises(rarefy.InputError, match="slim"):
        slim.learn_one(some[0], "a")
    assert slim.learner_.t == full.learner_.t
    full.learn_one(some[0], "a").learn_one(some[1], "b")
    assert full._fast.learn_one(some[2], 1.0, 1.0) == 0
    assert full.t_ == N + 3


def test_nobody_gets_in_while_somebody_holds_the_lock():
    """Single dicts are refused, and go the way that waits; afterwards they need no lock again."""
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["a", "b"])
    row = {"x": 1.0, "y": 2.0}
    for label in "abab":
        model.learn_one(row, label)
    fast = model._fast
    assert fast.learn_one(row, 1.0, 1.0) == 0
    assert fast.score_one(row) is not None
    with model._lock:
        assert fast.learn_one(row, 1.0, 1.0) != 0
        assert fast.score_one(row) is None
        with model._lock:
            pass
        assert fast.score_one(row) is None
        assert model.predict_one(row) in ("a", "b")  # its owner may go on
        assert fast.score_one(row) is None
    assert fast.score_one(row) is not None
    model.learner_.calibration = None  # by somebody who does not ask
    assert fast.learn_one(row, 1.0, 1.0) != 0
    t = model.t_
    assert model.learn_one(row, "a").t_ == t + 1
    model.learn_many([row], ["b"], weight=[2.0])  # which goes the other way
    assert fast.score_one(row) is None
    model.predict_one(row)
    assert fast.score_one(row) is not None


def test_long_texts_have_room():
    """Several that fit one by one, but not together, go the other way."""
    text = " ".join(["a", "b"] * 1000)
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["x", "y"], text=["s", "t"])
    row = {"s": text, "t": text}
    model.learn_one(row, "x").learn_one({"s": text}, "y")
    live_scalars = model.learner_.live_scalars
    assert model.learn_one({"t": text}, "x").learner_.live_scalars is live_scalars
    assert model.learn_one(row, "x").learner_.live_scalars is None


def test_what_is_not_plain_goes_the_other_way():
    """And has its errors from there, with nothing changed."""
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["a", "b"], numeric=["year"])
    for row in rows():
        model.learn_one(row)
    before = copy.deepcopy(state(model))
    for bad_label in (["a"], ("a",), np.array(["a"])):
        with pytest.raises(rarefy.InputError, match="a single label"):
            model.learn_one(rows()[0], bad_label)
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
    """Each is one that the model gives after some number of examples, and not in between.

    Also while examples bring new features, of which the predicted row has some.
    """
    random = np.random.default_rng(0)
    names = [f"f{n}" for n in range(30)]
    some = [dict(zip(names, random.normal(size=30).tolist(), strict=True)) for _ in range(100)]
    for n, row in enumerate(some):
        row[f"new{n}"] = 1.0
    labels = ["ab"[n] for n in random.integers(2, size=100)]
    known = dict.fromkeys(names, 1.0)
    probe = {**known, **{f"new{n}": 1.0 for n in range(100)}}

    def new() -> Any:
        model = SparseOnlineClassifier(rule="ftrl").start(classes=["a", "b"])
        return model.learn_one(known, "a")

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
