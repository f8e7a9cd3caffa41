"""The papers' experiments on truncation: subsets, choices of l1, verdicts, and a small page."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy import sparse as sp

from experiments.comparison import HIGHER, LOWER, Comparison
from experiments.records import Records
from experiments.reproduction import data as real_data
from experiments.reproduction import news, published
from experiments.reproduction.__main__ import write
from experiments.reproduction.claims import SAME, Finding, shown_p
from experiments.reproduction.eager import eager_sgft
from experiments.reproduction.methods import METHODS, RDA, frda, sgft
from experiments.reproduction.names import Kept, Model, rarer
from experiments.reproduction.pictures import intensities
from experiments.reproduction.plan import QUICK
from experiments.reproduction.runs import (
    MODELS_AT_ONCE,
    Case,
    Laboratory,
    Outcome,
    Protocol,
    Run,
    _batches,
    from_json,
    l1_of,
)
from experiments.reproduction.study import Point, Study, best, best_sparse, zeros_among_best
from experiments.reproduction.uci import as_numbers
from tests import data
from tests.in_order import classifier_in_order

# --- data ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def posts() -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sp.random_array((90, 200), density=0.05, rng=rng, format="csr")
    return X, np.repeat(["a", "b", "c"], 30)


def test_news_subsets_are_balanced_and_the_same_each_time(posts):
    X, groups = news.subset(posts, ("a", "c"), n_each=20, seed=5)
    assert X.shape[0] == 40
    assert dict(zip(*np.unique(groups, return_counts=True), strict=True)) == {"a": 20, "c": 20}
    assert np.bincount(X.indices).min() >= news.FEWEST_POSTS
    again, same_groups = news.subset(posts, ("a", "c"), n_each=20, seed=5)
    np.testing.assert_array_equal(again.toarray(), X.toarray())
    np.testing.assert_array_equal(same_groups, groups)
    other, _ = news.subset(posts, ("a", "c"), n_each=20, seed=6)
    assert other.shape != X.shape or (other != X).nnz > 0


def test_draws_are_of_different_groups():
    for name, draws in news.DRAWS.items():
        n_groups = int(name.split("-")[1])
        assert all(len(set(groups)) == n_groups for groups in draws)
        assert len({frozenset(groups) for groups in draws}) == len(draws)


def test_columns_of_a_table_become_numbers():
    table = pd.DataFrame({"n": [1.0, 3.0, None, 5.0], "w": ["x", "y", "x", None],
                          "flag": [0, 1, 1, 0], "same": [7, 7, 7, 7]})  # fmt: skip
    X = as_numbers(table).toarray()
    assert X.shape == (4, 5)  # n, three words, flag
    assert X[:, 0].sum() == pytest.approx(0.0)
    np.testing.assert_array_equal(X[:, 1:4].sum(axis=1), 1.0)
    np.testing.assert_array_equal(X[:, 4], [0, 1, 1, 0])


# --- choosing l1 --------------------------------------------------------------------------------


def point(accuracy: float, zeros: float) -> Point:
    noise = 0.01 * np.array([-1.0, 0.0, 1.0, 0.0])
    return Point(accuracy + noise, np.full(4, zeros), np.zeros(4))


def test_choices():
    path = {-9: point(0.8, 0.1), -8: point(0.9, 0.5), -7: point(0.9, 0.6), -6: point(0.7, 0.95),
            -5: point(0.7, 1.0)}  # fmt: skip
    assert best(path) == -7
    assert best_sparse(path) == -6
    assert best_sparse({step: path[step] for step in (-9, -8)}) == -8
    assert best_sparse({-9: point(0.8, 0.95), -8: point(0.8, 0.95)}) == -8
    assert zeros_among_best(path) == (0.5, 0.6)


class Peaks(Laboratory):
    """Accuracy is highest at one step; zeros are enough beyond another."""

    def __init__(self, tmp_path, peak: int, sparse_from: int) -> None:
        super().__init__(Records(tmp_path / "runs", from_json), 100, 1)
        self.peak, self.sparse_from = peak, sparse_from

    def learned(self, batch: list[Run]) -> list[Outcome]:
        return [
            Outcome([1.0 - 0.01 * abs(run.step - self.peak)] * folds,
                    [0.95 if run.step >= self.sparse_from else 0.2] * folds, [3.0] * folds)
            for run in batch
            for folds in [run.case.protocol.folds]
        ]  # fmt: skip


@pytest.mark.parametrize(("peak", "sparse_from"), [(-9, -7), (-22, -6), (3, 3)])
def test_chosen_points_have_neighbours(tmp_path, peak, sparse_from):
    """Also where the scan ends before the best l1 (it goes from step -16 to -4)."""
    laboratory = Peaks(tmp_path, peak, sparse_from)
    study = Study(QUICK, laboratory)
    case = study.case("books-2000", RDA)
    laboratory.do(study.scan_runs([case]), lambda done, all_: None)
    while set(wanted := study.path_runs([case])) - laboratory.known.keys():
        laboratory.do(wanted, lambda done, all_: None)
    path = study.path(case)
    assert best(path) == peak
    assert best_sparse(path) == max(peak, sparse_from)
    assert {peak - 1, peak + 1, best_sparse(path) - 1, best_sparse(path) + 1} <= path.keys()
    assert not study.is_at_an_end(case, best)
    far_away = Run(case, 0, peak + 9)
    laboratory.known.keep({far_away: Outcome([1.0] * 3, [1.0] * 3, [0.0] * 3)})
    assert study.path(case).keys() == path.keys()  # whatever else the file may have


def test_batches_differ_in_l1_alone():
    cases = [Case("books-2000", method, Protocol(folds=10)) for method in (RDA, frda(2.0))]
    runs = [Run(case, shuffle, step) for case in cases for shuffle in (0, 1) for step in range(20)]
    batches = list(_batches(runs[::-1]))
    assert sorted(run for batch in batches for run in batch) == sorted(runs)
    for batch in batches:
        assert len({run[:2] for run in batch}) == 1
        assert 10 * len(batch) <= MODELS_AT_ONCE


# --- verdicts -----------------------------------------------------------------------------------


def comparison(difference: float, dataset: str = "d") -> Comparison:
    before = np.linspace(0.8, 0.9, 10)
    return Comparison(dataset, before, before + difference + 1e-3 * np.cos(np.arange(10)), 10)


def test_verdicts():
    higher, same, lower = comparison(0.05), comparison(0.0), comparison(-0.05, "other")
    assert Finding(HIGHER, [higher] * 2).verdict == "holds"
    assert Finding(LOWER, [higher, lower]).verdict == "does not hold; against it: d"
    assert Finding(HIGHER, [higher, higher, lower]).counts == "2 / 0 / 1"
    assert Finding(SAME, [same] * 3).verdict == "holds"
    assert Finding(SAME, [same, same, lower]).verdict == "holds in part; against it: other"
    assert Finding(SAME, [same, lower]).verdict == "does not hold; against it: other"
    assert Finding(SAME, [lower, same, higher]).counts == "1 / 1 / 1"
    assert Finding(HIGHER, [higher, higher]).points == "+5.0"
    assert (shown_p(0.0), shown_p(0.0312)) == ("<0.001", "0.031")


def test_what_only_one_model_keeps():
    rows = np.array([5, 900, 1, 40])
    kept = Kept(["a_b", "the", "c", "d"], rows, {
        RDA: Model(0.1, np.array([0.0, 2.0, 0.0, 1.0])),
        frda(2.0): Model(0.1, np.array([3.0, 0.0, -4.0, 1.0])),
    })  # fmt: skip
    names = [(named.name, named.other_weight) for named in kept.stronger(frda(2.0), RDA)]
    assert names == [("c", 0.0), ("a b", 0.0)]
    assert kept.rows_if_strongest(RDA, frda(2.0)).tolist() == [900]
    assert kept.rows_if_kept(frda(2.0), RDA).tolist() == [5, 1]


def test_rarer():
    assert rarer(np.arange(1, 20), np.arange(30, 50)) < 0.001
    assert rarer(np.arange(30, 50), np.arange(1, 20)) > 0.999
    assert rarer(np.array([], dtype=int), np.arange(9)) == 1.0


# --- what the papers print, and equations -------------------------------------------------------


def test_figures_that_are_printed_twice_agree():
    seen: dict[tuple[str, str, str], published.Figure] = {}
    repeated = 0
    for table in published.TABLES:
        for dataset, figures in table.figures.items():
            for method, figure in figures.items():
                key = table.number[0], dataset, method
                repeated += key in seen
                assert seen.setdefault(key, figure) == figure
    assert repeated == 4 * 4 + 7  # FR-COMID, FRDA twice and FTPFRL with q = ∞; SGFT with p = 2


@pytest.mark.parametrize("q", [1.0, 2.0, 3.0, math.inf])
def test_intensity_of_equal_subgradients(q):
    expected = np.arange(1, 21) ** (1.0 / q)
    np.testing.assert_allclose(intensities(q, 20), expected, rtol=1e-12)


def test_eager_sgft_is_the_lazy_one():
    problem = data.problem("binary", n=80)
    model = classifier_in_order(
        **METHODS[sgft(2.0)], l1=l1_of(-2), loss="hinge", eta0=1.0, passes=2, fit_intercept=False
    ).fit(problem.csr, problem.y)
    assert 0 < model.n_nonzero_ < problem.dense.shape[1]
    eager = eager_sgft(problem.dense, problem.y, l1_of(-2))
    np.testing.assert_allclose(model.coef_.ravel(), eager, atol=1e-9)


# --- from beginning to end ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(
    bool(real_data.absent(QUICK.datasets + QUICK.beyond)), reason="the data is not at hand"
)
def test_a_small_page(tmp_path):
    def written(folder: str) -> str:
        return write(
            QUICK, tmp_path / folder, tmp_path / "kept", 1, Console(quiet=True)
        ).read_text()

    page = written("docs")
    assert page.startswith("<!-- Written by `make reproduce`")
    for section in ("Verdicts", "What to take as defaults", "What could not be reproduced",
                    "Table T4.7", "Table S4", "On data that the papers never saw", "Table T4.8",
                    "Figure T4.1", "L: truncated gradient"):  # fmt: skip
        assert f"\n## {section}" in page
    for picture in ("intensity", "paths", "beyond", "rare", "gravity"):
        assert f"img/reproduction-{picture}.svg" in page
        file = tmp_path / "docs" / "img" / f"reproduction-{picture}.svg"
        assert file.read_text().startswith("<?xml")
    assert "nan" not in page
    assert written("again") == page
