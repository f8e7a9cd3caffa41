"""The Page-Hinkley test: by hand, and beside River's."""

import numpy as np
import pytest

from rarefy.model.page_hinkley import PageHinkley


def alarms(numbers: list[float], delta: float, threshold: float) -> list[int]:
    test = PageHinkley(delta, threshold)
    some = len(numbers) // 3
    return test.rises_at(numbers[:some]) + [some + n for n in test.rises_at(numbers[some:])]


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


def standardised(numbers: np.ndarray, delta: float = 0.1, threshold: float = 50.0) -> list[int]:
    test = PageHinkley(delta, threshold, is_standardised=True)
    return [n for n, x in enumerate(numbers.tolist()) if test.rises_at([x])]


def test_in_standard_deviations_by_hand():
    """Mean and deviation of the roots before; those are 1 and 3 in turn, of deviation 1."""
    numbers = np.tile([1.0, 9.0], 50)
    assert standardised(numbers) == []
    rising = np.concatenate([numbers, np.full(30, 36.0)])
    excess, mean, variance = 0.0, 2.0, 1.0
    for n in range(100, 130):
        excess += min(5.0, (6.0 - mean) / variance**0.5) - 0.1
        share = 1.0 / (n + 1)
        mean, variance = (
            mean + share * (6.0 - mean),
            (1.0 - share) * (variance + share * (6.0 - mean) ** 2),
        )
        if excess > 20.0:
            break
    assert standardised(rising, threshold=20.0)[0] == pytest.approx(n, abs=1)


@pytest.mark.parametrize("unit", [1.0, 1e9, 1e-9])
def test_squared_errors_without_drift_are_no_alarm_and_with_it_are_one(unit):
    """Also with heavy tails, and with large errors at first."""
    random = np.random.default_rng(0)
    for errors in (random.normal(size=20000), random.standard_t(4, size=20000)):
        squares = unit * errors**2
        squares[:20] += 1e4 * unit
        assert standardised(squares) == []
        squares[10000:] *= 4.0
        (first, *others) = standardised(squares)
        assert 10000 < first < 10200
        assert others == []
