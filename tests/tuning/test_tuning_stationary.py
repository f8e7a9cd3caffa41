"""Rules in the form that they have while their numbers are found, against dense formulas."""

from __future__ import annotations

from copy import copy
from itertools import product
from math import inf

import numpy as np
import pytest
from scipy import sparse

from rarefy.engine.learner import Learner
from rarefy.model.schedules import InvSqrt
from rarefy.parameters.build import make_rule
from rarefy.rules.penalty_norm import CommonNorm, Intensity, MeanIntensity, norm_for
from rarefy.tuning.stationary_rules import SlowlyFalling, ordinary, stationary, with_common_norm
from tests.tuned import BINARY, N_FEATURES, assert_same_kind, part, rows_for, weights_of

pytestmark = pytest.mark.slow  # test_tuning.py has what is tried by default

ROWS = rows_for(BINARY, n=90)


def soft(a, b):
    return np.sign(a) * np.maximum(np.abs(a) - b, 0.0)


def norm_of(values, q):
    return np.linalg.norm(np.array(values), q, axis=0)


class Dense:
    """A rule without an intercept, in which l1 is l1 / t^(1/q) when t rounds have been played."""

    def __init__(self, l1: float, l2: float, q: float, basis: str, eta) -> None:
        self.l1, self.l2, self.q, self.basis, self.eta = l1, l2, q, basis, eta
        self.t = 0
        self.past = [np.zeros(N_FEATURES)]  # of what r is a norm
        self.begin()

    def begin(self) -> None: ...

    def l1_after(self, t: int) -> float:
        return self.l1 / max(t, 1) ** (1.0 / self.q)

    def learn(self, x, y: float, importance: float) -> None:
        g = importance * -y / (1.0 + np.exp(y * (x @ self.weights()))) * x
        self.t += 1
        eta = self.eta(self.t)
        self.past.append(np.abs({"gradient": g, "update": eta * g, "feature": x}[self.basis]))
        self.step(x, g, eta, norm_of(self.past, self.q))


class DenseFrda(Dense):
    """w = -soft(G, l1 R) / (1/eta + l2 t), where R is the sum of r over the rounds."""

    def begin(self) -> None:
        self.G, self.R = np.zeros((2, N_FEATURES))

    def step(self, x, g, eta, r) -> None:
        self.G += g
        self.R += r

    def weights(self):
        if self.t == 0:
            return np.zeros(N_FEATURES)
        excess = soft(self.G, self.l1_after(self.t) * self.R)
        return -excess / (1.0 / self.eta(self.t) + self.l2 * self.t)


class DenseFrComid(Dense):
    """For the rounds since a feature was last there, all have the l1 of the present one."""

    def begin(self) -> None:
        self.w, self.r = np.zeros((2, N_FEATURES))
        self.last = np.zeros(N_FEATURES, int)

    def weights(self):
        w, strength = self.w.copy(), self.l1_after(self.t) * self.r
        for t in range(1, self.t + 1):
            eta = self.eta(t)
            penalised = soft(w, eta * strength) / (1.0 + eta * self.l2)
            w = np.where(self.last < t, penalised, w)
        return w

    def step(self, x, g, eta, r) -> None:
        self.t -= 1
        before = self.weights()
        self.t += 1
        after = soft(before - eta * g, eta * self.l1_after(self.t) * r) / (1.0 + eta * self.l2)
        there = x != 0.0
        self.w, self.r = np.where(there, after, self.w), np.where(there, r, self.r)
        self.last[there] = self.t


DENSE = {"frda": DenseFrda, "fr-comid": DenseFrComid}
SCHEDULES = {
    "root": (InvSqrt(0.5), lambda t: 0.5 / np.sqrt(t)),
    "slow": (SlowlyFalling(0.2), lambda t: 0.2 / t**0.125),
}


PENALTIES = [
    (1.0, 0.3, "gradient", None, "root"),
    (2.0, 0.1, "gradient", None, "root"),
    (3.0, 0.06, "gradient", None, "root"),
    (inf, 0.03, "gradient", None, "root"),
    (1.0, 3.0, "update", None, "slow"),
    (1.0, 0.1, "feature", None, "slow"),
    (1.0, 0.3, "gradient", 0.05, "slow"),
]


@pytest.mark.parametrize(
    ("rule", "q", "l1", "basis", "l2", "steps"),
    [
        pytest.param(rule, *one, marks=pytest.mark.slow if (n + turn) % 2 else ())
        for turn, rule in enumerate(DENSE)
        for n, one in enumerate(PENALTIES)
    ],
)
def test_penalties_by_means_in_every_round(rule, q, l1, basis, l2, steps):
    own, _ = make_rule(rule, l1=l1, l2=l2, q=q, basis=basis)
    schedule, eta = SCHEDULES[steps]
    own = own._replace(intensity=MeanIntensity(own.intensity))
    learner = Learner(own, schedule, BINARY.loss, n_features=N_FEATURES, fit_intercept=False)
    dense = DENSE[rule](l1, l2 or 0.0, q, basis, eta)
    X = sparse.csr_array((ROWS.values, ROWS.indices, ROWS.indptr), (90, N_FEATURES)).toarray()
    n_zero = 0
    for row in range(90):
        learner.learn(part(ROWS, row, row + 1))
        if ROWS.importance[row] > 0.0:
            dense.learn(X[row], ROWS.y[row], ROWS.importance[row])
        assert learner.t == dense.t
        np.testing.assert_allclose(weights_of(learner)[0], dense.weights(), rtol=1e-9, atol=1e-12)
        n_zero += np.count_nonzero(np.any(dense.past, axis=0) & (dense.weights() == 0.0))
    assert n_zero > 0  # of features that have been there
    assert dense.weights().any()


def test_ordinary_intensities_count_in_full():
    for q, t in product((1.0, 2.0, 3.0, inf), (0.0, 1.0, 100.0)):
        assert Intensity(norm_for(q)).share(t) == 1.0


@pytest.mark.parametrize("q", [1.0, 2.0, 3.0, inf])
def test_of_means_what_counts_is_the_inverse_of_the_growth(q):
    """t times the same comes to t^(1/q) times that."""
    for t in (1.0, 2.0, 700.0):
        of_many = norm_of(np.full(int(t), 0.3), q) / 0.3
        assert MeanIntensity(Intensity(norm_for(q))).share(t) == pytest.approx(1.0 / of_many)
    assert MeanIntensity(Intensity(norm_for(q))).share(0.0) == 1.0


@pytest.mark.parametrize("rule", DENSE)
@pytest.mark.parametrize("basis", ["gradient", "update", "feature"])
def test_means_follow_features_without_gradients_where_sums_do(rule, basis):
    own, _ = make_rule(rule, basis=basis)
    as_mean = own._replace(intensity=MeanIntensity(own.intensity))
    assert as_mean.steps_without_gradient() == (basis == "feature")


@pytest.mark.parametrize("q", [1.0, inf])
def test_a_common_norm_is_that_norm(q):
    own, common = Intensity(norm_for(q)), Intensity(CommonNorm(q))
    for r, u, t in ((0.0, 2.0, 1.0), (3.0, 2.0, 5.0), (2.0, 3.0, 50.0)):
        assert common.grow(r, u, 0.0, 0.0) == own.grow(r, u, 0.0, 0.0)
        assert MeanIntensity(common).share(t) == MeanIntensity(own).share(t)
    rule, _ = make_rule("frda", q=q, l2=0.1, basis="feature")
    expected = rule._replace(intensity=rule.intensity._replace(norm=CommonNorm(q)))
    assert_same_kind(with_common_norm(rule), expected)
    as_mean = rule._replace(intensity=MeanIntensity(rule.intensity))
    expected = rule._replace(intensity=MeanIntensity(expected.intensity))
    assert_same_kind(with_common_norm(as_mean), expected)


def test_slowly_falling_steps():
    schedule = SlowlyFalling(0.7)
    t = np.arange(1.0, 301.0)
    np.testing.assert_allclose([schedule.eta(value) for value in t], 0.7 * t**-0.125, rtol=1e-14)
    totals = [schedule.total(value) for value in t]
    np.testing.assert_allclose(totals, np.cumsum(0.7 * t**-0.125), rtol=1e-13)
    assert schedule.total(0.0) == 0.0


def given_rule(name: str, l2: float | None, q: float | None):
    return make_rule(name, l1=0.02, l2=l2, eta0=0.3, **({} if q is None else {"q": q}))


class TestOrdinary:
    @pytest.mark.parametrize(
        ("name", "q", "l2", "free"),
        [
            pytest.param(*case, marks=pytest.mark.slow if n % 2 else ())
            for n, case in enumerate(
                (
                    *product(("frda",), (1.0, 2.0), (None, 0.05), (("l1", "eta0"),)),
                    *product(("fr-comid",), (3.0, inf), (0.05, None), (("l1", "eta0"),)),
                    *product(("rda", "fobos"), (None,), (None, 0.05), (("l1", "eta0"),)),
                    *product(("frda", "fr-comid"), (1.0,), (None,), (("l1",), ("eta0",), ())),
                    *product(("adagrad-rda",), (2.0,), (None,), (("l1",),)),
                )
            )
        ],
    )
    def test_it_does_the_same(self, name, q, l2, free):
        """After so many examples; what is not free stays as given."""
        given, given_schedule = given_rule(name, l2, q)
        own = stationary(given, given_schedule, free)
        learner = Learner(*own, BINARY.loss, n_features=N_FEATURES)
        learner.learn(ROWS)
        other = copy(learner)
        other.set_rule(*ordinary(*own, learner.clock.t))
        t = np.count_nonzero(ROWS.importance)
        l1 = 0.02 / t ** (1.0 / q) if q and "l1" in free else 0.02
        eta0 = 0.3 * t**0.375 if "eta0" in free else 0.3
        assert (other.rule.l1, other.clock.schedule.eta0) == pytest.approx((l1, eta0), rel=1e-12)
        assert_same_kind(other.rule._replace(l1=0.02), given)
        assert type(other.clock.schedule) is InvSqrt
        for one, same in (
            (weights_of(learner), weights_of(other)),
            (learner.scores(ROWS), other.scores(ROWS)),
            (learner.intercept(), other.intercept()),
        ):
            np.testing.assert_allclose(same, one, rtol=1e-12, atol=1e-12)
        assert learner.weights().nnz > 0

    def test_before_the_first_example_it_is_what_was_given(self):
        given = given_rule("frda", 0.05, 1.0)
        assert_same_kind(ordinary(*stationary(*given, ("l1", "eta0")), 0.0), given)

    def test_rules_that_have_one_form_only(self):
        """Steps of their own do not fall slowly; nor do those that do not fall by the root."""
        rule, own = make_rule("ftrl", l1=0.02)
        assert_same_kind(stationary(rule, own, ("l1", "eta0")), (rule, own))
        assert_same_kind(ordinary(rule, own, 100.0), (rule, own))
        rule, constant = make_rule("fobos", schedule="constant", eta0=0.3)
        assert_same_kind(stationary(rule, constant, ("l1", "eta0")), (rule, constant))
        assert_same_kind(ordinary(rule, constant, 100.0), (rule, constant))
