"""Updates of model files and of estimators: what is chosen is what one gets."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.errors import ConfigError, InputError, RarefyWarning
from rarefy.updating.safe_update import DEFAULT_PASSES

N_OLD, N_NEW, N_TEST = 150, 1200, 1500


def rows(n: int, seed: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    weights = np.random.default_rng(9).normal(size=(30, n_classes))
    X = (random.random((n, 30)) < 0.3) * random.normal(size=(n, 30))
    y = (X @ weights + 0.5 * random.normal(size=(n, n_classes))).argmax(axis=1)
    return X, y


def write(path: str, X: np.ndarray, y: np.ndarray) -> None:
    lines = (
        " ".join([str(label), *(f"{j}:{x!r}" for j, x in enumerate(row.tolist()) if x)])
        for row, label in zip(X, y.tolist(), strict=True)
    )
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, n, seed in (("old", N_OLD, 1), ("new", N_NEW, 2), ("test", N_TEST, 3)):
        write(f"{name}.svm", *rows(n, seed))
    rarefy.train("old.svm", output="old.model", l1=0.1)


def test_the_file_has_the_model_that_was_judged():
    updated = rarefy.update(
        "old.model", "new.svm", max_negative=0.025, holdout="test.svm", output="new.model"
    )
    chosen, old = updated.chosen, updated.old
    assert 0.0 < updated.alpha < 1.0
    assert chosen.accuracy > old.accuracy
    assert 0 < chosen.n_lost < updated.plain.n_lost
    assert chosen.bound <= 0.025 < updated.plain.bound
    test = rarefy.read("test.svm")
    for new in (rarefy.load("new.model"), updated.model):
        found = rarefy.flips(rarefy.load("old.model"), new, test)
        assert (found.n_negative, found.n_positive) == (chosen.n_lost, chosen.n_won)
        assert found.negative_rate == pytest.approx(chosen.lost_rate)
        measured = rarefy.evaluate(new, test)
        assert measured["accuracy"] == pytest.approx(chosen.accuracy)
        assert measured["loss"] == pytest.approx(chosen.loss, rel=1e-9)
    more = rarefy.train("test.svm", resume="new.model")
    assert more.t_ == N_OLD + DEFAULT_PASSES * N_NEW + N_TEST


def test_weights_are_between_those_of_both_models():
    updated = rarefy.update("old.model", "new.svm", max_negative=0.03, holdout="test.svm")
    plain = rarefy.train("new.svm", resume="old.model", passes=DEFAULT_PASSES)
    old, new, alpha = rarefy.load("old.model").weights_, plain.weights_, updated.alpha
    found = updated.model.weights_
    assert found.keys() == old.keys() | new.keys()
    for name, weight in found.items():
        between = (1.0 - alpha) * new.get(name, 0.0) + alpha * old.get(name, 0.0)
        assert weight == pytest.approx(between, rel=1e-9, abs=1e-12)


def test_a_share_is_held_out_and_a_large_budget_is_plain_learning():
    updated = rarefy.update(
        "old.model", "new.svm", max_negative=0.9, by="loss", output="new.model", holdout=0.3
    )
    plain = rarefy.train("new.svm", resume="old.model", holdout=0.3, passes=DEFAULT_PASSES)
    assert updated.n_examples == plain.holdout_["examples"]
    assert updated.plain.loss == pytest.approx(plain.holdout_["loss"])
    assert updated.chosen.loss == min(point.loss for point in updated.points)


def test_the_old_model_stays():
    for limits, reason in (
        ({"max_negative": 1e-4}, "too few held-out rows.*36,887"),
        ({"max_negative": 0.03, "min_gain": 0.5}, "0.5 is asked for"),
    ):
        updated = rarefy.update("old.model", "new.svm", output="new.model", **limits)
        assert updated.model is None
        with pytest.raises(AssertionError, match=reason):
            raise AssertionError(updated.reason)
        assert not Path("new.model").exists()


@pytest.mark.parametrize("passes", [1, 3])
def test_matrices_give_what_files_give(passes):
    X, y = rows(N_OLD, 1)
    old = rarefy.SparseOnlineClassifier(l1=0.1, passes=1, shuffle=False).fit(X, y)
    before = old.sparse_coef_.toarray()
    X_new, y_new = rows(N_NEW, 2)
    how = {"max_negative": 0.03, "passes": passes}
    of_matrix = rarefy.update(old, X_new, y_new, holdout=rows(N_TEST, 3), **how)
    of_files = rarefy.update("old.model", "new.svm", holdout="test.svm", **how)
    assert of_matrix.alpha == of_files.alpha
    assert of_matrix.chosen.n_lost == of_files.chosen.n_lost
    X_test, y_test = rows(N_TEST, 3)
    accuracy = (of_matrix.model.predict(X_test) == y_test).mean()
    assert accuracy == pytest.approx(of_matrix.chosen.accuracy)
    np.testing.assert_array_equal(old.sparse_coef_.toarray(), before)


def test_replayed_rows_are_learned_in_every_pass():
    how = {"max_negative": 0.04, "passes": 2}
    of_files = rarefy.update("old.model", "new.svm", replay="old.svm", holdout="test.svm", **how)
    with pytest.warns(RarefyWarning, match=r"learned old\.svm already"):
        plain = rarefy.train("old.svm", "new.svm", resume="old.model", passes=2)
    assert of_files.plain.accuracy == rarefy.evaluate(plain, rarefy.read("test.svm"))["accuracy"]
    assert of_files.model.t_ == plain.t_ == N_OLD + 2 * (N_OLD + N_NEW)
    X, y = rows(N_OLD, 1)
    old = rarefy.SparseOnlineClassifier(l1=0.1, passes=1, shuffle=False).fit(X, y)
    for replay in ((X, y), (X, y, np.ones(N_OLD))):
        of_matrix = rarefy.update(
            old, *rows(N_NEW, 2), replay=replay, holdout=rows(N_TEST, 3), **how
        )
        assert of_matrix.chosen.n_lost == of_files.chosen.n_lost
        assert of_matrix.alpha == of_files.alpha


def test_replayed_rows_judge_nothing():
    how = {"max_negative": 0.9, "by": "loss", "passes": 1}
    without, *others = (
        rarefy.update("old.model", "new.svm", replay=replay, **how)
        for replay in ((), "old.svm", ["old.svm", Path("test.svm")])
    )
    for other in others:  # the same rows are held out, whatever is replayed
        assert (other.n_examples, other.old) == (without.n_examples, without.old)
        assert other.plain != without.plain


def test_a_pipe_is_learned_once():
    os.mkfifo("pipe")
    threading.Thread(target=lambda: Path("pipe").write_bytes(Path("new.svm").read_bytes())).start()
    how = {"max_negative": 0.9, "holdout": "test.svm"}
    assert rarefy.update("old.model", "pipe", **how).model.t_ == N_OLD + N_NEW
    with pytest.raises(InputError, match=r"replay.*pipe"):
        rarefy.update("old.model", "new.svm", replay="-", **how)


def test_bad_input():
    rarefy.train("old.svm", output="slim.model", slim=True)
    rarefy.train("old.svm", output="numbers.model", loss="squared")
    for model, error, message in (
        ("slim.model", InputError, "slim.model: the model is slim"),
        ("numbers.model", InputError, "numbers.model is a regression model"),
        ("none.model", InputError, "none.model: No such file"),
        (rarefy.load("old.model"), InputError, "save it, and give its file"),
        (object(), InputError, "a object, cannot be updated"),
    ):
        with pytest.raises(error, match=message):
            rarefy.update(model, "new.svm", max_negative=0.01, **_output(model))
    for parameters, message in (
        ({"max_negative": 2.0}, "max_negative=2.0"),
        ({"max_negative": 0.01, "holdout": 1.5}, "holdout='1.5'"),
        ({"max_negative": 0.01, "holdout": None}, "holdout=None"),
        ({"max_negative": 0.01, "l1": 1.0}, "l1 cannot be combined"),
        ({"max_negative": 0.01, "passes": 0}, "passes"),
    ):
        with pytest.raises(ConfigError, match=message):
            rarefy.update("old.model", "new.svm", output="new.model", **parameters)
    for file, learns in (("./new.svm", "learns"), ("old.svm", "has already learned")):
        message = f"the model {learns} {file}, so this file cannot judge it: hold out other rows"
        with pytest.raises(InputError, match=message):
            rarefy.update("old.model", "new.svm", max_negative=0.1, holdout=file)
    with (
        pytest.warns(RarefyWarning, match="has learned old"),
        pytest.raises(InputError, match="give new rows, or a file with others"),
    ):
        rarefy.update("old.model", "old.svm", max_negative=0.1)
    for files in ({"replay": "new.svm"}, {"replay": "test.svm", "holdout": "test.svm"}):
        with pytest.raises(InputError, match=r"the model learns .* so this file cannot judge it"):
            rarefy.update("old.model", "new.svm", max_negative=0.1, **files)
    with pytest.raises(InputError, match=r"none\.svm: there is no such file"):
        rarefy.update("old.model", "new.svm", max_negative=0.1, replay="none.svm")
    X, y = rows(N_OLD, 1)
    old = rarefy.SparseOnlineClassifier().fit(X, y)
    with pytest.raises(ConfigError, match=r"replay: \(X, y\)"):
        rarefy.update(old, X, y, max_negative=0.1, replay="old.svm")
    Path("words.svm").write_text("9 1:1\n")
    with pytest.raises(InputError, match=r"words.svm:1"):
        rarefy.update("old.model", "words.svm", max_negative=0.01, output="new.model")
    assert not Path("new.model").exists()


def test_probabilities_are_calibrated_by_held_out_rows():
    """Those of new rows, too, although rows were learned several times."""
    updated = rarefy.update("old.model", "new.svm", max_negative=0.9, output="new.model")
    new = rarefy.load("new.model")
    assert new.learner_.calibration.examples == updated.n_examples
    rarefy.train("old.svm", output="plain.model", l1=0.1, calibrate=False)
    rarefy.update("plain.model", "new.svm", max_negative=0.9, output="new.model")
    assert rarefy.load("new.model").learner_.calibration is None


def _output(model: object) -> dict[str, str]:
    return {"output": "new.model"} if isinstance(model, str) else {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {"rule": "ogd"},  # which forgets features of weight zero
        {"rule": "fobos", "l1": 0.05},
        {"rule": "rda", "l1": 0.01},
        {"store": "hashed", "bits": 6},
        {"store": "array"},
        {"capacity": 20},
        {"average": True},
        {"rule": "auto"},
        {"class_weight": "balanced"},
        {"multiclass": "softmax", "n_classes": 4},
        {"rule": "frda", "n_classes": 4},
    ],
    ids=str,
)
def test_all_kinds_of_models(parameters):
    n_classes = parameters.pop("n_classes", 2)
    for name, n, seed in (("old", N_OLD, 1), ("new", N_NEW, 2), ("test", N_TEST, 3)):
        write(f"{name}.svm", *rows(n, seed, n_classes))
    rarefy.train("old.svm", output="old.model", **parameters)
    how = {"holdout": "test.svm", "output": "new.model"}
    if "capacity" in parameters:
        updated = rarefy.update("old.model", "new.svm", max_negative=0.05, **how)
        assert "were dropped while learning on" in updated.reason
    budget = 0.3 if "capacity" in parameters else 0.05
    updated = rarefy.update("old.model", "new.svm", max_negative=budget, **how)
    assert updated.chosen is not None
    test, new = rarefy.read("test.svm"), rarefy.load("new.model")
    found = rarefy.flips(rarefy.load("old.model"), new, test)
    assert (found.n_negative, found.n_positive) == (updated.chosen.n_lost, updated.chosen.n_won)
    assert rarefy.evaluate(new, test)["loss"] == pytest.approx(updated.chosen.loss, rel=1e-9)
    more = rarefy.train("test.svm", resume="new.model")
    assert more.t_ == N_OLD + DEFAULT_PASSES * N_NEW + N_TEST


def test_an_anchor_changes_fewer_weights_and_slim_models_will_do():
    rarefy.train("old.svm", output="slim.model", l1=0.1, slim=True)
    limits = {"max_negative": 0.9, "holdout": "test.svm"}
    plain = rarefy.update("old.model", "new.svm", **limits)
    updates = [
        rarefy.update(old, "new.svm", anchor=4.0, output="new.model", **limits)
        for old in ("old.model", "slim.model")
    ]
    old = rarefy.load("old.model").weights_
    changed = [
        [name for name in weights if weights[name] != old.get(name)]
        for weights in (plain.model.weights_, updates[0].model.weights_)
    ]
    assert 0 < len(changed[1]) < len(changed[0])
    assert updates[0].chosen == updates[1].chosen
    assert updates[0].model.weights_ == updates[1].model.weights_
    assert updates[0].chosen.accuracy > updates[0].old.accuracy
    new = rarefy.load("new.model")
    assert rarefy.evaluate(new, rarefy.read("test.svm"))["accuracy"] == pytest.approx(
        updates[0].chosen.accuracy
    )
    assert rarefy.train("test.svm", resume="new.model").t_ == DEFAULT_PASSES * N_NEW + N_TEST


def test_an_anchor_of_matrices_is_that_of_files():
    X, y = rows(N_OLD, 1)
    old = rarefy.SparseOnlineClassifier(l1=0.1, passes=1, shuffle=False).fit(X, y)
    how = {"max_negative": 0.03, "anchor": 1.0}
    of_matrix = rarefy.update(old, *rows(N_NEW, 2), holdout=rows(N_TEST, 3), **how)
    of_files = rarefy.update("old.model", "new.svm", holdout="test.svm", **how)
    assert of_matrix.alpha == of_files.alpha
    assert of_matrix.chosen.n_lost == of_files.chosen.n_lost
    with pytest.raises(ConfigError, match="anchor=-1"):
        rarefy.update(old, *rows(N_NEW, 2), max_negative=0.03, anchor=-1.0)
