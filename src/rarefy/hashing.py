"""The hash of string features: XXH64, so that any program can compute the same keys.

The key of a feature is XXH64(name, seed), where the seed is XXH64(namespace, 0), or 0 for features
without a namespace; both strings in UTF-8. The key of a cross is XXH64 of the two keys.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compiled, helper, inlined
from rarefy.jit.intrinsics import load_half_word, load_word

_U64 = np.uint64
PRIME1, PRIME2 = _U64(0x9E3779B185EBCA87), _U64(0xC2B2AE3D27D4EB4F)
PRIME3, PRIME4 = _U64(0x165667B19E3779F9), _U64(0x85EBCA77C2B2AE63)
PRIME5 = _U64(0x27D4EB2F165667C5)


@helper
def _rotate(x: np.uint64, bits: int) -> np.uint64:
    return (x << _U64(bits)) | (x >> _U64(64 - bits))


@helper
def _round(lane: np.uint64, word: np.uint64) -> np.uint64:
    return _rotate(lane + word * PRIME2, 31) * PRIME1


@helper
def _merge(h: np.uint64, lane: np.uint64) -> np.uint64:
    return (h ^ _round(_U64(0), lane)) * PRIME1 + PRIME4


@helper
def _with_eight(h: np.uint64, word: np.uint64) -> np.uint64:
    return _rotate(h ^ _round(_U64(0), word), 27) * PRIME1 + PRIME4


@helper
def _with_four(h: np.uint64, word: np.uint64) -> np.uint64:
    return _rotate(h ^ (word * PRIME1), 23) * PRIME2 + PRIME3


@helper
def _with_one(h: np.uint64, byte: np.uint64) -> np.uint64:
    return _rotate(h ^ (byte * PRIME5), 11) * PRIME1


@helper
def _finish(h: np.uint64) -> np.uint64:
    h ^= h >> _U64(33)
    h *= PRIME2
    h ^= h >> _U64(29)
    h *= PRIME3
    return h ^ (h >> _U64(32))


@helper
def xxh64(data: NDArray[np.uint8], begin: int, end: int, seed: np.uint64) -> np.uint64:
    """XXH64 of data[begin:end]."""
    i = begin
    h = seed + PRIME5
    if end - begin >= 32:
        a, b, c, d = seed + PRIME1 + PRIME2, seed + PRIME2, seed, seed - PRIME1
        while i + 32 <= end:
            a = _round(a, load_word(data, i))
            b = _round(b, load_word(data, i + 8))
            c = _round(c, load_word(data, i + 16))
            d = _round(d, load_word(data, i + 24))
            i += 32
        h = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        h = _merge(_merge(_merge(_merge(h, a), b), c), d)
    h += _U64(end - begin)
    while i + 8 <= end:
        h = _with_eight(h, load_word(data, i))
        i += 8
    if i + 4 <= end:
        h = _with_four(h, _U64(load_half_word(data, i)))
        i += 4
    for k in range(3):
        if i + k < end:
            h = _with_one(h, _U64(data[_U64(i + k)]))
    return _finish(h)


@inlined
def xxh64_short(
    first: np.uint64, second: np.uint64, n_bytes: np.uint64, seed: np.uint64
) -> np.uint64:
    """XXH64 of less than 16 bytes: those of two words, the rest of which may be anything.

    Every step is done, and its result taken or not: lengths of words cannot be guessed, and going
    back after a wrong guess takes longer than the steps.
    """
    h = seed + PRIME5 + n_bytes
    more = _with_eight(h, first)
    h, rest = (more, second) if n_bytes & _U64(8) else (h, first)
    more = _with_four(h, rest & _U64(0xFFFFFFFF))
    h, rest = (more, rest >> _U64(32)) if n_bytes & _U64(4) else (h, rest)
    more = _with_one(h, rest & _U64(0xFF))
    h = more if n_bytes & _U64(3) else h
    more = _with_one(h, (rest >> _U64(8)) & _U64(0xFF))
    h = more if n_bytes & _U64(2) else h
    more = _with_one(h, (rest >> _U64(16)) & _U64(0xFF))
    h = more if (n_bytes & _U64(3)) == _U64(3) else h
    return _finish(h)


@helper
def hash_pair(first: np.uint64, second: np.uint64) -> np.uint64:
    """XXH64 of two keys, 16 bytes, with the seed 0."""
    h = PRIME5 + _U64(16)
    return _finish(_with_eight(_with_eight(h, first), second))


@compiled
def _hash(data: NDArray[np.uint8], seed: np.uint64) -> np.uint64:
    return xxh64(data, 0, len(data), seed)


def hash_text(text: str, seed: int = 0) -> int:
    """The hash of a text, from Python.

    >>> hash_text("spam", seed=hash_text("word"))
    6933441041356048786
    """
    return hash_array(np.frombuffer(text.encode(), np.uint8), seed)


def hash_array(array: NDArray[Any], seed: int = 0) -> int:
    """The hash of an array's bytes."""
    return int(_hash(array.view(np.uint8), np.uint64(seed)))
