"""Machine code as a built-in function of Python."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from rarefy.jit import compiled, private_path, python_function


@compiled
def _count(found) -> int:
    found[0] += 1.0
    return int(found[0])


@pytest.mark.skipif(private_path.is_refused(), reason="loops are compiled by Numba alone")
def test_a_function_keeps_its_code():
    """Threads that want the same code at once make it twice, and one of the two is forgotten."""
    python_function._code.cache_clear()  # so that no other function has this one
    found = np.zeros(1)
    call = _count.bound(found)
    engine = weakref.ref(python_function._code(1, 0, False)[0])
    python_function._code.cache_clear()
    gc.collect()
    assert engine() is not None
    assert [call(), call()] == [1, 2]
    del call
    gc.collect()
    assert engine() is None
