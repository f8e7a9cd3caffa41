"""A full disk, a lost file, a damaged part: a clear error, and the last checkpoint stays."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from pathlib import Path

import pytest

import rarefy
from rarefy.cluster.train_on_workers import train
from rarefy.cluster.worker_protocol import InThisProcess
from rarefy.engine import sharding
from rarefy.errors import InputError, RarefyWarning
from rarefy.readers import prefetch
from tests.streams.test_merging import vw_lines

HOW = {"shards": 4, "save_every": 500, "holdout": 0.1}
N_FILES, N_ROWS = 20, 200


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sharding, "FEWEST_OF_A_SHARD", 64)
    for n in range(N_FILES):
        Path(f"part-{n}.vw").write_text(vw_lines(N_ROWS, n).replace("|a ", f"|a only{n} "))
    return [f"part-{n}.vw" for n in range(N_FILES)]


def here(*files: str, **how) -> object:
    return rarefy.train(*files, **how)


def there(*files: str, **how) -> object:
    return train(*files, on=InThisProcess(), **how)


@contextmanager
def disk_of(n_bytes: int):
    """No file can grow beyond that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("learn", [here, there])
def test_a_full_disk(files, learn):
    learn(*files, output="whole.model", **HOW)
    rarefy.train(*files[:4], output="first.model", **HOW)
    n_bytes = (Path("first.model").stat().st_size + Path("whole.model").stat().st_size) // 2
    with (
        disk_of(n_bytes),
        pytest.raises(InputError, match="the model cannot be written: File") as error,
        pytest.warns(RarefyWarning, match="some.model.*File too large.*Training continues"),
    ):
        learn(*files, output="some.model", **HOW)
    assert "rarefy train --resume some.model" in error.value.__notes__[-1]
    assert 500 <= rarefy.load("some.model").t_ < N_ROWS * N_FILES * 0.9
    assert not list(Path().glob("*.part"))
    learn(resume="some.model", output="some.model")
    assert Path("some.model").read_bytes() == Path("whole.model").read_bytes()


@pytest.mark.parametrize("learn", [here, there])
def test_a_file_that_is_lost(files, learn, monkeypatch):
    monkeypatch.setattr(prefetch, "READY_KEPT", 1)  # else all files may be open before one is lost
    learn(*files, output="whole.model", **HOW)

    def lose(line) -> None:
        if line.examples >= 500 and Path(files[-1]).exists():
            Path(files[-1]).rename("away")

    with pytest.raises(InputError, match=rf"{files[-1]}.*No such file"):
        learn(*files, output="some.model", progress=lose, **HOW)
    stays_and_goes_on(learn, lambda: Path("away").rename(files[-1]))


@pytest.mark.parametrize("learn", [here, there])
def test_a_part_that_is_damaged(files, learn):
    learn(*files, output="whole.model", **HOW)
    right = Path(files[9]).read_bytes()
    lines = right.splitlines(keepends=True)
    lines[len(lines) // 2] = b"1 |a x:y\n"
    Path(files[9]).write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=rf"{files[9]}:{len(lines) // 2 + 1}:"):
        learn(*files, output="some.model", **HOW)
    stays_and_goes_on(learn, lambda: Path(files[9]).write_bytes(right))


@pytest.mark.slow
@pytest.mark.parametrize("learn", [here, there])
def test_a_part_whose_compression_is_damaged(files, learn):
    import gzip

    for file in files:
        Path(f"{file}.gz").write_bytes(gzip.compress(Path(file).read_bytes()))
    names = [f"{file}.gz" for file in files]
    learn(*names, output="whole.model", **HOW)
    right = Path(names[9]).read_bytes()
    Path(names[9]).write_bytes(right[: len(right) // 2])
    with pytest.raises(InputError, match=names[9]):
        learn(*names, output="some.model", **HOW)
    stays_and_goes_on(learn, lambda: Path(names[9]).write_bytes(right))


def stays_and_goes_on(learn, mend) -> None:
    assert rarefy.load("some.model").t_ >= 500
    mend()
    learn(resume="some.model", output="some.model")
    assert Path("some.model").read_bytes() == Path("whole.model").read_bytes()
