"""What cannot be learned from is refused in plain words, and the estimator stays as it was."""

from __future__ import annotations

import copy
import itertools
import re
import subprocess
import sys
from contextlib import contextmanager
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier

from rarefy import (
    ConfigError,
    DivergenceError,
    InputError,
    RarefyError,
    RarefyWarning,
    SparseOnlineClassifier,
)
from rarefy.rules import RULES
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order

N_ROWS = 30
N_FEATURES = 40
LEARNED = ("coef_", "intercept_", "t_", "progressive_loss_", "classes_", "n_features_in_")


# --- models that know something, and calls that must leave it alone -------------------------


def examples(model, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    if not is_classifier(model):
        kind = "regression"
    else:
        kind = "binary" if n_classes == 2 else "multiclass"
    problem = data.problem(kind, n=N_ROWS, d=N_FEATURES, classes=n_classes)
    return problem.dense, problem.y


def fitted(model, n_classes: int = 2):
    return model.fit(*examples(model, n_classes))


def learned(model) -> dict[str, object]:
    """Everything that can be read off a model, arrays as bytes."""
    found = {name: getattr(model, name, None) for name in LEARNED}
    return {k: v.tobytes() if isinstance(v, np.ndarray) else v for k, v in found.items()}


def n_classes_of(model) -> int:
    return len(getattr(model, "classes_", (0, 1)))


def go_on(model) -> dict[str, object]:
    X, y = examples(model, n_classes_of(model))
    return learned(model.partial_fit(X[:, : model.n_features_in_], y))


@contextmanager
def refused(model, kind: type, *words: str):
    """The call inside fails, says these words, and leaves no trace in the model."""
    before, twin = learned(model), copy.deepcopy(model)
    parameters = model.get_params()
    with pytest.raises(kind) as caught:
        yield caught
    assert isinstance(caught.value, RarefyError)
    assert isinstance(caught.value, ValueError)
    for word in words:
        assert word in str(caught.value)
    assert model.get_params() == parameters
    assert learned(model) == before
    if before["t_"] is None:
        assert vars(model).keys() == vars(twin).keys()
    else:
        assert go_on(model) == go_on(twin)


CLASSIFIER = fitted(classifier_in_order())
REGRESSOR = fitted(regressor_in_order())
MODELS = [pytest.param(CLASSIFIER, id="classifier"), pytest.param(REGRESSOR, id="regressor")]
both_models = pytest.mark.parametrize("known", MODELS)
both_methods = pytest.mark.parametrize("method", ["fit", "partial_fit"])
METHODS = ("fit", "partial_fit", "predict")
every_method = pytest.mark.parametrize("method", METHODS)


def call(model, method: str, X, y, **more):
    return model.predict(X) if method == "predict" else getattr(model, method)(X, y, **more)


# --- values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array, np.float32])
@pytest.mark.parametrize(("bad", "said"), [(nan, "NaN"), (inf, "infinity"), (-inf, "infinity")])
@every_method
@both_models
def test_values_that_are_not_finite(known, method, bad, said, form):
    model = copy.deepcopy(known)
    X, y = examples(model)
    X[7, 3] = bad
    with refused(model, InputError, "X contains", said, "row 7, column 3", "finite"):
        call(model, method, form(X), y)


def test_values_so_large_that_their_squares_overflow():
    model = copy.deepcopy(CLASSIFIER)
    X, y = examples(model)
    X[7, 3] = 1e200
    with refused(model, InputError, "X contains 1e+200 in row 7, column 3", "up to 1e+50"):
        model.fit(X, y)


@pytest.mark.parametrize("bad", [nan, inf, -inf, 1e200], ids=str)
@both_methods
@both_models
def test_targets_that_are_not_finite(known, method, bad):
    model = copy.deepcopy(known)
    X, y = examples(model)
    y[5] = bad
    with refused(model, InputError, "y contains", "row 5", "finite"):
        call(model, method, X, y)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (nan, ["NaN", "finite"]),
        (inf, ["infinity", "finite"]),
        (-0.5, ["-0.5", ">= 0"]),
    ],
    ids=["NaN", "infinity", "negative"],
)
@both_methods
@both_models
def test_sample_weights_out_of_range(known, method, bad, words):
    model = copy.deepcopy(known)
    X, y = examples(model)
    weights = np.ones(N_ROWS)
    weights[4] = bad
    with refused(model, InputError, "sample_weight contains", "row 4", *words):
        call(model, method, X, y, sample_weight=weights)


@pytest.mark.parametrize("weights", [np.zeros(N_ROWS), 0.0], ids=["one per row", "one for all"])
@both_models
def test_sample_weights_that_are_all_zero(known, weights):
    model = copy.deepcopy(known)
    with refused(model, InputError, "sample_weight is zero for all rows"):
        model.fit(*examples(model), sample_weight=weights)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(N_ROWS - 1), [f"({N_ROWS - 1},)", f"{N_ROWS} rows"]),
        (np.ones((N_ROWS, 1)), [f"({N_ROWS}, 1)", f"{N_ROWS} rows"]),
        (["much"] * N_ROWS, ["numeric", "much"]),
    ],
    ids=["too few", "a column", "words"],
)
@both_methods
@both_models
def test_sample_weights_of_other_shape_or_kind(known, method, weights, words):
    model = copy.deepcopy(known)
    with refused(model, InputError, "sample_weight", *words):
        call(model, method, *examples(model), sample_weight=weights)


# --- shapes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [None, "grow"], ids=["fixed", "growing"])
@pytest.mark.parametrize(
    ("X", "word"),
    [
        (np.ones(N_FEATURES), "1D array"),
        (1.0, "scalar"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.empty((0, N_FEATURES)), "0 sample"),
        (np.array([["one"] * N_FEATURES] * N_ROWS), "one"),
        (np.ones((N_ROWS, N_FEATURES), dtype=complex), "Complex"),
    ],
    ids=["1-D", "0-D", "3-D", "no rows", "words", "complex"],
)
@every_method
@both_models
def test_matrices_of_other_shape_or_kind(known, method, X, word, n_features):
    model = copy.deepcopy(known).set_params(n_features=n_features)
    with refused(model, InputError, word):
        call(model, method, X, np.ones(len(X) if np.ndim(X) else 1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y: y[:-1], [str(N_ROWS), str(N_ROWS - 1)]),
        (lambda y: np.column_stack([y, y]), ["1d", f"({N_ROWS}, 2)"]),
        (lambda y: None, ["y should be a 1d array"]),
    ],
    ids=["too few", "two columns", "None"],
)
@both_methods
@both_models
def test_targets_of_other_shape(known, method, change, words):
    model = copy.deepcopy(known)
    X, y = examples(model)
    with refused(model, InputError, *words):
        call(model, method, X, change(y))


def with_a_moment(shape):
    values = np.ones(shape, dtype=object)
    values.flat[0] = np.datetime64("2024-01-01")
    return values


NOT_REAL = {
    "too large": lambda shape: np.full(shape, 10**400, dtype=object).tolist(),
    "complex": lambda shape: np.full(shape, 1j),
    "moments": lambda shape: np.full(shape, np.datetime64("2024-01-01")),
    "moments in lists": lambda shape: list(np.full(shape, np.datetime64("2024-01-01"))),
    "moments among numbers": with_a_moment,
    "durations": lambda shape: np.full(shape, np.timedelta64(1, "s")),
}


@pytest.mark.parametrize("made", NOT_REAL.values(), ids=NOT_REAL)
@both_methods
@both_models
def test_what_is_no_real_number(known, method, made):
    X, y = examples(known)
    model = copy.deepcopy(known)
    with refused(model, InputError):
        call(model, method, X, made(len(y)))
    with refused(model, InputError, "sample_weight"):
        call(model, method, X, y, sample_weight=made(len(y)))
    with refused(model, InputError, "X"):
        call(model, method, made(X.shape), y)
    with refused(model, InputError, "X"):
        model.predict(made(X.shape))


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_moments_in_a_data_frame(zone):
    pandas = pytest.importorskip("pandas")
    moments = pandas.date_range("2024-01-01", periods=4, tz=zone)
    for frame in ({"a": moments}, {"a": moments, "b": 1.0}, {"a": moments - moments[0]}):
        with pytest.raises(InputError, match="not supported in X"):
            classifier_in_order().fit(pandas.DataFrame(frame), [0, 1, 0, 1])


def test_no_classes_at_all():
    model = classifier_in_order()
    with refused(model, InputError, "classes is empty"):
        model.partial_fit(np.eye(2), [0, 1], classes=[])


@pytest.mark.parametrize(
    "wrong",
    [{"loss": []}, {"loss": {}}, {"quantile": 10**400}, {"n_features": np.array([1, 2])}],
    ids=["list", "dict", "too large", "array"],
)
def test_parameters_of_other_kinds(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        regressor_in_order(**wrong).fit(np.eye(2), [0.0, 1.0])


def test_a_rule_that_is_an_object_has_its_penalty():
    model = classifier_in_order(RULES["fobos"](0.1), cumulative=True)
    with pytest.raises(ConfigError, match="cumulative=True: the rule Fobos is given as an object"):
        model.fit(np.eye(2), [0, 1])


def test_targets_that_are_words():
    model = copy.deepcopy(REGRESSOR)
    X, y = examples(model)
    with refused(model, InputError, "y must be numeric", "float: 'high'"):
        model.fit(X, np.where(y > 0, "high", "low"))


# --- sparse matrices that are not what they say ---------------------------------------------


def broken_csr(indices, n_features: int = N_FEATURES) -> sparse.csr_matrix:
    """Two rows; what is wrong is put in afterwards, because SciPy checks when it builds."""
    X = sparse.csr_matrix(([1.0, 1.0, 1.0], [0, 1, 2], [0, 2, 3]), shape=(2, n_features))
    X.indices = np.array(indices, dtype=np.int32)
    return X


@pytest.mark.parametrize("n_features", [None, "grow"], ids=["fixed", "growing"])
@pytest.mark.parametrize("index", [N_FEATURES, 2**31 - 1, -1, -(2**31)], ids=str)
@every_method
@both_models
def test_column_indices_out_of_range(known, method, index, n_features):
    model = copy.deepcopy(known).set_params(n_features=n_features)
    expected = f"column index {index} in row 1; indices from 0 to {N_FEATURES - 1}"
    with refused(model, InputError, expected):
        call(model, method, broken_csr(indices=(0, 1, index)), [-1.0, 1.0])


@pytest.mark.parametrize(
    ("width", "index"),
    [(10, 10), (10, 25), (10, -1), (N_FEATURES + 5, -1), (N_FEATURES + 5, N_FEATURES + 5)],
    ids=["narrow-just beyond", "narrow-beyond", "narrow-negative", "wide-negative", "wide-beyond"],
)
@pytest.mark.parametrize("method", ["partial_fit", "predict"])
def test_column_indices_out_of_range_in_a_matrix_of_other_width(method, width, index):
    """An index beyond a narrow matrix is wrong, even if the model has such a column."""
    model = copy.deepcopy(CLASSIFIER).set_params(n_features="grow")
    X = broken_csr(indices=(0, 1, index), n_features=width)
    with refused(model, InputError, f"column index {index} in row 1"):
        call(model, method, X, [-1.0, 1.0])


ROW_POINTERS = {
    "fall": (0, 3, 2, 3),
    "reach beyond the entries and fall": (0, 2, 10**6, 3),
    "are negative": (0, -1, 2, 3),
    "end beyond the entries": (0, 1, 2, 4),
    "begin late": (1, 1, 2, 3),
}


def errors_for_row_pointers() -> None:
    """Prints the kind of error for each case; run in a process of its own, which may crash."""
    for indptr, method in itertools.product(ROW_POINTERS.values(), METHODS):
        X = sparse.csr_matrix(([1.0] * 3, [0, 1, 2], [0, 1, 2, 3]), shape=(3, N_FEATURES))
        X.indptr = np.array(indptr, dtype=np.int32)
        try:
            call(copy.deepcopy(CLASSIFIER), method, X, [-1.0, 1.0, 1.0])
        except Exception as error:
            print(type(error).__name__, flush=True)
        else:
            print("none", flush=True)


def test_row_pointers_that_make_no_rows():
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "from tests.estimators import test_bad_input as t; t.errors_for_row_pointers()",
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    cases = list(itertools.product(ROW_POINTERS, METHODS))
    found = dict(zip(cases, run.stdout.split(), strict=False))
    assert found == dict.fromkeys(cases, "InputError")
    assert run.returncode == 0, run.stderr


# --- labels ---------------------------------------------------------------------------------


def test_the_first_call_needs_the_classes():
    model = classifier_in_order()
    with refused(model, InputError, "classes=None", "first call"):
        model.partial_fit(*examples(model))


@pytest.mark.parametrize("first", [False, True], ids=["later call", "first call"])
@pytest.mark.parametrize(
    ("n_classes", "unseen"),
    [(2, -9), (2, 0), (2, 9), (3, -9), (3, 9)],
    ids=["two-below", "two-between", "two-above", "three-below", "three-above"],
)
def test_labels_that_are_not_among_the_classes(n_classes, unseen, first):
    model = classifier_in_order()
    X, y = examples(model, n_classes)
    classes = np.unique(y)
    if not first:
        model.fit(X, y)
    y[6] = unseen
    words = (f"y contains the label {y[6:7].tolist()[0]} in row 6", str(classes.tolist()))
    with refused(model, InputError, *words):
        model.partial_fit(X, y, classes=classes)


@pytest.mark.parametrize("classes", [["ham", "spam"], [0, 1]], ids=["strings", "integers"])
def test_labels_of_another_kind_than_the_classes(classes):
    model = classifier_in_order()
    X, _ = examples(model)
    y = np.tile([0, 1] if classes[0] == "ham" else ["ham", "spam"], N_ROWS // 2)
    with refused(model, InputError, "y contains the label", "row 0", str(classes)):
        model.partial_fit(X, y, classes=classes)


def test_labels_that_are_missing():
    model = copy.deepcopy(CLASSIFIER)
    X, _ = examples(model)
    for missing in (None, nan):
        y = np.array(["ham", "spam"] * (N_ROWS // 2), dtype=object)
        y[3] = missing
        for labels in (y, y.tolist(), tuple(y)):
            with refused(model, InputError, "y contains", "is not a label"):
                model.fit(X, labels)


@pytest.mark.parametrize("classes", [[-1, 1, 2], [-1], [0, 1], ["a", "b"]], ids=str)
def test_classes_that_change(classes):
    model = copy.deepcopy(CLASSIFIER)
    with refused(model, InputError, f"classes={classes}", "-1", "1"):
        model.partial_fit(*examples(model), classes=classes)


@pytest.mark.parametrize("classes", [[-1, 1, nan], [-1, 1, None], [[-1, 1], [2, 3]]], ids=str)
def test_classes_that_make_no_sense(classes):
    model = classifier_in_order()
    with refused(model, InputError, "classes"):
        model.partial_fit(*examples(model), classes=classes)


def test_the_same_classes_may_be_given_again():
    model = copy.deepcopy(CLASSIFIER)
    model.partial_fit(*examples(model), classes=[1, -1])
    assert model.t_ == 2 * N_ROWS


def test_one_class_only():
    model = copy.deepcopy(CLASSIFIER)
    X, _ = examples(model)
    with refused(model, InputError, "1 class", "two"):
        model.fit(X, np.ones(N_ROWS))
    new = classifier_in_order()
    with refused(new, InputError, "1 class", "two"):
        new.partial_fit(X, np.ones(N_ROWS), classes=[1.0])


def test_targets_of_a_regression_are_no_labels():
    model = copy.deepcopy(CLASSIFIER)
    X, y = examples(REGRESSOR)
    with refused(model, InputError, "continuous"):
        model.fit(X, y)


# --- parameters -----------------------------------------------------------------------------


def owner(name: str, value: object, **more) -> dict[str, object]:
    """Settings with one wrong parameter, for a rule that has that parameter."""
    rules = {"beta": "ftrl", "truncate_every": "rounding", "threshold": "rounding"}
    return {"rule": rules.get(name, "frda")} | more | {name: value}


NOT_NUMBERS = (nan, "0.5", True, None)
LIMITS = {
    "l1": (">= 0", (-1, inf)),
    "l2": (">= 0", (-1, inf)),
    "q": (">= 1", (0.5, -inf)),
    "cap": ("> 0", (0, -1)),
    "eta0": ("> 0", (0, -1, inf)),
    "beta": (">= 0", (-1, inf)),
    "truncate_every": (">= 1", (0, -1, inf)),
    "threshold": ("> 0", (0, -1)),
}
NAMES = {
    "rule": ("or a", ("x", None, 7, [])),
    "basis": ("gradient, update, feature", ("x", 7)),
    "schedule": ("inv_sqrt, constant, inv_t", ("x", 7)),
    "n_features": ("None or 'grow'", (7, "x")),
    "passes": ("is expected, or 'auto'", (0, -1, 2.5, nan, "2", True, None, 1 << 63)),
}
FLAGS = ("cumulative", "fit_intercept", "shuffle")


def wrong_values() -> list:
    """(name, value, words that say what is accepted) for either estimator."""
    cases = []
    for name, (accepted, values) in LIMITS.items():
        not_numbers = [value for value in NOT_NUMBERS if value is not None]
        cases += [(name, value, f"a number {accepted}") for value in (*values, *not_numbers)]
    cases.append(("truncate_every", 1.5, "whole number"))
    for name, (accepted, values) in NAMES.items():
        cases += [(name, value, accepted) for value in values]
    return [pytest.param(*case, id=f"{case[0]}={case[1]!r}") for case in cases]


def assert_refused_everywhere(known, wrong: dict[str, object], *words: str):
    """By fit of a model that knows something, and by both methods of one that does not."""
    model = copy.deepcopy(known)
    X, y = examples(model)
    right = model.get_params()
    before, twin = learned(model), copy.deepcopy(model)
    with pytest.raises(ConfigError):
        model.set_params(**wrong).fit(X, y)
    assert learned(model) == before
    model.set_params(**right)
    assert go_on(model) == go_on(twin)

    new = type(known)(**wrong)
    with refused(new, ConfigError, *words):
        new.fit(X, y)
    more = {"classes": [-1, 1]} if is_classifier(new) else {}
    with refused(new, ConfigError, *words):
        new.partial_fit(X, y, **more)


@pytest.mark.parametrize(("name", "value", "accepted"), wrong_values())
@both_models
def test_parameters_out_of_range(known, name, value, accepted):
    assert_refused_everywhere(known, owner(name, value), f"{name}={value!r}", accepted)


@pytest.mark.parametrize("value", ["yes", None, 2], ids=repr)
@pytest.mark.parametrize("name", FLAGS)
@both_models
def test_switches_that_are_neither_on_nor_off(known, name, value):
    wrong = {"rule": "fobos", name: value}
    assert_refused_everywhere(known, wrong, f"{name}={value!r}", "True or False")


@pytest.mark.parametrize("value", ["x", 1.5, -1], ids=repr)
@both_models
def test_seeds_that_are_none(known, value):
    wrong = {"shuffle": True, "random_state": value}
    assert_refused_everywhere(known, wrong, f"random_state={value!r}")


@both_models
def test_parameters_that_change_while_learning_goes_on(known):
    model = copy.deepcopy(known)
    X, y = examples(model)
    before, l1 = learned(model), model.l1
    for wrong, word in [(0.25, "0.25"), (-1, "l1=-1")]:
        with pytest.raises(ConfigError, match=word):
            model.set_params(l1=wrong).partial_fit(X, y)
        assert learned(model) == before
    model.set_params(l1=l1).partial_fit(X, y)


def test_rule_objects_out_of_range():
    X, y = examples(CLASSIFIER)
    with pytest.raises(ConfigError, match=r"l1=-1.0: .* >= 0"):
        classifier_in_order(rule=RULES["fobos"](l1=-1.0)).fit(X, y)
    without = classifier_in_order(rule=RULES["fobos"](l1=0.01, l2=0.0)).fit(X, y)
    assert np.array_equal(without.coef_, classifier_in_order("fobos", l1=0.01).fit(X, y).coef_)


CLASSIFIER_ONLY = {
    "loss": ("logistic", ("squared", "x", None, 7)),
    "multiclass": ("auto, crammer_singer, softmax, ovr", ("x", None, True)),
}
REGRESSOR_ONLY = {
    "loss": ("squared, huber", ("hinge", "x", None, 7)),
    "epsilon": ("a number >= 0", (-1, inf, *NOT_NUMBERS)),
    "quantile": ("a number between 0 and 1", (1.5, 0, 1, -0.5, *NOT_NUMBERS)),
}


@pytest.mark.parametrize(
    ("known", "name", "value", "accepted"),
    [
        pytest.param(known, name, value, accepted, id=f"{name}={value!r}-{type(known).__name__}")
        for known, table in ((CLASSIFIER, CLASSIFIER_ONLY), (REGRESSOR, REGRESSOR_ONLY))
        for name, (accepted, values) in table.items()
        for value in values
    ],
)
def test_parameters_of_one_estimator_out_of_range(known, name, value, accepted):
    assert_refused_everywhere(known, {name: value}, f"{name}={value!r}", accepted)


# --- combinations without meaning -----------------------------------------------------------


ADAGRAD = ("adagrad-fobos", "adagrad-rda", "adagrad-ftprl")
WITH_BETA = (*ADAGRAD, "ftrl", "scale-free", "scale-free-ftrl")
BY_MARGIN = tuple(name for name in RULES if RULES[name].by_margin)
OWN_STEPS = (*WITH_BETA, "coin", "pegasos", "normalized-adagrad", *BY_MARGIN)
GAUSSIAN = ("cw", "scw1", "scw2", "arow")
NORMALIZED = ("normalized", "normalized-adagrad")
MIRRORS = ("eg", "eg-signed", "p-norm")
OF_MARGIN = tuple(n for n in BY_MARGIN if n not in GAUSSIAN)
UNPENALISED = ("ogd", "da", "coin", "rounding", *MIRRORS, *OF_MARGIN)
FEATURE_AWARE = ("fr-comid", "sgft", "hf-fobos", "frda", "stda", "ftpfrl", *ADAGRAD, *NORMALIZED)
RULE_NAMES = (*RULES, "sgft", "hf-fobos", "stda")
TRUNCATING = ("truncated-gradient", "rounding")
# parameter -> (a value that would be right, the rules that have the parameter)
HAVING = {
    "l1": (0.1, tuple(name for name in RULE_NAMES if name not in UNPENALISED)),
    "l2": (0.1, tuple(n for n in RULE_NAMES if n not in (*UNPENALISED, *GAUSSIAN, *NORMALIZED))),
    "q": (2, FEATURE_AWARE),
    "basis": ("update", FEATURE_AWARE),
    "cap": (10.0, FEATURE_AWARE),
    "beta": (1.0, (*WITH_BETA, "second-order-perceptron")),
    "aggressiveness": (1.0, ("pa1", "pa2", "scw1", "scw2", "arow")),
    "confidence": (1.0, ("cw", "scw1", "scw2")),
    "eta0": (0.1, tuple(name for name in RULE_NAMES if name not in BY_MARGIN)),
    "schedule": ("constant", tuple(name for name in RULE_NAMES if name not in OWN_STEPS)),
    "truncate_every": (5, TRUNCATING),
    "threshold": (0.1, TRUNCATING),
    "p": (3.0, ("p-norm",)),
    "radius": (2.0, ("ogd", "da", "eg", "eg-signed")),
    "projection": ("box", ("ogd", "da")),
    "cumulative": (True, ("fobos", "fr-comid", "sgft", "hf-fobos")),
}


@pytest.mark.parametrize(
    ("rule", "name", "value", "having"),
    [
        pytest.param(rule, name, value, having, id=f"{name}-{rule}")
        for name, (value, having) in HAVING.items()
        for rule in RULE_NAMES
        if rule not in having
    ],
)
@both_models
def test_parameters_that_a_rule_does_not_have(known, rule, name, value, having):
    """The message names a rule that does have it."""
    words = (f"{name}={value!r}", f"the rule {rule}", having[0])
    assert_refused_everywhere(known, {"rule": rule, name: value}, *words)


def describe(wrong: dict[str, object]) -> str:
    """Short words for a rule and the parameter beside it."""
    rule, (name, value) = wrong["rule"], list(wrong.items())[-1]
    kind = "class " if isinstance(rule, type) else "object "
    named = rule if isinstance(rule, str) else kind + getattr(rule, "__name__", type(rule).__name__)
    return f"{named} {name}={value}"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"rule": "truncated-gradient", "schedule": "inv_t"},
            ["schedule='inv_t'", "truncated-gradient", "constant"],
        ),
        (
            {"rule": "truncated-gradient", "schedule": "inv_sqrt"},
            ["schedule='inv_sqrt'", "truncated-gradient", "constant"],
        ),
        ({"rule": "sgft", "basis": "gradient"}, ["basis='gradient'", "'update'", "fr-comid"]),
        ({"rule": "hf-fobos", "basis": "feature"}, ["basis='feature'", "'update'", "fr-comid"]),
        ({"rule": RULES["fobos"](), "l1": 0.25}, ["l1=0.25", "Fobos", "object"]),
        ({"rule": RULES["frda"](), "q": 2}, ["q=2", "Frda", "object"]),
        ({"rule": RULES["ftrl"](), "eta0": 0.25}, ["eta0=0.25", "Ftrl", "object"]),
        ({"rule": RULES["ftrl"](), "schedule": "constant"}, ["schedule='constant'", "Ftrl"]),
        ({"rule": RULES["rda"], "q": 2}, ["q=2", "Rda"]),
        ({"rule": RULES["truncated-gradient"], "schedule": "inv_t"}, ["schedule='inv_t'"]),
    ],
    ids=lambda part: describe(part) if isinstance(part, dict) else "",
)
@both_models
def test_combinations_without_meaning(known, wrong, words):
    assert_refused_everywhere(known, wrong, *words)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "modified_huber", "perceptron"])
def test_softmax_is_logistic(loss):
    wrong = {"multiclass": "softmax", "loss": loss}
    words = ("multiclass='softmax'", f"loss={loss!r}", "'logistic'", "'ovr'")
    assert_refused_everywhere(CLASSIFIER, wrong, *words)


# --- divergence -----------------------------------------------------------------------------


def exploding(n_rows: int, n_entries: int, n_features: int = N_FEATURES) -> sparse.csr_array:
    """Rows of huge values in the first columns, after one that is harmless."""
    X = np.zeros((n_rows, n_features))
    X[0, :n_entries] = 0.5
    X[1:, :n_entries] = 1e45
    return sparse.csr_array(X)


DIVERGING = {
    "frda-squared": (regressor_in_order(rule="frda"), 1),
    "ogd-squared": (regressor_in_order(rule="ogd", schedule="constant", eta0=0.01), 1),
    "softmax": (classifier_in_order("frda"), 3),
    "ovr": (classifier_in_order("frda", multiclass="ovr", n_features="grow"), 3),
}
N_ENTRIES = {"fewer entries than columns": 1, "more entries than columns": N_FEATURES}


def diverging(name: str):
    """A fitted model, and labels for five rows."""
    model, n_outputs = DIVERGING[name]
    model = fitted(copy.deepcopy(model), n_outputs)
    return model, np.array([1.0, 0.0, 2.0, 1.0, 0.0])


@pytest.mark.parametrize("n_entries", N_ENTRIES.values(), ids=list(N_ENTRIES))
@both_methods
@pytest.mark.parametrize("name", list(DIVERGING))
def test_diverging_weights_are_not_kept(name, method, n_entries):
    model, y = diverging(name)
    t = model.t_ if method == "partial_fit" else 0
    with refused(model, DivergenceError, "diverged", "unchanged by this call") as caught:
        call(model, method, exploding(5, n_entries), y)
    message = str(caught.value)
    row = int(re.search(r"\(row (\d+) of this call\)", message)[1])
    assert 1 < row < 5
    assert f"at example {t + row + 1} " in message
    used, better = (float(number) for number in re.findall(r"eta0=([^ ,]+)", message))
    assert 0.0 < better < used


@pytest.mark.parametrize("name", list(DIVERGING))
def test_a_first_fit_that_diverges_leaves_the_model_unfitted(name):
    model, y = diverging(name)
    new = type(model)(**model.get_params())
    with refused(new, DivergenceError):
        new.fit(exploding(5, 3), y)
    more = {"classes": [0, 1, 2]} if is_classifier(new) else {}
    with refused(new, DivergenceError):
        new.partial_fit(exploding(5, 3), y, **more)


def test_a_divergence_right_after_the_start():
    """A model that has been set up, but knows nothing yet."""
    X, y = examples(REGRESSOR)
    model = regressor_in_order(rule="frda").partial_fit(X, y, sample_weight=0.0)
    with refused(model, DivergenceError):
        model.partial_fit(exploding(5, 3), np.ones(5))


@pytest.mark.parametrize("name", ["frda-squared", "ovr"])
def test_new_columns_of_a_call_that_diverges_are_not_kept(name):
    model, y = diverging(name)
    model.set_params(n_features="grow")
    with refused(model, DivergenceError):
        model.partial_fit(exploding(5, N_FEATURES + 9, N_FEATURES + 9), y)
    assert model.sparse_coef_.shape[1] == model.n_features_in_ == N_FEATURES


def test_the_message_names_the_step_of_a_rule_with_steps_of_its_own():
    model = regressor_in_order(rule="adagrad-fobos", eta0=1e30)
    X = np.full((3, 50), 1e45)
    with refused(model, DivergenceError, "eta0=1e+30", "eta0=1e+29"):
        model.fit(X, np.ones(3))


def test_the_step_that_the_message_names_helps():
    model = regressor_in_order(rule="ogd", schedule="constant", eta0=1.0, passes=20)
    X = np.random.default_rng(0).normal(0.0, 3.0, (500, 20))
    y = X @ np.ones(20)
    for _ in range(6):
        try:
            model.fit(X, y)
            break
        except DivergenceError as error:
            model.set_params(eta0=float(re.search(r"Try eta0=([^ ,]+)", str(error))[1]))
    assert model.eta0 < 1.0
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("rule", ["frda", "adagrad-fobos", "ftrl", "scale-free", "scale-free-ftrl"])
def test_weights_are_finite_or_the_call_fails(rule):
    """One row is enough to overflow a sum of squared subgradients."""
    model = regressor_in_order(rule=rule, fit_intercept=False)
    try:
        model.fit([[1e50], [-1e50]], [1e50, 1e50])
    except RarefyError:
        assert not hasattr(model, "coef_")
    else:
        assert np.isfinite(model.coef_).all()


# --- numbers that are probably no classes ----------------------------------------------------


@pytest.mark.parametrize("kind", [float, int])
def test_classes_that_look_like_numbers_to_predict_are_doubted(kind):
    X = np.random.default_rng(0).random((300, 5))
    y = np.random.default_rng(1).integers(25, 346, 300).astype(kind)
    with pytest.warns(
        RarefyWarning, match="distinct numbers, such as .* use SparseOnlineRegressor"
    ):
        SparseOnlineClassifier(passes=1).fit(X, y)


@pytest.mark.parametrize("y", [np.arange(300) % 26, np.array(list("abc"))[np.arange(300) % 3]])
def test_classes_that_are_counted_are_not(y, recwarn):
    SparseOnlineClassifier(passes=1).fit(np.random.default_rng(0).random((300, 5)), y)
    assert not [found for found in recwarn if found.category is RarefyWarning]
