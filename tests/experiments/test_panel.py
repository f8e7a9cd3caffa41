"""The panel of default settings: data sets, judging, counting, and a small page."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from rich.console import Console
from scipy import sparse

from experiments.panel import data, judging, page
from experiments.panel.__main__ import run, run_again
from experiments.panel.data import ACCURACY, CLICKS, DENSE, R2, SOURCES, TEXT, Source, task
from experiments.panel.judging import Outcome, judged
from experiments.panel.methods import METHODS, OURS, SCALED_BATCH, SGD, VW, Answer, rows_for_river

# --- data ---------------------------------------------------------------------------------------


def test_the_panel_is_large_and_of_all_kinds():
    assert len(SOURCES) >= 25
    assert {source.kind for source in SOURCES.values()} == {
        DENSE,
        TEXT,
        CLICKS,
        data.REGRESSION,
    }
    wanted = {"iris", "digits", "wine", "breast cancer", "diabetes", "housing"}
    assert wanted <= SOURCES.keys()


def made(rows=data.as_they_come, measure=ACCURACY) -> data.Task:
    X = np.arange(60.0).reshape(30, 2)
    return task(Source(DENSE, "", lambda: (X, np.arange(30) % 3), measure, rows))


def test_copies_are_in_one_fold():
    copied = made(data.in_copies)
    assert len(copied.y) == 30 * data.COPIES
    for row in np.unique(copied.X, axis=0):
        assert len(np.unique(copied.folds[(row == copied.X).all(axis=1)])) == 1


def test_sorting_changes_the_order_and_nothing_else():
    plain, ordered = made(), made(data.class_by_class)
    assert (np.diff(ordered.y) >= 0).all()
    assert (np.diff(plain.y) < 0).any()
    for fold in range(data.N_FOLDS):
        for before, after in zip(plain.split(fold), ordered.split(fold), strict=True):
            np.testing.assert_array_equal(np.sort(before, axis=0), np.sort(after, axis=0))


def test_folds_have_the_share_of_every_class():
    found = made()
    assert np.bincount(3 * found.folds + found.y).tolist() == [2] * 15


def test_texts_lose_empty_columns():
    X = sparse.csr_array([[0.0, 1.0, 0.0], [0.0, 2.0, 3.0]])
    assert data.in_use(X).toarray().tolist() == [[1.0, 0.0], [2.0, 3.0]]


def numbered(n_rows: int, **fields) -> Source:
    """Rows that are their own numbers, and samples of ten of them."""
    X, y = np.arange(float(n_rows))[:, np.newaxis], np.zeros(n_rows)
    return Source(data.REGRESSION, "", lambda: (X, y), R2, most_rows=10, **fields)


def test_fresh_samples_share_no_row_with_each_other_nor_with_the_first():
    source = numbered(35)
    first = set(task(source).X.ravel())
    found = data.fresh(source)
    assert found.n_samples == 2
    assert found.are_other_rows
    assert len(found.tasks) == data.N_REPEATS
    one, two = ({tuple(np.sort(made.X.ravel())) for made in found.tasks[n::2]} for n in range(2))
    assert len(one) == len(two) == 1  # each sample comes again, in other folds
    assert len(first | set(*one) | set(*two)) == 30
    assert len({tuple(made.X.ravel()) for made in found.tasks}) == data.N_REPEATS


def test_few_rows_are_split_again():
    source = numbered(19)
    tasks, n_samples, are_other_rows = data.fresh(source)
    assert (n_samples, are_other_rows) == (1, False)
    for made in tasks:
        assert set(made.X.ravel()) == set(task(source).X.ravel())
    folds = {tuple(made.folds[np.argsort(made.X.ravel())]) for made in tasks}
    assert len(folds) == data.N_REPEATS


def test_other_rows_of_a_source_are_all_new():
    others = (np.arange(100.0, 120.0)[:, np.newaxis], np.zeros(20))
    found = data.fresh(numbered(10, read_others=lambda: others))
    assert found.n_samples == 2
    assert set(np.concatenate([made.X.ravel() for made in found.tasks])) == set(others[0].ravel())


# --- judging ------------------------------------------------------------------------------------


def test_calibration_error_is_the_gap_of_each_bin():
    found = np.array([[0.9, 0.1]] * 4 + [[0.4, 0.6]] * 4)
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    assert judging.calibration_error(found, y) == pytest.approx((0.15 + 0.15) / 2)
    sure = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert judging.calibration_error(sure, np.array([0, 1])) == 0.0
    assert judging.log_loss(found, y) == pytest.approx(
        -(3 * np.log(0.9) + np.log(0.1) + 3 * np.log(0.6) + np.log(0.4)) / 8
    )


def test_probabilities_that_are_none_are_equal():
    found = judging.as_probabilities(np.array([[np.nan, 0.5], [0.0, 0.5]]))
    np.testing.assert_allclose(found, [[0.5, 0.5], [0.0, 1.0]], atol=1e-12)
    assert found.min() > 0.0


def test_what_diverges_has_the_lowest_score():
    answer = Answer(np.array([1.0, np.nan]), None, None, 1, 0.0)
    assert judging.score(answer, np.array([1.0, 2.0]), R2) == -inf


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", ["two classes", "three classes", "regression"])
def test_every_tool_learns_what_is_easy(name, kind):
    pytest.importorskip(METHODS[name].package)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    measure = R2 if kind == "regression" else ACCURACY
    if measure == R2:
        y = X @ [1.0, -1.0, 0.0, 2.0] + 0.1 * rng.normal(size=300)
    else:
        n_classes = 2 if kind == "two classes" else 3
        y = X[:, :n_classes].argmax(axis=1)
    if METHODS[name].takes_sparse:
        X = sparse.csr_array(X)
    found = judged(METHODS[name], data.Task(X, y, np.arange(300) % data.N_FOLDS), measure)
    assert np.mean(found.scores) > 0.6
    assert len(found.log_losses) == (0 if measure == R2 or "SGD" in name else data.N_FOLDS)
    assert min(found.weights) >= 2


def test_river_gets_rows_in_their_order():
    some = rows_for_river(np.zeros((20_000, 10)), 2)
    assert len(some) == 5_000
    assert (np.diff(some) > 0).all()
    assert len(rows_for_river(np.zeros((20_000, 1_000)), 101)) == 50


# --- counting -----------------------------------------------------------------------------------


def outcome(*scores: float, log_loss: float = 0.5) -> Outcome:
    n = len(scores)
    return Outcome(list(scores), [log_loss] * n, [0.1] * n, [3] * n, [0.1] * n)


def test_ahead_within_one_standard_error_and_behind():
    behind = page.Duel("sms", VW, [0.80, 0.90], [0.85, 0.95])
    assert behind.lead == pytest.approx(-0.05)
    assert behind.is_within_error  # 0.05 is the error of their mean
    assert not behind.is_within_paired_error  # their difference is the same in both folds
    assert page.Duel("sms", VW, [0.8, 0.9], [0.7, 0.9]).lead > 0.0
    assert page.Duel("sms", VW, [0.8, 0.9], [0.7, -inf]).is_within_paired_error


def test_verdicts_count_and_name_what_is_behind():
    found = {
        ("sms", OURS): outcome(0.9, 0.9),
        ("sms", SGD): outcome(0.8, 0.8),
        ("sms", SCALED_BATCH): outcome(0.95, 0.95, log_loss=0.4),
        ("iris", OURS): outcome(0.7, 0.7),
        ("iris", SGD): outcome(0.8, 0.8),
        ("iris", SCALED_BATCH): outcome(0.7, 0.7),
    }
    text = page.verdicts(found)
    assert "as good as SGD on **1 of 2** (aim: all)" in text
    assert "Behind: iris (SGD: -10.00 ± 0.00)." in text
    assert "within one standard error on **1 of 2** (aim: nine of ten)" in text
    assert "Of texts: at least as good as every other tool on **0 of 1**" in text
    assert "Behind: sms (LR / Ridge, scaled: -5.00 ± 0.00)." in text
    assert "on **1 of 2**. Higher on: sms (+0.100 ± 0.000)." in text


def test_what_is_behind_is_named_once():
    found = {
        ("sms", OURS): outcome(0.9, 0.9),
        ("sms", SGD): outcome(0.95, 0.95),
        ("sms", VW): outcome(0.96, 0.96),
        ("iris", OURS): outcome(0.7, 0.7),
        ("iris", SGD): outcome(0.7, 0.7),
        ("iris", SCALED_BATCH): outcome(0.8, 0.8),  # no aim is missed
    }
    assert [(duel.dataset, duel.peer) for duel in page.behind(found)] == [
        ("sms", VW),
        ("sms", SGD),
    ]


def test_repeats_have_a_corrected_standard_error():
    theirs = [0.5] * 10
    ours = [0.4, 0.5, 0.4, 0.5, 0.4, 0.5, 0.6, 0.5, 0.6, 0.5]
    first = page.Duel("sms", VW, [0.4, 0.5], [0.5, 0.5])
    variance = np.var(np.subtract(ours, theirs), ddof=1)
    one = page.Repeated(first, ours, theirs, n_samples=1, is_on_other_rows=False)
    two = page.Repeated(first, ours, theirs, n_samples=2, is_on_other_rows=True)
    assert one.lead == pytest.approx((-0.01, np.sqrt((1 / 10 + 1 / 4) * variance)))
    assert two.lead.error == pytest.approx(np.sqrt((1 / 10 + 1 / 8) * variance))
    assert one.n_behind == 1
    text = page.again_table([one, two])
    assert "| sms | VW    | accuracy | -5.00 ± 5.00 | the same rows   | -1.00 ±" in text
    assert "| 2 of other rows |" in text
    assert "| 1 of 2" in text
    assert "in **0**. It is at least as good in 0." in page.again_verdict([one])
    clear = one._replace(ours=[0.4] * 10)
    assert "in **1**: sms (VW). It is at least" in page.again_verdict([clear])


# --- from beginning to end ----------------------------------------------------------------------


def test_a_small_page(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.panel.__main__.at_hand", lambda: [OURS, SGD, SCALED_BATCH])
    console = Console(quiet=True)
    found, shapes = run(["iris", "linnerud"], tmp_path, console)
    assert shapes == {"iris": (150, 4, 3), "linnerud": (20, 3, 0)}
    text = page.page(found, shapes, [])
    assert "| iris     | flowers" in text
    assert "diverges" in text  # SGD, without scaling
    assert text.index("## Verdict") < text.index("## Scores") < text.index("## Probabilities")
    assert run(["iris", "linnerud"], tmp_path, console)[0] == found  # with the times: it was kept


def test_a_duel_is_measured_again(tmp_path):
    console = Console(quiet=True)
    first = page.Duel("iris", SGD, [0.5, 0.6], [0.7, 0.7])
    (found,) = run_again([first], tmp_path, console)
    assert len(found.ours) == len(found.theirs) == data.N_REPEATS * data.N_FOLDS
    assert not found.is_on_other_rows
    assert found.lead.mean > 0.1  # SGD, without scaling
    assert run_again([first], tmp_path, console) == [found]
    outcomes = {("iris", name): outcome(0.9, 0.9) for name in (OURS, SGD, SCALED_BATCH)}
    text = page.page(outcomes, {"iris": (150, 4, 3)}, [found])
    assert text.index("## Scores") < text.index("measured again") < text.index("## Probabilities")
