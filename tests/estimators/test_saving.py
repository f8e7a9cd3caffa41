"""Estimators in files: `save`, `rarefy.load`, and what the command line makes of them."""

from __future__ import annotations

import math
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

import rarefy
from rarefy import InputError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.cli import main
from rarefy.files.model_file import load_model
from rarefy.rules import FrComid, Frda, Ogd
from rarefy.rules.penalty_norm import Intensity, SumNorm
from rarefy.rules.proximal import soft
from rarefy.rules.rule_protocol import own_rules
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order
from tests.selecting import slow_but

BINARY = data.problem("binary", n=120, d=12)
FOUR = data.problem("multiclass", n=120, d=12)
NUMBERS = data.problem("regression", n=120, d=12)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved_and_loaded(estimator, **options):
    estimator.save("some.model", **options)
    return rarefy.load("some.model")


def assert_same(loaded, estimator, X) -> None:
    """In every bit, types included."""
    assert type(loaded) is type(estimator)
    np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))
    assert (loaded.sparse_coef_ != estimator.sparse_coef_).nnz == 0
    assert loaded.sparse_coef_.shape == estimator.sparse_coef_.shape
    assert loaded.intercept_.tobytes() == estimator.intercept_.tobytes()
    assert loaded.n_features_in_ == estimator.n_features_in_
    assert (loaded.t_, loaded.progressive_loss_) == (estimator.t_, estimator.progressive_loss_)
    if hasattr(estimator, "classes_"):
        assert loaded.classes_.dtype.str == estimator.classes_.dtype.str
        assert loaded.predict(X).dtype == estimator.predict(X).dtype
        assert loaded.classes_.tolist() == estimator.classes_.tolist()
        assert list(map(type, loaded.classes_.tolist())) == list(
            map(type, estimator.classes_.tolist())
        )
        found, expected = loaded.decision_function(X), estimator.decision_function(X)
        assert found.tobytes() == expected.tobytes()


def assert_goes_on_the_same(loaded, estimator, X, y) -> None:
    for model in (loaded, estimator):
        model.partial_fit(X, y)
    assert loaded.learner_.state.tobytes() == estimator.learner_.state.tobytes()
    assert_same(loaded, estimator, X)


# --- round trips ----------------------------------------------------------------------------

LABELS = {
    "int": np.array([-1, 1]),
    "int8": np.array([3, 7], np.int8),
    "uint": np.array([0, 2**64 - 1], np.uint64),
    "uint8": np.array([3, 7], np.uint8),
    "int32": np.array([-3, 7], np.int32),
    "other byte order": np.array([-3, 7], ">i4"),
    "float16": np.array([-1.0, 2.0], np.float16),
    "float32": np.array([-1.0, 2.0], np.float32),
    "wide": np.array(["ham", "spam"], "U10"),
    "wide, other byte order": np.array(["ham", "spam"], ">U10"),
    "bool": np.array([False, True]),
    "str": np.array(["ham", "späm"]),
    "numbers as text": np.array(["1", "02"]),
    "float": np.array([1.0, 2.0]),
    "object": np.array(["ham", "a\tb\n"], dtype=object),
    "an empty one": np.array(["", "x"]),
    "odd texts": np.array(["True", "None"], dtype=object),
    "large": np.array([-(2**62), 2**53 + 1]),
    "three": np.array([10, 20, 30]),
    "three words": np.array(["a", "b", "ccc"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels(kind):
    labels = LABELS[kind]
    problem = BINARY if len(labels) == 2 else FOUR
    numbers = (problem.y > 0).astype(int) if len(labels) == 2 else problem.y.astype(int) % 3
    y = labels[numbers]
    estimator = classifier_in_order(l1=0.01).fit(problem.csr, y)
    loaded = saved_and_loaded(estimator)
    assert_same(loaded, estimator, problem.csr)
    np.testing.assert_array_equal(
        loaded.predict_proba(problem.csr), estimator.predict_proba(problem.csr)
    )
    assert_goes_on_the_same(loaded, estimator, problem.csr, y)
    slim = saved_and_loaded(estimator, slim=True)
    assert slim.predict(problem.csr).tolist() == estimator.predict(problem.csr).tolist()


@pytest.mark.parametrize("labels", [[1, "a"], [None, "a"], [1, 2], [(1,), (2,)]], ids=str)
def test_labels_that_have_no_place_in_a_file(labels):
    y = np.empty(len(BINARY.y), object)
    y[:] = [labels[int(label > 0)] for label in BINARY.y]
    assert_no_labels(y)


@pytest.mark.parametrize("kind", ["M8[D]", "m8[s]", "S2", "c16"])
def test_labels_of_types_that_no_file_can_hold(kind):
    assert_no_labels((BINARY.y > 0).astype(int).astype(kind))


def assert_no_labels(y) -> None:
    """They are refused before anything is learned, and not only when they are saved."""
    model = classifier_in_order()
    with pytest.raises(InputError):
        model.fit(BINARY.csr, y)
    with pytest.raises(InputError):
        model.partial_fit(BINARY.csr, y, classes=y)
    model.fit(BINARY.csr, BINARY.y)
    with pytest.raises(InputError):
        model.partial_fit(BINARY.csr, y)


def test_text_labels_far_wider_than_they_need_to_be():
    """As wide as the longest, as a file could otherwise ask for any amount of memory."""
    y = np.array(["ham", "spam"], "U1000")[(BINARY.y > 0).astype(int)]
    loaded = saved_and_loaded(classifier_in_order().fit(BINARY.csr, y))
    assert loaded.classes_.dtype == np.dtype("U4")


LEARNED_WITH = {
    "rule with norms": {"rule": "frda", "l1": 0.01},
    "aware": {"rule": "fobos", "importance": "aware"},
    "refitted": {"refit": True, "refit_l2": 0.1},
    "found": {"l1": "auto"},
    "other defaults": {"rule": "truncated-gradient", "fit_intercept": False},
}


@pytest.mark.parametrize("parameters", LEARNED_WITH.values(), ids=LEARNED_WITH)
@pytest.mark.parametrize("store", ["table", "hashed", None])
def test_saved_again_it_is_the_same_file(parameters, store):
    estimator = classifier_in_order(**parameters)
    if store is None:
        estimator.fit(BINARY.csr, BINARY.y)
    else:
        Path("rows.svm").write_text(data.svmlight_text(BINARY))
        estimator.fit_stream(
            rarefy.read("rows.svm"), store=store, bits=10 if store == "hashed" else None
        )
    for slim in (True, False):
        estimator.save("first.model", slim=slim)
        rarefy.load("first.model").save("second.model", slim=slim)
        assert Path("second.model").read_bytes() == Path("first.model").read_bytes()


@pytest.mark.parametrize("options", [[], ["--slim"], ["--refit"], ["--holdout", "0.2"]], ids=str)
def test_what_a_command_wrote_is_the_same_when_saved_again(options):
    Path("rows.svm").write_text(data.svmlight_text(BINARY))
    arguments = ["train", "rows.svm", "-o", "first.model", "--rule", "frda", *options]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    loaded = rarefy.load("first.model")
    loaded.save("second.model", slim=loaded.is_slim_)
    assert Path("second.model").read_bytes() == Path("first.model").read_bytes()
    loaded.fit(BINARY.csr, BINARY.y).save("third.model")
    assert load_model("third.model").run is None


@pytest.mark.parametrize(
    "labels",
    [["1", "1.0"], ["5", "5e0"], ["01", "1"], [2**53, 2**53 + 1], [-(2**62), 1 - 2**62]],
    ids=str,
)
def test_labels_that_a_file_of_rows_cannot_tell_apart(labels):
    """A model file can; a command that would have to read them says so."""
    y = np.array(labels)[(BINARY.y > 0).astype(int)]
    estimator = classifier_in_order().fit(BINARY.csr, y)
    loaded = saved_and_loaded(estimator)
    assert_same(loaded, estimator, BINARY.csr)
    assert_goes_on_the_same(loaded, estimator, BINARY.csr, y)
    Path("rows.svm").write_text(f"{labels[0]} 1:1\n{labels[1]} 2:1\n")
    result = CliRunner().invoke(main, ["evaluate", "some.model", "rows.svm"])
    assert result.exit_code == 1
    assert re.search(r"(are the same|is too large)\. Use words, such as class", result.output)


def test_a_label_that_cannot_be_written():
    y = np.array(["ham", "\ud800"])[(BINARY.y > 0).astype(int)]
    with pytest.raises(InputError, match=r"y contains '.ud800', which no file can hold as text"):
        classifier_in_order().fit(BINARY.csr, y)
    with pytest.raises(InputError, match="classes contains"):
        classifier_in_order().partial_fit(BINARY.csr, y, classes=["ham", "\ud800"])


# --- what was learned with is what is used and saved --------------------------------------------


@pytest.mark.parametrize(
    ("problem", "first", "then"),
    [
        (BINARY, {"loss": "logistic"}, {"loss": "modified_huber"}),
        (BINARY, {"loss": "logistic"}, {"loss": "hinge"}),
        (BINARY, {"rule": "frda", "l1": 1e-3}, {"rule": "ftrl", "l1": 1.0}),
        (BINARY, {}, {"fit_intercept": False}),
        (BINARY, {"refit": True}, {"refit": False}),
        (BINARY, {"target_features": 5}, {"target_features": 7}),
        (FOUR, {"multiclass": "softmax"}, {"multiclass": "ovr"}),
        (FOUR, {"loss": "hinge"}, {"loss": "logistic"}),
        (NUMBERS, {"loss": "huber", "epsilon": 0.5}, {"epsilon": 0.1}),
        (NUMBERS, {"loss": "quantile", "quantile": 0.9}, {"quantile": 0.5}),
        (NUMBERS, {"loss": "squared"}, {"loss": "huber"}),
    ],
)
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_parameters_that_are_changed_afterwards(problem, first, then, call):
    cls = SparseOnlineRegressor if problem is NUMBERS else SparseOnlineClassifier
    if call == "partial_fit" and "refit" in first:
        pytest.skip("there is no partial_fit with a refit")
    learned, changed = cls(**first), cls(**first)
    for model in (learned, changed):
        more = {} if call == "fit" or cls is SparseOnlineRegressor else {"classes": set_of(problem)}
        getattr(model, call)(problem.csr, problem.y, **more)
    changed.set_params(**then)
    loaded = saved_and_loaded(changed)
    for model in (changed, loaded):
        assert model.predict(problem.csr).tolist() == learned.predict(problem.csr).tolist()
        assert hasattr(model, "predict_proba") == hasattr(learned, "predict_proba")
        if hasattr(learned, "predict_proba"):
            found, expected = model.predict_proba(problem.csr), learned.predict_proba(problem.csr)
            assert found.tobytes() == expected.tobytes()
    for name in {**first, **then}.keys() - {"target_features"}:
        assert loaded.get_params()[name] == learned.get_params()[name]


def set_of(problem):
    return np.unique(problem.y)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": "quantile", "quantile": 0.8},
        {"loss": "epsilon_insensitive", "epsilon": 0.3},
        {"loss": "huber", "epsilon": 0.0, "rule": "ftrl"},
        {"loss": "squared", "rule": "truncated-gradient", "eta0": 0.01, "threshold": math.inf},
        {"fit_intercept": False, "l1": 0.0},
        {"l1": np.float64(0.01), "passes": np.int64(2), "fit_intercept": np.bool_(True)},
        {"shuffle": True, "random_state": 7},
        {"shuffle": True, "random_state": np.int64(7)},
        {"shuffle": True, "random_state": np.random.RandomState(3)},
        {"rule": Ogd()},
        {"rule": Ogd},
        {"rule": FrComid(0.01, 0.002, Intensity(SumNorm()))},
        {"rule": FrComid(np.float64(0.01))},
    ],
    ids=lambda parameters: re.sub(r" at 0x\w+", "", str(parameters)),
)
def test_regressors(parameters):
    estimator = regressor_in_order(**parameters).fit(NUMBERS.csr, NUMBERS.y)
    loaded = saved_and_loaded(estimator)
    assert_same(loaded, estimator, NUMBERS.csr)
    assert loaded.learner_.loss == estimator.learner_.loss
    found, expected = loaded.get_params(), estimator.get_params()
    if isinstance(expected["random_state"], np.random.RandomState):
        expected["random_state"] = None
    assert found == expected
    assert_goes_on_the_same(loaded, estimator, NUMBERS.csr, NUMBERS.y)


SAVED_BY_DEFAULT = ("fobos", "frda", "ftpfrl", "scale-free", "arow", "eg", "sgft")


@pytest.mark.parametrize("rule", slow_but([*rarefy.rules.RULES, "sgft"], *SAVED_BY_DEFAULT))
@pytest.mark.parametrize("n_classes", slow_but([2, 4], 2))
def test_rules(rule, n_classes):
    problem = {2: BINARY, 4: FOUR}[n_classes]
    estimator = classifier_in_order(rule).fit(problem.csr, problem.y)
    assert_goes_on_the_same(saved_and_loaded(estimator), estimator, problem.csr, problem.y)


@pytest.mark.parametrize(
    "parameters",
    slow_but(
        [{"loss": "hinge"}, {"loss": "squared_hinge"}, {"multiclass": "crammer_singer"},
         {"loss": "modified_huber", "multiclass": "ovr"}, {"rule": "fobos", "cumulative": True}],
        {"loss": "squared_hinge"}, {"multiclass": "crammer_singer"},
    ),
    ids=str,
)  # fmt: skip
def test_classifiers(parameters):
    estimator = classifier_in_order(**parameters).fit(FOUR.csr, FOUR.y)
    loaded = saved_and_loaded(estimator)
    assert loaded.get_params() == estimator.get_params()
    assert_goes_on_the_same(loaded, estimator, FOUR.csr, FOUR.y)


def test_learning_and_saving_in_turns_is_learning():
    whole = classifier_in_order(rule="fobos", l2=0.001, n_features="grow")
    parts = classifier_in_order(rule="fobos", l2=0.001, n_features="grow")
    classes = np.unique(BINARY.y)
    for n, rows in enumerate(np.array_split(np.arange(120), 5)):
        X = BINARY.csr[rows, : 4 + 2 * n]
        whole.partial_fit(X, BINARY.y[rows], classes)
        parts.partial_fit(X, BINARY.y[rows], classes)
        parts = saved_and_loaded(parts)
        assert parts.n_features_in_ == 4 + 2 * n
    assert_same(parts, whole, BINARY.csr)
    assert (saved_and_loaded(parts).decision_function(BINARY.csr[:, :3])
            == whole.decision_function(BINARY.csr[:, :3])).all()  # fmt: skip


def test_a_classifier_that_learned_next_to_nothing():
    estimator = classifier_in_order(l1=1000.0).fit(BINARY.csr, BINARY.y)
    assert estimator.n_nonzero_ == 0
    for slim in (False, True):
        loaded = saved_and_loaded(estimator, slim=slim)
        assert_same(loaded, estimator, BINARY.csr)


# --- slim -----------------------------------------------------------------------------------


def test_slim_files_predict_and_do_not_learn():
    estimator = classifier_in_order(rule="fobos", l1=0.01).fit(FOUR.csr, FOUR.y)
    slim = saved_and_loaded(estimator, slim=True)
    n_bytes = Path("some.model").stat().st_size
    np.testing.assert_allclose(
        slim.decision_function(FOUR.csr), estimator.decision_function(FOUR.csr), rtol=1e-12
    )
    assert slim.n_features_in_ == 12
    with pytest.raises(InputError, match="slim"):
        slim.partial_fit(FOUR.csr, FOUR.y)
    with pytest.raises(InputError, match="slim=True"):
        slim.save("other.model")
    slim.save("other.model", slim=True)
    assert rarefy.load("other.model").predict(FOUR.csr).tolist() == slim.predict(FOUR.csr).tolist()
    estimator.save("some.model")
    assert n_bytes < Path("some.model").stat().st_size
    slim.fit(FOUR.csr, FOUR.y).partial_fit(FOUR.csr, FOUR.y).save("other.model")


def test_slim_files_keep_the_width_of_the_matrix():
    """The last columns have no weights."""
    X = BINARY.dense.copy()
    X[:, 5:] = 0.0
    estimator = classifier_in_order().fit(X, BINARY.y)
    slim = saved_and_loaded(estimator, slim=True)
    assert slim.predict(X).tolist() == estimator.predict(X).tolist()
    assert slim.coef_.shape == (1, 12)


# --- rules of a user ------------------------------------------------------------------------


@rarefy.rule("w")
class Rounded(NamedTuple):
    """With parameters of every kind."""

    l1: float = 0.01
    levels: tuple[float, ...] = (0.5, 2.0)
    mode: str = "all"
    flag: bool = True

    def weight(self, clock, state):
        return state[0]

    def step(self, clock, state, g, x):
        return (soft(state[0] - clock.eta * g * self.levels[0], self.l1 * clock.eta),)


UNKNOWN_HERE = """
import sys
import rarefy
try:
    estimator = rarefy.load(sys.argv[1])
    print(estimator.t_, estimator.rule)
    estimator.save(sys.argv[1] + "2", slim=True)
except rarefy.InputError as error:
    print("refused:", error)
"""


class TestOwnRules:
    @pytest.mark.parametrize(
        "rule", [Rounded(), Rounded(0.002, (0.25, 1.0), "some", False), Rounded], ids=str
    )
    def test_known_when_loaded(self, rule):
        estimator = classifier_in_order(rule).fit(BINARY.csr, BINARY.y)
        loaded = saved_and_loaded(estimator)
        assert loaded.rule == rule
        assert_goes_on_the_same(loaded, estimator, BINARY.csr, BINARY.y)

    @pytest.mark.parametrize("rule", slow_but([Rounded(), Rounded], Rounded()), ids=str)
    def test_unknown_when_loaded(self, rule):
        estimator = classifier_in_order(rule).fit(BINARY.csr, BINARY.y)
        for slim in (False, True):
            estimator.save("some.model", slim=slim)
            done = subprocess.run(
                [sys.executable, "-c", UNKNOWN_HERE, "some.model"],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            name = f"{Rounded.__module__}.Rounded"
            if slim:
                assert done.stdout == f"120 {name}\n"
                again = Path("some.model2").read_bytes()
                assert again == Path("some.model").read_bytes()
            else:
                assert re.match(rf"refused: .*{name}; import the module", done.stdout)

    def test_with_other_parameters_than_when_it_was_saved(self, monkeypatch):
        classifier_in_order(Rounded()).fit(BINARY.csr, BINARY.y).save("some.model")

        @rarefy.rule("w")
        class Other(NamedTuple):
            l1: float = 0.01

            def weight(self, clock, state):
                return state[0]

            def step(self, clock, state, g, x):
                return state

        monkeypatch.setitem(own_rules, f"{Rounded.__module__}.Rounded", Other)
        with pytest.raises(InputError, match=r"Rounded\(l1, levels, mode, flag\), but here"):
            rarefy.load("some.model")


# --- what a loaded estimator is -------------------------------------------------------------


def test_the_class_of_what_is_loaded():
    classifier_in_order().fit(BINARY.csr, BINARY.y).save("classes.model")
    regressor_in_order().fit(NUMBERS.csr, NUMBERS.y).save("numbers.model")
    assert isinstance(SparseOnlineClassifier.load("classes.model"), SparseOnlineClassifier)
    assert isinstance(SparseOnlineRegressor.load("numbers.model"), SparseOnlineRegressor)
    with pytest.raises(InputError, match="holds a SparseOnlineRegressor"):
        SparseOnlineClassifier.load("numbers.model")
    assert is_classifier(rarefy.load("classes.model"))
    assert is_regressor(rarefy.load("numbers.model"))
    assert rarefy.load("numbers.model").__sklearn_tags__().input_tags.sparse


def test_cloned_and_pickled():
    estimator = classifier_in_order(rule=Frda(0.002), passes=2).fit(BINARY.csr, BINARY.y)
    loaded = saved_and_loaded(estimator)
    other = clone(loaded)
    with pytest.raises(NotFittedError):
        other.predict(BINARY.csr)
    assert_same(other.fit(BINARY.csr, BINARY.y), estimator, BINARY.csr)
    again = pickle.loads(pickle.dumps(loaded))
    assert_goes_on_the_same(again, estimator, BINARY.csr, BINARY.y)


def test_names_of_columns():
    pandas = pytest.importorskip("pandas")
    names = [f"column {n}" for n in range(12)]
    frame = pandas.DataFrame(BINARY.dense, columns=names)
    estimator = classifier_in_order().fit(frame, BINARY.y)
    loaded = saved_and_loaded(estimator)
    assert loaded.feature_names_in_.tolist() == names
    assert_same(loaded, estimator, frame)
    with pytest.raises(InputError, match="feature names"):
        loaded.predict(frame[names[::-1]])


def test_what_was_never_fitted_cannot_be_saved():
    with pytest.raises(NotFittedError):
        classifier_in_order().save("some.model")


def test_a_path_that_is_none():
    estimator = classifier_in_order().fit(BINARY.csr, BINARY.y)
    with pytest.raises(InputError, match="there is no folder"):
        estimator.save("missing/some.model")
    with pytest.raises(InputError, match="No such file"):
        rarefy.load("some.model")
    Path("text").write_text("1 1:2\n")
    with pytest.raises(InputError, match="is not a rarefy model"):
        rarefy.load("text")


# --- the command line, and back -------------------------------------------------------------


def command(*arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


MAIL = """kind,site,ad,message,price
spam,s1,a1,buy now,1.5
ham,s2,a1,see you,-2
spam,s1,a2,buy this,0
ham,s2,7,you and me,
ham,s1,7,see me,3
spam,s2,a2,now or never,1e2
"""
MAIL_ROWS = [
    {"site": "s1", "ad": "a1", "message": "buy now", "price": 1.5},
    {"site": "s2", "ad": "a1", "message": "see you", "price": -2},
    {"site": "s1", "ad": "a2", "message": "buy this", "price": 0},
    {"site": "s2", "ad": "7", "message": "you and me"},
    {"site": "s1", "ad": "7", "message": "see me", "price": 3},
    {"site": "s2", "ad": "a2", "message": "now or never", "price": 100.0},
]


class TestFromTheCommand:
    @pytest.fixture(params=[(), ("--slim",), ("-b", "12"), ("--capacity", "1000")], ids=str)
    def mail(self, request):
        """An estimator, and what the command predicts."""
        Path("mail.csv").write_text(MAIL)
        command("train", "mail.csv", "-o", "mail.model", "--label", "kind", "--text", "message",
                "--cross", "site,ad", "--passes", "3", *request.param)  # fmt: skip
        return rarefy.load("mail.model")

    def test_predicts_readers_and_rows(self, mail):
        expected = command("predict", "mail.model", "mail.csv").split()
        probabilities = command("predict", "mail.model", "mail.csv", "--probabilities").split()
        assert set(expected) == {"ham", "spam"}
        assert mail.predict(rarefy.read("mail.csv")).tolist() == expected
        assert mail.predict(MAIL_ROWS).tolist() == expected
        found = mail.predict_proba(MAIL_ROWS)
        np.testing.assert_allclose(found[:, 1], list(map(float, probabilities)), rtol=1e-12)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        with_labels = [{**row, "kind": "ham"} for row in MAIL_ROWS]
        assert mail.predict_proba(with_labels).tolist() == found.tolist()
        assert mail.predict([]).tolist() == []

    def test_predicts_data_frames(self, mail):
        pandas = pytest.importorskip("pandas")
        found = mail.predict_proba(pandas.DataFrame(MAIL_ROWS))
        assert found.tolist() == mail.predict_proba(MAIL_ROWS).tolist()

    def test_is_what_the_command_learned(self, mail):
        saved = load_model("mail.model")
        assert mail.classes_.tolist() == ["ham", "spam"]
        assert (mail.rule, mail.loss, mail.passes, mail.t_) == ("scale-free", "logistic", 3, 18)
        names = saved.kept.names or map(str, saved.kept.keys.tolist())
        assert mail.weights_ == dict(zip(names, saved.kept.weights.tolist(), strict=True))
        assert len(mail.weights_) > 1
        assert ("message=buy" in mail.weights_) == (saved.store["kind"] == "table")
        with pytest.raises(InputError, match=r"reader|expecting 4096 features"):
            mail.predict(np.zeros((2, 5)))

    def test_rows_that_are_none(self, mail):
        for row in ({"site": object()}, {"price": math.inf}, {"price": 1e60}, {"price": "many"}):
            with pytest.raises(InputError):
                mail.predict([row])

    def test_saved_again_it_is_the_same(self, mail):
        is_slim = load_model("mail.model").state is None
        mail.save("again.model", slim=is_slim)
        first, second = load_model("mail.model").kept, load_model("again.model").kept
        parts = ("weights", "counts", "names") if first.names else ("weights",)
        for before, after in zip(*([getattr(kept, part) for part in parts]
                                   for kept in (first, second)), strict=True):  # fmt: skip
            by_key = dict(zip(first.keys.tolist(), before, strict=True))
            assert dict(zip(second.keys.tolist(), after, strict=True)) == by_key
        assert command("predict", "again.model", "mail.csv", "--scores") == command(
            "predict", "mail.model", "mail.csv", "--scores"
        )


@pytest.mark.parametrize("store", ["array", "hashed"])
@pytest.mark.parametrize(
    "options",
    [("--l1", "0"), ("--rule", "fobos", "--l2", "0"), ("--rule", "ftrl", "--beta", "0"),
     ("--rule", "fobos", "--cumulative"), ("--rule", "frda", "--cap", "inf")],
    ids=str,
)  # fmt: skip
def test_what_the_command_began_goes_on_in_python(store, options):
    """And with matrices, whose columns are the indices."""
    Path("rows.svm").write_text(data.svmlight_text(BINARY))
    bits = ("-b", "6") if store == "hashed" else ("--store", "array")
    command("train", "rows.svm", "-o", "some.model", *bits, *options)
    loaded = rarefy.load("some.model")
    X = BINARY.dense if store == "array" else np.pad(BINARY.dense, [(0, 0), (0, 52)])
    loaded.partial_fit(X, BINARY.y)
    command("train", "rows.svm", "-o", "other.model", *bits, *options, "--passes", "2")
    other = rarefy.load("other.model")
    np.testing.assert_allclose(loaded.coef_, other.coef_, rtol=1e-12, atol=1e-14)
    assert loaded.t_ == other.t_ == 240


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("slim", [False, True])
def test_the_command_predicts_what_python_learned(kind, slim):
    problem = {"binary": BINARY, "multiclass": FOUR, "regression": NUMBERS}[kind]
    cls = SparseOnlineRegressor if kind == "regression" else SparseOnlineClassifier
    y = problem.y if kind == "regression" else problem.y.astype(int)
    estimator = cls(l1=0.01).fit(problem.csr, y)
    estimator.save("some.model", slim=slim)
    Path("rows.svm").write_text(data.svmlight_text(problem))
    lines = command("predict", "some.model", "rows.svm", "--scores").splitlines()
    scores = np.array([[float(number) for number in line.split("\t")] for line in lines])
    expected = estimator.predict(problem.csr) if kind == "regression" else (
        estimator.decision_function(problem.csr))  # fmt: skip
    np.testing.assert_allclose(scores.squeeze(), expected, rtol=1e-9, atol=1e-12)
    if kind != "regression":
        labels = command("predict", "some.model", "rows.svm").split()
        assert labels == list(map(str, estimator.predict(problem.csr).tolist()))


def test_the_command_goes_on_with_what_python_learned():
    estimator = classifier_in_order().fit(BINARY.csr, BINARY.y.astype(int))
    estimator.save("some.model")
    Path("rows.svm").write_text(data.svmlight_text(BINARY))
    command("train", "rows.svm", "--resume", "some.model", "-o", "more.model")
    estimator.partial_fit(BINARY.csr, BINARY.y.astype(int))
    np.testing.assert_allclose(rarefy.load("more.model").coef_, estimator.coef_, rtol=1e-12)


@pytest.mark.parametrize("store", ["table", "array", "hashed"])
def test_from_a_reader_to_a_file_and_back(store):
    Path("rows.svm").write_text(data.svmlight_text(FOUR))
    reader = rarefy.read("rows.svm")
    estimator = classifier_in_order(rule="fobos", passes=2).fit_stream(reader, store=store)
    loaded = saved_and_loaded(estimator)
    assert loaded.classes_.tolist() == estimator.classes_.tolist() == [0, 1, 2, 3]
    assert loaded.decision_function(reader).tolist() == estimator.decision_function(reader).tolist()
    assert list(loaded.weights_) == list(estimator.weights_)
    again = pickle.loads(pickle.dumps(loaded))
    assert again.predict(reader).tolist() == estimator.predict(reader).tolist()
    assert clone(loaded).fit_stream(reader, store=store).t_ == estimator.t_


def test_labels_of_a_stream_that_are_too_large():
    Path("rows.svm").write_text("".join(f"{2**53 + n % 2} {n % 3}:1\n" for n in range(30)))
    with pytest.raises(InputError, match="too large to be distinguished"):
        classifier_in_order().fit_stream(rarefy.read("rows.svm"))
    with pytest.raises(ValueError, match="9007199254740992 is too large"):
        rarefy.read("rows.svm", classes=[2**53, 2**53 + 1])
    with pytest.raises(ValueError, match="1e300 is too large"):
        rarefy.read("rows.svm", classes=["5", "1e300"])


def test_labels_of_a_stream_that_no_integer_holds():
    labels = ("0.5", "2")
    Path("rows.svm").write_text("".join(f"{labels[n % 2]} {n % 3}:1\n" for n in range(30)))
    reader = rarefy.read("rows.svm", classes=labels)
    estimator = classifier_in_order().fit_stream(reader)
    assert estimator.classes_.tolist() == list(map(float, labels))
    assert (
        saved_and_loaded(estimator).predict(reader).tolist() == estimator.predict(reader).tolist()
    )
