"""Rows one at a time take no memory in proportion to the model, nor to the number of threads."""

from __future__ import annotations

import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from rarefy import SparseOnlineClassifier

ROW = {"words": "one two three", "x": 1.0, "y": 2.0}
PAGE_BYTES = 4096


def learned(**store: Any) -> Any:
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["a", "b"], text=["words"], **store)
    for label in "abab":
        model.learn_one(ROW, label)
        model.predict_one(ROW)
    return model


def test_nothing_is_allocated_in_proportion_to_the_model():
    model = learned(capacity=1 << 20)
    assert model.learner_.state.nbytes > 1 << 24
    line = '{"x": 1, "label": "a"}'
    calls = {
        "predict": lambda n: model.predict_one(ROW),
        "learn": lambda n: model.learn_one(ROW, "a"),
        "new": lambda n: model.learn_one({**ROW, f"new{n}": 1.0}, "a"),
        "line": lambda n: model.learn_one(line, format="json"),
        "pairs": lambda n: model.learn_one([*ROW.items()], "a"),
        "later": lambda n: (model.predict_one(ROW, id=n), model.learn_one(id=n, y="a")),
        "many": lambda n: model.learn_many([ROW] * 10, ["a"] * 10),
    }
    for name, call in calls.items():
        call(0)
        tracemalloc.start()
        try:
            call(1)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 1 << 15, name


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_memory_does_not_grow_with_threads():
    model = learned()

    def predict() -> None:
        for _ in range(20):
            model.predict_one(ROW)
            model.predict_many([ROW] * 20)
            model.predict_proba([ROW])

    predict()
    before = resident_bytes()
    threads = [threading.Thread(target=predict) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert resident_bytes() - before < 16 << 21
