"""Shards of a stream: rounds, stores, held-out rows, and runs that are stopped and resumed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.engine import sharding
from rarefy.errors import ConfigError
from rarefy.files.model_file import load_model
from rarefy.readers import source
from rarefy.streams import pipeline, run
from rarefy.streams.run import Run
from tests.streams.test_merging import vw_lines


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sharding, "FEWEST_OF_A_SHARD", 64)
    Path("rows.vw").write_text(vw_lines(3000, 0))
    return tmp_path


def trained(**parameters) -> tuple[bytes, object]:
    model = rarefy.train("rows.vw", output="some.model", **parameters)
    return Path("some.model").read_bytes(), model


@pytest.mark.parametrize("store", [{}, {"bits": 7}, {"capacity": 150}])
def test_threads_make_no_difference(store, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 1 << 10)
    found, n_readers = [], []
    prefetched = pipeline.prefetched

    def noted(jobs, is_kept, n_workers):
        n_readers.append(n_workers)
        return prefetched(jobs, is_kept, n_workers)

    monkeypatch.setattr(pipeline, "prefetched", noted)
    for n_threads in (1, 3, 16):
        for module in (sharding, run):
            monkeypatch.setattr(module, "n_cores", lambda n=n_threads: n)
        found.append(trained(shards=4, holdout=0.1, **store)[0])
    assert found[1:] == found[:1] * 2
    assert n_readers == [2, 2, 2, 2, 4, 4]  # to learn, and to evaluate
    assert trained(holdout=0.1, **store)[0] != found[0]


def test_a_stream_is_learned_as_a_matrix_is():
    Path("rows.svm").write_text(
        "".join(
            f"{1 if n % 3 else -1} {n % 7 + 1}:1 {n % 11 + 8}:{1 + n % 4}\n" for n in range(2500)
        )
    )
    stream = rarefy.train("rows.svm", store="array", shards=3)
    X, y, *_ = rarefy.to_matrix(rarefy.read("rows.svm"))
    matrix = rarefy.SparseOnlineClassifier(shards=3, passes=1, shuffle=False).fit(X, y)
    columns = np.arange(18)  # of which files count from 1
    assert np.array_equal(stream.learner_.state_of(columns + 1), matrix.learner_.state_of(columns))
    assert load_and_save("rows.svm") == 3


def load_and_save(file: str) -> int:
    """The number of shards that a model remembers."""
    rarefy.train(file, shards=3, output="three.model")
    return rarefy.load("three.model").shards


@pytest.mark.parametrize("store", [{}, {"bits": 7}, {"capacity": 30}])
def test_rows_too_few_for_shards_are_learned_as_without_them(store, monkeypatch):
    monkeypatch.setattr(sharding, "FEWEST_OF_A_SHARD", 1024)
    (_, one), (_, four) = (trained(shards=shards, holdout=0.1, **store) for shards in (1, 4))
    assert np.array_equal(one.learner_.state, four.learner_.state)
    assert one.holdout_ == four.holdout_


def test_held_out_rows_are_not_learned():
    _, model = trained(shards=4, holdout=0.25)
    assert model.t_ + model.holdout_["examples"] == 3000
    assert 0.0 < model.holdout_["loss"] < 1.0


def test_several_passes_shuffled_with_class_weights():
    settings = {"shards": 2, "passes": 2, "shuffle": True, "class_weight": "balanced"}
    first, model = trained(**settings)
    assert model.t_ == 6000
    assert trained(**settings)[0] == first


@pytest.mark.parametrize("n_steps", [2, 9, 50, 52])
def test_a_run_that_is_stopped_goes_on_to_the_same_bytes(n_steps, monkeypatch):
    expected, _ = trained(shards=4, holdout=0.1, save_every=100)
    steps = Run.steps
    monkeypatch.setattr(Run, "steps", lambda *given: stopped(steps(*given), n_steps))
    with pytest.raises(KeyboardInterrupt):
        trained(shards=4, holdout=0.1, save_every=100)
    place = load_model("some.model").run["place"]
    assert 0 < place["rows"] < 3000
    monkeypatch.setattr(Run, "steps", steps)
    rarefy.train(resume="some.model", output="some.model")
    assert Path("some.model").read_bytes() == expected


def stopped(steps, n_steps: int):
    yield from islice(steps, n_steps)
    raise KeyboardInterrupt


@pytest.mark.slow
def test_kills_at_any_time():
    Path("rows.vw").write_text(vw_lines(3000, 0) * 20)
    command = [sys.executable, "-m", "rarefy", "train", "rows.vw", "-o", "killed.model"]
    command += ["--shards", "4", "--save-every", "500", "--quiet"]
    subprocess.run(command, check=True)
    expected = Path("killed.model").read_bytes()
    random, n_killed = np.random.default_rng(0), 0
    for _ in range(10):
        Path("killed.model").unlink()
        run = subprocess.Popen(command)
        while not Path("killed.model").exists():
            time.sleep(0.01)
        time.sleep(float(random.uniform(0.0, 0.5)))
        run.send_signal(signal.SIGKILL)
        n_killed += run.wait() == -signal.SIGKILL
        again = [sys.executable, "-m", "rarefy", "train", "--resume", "killed.model", "--quiet"]
        subprocess.run(again, check=False)  # refused if it was over already
        assert Path("killed.model").read_bytes() == expected
    assert n_killed > 0


def test_a_finished_model_goes_on_in_shards_if_asked_to():
    trained(shards=4)
    Path("more.vw").write_text(vw_lines(1000, 7))
    serial = rarefy.train("more.vw", resume="some.model", output="serial.model")
    sharded = rarefy.train("more.vw", resume="some.model", output="sharded.model", shards=4)
    assert serial.t_ == sharded.t_ == 4000
    assert Path("serial.model").read_bytes() != Path("sharded.model").read_bytes()


def test_refusals():
    for parameters, reason in (
        ({"l1": "auto"}, "parameters cannot be found"),
        ({"rule": "fobos"}, "cannot learn in shards"),
    ):
        with pytest.raises(ConfigError, match=reason):
            rarefy.train("rows.vw", shards=2, **parameters)
