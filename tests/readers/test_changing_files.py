"""Files that are cut off, overwritten or appended to while they are read."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rarefy
from rarefy import InputError, read
from rarefy.readers.formats import arrow
from tests.readers.test_readers import block_size

N_ROWS = 4000
ROWS = [
    {"label": n % 2, "site": f"s{random.Random(n).randrange(50)}", "size": n % 7}
    for n in range(N_ROWS)
]


def svmlight(path: Path) -> None:
    path.write_text("".join(f"{row['label']} {row['site'][1:]}:{row['size']}\n" for row in ROWS))


def vw(path: Path) -> None:
    path.write_text("".join(f"{row['label']} |a {row['site']}:{row['size']}\n" for row in ROWS))


def csv(path: Path) -> None:
    lines = [",".join(map(str, row.values())) for row in ROWS]
    path.write_text("\n".join(["label,site,size", *lines]) + "\n")


def jsonl(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def compressed(path: Path) -> None:
    svmlight(path)
    path.write_bytes(gzip.compress(path.read_bytes(), 1))


def parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=500)


def arrow_file(path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, 500)


def arrow_stream(path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, 500)


FILES = {
    "data.svm": svmlight,
    "data.vw": vw,
    "data.csv": csv,
    "data.jsonl": jsonl,
    "data.svm.gz": compressed,
    "data.parquet": parquet,
    "data.arrow": arrow_file,
    "data.arrows": arrow_stream,
}


def truncate(path: Path) -> None:
    os.truncate(path, 100)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\xff" * path.stat().st_size)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"1 3:")


CHANGES = [truncate, empty, overwrite, append]


@pytest.fixture
def pieces(monkeypatch):
    """Files are read in many pieces."""
    monkeypatch.setattr(arrow, "MOST_ROWS", 100)
    with block_size(1000):
        yield


def written_long_ago(path: Path) -> None:
    FILES[path.name](path)
    os.utime(path, (1e9, 1e9))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", FILES)
def test_a_change_while_a_file_is_read(tmp_path, pieces, name, change):
    path = tmp_path / name
    written_long_ago(path)
    batches = iter(read(path))
    next(batches)
    change(path)
    with pytest.raises(InputError, match=f"{name} changed while it was read"):
        list(batches)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", FILES)
def test_learning_stops(tmp_path, pieces, name, change, monkeypatch):
    path = tmp_path / name
    written_long_ago(path)
    n_steps = 0
    step = rarefy.streams.stream_model.StreamModel.with_targets

    def changing(model, prepared):
        nonlocal n_steps
        n_steps += 1
        if n_steps == 2:
            change(path)
        return step(model, prepared)

    monkeypatch.setattr(rarefy.streams.stream_model.StreamModel, "with_targets", changing)
    with pytest.raises(InputError, match=f"{name} changed while it was read"):
        rarefy.train(path)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_removed_is_read_to_its_end(tmp_path, pieces, name):
    path = tmp_path / name
    written_long_ago(path)
    batches = iter(read(path))
    n_rows = len(next(batches).labels)
    path.unlink()
    assert n_rows + sum(len(batch.labels) for batch in batches) == N_ROWS


@pytest.mark.parametrize("name", FILES)
def test_another_file_in_its_place_is_no_change(tmp_path, pieces, name):
    path = tmp_path / name
    written_long_ago(path)
    expected = [batch.labels.tolist() for batch in read(path)]
    batches = iter(read(path))
    found = [next(batches).labels.tolist()]
    other = tmp_path / "other"
    other.write_bytes(b"nothing of the kind")
    os.replace(other, path)
    found += [batch.labels.tolist() for batch in batches]
    assert found == expected


@pytest.mark.parametrize("change", CHANGES)
def test_a_row_cache_that_changes(tmp_path, pieces, change, monkeypatch):
    """A batch that was read is in memory; of the others, none is taken that is not whole."""
    path, cache = tmp_path / "data.svm", tmp_path / "rows.cache"
    svmlight(path)
    expected = rarefy.train(path, cache=cache)
    step, n_steps = rarefy.streams.row_cache.RowCache._from_arrow, 0

    def changing(self, file, number, **how):
        nonlocal n_steps
        n_steps += 1
        if n_steps == 10:
            change(cache)
        return step(self, file, number, **how)

    monkeypatch.setattr(rarefy.streams.row_cache.RowCache, "_from_arrow", changing)
    if change is append:  # what is behind the end does not matter
        assert rarefy.train(path, cache=cache).weights_ == expected.weights_
        return
    with pytest.raises(InputError, match=r"rows\.cache is damaged"):
        rarefy.train(path, cache=cache)
