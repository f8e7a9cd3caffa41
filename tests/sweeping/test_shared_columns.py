"""The columns of a matrix as the features of a sweep: nothing of them is lost by sharing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import PredefinedSplit, cross_val_score

import rarefy
from rarefy.arrays import as_rows
from rarefy.estimators.matrices import as_csr
from rarefy.sweeping import shared_columns as columns
from rarefy.sweeping.shared_columns import MOST_VALUES, features_of
from tests import data
from tests.in_order import classifier_in_order
from tests.lanes.test_lanes import rows_of
from tests.selecting import examples

L1S = [1e-3, 1e-2]


def rows_from(X):
    n_rows = X.shape[0]
    return as_rows(as_csr(sparse.csr_array(X)), np.ones(n_rows), np.ones(n_rows))


def with_rare_columns(kind: str, n_rare: int = 200):
    """A problem whose rows also have columns of their own, several of them alike."""
    problem = data.problem(kind)
    n_rows = len(problem.y)
    random = np.random.default_rng(5)
    rows = random.integers(n_rows, size=n_rare)
    values = random.choice([1.0, 2.0, -0.5], size=n_rare)
    rare = sparse.csr_array((values, (rows, np.arange(n_rare))), shape=(n_rows, n_rare))
    X = sparse.hstack([problem.csr, rare]).tocsc()
    return sparse.csr_array(X[:, random.permutation(X.shape[1])]), problem.y


def test_only_columns_that_occur_take_part():
    rows = rows_of("binary")
    wide = rows._replace(indices=rows.indices * 1000)
    found = features_of(wide, 25_000)
    np.testing.assert_array_equal(found.columns, np.unique(wide.indices))
    column_of = np.empty(len(found.columns), dtype=np.int64)
    column_of[found.numbers] = found.columns
    np.testing.assert_array_equal(column_of[found.rows.indices], wide.indices)
    assert (np.diff(np.bincount(found.rows.indices)) <= 0).all()
    np.testing.assert_array_equal(found.rows.values, rows.values)
    np.testing.assert_array_equal(found.rows.shares, rows.values)
    np.testing.assert_array_equal(found.sizes, 1.0)


def test_threads_that_share_the_work_find_the_same(monkeypatch):
    rows = rows_of("binary")
    n_columns = int(rows.indices.max()) + 1
    alone = features_of(rows, n_columns)
    monkeypatch.setattr(columns, "ENTRIES_OF_A_THREAD", 1)
    assert len(columns._parts(len(rows.indices), n_columns, 3)) == 3
    together = features_of(rows, n_columns, 3)
    for one, other in zip((*alone.rows, *alone[1:]), (*together.rows, *together[1:]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_counts_never_take_more_room_than_entries():
    assert len(columns._parts(50_000_000, 10, 4)) == 4
    assert len(columns._parts(50_000_000, 20_000_000, 4)) == 2
    assert columns._parts(0, 0, 4) == [slice(0, 0)]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 30), st.sampled_from([1.0, 2.0, -3.0])), max_size=25),
        min_size=1,
        max_size=6,
    )
)
def test_scores_and_sizes_are_those_of_the_columns(entries):
    X = sparse.dok_array((len(entries), 31))
    for row, own in enumerate(entries):
        for column, value in own:
            X[row, column] = value
    X = sparse.csr_array(X)
    found = features_of(rows_from(X), 31)
    n_features = len(found.sizes)
    of_features = np.random.default_rng(0).normal(size=n_features)
    weights = np.zeros(31)
    weights[found.columns] = of_features[found.numbers]
    shape = (len(entries), n_features)
    merged = sparse.csr_array((found.rows.shares, found.rows.indices, found.rows.indptr), shape)
    np.testing.assert_allclose(merged @ of_features, X @ weights, atol=1e-12)
    np.testing.assert_array_equal(found.sizes, np.bincount(found.numbers, minlength=n_features))
    occurrences = sparse.csc_array(X)
    values = sparse.csr_array((found.rows.values, found.rows.indices, found.rows.indptr), shape)
    for column, feature in zip(found.columns, found.numbers, strict=True):
        np.testing.assert_array_equal(
            occurrences[:, [column]].toarray(), sparse.csc_array(values)[:, [feature]].toarray()
        )


def test_columns_that_occur_once_share_a_feature():
    X = np.zeros((2, 9))
    X[0, :4], X[0, 4], X[1, 5:8], X[:, 8] = 1.0, 2.0, 1.0, 1.0
    found = features_of(rows_from(X), 9)
    assert len(found.sizes) == 4
    np.testing.assert_array_equal(sorted(found.sizes), [1, 1, 3, 4])
    assert len(found.rows.indices) == 5
    assert sorted(found.rows.shares) == [1.0, 1.0, 2.0, 3.0, 4.0]


def test_many_different_values_in_a_row_are_left_apart():
    X = np.arange(1.0, 101.0)[np.newaxis]
    found = features_of(rows_from(np.hstack([X, X])), 200)
    assert len(found.sizes) == 200 - MOST_VALUES


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_models_are_those_of_scikit_learn_s_cross_validation(kind):
    X, y = with_rare_columns(kind)
    folds = np.random.default_rng(2).integers(3, size=len(y))
    result = rarefy.sweep(X, y, rule="frda", l1=L1S, folds=folds, passes=2)
    split = PredefinedSplit(folds)
    for i, l1 in enumerate(L1S):
        model = classifier_in_order("frda", l1=l1, passes=2)
        theirs = cross_val_score(model, X, y, cv=split)
        np.testing.assert_allclose(result.by_fold["accuracy"][i], theirs, rtol=1e-9)
        for fold, (rows, _) in enumerate(split.split()):
            model.fit(X[rows], y[rows])
            assert result.by_fold["weights"][i, fold] == model.n_nonzero_
            kept = len(np.unique(model.sparse_coef_.indices))
            assert result.by_fold["features"][i, fold] == kept


def test_losses_before_learning_are_those_of_the_models():
    X, y = with_rare_columns("binary")
    result = rarefy.sweep(X, y, rule="frda", l1=L1S, folds=None)
    for i, l1 in enumerate(L1S):
        model = classifier_in_order("frda", l1=l1).fit(X, y)
        assert result.table["loss"][i] == pytest.approx(model.progressive_loss_, rel=1e-12)


def test_refits_are_those_of_the_models():
    X, y = with_rare_columns("binary")
    folds = np.random.default_rng(2).integers(3, size=len(y))
    result = rarefy.sweep(X, y, rule="frda", l1=L1S, folds=folds, passes=2, refit=True)
    for i, l1 in enumerate(L1S):
        model = classifier_in_order("frda", l1=l1, passes=2, refit=True)
        theirs = cross_val_score(model, X, y, cv=PredefinedSplit(folds))
        np.testing.assert_allclose(result.by_fold["accuracy"][i], theirs, rtol=1e-9)
