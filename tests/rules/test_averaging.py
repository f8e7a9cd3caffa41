"""The mean of all past weights, which is lazy like the weights, is that of the eager reference."""

from __future__ import annotations

import pickle
from math import inf

import numpy as np
import pytest

import rarefy
from rarefy.errors import ConfigError
from rarefy.rules.averaging import averaged
from rarefy.rules.fobos import Fobos
from tests import data, naive
from tests.in_order import classifier_in_order
from tests.rules.test_exactness import (
    PENALISED,
    SCHEDULED,
    VARIANTS,
    assert_same,
    estimator,
    mixed,
    problem_for,
    setup,
    slow_where,
)

QUICK = ("fobos", "frda", "adagrad-rda", "scale-free")
WITH_INTEGRALS = ("fobos", "rda", "truncated-gradient")


def same_mean(problem: data.Problem, chosen: dict) -> None:
    """At a penalty that truncates part of the last weights, from rows with long gaps."""
    chosen, _ = mixed(problem, chosen)
    expected = naive.fit(problem.dense, problem.y, **chosen, average=True)
    assert not np.allclose(expected.coef, naive.fit(problem.dense, problem.y, **chosen).coef)
    assert_same(estimator({**chosen, "average": True}).fit(problem.csr, problem.y), expected)


@pytest.mark.parametrize(
    ("variant", "loss"),
    [
        pytest.param(variant, loss, marks=slow_where(loss != "logistic" or variant not in QUICK))
        for variant in VARIANTS
        for loss in ("logistic", "hinge", "squared")
    ],
)
def test_every_rule_and_loss(variant, loss):
    same_mean(problem_for(loss, n=500), setup(variant, loss, passes=2, fit_intercept=True))


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["constant", "inv_t"])
@pytest.mark.parametrize("variant", SCHEDULED)
def test_schedules(variant, schedule):
    same_mean(problem_for("hinge", n=500), setup(variant, "hinge", schedule=schedule, passes=2))


@pytest.mark.slow
@pytest.mark.parametrize("variant", [v for v in PENALISED if v != "rounding"])
def test_l2(variant):
    """Sums are taken by their integrals."""
    same_mean(problem_for("logistic", n=1000), setup(variant, "logistic", l2=0.02, passes=2))


@pytest.mark.parametrize(
    ("variant", "power"),
    [
        pytest.param(v, power, marks=slow_where(v != "scale-free" or power != 3))
        for v in VARIANTS
        for power in (1, 3, 10)
    ],
)
def test_polynomial_decay(variant, power):
    problem = problem_for("logistic", n=1000)
    chosen, _ = mixed(problem, setup(variant, "logistic", fit_intercept=True))
    chosen |= {"average": True, "average_power": power}
    expected = naive.fit(problem.dense, problem.y, **chosen)
    assert_same(estimator(chosen).fit(problem.csr, problem.y), expected)


@pytest.mark.slow
@pytest.mark.parametrize("power", [0, 3])
@pytest.mark.parametrize("variant", WITH_INTEGRALS)
def test_gaps_of_thousands_of_rounds(variant, power):
    problem = data.long_gap_problem("binary")
    chosen = setup(variant, "logistic", l1=3e-4, l2=1e-3)
    chosen |= {"average": True, "average_power": power}
    expected = naive.fit(problem.dense, problem.y, **chosen)
    assert_same(estimator(chosen).fit(problem.csr, problem.y), expected)


@pytest.mark.parametrize("loss", ["logistic", pytest.param("squared", marks=pytest.mark.slow)])
def test_of_rows_that_are_learned_relative_to_others(loss):
    """Means, medians and spreads change in the course; a mean is that of what each round said."""
    problem = problem_for(loss, n=600)
    rng = np.random.default_rng(0)
    X = problem.dense.copy()
    X[:, 0] = rng.normal(30.0, 1.0, len(X))  # never zero, so it is centred
    X[:, 1] = np.where(np.arange(len(X)) == 20, 0.0, rng.normal(5.0, 1.0, len(X)))
    y = problem.y if loss == "logistic" else 10.0 + problem.y * np.linspace(1.0, 9.0, len(X))
    chosen = setup("scale-free", loss, fit_intercept=True, l1=0.3, average=True)
    expected = naive.fit(X, y, **chosen)
    model = estimator(chosen).fit(X, y)
    np.testing.assert_allclose(np.ravel(model.coef_), expected.coef[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, expected.intercept, rtol=1e-9, atol=1e-9)
    split = estimator(chosen)
    for begin, end in ((0, 7), (7, 256), (256, 257), (257, 600)):
        known = {"classes": [-1.0, 1.0]} if loss == "logistic" else {}
        split.partial_fit(X[begin:end], y[begin:end], **known)
    np.testing.assert_array_equal(split.coef_, model.coef_)
    np.testing.assert_array_equal(split.intercept_, model.intercept_)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["softmax", "crammer_singer", "ovr"])
def test_several_classes(scheme):
    problem = data.problem("multiclass", n=400)
    chosen = setup("frda", "logistic", multiclass=scheme, l1=1e-3, fit_intercept=True, average=True)
    expected = naive.fit(problem.dense, problem.y, **chosen)
    assert_same(classifier_in_order(**chosen).fit(problem.csr, problem.y), expected)


def test_saved_and_loaded_models_go_on_to_the_same_bits(tmp_path):
    problem = problem_for("logistic")
    half = len(problem.y) // 2
    whole = classifier_in_order(rule="fobos", average=True, loss="logistic")
    whole.fit(problem.csr, problem.y)
    part = classifier_in_order(rule="fobos", average=True, loss="logistic")
    part.fit(problem.csr[:half], problem.y[:half])
    part.save(tmp_path / "part.model")
    for again in (rarefy.load(tmp_path / "part.model"), pickle.loads(pickle.dumps(part))):
        again.partial_fit(problem.csr[half:], problem.y[half:])
        np.testing.assert_array_equal(again.coef_, whole.coef_)
        np.testing.assert_array_equal(again.intercept_, whole.intercept_)


def test_a_call_that_fails_changes_nothing():
    """Although all sums are settled when the spread of targets is known better."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    X[10:, 2] = 0.0
    model = rarefy.SparseOnlineRegressor(loss="squared", average=True, passes=1, shuffle=False)
    model.fit(X[:20], y[:20])
    before = model.coef_, model.intercept_
    with pytest.raises((ValueError, rarefy.DivergenceError)):
        model.partial_fit(np.vstack([X[20:], [[1e308, 1e308, 0.0]]]), np.append(y[20:], 1e308))
    np.testing.assert_array_equal(model.coef_, before[0])
    np.testing.assert_array_equal(model.intercept_, before[1])


@pytest.mark.slow
def test_sweeps_try_means_beside_last_weights():
    """`average` is a parameter like others; what lanes do with it is tested beside them."""
    problem = problem_for("logistic")
    shape = {"rule": "fobos", "loss": "logistic", "l1": 0.003, "eta0": 0.3}
    result = rarefy.sweep(problem.csr, problem.y, **shape, average=[False, True], folds=3, passes=1)
    alone = rarefy.sweep(problem.csr, problem.y, **shape, average=True, folds=3, passes=1)
    last, mean = result.by_fold["loss"]
    np.testing.assert_array_equal(mean, alone.by_fold["loss"][0])
    assert (last != mean).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"average_power": 3}, "average_power=3 needs average=True"),
        ({"average": True, "average_power": 11}, "at most 10"),
        ({"average": True, "average_power": 0.5}, "a whole number"),
        ({"average": True, "rule": "auto"}, "average=True needs fixed parameters"),
        (
            {"average": True, "rule": "ogd", "endowment": 1.0, "endowment_by": "mistakes"},
            "endowment_by='mistakes' cannot be used with average=True",
        ),
        ({"average": "yes"}, "average='yes'"),
        ({"average": True, "l1_of": {"x": 1.0}}, "l1_of={'x': 1.0} cannot be combined"),
    ],
)
def test_refused(given, said):
    with pytest.raises(ConfigError, match=said):
        classifier_in_order(**given).fit(np.eye(2), [0, 1])


def test_the_intercept_is_averaged_without_penalty():
    rule = averaged(Fobos(l1=0.1, l2=0.2), 2.0)
    assert rule.on_intercept() == averaged(Fobos(l1=0.0), 2.0)
    assert rule.state_fields == ("w", "since", "sum", "until")
    assert averaged(Fobos(l1=inf)).shares is None
