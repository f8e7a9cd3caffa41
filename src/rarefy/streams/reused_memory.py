"""Memory for rows that are kept for a while: fresh memory is slow."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

SLAB = 1 << 25  # bytes that are asked of the system at a time, so that it gives large pages
MOST_BLOCKS = 64  # in a slab

Bytes = NDArray[np.uint8]


class ReusedMemory:
    """Blocks of memory, each of which is used again once no array refers to it."""

    def __init__(self) -> None:
        self._free: deque[Bytes] = deque()

    def __call__(self, n_bytes: int) -> Bytes:
        """So many bytes, in which there may be anything."""
        try:
            block = self._free.pop()
        except IndexError:  # threads may ask at the same time
            block = np.empty(0, np.uint8)
        if len(block) < n_bytes:
            size = max(n_bytes + n_bytes // 8, SLAB // MOST_BLOCKS)  # others may need a little more
            size = -(-size // 8) * 8  # whole words
            block, *others = np.empty((max(SLAB // size, 1), size), np.uint8)
            self._free.extend(others)
        return np.asarray(_Lent(block, self._free))[:n_bytes]


class _Lent:
    """A block that goes back when the last array is gone that has its memory."""

    def __init__(self, block: Bytes, free: deque[Bytes]) -> None:
        self.__array_interface__ = block.__array_interface__
        self._block, self._free = block, free

    def __del__(self) -> None:
        self._free.append(self._block)
