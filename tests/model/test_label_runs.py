"""Labels that come in runs which chance would not make are told from those that do not."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from rarefy.model.label_runs import LabelRuns


def runs_of(y, portion: int | None = None) -> LabelRuns:
    runs = LabelRuns()
    y = np.asarray(y, dtype=np.float64)
    for begin in range(0, len(y), portion or max(len(y), 1)):
        runs.add(y[begin : begin + (portion or len(y))])
    return runs


@pytest.mark.parametrize("y", [[0, 0, 1, 1, 2], [-1, -1, -1, 1, 1, 1], [0, 1, 2, 3], [-1, 1, 1, 1]])
def test_mean_and_variance_are_those_of_all_orders(y):
    changes = [runs_of(order).n_changes for order in permutations(y)]
    runs = runs_of(y)
    assert runs.n_expected == pytest.approx(np.mean(changes))
    assert runs._variance() == pytest.approx(np.var(changes))


@pytest.mark.parametrize("portion", [1, 3, 7, 100])
def test_rows_come_in_any_portions(portion):
    y = np.random.default_rng(0).integers(0, 4, 100)
    whole, cut = runs_of(y), runs_of(y, portion)
    assert (whole.n_rows, whole.n_changes) == (cut.n_rows, cut.n_changes)
    assert whole.n_expected == cut.n_expected


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_sorted_labels_are_found(n_classes):
    y = np.sort(np.arange(300) % n_classes)
    assert runs_of(y).are_too_long
    assert runs_of(np.repeat(y[::10], 10)).are_too_long
    assert not runs_of(np.random.default_rng(1).permutation(y)).are_too_long


def test_the_rare_class_at_the_end_is_found():
    y = np.repeat([-1.0, 1.0], [970, 30])
    assert runs_of(y).are_too_long


def test_a_few_rare_rows_side_by_side_are_chance():
    y = np.full(1000, -1.0)
    y[500:503] = 1.0
    assert not runs_of(y).are_too_long


@pytest.mark.parametrize("y", [[], [1.0], [1.0] * 500, [-1.0, 1.0] * 500], ids=len)
def test_nothing_is_wrong_with_one_class_or_with_turns(y):
    assert not runs_of(y).are_too_long


def test_no_alarm_by_chance():
    rng = np.random.default_rng(2)
    for _ in range(1000):
        n_classes, n_rows = rng.choice([2, 3, 30]), rng.choice([20, 100, 1000])
        shares = rng.dirichlet(np.full(n_classes, rng.choice([0.1, 1.0])))
        runs = LabelRuns()
        for y in np.array_split(rng.choice(n_classes, n_rows, p=shares), 10):
            runs.add(y.astype(np.float64))
            assert not runs.are_too_long


def test_labels_that_follow_each_other_a_little_are_no_reason():
    """As in data in the order of time: every label is that before in a quarter of the rows."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 20_000)
    for row in np.flatnonzero(rng.random(len(y)) < 0.25)[1:]:
        y[row] = y[row - 1]
    assert not runs_of(y).are_too_long


def test_it_is_said_once():
    runs = runs_of(np.repeat([0, 1], 100))
    assert "changes: 1 in 200 rows; about 100 in random order" in runs.complaint()
    assert runs.complaint() == ""
