"""The feature-aware intensity against its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarefy.rules.penalty_norm import Basis, Intensity, growth_of, norm_for

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30)
Q = [1.0, 1.5, 2.0, 3.0, 7.0, math.inf]


def grown(intensity, values, *, x=1.0, eta=1.0):
    r = 0.0
    for g in values:
        r = intensity.grow(r, g, x, eta)
    return r


def norm(values, q):
    """The norm by its definition, scaled so that powers of small numbers do not vanish."""
    largest = np.abs(values).max()
    return largest * np.linalg.norm(np.array(values) / largest, q) if largest else 0.0


@pytest.mark.parametrize("q", Q)
@given(values=VALUES)
def test_norm_of_all_values_so_far(q, values):
    r = grown(Intensity(norm_for(q), cap=math.inf), values)
    assert r == pytest.approx(norm(values, q), rel=1e-12, abs=1e-150)


@given(values=VALUES)
def test_the_cap_is_an_upper_bound(values):
    r = grown(Intensity(norm_for(2.0), cap=5.0), values)
    assert r == pytest.approx(min(5.0, np.linalg.norm(values)), rel=1e-12)


def test_bases():
    grow = {basis: Intensity(norm_for(1.0), basis).grow(0.0, -3.0, 5.0, 0.1) for basis in Basis}
    assert grow[Basis.GRADIENT] == 3.0
    assert grow[Basis.UPDATE] == pytest.approx(0.3)
    assert grow[Basis.FEATURE] == 5.0


@pytest.mark.parametrize("q", [50.0, 3.0])
def test_large_powers_do_not_overflow(q):
    r = grown(Intensity(norm_for(q), cap=math.inf), [1e90, 1e90])
    assert r == pytest.approx(1e90 * 2.0 ** (1.0 / q))


@pytest.mark.parametrize("q", Q)
@pytest.mark.parametrize("basis", Basis)
def test_growth(q, basis):
    """From 10,000 to 40,000 examples with subgradients alike and steps that fall as the root."""
    intensity, r = Intensity(norm_for(q), basis, cap=math.inf), {0: 0.0}
    for t in range(1, 40_001):
        r[t] = intensity.grow(r[t - 1], -1.0, 1.0, 1.0 / math.sqrt(t))
    power = math.log(r[40_000] / r[10_000]) / math.log(4.0)
    expected = growth_of(intensity)
    logarithmic = basis == Basis.UPDATE and q in (2.0, 3.0)
    assert power == pytest.approx(expected, abs=0.06 if logarithmic else 0.02)


@pytest.mark.parametrize("basis", Basis)
def test_growth_by_formula(basis):
    is_update = basis == Basis.UPDATE
    expected = {q: max(1 / q - 0.5, 0.0) if is_update else 1 / q for q in Q}
    assert {q: growth_of(Intensity(norm_for(q), basis)) for q in Q} == expected
