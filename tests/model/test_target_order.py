"""Numbers to predict that are sorted are told from those that are not."""

from __future__ import annotations

import numpy as np
import pytest

from rarefy import RarefyWarning, SparseOnlineRegressor, sweep, train
from rarefy.model.target_order import TargetOrder

NUMBERS = np.random.default_rng(0).normal(100.0, 10.0, 3000)


def order_of(y, portion: int = 10_000) -> TargetOrder:
    order = TargetOrder()
    for begin in range(0, len(y), portion):
        order.add(np.asarray(y[begin : begin + portion], dtype=np.float64))
    return order


@pytest.mark.parametrize("portion", [1, 3, 7, 100])
def test_rows_come_in_any_portions(portion):
    whole, parts = order_of(NUMBERS), order_of(NUMBERS, portion)
    assert (parts.n_rows, parts.n_rises, parts.n_falls) == (3000, whole.n_rises, whole.n_falls)
    assert whole.n_rises + whole.n_falls == 2999


@pytest.mark.parametrize("y", [np.sort(NUMBERS), -np.sort(NUMBERS), np.repeat(range(500), 4)])
def test_sorted_numbers_are_complained_of_once(y):
    order = order_of(y)
    assert order.complaint().startswith("the rows are sorted by their labels (")
    assert order.complaint() == ""


@pytest.mark.parametrize(
    "y", [NUMBERS, np.cumsum(NUMBERS - 100.0), np.sort(NUMBERS)[:50], np.zeros(3000), []]
)
def test_other_numbers_are_not(y):
    assert order_of(y).complaint() == ""


def test_fit_in_the_order_of_the_rows_warns_of_sorted_targets():
    X, y = NUMBERS[:, None] + 1.0, np.sort(NUMBERS)
    with pytest.warns(RarefyWarning, match=r"sorted by their labels .* Use shuffle=True"):
        SparseOnlineRegressor(shuffle=False, passes=1).fit(X, y)


def test_shuffled_rows_are_not_doubted(recwarn):
    SparseOnlineRegressor(passes=1).fit(NUMBERS[:, None], np.sort(NUMBERS))
    assert not recwarn.list


def test_sweeps_in_the_order_of_the_rows_warn_of_sorted_targets():
    with pytest.warns(RarefyWarning, match=r"sorted by their labels .* Use shuffle=True"):
        sweep(NUMBERS[:, None], np.sort(NUMBERS), loss="squared", n_l1=2, folds=2)


def test_training_from_files_warns_of_sorted_targets(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,a\n" + "".join(f"{y},{y + 1}\n" for y in np.sort(NUMBERS)))
    with pytest.warns(RarefyWarning, match=r"sorted by their labels .* --shuffle"):
        train(path, loss="squared")
