"""How models fared, against the formulas written out with NumPy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarefy.lanes.block import Block, Lane
from rarefy.parameters.build import make_rule
from rarefy.tuning.record import Record
from tests.tuned import BINARY, N_FEATURES, learn, part, rows_for

N_MODELS, N_SCALES = 4, 3


class Told:
    """What a record asks of a block, as the test says it."""

    def __init__(self) -> None:
        self.lanes = [None] * N_MODELS
        self.alive = np.ones(N_MODELS, bool)
        self.kept = np.ones(N_MODELS)
        self.sums = np.zeros((3, N_MODELS))
        self.by_scale = np.zeros((N_SCALES, N_MODELS))

    def progress(self):
        return self.sums.copy()

    def losses(self):
        return self.by_scale.copy()

    def n_features_kept(self):
        return self.kept.copy()

    def tell(self, weight: float, means, right) -> None:
        """An interval with these mean losses, (scale, model), and shares of right answers."""
        self.sums[1] += weight
        self.sums[2] += weight * right
        self.sums[0] += weight * means[0]
        self.by_scale += weight * means


def recorded(intervals, target_features=None, **kind) -> SimpleNamespace:
    block = Told()
    record = Record(block, target_features, **kind)
    for interval in intervals:
        block.tell(*interval)
        record.end_interval()
    return SimpleNamespace(block=block, record=record)


def shares(intervals):
    """An interval counts its weight, and 0.7 of that with every later one."""
    ages = np.arange(len(intervals))[::-1]
    counts = np.array([weight for weight, _, _ in intervals]) * 0.7**ages
    return counts / counts.sum()


def by_hand(intervals, best: int, cost: float = 2.0):
    """Means, each at the scale that suits the model, and standard errors of being behind.

    They are of losses and, with that cost, of wrong answers.
    """
    all_means = np.array([means + cost * (1.0 - right) for _, means, right in intervals])
    share = shares(intervals)
    overall = sum(s * means for s, means in zip(share, all_means, strict=True))
    scale = overall.argmin(axis=0)
    means, errors = [], []
    for model in range(N_MODELS):
        means.append(overall[scale[model], model])
        behind = all_means[:, scale[model], model] - all_means[:, scale[best], best]
        spread = behind - np.sum(share * behind)
        errors.append(np.sqrt(np.sum((share * spread) ** 2)))
    return np.array(means), np.array(errors)


@st.composite
def some_intervals(draw, min_size=2):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(min_size, 7))
    return [
        (
            rng.uniform(1.0, 90.0),
            rng.uniform(0.1, 2.0, (N_SCALES, N_MODELS)),
            rng.uniform(0.0, 1.0, N_MODELS),
        )
        for _ in range(n)
    ]


@settings(deadline=None)
@given(some_intervals(), st.integers(0, N_MODELS - 1), st.booleans())
def test_means_and_errors(intervals, best, is_regression):
    """A wrong answer costs 2 beside its loss; in regression there is none."""
    record = recorded(intervals, is_regression=is_regression).record
    means, errors = by_hand(intervals, best, cost=0.0 if is_regression else 2.0)
    np.testing.assert_allclose(record.means(), means, rtol=1e-9)
    np.testing.assert_allclose(record.uncertainties(best), errors, rtol=1e-7, atol=1e-12)
    assert record.uncertainties(best)[best] == 0.0
    assert record.n_intervals == len(intervals)


INTERVALS = [
    (
        10.0,
        np.array([[1.0, 0.9, 0.8, 0.5], [0.6, 1.0, 0.9, 0.4], [2.0, 2.0, 2.0, 2.0]]),
        np.array([0.7, 0.8, 1.0, 0.9]),
    ),
    (
        20.0,
        np.array([[0.9, 0.8, 0.6, 0.7], [0.7, 0.9, 0.9, 0.2], [2.0, 2.0, 2.0, 2.0]]),
        np.array([0.6, 1.0, 0.9, 0.8]),
    ),
    (
        30.0,
        np.array([[0.8, 0.6, 0.4, 0.4], [0.5, 0.8, 0.3, 0.7], [2.0, 2.0, 2.0, 2.0]]),
        np.array([0.9, 0.8, 0.7, 1.0]),
    ),
]


def test_by_numbers():
    """10 x 0.49, 20 x 0.7 and 30 examples; 2 for each wrong answer."""
    share = np.array([4.9, 14.0, 30.0]) / 48.9
    np.testing.assert_allclose(shares(INTERVALS), share)
    means = recorded(INTERVALS).record.means()
    assert means[0] == pytest.approx(share @ [0.6 + 0.6, 0.7 + 0.8, 0.5 + 0.2])
    assert means[1] == pytest.approx(share @ [0.9 + 0.4, 0.8 + 0.0, 0.6 + 0.4])
    of_regression = recorded(INTERVALS, is_regression=True).record.means()
    assert of_regression[0] == pytest.approx(share @ [0.6, 0.7, 0.5])
    assert of_regression[1] == pytest.approx(share @ [0.9, 0.8, 0.6])


@pytest.mark.parametrize("n", [0, 1])
def test_one_interval_says_nothing_of_chance(n):
    record = recorded(INTERVALS[:n]).record
    np.testing.assert_array_equal(record.uncertainties(0), np.zeros(N_MODELS))
    assert record.n_intervals == n


def test_before_any_interval_models_are_alike():
    np.testing.assert_array_equal(recorded([]).record.means(), np.zeros(N_MODELS))


def test_a_interval_without_examples_is_none():
    told = recorded(INTERVALS)
    before = told.record.means()
    told.record.end_interval()
    assert told.record.n_intervals == 3
    np.testing.assert_array_equal(told.record.means(), before)


def test_progress_is_that_of_the_interval_that_has_not_ended():
    told = recorded(INTERVALS)
    np.testing.assert_array_equal(told.record.progress(), np.zeros((3, N_MODELS)))
    told.block.tell(5.0, *INTERVALS[0][1:])
    progress = told.record.progress()
    np.testing.assert_allclose(progress[0], 5.0 * INTERVALS[0][1][0])
    np.testing.assert_allclose(progress[1], 5.0)
    np.testing.assert_allclose(progress[2], 5.0 * INTERVALS[0][2])


def test_one_that_diverges_is_worse_than_any():
    told = recorded(INTERVALS)
    told.block.alive[2] = False
    assert told.record.means()[2] == np.inf
    told.block.tell(7.0, *INTERVALS[0][1:])
    told.record.end_interval()
    means, errors = by_hand([*INTERVALS, (7.0, *INTERVALS[0][1:])], 3)
    others = [0, 1, 3]
    np.testing.assert_allclose(told.record.means()[others], means[others])
    np.testing.assert_allclose(told.record.uncertainties(3)[others], errors[others])
    assert told.record.means()[2] == np.inf
    assert told.record.uncertainties(3)[2] == 0.0


def test_all_that_diverge_are_alike():
    told = recorded(INTERVALS)
    told.block.tell(7.0, *INTERVALS[0][1:])
    told.block.alive[:] = False
    told.record.end_interval()
    assert (told.record.means() == np.inf).all()
    np.testing.assert_array_equal(told.record.uncertainties(0), np.zeros(N_MODELS))


def test_the_weight_is_that_of_those_that_live():
    """One that has diverged is not told of examples any more."""
    told = recorded([])
    told.block.sums[1] = [4.0, 10.0, 10.0, 10.0]
    told.block.sums[2] = [4.0, 10.0, 9.0, 0.0]
    told.block.by_scale[:] = 5.0
    told.block.alive[0] = False
    told.record.end_interval()
    np.testing.assert_allclose(told.record.means()[1:], [0.5, 0.7, 2.5])


def test_a_copy_fares_as_its_origin_did():
    told = recorded(INTERVALS, target_features=5)
    told.block.kept[:] = [3.0, 30.0, 300.0, 0.0]
    told.record.end_interval()
    told.block.tell(5.0, *INTERVALS[0][1:])
    told.block.sums[:, 2], told.block.by_scale[:, 2] = (
        told.block.sums[:, 1],
        told.block.by_scale[:, 1],
    )
    told.record.copy(1, 2)
    means = told.record.means()
    assert means[2] == means[1]
    assert told.record.uncertainties(1)[2] == 0.0
    np.testing.assert_array_equal(told.record.progress()[:, 2], told.record.progress()[:, 1])
    told.record.end_interval()
    told.block.kept[2] = 30.0
    assert told.record.uncertainties(1)[2] == 0.0
    assert (told.record.progress()[:, 2] == 0.0).all()


class TestLimits:
    def test_features_beyond_it_cost(self):
        plain = recorded(INTERVALS).record.means()
        told = recorded(INTERVALS, target_features=10)
        np.testing.assert_array_equal(told.record.means(), plain)  # 1 feature each
        told.block.kept[:] = [10.0, 11.0, 1000.0, 0.0]
        np.testing.assert_array_equal(told.record.means(), plain)  # counted when an interval ends
        told.record.end_interval()
        cost = [0.0, 0.1 * np.log(1.1), 0.1 * np.log(100.0), 1e3]
        np.testing.assert_allclose(told.record.means() - plain, cost, rtol=1e-9)

    def test_without_one_nothing_is_counted(self):
        told = recorded(INTERVALS)
        plain = told.record.means()
        told.block.kept[:] = 0.0
        told.record.end_interval()
        np.testing.assert_array_equal(told.record.means(), plain)


def test_a_block_that_learns():
    """Means of losses of scores times 1, 0.5 and 2, from models that learn by themselves.

    And of wrong answers, at any scale.
    """
    scales = (0.5, 2.0)
    lanes = [Lane(*make_rule("ftrl", l1=l1, eta0=eta0), BINARY.loss) for l1, eta0 in POINTS]
    block = Block(lanes, n_features=N_FEATURES, n_outputs=1, fit_intercept=True, scales=scales)
    record, rows = Record(block, None), rows_for(BINARY)
    predictions = np.array([lane_predictions(block, lane, rows) for lane in range(len(lanes))])
    losses = np.array(
        [np.logaddexp(0.0, -rows.y * predictions * scale) for scale in (1.0, *scales)]
    )
    losses += 2.0 * ((predictions > 0.0) != (rows.y > 0.0))
    sums, weights = [], []
    for begin, end in ((0, 100), (100, 250), (250, 300)):
        learn(block, part(rows, begin, end))
        record.end_interval()
        importance = rows.importance[begin:end]
        weights.append(importance.sum())
        sums.append(losses[:, :, begin:end] @ importance / importance.sum())
    counts = np.array(weights) * [0.49, 0.7, 1.0]
    overall = np.tensordot(counts / counts.sum(), sums, axes=1)
    assert set(overall.argmin(axis=0)) > {1}
    np.testing.assert_allclose(record.means(), overall.min(axis=0), rtol=1e-10)


POINTS = ((0.01, 0.03), (0.1, 0.3), (0.01, 30.0))


def lane_predictions(block: Block, lane: int, rows):
    learner = block.learner(lane)
    predictions = np.zeros((len(rows.y), 1))
    learner.learn(rows, predictions=predictions)
    return predictions[:, 0]
