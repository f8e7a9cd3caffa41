"""The estimators pass scikit-learn's own checks, but for two about weights and the order of rows.

These two take rows in one order with weights, and repeated in another. Gradient descent with
importance-aware updates, steps of one length and as many passes as it needs passes them in
regression: there is one solution in the span of the rows that fits all of them. Classifiers end
where the order of rows leads them; in the same order they pass too.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from rarefy import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.model.losses import REGRESSION_LOSSES
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order
from tests.selecting import slow_but

IN_ORDER = SparseOnlineClassifier(passes=2, shuffle=False)
ESTIMATORS = [
    SparseOnlineClassifier(),
    SparseOnlineClassifier(refit=True),
    SparseOnlineRegressor(),
]
MORE = [
    SparseOnlineClassifier(rule="ftrl", loss="hinge"),
    SparseOnlineClassifier(rule="frda"),
    SparseOnlineClassifier(multiclass="ovr"),
    SparseOnlineRegressor(refit=True),
    SparseOnlineClassifier(rule="fobos", loss="hinge", cumulative=True),
    IN_ORDER,
    SparseOnlineClassifier(loss="hinge", multiclass="ovr", refit=True),
    SparseOnlineRegressor(rule="frda", loss="huber"),
    SparseOnlineClassifier(rule="ogd", multiclass="ovr", importance="aware", endowment=0.5),
    regressor_in_order(n_features="grow"),
]
WEIGHTS_AS_COUNTS = regressor_in_order(
    rule="ogd", eta0=1.0, schedule="constant", importance="aware", passes=500
)
GROWING = classifier_in_order(n_features="grow")

ONE_STEP = "weight 2 is one step, not two, and the order of rows matters"
ANY_WIDTH = "with n_features='grow' a row may have fewer or more columns than were seen before"
FAR_APART = "steps of classes whose weights are 1,000 and 0.0001 are too long for a common schedule"
WEIGHTS_ARE_COUNTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
WIDTH_IS_FIXED = (
    "check_n_features_in_after_fitting",
    "check_estimators_partial_fit_n_features",
    "check_classifiers_train",
)


def expected_failures(estimator) -> dict[str, str]:
    failures = {}
    if estimator is not WEIGHTS_AS_COUNTS:
        failures |= dict.fromkeys(WEIGHTS_ARE_COUNTS, ONE_STEP)
    if estimator.rule in ("fobos", "ogd"):
        failures["check_class_weight_classifiers"] = FAR_APART
    if estimator.n_features == "grow":
        failures |= dict.fromkeys(WIDTH_IS_FIXED, ANY_WIDTH)
    return failures


@parametrize_with_checks(
    [*ESTIMATORS, WEIGHTS_AS_COUNTS, GROWING], expected_failed_checks=expected_failures
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(MORE, expected_failed_checks=expected_failures)
def test_scikit_learn_check_of_more_estimators(estimator, check):
    check(estimator)


# --- the half of those two checks that does hold --------------------------------------------


def rows_and_targets(estimator) -> tuple[np.ndarray, np.ndarray]:
    kind = "multiclass" if is_classifier(estimator) else "regression"
    problem = data.problem(kind, n=40, d=8, classes=3)
    return problem.dense, problem.y


def assert_same_bits(one, other):
    for name in ("coef_", "intercept_"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert (one.t_, one.progressive_loss_) == (other.t_, other.progressive_loss_)


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_row_of_weight_zero_is_absent(as_matrix):
    X, y = rows_and_targets(IN_ORDER)
    weights = data.importances(len(y))
    weights[[0, 20, 21, -1]] = 0.0  # the first and the last, and two in succession
    kept = weights > 0.0
    whole = clone(IN_ORDER).fit(as_matrix(X), y, sample_weight=weights)
    part = clone(IN_ORDER).fit(as_matrix(X[kept]), y[kept], sample_weight=weights[kept])
    assert whole.t_ == 2 * kept.sum()
    assert_same_bits(whole, part)


def test_a_call_with_weights_zero_only_leaves_everything():
    X, y = rows_and_targets(classifier_in_order())
    model, untouched = (classifier_in_order().fit(X, y) for _ in range(2))
    model.partial_fit(10.0 * X, y, sample_weight=np.zeros(len(y)))
    assert_same_bits(model, untouched)


def test_weight_two_is_one_step_of_double_length():
    """So the two checks cannot pass: the second of two rows meets the weight after the first."""
    model = regressor_in_order(rule="frda", loss="huber", epsilon=10.0, eta0=0.1, l1=0.0)
    model.set_params(fit_intercept=False)
    heavy = clone(model).fit([[1.0]], [1.0], sample_weight=[2.0])
    twice = clone(model).fit([[1.0], [1.0]], [1.0, 1.0])
    assert heavy.coef_ == pytest.approx([0.1 * 2.0])
    assert twice.coef_ == pytest.approx([0.1 * (1.0 + 0.9) / np.sqrt(2.0)])


LOSSES_WITH_DRIFT = ["hinge", "squared_hinge", "logistic", "squared", "huber"]


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", slow_but(LOSSES_WITH_DRIFT, "logistic", "squared"))
def test_aware_weights_are_counts(loss, as_matrix):
    """The data of the two checks, in one order, for steps of one length."""
    rng = np.random.RandomState(42)
    X, y, weights = rng.rand(15, 30), rng.randint(0, 3, 15), rng.randint(0, 5, 15)
    chosen = {"eta0": 3.0, "schedule": "constant", "importance": "aware", "passes": 4}
    if loss in REGRESSION_LOSSES:
        model = regressor_in_order("ogd", loss, **chosen)
    else:
        model = classifier_in_order("ogd", loss, multiclass="ovr", **chosen)
    weighted = clone(model).fit(as_matrix(X), y, sample_weight=weights)
    repeated = clone(model).fit(as_matrix(X.repeat(weights, axis=0)), y.repeat(weights))
    assert weighted.t_ < repeated.t_
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9, atol=1e-12)
