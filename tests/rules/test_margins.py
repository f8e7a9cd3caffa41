"""Rules that act on margins: as their papers have them, in pieces, resumed, and side by side."""

from functools import partial

import numpy as np
import pytest

import rarefy
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.errors import ConfigError
from rarefy.rules import RULES
from tests import data, naive_margins
from tests.in_order import classifier_in_order

# What users give, and what the papers call it.
SETTINGS = {
    "pa": ({}, {}),
}
BINARY = data.problem("binary", n=300)
SEVERAL = data.problem("multiclass", n=200)


def test_all_of_them_are_compared():
    by_margin = {name for name, rule in RULES.items() if rule.by_margin}
    assert SETTINGS.keys() == by_margin


def fitted(name: str, problem=BINARY, **chosen) -> SparseOnlineClassifier:
    given, _ = SETTINGS[name]
    chosen = {"passes": 2, "shuffle": False, **given, **chosen}
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


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", SETTINGS)
def test_two_classes(name, fit_intercept):
    """Some rows are empty, which is a row of norm zero where there is no intercept."""
    chosen = {"fit_intercept": fit_intercept}
    weights = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 2.5], len(BINARY.y))
    model = fitted(name, **chosen).fit(BINARY.csr, BINARY.y, sample_weight=weights)
    assert_same(model, expected(name, sample_weight=weights, **chosen))


@pytest.mark.parametrize("name", SETTINGS)
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


@pytest.mark.parametrize("name", SETTINGS)
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


def test_means_of_all_past_weights():
    """The weights before each round, of which the first are zero."""
    y, method = BINARY.y, naive_margins.METHODS["pa"]
    fits = [naive_margins.fit(BINARY.dense[:n], y[:n], method) for n in range(len(y))]
    model = fitted("pa", average=True, passes=1).fit(BINARY.csr, y)
    means = np.mean([np.append(fit.coef, fit.intercept) for fit in fits], axis=0)
    found = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, means, rtol=1e-9, atol=1e-12)


def test_what_does_not_apply_is_refused():
    with pytest.raises(ConfigError, match="it is for classification"):
        SparseOnlineRegressor(rule="pa").fit(BINARY.dense, BINARY.y)
    with pytest.raises(ConfigError, match=r"softmax.*Use 'crammer_singer' or 'ovr'"):
        fitted("pa", multiclass="softmax").fit(BINARY.dense, BINARY.y)
    with pytest.raises(ConfigError, match=r"aware.*Pa.*margins"):
        fitted("pa", importance="aware").fit(BINARY.dense, BINARY.y)
    with pytest.raises(ConfigError, match="endowment_by='mistakes' does not apply to the rule Pa"):
        fitted("pa", endowment=0.5, endowment_by="mistakes").fit(BINARY.dense, BINARY.y)
