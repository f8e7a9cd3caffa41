"""The state of all coordinates: an array with a row for each."""

import math

import numpy as np

from rarefy.arrays import Floats
from rarefy.jit.intrinsics import row_width

CACHE_LINE = 64


def new_state(n_fields: int, n_slots: int) -> Floats:
    """Rows of zeros, aligned with the cache lines."""
    return aligned_zeros(n_slots, row_width(n_fields))


def aligned_zeros(*shape: int) -> Floats:
    """An array of zeros that begins with a cache line."""
    n_bytes = math.prod(shape) * 8
    raw = np.zeros(n_bytes + CACHE_LINE, dtype=np.uint8)
    start = -raw.ctypes.data % CACHE_LINE
    return raw[start : start + n_bytes].view(np.float64).reshape(shape)


def grown_state(state: Floats, n_fields: int, n_slots: int) -> Floats:
    """A state with room for at least n_slots coordinates, and some more to come."""
    if n_slots <= len(state):
        return state
    grown = new_state(n_fields, max(n_slots, len(state) + len(state) // 2))
    grown[: len(state)] = state
    return grown
