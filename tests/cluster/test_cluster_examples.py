"""The examples of rarefy.cluster, with Ray on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import rarefy.cluster
from tests.docs_examples import run_examples

ray = pytest.importorskip("ray", reason="rarefy[ray] is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("name", ["train", "sweep"])
def test_examples_run(cluster, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("clicks").mkdir()
    for day in (1, 2):
        Path(f"clicks/{day}.vw").write_text("1 | shoes site7\n-1 | books site3\n" * 300)
    assert run_examples(getattr(rarefy.cluster, name)) > 1
