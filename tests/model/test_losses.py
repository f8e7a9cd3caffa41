"""Each loss: the slope is the derivative of the value; convex; stable far out; how it drifts."""

import math
from decimal import MAX_EMAX, Context, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarefy.model.importance import AwareUpdate, PlainUpdate
from rarefy.model.losses import MARGIN_LOSSES, REGRESSION_LOSSES, Hinge, Logistic
from rarefy.model.multiclass import CrammerSinger, OneVsRest, Softmax
from tests.selecting import examples

LOSSES = {
    **{
        f"{name}{sign:+d}": (kind(), sign)
        for name, kind in MARGIN_LOSSES.items()
        for sign in (-1, 1)
    },
    **{name: (kind(), 0.3) for name, kind in REGRESSION_LOSSES.items()},
    "huber, wide": (REGRESSION_LOSSES["huber"](1.5), -0.2),
    "quantile 0.9": (REGRESSION_LOSSES["quantile"](0.9), 0.3),
}
MULTICLASS = {
    "crammer_singer": CrammerSinger(Hinge()),
    "crammer_singer of logistic": CrammerSinger(Logistic()),
    "softmax": Softmax(),
    "ovr": OneVsRest(Logistic()),
}
SCORES = st.floats(-5.0, 5.0)


@pytest.mark.parametrize("name", LOSSES)
@given(p=SCORES)
def test_slope_is_the_derivative_of_the_value(name, p):
    loss, y = LOSSES[name]
    h = 1e-6
    left, right = loss.value(p - h, y), loss.value(p + h, y)
    kinked = abs(right - 2.0 * loss.value(p, y) + left) > 10.0 * h * h
    if not kinked:
        assert loss.slope(p, float(y)) == pytest.approx((right - left) / (2.0 * h), abs=1e-5)


@pytest.mark.parametrize("name", LOSSES)
@given(p=SCORES, other=SCORES)
def test_slope_is_a_subgradient_everywhere(name, p, other):
    loss, y = LOSSES[name]
    line = loss.value(p, y) + loss.slope(p, y) * (other - p)
    if name.startswith("perceptron") and p == 0.0:
        return  # by convention it steps there, with a slope from one side
    assert loss.value(other, y) >= line - 1e-9


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("p", [-1e6, -1e3, 0.0, 1e3, 1e6])
def test_far_scores_stay_finite(name, p):
    loss, y = LOSSES[name]
    assert math.isfinite(loss.value(p, y))
    assert math.isfinite(loss.slope(p, y))
    assert loss.value(p, y) >= 0.0


# --- drift ------------------------------------------------------------------------------------

DRIFTING = [name for name in LOSSES if not name.startswith("perceptron")]
FAR = st.floats(-1e6, 1e6)
TIMES = st.floats(0.0, 1e6) | st.floats(-12.0, 6.0).map(lambda exponent: 10.0**exponent)


@pytest.mark.parametrize("name", DRIFTING)
@given(p=FAR | SCORES, a=TIMES, b=TIMES)
def test_drifting_twice_is_drifting_for_the_sum(name, p, a, b):
    loss, y = LOSSES[name]
    halfway = p + loss.drift(p, y, a)
    end = halfway + loss.drift(halfway, y, b)
    assert end == pytest.approx(p + loss.drift(p, y, a + b), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", DRIFTING)
@given(p=FAR | SCORES, time=TIMES)
def test_drift_goes_downhill_and_never_past_the_minimum(name, p, time):
    loss, y = LOSSES[name]
    drift, slope = loss.drift(p, y, time), loss.slope(p, y)
    assert drift * slope <= 0.0
    assert loss.slope(p + drift, y) * slope >= 0.0 or abs(p + drift - y) <= 1e-9
    if name.startswith("hinge"):
        assert y * (p + drift) <= max(1.0, y * p) + 1e-9


@pytest.mark.parametrize("name", DRIFTING)
@given(p=FAR | SCORES, time=st.floats(1e-12, 1e-9))
def test_a_short_drift_follows_the_slope(name, p, time):
    loss, y = LOSSES[name]
    kinked = loss.slope(p + loss.drift(p, y, time), y) != pytest.approx(loss.slope(p, y), rel=1e-6)
    if not kinked:
        assert loss.drift(p, y, time) == pytest.approx(-loss.slope(p, y) * time, rel=1e-6)


def solved_in_decimal(m: float, time: float) -> float:
    """δ with e^(m + δ) + δ = e^m + time, by bisection."""
    with localcontext(Context(prec=60, Emin=-MAX_EMAX, Emax=MAX_EMAX)):
        low, high, e_m = Decimal(0), Decimal(time), Decimal(m).exp()
        for _ in range(150):
            middle = (low + high) / 2
            above = (Decimal(m) + middle).exp() + middle > e_m + Decimal(time)
            low, high = (low, middle) if above else (middle, high)
        return float(low)


@settings(max_examples=examples(50))
@given(m=st.floats(-1e6, 40.0) | st.floats(-40.0, 40.0), time=TIMES)
def test_drift_of_the_logistic_loss(m, time):
    """Beyond margins of 40 the bisection runs out of digits; there is next to no drift there."""
    assert Logistic().drift(m, 1.0, time) == pytest.approx(solved_in_decimal(m, time), rel=1e-9)


@pytest.mark.parametrize("m", [-1e75, -1e6, -745.0, 0.0, 745.0, 1e6, 1e75])
@pytest.mark.parametrize("time", [0.0, 5e-324, 1e-20, 1.0, 1e6, 1e200])
def test_drift_of_the_logistic_loss_far_out(m, time):
    drift = Logistic().drift(m, 1.0, time)
    assert 0.0 <= drift <= time
    assert m + drift <= max(m, 500.0)


@pytest.mark.parametrize("name", DRIFTING)
@given(p=FAR, importance=TIMES, reach=TIMES)
def test_an_aware_step_leads_to_where_the_drift_does(name, p, importance, reach):
    loss, y = LOSSES[name]
    slope = AwareUpdate().slope(loss, p, y, importance, reach)
    end = p + loss.drift(p, y, importance * reach)
    assert p - reach * slope == pytest.approx(end if reach else p, rel=1e-9, abs=1e-9)


def test_kinks():
    assert Hinge().slope(1.0, 1.0) == 0.0
    assert MARGIN_LOSSES["perceptron"]().slope(0.0, 1.0) == -1.0
    assert REGRESSION_LOSSES["quantile"]().slope(0.3, 0.3) == 0.0
    assert REGRESSION_LOSSES["epsilon_insensitive"](0.5).slope(1.5, 1.0) == 0.0


@pytest.mark.parametrize("name", MULTICLASS)
@given(scores=st.lists(SCORES, min_size=3, max_size=5), data=st.data())
def test_multiclass_slopes_are_the_gradient(name, scores, data):
    loss, p = MULTICLASS[name], np.array(scores)
    y = data.draw(st.integers(0, len(scores) - 1))
    slopes = np.empty(len(p))
    loss.slopes(p, y, PlainUpdate(), 1.0, 0.0, slopes)
    h = 1e-6
    for z in range(len(p)):
        up, down = p.copy(), p.copy()
        up[z] += h
        down[z] -= h
        right, left, here = loss.value(up, y), loss.value(down, y), loss.value(p, y)
        if abs(right - 2.0 * here + left) <= 10.0 * h * h:
            assert slopes[z] == pytest.approx((right - left) / (2.0 * h), abs=1e-5)


@pytest.mark.parametrize("name", MULTICLASS)
def test_far_multiclass_scores_stay_finite(name):
    p, slopes = np.array([1e6, -1e6, 0.0]), np.empty(3)
    for y in range(3):
        MULTICLASS[name].slopes(p, y, PlainUpdate(), 1.0, 0.0, slopes)
        assert np.isfinite(slopes).all()
        assert math.isfinite(MULTICLASS[name].value(p, y))


def test_the_first_of_equal_rivals_is_taken():
    slopes = np.empty(4)
    CrammerSinger(Hinge()).slopes(np.zeros(4), 0, PlainUpdate(), 1.0, 0.0, slopes)
    assert slopes.tolist() == [-1.0, 1.0, 0.0, 0.0]
