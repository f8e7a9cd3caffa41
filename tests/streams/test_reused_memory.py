"""Memory that is used again once no array refers to it."""

from __future__ import annotations

import numpy as np

from rarefy.streams.reused_memory import MOST_BLOCKS, ReusedMemory


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_nobody_has_it():
    memory = ReusedMemory()
    first = memory(1000)
    kept = first[8:16].view(np.float64)
    place = address(first)
    kept[0] = 7.0
    del first
    second = memory(1000)
    second[:] = 1
    assert kept[0] == 7.0
    assert address(second) != place
    del kept
    blocks = [memory(1000) for _ in range(MOST_BLOCKS)]
    assert place in {address(block) for block in blocks}


def test_there_are_as_many_bytes_as_asked_for():
    memory = ReusedMemory()
    blocks = [memory(n) for n in (0, 1, 1000, 1 << 26, 3)]
    assert [len(block) for block in blocks] == [0, 1, 1000, 1 << 26, 3]
    for n, block in enumerate(blocks):
        block[:] = n
    assert all((block == n).all() for n, block in enumerate(blocks))
