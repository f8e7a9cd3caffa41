"""Finding the ends of tokens, a few thousand bytes at a time, compiled.

A parser that goes from token to token has to find the end of one before it can begin with the
next, and the processor can do little else meanwhile. Here the text is compared with the separators
32 bytes at once, which gives a bit for each byte, and the positions of the bits are written down.
With these at hand, tokens do not depend on each other, and the processor works on several of them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compiled, helper, inlined
from rarefy.jit.intrinsics import WINDOW, bytes_between, count_ones, trailing_zeros
from rarefy.readers.text.numbers import NEWLINE, RETURN

SCANNED_BYTES = 1 << 14
AT_ONCE = 8
MOST_ENDS = SCANNED_BYTES + WINDOW + AT_ONCE
_ONE = np.uint64(1)


class Scan(NamedTuple):
    """Which ends of tokens are known, as offsets from a position, and which of them were used."""

    base: np.uint64
    n_used: np.uint64
    n_known: np.uint64


@inlined
def add_ends(found: Any, offset: Any, ends: NDArray[np.uint32], count: Any) -> Any:
    """Write the positions of the bits, from `offset` on, behind so many ends; how many there are.

    Some are written without asking whether there are so many.
    """
    n_found = count_ones(found)
    for k in range(AT_ONCE):
        ends[count + np.uint64(k)] = offset + trailing_zeros(found)
        found &= found - _ONE
    at = count + np.uint64(AT_ONCE)
    while found != 0:
        ends[at] = offset + trailing_zeros(found)
        found &= found - _ONE
        at += _ONE
    return count + n_found


@helper
def scanned(data: Any, begin: Any, end: Any, ends: NDArray[np.uint32]) -> Scan:
    """Find the ends of tokens of digits, signs and points in the text from `begin` on.

    All bytes end such a token but those from '-' to '9'. About sixteen thousand bytes are looked
    at, or as many as there are up to `end`, and up to 31 behind it.
    """
    n_bytes = end - begin
    if n_bytes > SCANNED_BYTES:
        n_bytes = np.uint64(SCANNED_BYTES)
    offset, count = np.uint64(0), np.uint64(0)
    while offset < n_bytes:
        found = bytes_between(data, begin + offset, 45, 57) ^ np.uint64(0xFFFFFFFF)
        count = add_ends(found, offset, ends, count)
        offset += np.uint64(WINDOW)
    return Scan(begin, np.uint64(0), count)


@compiled
def skip_empty_lines(data: Any, i: int, end: int) -> int:
    """The position of the first line that is not empty."""
    while i < end and (data[i] == NEWLINE or (data[i] == RETURN and data[i + 1] == NEWLINE)):
        i += 1
    return i


@compiled
def n_lines(data: Any, begin: int, end: int) -> int:
    """How many newlines there are in a text that ends with one."""
    total = np.uint64(0)
    i = begin
    while i + WINDOW <= end:
        total += count_ones(bytes_between(data, i, NEWLINE, NEWLINE))
        i += WINDOW
    while i < end:
        total += np.uint64(data[i] == NEWLINE)
        i += 1
    return np.int64(total)  # type: ignore[return-value]
