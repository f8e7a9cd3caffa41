"""Weights that are set: the learner has them, and learns on from there."""

from __future__ import annotations

import numpy as np
import pytest

from rarefy.engine.replaced_weights import moved
from rarefy.parameters.build import make_rule
from rarefy.rules import RULES
from rarefy.rules.averaging import may_be_averaged
from tests import data
from tests.in_order import classifier_in_order


def learned(rule: str, kind: str = "binary", **parameters):
    problem = data.problem(kind, n=120)
    model = classifier_in_order(rule, **parameters).fit(problem.dense, problem.y)
    return model, problem


def wanted(model, seed: int = 0):
    """Other weights for the slots with a weight, some with another sign, and other intercepts."""
    slots, weights = model.learner_.nonzero()
    factors = np.random.default_rng(seed).choice([-0.5, 0.3, 1.0, 2.0], size=len(weights))
    return slots, weights * factors, 0.5 * model.learner_.intercept() + 0.1


def check(rule: str, kind: str = "binary", **parameters) -> None:
    model, problem = learned(rule, kind, **parameters)
    before = model.learner_.state.copy()
    slots, weights, intercepts = wanted(model)
    other = moved(model.learner_, slots, weights, intercepts)
    assert other is not None
    found_slots, found = other.nonzero()
    np.testing.assert_array_equal(found_slots, slots)
    np.testing.assert_allclose(found, weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.intercept(), intercepts, rtol=1e-9)
    np.testing.assert_array_equal(model.learner_.state, before)
    t, model.learner_ = other.t, other
    model.partial_fit(problem.dense, problem.y)
    assert other.t == t + len(problem.y)


def test_the_weights_are_set():
    check("scale-free", l1=0.2)


def of_every_rule() -> list[tuple[str, bool]]:
    """Each that can be moved, and its mean if it has one."""
    made = {name: make_rule(name)[0] for name in RULES if name != "rounding"}
    single = {name: rule for name, rule in made.items() if not rule.step_sums}
    means = [(name, True) for name, rule in single.items() if may_be_averaged(rule)]
    return [(name, False) for name in single] + means


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "average"), of_every_rule())
def test_the_weights_are_set_with_every_rule(rule, average):
    check(rule, average=average)


ON_SUMS = [(name, {}) for name in RULES if RULES[name].step_sums]
IN_SETS = [(rule, {"projection": "l2-ball"}) for rule in ("ogd", "da")] + [
    ("ogd", {"projection": "simplex"})
]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "parameters"), ON_SUMS + IN_SETS)
def test_weights_that_depend_on_sums_over_all_states_cannot_be_set(rule, parameters):
    model, _ = learned(rule, **parameters)
    assert moved(model.learner_, *wanted(model)) is None


@pytest.mark.slow
def test_rounding_has_no_such_states():
    """Weights below the threshold that it rounds to zero."""
    model, _ = learned("rounding", threshold=0.1)
    slots, weights, intercepts = wanted(model)
    assert moved(model.learner_, slots, 1e-3 * weights, intercepts) is None


@pytest.mark.slow
def test_several_classes_and_l2():
    check("scale-free", "multiclass", l1=0.1)
    check("rda", l2=0.01)
    check("fobos", l2=0.01)


def test_weights_that_stay_change_no_bit():
    model, _ = learned("scale-free", l1=0.2)
    slots, weights = model.learner_.nonzero()
    same = moved(model.learner_, slots, weights, model.learner_.intercept())
    np.testing.assert_array_equal(same.state, model.learner_.state)
    np.testing.assert_array_equal(same.intercept_state, model.learner_.intercept_state)
