"""Weights of classes multiply the importance of rows, exactly, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

import rarefy
from rarefy import ConfigError, InputError
from rarefy.model.class_weights import BALANCED, ClassWeights
from tests import data, naive
from tests.in_order import classifier_in_order

SETTINGS = {
    "logistic": {"rule": "fobos", "l1": 0.003},
    "hinge": {"rule": "frda", "l1": 0.01, "q": 2},
}
NO_TOTALS = np.empty(0)


def problem(kind: str, n: int = 120) -> tuple[data.Problem, np.ndarray]:
    """Rows of which few are of the last class, and their sample weights, some of them zero."""
    found = data.problem(kind, n=n)
    weights = np.random.default_rng(4).choice([0.0, 0.5, 1.0, 2.0], n)
    weights[:8] = 1.0
    return found, weights


def reference(found: data.Problem, weights, loss: str, **more) -> naive.Result:
    multiclass = {"logistic": "softmax", "hinge": "crammer_singer"}[loss]
    several = len(set(found.y)) > 2
    return naive.fit(
        found.dense,
        found.y,
        loss=loss,
        sample_weight=weights,
        multiclass=multiclass if several else None,
        fit_intercept=True,
        **SETTINGS[loss],
        **more,
    )


def assert_same(model, expected: naive.Result) -> None:
    np.testing.assert_allclose(model.coef_, expected.coef, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, expected.intercept, rtol=1e-9)
    np.testing.assert_allclose(model.progressive_loss_, expected.progressive_loss, rtol=1e-9)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize("loss", SETTINGS)
class TestTranscription:
    def test_given(self, kind, loss):
        found, weights = problem(kind)
        by_label = {found.y.max(): 7.5, found.y.min(): 0.5}
        model = classifier_in_order(loss=loss, class_weight=by_label, **SETTINGS[loss])
        model.set_params(shuffle=False, passes=1).fit(found.csr, found.y, sample_weight=weights)
        factors = np.array([by_label.get(label, 1.0) for label in found.y])
        assert_same(model, reference(found, factors * weights, loss))

    def test_balanced_by_all_rows(self, kind, loss):
        found, weights = problem(kind)
        model = classifier_in_order(loss=loss, class_weight="balanced", **SETTINGS[loss])
        model.set_params(shuffle=False, passes=1).fit(found.csr, found.y, sample_weight=weights)
        assert_same(model, reference(found, naive.balanced_weights(found.y, weights), loss))

    def test_balanced_by_the_rows_so_far(self, kind, loss):
        found, weights = problem(kind)
        classes = np.unique(found.y)
        model = classifier_in_order(loss=loss, class_weight="balanced", **SETTINGS[loss])
        for begin, end in ((0, 1), (1, 50), (50, 120)):
            model.partial_fit(found.csr[begin:end], found.y[begin:end], classes, weights[begin:end])
        running = naive.running_weights(found.y, weights, len(classes))
        assert_same(model, reference(found, running, loss))

    def test_streams_over_passes(self, kind, loss, tmp_path):
        found, _ = problem(kind)
        file = tmp_path / "rows.svm"
        file.write_text(data.svmlight_text(found))
        classes = [f"{label:.0f}" for label in np.unique(found.y)]
        model = rarefy.train(
            file, loss=loss, class_weight="balanced", passes=2, store="array", classes=classes,
            **SETTINGS[loss],
        )  # fmt: skip
        y = np.tile(found.y, 2)
        twice = data.Problem(None, np.vstack([found.dense] * 2), y)
        running = naive.running_weights(y, np.ones(len(y)), len(classes))
        expected = reference(twice, running, loss)
        np.testing.assert_allclose(
            model.coef_[:, -found.dense.shape[1] :], expected.coef, rtol=1e-9, atol=1e-12
        )


def test_balanced_is_that_of_scikit_learn():
    y = np.array([-1.0] * 9 + [1.0] * 3)
    importance, totals = ClassWeights(BALANCED, ("a", "b")).of_all(y, np.ones(12))
    by_class = compute_class_weight("balanced", classes=np.array([-1.0, 1.0]), y=y)
    assert importance.tolist() == by_class[(y > 0).astype(int)].tolist()
    assert totals.tolist() == [9.0, 3.0]


def test_any_split_gives_the_same_bits():
    rng = np.random.default_rng(0)
    y, h = rng.choice([-1.0, 1.0], 100, p=[0.9, 0.1]), rng.random(100)
    weights = ClassWeights(BALANCED, ("a", "b"))
    whole = weights.running(y, h, NO_TOTALS)
    parts, totals = [], NO_TOTALS
    for rows in np.split(np.arange(100), [3, 4, 60]):
        part, totals = weights.running(y[rows], h[rows], totals)
        parts.append(part)
    assert np.concatenate(parts).tobytes() == whole.importance.tobytes()
    assert totals.tobytes() == whole.totals.tobytes()


def test_without_weights_nothing_changes():
    found, _ = problem("binary")
    plain = classifier_in_order().fit(found.csr, found.y)
    ones = classifier_in_order(class_weight={1: 1.0}).fit(found.csr, found.y)
    assert plain.coef_.tobytes() == ones.coef_.tobytes()


def test_labels_are_found_by_name_or_number():
    X = np.eye(4)
    for y, given in (
        ([True, False] * 2, {True: 3.0}),
        (["a", "b"] * 2, {"b": 3.0}),
        ([1, 2] * 2, {1.0: 3.0}),
        ([1.0, 2.0] * 2, {np.int64(2): 3.0}),
    ):
        model = classifier_in_order(class_weight=given).fit(X, y)
        again = classifier_in_order().fit(X, y)
        assert model.progressive_loss_ != again.progressive_loss_


def test_a_class_that_is_not_there():
    model = classifier_in_order(class_weight={"eggs": 2.0})
    with pytest.raises(InputError, match="names 'eggs', which is not one of the classes a, b"):
        model.fit(np.eye(4), ["a", "b"] * 2)


@pytest.mark.parametrize("given", [{}, "even", 2.0, {"a": 0.0}, {"a": "b"}, {"a": -1}])
def test_nonsense_is_refused(given):
    with pytest.raises(ConfigError, match="class_weight"):
        classifier_in_order(class_weight=given).fit(np.eye(4), ["a", "b"] * 2)


def test_regression_has_no_classes(tmp_path):
    Path(tmp_path / "a.svm").write_text("1.5 1:1\n2.5 2:1\n")
    with pytest.raises(ConfigError, match="does not apply to loss='squared'"):
        rarefy.train(tmp_path / "a.svm", loss="squared", class_weight="balanced")


@pytest.mark.parametrize("class_weight", ["balanced", {1: 4.0}])
def test_saved_between_calls(class_weight, tmp_path):
    found, weights = problem("binary")
    whole = classifier_in_order(class_weight=class_weight)
    whole.partial_fit(found.csr, found.y, np.unique(found.y), weights)
    part = classifier_in_order(class_weight=class_weight)
    part.partial_fit(found.csr[:50], found.y[:50], np.unique(found.y), weights[:50])
    part.save(tmp_path / "part.model")
    part = rarefy.load(tmp_path / "part.model")
    part.partial_fit(found.csr[50:], found.y[50:], sample_weight=weights[50:])
    assert part.coef_.tobytes() == whole.coef_.tobytes()


def test_refit_weighs_rows_by_class(tmp_path):
    """In memory and from files, whose frequencies are known when it begins."""
    found, _ = problem("binary", 400)
    file = tmp_path / "rows.svm"
    file.write_text(data.svmlight_text(found))
    asked = {"class_weight": "balanced", "refit": True, "refit_l2": 0.1}
    of_file = rarefy.train(file, **asked)
    plain = rarefy.train(file, refit=True, refit_l2=0.1)
    predicted = [np.mean(model.predict(rarefy.read(file)) > 0) for model in (plain, of_file)]
    share = np.mean(found.y > 0)
    assert abs(predicted[1] - 0.5) < abs(predicted[0] - 0.5) or share == 0.5
