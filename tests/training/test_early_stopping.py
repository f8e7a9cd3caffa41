"""Runs that end when more passes no longer pay."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy import ConfigError, InputError
from tests.cli.test_cli import run

MOST = 64
HOW = {"l1": 0.3, "eta0": 1.0, "holdout": 0.25}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Two files with rows of one kind."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("rows.svm", "other.svm"):
        X = rng.random((400, 30)) < 0.2
        y = np.where(X @ np.linspace(-2.0, 2.0, 30) + 3.0 * rng.normal(size=400) > 0.0, 1, -1)
        lines = [
            f"{label} " + " ".join(f"{j + 1}:1" for j in np.flatnonzero(row))
            for label, row in zip(y, X, strict=True)
        ]
        (tmp_path / name).write_text("\n".join(lines) + "\n")


def stopped(**how):
    return rarefy.train("rows.svm", passes=MOST, early_stopping=True, **HOW | how)


def losses(holdout, upto: int) -> dict[int, float]:
    """Of held-out rows, after so many passes that were asked for."""
    judged = [n for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48) if n <= upto]
    return {
        n: rarefy.train("rows.svm", passes=n, **{**HOW, "holdout": holdout}).holdout_["loss"]
        for n in judged
    }


@pytest.mark.parametrize("holdout", [0.25, "other.svm"])
def test_it_stops_as_soon_as_the_loss_hardly_falls(holdout):
    model = stopped(holdout=holdout)
    assert 1 < model.passes < MOST
    by_hand = losses(holdout, model.passes)
    *before, last = by_hand.values()
    assert max(by_hand) == model.passes
    assert not last < 0.997 * before[-1]
    for earlier, later in pairwise(before):
        assert later < 0.997 * earlier
    assert model.holdout_["loss"] == last


def test_the_model_is_that_of_so_many_passes():
    rarefy.train("rows.svm", passes=MOST, early_stopping=True, output="early.model", **HOW)
    early = rarefy.load("early.model")
    assert early.passes < MOST
    asked = rarefy.train("rows.svm", passes=early.passes, **HOW)
    reader = rarefy.read("other.svm")
    np.testing.assert_array_equal(
        early.decision_function(reader), asked.decision_function(rarefy.read("other.svm"))
    )
    again = [rarefy.train("other.svm", resume=model) for model in ("early.model", asked)]
    scores = [one.decision_function(rarefy.read("other.svm")) for one in again]
    np.testing.assert_array_equal(*scores)  # it is finished, and can go on with new data


@pytest.mark.parametrize("how", [{}, {"shards": 2}, {"shuffle": True}, {"holdout": "other.svm"}])
def test_interrupted_and_resumed(how):
    """The losses so far are in the checkpoint."""
    how = {"eta0": 0.1, **how}
    expected = stopped(output="whole.model", save_every=100, **how)
    assert expected.t_ > 1_000

    def interrupt(line):
        if line.examples >= 1_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped(output="part.model", save_every=100, progress=interrupt, **how)
    assert rarefy.load("part.model").t_ < expected.t_
    rarefy.train(resume="part.model", output="again.model")
    assert Path("again.model").read_bytes() == Path("whole.model").read_bytes()


@pytest.mark.parametrize("n_passes", [1, 2, 5])
def test_resumed_before_a_pass_is_judged(n_passes, monkeypatch):
    """A loss that is not in the file yet is measured when the run goes on."""
    from rarefy.training.progress_tracker import ProgressTracker

    stopped(output="whole.model", save_every=100)
    measure, calls = ProgressTracker.loss_of_holdout, []

    def once_too_often(self):
        calls.append(None)
        if len(calls) == n_passes:
            raise InputError("somebody has moved the file")
        return measure(self)

    with monkeypatch.context() as patched:
        patched.setattr(ProgressTracker, "loss_of_holdout", once_too_often)
        with pytest.raises(InputError, match="somebody has moved"):
            stopped(output="part.model", save_every=100)
    rarefy.train(resume="part.model", output="again.model")
    assert Path("again.model").read_bytes() == Path("whole.model").read_bytes()


def test_the_command_says_so():
    result = run(
        *(
            "train",
            "rows.svm",
            "-o",
            "a.model",
            "--l1",
            "0.3",
            "--eta0",
            "1",
            "--passes",
            str(MOST),
        ),
        *("--holdout", "0.25", "--early-stopping"),
    )
    assert "Stopped early: the held-out loss is 0." in result.output
    assert rarefy.load("a.model").passes < MOST


def test_new_data_are_learned_as_often_as_is_asked_for():
    stopped(output="a.model")
    more = rarefy.train("other.svm", resume="a.model", output="b.model")
    assert more.learner_.t == rarefy.load("a.model").learner_.t + 400


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"passes": 5}, "early_stopping needs holdout: held-out rows say when to stop"),
        ({"holdout": 0.1}, "early_stopping has no meaning with passes=1"),
        ({"holdout": 0.1, "passes": 5, "early_stopping": 3}, "early_stopping=3"),
    ],
)
def test_what_is_refused(how, message):
    with pytest.raises(ConfigError, match=message):
        rarefy.train("rows.svm", **{"early_stopping": True, **how})


def test_without_rows_held_out():
    with pytest.raises(InputError, match="no rows are held out"):
        rarefy.train("rows.svm", early_stopping=True, passes=3, holdout=1e-6)
