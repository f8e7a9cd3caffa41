"""Rows that other processes read and learn give the bytes of the run in one process."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.cluster.train_on_workers import train
from rarefy.cluster.worker_protocol import InThisProcess
from rarefy.engine import sharding
from rarefy.errors import ConfigError, InputError
from rarefy.streams.run import Run
from tests.streams.test_merging import vw_lines


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sharding, "FEWEST_OF_A_SHARD", 64)
    return tmp_path


def vw_files(n_rows: int = 3000, n_files: int = 3) -> list[str]:
    lines = vw_lines(n_rows, 0).splitlines(keepends=True)
    for n, part in enumerate(np.array_split(np.arange(n_rows), n_files)):
        Path(f"part-{n}.vw").write_text("".join(lines[row] for row in part))
    return [f"part-{n}.vw" for n in range(n_files)]


def both(files: list[str], **parameters) -> tuple[bytes, bytes]:
    """The model of one process, and that of workers."""
    rarefy.train(*files, output="here.model", **parameters)
    train(*files, on=InThisProcess(), output="there.model", **parameters)
    return Path("here.model").read_bytes(), Path("there.model").read_bytes()


@pytest.mark.parametrize(
    "parameters",
    [
        {"holdout": 0.1},
        {"bits": 7},
        {"capacity": 150},
        *(
            pytest.param(slow, marks=pytest.mark.slow)
            for slow in (
                {"capacity": 60, "shards": 7},
                {"names": False, "shards": 2},
                {"class_weight": "balanced", "passes": 2},
                {"class_weight": {"1": 3.0}},
                {"rule": "ftrl", "shards": 16, "holdout": 0.3, "passes": 2},
                {"rule": "adagrad-rda"},
                {"rule": "scale-free-ftrl", "loss": "hinge"},
                {"ngram": 2},
            )
        ),
    ],
    ids=str,
)
def test_vw(parameters):
    here, there = both(vw_files(), **{"shards": 4, **parameters})
    assert here == there


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl", "svm", "parquet", "csv.gz"])
@pytest.mark.parametrize("target", ["words", "classes", "numbers"])
def test_formats(kind, target):
    frame = _frame(4000, target)
    for n, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        _write(frame.iloc[part], kind, f"part-{n}.{kind}")
    loss = {"loss": "squared"} if target == "numbers" else {}
    if kind == "svm" and target == "words":
        pytest.skip("svmlight has no words")
    here, there = both([f"part-{n}.{kind}" for n in range(3)], shards=3, holdout=0.1, **loss)
    assert here == there


def _frame(n: int, target: str):
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(3)
    number, kind = random.normal(size=n) * 30 + 2000, random.integers(0, 40, n)
    score = (number - 2000) / 30 + 0.3 * (kind % 5) + random.normal(size=n)
    classes = np.digitize(score, [-0.5, 1.0])
    label = {"words": np.array(["low", "mid", "high"])[classes], "classes": classes}
    return pandas.DataFrame(
        {
            "label": label.get(target, score * 7.0),
            "year": number,
            "kind": [f"k{k}" for k in kind],
            "words": [f"w{k % 7} w{k % 11} and more" for k in kind],
        }
    )


def _write(frame, kind: str, path: str) -> None:
    if kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "svm":
        rows = zip(frame.label, frame.year, frame.kind, strict=True)
        Path(path).write_text("".join(f"{y} 1:{year} {int(k[1:]) + 2}:1\n" for y, year, k in rows))
    else:
        frame.to_csv(path, index=False)


def test_a_run_that_is_stopped_goes_on_here_or_there(monkeypatch):
    files = vw_files()
    how = {"shards": 4, "holdout": 0.1, "save_every": 100}
    expected, _ = both(files, **how)
    steps = Run.steps
    for begin, end in ((rarefy.train, train), (train, rarefy.train), (train, train)):
        monkeypatch.setattr(Run, "steps", lambda *given: stopped(steps(*given), 5))
        with pytest.raises(KeyboardInterrupt):
            begin(*files, output="some.model", **how, **_on(begin))
        monkeypatch.setattr(Run, "steps", steps)
        end(resume="some.model", output="some.model", **_on(end))
        assert Path("some.model").read_bytes() == expected


def _on(function) -> dict[str, InThisProcess]:
    return {"on": InThisProcess()} if function is train else {}


def stopped(steps, n_steps: int):
    yield from islice(steps, n_steps)
    raise KeyboardInterrupt


def test_what_is_held_out_is_judged_as_in_one_process():
    files = vw_files()
    here = rarefy.train(*files, shards=4, holdout=0.2)
    there = train(*files, on=InThisProcess(), shards=4, holdout=0.2)
    assert here.holdout_ == there.holdout_


def test_shared_slots_are_counted():
    files = vw_files()
    here = rarefy.train(*files, shards=4, bits=7)
    there = train(*files, on=InThisProcess(), shards=4, bits=7)
    assert here.stream_.store.findings() == there.stream_.store.findings()
    assert here.stream_.store.findings()["n_shared"] > 0


def test_bad_lines_stop_where_they_are_or_are_counted():
    files = vw_files()
    with open(files[1], "a") as file:
        file.write("1 |a x:y\n")
    n_lines = len(Path(files[1]).read_text().splitlines())
    with pytest.raises(InputError, match=f"{files[1]}:{n_lines}:"):
        train(*files, on=InThisProcess(), shards=4)
    here, there = both(files, shards=4, bad_lines="skip")
    assert here == there


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, "a cluster learns in shards"),
        ({"shards": 2, "shuffle": True}, "shuffle=True"),
        ({"shards": 2, "refit": True}, "a refit needs all rows"),
        ({"shards": 2, "on": "spark"}, "ray:ADDRESS"),
    ],
)
def test_refusals(parameters, reason):
    with pytest.raises(ConfigError, match=reason):
        train(*vw_files(100), **{"on": InThisProcess(), **parameters})
