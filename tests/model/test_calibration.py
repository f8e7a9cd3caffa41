"""Probabilities that are scaled by what came of the scores before learning."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

import rarefy
from rarefy.errors import DivergenceError, InputError
from rarefy.files.model_file import load_model
from rarefy.model.calibration import LEAST_SLOPE, PRIOR, Calibration, calibrated_by
from tests import naive
from tests.cli.test_cli import predictions, run, table_of
from tests.files.test_model_file import parts_of, with_header
from tests.in_order import classifier_in_order

LOSSES = [("logistic", "auto"), ("logistic", "ovr"), ("modified_huber", "auto")]


def problem(n_classes: int, n: int = 400):
    """Rows whose labels are more certain than a model thinks that has seen them once."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, 6))
    return X, np.digitize(X[:, 0] + 0.2 * rng.normal(size=n), np.arange(n_classes - 1.0) / 2.0)


def in_calls(model, X, y, size: int):
    for begin in range(0, len(y), size):
        part = slice(begin, begin + size)
        model.partial_fit(X[part], y[part], classes=np.unique(y))
    return model


def scores_and_labels(rng, n_outputs: int, n: int = 300):
    scores = rng.normal(size=(n, n_outputs)) * rng.choice([0.1, 1.0, 30.0], size=(n, 1))
    labels = rng.integers(n_outputs, size=n) if n_outputs > 1 else rng.choice([-1, 1], size=n)
    return scores, labels.astype(float), rng.choice([0.0, 0.3, 1.0, 5.0], size=n)


@pytest.mark.parametrize("n_outputs", [1, 3, 5])
@pytest.mark.parametrize("n", [300, 12_000])
def test_dense_transcription(n_outputs, n):
    scores, y, importance = scores_and_labels(np.random.default_rng(0), n_outputs, n)
    found = Calibration().after(scores, y, importance)
    counts = importance != 0.0
    expected = naive.calibration(scores[counts], y[counts], importance[counts])
    found_all = (found.slope, found.gain, found.scaling)
    assert found_all == pytest.approx(expected, rel=1e-9, abs=1e-9)


def loss_at(slope, scores, y, importance):
    """The log-loss of scaled scores."""
    if scores.shape[1] == 1:
        return importance @ np.logaddexp(0.0, -slope * y * scores[:, 0])
    right = scores[np.arange(len(y)), y.astype(int)]
    return importance @ (np.logaddexp.reduce(slope * scores, axis=1) - slope * right)


@pytest.mark.parametrize("n_outputs", [1, 3, 5])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_all_at_once_the_loss_and_prior_are_least(n_outputs, size):
    scores, y, importance = scores_and_labels(np.random.default_rng(0), n_outputs)
    rows = size * scores, y, importance
    found = calibrated_by(*rows)

    def objective(slope):
        return loss_at(slope, *rows) + 0.5 * PRIOR * (slope - 1.0) ** 2

    least = objective(found.slope)
    for near in (0.99, 1.01):
        assert objective(max(near * found.slope, LEAST_SLOPE)) >= least * (1.0 - 1e-8)
    gain = loss_at(1.0, *rows) - loss_at(found.slope, *rows)
    assert found.gain == pytest.approx(gain, rel=1e-6, abs=1e-6)
    assert found.examples == np.count_nonzero(importance)
    assert found.weight == pytest.approx(importance.sum())


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_rows_that_are_all_right_do_not_make_a_slope_endless(n_outputs):
    y = np.ones(20)
    scores = np.ones((20, 1)) if n_outputs == 1 else np.eye(3)[np.ones(20, int)]
    found = calibrated_by(scores, y, np.ones(20))
    assert 1.0 < found.scaling < found.slope < 1.0 + math.sqrt(2.0 * 20.0)


@given(st.integers(0, 1000), st.sampled_from([1, 4]), st.floats(1e-3, 1e70))
def test_numbers_stay_finite_and_the_order_of_scores_stays(seed, n_outputs, size):
    scores, y, importance = scores_and_labels(np.random.default_rng(seed), n_outputs, n=20)
    found = Calibration().after(size * scores, y, importance)
    assert np.isfinite(found).all()
    assert found.slope >= LEAST_SLOPE


def test_a_slope_that_gains_nothing_is_not_used():
    """Scores that are as sure as they should be: what few rows say of them is chance."""
    rng = np.random.default_rng(0)
    scores = 2.0 * rng.normal(size=(50_000, 1))
    y = np.where(rng.random(50_000) < 1.0 / (1.0 + np.exp(-scores[:, 0])), 1.0, -1.0)
    apart = [
        Calibration().after(scores[n : n + 250], y[n : n + 250], np.ones(250))
        for n in range(0, 50_000, 250)
    ]
    assert np.std([one.slope for one in apart]) > 0.1
    assert np.mean([one.scaling == 1.0 for one in apart]) > 0.9
    half = Calibration().after(0.5 * scores[:2_000], y[:2_000], np.ones(2_000))
    assert half.gain > 10.0
    assert 1.6 < half.scaling < half.slope


def test_steps_are_short_however_far_off_a_row_is():
    found = Calibration().after(np.array([[1e6]]), np.array([-1.0]), np.ones(1))
    assert 1.0 - 1e-5 < found.slope < 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("loss", "multiclass"), LOSSES)
class TestEstimators:
    def made(self, loss, multiclass, **parameters):
        return classifier_in_order(loss=loss, multiclass=multiclass, **parameters)

    def test_any_split_gives_the_same_bits(self, loss, multiclass, n_classes):
        X, y = problem(n_classes)
        whole = self.made(loss, multiclass).fit(X, y).predict_proba(X)
        for size in (1, 37):
            part = in_calls(self.made(loss, multiclass), X, y, size)
            assert part.predict_proba(X).tobytes() == whole.tobytes()

    def test_nothing_else_changes(self, loss, multiclass, n_classes):
        X, y = problem(n_classes)
        scaled = self.made(loss, multiclass).fit(X, y)
        plain = self.made(loss, multiclass, calibrate=False).fit(X, y)
        assert scaled.coef_.tobytes() == plain.coef_.tobytes()
        assert scaled.decision_function(X).tobytes() == plain.decision_function(X).tobytes()
        assert (scaled.predict(X) == plain.predict(X)).all()
        assert (scaled.predict_proba(X) != plain.predict_proba(X)).any()
        if n_classes > 2:
            assert (scaled.predict_proba(X).argmax(axis=1) == scaled.predict(X)).all()

    def test_new_rows_are_predicted_no_worse(self, loss, multiclass, n_classes):
        X, y = problem(n_classes, 3000)
        losses = [
            log_loss(y[1500:], self.made(loss, multiclass, calibrate=calibrate)
                     .fit(X[:1500], y[:1500]).predict_proba(X[1500:]))
            for calibrate in (True, False)
        ]  # fmt: skip
        assert losses[0] < losses[1] + 0.005

    def test_saved_between_calls(self, loss, multiclass, n_classes, tmp_path):
        X, y = problem(n_classes)
        whole = in_calls(self.made(loss, multiclass), X, y, 400)
        in_calls(self.made(loss, multiclass), X[:150], y[:150], 150).save(tmp_path / "a")
        part = rarefy.load(tmp_path / "a").partial_fit(X[150:], y[150:])
        assert part.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes()
        part.save(tmp_path / "slim", slim=True)
        slim = rarefy.load(tmp_path / "slim")
        assert slim.predict_proba(X).tobytes() == whole.predict_proba(X).tobytes()


@pytest.mark.parametrize(
    "parameters",
    [{"passes": 2}, {"refit": True}, {"loss": "hinge"}, {"calibrate": False}, {"rule": "auto"}],
)
def test_where_there_are_no_honest_scores(parameters):
    model = classifier_in_order(**parameters).fit(*problem(2))
    assert model.learner_.settled().scaling is None


def test_rows_that_come_again_are_not_honest():
    X, y = problem(2)
    model = in_calls(classifier_in_order(), X[:200], y[:200], 200)
    assert model.partial_fit(X[200:], y[200:]).learner_.scaling is not None
    again = np.random.default_rng(0).permutation(200)
    assert model.partial_fit(X[again], y[again]).learner_.scaling is None
    assert model.partial_fit(X[200:], y[200:]).learner_.scaling is None


def test_weights_of_classes_count():
    """As without calibration: probabilities are those of rows that weigh so much."""
    X, y = problem(2, 3000)
    X = np.ones_like(X)
    model = classifier_in_order(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    share = 3.0 * y.sum() / (3.0 * y.sum() + (1 - y).sum())
    assert model.predict_proba(X[:1])[0, 1] == pytest.approx(share, abs=0.05)


def test_rows_that_were_not_learned_leave_no_trace():
    X, y = problem(2)
    model = in_calls(classifier_in_order(rule="ogd", loss="logistic"), X, y, 400)
    before = model.learner_.calibration
    with pytest.raises(DivergenceError):
        model.partial_fit(1e49 * X, y)
    assert model.learner_.calibration == before


class TestFiles:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

    def written(self, n_classes=2):
        X, y = problem(n_classes)
        lines = [
            f"{label} " + " ".join(f"{j}:{value!r}" for j, value in enumerate(row.tolist(), 1))
            for label, row in zip(y, X, strict=True)
        ]
        for name, some in (("a.svm", lines[:250]), ("b.svm", lines[250:]), ("ab.svm", lines)):
            with open(name, "w") as file:
                file.write("\n".join(some) + "\n")

    def test_files_without_it_are_as_they_were(self):
        classifier_in_order(calibrate=False).fit(*problem(2)).save("some.model")
        with open("some.model", "rb") as file:
            data = file.read()
        assert data.startswith(b"rarefy model 1\n")
        assert b"calibrat" not in data
        assert rarefy.load("some.model").calibrate is False

    @pytest.mark.parametrize("slim", [False, True])
    def test_numbers_that_no_rows_lead_to(self, slim):
        classifier_in_order().fit(*problem(2)).save("some.model", slim=slim)
        with open("some.model", "rb") as file:
            header, payload = parts_of(file.read())
        numbers = header["calibration"]
        wrong = [
            [],
            numbers[:3],
            [*numbers, 0.0],
            [*numbers[:4], math.inf],
            [-1.0, *numbers[1:]],
            ["1", *numbers[1:]],
            [numbers[0], -1.0, *numbers[2:]],
            [*numbers[:3], -1.0],
            [*numbers[:3], 1e300],
        ]
        for one in wrong:
            with open("other.model", "wb") as file:
                file.write(with_header({**header, "calibration": one}, payload))
            with pytest.raises(InputError, match="damaged"):
                load_model("other.model")

    def test_files_of_before_keep_their_slope(self):
        X, y = problem(2)
        classifier_in_order().fit(X, y).save("some.model")
        with open("some.model", "rb") as file:
            header, payload = parts_of(file.read())
        slope, *sums, _ = header["calibration"]
        with open("older.model", "wb") as file:
            file.write(with_header({**header, "calibration": [slope, *sums]}, payload))
        older = rarefy.load("older.model")
        assert older.learner_.scaling == pytest.approx(slope, rel=1e-9)
        older.partial_fit(X, y).save("newer.model")
        assert rarefy.load("newer.model").predict_proba(X).tobytes() == (
            older.predict_proba(X).tobytes()
        )

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_a_run_that_goes_on(self, n_classes):
        self.written(n_classes)
        run("train", "ab.svm", "-o", "whole.model")
        run("train", "a.svm", "-o", "part.model", "--classes", ",".join("012"[:n_classes]))
        run("train", "b.svm", "-o", "part.model", "--resume", "part.model")
        expected = run("predict", "whole.model", "ab.svm", "--probabilities").stdout
        assert run("predict", "part.model", "ab.svm", "--probabilities").stdout == expected

    def test_commands_agree(self):
        self.written()
        run("train", "a.svm", "-o", "some.model")
        chances = np.array(predictions("some.model", "b.svm", "--probabilities"))
        estimator = rarefy.load("some.model")
        assert (estimator.predict_proba(rarefy.read("b.svm"))[:, 1] == chances).all()
        y = problem(2)[1][250:]
        found = json.loads(run("evaluate", "some.model", "b.svm", "--json").stdout)
        assert found["log_loss"] == pytest.approx(log_loss(y, chances))
        run("slim", "some.model", "-o", "slim.model")
        assert predictions("slim.model", "b.svm", "--probabilities") == chances.tolist()
        why = json.loads(run("inspect", "some.model", "--why", "b.svm", "--json").stdout)
        assert why["probability"] == chances[0]
        assert "calibration" in run("inspect", "some.model").stdout

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_json_says_how(self, n_classes):
        self.written(n_classes)
        run("train", "a.svm", "-o", "some.model")
        exported = json.loads(run("export", "some.model", "--to", "json").stdout)
        odds = np.exp(exported["calibration"] * table_of("some.model", "b.svm", "--scores"))
        total = 1.0 + odds if n_classes == 2 else odds.sum(axis=1, keepdims=True)
        assert exported["probabilities"] == ("logistic" if n_classes == 2 else "softmax")
        expected = table_of("some.model", "b.svm", "--probabilities")
        assert np.allclose(odds / total, expected, rtol=1e-12)

    def test_it_can_be_turned_off(self):
        self.written()
        run("train", "a.svm", "-o", "some.model", "--no-calibrate")
        score = predictions("some.model", "b.svm", "--scores")[0]
        chance = predictions("some.model", "b.svm", "--probabilities")[0]
        assert chance == pytest.approx(1.0 / (1.0 + np.exp(-score)))
        assert load_model("some.model").calibration is None
