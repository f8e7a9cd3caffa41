"""Rows in random order: all of them, or those of a window; the same however they are read."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy import SparseOnlineClassifier
from rarefy.errors import ConfigError, RarefyWarning
from rarefy.files.model_file import load_model
from rarefy.readers.source import blocks
from rarefy.splits import random_order
from rarefy.streams import shuffle
from rarefy.streams.holdout import HeldOutShare
from rarefy.streams.run import Run
from rarefy.training.plan import new_plan
from tests.cli.test_cli import error_of, run

N_ROWS = 600
WINDOW = 16_000  # bytes: about a sixth of the rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Rows sorted by their labels, those in random order, and others to predict."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2 * N_ROWS, 8))
    y = np.where(X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=len(X)) > 0.0, 1, -1)
    lines = [
        f"{label} | {' '.join(f'x{j}:{value:.3f}' for j, value in enumerate(row))}\n"
        for label, row in zip(y, X, strict=True)
    ]
    Path("test.vw").write_text("".join(lines[N_ROWS:]))
    Path("mixed.vw").write_text("".join(lines[:N_ROWS]))
    Path("sorted.vw").write_text("".join(sorted(lines[:N_ROWS])))
    return tmp_path


@pytest.fixture
def small_window(monkeypatch):
    monkeypatch.setattr("rarefy.training.request.LEAST_MEMORY", 1000)
    return {"shuffle": True, "shuffle_memory": WINDOW}


def accuracy(model) -> float:
    labels = [float(line.split()[0]) for line in Path("test.vw").read_text().splitlines()]
    return float(np.mean(model.predict(rarefy.read("test.vw")).astype(float) == labels))


def model_bytes(*data: str, **asked) -> bytes:
    rarefy.train(*data, output="out.model", **asked)
    return Path("out.model").read_bytes()


def learned_rows(path: str, **asked) -> list[list[tuple[int, float]]]:
    """Numbers and labels of the rows of each pass, in the order in which they are learned."""
    plan = new_plan([path], **asked)
    passes: list[list[tuple[int, float]]] = [[] for _ in range(plan.run.passes)]
    learn = Run._learn

    def noted(self, parts):
        for part in parts:
            numbers, labels = part.numbers.tolist(), part.batch.labels.tolist()
            passes[self.position.pass_number - 1] += zip(numbers, labels, strict=True)
        learn(self, parts)

    plan.run._learn = functools.partial(noted, plan.run)
    for _ in plan.run.steps():
        pass
    return passes


# --- order ----------------------------------------------------------------------------------


def test_every_row_comes_once_in_a_new_order_in_every_pass(folder):
    labels = [float(line.split()[0]) for line in Path("sorted.vw").read_text().splitlines()]
    first, second = learned_rows("sorted.vw", shuffle=True, passes=2)
    assert sorted(first) == sorted(second) == list(enumerate(labels))
    assert first != second
    assert first != sorted(first)


def test_orders_look_random():
    places = np.array([random_order(0, 50, seed, 1) for seed in range(2000)])
    assert abs(np.corrcoef(np.arange(50), places.mean(axis=0))[0, 1]) < 0.5
    assert abs(places.mean(axis=0) - 24.5).max() < 4.5 * 14.43 / np.sqrt(2000)
    assert len({tuple(order) for order in places.tolist()}) == 2000


def test_a_window_holds_rows_that_follow_each_other(folder, small_window):
    (rows,) = learned_rows("sorted.vw", **small_window)
    numbers = [number for number, _ in rows]
    assert sorted(numbers) == list(range(N_ROWS))
    ends = [n for n in range(1, N_ROWS + 1) if sorted(numbers[:n]) == list(range(n))]
    assert 4 < len(ends) < 10
    assert max(np.diff([0, *ends])) * (7 * 16 + shuffle.ROW_BYTES) <= WINDOW


# --- what follows from it -------------------------------------------------------------------


def test_sorted_labels_are_learned_as_well_as_mixed_ones(folder):
    with pytest.warns(RarefyWarning, match=r"Shuffle the rows: --shuffle \(shuffle=True\)\."):
        in_order = rarefy.train("sorted.vw")
    mixed = accuracy(rarefy.train("mixed.vw"))
    shuffled = accuracy(rarefy.train("sorted.vw", shuffle=True))
    assert accuracy(in_order) < 0.7
    assert mixed > 0.85
    assert abs(shuffled - mixed) < 0.03


def test_words_as_labels_are_told_from_all_rows_of_the_window(folder, monkeypatch):
    monkeypatch.setattr("rarefy.readers.reader.blocks", functools.partial(blocks, block_bytes=700))
    rows = [f"{'spam' if k < 60 else 'ham'},{k % 7}\n" for k in range(120)]
    Path("words.csv").write_text("label,x\n" + "".join(rows))
    model = rarefy.train("words.csv", shuffle=True)
    assert list(model.classes_) == ["ham", "spam"]


def test_the_same_seed_gives_the_same_bytes(folder, small_window):
    for asked in ({"shuffle": True}, small_window):
        first = model_bytes("mixed.vw", passes=2, **asked)
        assert first == model_bytes("mixed.vw", passes=2, **asked)
        assert first != model_bytes("mixed.vw", passes=2, random_state=1, **asked)


@pytest.mark.parametrize("n_bytes", [300, 5000])
def test_however_the_data_are_cut_into_batches(folder, small_window, monkeypatch, n_bytes):
    expected = model_bytes("mixed.vw", **small_window)
    cut = functools.partial(blocks, block_bytes=n_bytes)
    monkeypatch.setattr("rarefy.readers.reader.blocks", cut)
    assert model_bytes("mixed.vw", **small_window) == expected


@pytest.mark.parametrize("asked", [{}, {"store": "hashed", "bits": 10}])
def test_names_and_weights_are_those_of_their_rows(folder, asked, small_window):
    lines = Path("mixed.vw").read_text().splitlines(keepends=True)
    (rows,) = learned_rows("mixed.vw", **small_window, **asked)
    Path("by-hand.vw").write_text("".join(lines[number] for number, _ in rows))
    by_hand = rarefy.train("by-hand.vw", **asked)
    shuffled = rarefy.train("mixed.vw", **small_window, **asked)
    assert shuffled.weights_ == by_hand.weights_


def test_the_same_rows_are_held_out(folder, small_window):
    for asked in ({"shuffle": True}, small_window):
        model = rarefy.train("mixed.vw", holdout=0.25, **asked)
        held = HeldOutShare(0.25).chosen(0, N_ROWS)
        assert model.holdout_["examples"] == held.sum()
        (rows,) = learned_rows("mixed.vw", **asked)
        lines = Path("mixed.vw").read_text().splitlines(keepends=True)
        left = [lines[number] for number, _ in rows if not held[number]]
        Path("left.vw").write_text("".join(left))
        assert model.weights_ == rarefy.train("left.vw").weights_


def test_several_files_caches_and_pipes(folder, small_window, monkeypatch):
    lines = Path("mixed.vw").read_text().splitlines(keepends=True)
    Path("a.vw").write_text("".join(lines[:100]))
    Path("b.vw").write_text("".join(lines[100:]))
    for asked in ({"shuffle": True}, small_window):
        weights = rarefy.train("mixed.vw", passes=2, **asked).weights_
        assert rarefy.train("a.vw", "b.vw", passes=2, **asked).weights_ == weights
        for _ in range(2):
            cached = rarefy.train("mixed.vw", passes=2, cache="rows.arrow", **asked)
            assert cached.weights_ == weights
    text = Path("mixed.vw").read_bytes()
    run("train", "-", "--format", "vw", "--shuffle", "-o", "piped.model", stdin=text)
    piped = rarefy.load("piped.model")
    assert piped.weights_ == rarefy.train("mixed.vw", shuffle=True).weights_


def test_a_row_that_is_larger_than_the_window_is_a_window(folder, small_window):
    Path("long.vw").write_text("1 |a x\n-1 | " + " w".join(map(str, range(3000))) + "\n1 |a x\n")
    (rows,) = learned_rows("long.vw", **small_window)
    assert sorted(rows) == [(0, 1.0), (1, -1.0), (2, 1.0)]
    assert rows[1][0] == 1


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("pause", [70, 600 + 130])
def test_a_run_goes_on_to_the_same_bits(folder, small_window, is_exact, pause):
    asked = {"shuffle": True, "random_state": 5} if is_exact else small_window
    expected = model_bytes("mixed.vw", passes=2, **asked)

    def interrupt(line):
        if line.examples >= pause:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rarefy.train(
            "mixed.vw", output="stopped.model", passes=2, save_every=pause, progress=interrupt,
            **asked,
        )  # fmt: skip
    place = load_model("stopped.model").run["place"]
    assert place["pass_number"] < 3
    rarefy.train(resume="stopped.model", output="out.model")
    about = {"save_every": None}
    assert _without(Path("out.model"), about) == _without_bytes(expected, about)


def _without(path: Path, changed) -> object:
    model = load_model(str(path))
    return model.run | changed, model.state["state"].tobytes()


def _without_bytes(written: bytes, changed) -> object:
    Path("expected.model").write_bytes(written)
    return _without(Path("expected.model"), changed)


def test_fit_stream(folder):
    by_train = rarefy.train("mixed.vw", shuffle=True, random_state=4)
    estimator = SparseOnlineClassifier(random_state=4, passes=1)
    assert estimator.fit_stream(rarefy.read("mixed.vw"), shuffle=True).weights_ == by_train.weights_
    in_order = estimator.fit_stream(rarefy.read("mixed.vw")).weights_
    assert in_order == rarefy.train("mixed.vw").weights_ != by_train.weights_


# --- what is said ---------------------------------------------------------------------------


def test_the_command_says_how_far_rows_were_shuffled(folder, monkeypatch):
    result = run("train", "sorted.vw", "-o", "some.model", "--shuffle")
    assert "Shuffled exactly (600 rows)." in result.stderr
    assert "long runs" not in result.stderr
    monkeypatch.setattr("rarefy.training.request.LEAST_MEMORY", 1000)
    small = ("--shuffle", "--shuffle-memory", "10kB")
    result = run("train", "sorted.vw", "-o", "some.model", *small)
    assert "Shuffled within a window of " in result.stderr
    assert "Shuffle the rows: give --shuffle-memory (shuffle_memory) more" in result.stderr


def test_what_makes_no_sense(folder):
    message = run("train", "mixed.vw", "-o", "m", "--seed", "3", code=2).stderr
    assert "--seed 3 has no meaning without --shuffle." in message
    message = run("train", "mixed.vw", "-o", "m", "--shuffle-memory", "10MB", code=2).stderr
    assert "--shuffle-memory 10MB has no meaning without --shuffle." in message
    small = ("--shuffle", "--shuffle-memory", "300KB")
    message = run("train", "mixed.vw", "-o", "m", *small, code=2).stderr
    assert "--shuffle-memory 300kB: at least 1MB is needed." in message
    with pytest.raises(ConfigError, match="shuffle_memory=5 has no meaning without shuffle"):
        rarefy.train("mixed.vw", shuffle_memory=5)
    with pytest.raises(ConfigError, match="shuffle_memory=5: at least 1MB is needed"):
        rarefy.train("mixed.vw", shuffle=True, shuffle_memory=5)
    with pytest.raises(ConfigError, match="random_state"):
        rarefy.train("mixed.vw", shuffle=True, random_state=-1)


def test_a_bad_label_is_named_by_its_place(folder):
    Path("bad.svm").write_text("1 1:1\n-1 1:2\n" * 20 + "7 1:1\n")
    Path("good.svm").write_text("1 1:1\n-1 1:2\n" * 20)
    message = error_of("train", "good.svm", "bad.svm", "--classes", "-1,1", "--shuffle", "-o", "m")
    assert message.startswith("Error: bad.svm:41: the label is 7")
