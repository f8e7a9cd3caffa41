"""The hash of string features is XXH64, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from rarefy.hashing import xxh64
from rarefy.jit import compiled

SEEDS = (0, 1, 0x9E3779B185EBCA87, 2**63, 2**64 - 1)
TEXT = np.random.default_rng(0).integers(0, 256, 300, dtype=np.uint8)


@compiled
def hashed(data, begin, end, seed):
    return xxh64(data, begin, end, seed)


def hash_of(text: bytes, seed: int, *, before: bytes = b"", after: bytes = b"") -> int:
    data = np.frombuffer(before + text + after, np.uint8)
    return int(hashed(data, len(before), len(before) + len(text), np.uint64(seed)))


@pytest.mark.parametrize("seed", SEEDS, ids=hex)
def test_lengths_from_0_to_200(seed):
    for length in range(201):
        text = TEXT[:length].tobytes()
        assert hash_of(text, seed) == xxhash.xxh64_intdigest(text, seed), length


def test_only_the_named_bytes_count():
    for length in (0, 3, 8, 31, 32, 45):
        text = TEXT[:length].tobytes()
        expected = xxhash.xxh64_intdigest(text, 7)
        assert hash_of(text, 7, before=b"abc", after=b"\xff\xff") == expected


@settings(deadline=None)  # the first example compiles
@given(st.binary(max_size=150), st.integers(0, 2**64 - 1))
def test_any_text_and_seed(text, seed):
    assert hash_of(text, seed) == xxhash.xxh64_intdigest(text, seed)
