"""The comparison of all methods: none is left out, and none has more settings than others."""

from __future__ import annotations

import numpy as np

from experiments.field.methods import BUDGET, METHODS, VOTED
from experiments.field.page import scores_of_few, standings
from experiments.field.work import Result, numbers_of
from experiments.peers.plan import FULL
from rarefy import VotedPerceptron
from rarefy.estimators.sparse_online import task_of
from rarefy.parameters.table import DEFAULT_RULE
from rarefy.rules import FINITE_DATA, RULES


def test_every_rule_is_compared_with_the_same_budget():
    assert {*RULES, *FINITE_DATA} <= set(METHODS)
    for name, method in METHODS.items():
        without_choice = method.rule in ("perceptron", "pa", VOTED)
        assert len(method.settings) == (1 if without_choice else BUDGET), name
        values = [tuple(setting.items()) for setting in method.settings]
        assert len(set(values)) == len(values), name


def test_every_setting_is_one_that_its_rule_has():
    of_rules = {name: method for name, method in METHODS.items() if method.rule != VOTED}
    for name, method in of_rules.items():
        for setting in (method.settings[0], method.settings[-1]):
            made = task_of(method.model(passes=1, **setting))
            for parameter, value in setting.items():
                assert repr(value) in repr((made.rule, made.schedule)), (name, parameter)


def test_the_voted_perceptron_is_an_estimator_of_its_own():
    model = METHODS[VOTED].model(passes=2)
    assert isinstance(model, VotedPerceptron)
    model.fit(np.eye(2), [0, 1])
    assert numbers_of(model) == 2  # entries of two rows


def test_who_is_behind_and_who_is_better():
    rng = np.random.default_rng(0)
    noise = 1e-3 * rng.normal(size=5)

    def result(accuracy: float) -> Result:
        return Result([list(accuracy + noise * accuracy)], [[100.0] * 5], 1.0)

    found = {
        (name, d): result(a)
        for name, a in ((DEFAULT_RULE, 0.8), ("ftrl", 0.9))
        for d in FULL.datasets
    }
    standing = standings(scores_of_few(found))
    assert list(standing) == ["ftrl", DEFAULT_RULE]
    assert standing["ftrl"].behind == 0.0
    assert abs(standing[DEFAULT_RULE].behind - 0.1) < 0.01
    assert standing["ftrl"].better == list(FULL.datasets)
