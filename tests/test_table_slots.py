"""The exact table of keys, against a dictionary."""

import numpy as np
import pytest
from rarefy.slots import HashedSlots, TableSlots

from rarefy.readers.batch import Batch


def batch_of(rows: list[dict[int, float]]) -> Batch:
    sizes = [len(row) for row in rows]
    return Batch(
        "made up",
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([key for row in rows for key in row], np.uint64),
        np.array([value for row in rows for value in row.values()]),
        np.zeros(len(rows)),
        np.ones(len(rows)),
        np.arange(1, len(rows) + 1),
    )


def random_rows(n_rows: int, n_keys: int, seed: int) -> list[dict[int, float]]:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, n_keys, np.uint64)
    keys[:3] = [0, 1, 2**64 - 1]
    return [
        {int(key): float(rng.normal()) for key in rng.choice(keys, rng.integers(0, 40))}
        for _ in range(n_rows)
    ]


def test_slots_are_given_in_order_of_appearance():
    rows = random_rows(2_000, 30_000, seed=0)
    table, slot_of, n_before = TableSlots(), {}, 0
    for part in np.array_split(np.arange(len(rows)), 7):
        some = [rows[n] for n in part]
        result = table.rows(batch_of(some), np.zeros(len(some)))
        for n, row in enumerate(some):
            for key in row:
                slot_of.setdefault(key, len(slot_of))
            begin, end = result.indptr[n], result.indptr[n + 1]
            got = dict(zip(result.indices[begin:end], result.values[begin:end], strict=True))
            assert got == {slot_of[key]: value for key, value in row.items()}
        assert table.n_slots == len(slot_of) > n_before
        n_before = table.n_slots
    assert table.keys().tolist() == list(slot_of)


def test_the_table_outgrows_its_first_size():
    keys = np.arange(1, 300_001, dtype=np.uint64) * np.uint64(1 << 20)
    table, slots = TableSlots(), np.empty(len(keys), np.int32)
    table.insert(keys, slots)
    assert slots.tolist() == list(range(len(keys)))
    table.insert(keys[::-1].copy(), slots)
    assert slots.tolist() == list(range(len(keys)))[::-1]


def test_unknown_keys_are_dropped_when_not_learning():
    table = TableSlots()
    table.rows(batch_of([{5: 1.0, 9: 2.0}]), np.zeros(1))
    result = table.rows(batch_of([{7: 1.0, 9: 3.0}, {8: 1.0}]), np.zeros(2), learning=False)
    assert table.n_slots == 2
    assert result.indptr.tolist() == [0, 1, 1]
    assert result.indices.tolist() == [1]
    assert result.values.tolist() == [3.0]


@pytest.mark.parametrize("make", [lambda: HashedSlots(10), TableSlots], ids=["hashed", "table"])
def test_no_rows(make):
    result = make().rows(batch_of([]), np.zeros(0))
    assert result.indptr.tolist() == [0]
