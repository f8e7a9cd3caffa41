"""What rows are learned relative to; the dense transcription of it is in tests/naive.py."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from rarefy import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.arrays import as_rows
from rarefy.engine.reference import NO_REFERENCE, new_reference, reference_of
from rarefy.estimators.matrices import as_csr
from rarefy.model.losses import Logistic, Squared
from rarefy.rules.fobos import Fobos
from rarefy.rules.scale_free import ScaleFree
from tests.in_order import classifier_in_order, regressor_in_order

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(300, 4)) + np.array([0.0, 1000.0, -5.0, 0.0])
DENSE[::7, 3] = 0.0


def rows_of(X, y=None, importance=None):
    n = len(X)
    y = np.zeros(n) if y is None else y
    return as_rows(as_csr(X), y, np.ones(n) if importance is None else importance)


LOGISTIC = Logistic()


def reference(X=DENSE, y=None, loss=LOGISTIC, importance=None):
    unknown = new_reference(ScaleFree(), loss, fit_intercept=True)
    return reference_of(unknown, rows_of(X, y, importance))


def test_features_that_are_never_zero_are_centred():
    known = reference()
    assert known.slots.tolist() == [0, 1, 2]
    np.testing.assert_allclose(known.means, DENSE[:256, :3].mean(axis=0))
    assert known.is_known


def test_a_feature_that_is_missing_once_is_relative_too():
    rows = reference().relative(rows_of(np.array([[1.0, 0.0, 2.0, 3.0]])))
    found = dict(zip(rows.indices.tolist(), rows.values.tolist(), strict=True))
    means = reference().means
    assert found == {0: 1.0 - means[0], 1: -means[1], 2: 2.0 - means[2], 3: 3.0}


def test_rows_of_weight_zero_tell_nothing():
    importance = np.ones(len(DENSE))
    importance[:3] = 0.0
    strange = DENSE.copy()
    strange[:3] = 0.0
    known = reference(strange, importance=importance)
    np.testing.assert_allclose(known.means, DENSE[3:259, :3].mean(axis=0))


def test_other_rules_and_models_without_intercept_are_not_shifted():
    assert new_reference(Fobos(), Logistic(), fit_intercept=True) is NO_REFERENCE
    unshifted = new_reference(ScaleFree(), Squared(), fit_intercept=False)
    known = reference_of(unshifted, rows_of(DENSE, DENSE[:, 1]))
    assert (len(known.slots), known.location) == (0, 0.0)


def test_location_and_spread_are_robust():
    y = RNG.normal(100.0, 3.0, size=300)
    y[::20] = 1e9
    known = reference(y=y, loss=Squared())
    assert known.location == pytest.approx(100.0, abs=1.0)
    assert known.spread == pytest.approx(3.0, rel=0.3)


@pytest.mark.parametrize("size", [1e9, -1e6, 1e4])
@pytest.mark.parametrize("where", [0, 1, 2, 3, 7])
def test_an_outlier_does_no_harm_wherever_it_is(where, size):
    X = RNG.normal(size=(2000, 10))
    right = 152.0 + X @ np.linspace(-30.0, 30.0, 10)
    y = right + RNG.normal(scale=20.0, size=2000)
    y[where] = size
    found = regressor_in_order().fit(X, y).predict(X)
    assert np.mean((found - right) ** 2) < 0.05 * right.var()


def test_the_spread_grows_with_targets_that_move_away():
    y = np.repeat([1.0, 2.0, 500.0], 256) + np.tile([0.0, 1.0], 384)
    known = reference(np.ones((768, 1)), y, Squared())
    assert known.location == 1.5
    assert known.spread > 1.0


@pytest.mark.parametrize("sizes", [1, 3, 50, 255, 257])
def test_any_split_is_the_same(sizes):
    y = DENSE[:, 1] + DENSE[:, 2]
    whole = regressor_in_order().fit(DENSE, y)
    parts = regressor_in_order()
    for begin in range(0, 300, sizes):
        parts.partial_fit(DENSE[begin : begin + sizes], y[begin : begin + sizes])
    assert parts.coef_.tobytes() == whole.coef_.tobytes()
    assert parts.intercept_.tobytes() == whole.intercept_.tobytes()


@pytest.mark.parametrize("shift", [1e3, -1e6])
def test_offsets_do_not_matter(shift):
    y = DENSE[:, 0] > 0.0
    one = classifier_in_order().fit(DENSE, y)
    moved = DENSE + np.array([shift, 0.0, 0.0, 0.0])
    other = classifier_in_order().fit(moved, y)
    np.testing.assert_allclose(
        other.decision_function(moved),
        one.decision_function(DENSE),
        rtol=1e-6,
        atol=1e-9,
    )
    target = DENSE @ [1.0, 2.0, 0.0, 0.0]
    plain, moved = (
        regressor_in_order().fit(DENSE, target + more).predict(DENSE) for more in (0.0, shift)
    )
    np.testing.assert_allclose(moved - shift, plain, rtol=1e-6, atol=1e-6)


def test_units_of_targets_do_not_matter():
    target = DENSE @ [1.0, 2.0, 0.0, 0.0]
    one = regressor_in_order().fit(DENSE, target).predict(DENSE)
    other = regressor_in_order().fit(DENSE, 1024.0 * target).predict(DENSE)
    np.testing.assert_allclose(other, 1024.0 * one, rtol=1e-9)


def test_raw_tables_need_no_preparation():
    X, y = load_wine(return_X_y=True)
    assert cross_val_score(SparseOnlineClassifier(), X, y, cv=5).mean() > 0.95
    X, y = load_diabetes(return_X_y=True, scaled=False)
    assert cross_val_score(SparseOnlineRegressor(), X, y, cv=5).mean() > 0.42
    assert cross_val_score(SparseOnlineRegressor(), X, y + 1e6, cv=5).mean() > 0.42


def test_outliers_do_not_spoil_a_regression():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    spoilt = y.copy()
    spoilt[::50] = 1e7
    assert SparseOnlineRegressor().fit(X, spoilt).score(X, y) > 0.1
    assert Ridge().fit(X, spoilt).score(X, y) < -1.0
