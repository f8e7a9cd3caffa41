"""Sweeps over readers against sweeps over matrices with the same folds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy import ConfigError, InputError
from rarefy.errors import RarefyWarning
from rarefy.sweeping.stream_sweep import stream_folds
from tests import data
from tests.cli.test_cli import run

N = 400
GRID = {"rule": ["frda", "ftrl"], "l1": [1e-4, 1e-2, 1.0], "random_state": 7}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problem(kind: str) -> data.Problem:
    found = data.problem(kind, n=N)
    Path("data.svm").write_text(data.svmlight_text(found))
    return found


def folds(n_folds: int, seed: int) -> np.ndarray:
    return stream_folds(np.arange(N, dtype=np.uint64), n_folds, seed)


def assert_same(streamed, swept) -> None:
    assert streamed.points == swept.points
    for name, values in swept.by_fold.items():
        np.testing.assert_allclose(streamed.by_fold[name], values, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_folds(kind):
    found = problem(kind)
    how = {**GRID, "passes": 2} | ({"loss": "squared"} if kind == "regression" else {})
    streamed = rarefy.sweep(rarefy.read("data.svm"), folds=3, **how)
    assert_same(streamed, rarefy.sweep(found.csr, found.y, folds=folds(3, 7), **how))


@pytest.mark.parametrize("passes", [1, 2])
def test_without_folds_the_last_pass_counts(passes):
    found = problem("binary")
    how = {**GRID, "folds": None, "passes": passes}
    streamed = rarefy.sweep(rarefy.read("data.svm"), **how)
    assert_same(streamed, rarefy.sweep(found.csr, found.y, **how))
    assert streamed.extent.n_rows == N


def test_targets_far_from_zero():
    found = problem("regression")
    far = found._replace(y=np.round(found.y, 2) + 1e8)
    Path("data.svm").write_text(data.svmlight_text(far))
    how = {"rule": "adagrad-fobos", "loss": "squared", "l1": [1e-3], "folds": None}
    streamed = rarefy.sweep(rarefy.read("data.svm"), **how)
    swept = rarefy.sweep(far.csr, far.y, **how)
    np.testing.assert_allclose(streamed.by_fold["r2"], swept.by_fold["r2"], rtol=1e-6)


def test_folds_are_of_about_one_size_and_depend_on_the_seed():
    sizes = np.bincount(folds(4, 0))
    assert len(sizes) == 4
    assert sizes.min() > N / 4 - 40
    assert (folds(4, 0) != folds(4, 1)).any()


def test_weights_of_rows():
    problem("binary")
    lines = Path("data.svm").read_text().splitlines()
    parts = [line.partition(" ") for line in lines]
    vw = [f"{label} {1 + row % 3} | {rest}" for row, (label, _, rest) in enumerate(parts)]
    Path("data.vw").write_text("\n".join(vw) + "\n")
    found = data.problem("binary", n=N)
    weights = 1.0 + np.arange(N) % 3
    streamed = rarefy.sweep(rarefy.read("data.vw"), folds=3, passes=1, **GRID)
    swept = rarefy.sweep(
        found.csr, found.y, folds=folds(3, 7), passes=1, sample_weight=weights, **GRID
    )
    for name in ("accuracy", "loss", "weights"):
        np.testing.assert_allclose(streamed.by_fold[name], swept.by_fold[name], rtol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "error", "part"),
    [
        ({"y": [1.0]}, InputError, "do not give y"),
        ({"refit": True}, ConfigError, "needs all rows"),
        ({"shuffle": True}, ConfigError, "needs all rows"),
        ({"folds": 1}, ConfigError, "folds=1"),
        ({"folds": np.zeros(N)}, ConfigError, "folds="),
        ({"folds": 500}, InputError, "use fewer folds"),
        ({"memory": 1000}, ConfigError, "memory=1000"),
    ],
    ids=["y", "refit", "shuffle", "one fold", "array", "many folds", "memory"],
)
def test_what_a_reader_cannot_do(parameters, error, part):
    problem("binary")
    parameters = {"folds": 3, "passes": 1, "l1": [0.1], **parameters}
    with pytest.raises(error, match=part):
        rarefy.sweep(rarefy.read("data.svm"), **parameters)


def test_no_rows():
    Path("data.svm").write_text("")
    with pytest.raises(InputError, match="no examples"):
        rarefy.sweep(rarefy.read("data.svm", classes=["-1", "1"]), folds=3)


def test_rows_of_no_weight():
    Path("data.vw").write_text("1 0 | a\n-1 0 | b\n" * 20)
    with pytest.raises(InputError, match="weight zero"):
        rarefy.sweep(rarefy.read("data.vw"), folds=None)


@pytest.mark.filterwarnings("error")
def test_rows_without_features():
    Path("data.svm").write_text("1\n-1\n" * 20)
    with pytest.warns(RarefyWarning, match="have no weights"):
        swept = rarefy.sweep(rarefy.read("data.svm"), folds=None, l1=[0.1])
    assert swept.table["zeros"] == [1.0]


class TestCommand:
    GRID = ("--l1", "0.3,1,3")

    def test_progressive(self):
        problem("binary")
        run("sweep", "data.svm", "-o", "found", *self.GRID, "--progressive")
        streamed = rarefy.sweep(rarefy.read("data.svm"), folds=None, l1=[0.3, 1.0, 3.0])
        table = Path("found/table.csv").read_text().splitlines()
        assert len(table) == 4
        column = table[0].split(",").index("accuracy")
        assert [float(line.split(",")[column]) for line in table[1:]] == streamed.table["accuracy"]
        assert "before it was learned" in Path("found/report.html").read_text()
        assert rarefy.load("found/best.model").t_ == N

    def test_rows_that_do_not_fit_memory(self):
        problem("binary")
        command = ("sweep", "data.svm", *self.GRID, "--folds", "3", "--passes", "2")
        said = run(*command, "-o", "found", "--memory", "3.2MB").stderr
        assert "read again" not in said
        many = "".join(Path("data.svm").read_text() for _ in range(80))
        Path("many.svm").write_text(many)
        said = run("sweep", "many.svm", *command[2:], "-o", "found", "--memory", "3.2MB").stderr
        assert "read again in every pass" in said
        assert Path("found/best.model").exists()

    @pytest.mark.parametrize(
        ("options", "part"),
        [
            (["--passes", "2"], "one pass and no folds"),
            (["--folds", "2"], "one pass and no folds"),
            (["--refit"], "--refit needs folds"),
            (["--choose", "one-standard-error"], "needs folds"),
        ],
        ids=str,
    )
    def test_what_progressive_leaves_no_meaning(self, options, part):
        problem("binary")
        said = run("sweep", "data.svm", "-o", "found", "--progressive", *options, code=2).stderr
        assert part in said
