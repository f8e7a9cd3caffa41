"""scale-free: what its name and its documentation promise, of units, chance and extremes.

What is said of units here holds for scale-free-ftrl, too.
"""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

import rarefy
from rarefy import SparseOnlineClassifier, SparseOnlineClassifierCV
from tests import data
from tests.cli.test_cli import run, train
from tests.in_order import classifier_in_order, regressor_in_order

RULES = ("scale-free", "scale-free-ftrl")
KINDS = {kind: data.problem(kind) for kind in ("binary", "multiclass")}
FORMS = {"dense": np.asarray, "csr": sparse.csr_array}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_form = pytest.mark.parametrize("form", FORMS)


def scale_free(**parameters) -> SparseOnlineClassifier:
    """Without β, what counts is chance alone."""
    return classifier_in_order("scale-free", **({"beta": 0.0} | parameters))


def in_pieces(X, y, rule) -> SparseOnlineClassifier:
    model = classifier_in_order(rule, l1=1.5)
    for rows in np.array_split(np.arange(len(y)), 7):
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    return model


def at_once(X, y, rule="scale-free") -> SparseOnlineClassifier:
    return classifier_in_order(rule, l1=1.5, passes=2).fit(X, y)


def some_are_kept(model) -> bool:
    return 0 < np.count_nonzero(model.coef_) < model.coef_.size


# --- the equation -----------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.0, 0.25])
def test_by_hand(l2):
    """Margins stay below 1, so the slope of the hinge is -y: g is (-4, -1), (1, 0), (-2, 1)."""
    X, y = [[4.0, 1.0], [1.0, 0.0], [2.0, -1.0]], [1, -1, 1]
    model = scale_free(loss="hinge", eta0=0.5, l1=0.5, l2=l2, fit_intercept=False)
    weights = []
    for row, label in zip(X, y, strict=True):
        model.partial_fit([row], [label], classes=[-1, 1])
        weights.append(model.coef_[0].tolist())
    r, s = (sqrt(17.0), sqrt(21.0)), (sqrt(17.0 / 2.0), sqrt(21.0 / 3.0))
    assert weights[0] == pytest.approx([(4 - 0.5 * 4) / (4 * 4 / 0.5 + l2), 0.5 / (1 / 0.5 + l2)])
    second = (3 - 0.5 * r[0]) / (r[0] * s[0] / 0.5 + 2 * l2)
    assert weights[1] == pytest.approx([second, 0.5 / (1 / 0.5 + 2 * l2)])
    assert weights[2] == pytest.approx([(5 - 0.5 * r[1]) / (r[1] * s[1] / 0.5 + 3 * l2), 0.0])


def test_beta_by_hand():
    """The slope of the hinge is 1, so β adds 2 β to r, and a fifth of it in the penalty."""
    model = scale_free(loss="hinge", eta0=0.5, l1=0.5, beta=3.0, fit_intercept=False)
    model.partial_fit([[2.0]], [1], classes=[-1, 1])
    assert model.coef_[0, 0] == pytest.approx((2 - 0.5 * (2 + 6 / 5)) / ((2 + 6) * 2 / 0.5))


# --- units ------------------------------------------------------------------------------------


@every_kind
@every_form
@pytest.mark.parametrize("learn", [at_once, in_pieces])
@pytest.mark.parametrize("rule", RULES)
def test_powers_of_two_and_signs_leave_every_bit(kind, form, learn, rule):
    X, y = KINDS[kind].dense, KINDS[kind].y
    rng = np.random.default_rng(0)
    units = rng.choice([-1.0, 1.0], X.shape[1]) * 2.0 ** rng.integers(-60, 60, X.shape[1])
    one, other = learn(FORMS[form](X), y, rule), learn(FORMS[form](X * units), y, rule)
    assert some_are_kept(one)
    np.testing.assert_array_equal(other.coef_ * units, one.coef_)
    np.testing.assert_array_equal(other.intercept_, one.intercept_)
    np.testing.assert_array_equal(
        other.decision_function(FORMS[form](X * units)), one.decision_function(FORMS[form](X))
    )
    assert other.progressive_loss_ == one.progressive_loss_


@every_kind
@every_form
@pytest.mark.parametrize("learn", [at_once, in_pieces])
@pytest.mark.parametrize("rule", RULES)
def test_any_units_leave_the_predictions(kind, form, learn, rule):
    X, y = KINDS[kind].dense, KINDS[kind].y
    units = 10.0 ** np.random.default_rng(1).uniform(-12.0, 12.0, X.shape[1])
    one, other = learn(FORMS[form](X), y, rule), learn(FORMS[form](X * units), y, rule)
    assert some_are_kept(one)
    np.testing.assert_array_equal(other.coef_ != 0.0, one.coef_ != 0.0)
    np.testing.assert_allclose(
        other.decision_function(FORMS[form](X * units)),
        one.decision_function(FORMS[form](X)),
        rtol=1e-9,
        atol=1e-9,
    )


def test_an_l1_that_is_found_does_not_depend_on_the_unit():
    X, y = KINDS["binary"].dense, KINDS["binary"].y
    one, other = (scale_free(l1="auto").fit(factor * X, y) for factor in (1.0, 2.0**20))
    assert one.found_["l1"] == other.found_["l1"]
    np.testing.assert_array_equal(other.coef_ * 2.0**20, one.coef_)


# --- chance -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(value=st.floats(1e-40, 1e40), sign=st.sampled_from([-1, 1]), weight=st.floats(1e-3, 1e3))
def test_what_occurred_once_is_kept_below_one_standard_deviation_only(value, sign, weight):
    X, y = [[0.0], [0.0], [sign * value]], [0, 1, 1]
    for l1, n_kept in ((1.0, 0), (1.5, 0), (1.0 - 1e-9, 1)):
        model = scale_free(l1=l1).fit(X, y, sample_weight=[1.0, 0.3, weight])
        assert model.n_nonzero_ == n_kept


@pytest.mark.parametrize("loss", ["hinge", "perceptron"])
def test_two_occurrences_that_agree_are_kept_below_the_root_of_two(loss):
    """With l1 >= 1 the first leaves no weight, so that the perceptron learns from the second."""
    X, y = [[3.0], [0.0], [3.0]], [1, 0, 1]
    for l1, n_kept in ((1.0, 1), (sqrt(2.0) - 1e-9, 1), (sqrt(2.0) + 1e-9, 0)):
        assert scale_free(loss=loss, l1=l1, fit_intercept=False).fit(X, y).n_nonzero_ == n_kept
    contrary = scale_free(loss=loss, l1=0.0, fit_intercept=False).fit([[3.0], [0.0], [-3.0]], y)
    assert contrary.n_nonzero_ == 0


@pytest.mark.parametrize(("l1", "tolerance"), [(1.5, 0.1), (2.5, 0.3)])
def test_noise_is_kept_as_often_as_chance_has_it(l1, tolerance):
    """With the hinge, below its kink, no weight has a say in any gradient: they are -yx."""
    n_rows, n_features, a_row = 60_000, 3_000, 3
    rng = np.random.default_rng(2)
    columns = rng.integers(0, n_features, n_rows * a_row)
    X = sparse.csr_array(
        (rng.normal(size=n_rows * a_row), columns, np.arange(0, n_rows * a_row + 1, a_row)),
        (n_rows, n_features),
    )
    y = rng.integers(0, 2, n_rows)
    model = scale_free(loss="hinge", l1=l1, eta0=0.01, fit_intercept=False).fit(X, y)
    share = model.n_nonzero_ / n_features
    assert share == pytest.approx(2.0 * stats.norm.sf(l1), rel=tolerance)


# --- how much is kept -------------------------------------------------------------------------


@every_kind
def test_more_l1_keeps_fewer(kind):
    problem = KINDS[kind]
    kept = [
        scale_free(l1=l1).fit(problem.csr, problem.y).n_nonzero_ for l1 in (0.0, 1.0, 2.0, 4.0, 99)
    ]
    assert sorted(set(kept), reverse=True) == kept
    assert kept[-1] == 0


def test_without_l1_all_that_had_a_gradient_is_kept():
    problem = KINDS["binary"]
    X = problem.dense.copy()
    X[:, 4] = 0.0
    model = scale_free(l1=0.0).fit(X, problem.y)
    np.testing.assert_array_equal(model.coef_[0] != 0.0, np.arange(X.shape[1]) != 4)
    rows = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]  # the last is right by then
    right = scale_free(loss="perceptron", l1=0.0, fit_intercept=False).fit(rows, [1, 0, 1])
    np.testing.assert_array_equal(right.coef_[0] != 0.0, [True, False, True])


# --- extremes ---------------------------------------------------------------------------------


@every_kind
def test_extreme_units_are_like_any(kind):
    X, y = KINDS[kind].dense, KINDS[kind].y
    units = np.resize([1e-40, 1.0, 1e40], X.shape[1])
    one, other = at_once(X, y), at_once(X * units, y)
    np.testing.assert_allclose(other.coef_ * units, one.coef_, rtol=1e-9, atol=0)
    np.testing.assert_allclose(other.intercept_, one.intercept_, rtol=1e-9)


def test_one_extreme_value_takes_only_its_own_feature_away():
    X, y = KINDS["binary"].dense, KINDS["binary"].y
    outlier = np.ones((len(y), 1))
    outlier[0] = 1e40
    alone, beside = (
        scale_free(l1=0.3, fit_intercept=False).fit(some, y)
        for some in (X, np.hstack([X, outlier]))
    )
    assert 0.0 < abs(beside.coef_[0, -1]) < 1e-39
    np.testing.assert_allclose(beside.coef_[:, :-1], alone.coef_, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "modified_huber", "perceptron"])
@pytest.mark.parametrize("value", [1e-40, 1e40, -1e40])
def test_an_extreme_value_in_the_middle_leaves_numbers(loss, value):
    X, y = KINDS["binary"].dense.copy(), KINDS["binary"].y
    X[150, ::2] = value
    model = scale_free(loss=loss).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.n_nonzero_ > 0


# --- importance -------------------------------------------------------------------------------


@every_kind
def test_rows_of_no_importance_change_nothing(kind):
    problem = KINDS[kind]
    X, y = problem.dense.copy(), problem.y
    importance = data.importances(len(y))
    without = importance == 0.0
    X[without] *= 1e30
    one = scale_free(l2=0.1).fit(X, y, sample_weight=importance)
    other = scale_free(l2=0.1).fit(X[~without], y[~without], sample_weight=importance[~without])
    assert some_are_kept(one)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)


@every_kind
@pytest.mark.parametrize("factor", [1e-6, 0.3, 7.0, 1e6])
def test_only_the_ratios_of_importance_matter(kind, factor):
    problem = KINDS[kind]
    importance = data.importances(len(problem.y))
    one, other = (
        scale_free(l1=1.5).fit(problem.csr, problem.y, sample_weight=some)
        for some in (importance, factor * importance)
    )
    assert some_are_kept(one)
    np.testing.assert_array_equal(one.coef_ != 0.0, other.coef_ != 0.0)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-9, atol=1e-12)


# --- the default ------------------------------------------------------------------------------


@every_kind
def test_a_sweep_without_a_rule_is_of_this_one(kind):
    problem = KINDS[kind]
    result = rarefy.sweep(problem.csr, problem.y, n_l1=5, folds=None, fit_intercept=False)
    l1s = [point["l1"] for point in result.points]
    assert {point["rule"] for point in result.points} == {"scale-free"}
    assert set(np.logspace(-0.5, 1.5, 5).round(9)) <= set(np.round(l1s, 9))
    for n, l1 in enumerate(l1s):
        model = scale_free(l1=l1, beta=1.0, fit_intercept=False).fit(problem.csr, problem.y)
        assert result.table["weights"][n] == model.n_nonzero_
        assert result.table["loss"][n] == pytest.approx(model.progressive_loss_, rel=1e-12)
    assert len(set(result.table["weights"])) > 2


def test_estimators():
    X, y = KINDS["binary"].csr, KINDS["binary"].y
    named = scale_free(l1=1.0, eta0=0.2, beta=1.0).fit(X, y)
    np.testing.assert_array_equal(classifier_in_order().fit(X, y).coef_, named.coef_)
    assert SparseOnlineClassifierCV().rule == "scale-free"
    assert regressor_in_order().rule == "scale-free"


def test_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text(data.svmlight_text(KINDS["binary"]))
    assert train("rows.svm").task.rule == rarefy.rules.RULES["scale-free"]()
    named = train("rows.svm", "--rule", "scale-free", "--l1", "1", "--eta0", "0.2")
    assert train("rows.svm").intercepts == named.intercepts
    regression = train("rows.svm", "--loss", "squared").task.rule
    assert type(regression) is rarefy.rules.RULES["scale-free"]
    run("sweep", "rows.svm", "-o", "found", "--n-l1", "3", "--folds", "2", "--passes", "1")
    rows = Path("found/table.csv").read_text().splitlines()[1:]
    assert {row.split(",")[0] for row in rows} == {"scale-free"}
