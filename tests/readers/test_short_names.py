"""Names that are hashed several at once: every length, and the borders of what is one go."""

from __future__ import annotations

import random

import pytest
import xxhash

from rarefy.hashing import xxh64_short
from rarefy.jit import compiled
from rarefy.readers import read
from rarefy.readers.feature_names import texts_by_key
from rarefy.readers.text.short_names import ENOUGH_NAMES
from tests.readers.test_readers import check_text, np, written
from tests.selecting import slow_but

HEADS = ["1 |", "1 |w", "1 |w:0.5", "|a-longer-namespace", "1 |v w |w"]
letters = "abcdefghijklmnop"


@compiled
def _hashed(first, second, n_bytes, seed):
    return xxh64_short(first, second, n_bytes, seed)


@pytest.mark.parametrize("n_bytes", range(16))
def test_a_short_hash_is_that_of_any_length(n_bytes):
    rng = np.random.default_rng(n_bytes)
    for _ in range(50):
        text = rng.bytes(n_bytes)
        first, second = np.frombuffer(text + rng.bytes(16 - n_bytes), np.uint64)
        seed = int(rng.integers(2**63))
        found = _hashed(first, second, np.uint64(n_bytes), np.uint64(seed))
        assert found == xxhash.xxh64_intdigest(text, seed)


@pytest.mark.parametrize("head", HEADS)
class TestShortNames:
    @pytest.mark.parametrize("n_bytes", slow_but(range(1, 40), 1, 3, 7, 8, 9, 15, 16, 17, 31, 39))
    def test_of_every_length(self, tmp_path, head, n_bytes):
        rng = random.Random(n_bytes)
        for before in (0, 1, 5):
            names = ["".join(rng.choices(letters, k=1 + k % 15)) for k in range(before)]
            names += ["".join(rng.choices(letters, k=n_bytes)), "after", "it"]
            check_text(tmp_path, f"{head} {' '.join(names)}\n".encode() * 2, "vw")

    @pytest.mark.parametrize("n_names", [*range(1, 12), *range(250, 264), 511, 512, 513, 3000])
    def test_of_every_number(self, tmp_path, head, n_names):
        rng = random.Random(n_names)
        for n_bytes in (1, 15, None):
            names = (rng.choices(letters, k=n_bytes or rng.randint(1, 15)) for _ in range(n_names))
            row = f"{head} {' '.join(map(''.join, names))}"
            check_text(tmp_path, f"{row}\n{row} \n{row}".encode(), "vw")

    @pytest.mark.parametrize(
        "between",
        ["  ", "\t", "\r", ":2 ", ": ", "|", " |", "|x ", " 12 ", " 90 ", " 1a ", " 3:4 ", "\x01"],
    )
    @pytest.mark.parametrize("n_before", [0, 1, 3, 4, 9, 40])
    def test_with_something_else_between(self, tmp_path, head, between, n_before):
        names = [letters[k % 7 : k % 13] or "x" for k in range(n_before)]
        row = f"{head} {' '.join(names)}{between}{' '.join(names)} end"
        check_text(tmp_path, f"{row}\n{head} next{between}\n{row}\n".encode(), "vw")

    def test_at_every_place_of_the_window(self, tmp_path, head):
        for n_bytes in range(70):
            padding = "y" * (n_bytes % 15) + " y" * (n_bytes // 2)
            check_text(tmp_path, f"{head} {padding} some:3 more words\n".encode(), "vw")


@pytest.mark.parametrize("n_names", [3, ENOUGH_NAMES + 5, 6000])
@pytest.mark.parametrize("space", ["", "space"])
def test_what_they_are_called(tmp_path, n_names, space):
    """There is room for 4,096 names to begin with."""
    names = [f"n{k:x}" for k in range(n_names)]
    reader = read(written(tmp_path, f"1 |{space} {' '.join(names)} n1:2\n".encode()), format="vw")
    reader.names_wanted = True
    (batch,) = reader
    called = texts_by_key(batch.names, batch.keys.tolist())
    prefix = f"{space}=" if space else ""
    assert [called[key] for key in batch.keys.tolist()] == [
        prefix + name for name in [*names, "n1"]
    ]


def test_which_namespace_they_are_of(tmp_path):
    file = written(tmp_path, b"1 |a one two |b three |c four\n")
    (batch,) = read(file, format="vw", cross=[("a", "b")])
    seeds = {name: xxhash.xxh64_intdigest(name.encode()) for name in "abc"}
    words = (("a", "one"), ("a", "two"), ("b", "three"), ("c", "four"))
    *first, three, four = (
        xxhash.xxh64_intdigest(word.encode(), seeds[space]) for space, word in words
    )
    crossed = (xxhash.xxh64_intdigest(np.array([key, three], np.uint64).tobytes()) for key in first)
    assert batch.keys.tolist() == [*first, three, four, *crossed]
