"""Held-out data of `rarefy train`: what flips from line to line, and how that is shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarefy.cli.views.running_table import RunningTable, fitting, values_of
from rarefy.cli.views.text_display import TextDisplay
from rarefy.streams.holdout import RunningFlips
from rarefy.streams.stream_model import Scored
from tests import data
from tests.cli.test_cli import run
from tests.cli.test_display import LINE, SUMMARY, plain_text

N_ROWS = 2500
MEASURES = {"examples", "loss", "accuracy", "auc"}
FLIPS = {"negative_flips", "positive_flips"}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = data.svmlight_text(data.problem("binary", n=N_ROWS)).splitlines(keepends=True)
    for n in (1000, 2000, N_ROWS):
        Path(f"{n}.svm").write_text("".join(lines[:n]))
    for kind in ("binary", "multiclass", "regression"):
        text = data.svmlight_text(data.problem(kind, n=1200, seed=1))
        Path(f"{kind}.svm").write_text(text)
    return tmp_path


def lines_of(*arguments: str) -> list[dict]:
    """The held-out metrics of each line, and of the end."""
    result = run("train", *arguments, "-o", "some.model", "--json")
    return [json.loads(line)["holdout"] for line in result.stdout.splitlines()]


def flipped(before: list[bool], after: list[bool]) -> dict[str, int]:
    pairs = [*zip(before, after, strict=True)]
    return {
        "negative_flips": pairs.count((True, False)),
        "positive_flips": pairs.count((False, True)),
    }


def without_flips(metrics: dict) -> dict:
    return {name: value for name, value in metrics.items() if name not in FLIPS}


def flips_of(metrics: dict) -> dict:
    return {name: metrics[name] for name in sorted(FLIPS)}


@st.composite
def sightings(draw):
    """Examples that are seen again and again, in batches: number, right, importance."""
    number = st.integers(0, 40)
    one = st.tuples(st.booleans(), st.sampled_from([0.0, 0.5, 1.0]))
    return draw(
        st.lists(st.tuples(st.dictionaries(number, one, max_size=12), st.booleans()), max_size=12)
    )


@settings(deadline=None)
@given(sightings(), st.sampled_from([1, 3]))
def test_running_flips_are_those_of_a_slow_count(batches, n_outputs):
    flips, known = RunningFlips(), {}
    n_again, expected = 0, {"negative_flips": 0, "positive_flips": 0}
    for batch, asked in batches:
        right = np.array([was_right for was_right, _ in batch.values()], dtype=bool)
        y = np.array([1.0 if number % 2 else -1.0 for number in batch])
        scores = np.where(right, y, -y)[:, np.newaxis]
        if n_outputs == 3:
            y = np.array([number % 3 for number in batch], dtype=float)
            scores = np.eye(3)[((y + ~right) % 3).astype(int)]
        importance = np.array([weight for _, weight in batch.values()])
        flips.add(np.array([*batch], dtype=np.int64), Scored(scores, y, importance), 0.0)
        for number, (was_right, weight) in batch.items():
            if weight:
                n_again += number in known
                expected["negative_flips"] += known.get(number, False) and not was_right
                expected["positive_flips"] += not known.get(number, True) and was_right
                known[number] = was_right
        if asked:
            nothing = dict.fromkeys(expected)
            assert flips.summary() == (expected if n_again else nothing)
            n_again, expected = 0, dict.fromkeys(expected, 0)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_flips_of_a_file_are_those_of_the_models_at_each_line(folder, kind):
    if kind == "multiclass":
        lines = Path("multiclass.svm").read_text().splitlines(keepends=True) * 2
        for n in (1000, 2000):
            Path(f"{n}.svm").write_text("".join(lines[:n]))
        Path(f"{N_ROWS}.svm").write_text("".join(lines))
    labels = [line.split()[0] for line in Path(f"{kind}.svm").read_text().splitlines()]
    right = []
    for n in (1000, 2000, N_ROWS):
        run("train", f"{n}.svm", "-o", f"{n}.model", "--quiet")
        answers = run("predict", f"{n}.model", f"{kind}.svm").stdout.split()
        right.append([answer == label for answer, label in zip(answers, labels, strict=True)])
    first, second, third, end = lines_of(f"{N_ROWS}.svm", "--holdout", f"{kind}.svm")
    assert flips_of(first) == dict.fromkeys(sorted(FLIPS))
    assert flips_of(second) == flipped(right[0], right[1])
    assert flips_of(third) == flipped(right[1], right[2])
    assert min(flips_of(second).values()) > 0
    assert end == without_flips(third) | {"progressive": False}


def test_flips_of_a_share_are_from_pass_to_pass(folder, monkeypatch):
    seen = []
    add = RunningFlips.add

    def noted(self, examples, scored, threshold):
        right = (scored.scores[:, 0] > 0.0) == (scored.y > 0.0)
        seen.extend(zip(examples.tolist(), right.tolist(), strict=True))
        add(self, examples, scored, threshold)

    monkeypatch.setattr(RunningFlips, "add", noted)
    *lines, end = lines_of(f"{N_ROWS}.svm", "--holdout", "0.2", "--passes", "3")
    rows = [row for row, _ in seen]
    n_held_out = len(set(rows))
    assert 400 < n_held_out < 600
    assert rows == sorted(set(rows)) * 3
    right = [was_right for _, was_right in seen]
    passes = [right[n * n_held_out :][:n_held_out] for n in range(3)]
    expected = [flipped(passes[0], passes[1]), flipped(passes[1], passes[2])]
    assert expected[0]["negative_flips"] > 0
    for name in FLIPS:
        counts = [line[name] for line in lines]
        assert counts[0] is None
        assert sum(count or 0 for count in counts) == expected[0][name] + expected[1][name]
    assert end["examples"] == n_held_out


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--holdout", "0.2"), MEASURES),
        (("--holdout", "0.2", "--passes", "2"), MEASURES | FLIPS),
        (("--holdout", "binary.svm"), MEASURES | FLIPS),
        (("--holdout", "regression.svm", "--loss", "squared"), {"examples", "loss", "rmse", "r2"}),
        (
            ("--holdout", "0.2", "--loss", "squared", "--passes", "2"),
            {"examples", "loss", "rmse", "r2"},
        ),
    ],
    ids=lambda words: " ".join(sorted(words)) if isinstance(words, set) else " ".join(words),
)
def test_flips_are_told_where_there_can_be_any(folder, options, names):
    file = "regression.svm" if "squared" in options else f"{N_ROWS}.svm"
    *lines, end = lines_of(file, *options)
    for held_out in lines:
        assert set(held_out) == names
    assert set(end) == (names - FLIPS) | {"progressive"}


# --- what is shown --------------------------------------------------------------------------

HELD_OUT = {
    "examples": 500,
    "loss": 0.4,
    "accuracy": 0.81,
    "auc": 0.93,
    "negative_flips": 1234,
    "positive_flips": 7,
}


def test_flips_are_counts_in_columns_of_their_own(capsys):
    above, heading, first, second = plain_text(
        capsys,
        LINE._replace(holdout=HELD_OUT | dict.fromkeys(FLIPS)),
        LINE._replace(holdout=HELD_OUT),
        holdout=True,
    )
    assert above.endswith("  held out" * 6)
    assert heading.endswith("  examples      loss  accuracy       auc   flips -   flips +")
    assert first.endswith("       500    0.4000    81.0 %    0.9300         -         -")
    assert second.endswith("       500    0.4000    81.0 %    0.9300     1,234         7")


def test_the_last_word_is_without_flips(capsys):
    shown = TextDisplay(RunningTable(1, regression=False, holdout=True))
    shown.end(SUMMARY | {"holdout": HELD_OUT | {"progressive": False}})
    assert (
        "held out: loss 0.4000, accuracy 81.0 %, auc 0.9300 (500 examples, by the final model)\n"
        in capsys.readouterr().err
    )


def test_columns_for_loss_come_even_if_no_row_was_held_out_yet(capsys):
    _, heading, *_ = plain_text(
        capsys, LINE._replace(holdout=dict.fromkeys(sorted(FLIPS))), holdout=True
    )
    assert heading.endswith("    loss  accuracy   flips -   flips +")


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, "examples loss accuracy kept | loss accuracy auc negative_flips"),
        (
            120,
            "seconds pass_number examples loss loss_since accuracy kept | "
            "loss accuracy auc negative_flips positive_flips",
        ),
    ],
)
def test_lost_answers_are_among_what_fits_a_terminal(width, shown):
    table = RunningTable(2, regression=False, holdout=True)
    line = LINE._replace(holdout=HELD_OUT)
    list(table.with_heading(line, width))
    names = [column.name for column in fitting(table.columns, width)]
    of_training, of_holdout = (part.split() for part in shown.split(" | "))
    assert names == of_training + [f"held-out {name}" for name in of_holdout]
    assert set(names) <= set(values_of(line))
