"""The fast path of matrices with few rows: the same bits and errors as the other one."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from rarefy import (
    ConfigError,
    InputError,
    RarefyWarning,
    SparseOnlineClassifier,
    SparseOnlineRegressor,
)
from rarefy.estimators import matrix_rows

N, N_COLUMNS = 300, 40


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(matrix_rows, "CALLS_BEFORE", 0)


def data(n_classes: int = 2) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = sparse.random_array((N, N_COLUMNS), density=0.2, format="csr", rng=random)
    X.data = np.round(X.data - 0.5, 2)  # some are zero
    X = sparse.csr_array(np.hstack([X.toarray(), random.normal(3.0, 1.0, size=(N, 1))]))
    X.data[::17] = 0.0
    return X, random.integers(n_classes, size=N)


def state(model: Any) -> list[Any]:
    learner = model.learner_
    found = [
        learner.state,
        learner.intercept_state,
        learner.progress,
        np.array(learner.clock[1:-1]),
    ]
    found += [learner.reference.targets, np.array([learner.reference.n])]
    if learner.calibration is not None:
        found.append(np.array(learner.calibration))
    return [part.copy() for part in found]


def assert_same(ours: list[Any], theirs: list[Any]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def is_short(model: Any) -> bool:
    fast, learner = model._matrix_rows._fast, model.learner_
    return fast is not None and fast.bound.learner is learner and learner.live_scalars is not None


@pytest.mark.parametrize("as_row", [sparse.csr_array, sparse.csr_matrix, lambda row: row.toarray()])
def test_rows_one_by_one(as_row):
    X, y = data()
    expected = SparseOnlineClassifier().partial_fit(X, y, classes=[0, 1])
    model = SparseOnlineClassifier().partial_fit(X[:256], y[:256], classes=[0, 1])
    for n in range(256, N):
        model.partial_fit(as_row(X[[n]]), y[n : n + 1])
        assert is_short(model)
    assert_same(state(model), state(expected))
    assert (model._label_runs.n_rows, model._label_runs.n_changes) == (
        expected._label_runs.n_rows,
        expected._label_runs.n_changes,
    )
    scores = expected.decision_function(sparse.csr_array(X.toarray().repeat(9, axis=1)[:, ::9]))
    rows = [as_row(X[[n]]) for n in range(N)]
    assert [model.decision_function(row).item() for row in rows] == scores.tolist()
    assert model.decision_function(X[:7]).tolist() == scores[:7].tolist()
    assert is_short(model)
    same = pickle.loads(pickle.dumps(model)).partial_fit(X[[0]], y[:1])
    assert_same(state(same), state(copy.deepcopy(expected).partial_fit(X[:1], y[:1])))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"rule": "ftrl", "loss": "huber"}])
def test_regression(options):
    X, y = data(50)
    y = y / 7.0
    expected = SparseOnlineRegressor(**options).partial_fit(X, y)
    model = SparseOnlineRegressor(**options).partial_fit(X[:250], y[:250])
    for n in range(250, N):
        model.partial_fit(X[[n]], y[n : n + 1])
    assert is_short(model)
    assert_same(state(model), state(expected))
    assert [model.predict(X[[n]]).item() for n in range(N)] == expected.predict(X).tolist()


@pytest.mark.slow
def test_several_classes():
    X, y = data(3)
    expected = SparseOnlineClassifier(rule="ftrl").partial_fit(X, y, classes=[0, 1, 2])
    model = SparseOnlineClassifier(rule="ftrl").partial_fit(X[:9], y[:9], classes=[0, 1, 2])
    for n in range(9, N):
        model.partial_fit(X[[n]], y[n : n + 1])
    assert is_short(model)
    assert_same(state(model), state(expected))
    assert [model.predict(X[[n]]).item() for n in range(N)] == expected.predict(X).tolist()


def bad_rows() -> list[tuple[Any, Any, str]]:
    """Rows, labels, and what is said of them."""
    X, y = data()
    row, label = X[[0]], y[:1]
    infinite, too_large, astray = row.copy(), row.copy(), row.copy()
    infinite.data[0], too_large.data[1], astray.indices = np.nan, 1e60, row.indices + N_COLUMNS
    pointers = row.copy()
    pointers.indptr = np.array([0, 99], dtype=np.int32)
    return [
        (infinite, label, "NaN in row 0"),
        (too_large, label, "1e\\+60 in row 0"),
        (astray, label, "column index"),
        (pointers, label, "indptr ends at 99"),
        (X[[0], :5], label, "5 features"),
        (row, np.array([7]), "label 7"),
        (row, np.array([0, 1]), "inconsistent numbers of samples"),
        (row.toarray()[0], label, "1D array"),
        (sparse.csr_array((0, X.shape[1])), y[:0], "0 sample"),
    ]


def test_what_is_wrong_is_said_and_changes_nothing():
    X, y = data()
    model = SparseOnlineClassifier().partial_fit(X, y, classes=[0, 1])
    model.partial_fit(X[[0]], y[:1]).predict(X[[0]])
    assert is_short(model)
    before = state(model)
    for row, label, message in bad_rows():
        with pytest.raises(InputError, match=message):
            model.partial_fit(row, label)
        assert_same(state(model), before)
    model.set_params(l1=0.5)
    with pytest.raises(ConfigError, match="cannot be changed"):
        model.partial_fit(X[[0]], y[:1])
    assert_same(state(model), before)


def test_columns_in_any_order():
    X, y = data()
    model, expected = (SparseOnlineClassifier().partial_fit(X, y, classes=[0, 1]) for _ in range(2))
    row = X[[1]]
    for one in (model, expected):
        one.partial_fit(row, y[1:2])
    row.eliminate_zeros()
    backwards = sparse.csr_array((row.data[::-1], row.indices[::-1], row.indptr), shape=row.shape)
    model.partial_fit(backwards, y[1:2])
    expected.partial_fit(row, y[1:2])
    assert_same(state(model), state(expected))


def test_a_warning_that_is_an_error_changes_nothing():
    X, _ = data()
    X = sparse.vstack([X] * 4, format="csr")
    model = SparseOnlineClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RarefyWarning)
        model.partial_fit(X[:998], np.arange(998) // 499, classes=[0, 1])
    model.partial_fit(X[[0]], np.array([1]))
    before = state(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RarefyWarning)
        for _ in range(2):
            with pytest.raises(RarefyWarning, match="long runs"):
                model.partial_fit(X[[0]], np.array([1]))
    assert_same(state(model), before)
    assert model._label_runs.n_rows == 999


def test_few_calls_are_not_compiled_for(monkeypatch):
    monkeypatch.setattr(matrix_rows, "CALLS_BEFORE", 100)
    X, y = data()
    model = SparseOnlineClassifier().partial_fit(X, y, classes=[0, 1])
    for n in range(60):
        model.partial_fit(X[[n]], y[n : n + 1])
        assert model._matrix_rows._fast is None
    for n in range(50):
        model.predict(X[[n]])
    assert is_short(model)
