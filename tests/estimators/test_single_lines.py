"""Single lines, which loops read without the lock: they mean what they mean in a file."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import rarefy
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.readers.single.row_loop import OWN, targets_by_number
from tests.estimators.test_fast_path import assert_same, state

LINES = {
    "vw": ["1 | a:2 b |w c d", "-1 2.5 'tag| b:-0.25 |v:3 e", "1 |w c città", "-1 | 7:2 7 a:1e-3"],
    "svmlight": ["1 3:4 17:2.5", "-1 qid:2 3:1 # remark", "1 5:0.1 17:-3 5:2", "-1 1:1"],
    "json": [
        '{"label": 1, "a": 2, "città": "Århus"}',
        '{"a": 0.5, "deep": {"list": ["x", "y"]}, "label": -1}',
        '{"label": "1", "a": 1e-3, "a": 2}',
        ' {"label": -1.0, "\\u0062": true}',
    ],
}
ALPHABETS = {"vw": "1-. |:#ab'\r\n\té", "svmlight": "1-. :#|{\r\n\t", "json": '{}",:1ab \r\n\\['}


def started(format: str, **options: Any) -> Any:
    """A model to which lines are nothing new."""
    model = SparseOnlineClassifier(rule="ftrl").start(classes=[-1, 1], format=format, **options)
    for line in [*LINES[format], *LINES[format]]:
        model.learn_one(line)
    return model


def of_learning(model: Any, line: str, *, alone: bool) -> str:
    """What is said if a line is learned, by itself or as one of a list of one."""
    try:
        if alone:
            model.learn_one(line)
        else:
            model.learn_many([line])
    except rarefy.InputError as error:
        return str(error)
    return "learned"


def changed(random: Any, line: str, alphabet: str) -> str:
    """A line with something put in, taken out or written over."""
    at, kind = random.integers(len(line) + 1), random.integers(3)
    put = "" if kind == 0 else "".join(random.choice([*alphabet], random.integers(1, 4)))
    return line[:at] + put + line[at + (kind != 1) * int(random.integers(1, 4)) :]


@pytest.mark.parametrize("format", list(LINES))
def test_lines_without_the_lock(format):
    model, twin = started(format), started(format)
    fast = model._fast
    for line in LINES[format]:
        assert fast.learn_one(line, OWN, 1.0) == 0
        assert fast.learn_one(line + "\n", -1.0, 3.0) == 0
        twin.learn_many([line])
        twin.learn_many([line], [-1], weight=[3.0])
        assert fast.score_one(line) == twin._single().scores([line])[0, 0]
    assert_same(model, twin)
    model.predict_one(LINES[format][0])
    with model._lock:
        assert fast.learn_one(LINES[format][0], OWN, 1.0) != 0
        assert fast.score_one(LINES[format][0]) is None


@pytest.mark.parametrize("format", list(LINES))
def test_whatever_a_text_is_it_is_in_a_list_of_one(format):
    """Valid or not, of this format or another, with all that may come between."""
    random = np.random.default_rng(0)
    model, twin, n_short = started(format), started(format), 0
    for n in range(600):
        line = LINES[format][n % 4]
        for _ in range(random.integers(3)):
            line = changed(random, line, ALPHABETS[format])
        if format == "json" and "label" not in line:
            line = line.replace("{", '{"label": 1, ', 1)
        before = copy.deepcopy(state(model))
        n_short += model._fast.score_one(line) is not None
        said = of_learning(model, line, alone=True)
        assert said == of_learning(twin, line, alone=False)
        if said != "learned":
            for name, array in state(model).items():
                np.testing.assert_array_equal(array, before[name])
    assert_same(model, twin)
    assert n_short > 50


@pytest.mark.parametrize(
    "options", [{"cross": [("w", "v")], "ignore": ["x"]}, {"ngram": {"w": 2}, "names": False}]
)
def test_crosses_and_n_grams_without_the_lock(options):
    lines = ["1 |w a b |v c:2 |x n", "-1 |w b |v c d", "1 |v d |w a a"]
    model, twin = (
        SparseOnlineClassifier(rule="ftrl").start(classes=[-1, 1], format="vw", **options)
        for _ in range(2)
    )
    for n, line in enumerate(lines * 4):
        if n > 6:
            assert model._fast.learn_one(line, OWN, 1.0) == 0
        else:
            model.learn_one(line)
        twin.learn_many([line])
    assert_same(model, twin)


def test_crosses_of_dicts_without_the_lock():
    rows = [{"a": "x", "b": "y", "n": 2.0}, {"a": "z", "b": "y"}, {"b": "w", "a": "x", "n": 0.5}]
    model, twin = (
        SparseOnlineClassifier(rule="ftrl").start(classes=[0, 1], cross=[("a", "b"), ("a", "n")])
        for _ in range(2)
    )
    for n, row in enumerate(rows * 4):
        if n > 6:
            assert model._fast.learn_one(row, n % 2 * 2.0 - 1.0, 1.0) == 0
        else:
            model.learn_one(row, n % 2)
        twin.learn_many([row], [n % 2])
    assert_same(model, twin)


def test_targets_of_lines():
    """Of numbers, those that are not too large; of classes, those that are met exactly."""
    model = SparseOnlineRegressor().start(format="vw")
    for line in ("3.5 | a", "-2 | a b:2") * 150:
        model.learn_one(line)
    assert model._fast.learn_one("1e3 | a", OWN, 1.0) == 0
    for line in ("| a", "1e300 | a", "3 2 1 | a"):
        assert model._fast.learn_one(line, OWN, 1.0) != 0
        with pytest.raises(rarefy.InputError, match="rows"):
            model.learn_one(line)
    found = targets_by_number({2**53 + 1: 0.0, 3: 1.0, "4": 2.0, True: 3.0, 0.5: 4.0})
    assert found.labels.tolist() == [3.0, 0.5]
    assert found.targets.tolist() == [1.0, 4.0]


def test_words_as_labels_and_weights_of_rows_are_read_otherwise():
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["no", "yes"], weight="w")
    twin = copy.deepcopy(model)
    for n in range(6):
        line = json.dumps({"label": ["no", "yes"][n % 2], "w": n % 3, "a": n})
        model.learn_one(line)
        twin.learn_many([line])
    assert model._fast.learn_one(line, OWN, 1.0) != 0
    assert_same(model, twin)


def test_a_text_is_no_line_where_there_is_a_column_of_texts():
    model = SparseOnlineClassifier(rule="ftrl").start(classes=[0, 1], text=["words"])
    twin = copy.deepcopy(model)
    line = '{"words": "see you", "label": 1}'
    for _ in range(3):
        model.learn_one(line, format="json").learn_one(line, 0)
        twin.learn_many([{"words": "see you"}], [1]).learn_many([{"words": line}], [0])
    assert_same(model, twin)


def test_lines_of_formats_that_a_model_does_not_read():
    """They are left to the readers of files, also if such a line came first."""
    model = SparseOnlineClassifier(rule="ftrl").start(classes=[0, 1])
    twin = copy.deepcopy(model)
    for _ in range(3):
        model.learn_one("1 | a:2").learn_one({"a": 2.0}, 1).learn_one('{"a": 2.0}', 0)
        twin.learn_many(["1 | a:2"]).learn_many([{"a": 2.0}], [1]).learn_many(['{"a": 2.0}'], [0])
    assert_same(model, twin)
    model.learn_one('{"a": 2.0}', 0)
    assert model._fast.learn_one('{"a": 2.0}', 1.0, 1.0) == 0
    assert model._fast.learn_one("1 | a:2", 1.0, 1.0) != 0


def test_rows_after_a_divergence_are_learned():
    model = SparseOnlineRegressor(rule="ogd", eta0=1e10, fit_intercept=False, schedule="constant")
    for _ in range(4):
        model.learn_one({"b": 1e-10}, 0.5)
    model.learn_one({"a": 1e15}, 1e15).learn_one({"a": 1e15}, 1e15)
    with pytest.raises(rarefy.DivergenceError):
        model.learn_one({"a": 1e15}, 1e15)
    t = model.t_
    for _ in range(4):
        model.learn_one({"b": 1e-10}, 0.5)
    assert model._fast.learn_one({"b": 1e-10}, 0.5, 1.0) == 0
    assert model.t_ == t + 5
