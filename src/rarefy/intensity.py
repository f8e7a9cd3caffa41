"""The feature-aware intensity r of the penalty (T4.16, T4.52; S5; H12).

r_t = min(V, (Σ_{τ ≤ t} |u_τ|^q)^(1/q)); for q = inf the largest |u| so far.
"""

import math
from enum import IntEnum

from rarefy.jit import helper


class Basis(IntEnum):
    """What u is: the thing whose norm scales a feature's penalty."""

    GRADIENT = 0  # u = g: FR-COMID, FRDA, FTPFRL of the thesis
    UPDATE = 1  # u = η_t g: SGFT, HF-FOBOS
    FEATURE = 2  # u = x (T4.107)


@helper
def grow_intensity(
    r: float, g: float, x: float, eta: float, q: float, basis: Basis, cap: float
) -> float:
    """r_t from r_{t-1}; the sum of powers is never formed, so it cannot overflow."""
    u = abs(g)
    if basis == Basis.UPDATE:
        u *= eta
    elif basis == Basis.FEATURE:
        u = abs(x)
    return min(cap, grow_norm(r, u, q))


@helper
def grow_norm(r: float, u: float, q: float) -> float:
    """(r^q + u^q)^(1/q) for r, u >= 0."""
    if q == math.inf:
        return max(r, u)
    if q == 2.0:
        return math.sqrt(r * r + u * u)
    if q == 1.0:
        return r + u
    larger = max(r, u)
    if larger == 0.0:
        return 0.0
    return larger * math.exp(math.log1p((min(r, u) / larger) ** q) / q)
