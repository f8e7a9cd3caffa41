"""Crosses come in batches of limited size: the same rows, classes and weights, however many."""

from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.errors import InputError
from rarefy.hashing import hash_text
from rarefy.readers import read
from rarefy.readers.feature_names import texts_by_key
from rarefy.readers.features import crosses
from rarefy.readers.prefetch import READY_ITEMS, prefetched

CROSS = [("a", "b"), ("a", "a")]


def some_words(rng: np.random.Generator, n: int) -> str:
    return " ".join(f"w{k}" for k in rng.integers(0, 50, n))


def written(path: Path, n_rows: int = 60) -> Path:
    """Texts of up to ten words; the last row has a label of its own."""
    rng = np.random.default_rng(3)
    labels = ["x", "y"] * (n_rows // 2 - 1) + ["x", "last"]
    if path.suffix == ".vw":
        labels = [{"x": "1", "y": "2", "last": "3"}[label] for label in labels]
    rows = [(label, *(some_words(rng, rng.integers(0, 11)) for _ in "ab")) for label in labels]
    if path.suffix == ".csv":
        lines = ["label,a,b", *(",".join(row) for row in rows)]
    elif path.suffix == ".vw":
        lines = [f"{label} |a {a} |b {b}" for label, a, b in rows]
    else:
        lines = [f'{{"label": "{x}", "a": "{a}", "b": "{b}"}}' for x, a, b in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def reader_of(path: Path, **more):
    columns = {} if path.suffix == ".vw" else {"text": ["a", "b"]}
    reader = read(path, cross=CROSS, **columns, **more)
    reader.names_wanted = True
    return reader


def rows_in(batches) -> list:
    """All that is in the rows, with the names of features for keys."""
    rows = []
    for batch in batches:
        names = texts_by_key(batch.names, batch.keys.tolist())
        for row in range(len(batch.labels)):
            entries = slice(batch.indptr[row], batch.indptr[row + 1])
            features = [names[key] for key in batch.keys[entries].tolist()]
            about = batch.location(row), batch.label(row), batch.importance[row]
            rows.append((*about, features, batch.values[entries].tolist()))
    return rows


@pytest.fixture(params=["a.csv", "a.vw", "a.jsonl"])
def path(request, tmp_path):
    return written(tmp_path / request.param)


def test_rows_are_the_same_in_batches_of_any_size(path, monkeypatch):
    (whole,) = reader_of(path)
    expected = rows_in([whole])
    for most in (1, 100, 1000):
        monkeypatch.setattr(crosses, "MOST_ENTRIES", most)
        batches = list(reader_of(path))
        assert len(batches) > 2
        for batch in batches:
            assert len(batch.labels) == 1 or len(batch.keys) <= most
        assert rows_in(batches) == expected
        made = prefetched(reader_of(path).jobs(READY_ITEMS))
        assert [row for batch in made for row in rows_in([batch])] == expected


def test_names_that_need_more_room_than_there_is(path, monkeypatch):
    """A batch goes on where there was no room: none is lost, none noted for another."""
    (whole,) = reader_of(path)
    expected = rows_in([whole])
    monkeypatch.setattr(crosses, "FEWEST_NAMES", 2)
    for most in (100, 1000):
        monkeypatch.setattr(crosses, "MOST_ENTRIES", most)
        batches = list(reader_of(path))
        assert max(batch.names.used[0] for batch in batches) > 16  # grown more than once
        assert rows_in(batches) == expected


def test_weights_are_the_same_in_batches_of_any_size(path, tmp_path, monkeypatch):
    """Classes come from all rows of the first block, also if these come from a cache."""
    how = {"cross": CROSS} if path.suffix == ".vw" else {"cross": CROSS, "text": ["a", "b"]}
    expected = rarefy.train(path, store="hashed", bits=12, **how)
    assert len(expected.classes_) == 3
    monkeypatch.setattr(crosses, "MOST_ENTRIES", 300)
    for _ in range(2):
        found = rarefy.train(path, store="hashed", bits=12, cache=tmp_path / "cache", **how)
        assert list(found.classes_) == list(expected.classes_)
        assert found.coef_.tobytes() == expected.coef_.tobytes()


def test_a_row_with_too_many_crosses_is_refused(path, monkeypatch):
    rows = rows_in(reader_of(path))
    lengths = [len(row[3]) for row in rows]
    most = sorted(lengths)[-3]
    monkeypatch.setattr(crosses, "MOST_IN_ROW", most)
    monkeypatch.setattr(crosses, "MOST_ENTRIES", 50)
    first = next(row for row, length in zip(rows, lengths, strict=True) if length > most)
    with pytest.raises(InputError) as error:
        list(reader_of(path))
    message = f"{first[0]}: with its crosses the row has {len(first[3])} features, more than {most}"
    assert str(error.value).startswith(message)
    reader = reader_of(path, bad_lines="skip")
    assert rows_in(reader) == [row for row in rows if len(row[3]) <= most]
    assert reader.n_bad_lines == sum(length > most for length in lengths)
    assert reader.bad_lines[0].startswith(message)


def test_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("label,a,b\n")
    assert rows_in(reader_of(tmp_path / "a.csv")) == []


def test_the_hash_of_any_name_is_written_out():
    assert int(crosses.ANY) == hash_text(crosses.ANY_NAME)
