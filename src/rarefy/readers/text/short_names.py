"""Hashing of names shorter than 16 bytes, several at a time.

As with short numbers (short_numbers.py), a first step only finds the names and copies them, and a
second one, which has no branches, hashes many of them, so that the compiler makes it work on
several at once.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.hashing import xxh64_short
from rarefy.jit import helper
from rarefy.jit.intrinsics import WINDOW, bytes_between, load_word, trailing_zeros
from rarefy.readers.text.numbers import BAR, COLON, SPACE, ends_token
from rarefy.readers.text.scan import AT_ONCE, add_ends

ENOUGH_NAMES = 256  # in one go, while the nearest cache holds them
_ONE, _EIGHT, _MOST_BYTES = np.uint64(1), np.uint64(8), np.uint64(15)
_DIGIT_0, _N_DIGITS = np.uint8(48), np.uint8(10)


class ShortNames(NamedTuple):
    """Room for names: how far behind the beginning of the first they end, and their bytes."""

    ends: NDArray[np.uint32]
    first_eight: NDArray[np.uint64]
    next_eight: NDArray[np.uint64]


def new_short_names() -> ShortNames:
    n = ENOUGH_NAMES + WINDOW + AT_ONCE
    return ShortNames(np.empty(n, np.uint32), np.empty(n, np.uint64), np.empty(n, np.uint64))


@helper
def find_short_names(data: Any, begin: int, names: ShortNames, no_indices: bool) -> tuple[Any, Any]:
    """Find the names from `begin` on, before the first that is not short, or has a value.

    With `no_indices` also before the first that begins with a digit. Gives their number, and
    the position after the last.
    """
    at = np.uint64(begin)
    offset, n_ends = np.uint64(0), np.uint64(0)
    goes_on = True
    while goes_on and n_ends < ENOUGH_NAMES:
        found = bytes_between(data, at + offset, SPACE, SPACE)
        others = bytes_between(data, at + offset, 0, SPACE - 1)
        others |= bytes_between(data, at + offset, COLON, COLON)
        others |= bytes_between(data, at + offset, BAR, BAR)
        if others != 0:
            first_other = others & (~others + _ONE)
            ends_name = ends_token(data[at + offset + trailing_zeros(others)])
            found = (found | (first_other if ends_name else np.uint64(0))) & (
                first_other | (first_other - _ONE)
            )
            goes_on = False
        n_ends = add_ends(found, offset, names.ends, n_ends)
        offset += np.uint64(WINDOW)
    n_names, name = np.uint64(0), np.uint64(0)
    while n_names < n_ends:
        end = np.uint64(names.ends[n_names])
        is_short = end - name - _ONE < _MOST_BYTES
        if not is_short or (no_indices and data[at + name] - _DIGIT_0 < _N_DIGITS):
            break
        names.first_eight[n_names] = load_word(data, at + name)
        names.next_eight[n_names] = load_word(data, at + name + _EIGHT)
        name = end + _ONE
        n_names += _ONE
    return np.int64(n_names), begin + np.int64(name) - 1


@helper
def hash_short_names(names: ShortNames, n: int, seed: Any, keys: Any, first: int) -> None:
    """Write the keys of the first n names, from `first` on."""
    at, n_bytes = np.uint64(first), np.uint64(names.ends[0])
    keys[at] = xxh64_short(names.first_eight[0], names.next_eight[0], n_bytes, seed)
    for k in range(_ONE, np.uint64(n)):
        n_bytes = np.uint64(names.ends[k]) - np.uint64(names.ends[k - _ONE]) - _ONE
        keys[at + k] = xxh64_short(names.first_eight[k], names.next_eight[k], n_bytes, seed)
