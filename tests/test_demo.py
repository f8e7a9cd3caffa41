"""The demo: its texts are what they are said to be, and its numbers and picture come out."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from demo import compare, next_steps, picture, tables
from demo.data import FREQUENT, RARE, SMALL_UNITS, Corpus, Size, make_corpus
from rarefy import read as rarefy_read
from rarefy import to_matrix
from rarefy.cli import main

TINY = Size(
    n_train=6_000, n_test=2_000, n_features=20_000, n_rare=300, n_frequent=40, n_small_unit=30
)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_corpus(TINY)


@pytest.fixture(scope="module")
def contestants(corpus) -> list[compare.Contestant]:
    return compare.race(corpus, chunk=2_500)


@pytest.fixture(scope="module")
def outcomes(contestants, corpus) -> list[compare.Outcome]:
    return [compare.outcome(contestant, corpus) for contestant in contestants]


# --- the texts --------------------------------------------------------------------------------


def test_the_seed_decides(corpus):
    again, other = make_corpus(TINY), make_corpus(TINY, seed=1)
    assert (again.X_train != corpus.X_train).nnz == 0
    assert (again.X_test != corpus.X_test).nnz == 0
    np.testing.assert_array_equal(again.y_train, corpus.y_train)
    assert (other.X_train != corpus.X_train).nnz > 0


def test_shapes_and_long_tail(corpus):
    assert corpus.X_train.shape == (TINY.n_train, TINY.n_features)
    assert corpus.X_test.shape == (TINY.n_test, TINY.n_features)
    assert 25 < corpus.X_train.nnz / TINY.n_train < 60
    by_rank = corpus.frequency
    assert by_rank[0] > 0.5
    assert by_rank[100:200].mean() == pytest.approx(10 * by_rank[1_000:2_000].mean(), rel=0.1)
    assert np.median(by_rank) * TINY.n_train < 5


@pytest.mark.parametrize(
    ("kind", "band"), [("rare", RARE), ("frequent", FREQUENT), ("small_unit", FREQUENT)]
)
def test_informative_words_have_their_frequencies(corpus, kind, band):
    """Averages over neighbours in rank, as single words of 2 occurrences vary by chance."""
    from_frequent_to_rare = np.array_split(corpus.frequency[getattr(corpus, kind)], 5)
    averages = np.array([group.mean() for group in from_frequent_to_rare])
    assert np.all((averages > 0.9 * band[0]) & (averages < 1.1 * band[1]))
    assert averages[0] > 3 * averages[-1]


def test_values_are_counts_in_their_units(corpus):
    X = corpus.X_train
    counts = X.data / corpus.unit[X.indices]
    np.testing.assert_allclose(counts, np.round(counts))
    assert counts.min() >= 1 - 1e-9
    assert set(corpus.unit) == {1.0, *SMALL_UNITS}
    assert set(corpus.unit[corpus.small_unit]) == set(SMALL_UNITS)
    assert np.all(corpus.unit[np.concatenate([corpus.rare, corpus.frequent])] == 1.0)
    noise = corpus.unit[corpus.lean == 0.0]
    assert np.mean(noise < 1.0) == pytest.approx(0.1, abs=0.01)  # small units tell nothing


def difference_between_classes(corpus: Corpus) -> np.ndarray:
    """(rows of class +1 - rows of class -1) / rows, of those with the word, for every word."""
    occurs = corpus.X_train.copy()
    occurs.data[:] = 1.0
    rows_with_word = np.maximum(occurs.sum(axis=0), 1.0)
    return (corpus.y_train @ occurs) / rows_with_word


def test_words_tell_the_class_as_much_as_they_lean(corpus):
    told = difference_between_classes(corpus)
    for words, error in ((corpus.rare, 0.1), (corpus.frequent, 0.04), (corpus.small_unit, 0.04)):
        agreement = np.sign(corpus.lean[words]) * told[words]
        assert agreement.mean() == pytest.approx(np.abs(corpus.lean[words]).mean(), abs=error)
    common_noise = (corpus.lean == 0.0) & (corpus.frequency > 0.02)
    assert np.abs(told[common_noise]).mean() < 0.08


def test_informative_words_are_few_and_of_one_kind_each(corpus):
    planted = np.concatenate([corpus.rare, corpus.frequent, corpus.small_unit])
    assert len(set(planted)) == len(planted) == TINY.n_rare + TINY.n_frequent + TINY.n_small_unit
    np.testing.assert_array_equal(np.flatnonzero(corpus.lean), np.sort(planted))


# --- the comparison ---------------------------------------------------------------------------


def test_outcomes_are_sane(outcomes):
    assert [outcome.rule for outcome in outcomes] == [
        "fobos", "fr-comid", "rda", "frda", "ftprl", "ftpfrl", "scale-free"
    ]  # fmt: skip
    for outcome in outcomes:
        assert 0.5 < outcome.test_accuracy < 1.0
        assert 0.0 < outcome.progressive_loss < 2.0
        assert outcome.weights == round((1.0 - outcome.share_of_zeros) * TINY.n_features)
        assert 0 < outcome.weights < TINY.n_features
        assert 0 <= outcome.rare_kept <= TINY.n_rare
        assert 0 <= outcome.small_unit_kept <= TINY.n_small_unit
        assert 0 <= outcome.frequent_kept <= TINY.n_frequent


def test_chunks_change_nothing(contestants, corpus):
    frda = contestants[3]
    at_once = frda.setting.model().fit(corpus.X_train, corpus.y_train)
    np.testing.assert_array_equal(frda.model.coef_, at_once.coef_)
    assert frda.kept(corpus.rare) == np.count_nonzero(at_once.coef_[0][corpus.rare])
    assert frda.predicted == TINY.n_train - 2_500
    assert 0.5 < frda.accuracy_so_far < 1.0


def test_stronger_l1_leaves_fewer_weights(corpus):
    path = list(compare.l1_path(corpus, compare.PAIRS[1].aware, n_points=3))
    weights = [point.weights for point in path]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > weights[-1]


def test_the_verdict_follows_the_numbers(outcomes):
    n_test = TINY.n_test
    right, wrong = np.ones(n_test, dtype=bool), np.zeros(n_test, dtype=bool)
    better = [
        replace(outcome, test_accuracy=0.5 + 0.1 * (i % 2), rare_kept=i, hits=right if i else wrong)
        for i, outcome in enumerate(outcomes)
    ]
    worse = [replace(outcome, test_accuracy=1.0 - outcome.test_accuracy) for outcome in better]
    assert "+10.0 (frda)" in tables.verdict(better)[0]
    assert "better in 3 of 3 pairs, clearly worse in 0" in tables.verdict(better)[0]
    assert "better in 0 of 3 pairs, clearly worse in 3" in tables.verdict(worse)[0]
    assert "scale-free, minus the best of the others (fr-comid): -10.0" in tables.verdict(better)[1]


def path(*points: tuple[int, float]) -> list[compare.PathPoint]:
    return [compare.PathPoint(1e-4, weights, accuracy) for weights, accuracy in points]


@pytest.mark.parametrize(
    ("aware", "expected"),
    [
        (path((10_000, 0.9), (100, 0.9)), None),  # always ahead
        (path((10_000, 0.9), (100, 0.5)), 1_000),  # 0.7 at the middle of the logarithms
        (path((10_000, 0.6), (100, 0.6)), 10_000),  # never ahead
        (path((50, 0.9)), None),  # nothing in common
    ],
)
def test_where_a_rule_falls_behind(aware, expected):
    plain = path((10_000, 0.7), (0, 0.5), (100, 0.7))
    assert compare.falls_behind_at(plain, aware) == (expected and pytest.approx(expected, rel=0.01))


def test_the_verdict_on_paths(corpus):
    levels = {"fobos": 0.7, "rda": 0.7, "ftprl": 0.7, "fr-comid": 0.8, "frda": 0.6, "ftpfrl": 0.7}
    paths = {rule: path((10_000, level), (100, level)) for rule, level in levels.items()}
    sentence = tables.verdict_on_paths(paths, corpus)
    assert "+10.0 (fr-comid), -10.0 (frda), +0.0 (ftpfrl) points" in sentence
    assert "never (fr-comid), above 50.0% zeros (frda), never (ftpfrl)" in sentence


def test_tables_have_a_cell_for_everything(contestants, outcomes, corpus):
    console = Console(width=100, record=True, file=StringIO())
    console.print(tables.running_table(contestants, corpus))
    console.print(tables.running_table([compare.Contestant(s) for s in compare.SETTINGS], corpus))
    console.print(tables.comparison_table(outcomes, corpus))
    text = console.export_text()
    assert text.count("ftpfrl") == 3
    assert text.count("scale-free") == 3
    assert text.count("6,000") == 7
    assert f"{outcomes[3].test_accuracy:.1%}" in text


def test_the_picture_is_a_png(contestants, corpus, tmp_path):
    paths = {
        setting.rule: [compare.PathPoint(1e-4, 5_000, 0.7), compare.PathPoint(1e-3, 50, 0.6)]
        for setting in compare.SETTINGS
    }
    file = picture.draw(paths, contestants[4], contestants[6], corpus, tmp_path / "demo.png")
    assert file.read_bytes().startswith(b"\x89PNG")
    assert file.stat().st_size > 10_000


def test_the_commands_at_the_end_work(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = next_steps.write_rows(corpus, Path("demo.vw"), n_rows=500)
    train, inspect, predict = (
        command.split(" | ")[0].split("rarefy ")[1].split() for command in next_steps.commands(file)
    )
    for arguments in (train, inspect, predict):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 500
    read = to_matrix(rarefy_read(file))
    assert read.X.nnz == corpus.X_train[:500].nnz
    np.testing.assert_array_equal(np.sort(read.X.data), np.sort(corpus.X_train[:500].data))
