"""Metrics against scikit-learn's, on made scores with ties, weights of zero and absent classes."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from rarefy.engine.task import Task
from rarefy.model.answers import LOSSES_WITH_PROBABILITIES, probabilities
from rarefy.model.losses import LOSSES, MARGIN_LOSSES, REGRESSION_LOSSES
from rarefy.model.schedules import Constant
from rarefy.rules.ogd import Ogd
from rarefy.stores import make_store
from rarefy.streams.metrics import Metrics
from rarefy.streams.stream_model import StreamModel

TWO = ("ham", "spam")
THREE = ("a", "b", "c")
OWN_PARAMETERS = {"huber": {"epsilon": 0.7}, "quantile": {"quantile": 0.8}}


def model_of(loss: str, classes: tuple[str, ...] = (), multiclass: str = "auto") -> StreamModel:
    own_loss = LOSSES[loss](**OWN_PARAMETERS.get(loss, {}))
    return StreamModel(
        Task(Ogd(), Constant(1.0), own_loss, multiclass), make_store("array"), classes
    )


MODELS = {
    **{loss: model_of(loss, TWO) for loss in MARGIN_LOSSES},
    **{f"{loss}, three": model_of(loss, THREE) for loss in MARGIN_LOSSES},
    "logistic, three, ovr": model_of("logistic", THREE, "ovr"),
    "logistic, three, crammer_singer": model_of("logistic", THREE, "crammer_singer"),
    **{loss: model_of(loss) for loss in REGRESSION_LOSSES},
}

few_scores = st.sampled_from([-40.0, -2.5, -1.0, -0.3, -0.0, 0.0, 1e-9, 0.3, 1.0, 7.0])
any_number = st.integers(-1000, 1000).map(lambda tenths: tenths / 10)
importances = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0])


@st.composite
def batches(draw, model: StreamModel):
    """Rows of a model, cut into batches, some of which may be empty."""
    n_outputs = model.learner.n_outputs
    targets = any_number if model.task.is_regression else st.sampled_from(
        [-1.0, 1.0] if n_outputs == 1 else [0.0, 1.0, 2.0]
    )  # fmt: skip
    score = st.one_of(few_scores, any_number)
    rows = draw(
        st.lists(
            st.tuples(
                st.lists(score, min_size=n_outputs, max_size=n_outputs), targets, importances
            ),
            min_size=1,
            max_size=30,
        )
    )
    scores, y, importance = (np.array(part) for part in zip(*rows, strict=True))
    if draw(st.booleans()):
        importance = np.ones(len(y))
    cuts = draw(st.lists(st.integers(0, len(y)), max_size=3))
    return scores, y, importance, [0, *sorted(cuts), len(y)]


def summary_of(model: StreamModel, scores, y, importance, cuts=None) -> dict:
    metrics = Metrics(model)
    for begin, end in pairwise(cuts or [0, len(y)]):
        metrics.add(scores[begin:end], y[begin:end], importance[begin:end])
    return json.loads(json.dumps(metrics.summary(), allow_nan=False))


def mean_loss(model: StreamModel, scores, y, importance) -> float:
    loss = model.learner.loss
    if scores.shape[1] == 1:
        each = [loss.value(p, t) for p, t in zip(scores[:, 0].tolist(), y.tolist(), strict=True)]
    else:
        each = [loss.value(p, int(t)) for p, t in zip(scores, y, strict=True)]
    return float(np.average(each, weights=importance))


def close(value: float):
    return pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_measures_are_those_of_scikit_learn(name, data):
    model = MODELS[name]
    scores, y, importance, cuts = data.draw(batches(model))
    found = summary_of(model, scores, y, importance, cuts)
    assert found.pop("examples") == np.count_nonzero(importance)
    assert found.pop("weight") == close(importance.sum())
    if importance.sum() == 0.0:
        assert found == {}
        return
    assert found.pop("loss") == close(mean_loss(model, scores, y, importance))
    if not model.task.is_regression:
        assert found.pop("classes") == list(model.classes)
        assert np.array(found.pop("confusion")) == close(confusion(scores, y, importance))
    check_best_threshold(found, scores, y, importance)
    expected = numbers if model.task.is_regression else classes
    for measure, value in expected(model, scores, y, importance).items():
        assert found.pop(measure) == close(value), measure
    assert found == {}


def check_best_threshold(found: dict, scores, y, importance) -> None:
    """Scores above it, taken for the second class, have the best F1."""
    threshold = found.pop("best_threshold", None)
    if threshold is not None:
        above = scores[:, 0] > threshold
        f1 = sk.f1_score(y, np.where(above, 1.0, -1.0), sample_weight=importance, zero_division=0.0)
        assert f1 == close(found["best_f1"])


def numbers(model: StreamModel, scores, y, importance) -> dict:
    p = scores[:, 0]
    found = {
        "rmse": math.sqrt(sk.mean_squared_error(y, p, sample_weight=importance)),
        "mae": sk.mean_absolute_error(y, p, sample_weight=importance),
    }
    if len(set(y[importance > 0.0])) > 1:
        found["r2"] = sk.r2_score(y, p, sample_weight=importance)
    return found


def truth_and_predictions(scores, y) -> tuple[np.ndarray, np.ndarray]:
    if scores.shape[1] == 1:
        return ((y + 1) // 2).astype(int), (scores[:, 0] > 0.0).astype(int)
    return y.astype(int), np.argmax(scores, axis=1)


def confusion(scores, y, importance) -> np.ndarray:
    labels = np.arange(max(2, scores.shape[1]))
    pairs = truth_and_predictions(scores, y)
    return sk.confusion_matrix(*pairs, labels=labels, sample_weight=importance)


def classes(model: StreamModel, scores, y, importance) -> dict:
    truth, predicted = truth_and_predictions(scores, y)
    n = len(model.classes)
    found = {"accuracy": sk.accuracy_score(truth, predicted, sample_weight=importance)}
    if model.task.loss_name in LOSSES_WITH_PROBABILITIES:
        p = probabilities(model.task.loss_name, model.learner.loss, scores)
        p = np.hstack([1.0 - p, p]) if n == 2 else p
        found["log_loss"] = sk.log_loss(truth, p, labels=np.arange(n), sample_weight=importance)
    if n == 2 and len(set(truth[importance > 0.0])) == 2:
        found["auc"] = sk.roc_auc_score(truth, scores[:, 0], sample_weight=importance)
    counts = importance > 0.0
    found |= precision_and_recall(n, truth[counts], predicted[counts], importance[counts])
    if n == 2 and truth[counts].any():
        ranked = (truth[counts], scores[counts, 0])
        found["average_precision"] = sk.average_precision_score(
            *ranked, sample_weight=importance[counts]
        )
        precision, recall, _ = sk.precision_recall_curve(*ranked, sample_weight=importance[counts])
        f1 = 2.0 * precision * recall / np.maximum(precision + recall, 1e-300)
        found["best_f1"] = f1.max()
    return found


def precision_and_recall(n: int, truth, predicted, importance) -> dict:
    names, weights = ("precision", "recall", "f1"), {"sample_weight": importance}
    if n > 2:
        values = sk.precision_recall_fscore_support(
            truth, predicted, average="macro", zero_division=0.0, **weights
        )
        return dict(zip(names, values, strict=False))
    values = sk.precision_recall_fscore_support(
        truth, predicted, pos_label=1, average="binary", zero_division=np.nan, **weights
    )
    return {n: v for n, v in zip(names, values, strict=False) if v is not None and not np.isnan(v)}


def test_log_loss_is_the_loss_of_a_logistic_model():
    rng = np.random.default_rng(0)
    found = summary_of(
        MODELS["logistic"], rng.normal(size=(50, 1)), rng.choice([-1.0, 1.0], 50), rng.random(50)
    )
    assert found["log_loss"] == close(found["loss"])


def test_r2_of_equal_targets_is_left_out():
    """Even where their mean is not exactly one of them."""
    rng = np.random.default_rng(0)
    y, weights = np.full(30, 0.1), rng.random(30)
    found = summary_of(MODELS["squared"], rng.normal(size=(30, 1)), y, weights, [0, 7, 13, 30])
    assert "r2" not in found
    assert set(found) == {"examples", "weight", "loss", "rmse", "mae"}


def test_r2_of_targets_far_from_zero():
    rng = np.random.default_rng(0)
    y = 1e9 + rng.normal(size=1000)
    scores = (y + 0.1 * rng.normal(size=1000))[:, np.newaxis]
    found = summary_of(MODELS["squared"], scores, y, np.ones(1000), [0, 100, 500, 1000])
    assert found["r2"] == pytest.approx(sk.r2_score(y, scores[:, 0]), rel=1e-6)


def test_what_overflows_is_left_out():
    scores = np.array([[1e200], [-1e200]])
    found = summary_of(MODELS["squared"], scores, np.array([1.0, 2.0]), np.ones(2))
    assert set(found) == {"examples", "weight", "mae"}


def test_batches_may_be_overwritten():
    """Readers use the memory of a batch again."""
    metrics = Metrics(MODELS["logistic"])
    scores, y, importance = np.array([[0.5], [-0.5]]), np.array([1.0, -1.0]), np.array([2.0, 3.0])
    metrics.add(scores, y, importance)
    scores *= -1
    importance[:] = 1.0
    assert metrics.summary()["auc"] == 1.0


def test_of_nothing():
    assert Metrics(MODELS["hinge"]).summary() == {"examples": 0, "weight": 0.0}
