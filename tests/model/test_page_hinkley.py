"""The Page-Hinkley test: by hand, and beside River's."""

import numpy as np
import pytest

from rarefy.model.page_hinkley import PageHinkley


def alarms(numbers: list[float], delta: float, threshold: float) -> list[int]:
    test = PageHinkley(delta, threshold)
    return [n for n, x in enumerate(numbers) if test.rises_with(x)]


def test_by_hand():
    """40 zeros, then ones: m rises by 1 - 1/41 - δ, 1 - 2/42 - δ, ..., until it is above λ."""
    numbers = [0.0] * 40 + [1.0] * 20
    rises = np.cumsum([1.0 - n / (40 + n) - 0.1 for n in range(1, 20)])
    expected = 40 + int(np.argmax(rises > 3.5))
    assert alarms(numbers, 0.1, 3.5)[0] == expected
    assert alarms([1.0] * 40 + [0.0] * 500, 0.1, 3.5) == []


@pytest.mark.parametrize(("delta", "threshold"), [(0.005, 50.0), (0.1, 5.0), (0.0, 20.0)])
def test_river_finds_the_same(delta, threshold):
    drift = pytest.importorskip("river.drift")
    random = np.random.default_rng(1)
    levels = np.repeat([0.3, 0.6, 0.2, 0.9, 1.5], 400)
    numbers = random.exponential(levels).tolist()
    theirs = drift.PageHinkley(delta=delta, threshold=threshold, mode="up")
    found = []
    for n, x in enumerate(numbers):
        theirs.update(x)
        if theirs.drift_detected:
            found.append(n)
    assert alarms(numbers, delta, threshold) == found
    assert found
