"""The reference is checked by hand, so that it is not its own judge.

Nearly all examples below use the same three rows with the hinge and a step so small that every
margin stays below 1. The subgradients are then always g_1 = (−2, 0), g_2 = (0, 1), g_3 = (−1, −1),
and each rule can be worked out on paper.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt

import numpy as np
import pytest

from tests import naive

ROWS = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
LABELS = np.array([1.0, -1.0, 1.0])


def weights_after(rounds: int, rule: str, **params) -> list[float]:
    settings = {"loss": "hinge", "eta0": 0.1, "schedule": "constant"} | params
    return naive.fit(ROWS[:rounds], LABELS[:rounds], rule=rule, **settings).coef[0].tolist()


def close(expected):
    return pytest.approx(expected, rel=1e-12, abs=1e-14)


# --- rules ----------------------------------------------------------------------------------


def test_ogd():
    assert weights_after(2, "ogd") == close([0.2, -0.1])
    assert weights_after(3, "ogd") == close([0.3, 0.0])


def test_fobos():
    # Each round takes 0.1 · 0.5 = 0.05 from both coordinates.
    assert weights_after(1, "fobos", l1=0.5) == close([0.15, 0.0])
    assert weights_after(2, "fobos", l1=0.5) == close([0.10, -0.05])
    assert weights_after(3, "fobos", l1=0.5) == close([0.15, 0.0])
    assert weights_after(1, "fobos", l1=0.5, l2=1.0) == close([0.15 / 1.1, 0.0])
    assert weights_after(2, "fobos", l1=0.5, l2=1.0) == close(
        [(0.15 / 1.1 - 0.05) / 1.1, -0.05 / 1.1]
    )


def test_fr_comid():
    # Each round takes 0.02 r; r_1 = (2, 0), r_2 = (2, 1), and r_3 depends on q.
    assert weights_after(2, "fr-comid", l1=0.2) == close([0.12, -0.08])
    assert weights_after(3, "fr-comid", l1=0.2, q=inf) == close([0.18, 0.0])
    assert weights_after(3, "fr-comid", l1=0.2, q=2) == close([0.22 - 0.02 * sqrt(5), 0.0])
    assert weights_after(3, "fr-comid", l1=0.2, q=1) == close([0.16, 0.0])
    # The basis `update` has r = η |g|, so ten times the λ does the same.
    assert weights_after(3, "fr-comid", l1=2.0, basis="update") == close([0.18, 0.0])
    # A cap of 1.5 leaves r = (1.5, 0), (1.5, 1), (1.5, 1).
    assert weights_after(2, "fr-comid", l1=0.2, cap=1.5) == close([0.14, -0.08])


def test_fobos_with_cumulative_penalty():
    # U = 0.02, 0.04, 0.06. Feature 1: 0.2 − 0.02 (k = −0.02); unused; 0.28 − (0.06 − 0.02).
    # Feature 2: −0.1 + 0.04 (k = 0.04); 0.04 − (0.06 + 0.04) < 0.
    assert weights_after(2, "fobos", l1=0.2, cumulative=True) == close([0.18, -0.06])
    assert weights_after(3, "fobos", l1=0.2, cumulative=True) == close([0.24, 0.0])
    # The L2 factor reaches every coordinate in every round.
    assert weights_after(2, "fobos", l1=0.2, l2=1.0, cumulative=True) == close(
        [(0.2 / 1.1 - 0.02) / 1.1, -0.1 / 1.1 + 0.04]
    )


def test_fr_comid_with_cumulative_penalty():
    # r U = 2 · 0.02, then (unused) −, then 2 · 0.06 with k = −0.04: 0.26 − (0.12 − 0.04).
    assert weights_after(1, "fr-comid", l1=0.2, cumulative=True) == close([0.16, 0.0])
    assert weights_after(3, "fr-comid", l1=0.2, cumulative=True)[0] == close(0.18)


def test_truncated_gradient():
    # K = 2, so only round 2 truncates, by 0.1 · 2 · 0.2 = 0.04.
    tg = {"rule": "truncated-gradient", "l1": 0.2, "truncate_every": 2}
    assert weights_after(1, **tg) == close([0.2, 0.0])
    assert weights_after(2, **tg) == close([0.16, -0.06])
    assert weights_after(3, **tg) == close([0.26, 0.04])
    assert weights_after(3, **tg, threshold=0.15) == close([0.3, 0.04])
    assert weights_after(2, **tg, l2=1.0) == close([0.16 / 1.2, -0.06 / 1.2])


def test_rounding():
    assert weights_after(1, "rounding", truncate_every=2, threshold=0.15) == close([0.2, 0.0])
    assert weights_after(2, "rounding", truncate_every=2, threshold=0.15) == close([0.2, 0.0])
    assert weights_after(3, "rounding", truncate_every=2, threshold=0.15) == close([0.3, 0.1])


def test_rda():
    # G_2 = (−2, 1), G_3 = (−3, 0).
    assert weights_after(2, "rda", l1=0.3) == close([0.14, -0.04])
    assert weights_after(3, "rda", l1=0.3) == close([0.21, 0.0])
    assert weights_after(2, "rda", l1=0.3, l2=2.0) == close([1.4 / 14, -0.4 / 14])
    assert weights_after(2, "rda", l1=0.3, schedule="inv_sqrt") == close(
        [0.14 / sqrt(2), -0.04 / sqrt(2)]
    )


def test_frda():
    # R_2 = (4, 1); R_3 = (6, 2) for q = ∞, (4 + √5, 1 + √2) for q = 2.
    assert weights_after(2, "frda", l1=0.3) == close([0.08, -0.07])
    assert weights_after(3, "frda", l1=0.3) == close([0.12, 0.0])
    assert weights_after(3, "frda", l1=0.3, q=2) == close([0.1 * (3 - 0.3 * (4 + sqrt(5))), 0.0])


def test_ftprl():
    # 1/η = 10, 20, 30. B_2 = 10 · 0.17; B_3 = 1.7 + 10 · 0.155 and −0.2.
    ftprl = {"rule": "ftprl", "l1": 0.3, "schedule": "inv_t"}
    assert weights_after(1, **ftprl) == close([0.17, 0.0])
    assert weights_after(2, **ftprl) == close([3.1 / 20, -0.4 / 20])
    assert weights_after(3, **ftprl) == close([5.35 / 30, 0.0])
    assert weights_after(1, **ftprl, l2=2.0) == close([1.7 / 12, 0.0])


def test_ftpfrl():
    # λR = (0.6, 0), (1.2, 0.3), (1.8, 0.6). B_2 = 1.4; B_3 = (2.5, −0.35).
    ftpfrl = {"rule": "ftpfrl", "l1": 0.3, "schedule": "inv_t"}
    assert weights_after(1, **ftpfrl) == close([0.14, 0.0])
    assert weights_after(2, **ftpfrl) == close([2.2 / 20, -0.7 / 20])
    assert weights_after(3, **ftpfrl) == close([3.7 / 30, 0.0])


def test_adagrad_fobos():
    # H = (2, 0), (2, 1), (√5, √2).
    assert weights_after(1, "adagrad-fobos", l1=0.2) == close([0.09, 0.0])
    assert weights_after(2, "adagrad-fobos", l1=0.2) == close([0.08, -0.08])
    assert weights_after(3, "adagrad-fobos", l1=0.2) == close([0.08 + 0.08 / sqrt(5), 0.0])
    assert weights_after(1, "adagrad-fobos", l1=0.2, beta=2.0) == close([0.045, 0.0])
    assert weights_after(1, "adagrad-fobos", l1=0.2, l2=1.0) == close([0.09 / 1.05, 0.0])

    # r_1 = (2, 0), r_2 = (2, 1), r_3 = (2, 1) by default; H_1 = (2, 0), H_2 = (2, 1).
    assert weights_after(1, "adagrad-fobos", l1=0.2, q=inf) == close([0.08, 0.0])
    assert weights_after(2, "adagrad-fobos", l1=0.2, q=inf) == close([0.06, -0.08])
    assert weights_after(1, "adagrad-fobos", l1=2.0, q=inf, basis="update") == close([0.09, 0.0])


def test_adagrad_rda():
    assert weights_after(2, "adagrad-rda", l1=0.2) == close([0.08, -0.06])
    assert weights_after(3, "adagrad-rda", l1=0.2) == close([0.1 * 2.4 / sqrt(5), 0.0])
    assert weights_after(2, "adagrad-rda", l1=0.2, l2=3.0) == close([1.6 / 26, -0.6 / 16])
    # G_2 = (-2, 1), R_2 = (4, 1).
    assert weights_after(2, "adagrad-rda", l1=0.2, q=inf) == close([0.1 * 1.2 / 2, -0.08])


def test_adagrad_ftprl():
    # z_1 = (2, 0), H_1 = (2, 0), w_1 = 0.1 (1.8, 0) / 2; z_2 = (2, -1), H_2 = (2, 1).
    assert weights_after(1, "adagrad-ftprl", l1=0.2) == close([0.09, 0.0])
    assert weights_after(2, "adagrad-ftprl", l1=0.2) == close([0.08, -0.06])
    # z_3 = (2 + 10 (√5 - 2) 0.08 + 1, -1 - 10 (√2 - 1) 0.06 + 1).
    z = 3 + 0.8 * (sqrt(5) - 2)
    assert weights_after(3, "adagrad-ftprl", l1=0.2) == close([0.1 * (z - 0.6) / sqrt(5), 0.0])
    assert weights_after(2, "adagrad-ftprl", l1=0.2, q=inf) == close([0.06, -0.08])


def test_scale_free():
    # r = (2, 0), (2, 1), (√5, √2); G = (-2, 0), (-2, 1), (-3, 0); s = (2, 0), (2, 1), (√2.5, 1).
    free = {"rule": "scale-free", "l1": 0.2, "beta": 0.0}
    assert weights_after(1, **free) == close([0.1 * 1.6 / 4, 0.0])
    assert weights_after(2, **free) == close([0.04, -0.1 * 0.8])
    expected = 0.1 * (3 - 0.2 * sqrt(5)) / sqrt(5 * 2.5)
    assert weights_after(3, **free) == close([expected, 0.0])
    assert weights_after(2, **free, l2=3.0) == close([1.6 / 46, -0.8 / 16])
    assert weights_after(2, "scale-free", l1=0.2) == close([0.1 * 1.52 / 8, -0.1 * 0.76 / 2])


def test_scale_free_ftrl():
    # r and s as above. In round 3, σ = ((2√5 - 4) / 0.1, (√2 - 1) / 0.1), and
    # z = (-3 - 0.02 σ, 0.04 σ): the second is below λ r = 0.2 √2.
    tied = {"rule": "scale-free-ftrl", "beta": 0.0}
    assert weights_after(1, **tied, l1=0.2) == close([0.04, 0.0])
    assert weights_after(2, **tied, l1=0.2) == close([0.04, -0.08])
    z = 3 + 0.2 * (2 * sqrt(5) - 4)
    expected = 0.1 * (z - 0.2 * sqrt(5)) / sqrt(5 * 2.5)
    assert weights_after(3, **tied, l1=0.2) == close([expected, 0.0])
    second = 0.1 * 0.5 * (sqrt(2) - 1) / sqrt(2)
    assert weights_after(3, **tied, l1=0.0)[1] == close(-second)
    assert weights_after(2, **tied, l1=0.2, l2=3.0) == close([1.6 / 46, -0.8 / 16])
    assert weights_after(1, "scale-free-ftrl", l1=0.2) == close([0.019, 0.0])


def test_ftrl():
    # w_1 = 1.5 / ((1 + 2)/0.1 + 2); feature 2: z = 1, w = −0.5 / (20 + 2).
    ftrl = {"rule": "ftrl", "l1": 0.5, "l2": 2.0}
    assert weights_after(2, **ftrl) == close([1.5 / 32, -0.5 / 22])
    z = 3 + (sqrt(5) - 2) / 0.1 * 1.5 / 32
    assert weights_after(3, **ftrl) == close([(z - 0.5) / (10 * (1 + sqrt(5)) + 2), 0.0])
    assert weights_after(1, **ftrl, beta=0.0) == close([1.5 / 22, 0.0])


# --- the loop -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "total"),
    [("inv_sqrt", 1 + 1 / sqrt(2) + 1 / sqrt(3)), ("constant", 3.0), ("inv_t", 1 + 1 / 2 + 1 / 3)],
)
def test_schedules(schedule, total):
    fitted = naive.fit(
        np.ones((3, 1)), np.ones(3), rule="ogd", loss="hinge", eta0=0.1, schedule=schedule
    )
    assert fitted.coef[0, 0] == close(0.1 * total)


def test_the_clock_goes_on_between_passes():
    twice = naive.fit(np.ones((1, 1)), np.ones(1), rule="ogd", loss="hinge", eta0=0.1, passes=2)
    assert twice.coef[0, 0] == close(0.1 + 0.1 / sqrt(2))
    assert twice.rounds == 2


def test_importance_multiplies_the_gradient_and_zero_is_no_round():
    fitted = naive.fit(
        np.ones((3, 1)),
        np.ones(3),
        rule="ogd",
        loss="hinge",
        eta0=0.1,
        sample_weight=np.array([2.0, 0.0, 0.5]),
    )
    assert fitted.coef[0, 0] == close(0.2 + 0.05 / sqrt(2))
    assert fitted.rounds == 2
    assert fitted.progressive_loss == close((2 * 1 + 0.5 * 0.8) / 2.5)


def test_intercept_is_not_penalised():
    fitted = naive.fit(
        ROWS,
        LABELS,
        rule="fobos",
        loss="hinge",
        l1=0.5,
        eta0=0.1,
        schedule="constant",
        fit_intercept=True,
    )
    assert fitted.intercept.tolist() == close([0.1])
    assert fitted.coef[0].tolist() == close([0.15, 0.0])


def test_intercept_is_not_rounded():
    fitted = naive.fit(
        ROWS[:2],
        LABELS[:2] * [1, -1],
        rule="rounding",
        loss="hinge",
        eta0=0.1,
        schedule="constant",
        truncate_every=1,
        threshold=10.0,
        fit_intercept=True,
    )
    assert fitted.intercept.tolist() == close([0.2])
    assert fitted.coef[0].tolist() == [0.0, 0.0]


def test_history_of_weights():
    fitted = naive.fit(
        ROWS,
        LABELS,
        rule="fobos",
        loss="hinge",
        l1=0.5,
        eta0=0.1,
        schedule="constant",
        history=True,
    )
    assert fitted.zero_after[:2, 0].tolist() == [[False, True], [False, False]]
    assert fitted.coef_after[1, 0].tolist() == close([0.10, -0.05])


def test_intensity_bases_differ():
    now = naive.Round(
        t=1,
        eta=0.5,
        eta_before=inf,
        eta_sum=0.5,
        x=np.array([0.0, 2.0]),
        g=np.array([[0.0, 6.0], [0.0, 0.0]]),
    )
    shape = (2, 2)
    gradient = naive.FeatureAwareIntensity(shape, 2, "gradient", 1e6)(now)
    update = naive.FeatureAwareIntensity(shape, 2, "update", 1e6)(now)
    feature = naive.FeatureAwareIntensity(shape, 2, "feature", 1e6)(now)
    assert gradient.tolist() == [[0, 6], [0, 0]]
    assert update.tolist() == [[0, 3], [0, 0]]
    assert feature.tolist() == [[0, 2], [0, 2]]  # every class of an occurring feature


def test_with_a_constant_step_ftprl_is_rda():
    assert weights_after(3, "ftprl", l1=0.3) == close(weights_after(3, "rda", l1=0.3))


# --- several classes ------------------------------------------------------------------------


def first_round(multiclass: str, loss: str, x, y: int) -> naive.Result:
    X = np.array([x, [0.0, 0.0]])
    return naive.fit(
        X,
        np.array([y, 2]),
        rule="ogd",
        loss=loss,
        eta0=0.1,
        schedule="constant",
        multiclass=multiclass,
        sample_weight=np.array([1.0, 0.0]),  # row 2 only says that there are three classes
    )


def test_crammer_singer():
    # All scores are 0: the best wrong class is the lowest index other than y.
    fitted = first_round("crammer_singer", "hinge", [1.0, 3.0], y=0)
    assert fitted.coef.tolist() == [close([0.1, 0.3]), close([-0.1, -0.3]), [0, 0]]
    assert fitted.progressive_loss == 1.0
    fitted = first_round("crammer_singer", "hinge", [1.0, 3.0], y=1)
    assert fitted.coef.tolist() == [close([-0.1, -0.3]), close([0.1, 0.3]), [0, 0]]
    fitted = first_round("crammer_singer", "logistic", [1.0, 0.0], y=1)
    assert fitted.coef[:, 0].tolist() == close([-0.05, 0.05, 0.0])


def test_softmax():
    fitted = first_round("softmax", "logistic", [1.0, 0.0], y=1)
    assert fitted.coef[:, 0].tolist() == close([-0.1 / 3, 0.2 / 3, -0.1 / 3])
    assert fitted.progressive_loss == close(log(3))


def test_softmax_of_unequal_scores():
    value, slopes = naive.softmax(None, np.array([0.0, log(2), log(5)]), 1)
    assert value == close(log(4))
    assert slopes.tolist() == close([1 / 8, 2 / 8 - 1, 5 / 8])


def test_one_versus_rest():
    fitted = first_round("ovr", "hinge", [1.0, 0.0], y=1)
    assert fitted.coef[:, 0].tolist() == close([-0.1, 0.1, -0.1])
    assert fitted.progressive_loss == 3.0


# --- losses ---------------------------------------------------------------------------------

ALL_LOSSES = [*naive.MARGIN_LOSSES, *naive.REGRESSION_LOSSES]
SCORES = [-3.3, -1.2, -0.7, -0.05, 0.04, 0.6, 0.9, 1.3, 4.1]  # away from every kink


@pytest.mark.parametrize("name", ALL_LOSSES)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_slope_is_the_derivative(name, y):
    loss = naive.make_loss(name, epsilon=0.25, quantile=0.3)
    for p in SCORES:
        step = 1e-6
        numeric = (loss.value(p + step, y) - loss.value(p - step, y)) / (2 * step)
        assert loss.slope(p, y) == pytest.approx(numeric, rel=1e-6, abs=1e-8), p


@pytest.mark.parametrize(
    ("name", "p", "y", "value", "slope"),
    [
        ("hinge", 1.0, 1.0, 0.0, 0.0),  # the kink
        ("hinge", 0.5, -1.0, 1.5, 1.0),
        ("squared_hinge", 0.5, -1.0, 2.25, 3.0),
        ("squared_hinge", 2.0, 1.0, 0.0, 0.0),
        ("logistic", 0.0, 1.0, log(2), -0.5),
        ("logistic", log(3), -1.0, log(4), 0.75),
        ("logistic", -800.0, 1.0, 800.0, -1.0),
        ("logistic", 30.0, 1.0, exp(-30), -exp(-30)),
        ("modified_huber", -2.0, 1.0, 8.0, -4.0),
        ("modified_huber", -1.0, 1.0, 4.0, -4.0),
        ("modified_huber", 0.5, 1.0, 0.25, -1.0),
        ("perceptron", 0.0, 1.0, 0.0, -1.0),  # the kink does update
        ("perceptron", 0.5, -1.0, 0.5, 1.0),
        ("squared", 3.0, 1.0, 4.0, 4.0),
        ("huber", 1.1, 1.0, 0.005, 0.1),
        ("huber", 3.0, 1.0, 0.25 * 2 - 0.25**2 / 2, 0.25),
        ("epsilon_insensitive", 1.25, 1.0, 0.0, 0.0),  # the edge of the tube
        ("epsilon_insensitive", 0.0, 1.0, 0.75, -1.0),
        ("quantile", 1.0, 1.0, 0.0, 0.0),
        ("quantile", 0.0, 1.0, 0.3, -0.3),
        ("quantile", 2.0, 1.0, 0.7, 0.7),
    ],
)
def test_loss_by_hand(name, p, y, value, slope):
    loss = naive.make_loss(name, epsilon=0.25, quantile=0.3)
    assert loss.value(p, y) == pytest.approx(value, rel=1e-9)
    assert loss.slope(p, y) == pytest.approx(slope, rel=1e-9)
