"""Each loss: the slope is the derivative of the value; convex; stable far out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarefy.losses import MARGIN_LOSSES, REGRESSION_LOSSES, Hinge, Logistic
from rarefy.multiclass import CrammerSinger, OneVsRest, Softmax
from rarefy.weighting import PlainUpdate

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
