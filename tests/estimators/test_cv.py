"""Estimators that choose their own parameters: what they choose, and scikit-learn's own checks."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import rarefy
from rarefy import ConfigError, SparseOnlineClassifier
from rarefy import SparseOnlineClassifierCV as ClassifierCV
from rarefy import SparseOnlineRegressorCV as RegressorCV
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order

TINY = {"l1": [0.3, 1.0], "cv": 2, "passes": 2, "n_jobs": 1, "shuffle": False}
L1S = [0.3, 0.5, 1.0, 2.0, 3.0, 5.0]
BINARY = data.problem("binary")

FOLDS_DIFFER = "weight 2 is one step, not two, and other rows make other folds"
WEIGHTS_ARE_COUNTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
FEW_ROWS = "of its ten rows, those of one fold have the same target, which leaves R² undefined"


def expected_failures(estimator) -> dict[str, str]:
    failures = dict.fromkeys(WEIGHTS_ARE_COUNTS, FOLDS_DIFFER)
    if isinstance(estimator, RegressorCV):
        failures["check_fit2d_1feature"] = FEW_ROWS
    return failures


@parametrize_with_checks([ClassifierCV(**TINY)], expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([RegressorCV(**TINY)], expected_failed_checks=expected_failures)
def test_scikit_learn_check_of_regression(estimator, check):
    check(estimator)


def fitted(**more) -> ClassifierCV:
    chosen = {"l1": L1S, "cv": 3, "passes": 2, "random_state": 1, "shuffle": False, **more}
    return ClassifierCV(**chosen).fit(BINARY.csr, BINARY.y)


def the_sweep(**more):
    chosen = {"l1": L1S, "folds": 3, "passes": 2, "random_state": 1, **more}
    return rarefy.sweep(BINARY.csr, BINARY.y, **chosen)


def test_the_best_point_is_fitted_to_all_rows():
    model, result = fitted(), the_sweep()
    best = result.best().parameters
    assert model.sweep_.table == result.table
    assert model.best_params_ == best
    alone = classifier_in_order(l1=best["l1"], passes=2).fit(BINARY.csr, BINARY.y)
    assert model.coef_.tobytes() == alone.coef_.tobytes()
    assert model.intercept_.tobytes() == alone.intercept_.tobytes()
    assert model.sparse_coef_.nnz == model.n_nonzero_ == alone.n_nonzero_
    assert model.sparsity_ == alone.sparsity_
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        theirs = getattr(alone, method)(BINARY.csr)
        np.testing.assert_array_equal(getattr(model, method)(BINARY.csr), theirs)
    assert model.score(BINARY.csr, BINARY.y) == alone.score(BINARY.csr, BINARY.y)


def test_one_standard_error_and_few_features():
    result = the_sweep()
    one = result.one_standard_error().parameters
    assert one != result.best().parameters
    assert fitted(choose="one_standard_error").best_params_ == one
    most = int(min(result.table["features"])) + 1
    few = fitted(within_features=most).best_params_
    assert few == result.best(within_features=most).parameters
    assert few not in (one, result.best().parameters)
    of_few = fitted(within_features=most, choose="one_standard_error").best_params_
    assert of_few == result.one_standard_error(within_features=most).parameters
    with pytest.raises(ConfigError, match=r"within_features=0: .* Try a larger l1"):
        fitted(l1=1e-6, within_features=0)


def test_lists_span_the_grid():
    model = fitted(rule=["frda", "fobos"], q=[1, inf], l1=[1e-3, 1e-2])
    assert len(model.sweep_.points) == 2 * 2 + 2  # fobos has no q
    assert type(model.best_estimator_) is SparseOnlineClassifier
    assert len(fitted(l1=None, n_l1=2).sweep_.points) == 2


def test_the_chosen_estimator_is_refitted():
    model = fitted(refit=True)
    alone = classifier_in_order(l1=model.best_params_["l1"], passes=2, refit=True)
    alone.fit(BINARY.csr, BINARY.y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    assert model.sweep_.table == the_sweep(refit=True).table
    assert model.sweep_.table != the_sweep().table


def test_sample_weights_count_in_both():
    importance = data.importances(len(BINARY.y))
    model = ClassifierCV(**TINY).fit(BINARY.csr, BINARY.y, sample_weight=importance)
    chosen = {"l1": TINY["l1"], "folds": 2, "passes": 2, "sample_weight": importance}
    assert model.sweep_.table == rarefy.sweep(BINARY.csr, BINARY.y, **chosen).table
    alone = classifier_in_order(l1=model.best_params_["l1"], passes=2)
    alone.fit(BINARY.csr, BINARY.y, sample_weight=importance)
    np.testing.assert_array_equal(model.coef_, alone.coef_)


def test_regression():
    problem = data.problem("regression")
    model = RegressorCV(eta0=[0.01, 0.1], **TINY).fit(problem.csr, problem.y)
    best = model.sweep_.best().parameters
    assert model.best_params_ == best
    assert sorted(model.sweep_.table["eta0"]) == [0.01, 0.01, 0.1, 0.1]
    alone = regressor_in_order(**best, passes=2).fit(problem.csr, problem.y)
    np.testing.assert_array_equal(model.predict(problem.csr), alone.predict(problem.csr))


def test_the_model_is_saved(tmp_path):
    problem = data.problem("multiclass")
    model = ClassifierCV(**TINY).fit(problem.csr, problem.y)
    model.save(tmp_path / "best.model")
    loaded = rarefy.load(tmp_path / "best.model")
    np.testing.assert_array_equal(loaded.predict(problem.csr), model.predict(problem.csr))
    assert loaded.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"choose": "first"}, "choose='first': one of best, one_standard_error is expected"),
        ({"loss": "squared"}, "loss='squared': one of hinge"),
        ({"loss": "log_loss"}, r"loss='log_loss' \(use 'logistic'\): one of hinge"),
        ({"scoring": "roc_auc"}, r"scoring='roc_auc' \(--by\) \(use 'auc'\): one of accuracy"),
        ({"scoring": "f1_macro"}, r"scoring='f1_macro' \(--by\) \(use 'f1'\): one of accuracy"),
        ({"within_features": "many"}, "within_features='many': a whole number"),
        ({"cv": 1}, "folds=1: a whole number"),
        ({"l1": [0.1, -1.0]}, r"l1=-1.0: a number >= 0 is expected"),
        ({"l1": []}, "a list of values is empty"),
        ({"refit": True, "loss": ["hinge", "perceptron"]}, "does not apply to loss='perceptron'"),
        ({"cv": None, "choose": "one_standard_error"}, "needs folds"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_nonsense_is_refused(given, message):
    with pytest.raises(ConfigError, match=message):
        fitted(**given)


def test_probabilities_are_those_of_the_loss():
    model = ClassifierCV(loss=["hinge", "logistic"])
    assert not hasattr(model, "predict_proba")
    model.best_estimator_ = classifier_in_order(loss="logistic").fit(BINARY.csr, BINARY.y)
    assert hasattr(model, "predict_proba")
    model.best_estimator_ = classifier_in_order(loss="hinge")
    assert not hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError):
        ClassifierCV().predict_proba(BINARY.csr)


def test_what_fails_leaves_the_model_as_it_was():
    model = fitted()
    before = clone(model).set_params(cv=model.cv).fit(BINARY.csr, BINARY.y).coef_
    with pytest.raises(ConfigError):
        model.set_params(choose="first").fit(BINARY.csr[:50], BINARY.y[:50])
    np.testing.assert_array_equal(model.coef_, before)
