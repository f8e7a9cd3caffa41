"""Plain and feature-aware rules on data that the papers do not have; shuffles of the UCI sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse as sp

import experiments.reproduction.beyond
from experiments.comparison import HIGHER, Comparison
from experiments.records import Records
from experiments.reproduction import data, gravity
from experiments.reproduction.beyond import Beyond
from experiments.reproduction.beyond_section import advice, awareness, effect, in_short, leaders
from experiments.reproduction.beyond_tables import rules_table
from experiments.reproduction.claims import AT_BEST, AT_SPARSE, Finding
from experiments.reproduction.data import Source
from experiments.reproduction.methods import ADAGRAD_RDA, COMID, PAIRS, RDA, frda, sgft
from experiments.reproduction.plan import FULL, QUICK
from experiments.reproduction.runs import Laboratory, Outcome, Run, from_json
from experiments.reproduction.study import Study

AWARE = frda(math.inf)
GAINS = {("rcv1", AWARE): 0.04, ("sms", AWARE): -0.03, ("rcv1", ADAGRAD_RDA): 0.1}
PEAK, SPARSE_FROM = -9, -7


class Known(Laboratory):
    """All rules are alike, but for some gains in accuracy."""

    def learned(self, batch: list[Run]) -> list[Outcome]:
        return [self._outcome(run) for run in batch]

    def _outcome(self, run: Run) -> Outcome:
        dataset, method, protocol = run.case
        accuracy = 0.8 + GAINS.get((dataset, method), 0.0) - 0.01 * abs(run.step - PEAK)
        zeros = 0.95 if run.step >= SPARSE_FROM else 0.2
        return Outcome(*([value] * protocol.folds for value in (accuracy, zeros, 3.0)))


@pytest.fixture
def beyond(tmp_path) -> Beyond:
    laboratory = Known(Records(tmp_path / "runs", from_json), 100, 1)
    study = Study(QUICK, laboratory)
    cases = [case for name in QUICK.beyond for case in study.main_cases(name)]
    laboratory.do(study.scan_runs(cases), lambda done, all_: None)
    while set(wanted := study.path_runs(cases)) - laboratory.known.keys():
        laboratory.do(wanted, lambda done, all_: None)
    return Beyond(study)


def test_what_is_found_follows_from_the_numbers(beyond):
    choice = AT_BEST[0]
    found = beyond.finding((RDA, AWARE), choice)
    assert [(c.dataset, c.sign) for c in found.comparisons] == [("rcv1", 1), ("sms", -1)]
    assert [len(c.after) for c in found.comparisons] == [3, 6]  # folds of one and of two shuffles
    assert found.verdict == "does not hold; against it: sms"
    assert beyond.together(choice).counts == "1 / 2 / 1"
    assert beyond.together(choice, COMID).counts == "0 / 2 / 0"
    assert beyond.on("rcv1", choice).counts == "1 / 1 / 0"
    assert beyond.by_outcome(choice) == {
        "better on some, never worse": [],
        "worse on some, never better": [],
        "better on some, worse on others": [(RDA, AWARE)],
        "never told apart": [(COMID, sgft(2.0))],
    }
    alike = [f"{sgft(2.0)} and {COMID} on {name}" for name in QUICK.beyond]
    assert beyond.identical() == [*alike, f"{ADAGRAD_RDA} and {RDA} on sms"]
    assert beyond.too_dense(choice, 0.9)
    assert not beyond.too_dense(AT_SPARSE[0], 0.9)


def test_standings(beyond):
    standings = {standing.method: standing for standing in beyond.standings(AT_BEST[0])}
    assert standings[ADAGRAD_RDA].behind == pytest.approx(0.0)
    assert standings[RDA].behind == pytest.approx(5.0)  # by 10 points on rcv1, and none on sms
    assert standings[AWARE].behind == pytest.approx(4.5)
    assert standings[AWARE].most_behind == pytest.approx(6.0)
    assert standings[AWARE].where == "rcv1"
    assert beyond.size_of_awareness(AT_BEST[0]) == pytest.approx(1.5)  # of 0, 0, 3 and 4
    assert beyond.spread_of_plain_rules(AT_BEST[0]) == pytest.approx(0.0)


def test_words_follow_from_the_numbers(beyond):
    choice = AT_BEST[0]
    assert "that feature-aware rules are more accurate does not hold" in awareness(beyond, choice)
    assert "gains as often as it loses (1 and 1 of 2)" in advice(beyond, RDA)
    assert "makes no significant difference" in advice(beyond, COMID)
    assert f"is {ADAGRAD_RDA} (0.0 points)" in leaders(beyond, choice)
    assert f"feature-aware rules it is {AWARE} (4.5 points)" in leaders(beyond, choice)
    assert f"1 / 2 / 1 of 4 with l1 chosen for {choice}" in in_short(beyond)


def test_what_is_not_better_than_guessing_is_in_italics(beyond, monkeypatch):
    commoner = {"rcv1": 75, "sms": 79}  # rows of 100
    monkeypatch.setattr(
        experiments.reproduction.beyond,
        "load",
        lambda name, shuffle, n_rows: (None, np.arange(100) >= commoner[name]),
    )
    np.testing.assert_allclose(beyond.guesses("sms"), np.full(6, 0.79))
    lines = rules_table(beyond, AT_BEST[0]).splitlines()
    cells = next(line for line in lines if AWARE in line).split("|")
    assert [cell.strip() for cell in cells[2:4]] == ["84.0 (20.0)", "*77.0 (20.0)*"]


@pytest.mark.parametrize(
    ("signs", "words"),
    [
        ([1, 0, 0], "gains in 1 of 3 comparisons, and never loses"),
        ([0, -1, -1], "loses in 2 of 3 comparisons, and never gains"),
        ([1, 1, -1], "gains more often than it loses (2 and 1 of 3)"),
        ([1, -1, -1], "gains less often than it loses (1 and 2 of 3)"),
    ],
)
def test_effects(signs, words):
    before = np.linspace(0.8, 0.9, 10)
    comparisons = [Comparison("d", before, before + 0.1 * sign, 10) for sign in signs]
    assert effect(Finding(HIGHER, comparisons)) == words


def test_every_pair_is_learned_on_every_set():
    assert set(FULL.beyond_methods) == {method for pair in PAIRS for method in pair}
    assert all(data.SOURCES[name].published_as is None for name in FULL.beyond)
    assert all(data.SOURCES[name].published_as for name in FULL.datasets)


def test_missing_folders_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(data, "REAL_DATA", tmp_path)
    (tmp_path / "imdb").mkdir()
    assert data.absent(("imdb", "movies", "a9a")) == ["uci-small", "movie-reviews", "a9a"]


@pytest.mark.parametrize(("published_as", "n_features"), [(None, 2), ("books", 4)])
def test_features_that_do_not_occur(monkeypatch, published_as, n_features):
    """They count if the papers have the set, whose number of features is known."""
    X = sp.csr_array(np.array([[0.0, 2.0, 0.0, 1.0], [0.0, 0.5, 0.0, 0.0]]))
    source = Source("", published_as, "", lambda shuffle: (X, np.array([-1, 1])))
    monkeypatch.setitem(data.SOURCES, f"made for {published_as}", source)
    rows, labels = data.load(f"made for {published_as}", 0, 10)
    assert rows.shape == (2, n_features)
    np.testing.assert_array_equal(rows.sum(axis=1), [3.0, 0.5])
    assert labels.tolist() == [0, 1]


def test_shuffles_of_a_table_are_put_together(tmp_path):
    plan = QUICK._replace(uci=("housing",), uci_shuffles=2)
    known = Records(tmp_path / "trades", gravity.from_json)
    n_strengths = len(gravity.STRENGTHS[gravity.BATCH])
    for shuffle, score in enumerate((0.5, 0.7)):
        rows = [[score] * gravity.FOLDS] * n_strengths
        job = gravity.Job("housing", gravity.BATCH, shuffle, plan.uci_passes)
        known.keep({job: gravity.Trade(rows, rows)})
    scores, features = gravity.Trades(plan, known).path("housing", gravity.BATCH)
    assert scores.shape == features.shape == (n_strengths, 2 * gravity.FOLDS)
    assert scores.mean() == pytest.approx(0.6)


@pytest.mark.skipif(bool(data.absent(())), reason="the data is not at hand")
def test_batch_solutions_are_the_same_each_time():
    job = gravity.Job("wdbc", gravity.BATCH, 0, 1)
    assert gravity.batch(job) == gravity.batch(job)
