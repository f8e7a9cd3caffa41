"""Rules that act on margins: as their papers have them, in pieces, resumed, and side by side."""

from functools import partial
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    SGDClassifier,
    SGDRegressor,
)

import rarefy
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.errors import ConfigError
from rarefy.rules import RULES
from tests import data, naive_margins
from tests.in_order import classifier_in_order, regressor_in_order
from tests.selecting import slow_but
from tests.stores import test_stores as test_stores_of

# What users give, and what the papers call it.
SETTINGS = {
    "perceptron": ({}, {}),
    "second-order-perceptron": ({"beta": 0.7}, {"a": 0.7}),
    "pa": ({}, {}),
    "pa1": ({"aggressiveness": 0.2}, {"C": 0.2}),
    "pa2": ({"aggressiveness": 0.2}, {"C": 0.2, "squared": True}),
    "cw": ({"confidence": 0.8, "l1": 0.7}, {"phi": 0.8, "l1": 0.7}),
    "scw1": (
        {"confidence": 0.8, "aggressiveness": 0.3, "l1": 0.7},
        {"phi": 0.8, "C": 0.3, "l1": 0.7},
    ),
    "scw2": (
        {"confidence": 0.8, "aggressiveness": 0.3, "l1": 0.7},
        {"phi": 0.8, "C": 0.3, "l1": 0.7, "squared": True},
    ),
    "arow": ({"aggressiveness": 0.25, "l1": 0.7}, {"r": 2.0, "l1": 0.7}),
}
SPARSE = ("cw", "scw1", "scw2", "arow")
BINARY = data.problem("binary", n=300)
SEVERAL = data.problem("multiclass", n=200)


def test_all_of_them_are_compared():
    by_margin = {name for name, rule in RULES.items() if rule.by_margin}
    assert SETTINGS.keys() == by_margin


def fitted(name: str, problem=BINARY, **chosen) -> SparseOnlineClassifier:
    chosen_for, _ = SETTINGS[name]
    chosen = {"passes": 2, "shuffle": False, **chosen_for, **chosen}
    return classifier_in_order(rule=name, **chosen)


def expected(name: str, problem=BINARY, **chosen) -> naive_margins.Result:
    _, in_paper = SETTINGS[name]
    method = partial(naive_margins.METHODS[name], **in_paper)
    y = problem.y if "multiclass" not in chosen else problem.y.astype(int)
    return naive_margins.fit(problem.dense, y, method, passes=2, **chosen)


def assert_same(model, result: naive_margins.Result) -> None:
    scale = max(1.0, np.abs(result.coef).max())
    np.testing.assert_allclose(model.coef_, result.coef, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(model.intercept_, result.intercept, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_array_equal(model.coef_ == 0.0, result.coef == 0.0)
    if model.rule in SPARSE:
        assert 0.02 < np.mean(result.coef == 0.0) < 0.98


@pytest.mark.parametrize("fit_intercept", slow_but([True, False], True))
@pytest.mark.parametrize("name", SETTINGS)
def test_two_classes(name, fit_intercept):
    """Some rows are empty, which is a row of norm zero where there is no intercept."""
    chosen = {"fit_intercept": fit_intercept}
    weights = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 2.5], len(BINARY.y))
    model = fitted(name, **chosen).fit(BINARY.csr, BINARY.y, sample_weight=weights)
    assert_same(model, expected(name, sample_weight=weights, **chosen))


@pytest.mark.parametrize("name", slow_but(SETTINGS, "pa", "arow", "scw1"))
@pytest.mark.parametrize("scheme", ["crammer_singer", pytest.param("ovr", marks=pytest.mark.slow)])
def test_several_classes(name, scheme):
    model = fitted(name, multiclass=scheme).fit(SEVERAL.csr, SEVERAL.y)
    assert_same(model, expected(name, SEVERAL, multiclass=scheme))


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "modified_huber"])
@pytest.mark.parametrize("name", SETTINGS)
def test_weights_do_not_depend_on_the_loss(name, loss):
    expected = fitted(name).fit(BINARY.csr, BINARY.y).coef_
    found = fitted(name, loss=loss).fit(BINARY.csr, BINARY.y).coef_
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", slow_but(SETTINGS, "arow", "pa1"))
def test_in_pieces_and_from_a_file(name, tmp_path):
    whole = fitted(name, passes=1).fit(BINARY.csr, BINARY.y)
    model = fitted(name)
    for rows in (slice(0, 1), slice(1, 120), slice(120, None)):
        model.partial_fit(BINARY.csr[rows], BINARY.y[rows], classes=[-1.0, 1.0])
        model.save(tmp_path / "model")
        model = rarefy.load(tmp_path / "model")
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model.intercept_, whole.intercept_)
    assert model.learner_.clock == whole.learner_.clock


@pytest.mark.parametrize("store", ["table", pytest.param("hashed", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    ["arow", *(pytest.param(one, marks=pytest.mark.slow) for one in SETTINGS if one != "arow")],
)
def test_stores(name, store):
    chosen_for, _ = SETTINGS[name]
    chosen = {"rule": name, "loss": "logistic", "multiclass": "crammer_singer", **chosen_for}
    examples = test_stores_of.examples_in(SEVERAL)
    expected, found = (
        test_stores_of.all_of(test_stores_of.learned_numbers(one, chosen, examples, blocks=blocks))
        for one, blocks in (("array", (1 << 30,)), (store, (7, 60)))
    )
    assert found == expected


@pytest.mark.parametrize("rate", ["pa1", "pa2"])
def test_passive_aggressive_is_that_of_scikit_learn(rate):
    """Its norms leave out the intercept, so there is none."""
    ordered = {"fit_intercept": False, "max_iter": 2, "tol": None, "shuffle": False}
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8):
        loss = {"pa1": "hinge", "pa2": "squared_hinge"}[rate]
        theirs = PassiveAggressiveClassifier(C=0.2, loss=loss, **ordered)
    else:
        theirs = SGDClassifier(loss="hinge", penalty=None, learning_rate=rate, eta0=0.2, **ordered)
    theirs.fit(BINARY.dense, BINARY.y)
    ours = fitted(rate, fit_intercept=False).fit(BINARY.dense, BINARY.y)
    assert np.abs(theirs.coef_).max() > 0.1
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.skipif(find_spec("river") is None, reason="needs river")
@pytest.mark.parametrize(("name", "mode"), [("pa1", 1), ("pa2", 2)])
def test_passive_aggressive_is_that_of_river(name, mode):
    from river.linear_model import PAClassifier

    theirs = PAClassifier(C=0.2, mode=mode, learn_intercept=False)
    for x, y in zip(BINARY.dense, BINARY.y, strict=True):
        theirs.learn_one({column: x[column] for column in x.nonzero()[0].tolist()}, bool(y > 0.0))
    ours = fitted(name, passes=1, fit_intercept=False).fit(BINARY.csr, BINARY.y)
    weights = [theirs.weights.get(column, 0.0) for column in range(BINARY.csr.shape[1])]
    assert np.abs(weights).max() > 0.1
    np.testing.assert_allclose(ours.coef_[0], weights, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_pa1_is_gradient_descent_that_never_passes_the_margin():
    """Importance-aware updates of the hinge with steps of C."""
    expected = classifier_in_order(
        rule="ogd", loss="hinge", importance="aware", schedule="constant", eta0=0.2, passes=2
    ).fit(BINARY.csr, BINARY.y)
    found = fitted("pa1").fit(BINARY.csr, BINARY.y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)


def test_the_perceptron_is_gradient_descent_with_its_loss():
    chosen = {"loss": "perceptron", "schedule": "constant", "eta0": 1.0, "passes": 2}
    expected = classifier_in_order(rule="ogd", **chosen).fit(BINARY.csr, BINARY.y)
    found = fitted("perceptron").fit(BINARY.csr, BINARY.y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.parametrize("name", ["scw1", "scw2"])
def test_soft_confidence_that_is_hard_is_confidence(name):
    expected = fitted("cw", l1=0.0).fit(BINARY.csr, BINARY.y)
    found = fitted(name, l1=0.0, aggressiveness=1e15).fit(BINARY.csr, BINARY.y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-4, atol=1e-6)


def test_pa1_that_is_never_at_its_limit_is_pa():
    expected = fitted("pa").fit(BINARY.csr, BINARY.y)
    found = fitted("pa1", aggressiveness=1e12).fit(BINARY.csr, BINARY.y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)


def test_arow_begins_like_pa2():
    chosen = {"aggressiveness": 0.3, "passes": 1}
    expected = fitted("pa2", **chosen).partial_fit(BINARY.csr[:1], BINARY.y[:1], classes=[-1, 1])
    found = fitted("arow", l1=0.0, **chosen).partial_fit(
        BINARY.csr[:1], BINARY.y[:1], classes=[-1, 1]
    )
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-12)


def whole_matrices(X, y, name: str) -> np.ndarray:
    """CW and AROW as the papers have them, with all covariances."""
    mean, S = np.zeros(X.shape[1]), np.eye(X.shape[1])
    for x, label in zip(X, y, strict=True):
        m, v = label * mean @ x, x @ S @ x
        if name == "arow":
            beta = 1.0 / (v + 2.0)
            alpha = max(0.0, 1.0 - m) * beta
        else:
            phi = 0.8
            root = np.sqrt(m**2 * phi**4 / 4.0 + v * phi**2 * (1.0 + phi**2))
            alpha = max(0.0, (-m * (1.0 + phi**2 / 2.0) + root) / (v * (1.0 + phi**2)))
            u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4.0 * v)) ** 2 / 4.0
            beta = alpha * phi / (np.sqrt(u) + v * alpha * phi)
        if alpha > 0.0:
            mean, S = mean + alpha * label * S @ x, S - beta * np.outer(S @ x, S @ x)
    return mean


@pytest.mark.parametrize("name", slow_but(SETTINGS, "cw", "pa1", "scw2"))
def test_labels_that_contradict_each_other(name):
    """Every step of cw undoes the one before, with a variance that is a fraction of it."""
    X, y = np.full((600, 1), 1e3), np.resize([1.0, -1.0], 600)
    model = fitted(name).fit(X, y)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("name", ["cw", "arow"])
def test_where_features_do_not_meet_diagonals_are_exact(name):
    """Every row has one feature, so that covariances stay zero."""
    rng = np.random.default_rng(2)
    X = np.eye(6)[rng.integers(6, size=80)] * rng.normal(1.0, 0.5, (80, 1))
    y = np.where(rng.random(80) < 0.7, 1.0, -1.0)
    model = fitted(name, l1=0.0, passes=1, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], whole_matrices(X, y, name), rtol=1e-9)


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 300), max_size=4), pair=st.sampled_from(["pa1", "arow"]))
def test_any_split_into_calls(cuts, pair):
    whole = fitted(pair, passes=1).fit(BINARY.csr, BINARY.y)
    model = fitted(pair)
    for begin, end in pairwise([0, *sorted(cuts), 300]):
        if begin < end:
            model.partial_fit(BINARY.csr[begin:end], BINARY.y[begin:end], classes=[-1.0, 1.0])
    np.testing.assert_array_equal(model.coef_, whole.coef_)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_sweeps(name):
    """A model of a sweep is that of an estimator: here, the one of the first fold of two."""
    chosen_for, _ = SETTINGS[name]
    X, y, folds = BINARY.dense, BINARY.y, np.arange(300) % 2
    chosen = {**chosen_for, "passes": 1, "shuffle": False}
    found = rarefy.sweep(X, y, rule=name, folds=folds, **chosen).by_fold["accuracy"][0, 0]
    model = fitted(name, passes=1).fit(X[folds != 0], y[folds != 0])
    assert found == pytest.approx(model.score(X[folds == 0], y[folds == 0]))


def test_means_of_all_past_weights():
    """The weights before each round, of which the first are zero."""
    y, method = BINARY.y, naive_margins.METHODS["pa"]
    fits = [naive_margins.fit(BINARY.dense[:n], y[:n], method) for n in range(len(y))]
    model = fitted("pa", average=True, passes=1).fit(BINARY.csr, y)
    means = np.mean([np.append(fit.coef, fit.intercept) for fit in fits], axis=0)
    found = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, means, rtol=1e-9, atol=1e-12)


# --- regression -----------------------------------------------------------------------------

NUMBERS = data.problem("regression", n=200)
INSENSITIVE = {"loss": "epsilon_insensitive", "epsilon": 0.4}
REGRESSIONS = ("pa", "pa1", "pa2")


def regression(name: str, **chosen) -> SparseOnlineRegressor:
    chosen_for, _ = SETTINGS[name]
    return regressor_in_order(name, **{"passes": 2, **INSENSITIVE, **chosen_for, **chosen})


@pytest.mark.parametrize("name", slow_but(REGRESSIONS, "pa1"))
@pytest.mark.parametrize("fit_intercept", slow_but([True, False], True))
def test_regression(name, fit_intercept):
    weights = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 2.5], len(NUMBERS.y))
    _, in_paper = SETTINGS[name]
    method = partial(naive_margins.PassiveAggressiveRegression, epsilon=0.4, **in_paper)
    chosen = {"fit_intercept": fit_intercept}
    expected = naive_margins.fit(
        NUMBERS.dense, NUMBERS.y, method, passes=2, sample_weight=weights, **chosen
    )
    model = regression(name, **chosen).fit(NUMBERS.csr, NUMBERS.y, sample_weight=weights)
    assert np.abs(expected.coef).max() > 0.1
    np.testing.assert_allclose(model.coef_, expected.coef[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, expected.intercept, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rate", ["pa1", "pa2"])
def test_regression_is_that_of_scikit_learn(rate):
    """Its norms leave out the intercept, so there is none."""
    ordered = {"fit_intercept": False, "max_iter": 2, "tol": None, "shuffle": False, "epsilon": 0.4}
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8):
        loss = {"pa1": "epsilon_insensitive", "pa2": "squared_epsilon_insensitive"}[rate]
        theirs = PassiveAggressiveRegressor(C=0.2, loss=loss, **ordered)
    else:
        loss = "epsilon_insensitive"
        theirs = SGDRegressor(loss=loss, penalty=None, learning_rate=rate, eta0=0.2, **ordered)
    theirs.fit(NUMBERS.dense, NUMBERS.y)
    ours = regression(rate, fit_intercept=False).fit(NUMBERS.dense, NUMBERS.y)
    assert np.abs(theirs.coef_).max() > 0.1
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression_in_pieces_from_a_file_and_in_sweeps(name, tmp_path):
    whole = regression(name, passes=1).fit(NUMBERS.csr, NUMBERS.y)
    model = regression(name)
    for rows in (slice(0, 1), slice(1, 120), slice(120, None)):
        model.partial_fit(NUMBERS.csr[rows], NUMBERS.y[rows])
        model.save(tmp_path / "model")
        model = rarefy.load(tmp_path / "model")
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert model.get_params()["rule"] == name
    chosen_for, _ = SETTINGS[name]
    X, y, folds = NUMBERS.dense, NUMBERS.y, np.arange(200) % 2
    chosen = {**chosen_for, **INSENSITIVE, "passes": 1, "shuffle": False}
    found = rarefy.sweep(X, y, rule=name, folds=folds, **chosen).by_fold["r2"][0, 0]
    model = regression(name, passes=1).fit(X[folds != 0], y[folds != 0])
    assert found == pytest.approx(model.score(X[folds == 0], y[folds == 0]))


@pytest.mark.slow
def test_regression_by_pa1_is_gradient_descent_that_never_passes_the_target():
    chosen = {"importance": "aware", "schedule": "constant", "eta0": 0.2, "passes": 2}
    expected = regressor_in_order("ogd", **INSENSITIVE, **chosen).fit(NUMBERS.csr, NUMBERS.y)
    found = regression("pa1").fit(NUMBERS.csr, NUMBERS.y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)


# --- what is refused ------------------------------------------------------------------------


def test_what_does_not_apply_is_refused():
    with pytest.raises(ConfigError, match="it is for classification"):
        SparseOnlineRegressor(rule="arow").fit(BINARY.dense, BINARY.y)
    with pytest.raises(ConfigError, match="in regression, it needs loss='epsilon_insensitive'"):
        SparseOnlineRegressor(rule="pa").fit(BINARY.dense, BINARY.y)
    with pytest.raises(ConfigError, match=r"aware.*rule pa1:.*margins"):
        regression("pa1", importance="aware").fit(BINARY.dense, BINARY.y)
    with pytest.raises(ConfigError, match=r"softmax.*Use 'crammer_singer' or 'ovr'"):
        fitted("pa", multiclass="softmax").fit(BINARY.dense, BINARY.y)
    with pytest.raises(ConfigError, match=r"aware.*rule pa:.*margins"):
        fitted("pa", importance="aware").fit(BINARY.dense, BINARY.y)
    with pytest.raises(ConfigError, match="endowment_by='mistakes' does not apply to the rule pa"):
        fitted("pa", endowment=0.5, endowment_by="mistakes").fit(BINARY.dense, BINARY.y)
