"""A set of numbers, as bits."""

import numpy as np

from rarefy.arrays import Flags, Numbers


class Bits:
    """Bits by number, zero until they are set.

    >>> bits = Bits()
    >>> bits.set(np.array([1, 9]), np.array([True, True]))
    >>> bits.set(np.array([1, 2]), np.array([False, True]))
    >>> bits.get(np.array([1, 2, 9, 1000])).tolist()
    [False, True, True, False]
    """

    def __init__(self) -> None:
        self.bytes = np.zeros(1, dtype=np.uint8)

    def set(self, numbers: Numbers, flags: Flags) -> None:
        """Make these bits, all different, what the flags say."""
        n_bytes = int(numbers.max(initial=0)) // 8 + 1
        if n_bytes > len(self.bytes):
            grown = np.zeros(max(n_bytes, len(self.bytes) * 3 // 2), dtype=np.uint8)
            grown[: len(self.bytes)] = self.bytes
            self.bytes = grown
        place, bit = np.divmod(numbers, 8)
        mask = (1 << bit).astype(np.uint8)
        np.bitwise_and.at(self.bytes, place[~flags], ~mask[~flags])
        np.bitwise_or.at(self.bytes, place[flags], mask[flags])

    def get(self, numbers: Numbers) -> Flags:
        known = numbers < 8 * len(self.bytes)
        place, bit = np.divmod(np.where(known, numbers, 0), 8)
        found: Flags = (self.bytes[place] >> bit) & 1 == 1
        return known & found
