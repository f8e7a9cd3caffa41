"""A rule that a user writes works like the built-in ones; and all rules work as plain Python."""

from __future__ import annotations

import copy
import math
import pickle
from itertools import chain
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import rarefy
from rarefy import ConfigError, SparseOnlineClassifier
from rarefy.arrays import as_rows
from rarefy.engine.learner import Learner
from rarefy.estimators.matrices import as_csr
from rarefy.jit import compiled
from rarefy.model.clock import clock_after, next_round
from rarefy.model.example import Example
from rarefy.model.importance import PlainUpdate
from rarefy.model.losses import MARGIN_LOSSES, REGRESSION_LOSSES, Squared
from rarefy.model.multiclass import CrammerSinger, OneVsRest, Softmax
from rarefy.model.schedules import SCHEDULES, Constant, InvSqrt
from rarefy.rules import AWARE, CUMULATIVE, RULES
from rarefy.rules.ftrl import Ftrl
from rarefy.rules.penalty_norm import EuclideanNorm, Intensity, MaximumNorm, PowerNorm, SumNorm
from rarefy.rules.proximal import (
    passed_after,
    passed_before,
    penalise,
    proximal_decay,
    shrink,
    soft,
)
from tests import data
from tests.in_order import classifier_in_order
from tests.selecting import slow_but

PROBLEM = data.problem("binary", n=60, d=8)
THREE_CLASSES = data.problem("multiclass", n=60, d=8, classes=3)


# --- rules of a user ------------------------------------------------------------------------


@rarefy.helper
def cut(g: float, clip: float) -> float:
    return min(max(g, -clip), clip)


@rarefy.rule("w", "since")
class ClippedFobos(NamedTuple):
    """FOBOS whose subgradients are cut off; it calls a function of its own and one of rarefy."""

    l1: float = 1e-4
    clip: float = 1.0

    def weight(self, clock, state):
        w, since = state
        return soft(w, self.l1 * (clock.total_before - since))

    def step(self, clock, state, g, x):
        w = self.weight(clock, state) - clock.eta * cut(g, self.clip)
        return soft(w, clock.eta * self.l1), clock.total


@rarefy.rule("z", "root")
class FtrlOneByOne(Ftrl):
    """The built-in rule whose coordinates step one after the other."""

    def steps_together(self):
        return False


@rarefy.rule("w", "since")
class CopiedFobos(NamedTuple):
    """Word for word the built-in rule."""

    l1: float = 1e-5
    l2: float | None = None

    def weight(self, clock, state):
        w, since = state
        return shrink(w, self.l1, self.l2, passed_before(clock, self.l2) - since)

    def step(self, clock, state, g, x):
        w = self.weight(clock, state) - clock.eta * g
        return penalise(w, self.l1, self.l2, clock.eta), passed_after(clock, self.l2)

    def log_decay(self, t, eta):
        return proximal_decay(self.l2, eta)


@rarefy.rule("w", "occurrences")
class Counting(NamedTuple):
    """Steps of its own size, by how often the feature occurred, subgradient or not."""

    eta0: float = 0.5

    def weight(self, clock, state):
        return state[0]

    def step(self, clock, state, g, x):
        occurrences = state[1] + 1.0
        return state[0] - self.eta0 / occurrences * g, occurrences

    def steps_without_gradient(self):
        return True


@rarefy.rule("w")
class NeedsARate(NamedTuple):
    rate: float

    def weight(self, clock, state):
        return state[0]

    def step(self, clock, state, g, x):
        return (state[0] - self.rate * g,)


def assert_same_bits(one, other):
    for name in ("coef_", "intercept_"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert (one.t_, one.progressive_loss_) == (other.t_, other.progressive_loss_)


def with_rule(rule, **parameters) -> SparseOnlineClassifier:
    return classifier_in_order(rule=rule, **parameters)


def fitted(rule, problem=PROBLEM, **parameters) -> SparseOnlineClassifier:
    return with_rule(rule, **parameters).fit(problem.dense, problem.y)


def test_coordinates_that_step_together_are_those_that_step_one_by_one():
    lengths = np.arange(100) % 41
    X = np.random.default_rng(0).random((100, 50))
    X[np.arange(50) >= lengths[:, np.newaxis]] = 0.0
    y = np.where(np.arange(100) % 3 == 0, 1.0, -1.0)
    states = []
    for rule in (Ftrl(l1=0.1), FtrlOneByOne(l1=0.1)):
        learner = Learner(rule, Constant(1.0), MARGIN_LOSSES["logistic"](), n_features=50)
        learner.learn(as_rows(as_csr(X), y, np.ones(100)))
        states.append(learner.state)
    assert states[0].any()
    np.testing.assert_array_equal(*states)


def clipped_fobos_by_hand(X, y, l1: float, clip: float):
    """Every weight in every round, in NumPy; logistic loss, η_t = 1/√t."""
    w, intercept, losses = np.zeros(X.shape[1]), 0.0, []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        p, eta = w @ x + intercept, 1.0 / math.sqrt(t)
        losses.append(math.log1p(math.exp(-label * p)))
        slope = -label / (1.0 + math.exp(label * p))
        w = w - eta * np.clip(slope * x, -clip, clip)
        w = np.sign(w) * np.maximum(abs(w) - eta * l1, 0.0)
        intercept -= eta * np.clip(slope, -clip, clip)
    return w, intercept, np.mean(losses)


def test_a_user_s_rule_is_its_formula():
    model = fitted(ClippedFobos(l1=0.02, clip=0.2))
    w, intercept, loss = clipped_fobos_by_hand(PROBLEM.dense, PROBLEM.y, l1=0.02, clip=0.2)
    assert 0 < np.count_nonzero(w) < len(w)
    np.testing.assert_array_equal(model.coef_[0] == 0.0, w == 0.0)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12, atol=1e-14)
    assert model.intercept_[0] == pytest.approx(intercept, rel=1e-12)
    assert model.progressive_loss_ == pytest.approx(loss, rel=1e-12)


def test_a_class_takes_the_usual_parameters_and_its_own_defaults():
    assert_same_bits(fitted(ClippedFobos, l1=0.02), fitted(ClippedFobos(l1=0.02, clip=1.0)))
    assert_same_bits(fitted(ClippedFobos), fitted(ClippedFobos()))
    differently = fitted(ClippedFobos(l1=0.02, clip=0.1))
    assert not np.array_equal(differently.coef_, fitted(ClippedFobos, l1=0.02).coef_)


@pytest.mark.parametrize("l2", [None, 0.1], ids=["l1", "l1 and l2"])
def test_a_copy_of_a_built_in_rule_gives_the_same_bits(l2):
    expected = fitted("fobos", l1=0.01, l2=l2, passes=2)
    assert_same_bits(fitted(CopiedFobos, l1=0.01, l2=l2, passes=2), expected)
    assert_same_bits(fitted(CopiedFobos(l1=0.01, l2=l2), passes=2), expected)
    np.testing.assert_array_equal(
        fitted(CopiedFobos(0.01, l2), passes=2).decision_function(PROBLEM.csr),
        expected.decision_function(PROBLEM.csr),
    )


@pytest.mark.parametrize("name", ["fobos", "frda"])
def test_a_built_in_rule_may_be_given_as_class_or_object(name):
    expected = fitted(name, l1=0.01)
    assert_same_bits(fitted(RULES[name], l1=0.01), expected)
    assert_same_bits(fitted(RULES[name](l1=0.01)), expected)


def test_truncated_gradient_given_as_class_or_object_has_its_constant_step():
    expected = fitted("truncated-gradient", l1=0.01, eta0=0.1)
    truncated = RULES["truncated-gradient"]
    assert_same_bits(fitted(truncated, l1=0.01, eta0=0.1), expected)
    assert_same_bits(fitted(truncated(l1=0.01), eta0=0.1), expected)


def test_a_rule_with_steps_of_its_own():
    """Its step counts also occurrences with slope 0, of which the hinge has some."""
    X, y = PROBLEM.dense, PROBLEM.y
    w, occurrences, n_idle = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0
    for x, label in zip(X, y, strict=True):
        slope = -label if label * (w @ x) < 1.0 else 0.0
        n_idle += slope == 0.0
        occurrences += x != 0.0
        w = w - 0.9 / np.maximum(occurrences, 1.0) * slope * x
    assert n_idle > 5
    model = fitted(Counting, eta0=0.9, loss="hinge", fit_intercept=False)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12, atol=1e-14)
    with pytest.raises(ConfigError, match="schedule='constant' does not apply"):
        fitted(Counting, schedule="constant")


def test_a_user_s_rule_with_many_classes():
    expected = fitted("fobos", THREE_CLASSES, l1=0.01)
    model = fitted(CopiedFobos(l1=0.01), THREE_CLASSES)
    assert model.coef_.shape == (3, 8)
    assert_same_bits(model, expected)


def test_a_user_s_rule_can_be_cloned():
    model = fitted(ClippedFobos(l1=0.02, clip=0.2))
    copied = clone(model)
    assert copied.rule == ClippedFobos(l1=0.02, clip=0.2)
    assert isinstance(copied.rule, ClippedFobos)
    assert_same_bits(copied.fit(PROBLEM.dense, PROBLEM.y), model)
    assert clone(with_rule(ClippedFobos)).rule is ClippedFobos


@pytest.mark.parametrize("rule", [ClippedFobos, ClippedFobos(clip=0.2)], ids=["class", "object"])
def test_a_user_s_rule_can_be_pickled(rule):
    model = fitted(rule)
    copied = pickle.loads(pickle.dumps(model))
    assert_same_bits(copied, model)
    for each in (model, copied):
        each.partial_fit(PROBLEM.dense, PROBLEM.y)
    assert_same_bits(copied, model)
    assert "ClippedFobos" in repr(copied)
    assert "ClippedFobos" in model._repr_html_()


def test_grid_search_over_rules():
    rules = [ClippedFobos(l1=100.0), ClippedFobos(l1=0.001), CopiedFobos, "fobos"]
    search = GridSearchCV(with_rule("frda"), {"rule": rules}, cv=2)
    X = np.random.default_rng(0).normal(size=(80, 8))
    search.fit(X, X.sum(axis=1) > 0)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] < 0.7
    assert min(scores[1:]) > 0.8
    assert search.best_params_["rule"] != rules[0]


# --- rules that are none --------------------------------------------------------------------


def test_a_rule_without_step_is_refused():
    class Halfway(NamedTuple):
        l1: float = 0.0

        def weight(self, clock, state):
            return state[0]

    with pytest.raises(ConfigError, match=r"Halfway is not a rule.*step\(self, clock, state, g, x"):
        rarefy.rule("w")(Halfway)


def test_a_rule_that_is_no_named_tuple_is_refused():
    class Ordinary:
        def weight(self, clock, state):
            return state[0]

        def step(self, clock, state, g, x):
            return state

    with pytest.raises(ConfigError, match="Ordinary is not a rule: a rule is a NamedTuple"):
        rarefy.rule("w")(Ordinary)


class Undecorated(NamedTuple):
    l1: float = 0.0

    def weight(self, clock, state):
        return state[0]

    def step(self, clock, state, g, x):
        return (state[0] - clock.eta * g,)


@pytest.mark.parametrize("rule", [Undecorated, Undecorated()], ids=["class", "object"])
def test_a_rule_that_is_not_decorated_is_refused(rule):
    with pytest.raises(ConfigError, match=r"rule=.*Undecorated.*decorated with rarefy\.rule"):
        fitted(rule)


@rarefy.rule("w", "since")
class Forgetful(NamedTuple):
    def weight(self, clock, state):
        return state[0]

    def step(self, clock, state, g, x):
        return (state[0] - clock.eta * g,)


@rarefy.rule("w")
class Bare(NamedTuple):
    def weight(self, clock, state):
        return state[0]

    def step(self, clock, state, g, x):
        return state[0] - clock.eta * g


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Forgetful, r"Forgetful\.step must return 2 floats \('w', 'since'\)"),
        (Bare, r"Bare\.step must return 1 float.*\('w',\)"),
    ],
    ids=["too few", "not a tuple"],
)
def test_a_step_that_returns_something_else_is_refused(rule, expected):
    model = fitted("frda")
    before = copy.deepcopy(model)
    with pytest.raises(Exception, match=expected):
        model.set_params(rule=rule).fit(PROBLEM.dense, PROBLEM.y)
    assert_same_bits(model, before)


def test_parameters_without_default_are_asked_for():
    assert fitted(NeedsARate(rate=0.1)).coef_.any()
    with pytest.raises(ConfigError, match=r"NeedsARate.*rate"):
        fitted(NeedsARate)


class NeverMoves(CopiedFobos):
    """Made from another rule, with a step of its own."""

    def step(self, clock, state, g, x):
        return state


@rarefy.rule("w", "since")
class NeverMovesEither(CopiedFobos):
    """The same, decorated."""

    def step(self, clock, state, g, x):
        return state


@pytest.mark.parametrize("rule", [NeverMoves, NeverMovesEither], ids=["plain", "decorated"])
def test_a_subclass_of_a_rule_is_refused_or_has_its_own_step(rule):
    try:
        model = fitted(rule(l1=0.01))
    except ConfigError:
        return
    assert model.n_nonzero_ == 0


# --- as plain Python ------------------------------------------------------------------------


def occurrences_with_gaps(n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """One feature that occurs in about half of the rounds, and not at all in some stretches."""
    rng = np.random.default_rng(3)
    x = np.where(rng.random(n) < 0.7, rng.normal(0.0, 1.0, n), 0.0)
    x[20:35] = x[50:58] = 0.0
    y = np.where(rng.random(n) < 0.2, 0.0, 1.5 * x + rng.normal(0.0, 0.3, n))
    return x, y


def plainly(rule, schedule, loss, x, y) -> list[tuple[float, ...]]:
    """The weight and the state after each round, by the methods called as Python."""
    clock, state = clock_after(rule, schedule), (0.0,) * len(rule.state_fields)
    seen = []
    for value, target in zip(x.tolist(), y.tolist(), strict=True):
        clock = next_round(rule, clock)
        score, terms = value * rule.weight(clock, state), (0.0,) * len(rule.row_sums)
        if value:
            terms = rule.row_terms(clock, state, value)
        example = Example(score, target, loss.slope(score, target), 1.0, terms)
        common, slope = rule.meet(clock, example)
        clock, steps = clock._replace(common=common), (0.0,) * len(rule.step_sums)
        if value and (slope or rule.steps_without_gradient()):
            new = rule.step(clock, state, slope * value, value)
            state, steps = new, rule.step_terms(clock, state, new, value)
        clock = clock._replace(common=rule.conclude(clock, steps))
        seen.append((rule.weight(next_round(rule, clock), state), *state))
    return seen


def stepwise(rule, schedule, loss, x, y) -> list[tuple[float, ...]]:
    """The same by the engine, one round after the other."""
    learner = Learner(rule, schedule, loss, n_features=1, fit_intercept=False)
    seen = []
    for i in range(len(x)):
        learner.learn(as_rows(as_csr(x[i : i + 1, np.newaxis]), y[i : i + 1], np.ones(1)))
        weight = float(learner.weights().toarray()[0, 0])
        seen.append((weight, *learner.state[0, : len(rule.state_fields)].tolist()))
    return seen


PLAIN = {
    **{name: cls(l1=0.02) if "l1" in cls._fields else cls() for name, cls in RULES.items()},
    **{f"aware {plain.__name__}": cls(l1=0.02) for plain, cls in AWARE.items()},
    **{f"cumulative {name}": CUMULATIVE[RULES[name]][0](l1=0.02) for name in ("fobos", "fr-comid")},
    **{
        f"cumulative {name}, l2": CUMULATIVE[RULES[name]][1](l1=0.02, l2=0.1)
        for name in ("fobos", "fr-comid")
    },
    "rounding": RULES["rounding"](truncate_every=5.0, threshold=0.1),
    "ftrl": RULES["ftrl"](l1=0.5),
    "fobos with l2": RULES["fobos"](l1=0.02, l2=0.1),
    "ftpfrl with l2": RULES["ftpfrl"](l1=0.02, l2=0.1),
    "pegasos": RULES["pegasos"](l1=0.02, l2=1.0),
    "a user's": ClippedFobos(l1=0.02),
}


def test_all_rules_are_compared():
    every_rule = {*RULES.values(), *AWARE.values(), *chain.from_iterable(CUMULATIVE.values())}
    assert {type(rule) for rule in PLAIN.values()} >= every_rule


PLAIN_BY_DEFAULT = ("fobos", "frda", "ftpfrl", "ftrl", "scale-free", "arow", "pegasos", "a user's")


@pytest.mark.parametrize("name", slow_but(PLAIN, *PLAIN_BY_DEFAULT))
def test_a_rule_is_the_same_as_plain_python(name):
    rule = PLAIN[name]
    schedule = (Constant if name == "truncated-gradient" else InvSqrt)(0.1)
    x, y = occurrences_with_gaps()
    expected = plainly(rule, schedule, Squared(), x, y)
    found = stepwise(rule, schedule, Squared(), x, y)
    weights = [weight for weight, *_ in expected]
    fewest = 3 if rule.by_margin else 20  # which are passive for long
    assert len(set(weights)) > (0 if name == "eg" else fewest)  # it is all of the simplex
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    has_powers = getattr(rule, "l2", None) is not None or rule.step_sums
    if rule._fields and not has_powers:  # exponentials or logarithms
        assert found == expected


TRUNCATING = {"fobos": 2.0, "fr-comid": 0.3, "rda": 1.5, "frda": 0.3, "ftprl": 1.5, "ftpfrl": 0.3}


@pytest.mark.parametrize(("name", "l1"), TRUNCATING.items(), ids=list(TRUNCATING))
def test_a_rule_is_the_same_as_plain_python_where_it_truncates(name, l1):
    rule, schedule = RULES[name](l1=l1), InvSqrt(0.1)
    x, y = occurrences_with_gaps()
    expected = plainly(rule, schedule, Squared(), x, y)
    assert 10 < sum(weight == 0.0 for weight, *_ in expected) < 75
    assert stepwise(rule, schedule, Squared(), x, y) == expected


@compiled
def value_and_slope(loss, p, y):
    return loss.value(p, y), loss.slope(p, y)


@compiled
def drift_of(loss, p, y, time):
    return loss.drift(p, y, time)


@pytest.mark.parametrize("name", [*MARGIN_LOSSES, *REGRESSION_LOSSES])
def test_a_loss_is_the_same_as_plain_python(name):
    loss = {**MARGIN_LOSSES, **REGRESSION_LOSSES}[name]()
    for p in (-800.0, -3.0, -1.0, -0.05, 0.0, 0.05, 0.7, 1.0, 2.5, 800.0):
        for y in (-1.0, 1.0):
            expected = loss.value(p, y), loss.slope(p, y)
            assert value_and_slope(loss, p, y) == pytest.approx(expected, rel=1e-14)
            for time in (0.0, 0.3, 2.0, 900.0) if hasattr(loss, "drift") else ():
                expected = loss.drift(p, y, time)
                assert drift_of(loss, p, y, time) == pytest.approx(expected, rel=1e-14)


@compiled
def value_and_slopes(loss, p, y, out):
    loss.slopes(p, y, PlainUpdate(), 1.0, 0.0, out)
    return loss.value(p, y)


@pytest.mark.parametrize(
    "loss",
    [CrammerSinger(MARGIN_LOSSES["hinge"]()), Softmax(), OneVsRest(MARGIN_LOSSES["logistic"]())],
    ids=lambda loss: type(loss).__name__,
)
def test_a_loss_of_many_classes_is_the_same_as_plain_python(loss):
    for p in ([0.3, -0.2, 0.1], [0.0, 0.0, 0.0], [400.0, -400.0, 5.0]):
        for y in range(3):
            slopes, plain = np.empty((2, 3))
            value = value_and_slopes(loss, np.array(p), y, slopes)
            loss.slopes(np.array(p), y, PlainUpdate(), 1.0, 0.0, plain)
            assert value == pytest.approx(loss.value(np.array(p), y), rel=1e-14)
            np.testing.assert_allclose(slopes, plain, rtol=1e-14)


@compiled
def step_and_total(schedule, t):
    return schedule.eta(t), schedule.total(t)


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_a_schedule_is_the_same_as_plain_python(name):
    schedule = SCHEDULES[name](0.3)
    for t in (1.0, 2.0, 32.0, 33.0, 1e6):
        expected = schedule.eta(t), schedule.total(t)
        assert step_and_total(schedule, t) == pytest.approx(expected, rel=1e-15)


@compiled
def grown(intensity, r, g, x, eta):
    return intensity.grow(r, g, x, eta)


@pytest.mark.parametrize(
    "norm", [MaximumNorm(), EuclideanNorm(), SumNorm(), PowerNorm(3.0)], ids=str
)
def test_an_intensity_is_the_same_as_plain_python(norm):
    intensity = Intensity(norm, cap=2.0)
    r = 0.0
    for g in (0.0, 0.3, -0.7, 0.1, 5.0, -1.0):
        assert grown(intensity, r, g, 1.0, 0.5) == pytest.approx(intensity.grow(r, g, 1.0, 0.5))
        r = intensity.grow(r, g, 1.0, 0.5)
    assert r == 2.0


def test_a_helper_is_still_a_python_function():
    assert cut(3.0, 1.0) == 1.0
    assert soft(-0.5, 0.2) == pytest.approx(-0.3)
