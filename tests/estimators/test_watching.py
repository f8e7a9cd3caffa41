"""Figures along the way: those of the predictions that were made just before learning."""

from __future__ import annotations

import json
import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

import rarefy
from rarefy import ConfigError, SparseOnlineClassifier, SparseOnlineRegressor

N, WINDOW, FADING = 300, 100, 0.98


def rows(n: int = N) -> tuple[list[dict[str, float]], np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    y = X[:, 0] + 0.5 * random.normal(size=n) > 0.3
    return [{f"x{j}": float(x) for j, x in enumerate(row)} for row in X], y


class Log:
    """What was predicted before each row was learned, one after the other."""

    def __init__(self, classes) -> None:
        self.model = SparseOnlineClassifier().start(classes=classes)
        self.shares, self.right, self.scores = [], [], []

    def learn(self, x, y) -> None:
        found = self.model.predict_proba_one(x)
        self.shares.append([found[label] for label in self.model.classes_.tolist()])
        self.scores.append(self.model._scores_of_rows([x], None)[0, 0])
        self.right.append(self.model.predict_one(x) == y)
        self.model.learn_one(x, y)


@pytest.fixture(scope="module")
def log() -> Log:
    found = Log([False, True])
    for x, y in zip(*rows(), strict=True):
        found.learn(x, bool(y))
    return found


def expected(log: Log, weights: np.ndarray) -> dict[str, float]:
    """The figures of all rows, by scikit-learn, and by the definition."""
    _, y = rows()
    p = np.array(log.shares)[:, 1]
    in_bin = np.minimum((10 * p).astype(int), 9)
    misses = [(weights * (p - y))[in_bin == b].sum() for b in range(10)]
    return {
        "accuracy": np.average(log.right, weights=weights),
        "log_loss": log_loss(y, p, sample_weight=weights),
        "auc": roc_auc_score(y, log.scores, sample_weight=weights),
        "calibration_error": np.abs(misses).sum() / weights.sum(),
    }


def watched(how: str):
    model = SparseOnlineClassifier()
    if "matrix" not in how:
        model.start(classes=[False, True])
    watch = model.watch(window=WINDOW, fading=FADING)
    X, y = rows()
    if how == "one":
        for x, label in zip(X, y.tolist(), strict=True):
            model.learn_one(x, label)
    elif how == "many":
        for begin in range(0, N, 70):
            model.learn_many(X[begin : begin + 70], y[begin : begin + 70])
    elif how == "later":
        for number, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
            model.predict_one(x, id=number)
            model.learn_one(id=number, y=label)
    elif how == "rows of a matrix":
        matrix = np.array([list(x.values()) for x in X])
        for n in range(N):
            model.partial_fit(matrix[n : n + 1], y[n : n + 1], classes=[False, True])
    else:
        matrix = np.array([list(x.values()) for x in X])
        model.partial_fit(matrix[:130], y[:130], classes=[False, True])
        model.partial_fit(matrix[130:], y[130:])
    return model, watch


@pytest.mark.parametrize("how", ["one", "many", "later", "matrix", "rows of a matrix"])
def test_figures_are_those_of_predictions_before_learning(how, log):
    model, watch = watched(how)
    in_window = (np.arange(N) >= N - WINDOW).astype(float)
    rolling = {name: watch.rolling[name] for name in expected(log, in_window)}
    assert rolling == pytest.approx(expected(log, in_window), abs=1e-9)
    fading = expected(log, FADING ** np.arange(N - 1, -1, -1.0))
    assert watch.fading["auc"] == pytest.approx(fading.pop("auc"), abs=0.01)  # in steps of 0.1
    assert watch.fading["calibration_error"] == pytest.approx(
        fading.pop("calibration_error"), abs=0.03
    )
    assert {name: watch.fading[name] for name in fading} == pytest.approx(fading, abs=1e-9)
    assert watch.drifts == []
    assert model.progressive_loss_ == pytest.approx(log.model.progressive_loss_, abs=1e-12)


def test_the_prediction_of_the_time_counts_where_labels_come_later():
    model = SparseOnlineClassifier().start(classes=["a", "b"])
    watch = model.watch()
    x = {"x": 1.0}
    model.predict_one(x, id=1)  # before anything is learned: a
    for _ in range(300):
        model.learn_many([x, {"x": -1.0}], ["b", "a"])
    assert model.predict_one(x) == "b"
    before = watch.rolling["accuracy"]
    model.learn_one(id=1, y="b")
    assert watch.rolling["accuracy"] == pytest.approx((before * 600 + 0.0) / 601, abs=1e-9)


def test_watching_changes_no_bit():
    watching, _ = watched("one")
    model = SparseOnlineClassifier().start(classes=[False, True])
    X, y = rows()
    model.learn_many(X, y)
    assert model.weights_ == watching.weights_
    assert watching.learner_.progress.tolist() == model.learner_.progress.tolist()


def test_several_classes_and_numbers():
    X, y = rows(60)
    model = SparseOnlineClassifier().start(classes="grow")
    watch = model.watch()
    model.learn_many(X, [["a", "b", "c"][n % 3] for n in range(60)])
    assert set(watch.rolling) == {"loss", "accuracy", "log_loss", "calibration_error"}
    assert watch.rolling["loss"] == pytest.approx(model.progressive_loss_)
    assert watch.fading.keys() == watch.rolling.keys()
    regressor = SparseOnlineRegressor()
    watch = regressor.watch(window=10_000, fading=1.0)
    regressor.learn_many(X, y.astype(float))
    assert watch.rolling["loss"] == pytest.approx(regressor.progressive_loss_)
    assert watch.rolling["rmse"] ** 2 == pytest.approx(regressor.progressive_loss_)
    assert watch.fading == pytest.approx(watch.rolling)


def test_drift_is_an_event():
    events = []
    model = SparseOnlineClassifier().start(classes=[False, True])
    watch = model.watch(drift_threshold=20.0, on_drift=events.append)
    X, y = rows(1500)
    model.learn_many(X[:1000], y[:1000])
    assert watch.drifts == []
    model.learn_many(X[1000:], ~y[1000:])
    assert 1000 < events[0] < 1100
    assert watch.drifts == events
    again = pickle.loads(pickle.dumps(model))
    assert again._watch.drifts == events
    assert again._watch is again.stream_.watch
    assert deepcopy(model)._watch.rolling == watch.rolling


@pytest.mark.parametrize("how", ["one", "many", "later", "matrix", "reader"])
def test_what_on_drift_raises_loses_nothing(how, tmp_path):
    """The rows are learned and counted, and the events after it come with the next call."""
    X, y = rows(300)
    y = np.where(np.arange(300) < 150, y, ~y)
    events = []

    def fail(t: int) -> None:
        events.append(t)
        raise RuntimeError(f"at {t}")

    model = SparseOnlineClassifier()
    if how != "matrix":
        model.start(classes=[False, True])
    watch = model.watch(drift_threshold=3.0, on_drift=fail)
    errors = []
    matrix = np.array([list(x.values()) for x in X])
    path = tmp_path / "rows.jsonl"
    for begin in range(0, 300, 1 if how in ("one", "later") else 100):
        some = slice(begin, begin + (1 if how in ("one", "later") else 100))
        try:
            if how == "one":
                model.learn_one(X[begin], bool(y[begin]))
            elif how == "later":
                model.predict_one(X[begin], id=begin)
                model.learn_one(id=begin, y=bool(y[begin]))
            elif how == "many":
                model.learn_many(X[some], y[some].tolist())
            elif how == "matrix":
                model.partial_fit(matrix[some], y[some], classes=[False, True])
            else:
                labelled = zip(X[some], y[some].tolist(), strict=True)
                lines = [json.dumps({**x, "label": label}) for x, label in labelled]
                path.write_text("\n".join(lines))
                model.partial_fit(rarefy.read(path))
        except RuntimeError as error:
            errors.append(str(error))
    assert errors == [f"at {t}" for t in events]
    assert events
    assert model.t_ == 300
    assert watch.drifts[: len(events)] == events
    plain = SparseOnlineClassifier().start(classes=[False, True]).learn_many(X, y.tolist())
    if how == "matrix":
        np.testing.assert_array_equal(model.predict(matrix), plain.predict_many(X))
    else:
        assert model.weights_ == plain.weights_
    assert watch.rolling["loss"] == pytest.approx(plain.progressive_loss_)


def test_drift_of_numbers_does_not_depend_on_their_units():
    random = np.random.default_rng(3)
    values = random.normal(size=(3000, 3))
    y = values @ [1.0, -2.0, 0.5] + 0.1 * random.normal(size=3000)
    y[2000:] = -y[2000:]
    X = [{f"x{j}": float(x) for j, x in enumerate(row)} for row in values]
    found = []
    for unit in (1.0, 1e6, 1e-3):
        model = SparseOnlineRegressor()
        watch = model.watch()
        model.learn_many(X, (unit * y).tolist())
        found.append(watch.drifts)
    assert 2000 < found[0][0] < 2100
    assert found[0] == found[1] == found[2]


def test_a_watch_begins_when_it_is_asked_for():
    model = SparseOnlineClassifier().start(classes=[False, True])
    X, y = rows(20)
    model.learn_many(X, y)
    watch = model.watch()
    assert watch.rolling == watch.fading == {}
    model.learn_many(X[:1], y[:1], weight=[0.0])
    assert watch.rolling == {}


@pytest.mark.parametrize(
    "given",
    [
        {"window": 0},
        {"fading": 0.0},
        {"fading": 1.5},
        {"fading": "slow"},
        {"drift_delta": -1.0},
        {"drift_threshold": 0.0},
    ],
)
def test_bad_settings(given):
    with pytest.raises(ConfigError, match=next(iter(given))):
        SparseOnlineClassifier().watch(**given)
    with pytest.raises(ConfigError, match="tuned"):
        SparseOnlineClassifier(rule="auto").watch()
