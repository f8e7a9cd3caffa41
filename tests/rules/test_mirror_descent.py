"""Exponentiated gradient, p-norms, and projections."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import rarefy
from rarefy import ConfigError, DivergenceError, SparseOnlineClassifier
from tests import data, naive_mirrors
from tests.in_order import classifier_in_order
from tests.rules.test_exactness import assert_same, estimator, problem_for, slow_where
from tests.rules.test_identities import weights

CASES = {
    "eg": {"rule": "eg", "radius": 3.0},
    "eg-signed": {"rule": "eg-signed", "radius": 5.0},
    "p-norm": {"rule": "p-norm", "p": 6.0},
    "ogd, ball": {"rule": "ogd", "projection": "l2-ball", "radius": 0.3},
    "ogd, box": {"rule": "ogd", "projection": "box", "radius": 0.1},
    "da, ball": {"rule": "da", "projection": "l2-ball", "radius": 0.3},
    "da, box": {"rule": "da", "projection": "box", "radius": 0.1},
    "ogd, l1-ball": {"rule": "ogd", "projection": "l1-ball", "radius": 0.6},
    "da, l1-ball": {"rule": "da", "projection": "l1-ball", "radius": 0.6},
    "ogd, simplex": {"rule": "ogd", "projection": "simplex", "radius": 0.6},
    "da, simplex": {"rule": "da", "projection": "simplex", "radius": 0.6},
}
FIRST = ("eg", "eg-signed", "p-norm", "ogd, ball")  # the others are slow where rows come in pieces
SHAPES = (
    *FIRST,
    "da, box",
    "ogd, l1-ball",
    "da, simplex",
)  # rules, and shapes of what they stay in


def settings(case: str, loss: str = "logistic", **more) -> dict:
    more = {"passes": 2, "fit_intercept": True, **more}
    return {**CASES[case], "loss": loss, "eta0": 0.05 if loss == "squared" else 0.3, **more}


@pytest.mark.parametrize(
    ("case", "loss"),
    [
        pytest.param(case, loss, marks=slow_where(loss != "logistic" or case not in SHAPES))
        for case in CASES
        for loss in ("logistic", "hinge", "squared")
    ],
)
def test_as_the_equations_have_it(case, loss):
    problem, chosen = problem_for(loss), settings(case, loss)
    expected = naive_mirrors.fit(problem.dense, problem.y, **chosen)
    assert np.abs(expected.coef).max() > 0.01
    assert_same(estimator(chosen).fit(problem.csr, problem.y), expected)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("multiclass", ["softmax", "crammer_singer"])
def test_several_classes(case, multiclass):
    """A ball, and a simplex, is that of the weights of all classes."""
    loss = {"softmax": "logistic", "crammer_singer": "hinge"}[multiclass]
    problem, chosen = data.problem("multiclass"), settings(case, loss, multiclass=multiclass)
    expected = naive_mirrors.fit(problem.dense, problem.y, **chosen)
    assert_same(estimator(chosen).fit(problem.csr, problem.y), expected)


@pytest.mark.parametrize(
    "case", [c if c in FIRST else pytest.param(c, marks=pytest.mark.slow) for c in CASES]
)
def test_in_pieces_and_from_a_file(case, tmp_path):
    problem, chosen = data.problem("binary"), settings(case, passes=1, calibrate=False)
    whole = classifier_in_order(**chosen).fit(problem.csr, problem.y)
    pieces = classifier_in_order(**chosen)
    for rows in (slice(0, 1), slice(1, 70), slice(70, None)):
        pieces.partial_fit(problem.csr[rows], problem.y[rows], classes=[-1.0, 1.0])
        pieces.save(tmp_path / "model")
        pieces = rarefy.load(tmp_path / "model")
    np.testing.assert_array_equal(pieces.coef_, whole.coef_)
    assert pieces.learner_.clock == whole.learner_.clock


def test_weights_stay_within():
    problem = data.problem("binary")

    def coef(case: str) -> np.ndarray:
        return classifier_in_order(**settings(case)).fit(problem.csr, problem.y).coef_

    eg = coef("eg")
    assert (eg >= 0.0).all()
    assert eg.sum() == pytest.approx(3.0, rel=1e-12)
    assert np.abs(coef("eg-signed")).sum() < 5.0
    for case in ("ogd, ball", "da, ball"):
        assert 0.25 < np.linalg.norm(coef(case)) < 0.3 * (1.0 + 1e-12)
    for case in ("ogd, box", "da, box"):
        assert np.abs(coef(case)).max() == 0.1
    for case in ("ogd, l1-ball", "da, l1-ball", "ogd, simplex", "da, simplex"):
        within = coef(case)
        assert np.abs(within).sum() == pytest.approx(0.6, rel=1e-12)
        assert (within == 0.0).any()
        assert (within < 0.0).any() == case.endswith("ball")


@pytest.mark.slow
def test_long_runs_of_projections_and_large_exponents_keep_their_precision():
    """By themselves, the product of the ball's factors underflows, and exponentials overflow."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 4))
    y = np.where(rng.random(3_000) < 0.5, -1.0, 1.0)
    chosen = {"loss": "hinge", "schedule": "constant", "passes": 1}
    for case, eta0 in (("ogd, ball", 1.0), ("eg-signed", 5.0), ("eg", 5.0)):
        settled = {**CASES[case], **chosen, "eta0": eta0}
        fitted = classifier_in_order(**settled, calibrate=False).fit(X, y)
        expected = naive_mirrors.fit(X, y, fit_intercept=True, **settled)
        np.testing.assert_allclose(fitted.coef_, expected.coef, rtol=1e-7, atol=1e-9)
        shift = fitted.learner_.clock.common[-1]
        assert abs(shift) > 20.0


@pytest.mark.parametrize("case", ["eg", "eg-signed"])
@pytest.mark.parametrize("scale", [1e3, pytest.param(1e9, marks=pytest.mark.slow)])
def test_steps_that_are_longer_than_exponentials_reach(case, scale):
    """As on raw data, whose θ jump by thousands; they lead and fall back again."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 6)) * [1.0, scale, 1e-3, scale, 3.0, 1.0]
    y = np.where(rng.random(300) < 0.5, -1.0, 1.0)
    chosen = settings(case, eta0=1.0)
    expected = naive_mirrors.fit(X, y, **chosen)
    model = classifier_in_order(**chosen, calibrate=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef, rtol=1e-6, atol=1e-9)
    assert np.abs(model.coef_).sum() > 0.1


@pytest.mark.parametrize("case", ["eg", "eg-signed"])
def test_raw_measurements(case):
    """Breast cancer in its own units, of which areas are in the hundreds."""
    X, y = load_breast_cancer(return_X_y=True)
    model = classifier_in_order(**settings(case, eta0=10.0, passes=3)).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.abs(model.coef_).sum() > 0.5


# --- identities -----------------------------------------------------------------------------


def test_the_2_norm_is_gradient_descent():
    expected = weights(rule="ogd", eta0=0.3)
    np.testing.assert_allclose(weights(rule="p-norm", p=2.0, eta0=0.3), expected, rtol=1e-9)


@pytest.mark.parametrize("rule", ["ogd", "da"])
def test_sets_that_are_never_left_change_nothing(rule):
    expected = weights(rule=rule, eta0=0.3)
    box = weights(rule=rule, eta0=0.3, projection="box", radius=1e9)
    np.testing.assert_array_equal(box, expected)
    for ball in ("l2-ball", "l1-ball"):
        within = weights(rule=rule, eta0=0.3, projection=ball, radius=1e9)
        np.testing.assert_array_equal(within, expected)


def test_a_ball_that_is_always_left_is_one_of_directions():
    """Dual averaging in a small ball does not depend on its step size."""
    chosen = {"rule": "da", "projection": "l2-ball", "radius": 1e-3, "fit_intercept": False}
    expected = weights(**chosen, eta0=1.0)
    np.testing.assert_allclose(weights(**chosen, eta0=7.0), expected, rtol=1e-9)


def test_what_diverges_leaves_the_weights_of_all_features_as_they_were():
    """Also of those that are not in the rows: a projection writes them."""
    problem = data.problem("binary")
    chosen = {**settings("ogd, simplex", passes=1), "radius": 1e30}
    model = classifier_in_order(**chosen).fit(problem.csr, problem.y)
    before = model.coef_.copy()
    X = np.zeros((2, problem.dense.shape[1]))
    X[0, 0], X[1, 1] = 1e30, 1e50
    with pytest.raises(DivergenceError, match="row 1 of this call"):
        model.partial_fit(X, [-1.0, 1.0])
    np.testing.assert_array_equal(model.coef_, before)


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"rule": "fobos", "projection": "box"}, "does not apply to the rule fobos"),
        ({"rule": "ogd", "radius": 1.0}, "does not apply to the rule ogd"),
        ({"rule": "ogd", "projection": "ball"}, "one of l2-ball, l1-ball, box, simplex"),
        ({"rule": "ogd", "projection": "l1-ball", "average": True}, "change while a feature does"),
        ({"rule": "da", "projection": "simplex", "importance": "aware"}, "or on other weights"),
        ({"rule": "eg", "radius": 0.0}, "a number > 0"),
        ({"rule": "p-norm", "p": 1.0}, "a number > 1"),
        ({"rule": "normalized", "l2": 0.1}, "does not apply to the rule normalized"),
    ],
)
def test_nonsense(chosen, message):
    with pytest.raises(ConfigError, match=message):
        SparseOnlineClassifier(**chosen).fit(np.eye(4), [0, 1, 0, 1])


def test_sweeps_are_refused_where_all_weights_are_summed_up():
    X, y = np.eye(4), [0, 1, 0, 1]
    message = "rule='ogd' with projection='l1-ball' cannot be used in sweeps"
    with pytest.raises(ConfigError, match=message):
        rarefy.sweep(X, y, rule="ogd", projection=["box", "l1-ball"], radius=1.0)
