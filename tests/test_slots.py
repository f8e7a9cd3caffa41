"""From keys to slots: what shares a slot is added up, and zeros are gone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rarefy.slots import HashedSlots

from rarefy.readers import Batch

Features = list[tuple[int, float]]


def batch_of(rows: list[Features]) -> Batch:
    features = [feature for row in rows for feature in row]
    n = len(rows)
    return Batch(
        "somewhere",
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array([key for key, _ in features], dtype=np.uint64),
        np.array([value for _, value in features], dtype=np.float64),
        np.arange(n, dtype=np.float64),
        np.linspace(0.5, 2.0, n),
        np.arange(1, n + 1, dtype=np.int64),
    )


def merged(row: Features, bits: int) -> Features:
    """Slots in the order of first appearance (of a value that is not zero) and their sums."""
    sums: dict[int, float] = {}
    for key, value in row:
        if value != 0.0:
            slot = key % 2**bits
            sums[slot] = sums[slot] + value if slot in sums else value
    return [(slot, total) for slot, total in sums.items() if total != 0.0]


def rows_from(slots: HashedSlots, rows: list[Features]) -> list[Features]:
    batch = batch_of(rows)
    y = batch.labels.copy()
    found = slots.rows(batch, y)
    assert found.indptr[0] == 0
    assert found.indptr[-1] == len(found.indices) == len(found.values)
    assert np.array_equal(found.y, y)
    assert np.array_equal(found.importance, np.linspace(0.5, 2.0, len(rows)))
    ends = zip(found.indptr[:-1], found.indptr[1:], strict=True)
    return [
        list(zip(found.indices[a:b].tolist(), found.values[a:b].tolist(), strict=True))
        for a, b in ends
    ]


def random_rows(lengths: list[int], n_keys: int, seed: int) -> list[Features]:
    """Rows with many repeated keys, zeros, and values that cancel."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, n_keys, dtype=np.uint64)
    values = (-1.5, -1.0, 0.0, 0.5, 1.0, 1.5, -0.0)
    return [
        list(zip(rng.choice(keys, n).tolist(), rng.choice(values, n).tolist(), strict=True))
        for n in lengths
    ]


@settings(deadline=None)  # the first example compiles
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2**64 - 1), st.sampled_from((-1.0, 0.0, 1.0, 0.25)))),
        max_size=6,
    ),
    st.integers(1, 31),
)
def test_rows_are_as_a_dict_makes_them(rows, bits):
    assert rows_from(HashedSlots(bits), rows) == [merged(row, bits) for row in rows]


@pytest.mark.parametrize("bits", [1, 3, 10, 22])
@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 63, 64, 65, 500, 4096, 5000])
def test_rows_of_any_length(length, bits):
    rows = random_rows([length, 0, 1, length, 3], n_keys=max(1, length // 2), seed=length)
    assert rows_from(HashedSlots(bits), rows) == [merged(row, bits) for row in rows]


def test_long_rows_without_a_shared_slot():
    rows = [[(key, 1.0) for key in range(5000)], [(key * 64, 2.0) for key in range(5000)]]
    assert rows_from(HashedSlots(20), rows) == rows


def test_one_object_serves_batch_after_batch():
    slots = HashedSlots(6)
    for seed, lengths in enumerate(([2] * 300, [5000], [1], [0, 0], [40] * 50, [2] * 300)):
        rows = random_rows(lengths, n_keys=100, seed=seed)
        assert rows_from(slots, rows) == [merged(row, 6) for row in rows]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([], []),
        ([(5, 0.0)], []),
        ([(5, -0.0)], []),
        ([(5, 1.0), (5, -1.0)], []),
        ([(5, 1.0), (13, -1.0)], []),  # 5 = 13 modulo 8
        ([(5, 1.0), (5, -1.0), (5, 3.0)], [(5, 3.0)]),
        ([(7, 1.0), (2, 1.0), (15, 1.0)], [(7, 2.0), (2, 1.0)]),
        ([(2**64 - 1, 1.0), (0, 2.0)], [(7, 1.0), (0, 2.0)]),
    ],
    ids=("empty", "zero", "minus zero", "cancels", "cancels in a shared slot", "comes back",
         "first appearance", "largest key"),
)  # fmt: skip
def test_single_rows_in_eight_slots(row, expected):
    assert rows_from(HashedSlots(3), [row]) == [expected]


def test_a_batch_without_rows():
    assert rows_from(HashedSlots(3), []) == []


def test_the_largest_number_of_bits():
    assert rows_from(HashedSlots(31), [[(2**31 - 1, 1.0), (2**31, 2.0)]]) == [
        [(2**31 - 1, 1.0), (0, 2.0)]
    ]
