"""Rows whose labels come later are learned as they were, and judged as they were predicted."""

import copy

import numpy as np
import pytest

from rarefy import ConfigError, InputError, SparseOnlineClassifier
from rarefy.estimators.delayed_labels import PendingRows


def rows(n: int = 40) -> list[tuple[dict[str, float], str]]:
    random = np.random.default_rng(0)
    return [
        (dict(zip("abc", random.normal(size=3).tolist(), strict=True)), "xy"[random.integers(2)])
        for _ in range(n)
    ]


def model() -> SparseOnlineClassifier:
    return SparseOnlineClassifier(rule="ftrl").start(classes=["x", "y"])


def test_labels_that_come_later():
    late, expected, losses = model(), model(), 0.0
    for n, (x, _) in enumerate(rows()):
        given = dict(x)
        asked = late.predict_proba_one(given, id=n) if n % 2 else None
        predicted = late.predict_one(given, id=n)
        given["a"] = 1e6  # what the caller does with the row is of no account
        if asked is not None:
            assert max(asked, key=asked.get) == predicted
        if n >= 5:
            then, label = rows()[n - 5]
            late.learn_one(id=n - 5, y=label)
            expected.learn_one(then, label)
    np.testing.assert_array_equal(late.learner_.state, expected.learner_.state)
    raw = model()
    for n, (x, y) in enumerate(rows()):
        if n < 35:
            sign = 1.0 if y == "y" else -1.0
            losses += np.log1p(np.exp(-sign * raw._scores_of_rows([x], None)[0, 0]))
        if n >= 5:
            raw.learn_one(*rows()[n - 5])
    assert late.progressive_loss_ == pytest.approx(losses / 35, rel=1e-12)
    assert late.progressive_loss_ != expected.progressive_loss_
    assert len(late._asked) == 5


def test_what_is_not_remembered():
    known = model()
    with pytest.raises(InputError, match="id=3 is not remembered"):
        known.learn_one(id=3, y="x")
    known.remember(most=2)
    for n in range(3):
        known.predict_one({"a": 1.0}, id=n)
    with pytest.raises(InputError, match="id=0 is not remembered"):
        known.learn_one(id=0, y="x")
    before = copy.deepcopy(known.learner_.progress)
    for wrong in ({"y": "z"}, {"y": None}, {"y": "x", "x": {"a": 1.0}}, {"y": "x", "weight": -1.0}):
        with pytest.raises(InputError):
            known.learn_one(id=1, **wrong)
    np.testing.assert_array_equal(known.learner_.progress, before)
    known.learn_one(id=1, y="x")
    with pytest.raises(InputError, match="learned already"):
        known.learn_one(id=1, y="x")
    assert known.t_ == 1


def test_rows_are_forgotten_after_a_while():
    now = [0.0]
    asked = PendingRows(most=10, seconds=5.0, now=lambda: now[0])
    asked.add("old", {}, None, np.zeros((1, 1)))
    now[0] = 4.0
    asked.add("new", {}, None, np.zeros((1, 1)))
    now[0] = 6.0
    assert asked.row("new").since == 4.0
    with pytest.raises(InputError, match="'old' is not remembered"):
        asked.row("old")
    for wrong in ({"most": 0}, {"seconds": 0.0}):
        with pytest.raises(ConfigError):
            PendingRows(**wrong)
