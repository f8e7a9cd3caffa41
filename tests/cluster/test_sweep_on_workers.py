"""A sweep whose models workers learn finds what it finds in one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.cluster import sweep
from rarefy.cluster.worker_protocol import InThisProcess
from rarefy.errors import ConfigError
from tests.streams.test_merging import vw_lines


class Three(InThisProcess):
    n_readers = 3


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.vw").write_text(vw_lines(600, 0))


HOW = {"n_l1": 5, "folds": 2, "passes": 2}


def same(one, other) -> bool:
    assert one.points == other.points
    assert one.extent == other.extent
    names = one.by_fold.keys() | other.by_fold.keys()
    return all(np.array_equal(one.by_fold[n], other.by_fold[n], equal_nan=True) for n in names)


def test_by_reading():
    here = rarefy.sweep(rarefy.read("rows.vw"), **HOW)
    assert same(here, sweep(rarefy.read("rows.vw"), on=Three(), **HOW))


@pytest.mark.slow
@pytest.mark.parametrize("refit", [False, True])
def test_in_memory(refit):
    matrix = rarefy.to_matrix(rarefy.read("rows.vw"))
    how = {**HOW, "refit": refit, "scoring": "auc"}
    here = rarefy.sweep(matrix.X, matrix.y, **how)
    assert same(here, sweep(rarefy.read("rows.vw"), on=Three(), in_memory=True, **how))


def test_only_files():
    with pytest.raises(ConfigError, match="files that all workers read"):
        sweep(np.eye(3), on=Three())


@pytest.mark.slow
def test_the_command():
    pytest.importorskip("ray", reason="rarefy[ray] is not installed")
    command = [sys.executable, "-m", "rarefy", "sweep", "rows.vw", "--n-l1", "5", "--folds", "2"]
    options = ["--passes", "2", "--quiet"]
    for folder, more in (("here", []), ("there", ["--on", "ray"])):
        subprocess.run([*command, "-o", folder, *options, *more], check=True)
    for name in ("table.csv", "best.model"):
        assert Path("here", name).read_bytes() == Path("there", name).read_bytes()
