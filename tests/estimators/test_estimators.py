"""What the two estimators promise: the scikit-learn interface, and learning that can be split."""

from __future__ import annotations

import copy
import functools
import itertools
import pickle
import tracemalloc
import warnings
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, special
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from rarefy import InputError
from rarefy.errors import RarefyWarning
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order
from tests.selecting import slow_but

N_ROWS = 60
N_FEATURES = 10


class Task(NamedTuple):
    """A model, not yet fitted, and something to learn."""

    model: object
    X: np.ndarray
    y: np.ndarray

    def partial_fit(self, model, rows, **more):
        """Learn some of the rows; the classes are named where they are needed."""
        if is_classifier(model) and not hasattr(model, "classes_"):
            more["classes"] = np.unique(self.y)
        weights = more.pop("sample_weight", None)
        if weights is not None:
            more["sample_weight"] = weights[rows]
        return model.partial_fit(self.X[rows], self.y[rows], **more)


def task(kind: str, **parameters) -> Task:
    problem = data.problem(kind, n=N_ROWS, d=N_FEATURES, classes=3)
    if kind == "regression":
        return Task(regressor_in_order(**parameters), problem.dense, problem.y)
    return Task(classifier_in_order(**parameters), problem.dense, problem.y.astype(int))


def binary(**parameters) -> Task:
    return task("binary", **parameters)


def three_classes(**parameters) -> Task:
    return task("multiclass", **parameters)


def regression(**parameters) -> Task:
    return task("regression", **parameters)


KINDS = [
    pytest.param(binary, id="binary"),
    pytest.param(three_classes, id="three classes"),
    pytest.param(regression, id="regression"),
]
SOME_ZEROS = {binary: 1.0, three_classes: 1.0, regression: 1.5}  # l1 that leaves some weights
every_kind = pytest.mark.parametrize("make", KINDS)


def assert_same_bits(one, other):
    assert one.n_features_in_ == other.n_features_in_
    for name in ("coef_", "intercept_"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert (one.t_, one.progressive_loss_) == (other.t_, other.progressive_loss_)


def scores_of(model, X) -> np.ndarray:
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


# --- weights, predictions, what can be read off a fitted model ------------------------------


@every_kind
def test_coefficients_have_the_shapes_of_scikit_learn(make):
    model, X, y = make()
    peer = (SGDClassifier() if is_classifier(model) else SGDRegressor()).fit(X, y)
    model.fit(X, y)
    assert model.coef_.shape == peer.coef_.shape
    assert model.intercept_.shape == peer.intercept_.shape
    assert scores_of(model, X).shape == scores_of(peer, X).shape
    assert model.n_features_in_ == N_FEATURES


@every_kind
def test_scores_are_the_weighted_sums(make):
    model, X, y = make()
    model.fit(X, y)
    expected = X @ model.coef_.T + model.intercept_
    expected = expected.ravel() if expected.shape[-1] == 1 else expected
    np.testing.assert_allclose(scores_of(model, X), expected, rtol=1e-12, atol=1e-12)


@every_kind
def test_without_intercept_it_is_zero(make):
    model, X, y = make(fit_intercept=False)
    model.fit(X, y)
    assert not model.intercept_.any()
    assert model.coef_.any()
    assert not scores_of(model, np.zeros((1, N_FEATURES))).any()


def test_two_classes_are_predicted_by_sign():
    model, X, y = binary()
    model.fit(X, y)
    expected = np.where(model.decision_function(X) > 0, model.classes_[1], model.classes_[0])
    np.testing.assert_array_equal(model.predict(X), expected)


def test_many_classes_are_predicted_by_the_highest_score():
    model, X, y = three_classes()
    model.fit(X, y)
    expected = model.classes_[model.decision_function(X).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), expected)


@every_kind
def test_sparse_coefficients_are_the_dense_ones(make):
    model, X, y = make(l1=SOME_ZEROS[make])
    model.fit(X, y)
    found = model.sparse_coef_
    assert sparse.issparse(found)
    assert found.format == "csr"
    assert found.has_canonical_format
    np.testing.assert_array_equal(found.toarray(), np.atleast_2d(model.coef_))
    assert 0 < model.n_nonzero_ == found.nnz == np.count_nonzero(model.coef_) < model.coef_.size
    assert model.sparsity_ == pytest.approx(np.mean(model.coef_ == 0.0))


@every_kind
def test_more_l1_leaves_fewer_weights(make):
    counts = []
    for l1 in (0.0, SOME_ZEROS[make], 1e3):
        model, X, y = make(l1=l1)
        counts.append(model.fit(X, y).n_nonzero_)
    assert counts[0] > counts[1] > counts[2] == 0


@every_kind
def test_rounds_are_counted_over_passes_and_calls(make):
    model, X, y = make(passes=3)
    assert model.fit(X, y).t_ == 3 * N_ROWS
    assert model.partial_fit(X[:7], y[:7]).t_ == 3 * N_ROWS + 7
    assert model.fit(X, y).t_ == 3 * N_ROWS


LOSS_OF_SCORES = {
    "binary": lambda p, y: np.logaddexp(0.0, -p if y == 1 else p),
    "three classes": lambda p, y: special.logsumexp(p) - p[y],
    "regression": lambda p, y: (p - y) ** 2,
}


@pytest.mark.parametrize(
    ("make", "loss"), [(p.values[0], p.id) for p in KINDS], ids=list(LOSS_OF_SCORES)
)
def test_progressive_loss_is_that_of_predictions_made_before_learning(make, loss):
    some = make()
    weights = data.importances(N_ROWS)
    losses = []
    for i in range(N_ROWS):
        if i == 0:
            before = np.zeros(3) if loss == "three classes" else 0.0
        else:
            before = scores_of(some.model, some.X[i : i + 1])[0]
        losses.append(LOSS_OF_SCORES[loss](before, some.y[i]))
        some.partial_fit(some.model, slice(i, i + 1), sample_weight=weights)
    expected = np.average(losses, weights=weights)
    assert some.model.progressive_loss_ == pytest.approx(expected, rel=1e-11)
    at_once = clone(some.model).fit(some.X, some.y, sample_weight=weights)
    assert at_once.progressive_loss_ == some.model.progressive_loss_


@pytest.fixture(scope="module")
def wide_model():
    """Five million columns, of which 300 occur."""
    n, n_columns = 100, 5_000_000
    columns = np.random.default_rng(0).choice(n_columns, 3 * n, replace=False)
    X = sparse.csr_array((np.ones(3 * n), columns, np.arange(0, 3 * n + 1, 3)), (n, n_columns))
    model = classifier_in_order(l1=0.0).fit(X, np.arange(n) % 2)
    assert model.sparse_coef_.nnz == 3 * n  # compiles, too
    return model


def peak_memory(read) -> int:
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "name", ["sparse_coef_", "n_nonzero_", "sparsity_", "intercept_", "t_", "progressive_loss_"]
)
def test_reading_a_wide_model_takes_no_memory_of_its_width(wide_model, name):
    assert peak_memory(lambda: getattr(wide_model, name)) < 100_000


def test_the_dense_coefficients_do_take_it(wide_model):
    assert peak_memory(lambda: wide_model.coef_) > 8 * wide_model.n_features_in_


@pytest.mark.parametrize(
    "name",
    ["coef_", "sparse_coef_", "intercept_", "n_nonzero_", "sparsity_", "t_", "progressive_loss_"],
)
def test_nothing_can_be_read_before_fitting(name):
    model = classifier_in_order()
    assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        getattr(model, name)


# --- probabilities and score ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "parameters"),
    [
        pytest.param(binary, {"loss": "logistic"}, id="logistic"),
        pytest.param(binary, {"loss": "modified_huber"}, id="modified_huber"),
        pytest.param(three_classes, {"loss": "logistic"}, id="softmax"),
        pytest.param(three_classes, {"loss": "logistic", "multiclass": "ovr"}, id="ovr-logistic"),
        pytest.param(three_classes, {"loss": "modified_huber"}, id="ovr-modified_huber"),
    ],
)
def test_probabilities(make, parameters):
    model, X, y = make(**parameters, calibrate=False)
    model.fit(X, y)
    X = np.vstack([X, 1e3 * X, 1e6 * X])  # also where they are all but certain
    scores, probabilities = model.decision_function(X), model.predict_proba(X)
    assert probabilities.shape == (len(X), len(model.classes_))
    assert probabilities.min() >= 0.0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    winners = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    chosen = probabilities[np.arange(len(X)), winners]
    np.testing.assert_array_equal(chosen, probabilities.max(axis=1))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(probabilities))


def test_probabilities_of_the_logistic_loss():
    model, X, y = binary(calibrate=False)
    model.fit(X, y)
    expected = special.expit(model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)


def test_probabilities_of_softmax():
    model, X, y = three_classes(calibrate=False)
    model.fit(X, y)
    expected = special.softmax(model.decision_function(X), axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)


def test_probabilities_of_the_modified_huber_loss():
    model, X, y = binary(loss="modified_huber", calibrate=False)
    model.fit(X, y)
    expected = (np.clip(model.decision_function(X), -1.0, 1.0) + 1.0) / 2.0
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    assert len(np.unique(expected)) > 10


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "perceptron"])
def test_other_losses_have_no_probabilities(loss, method):
    model = classifier_in_order(loss=loss)
    assert not hasattr(model, method)
    with pytest.raises(AttributeError, match=method) as caught:
        getattr(model, method)
    explanation = str(caught.value.__cause__)
    for word in (loss, "logistic", "modified_huber"):
        assert repr(word) in explanation


@every_kind
def test_score(make):
    model, X, y = make()
    weights = data.importances(N_ROWS)
    model.fit(X, y)
    metric = accuracy_score if is_classifier(model) else r2_score
    predicted = model.predict(X)
    assert model.score(X, y) == metric(y, predicted)
    assert model.score(X, y, weights) == metric(y, predicted, sample_weight=weights)


@every_kind
def test_many_passes_come_close_to_the_best_weights(make):
    model, X, y = make(passes=100, l1=0.0)
    best = LogisticRegression(C=1e3) if is_classifier(model) else LinearRegression()
    assert model.fit(X, y).score(X, y) > best.fit(X, y).score(X, y) - 0.05


# --- sample weights -------------------------------------------------------------------------


@every_kind
def test_sample_weights_matter_and_ones_do_not(make):
    model, X, y = make()
    plain = clone(model).fit(X, y)
    assert_same_bits(plain, clone(model).fit(X, y, sample_weight=np.ones(N_ROWS)))
    assert_same_bits(plain, clone(model).fit(X, y, sample_weight=1.0))
    weighted = clone(model).fit(X, y, sample_weight=data.importances(N_ROWS))
    assert not np.array_equal(plain.coef_, weighted.coef_)


# --- the same data in another form ----------------------------------------------------------


def memory_mapped(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def with_wide_indices(X: np.ndarray) -> sparse.csr_array:
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


@pytest.mark.parametrize(
    "form",
    [
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.csc_matrix,
        sparse.coo_array,
        sparse.coo_matrix,
        sparse.lil_array,
        pytest.param(with_wide_indices, id="csr with int64 indices"),
        pytest.param(lambda X: data.messy_csr(X, np.random.default_rng(0)), id="messy csr"),
        pd.DataFrame,
        np.asfortranarray,
        pytest.param(memory_mapped, id="read-only"),
        pytest.param(lambda X: np.repeat(X, 2, axis=1)[:, ::2], id="strided"),
        pytest.param(np.ndarray.tolist, id="list"),
    ],
)
def test_every_form_of_the_data_gives_the_same_weights(form):
    model, X, y = binary()
    X = np.round(X, 4)
    X = np.where(abs(X) < 0.01, 0.0, np.round(X * 64.0) / 64.0)  # splits of values are exact
    expected = clone(model).fit(X, y)
    found = clone(model).fit(form(X), y)
    assert_same_bits(found, expected)
    np.testing.assert_array_equal(found.predict(form(X)), expected.predict(X))
    np.testing.assert_array_equal(found.decision_function(form(X)), expected.decision_function(X))


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, bool], ids=lambda k: k.__name__)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_other_kinds_of_numbers_are_taken_as_floats(kind, form):
    model, X, y = binary()
    X = (3.0 * X).astype(kind)
    assert X.any()
    expected = clone(model).fit(X.astype(np.float64), y)
    assert_same_bits(clone(model).fit(form(X), y), expected)


@pytest.mark.parametrize("form", [np.asarray, pd.Series, list, lambda y: y.astype(np.float32)])
def test_every_form_of_targets_gives_the_same_weights(form):
    model, X, y = regression()
    y = np.round(y, 1).astype(np.float32).astype(np.float64)
    assert_same_bits(clone(model).fit(X, form(y)), clone(model).fit(X, y))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_the_caller_s_arrays_are_left_alone(method):
    problem = data.problem("binary", n=N_ROWS, d=N_FEATURES)
    csr, y, weights = problem.csr.copy(), problem.y.copy(), data.importances(N_ROWS)
    arrays = [csr.data, csr.indices, csr.indptr, y, weights]
    before = [array.tobytes() for array in arrays]
    model = classifier_in_order(shuffle=True, random_state=0)
    more = {"classes": [-1, 1]} if method == "partial_fit" else {}
    getattr(model, method)(csr, y, sample_weight=weights, **more)
    model.predict(csr)
    assert [array.tobytes() for array in arrays] == before


# --- names of columns -----------------------------------------------------------------------


def named(X: np.ndarray, names: str = "abcdefghijklmnopqrstuvwxyz") -> pd.DataFrame:
    return pd.DataFrame(X, columns=list(names[: X.shape[1]]))


def test_column_names_are_kept():
    model, X, y = binary()
    model.fit(named(X), y)
    assert model.feature_names_in_.tolist() == list("abcdefghij")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(named(X), y).predict(named(X))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        model.predict(named(X))


@pytest.mark.parametrize("names", ["bacdefghij", "abcdefghiz"], ids=["other order", "other name"])
@pytest.mark.parametrize("method", ["partial_fit", "predict"])
def test_other_column_names_are_refused(method, names):
    model, X, y = binary()
    model.fit(named(X), y)
    untouched = copy.deepcopy(model)
    with pytest.raises(InputError, match="feature names"):
        getattr(model, method)(named(X, names), *([y] if method == "partial_fit" else []))
    assert_same_bits(model, untouched)


# --- parameters, copies ---------------------------------------------------------------------


def test_parameters_can_be_read_and_set():
    model = classifier_in_order(l1=0.5)
    assert model.get_params()["l1"] == 0.5
    assert model.set_params(rule="ftrl", loss="hinge") is model
    assert (model.rule, model.loss, model.l1) == ("ftrl", "hinge", 0.5)
    with pytest.raises(ValueError, match="Invalid parameter 'lambda1'"):
        model.set_params(lambda1=1.0)


@every_kind
def test_a_clone_has_the_parameters_and_nothing_learned(make):
    model, X, y = make(l1=0.01, passes=2)
    copied = clone(model.fit(X, y))
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "coef_")
    assert_same_bits(copied.fit(X, y), model)


def through_joblib(model, folder):
    joblib.dump(model, folder / "model")
    return joblib.load(folder / "model")


def through_memory_map(model, folder):
    """The arrays of such a model cannot be written to."""
    joblib.dump(model, folder / "model")
    return copy.deepcopy(joblib.load(folder / "model", mmap_mode="r"))


ROUND_TRIPS = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "joblib": through_joblib,
    "memory map and deepcopy": through_memory_map,
    "deepcopy": lambda model, folder: copy.deepcopy(model),
}


@pytest.mark.parametrize("trip", ROUND_TRIPS.values(), ids=list(ROUND_TRIPS))
@every_kind
def test_learning_goes_on_after_a_round_trip(make, trip, tmp_path):
    some = make(n_features="grow")
    start, rest = slice(0, 25), slice(25, None)
    model = some.partial_fit(some.model, start)
    copied = trip(model, tmp_path)
    assert_same_bits(copied, model)
    np.testing.assert_array_equal(copied.predict(some.X), model.predict(some.X))
    some.partial_fit(model, rest)
    assert copied.t_ == 25
    assert_same_bits(some.partial_fit(copied, rest), model)
    wider = np.hstack([some.X, some.X])
    for each in (model, copied):
        each.partial_fit(wider, some.y)
    assert_same_bits(copied, model)


def test_representations():
    model, X, y = binary(l1=0.25)
    assert repr(model) == "SparseOnlineClassifier(l1=0.25, passes=1, shuffle=False)"
    for html in (model._repr_html_(), model.fit(X, y)._repr_html_()):
        assert "SparseOnlineClassifier" in html
        assert "0.25" in html


# --- labels ---------------------------------------------------------------------------------


LABELS = {
    "strings": np.array(["ham", "spam"]),
    "objects": np.array(["ham", "spam"], dtype=object),
    "booleans": np.array([False, True]),
    "integers": np.array([-7, 300]),
    "bytes": np.array([0, 1], dtype=np.uint8),
    "floats": np.array([0.0, 1.0]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=list(LABELS))
def test_two_labels_of_any_kind(labels):
    model, X, y = binary()
    expected = clone(model).fit(X, y)
    model.fit(X, labels[(y > 0).astype(int)])
    np.testing.assert_array_equal(model.classes_, labels)
    assert_same_bits(model, expected)
    np.testing.assert_array_equal(model.predict(X), labels[(expected.predict(X) > 0).astype(int)])
    assert model.predict(X).dtype == model.classes_.dtype


def test_three_labels_are_sorted():
    model, X, y = three_classes()
    expected = clone(model).fit(X, y)
    labels = np.array(["blue", "green", "red"])
    again = clone(model).partial_fit(X, labels[y], classes=["red", "blue", "green", "red"])
    assert again.classes_.tolist() == labels.tolist()
    assert_same_bits(again, expected)
    np.testing.assert_array_equal(again.predict(X), labels[expected.predict(X)])


def test_a_class_that_has_not_occurred_yet():
    model, X, y = three_classes()
    model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert model.coef_.shape == (3, N_FEATURES)
    assert set(model.predict(X)) <= {0, 1}
    model.partial_fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]


# --- calls, passes, order -------------------------------------------------------------------


SPLIT_TASKS = {
    "scale-free": (binary, {}),
    "scale-free-softmax": (three_classes, {"l1": 0.5, "l2": 0.1}),
    "frda": (binary, {"rule": "frda"}),
    "ftpfrl-l2": (binary, {"rule": "ftpfrl", "l1": 0.01, "l2": 0.1}),
    "adagrad-fobos": (regression, {"l1": 0.01}),
    "frda-softmax": (three_classes, {"rule": "frda", "l1": 0.01}),
    "cumulative-crammer_singer": (
        three_classes,
        {"rule": "fobos", "loss": "hinge", "cumulative": True, "l1": 0.001},
    ),
    "truncated-gradient": (binary, {"rule": "truncated-gradient", "l1": 0.01, "eta0": 0.1}),
}


@functools.cache
def fitted_at_once(name: str):
    make, parameters = SPLIT_TASKS[name]
    model, X, y = make(**parameters)
    return model.fit(X, y, sample_weight=data.importances(N_ROWS))


@pytest.mark.parametrize("name", slow_but(SPLIT_TASKS, "scale-free", "ftpfrl-l2", "frda-softmax"))
@given(cuts=st.sets(st.integers(1, N_ROWS - 1)), form=st.sampled_from(["dense", "csr"]))
@settings(max_examples=15, deadline=None)
def test_any_split_into_calls_gives_the_same_bits(name, cuts, form):
    make, parameters = SPLIT_TASKS[name]
    some = make(**parameters)
    if form == "csr":
        some = some._replace(X=sparse.csr_array(some.X))
    edges = [0, *sorted(cuts), N_ROWS]
    for begin, end in itertools.pairwise(edges):
        rows = slice(begin, end)
        some.partial_fit(some.model, rows, sample_weight=data.importances(N_ROWS))
    assert_same_bits(some.model, fitted_at_once(name))
    np.testing.assert_array_equal(
        scores_of(some.model, some.X), scores_of(fitted_at_once(name), some.X)
    )


@every_kind
def test_three_passes_are_three_calls(make):
    some = make(rule="ftrl")
    for _ in range(3):
        some.partial_fit(some.model, slice(None))
    assert_same_bits(clone(some.model).set_params(passes=3).fit(some.X, some.y), some.model)


def test_fit_forgets_and_partial_fit_does_not():
    model, X, y = binary()
    once = clone(model).fit(X, y)
    assert_same_bits(model.fit(X[:, ::-1], y).fit(X, y), once)
    assert not np.array_equal(model.partial_fit(X, y).coef_, once.coef_)


@every_kind
def test_shuffling_follows_the_seed(make):
    model, X, y = make(shuffle=True, passes=2, random_state=1)
    first = clone(model).fit(X, y)
    assert_same_bits(clone(model).fit(X, y), first)
    assert_same_bits(
        clone(model).set_params(random_state=np.random.RandomState(1)).fit(X, y), first
    )
    for other in ({"random_state": 2}, {"shuffle": False}):
        assert not np.array_equal(clone(model).set_params(**other).fit(X, y).coef_, first.coef_)
    assert first.t_ == 2 * N_ROWS


def test_shuffling_takes_every_row_once_and_each_with_its_weight():
    """Without penalty and with a linear loss the sum of steps tells which rows were taken."""
    X, weights = np.eye(N_ROWS), np.arange(1.0, N_ROWS + 1.0)
    y = np.where(np.arange(N_ROWS) % 3, 1.0, -1.0)
    model = regressor_in_order(
        rule="frda", loss="quantile", l1=0.0, shuffle=True, random_state=0, fit_intercept=False
    )
    model.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, 0.5 * y * weights / np.sqrt(N_ROWS))


def test_partial_fit_keeps_the_order():
    model, X, y = regression()
    shuffling = clone(model).set_params(shuffle=True, random_state=0, passes=5)
    assert_same_bits(shuffling.partial_fit(X, y), model.partial_fit(X, y))


def test_set_params_works_from_the_next_fit_on():
    model, X, y = binary()
    model.fit(X, y).set_params(l1=0.5)
    expected = classifier_in_order(l1=0.5).fit(X, y)
    assert_same_bits(model.fit(X, y), expected)


# --- more columns as they come --------------------------------------------------------------


def appearing_columns(X: np.ndarray, widths: list[int]) -> np.ndarray:
    """X with zeros where a block of rows has not seen a column yet."""
    X = X.copy()
    for rows, width in zip(np.array_split(np.arange(len(X)), len(widths)), widths, strict=True):
        X[rows, width:] = 0.0
    return X


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("widths", [[2, 5, 10], [3, 4, 5, 6, 7, 8, 9, 10], [4, 10, 2, 7]], ids=str)
@every_kind
def test_columns_that_come_later_learn_as_if_always_there(make, widths, form):
    some = make(n_features="grow")
    X = appearing_columns(some.X, widths)
    some.model.set_params(l1=0.01)
    for rows, width in zip(np.array_split(np.arange(N_ROWS), len(widths)), widths, strict=True):
        some._replace(X=form(X[:, :width])).partial_fit(some.model, rows)
    expected = clone(some.model).set_params(n_features=None).fit(X, some.y)
    assert some.model.n_features_in_ == some.model.sparse_coef_.shape[1] == N_FEATURES
    assert_same_bits(some.model, expected)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.ndarray.tolist], ids=str)
@every_kind
def test_a_growing_model_predicts_rows_of_any_width(make, form):
    model, X, y = make(n_features="grow")
    model.fit(X, y)
    padded = X.copy()
    padded[:, 4:] = 0.0
    np.testing.assert_array_equal(scores_of(model, form(X[:, :4])), scores_of(model, padded))
    wider = np.hstack([X, X])
    np.testing.assert_array_equal(scores_of(model, form(wider)), scores_of(model, X))
    assert model.n_features_in_ == N_FEATURES


@pytest.mark.parametrize("width", [N_FEATURES - 1, N_FEATURES + 1], ids=["narrower", "wider"])
@pytest.mark.parametrize("method", ["partial_fit", "predict"])
@every_kind
def test_other_widths_are_refused_without_growing(make, method, width):
    model, X, y = make()
    model.fit(X, y)
    untouched = copy.deepcopy(model)
    other = np.ones((N_ROWS, width))
    with pytest.raises(InputError, match=f"X has {width} features.*{N_FEATURES} features"):
        getattr(model, method)(other, *([y] if method == "partial_fit" else []))
    assert_same_bits(model, untouched)


def test_a_growing_model_learns_new_names():
    model, X, y = binary(n_features="grow")
    model.fit(named(X[:, :6]), y).partial_fit(named(X), y)
    assert model.feature_names_in_.tolist() == list("abcdefghij")


@pytest.mark.parametrize("method", ["partial_fit", "predict"])
@pytest.mark.parametrize(
    "names", ["ba", "bacdefghij", "bacdefghijk"], ids=["narrower", "as wide", "wider"]
)
def test_a_growing_model_refuses_known_columns_in_other_places(method, names):
    model, X, y = binary(n_features="grow")
    model.fit(named(X), y)
    other = named(np.ones((N_ROWS, len(names))), names)
    with pytest.raises(InputError, match="X has the name 'b' for column 0; 'a' is expected"):
        getattr(model, method)(other, *([y] if method == "partial_fit" else []))
    assert model.feature_names_in_.tolist() == list("abcdefghij")


@pytest.mark.parametrize("names", ["ab", "abcdefghijk"], ids=["narrower", "wider"])
def test_a_growing_model_does_not_complain_about_right_names(names):
    model, X, y = binary(n_features="grow")
    model.fit(named(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(named(np.ones((2, len(names))), names))


# --- in company with scikit-learn -----------------------------------------------------------


TEXTS = [
    "cheap pills buy now",
    "meeting at noon tomorrow",
    "buy cheap watches now",
    "lunch tomorrow at noon",
    "win money now cheap",
    "project meeting notes",
    "cheap money pills",
    "notes from lunch",
] * 2
KINDS_OF_MAIL = np.array(["spam", "ham"] * 8)


@pytest.mark.parametrize(
    "vectorizer",
    [CountVectorizer(), TfidfVectorizer(), HashingVectorizer(n_features=2**20)],
    ids=lambda v: type(v).__name__,
)
def test_after_a_vectorizer(vectorizer):
    pipeline = make_pipeline(vectorizer, classifier_in_order(passes=5))
    pipeline.fit(TEXTS, KINDS_OF_MAIL)
    assert pipeline.score(TEXTS, KINDS_OF_MAIL) == 1.0
    assert pipeline.predict(["cheap pills", "meeting notes"]).tolist() == ["spam", "ham"]
    assert 0 < pipeline[-1].n_nonzero_ <= 30
    scores = cross_val_score(pipeline, TEXTS, KINDS_OF_MAIL, cv=2)
    assert scores.min() > 0.8


def test_grid_search_over_a_pipeline():
    pipeline = make_pipeline(TfidfVectorizer(), classifier_in_order(passes=5))
    grid = {"sparseonlineclassifier__l1": [1e-5, 100.0]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(TEXTS, KINDS_OF_MAIL)
    assert search.best_params_ == {"sparseonlineclassifier__l1": 1e-5}
    assert search.best_score_ > 0.8
    assert search.predict(TEXTS).tolist() == KINDS_OF_MAIL.tolist()


def test_grid_search_over_a_regressor_with_sample_weights():
    model, X, y = regression(passes=5)
    grid = {"l1": [1.0, 100.0], "eta0": [0.2, 0.4]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y, sample_weight=data.importances(N_ROWS))
    assert search.best_params_["l1"] == 1.0
    assert search.best_score_ > 0.1


def test_grouped_labels_are_warned_of():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(1200, 3)), np.repeat(["a", "b"], 600)
    with pytest.warns(RarefyWarning, match=r"changes: 1 in 1,200 rows; .* Use shuffle=True"):
        classifier_in_order(shuffle=False).fit(rows, labels)
    model = classifier_in_order()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for part in np.array_split(np.arange(1200), 12):
            model.partial_fit(rows[part], labels[part], classes=["a", "b"])
    (warning,) = found
    assert str(warning.message).endswith("Shuffle the rows.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier_in_order(shuffle=True).fit(rows, labels)
        regressor_in_order(shuffle=False).fit(rows, np.repeat([0.0, 1.0], 600))
        order = rng.permutation(1200)
        classifier_in_order().partial_fit(rows[order], labels[order], classes=["a", "b"])
