"""The refit: the minimum that other programs find, on the same features, whatever the units."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import rarefy
from rarefy import ConfigError, InputError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.arrays import Rows, as_rows
from rarefy.cli import main
from rarefy.engine.newton import minimum
from rarefy.engine.refit import EXACT, STRENGTHS, Examples, best_strength, effective_number
from rarefy.engine.refit_objective import Objective, Wanted, smooth
from rarefy.files.model_file import load_model
from rarefy.model.losses import Hinge, Huber, Logistic, ModifiedHuber, Squared, SquaredHinge
from rarefy.model.multiclass import CrammerSinger, OneVsRest, Softmax
from rarefy.streams.holdout import HeldOutShare
from rarefy.training.procedure import Stopped
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order

N_FEATURES = 12
L2 = 0.02


def rows_of(kind: str, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    problem = data.problem(kind, n=n, d=N_FEATURES, classes=3, gap=False)
    return problem.dense, problem.y


def in_own_units(X: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """X with the root mean square of every column's values that are not zero made 1; and that."""
    weights = np.ones(len(X)) if weights is None else weights
    sizes = np.sqrt((weights @ X**2) / (weights @ (X != 0.0)))
    return X / sizes, sizes


def logistic_regression(n: float) -> LogisticRegression:
    return LogisticRegression(C=1.0 / (L2 * n), tol=1e-10, max_iter=10_000, solver="newton-cg")


def online(kind: str, **parameters):
    if kind == "regression":
        return regressor_in_order(**{"l1": 0.5, **parameters})
    return classifier_in_order(**{"l1": 1.0, **parameters})


KINDS = ("binary", "multiclass", "regression")


# --- the minimum, next to those of scikit-learn ---------------------------------------------


def kept_of(model) -> np.ndarray:
    return np.flatnonzero(model.coef_.reshape(-1, N_FEATURES).any(axis=0))


def test_logistic_is_that_of_logistic_regression():
    X, y = rows_of("binary")
    model = online("binary", refit=True, refit_l2=L2).fit(X, y)
    kept = kept_of(model)
    assert 2 < len(kept) < N_FEATURES
    scaled, sizes = in_own_units(X[:, kept])
    peer = logistic_regression(len(y)).fit(scaled, y)
    np.testing.assert_allclose(model.coef_[:, kept], peer.coef_ / sizes, rtol=0, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=0, atol=1e-5)


def test_features_of_a_single_row_are_refitted_like_all_others():
    """Several rows have features, in units of their own, that no other row has."""
    X, y = rows_of("binary", n=60)
    rng = np.random.default_rng(1)
    lone = np.zeros((len(y), 40))
    lone[rng.integers(0, 20, 40), np.arange(40)] = rng.normal(size=40) * 10.0 ** (np.arange(40) % 3)
    X = np.hstack([X, lone])
    model = online("binary", l1=1e-6, refit=True, refit_l2=L2).fit(X, y)
    kept = np.flatnonzero(model.coef_[0])
    assert np.count_nonzero(kept >= N_FEATURES) == 40
    scaled, sizes = in_own_units(X[:, kept])
    peer = logistic_regression(len(y)).fit(scaled, y)
    np.testing.assert_allclose(model.coef_[0, kept] * sizes, peer.coef_[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_squared_hinge_is_that_of_linear_svc(loss):
    """LinearSVC can only penalise the intercept, and so has none here."""
    X, y = rows_of("binary")
    model = online("binary", loss=loss, fit_intercept=False, refit=True, refit_l2=L2).fit(X, y)
    kept = kept_of(model)
    assert len(kept) > 0
    scaled, sizes = in_own_units(X[:, kept])
    peer = LinearSVC(C=1.0 / (L2 * len(y)), fit_intercept=False, tol=1e-10, max_iter=100_000)
    peer.fit(scaled, y)
    np.testing.assert_allclose(model.coef_[:, kept], peer.coef_ / sizes, rtol=0, atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_is_ridge_regression(fit_intercept):
    X, y = rows_of("regression")
    y = y + 3.0
    model = online("regression", fit_intercept=fit_intercept, refit=True, refit_l2=L2).fit(X, y)
    kept = kept_of(model)
    assert 0 < len(kept) < N_FEATURES
    scaled, sizes = in_own_units(X[:, kept])
    peer = Ridge(alpha=L2 * len(y) / 2.0, fit_intercept=fit_intercept).fit(scaled, y)
    np.testing.assert_allclose(model.coef_[kept], peer.coef_ / sizes, rtol=0, atol=1e-5)
    np.testing.assert_allclose(model.intercept_[0], peer.intercept_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("multiclass", ["softmax", "crammer_singer"])
def test_softmax_is_multinomial_logistic_regression(multiclass):
    X, y = rows_of("multiclass")
    model = online("multiclass", l1=1e-4, multiclass=multiclass, refit=True, refit_l2=L2).fit(X, y)
    assert (model.coef_ != 0.0).all()
    scaled, sizes = in_own_units(X)
    peer = logistic_regression(len(y)).fit(scaled, y)
    np.testing.assert_allclose(model.coef_, peer.coef_ / sizes, rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        model.intercept_ - model.intercept_.mean(), peer.intercept_, rtol=0, atol=1e-5
    )


def test_one_vs_rest_is_a_problem_a_class_with_the_features_of_that_class():
    X, y = rows_of("multiclass")
    model = online("multiclass", multiclass="ovr", refit=True, refit_l2=L2).fit(X, y)
    supports = {tuple(np.flatnonzero(row)) for row in model.coef_}
    assert len(supports) > 1
    for label, weights, intercept in zip(
        model.classes_, model.coef_, model.intercept_, strict=True
    ):
        kept = np.flatnonzero(weights)
        scaled, sizes = in_own_units(X[:, kept])
        peer = logistic_regression(len(y)).fit(scaled, y == label)
        np.testing.assert_allclose(weights[kept], peer.coef_[0] / sizes, rtol=0, atol=1e-5)
        np.testing.assert_allclose(intercept, peer.intercept_[0], rtol=0, atol=1e-5)


OBJECTIVES = [
    ("binary", Logistic()),
    ("binary", SquaredHinge()),
    ("binary", ModifiedHuber()),
    ("regression", Squared()),
    ("regression", Huber(0.5)),
    ("multiclass", Softmax()),
    ("multiclass", OneVsRest(Logistic())),
    ("multiclass", OneVsRest(SquaredHinge())),
]


def wanted_of(kind: str, loss, *, fit_intercept: bool = True) -> Wanted:
    """A weight for each column; of several outputs, for every other column one more."""
    n_outputs = 3 if kind == "multiclass" else 1
    numbers = np.arange(0, N_FEATURES * n_outputs, min(2, n_outputs))
    columns, outputs = np.divmod(numbers, n_outputs)
    return Wanted(columns, outputs, n_outputs, fit_intercept, loss)


def shared_rows(X, y, importance=None) -> Rows:
    """Rows whose importances add up to 1."""
    importance = np.ones(len(y)) if importance is None else importance
    return as_rows(sparse.csr_array(X), y, importance / importance.sum())


def objective_of(kind: str, loss, **more) -> Objective:
    X, y = rows_of(kind)
    rows = shared_rows(X, y, data.importances(len(y)))
    return Objective(rows, wanted_of(kind, loss, **more), L2)


def found_by(objective: Objective) -> np.ndarray:
    return minimum(objective, objective.start(), EXACT)


@pytest.mark.parametrize(("kind", "loss"), OBJECTIVES, ids=str)
class TestObjective:
    def test_gradient_is_that_of_the_value(self, kind, loss):
        objective = objective_of(kind, loss)
        rng = np.random.default_rng(0)
        at = rng.normal(size=len(objective.start()))
        gradient = objective.at(at).gradient
        for direction in rng.normal(size=(5, len(at))):
            ahead, behind = (objective.at(at + step * direction).value for step in (1e-6, -1e-6))
            assert (ahead - behind) / 2e-6 == pytest.approx(gradient @ direction, rel=1e-5)

    def test_hessian_is_that_of_the_gradient(self, kind, loss):
        """Close to the origin, and where no loss is a straight line."""
        objective = objective_of(kind, Huber(50.0) if isinstance(loss, Huber) else loss)
        rng = np.random.default_rng(0)
        point = objective.at(1e-2 * rng.normal(size=len(objective.start())))
        for direction in rng.normal(size=(5, len(point.variables))):
            ahead, behind = (
                objective.at(point.variables + step * direction).gradient for step in (1e-6, -1e-6)
            )
            curved = objective.curved(point, direction)
            np.testing.assert_allclose((ahead - behind) / 2e-6, curved, rtol=1e-4, atol=1e-5)

    def test_diagonal_is_that_of_the_hessian(self, kind, loss):
        objective = objective_of(kind, loss)
        point = objective.at(np.random.default_rng(0).normal(size=len(objective.start())))
        units = np.eye(len(point.variables))
        diagonal = [unit @ objective.curved(point, unit) for unit in units]
        np.testing.assert_allclose(point.spread, 1.0 / np.array(diagonal), rtol=1e-9)

    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_gradient_is_zero_at_the_minimum(self, kind, loss, fit_intercept):
        objective = objective_of(kind, loss, fit_intercept=fit_intercept)
        found = found_by(objective)
        moves = objective.at(found).spread > 0.0
        assert moves.all() == fit_intercept
        start, gradient = (objective.at(v).gradient[moves] for v in (0.0 * found, found))
        assert np.abs(gradient).max() < 1e-6 * np.abs(start).max()


def test_losses_with_kinks_have_a_smooth_relative():
    assert smooth(Hinge()) == SquaredHinge()
    assert smooth(OneVsRest(Hinge())) == OneVsRest(SquaredHinge())
    assert isinstance(smooth(CrammerSinger(Hinge())), Softmax)
    for loss in (Logistic(), ModifiedHuber(), OneVsRest(Logistic()), Softmax(), Huber(0.3)):
        assert smooth(loss) is loss or smooth(loss) == loss


# --- which features, which rows, which units ------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_features_are_kept_and_the_loss_is_less(kind):
    X, y = rows_of(kind)
    before, after = online(kind).fit(X, y), online(kind, refit=True).fit(X, y)
    assert 0 < before.n_nonzero_ < before.coef_.size
    np.testing.assert_array_equal(after.coef_ != 0.0, before.coef_ != 0.0)
    assert after.score(X, y) > before.score(X, y)
    assert (after.t_, after.progressive_loss_) == (before.t_, before.progressive_loss_)


@pytest.mark.parametrize(("kind", "loss"), OBJECTIVES, ids=str)
def test_weights_of_rows_are_repetitions(kind, loss):
    X, y = rows_of(kind, n=80)
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    weighted, repeated = (
        found_by(Objective(rows, wanted_of(kind, loss), L2))
        for rows in (
            shared_rows(X, y, counts.astype(float)),
            shared_rows(np.repeat(X, counts, axis=0), np.repeat(y, counts)),
        )
    )
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-5)


def test_units_do_not_matter():
    """With a rule whose features do not depend on units either."""
    X, y = rows_of("binary")
    units = 10.0 ** np.random.default_rng(0).integers(-6, 6, N_FEATURES)
    model = online("binary", refit=True).fit(X, y)
    other = clone(model).fit(X * units, y)
    assert 0 < model.n_nonzero_ < N_FEATURES
    np.testing.assert_array_equal(model.coef_ != 0.0, other.coef_ != 0.0)
    np.testing.assert_allclose(other.coef_ * units, model.coef_, rtol=0, atol=1e-5)


def test_large_targets_are_reached():
    X, y = rows_of("regression")
    small, large = (
        found_by(Objective(shared_rows(X, factor * y), wanted_of("regression", Squared()), L2))
        for factor in (1.0, 1e30)
    )
    np.testing.assert_allclose(large / 1e30, small, rtol=0, atol=1e-6)


# --- the default of l2 ----------------------------------------------------------------------


def strength_for(noise: float, n: int = 400) -> float:
    """What is chosen for as many features as there are rows, of which two say something."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    y = X[:, 0] - X[:, 1] + noise * rng.normal(size=n)
    examples = Examples.in_own_units(sparse.csr_array(X), y, np.ones(n))
    return best_strength(examples, wanted_of("regression", Squared())).strength


def test_noise_is_met_by_a_stronger_penalty():
    assert strength_for(noise=0.01) < strength_for(noise=1.0) < strength_for(noise=30.0)


def test_the_default_does_not_depend_on_the_scale_of_importance():
    X, y = rows_of("binary")
    model = online("binary", refit=True)
    one, other = (clone(model).fit(X, y, sample_weight=np.full(len(y), w)) for w in (1.0, 8.0))
    np.testing.assert_array_equal(one.coef_ != 0.0, other.coef_ != 0.0)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=0, atol=1e-6)


def test_the_default_is_one_of_the_strengths_divided_by_the_number_of_examples():
    X, y = rows_of("binary")
    default = online("binary", refit=True).fit(X, y).coef_
    given = [online("binary", refit=True, refit_l2=s / len(y)).fit(X, y).coef_ for s in STRENGTHS]
    assert [np.allclose(default, coef, rtol=0, atol=1e-6) for coef in given].count(True) == 1


def test_bits_do_not_depend_on_the_threads_of_blas():
    """So many numbers it would sum in several threads."""
    X, importance = np.random.default_rng(0).random((2, 40_000))
    y = X + importance
    found = set()
    for n_threads in (1, 2, 4):
        with threadpool_limits(n_threads, "blas"):
            model = regressor_in_order(l1=0.0, refit=True).fit(X[:, None], y, importance)
            found.add((effective_number(importance), model.coef_[0], model.intercept_[0]))
    assert len(found) == 1


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_there_may_be_too_few_rows_to_hold_out(n_rows):
    X, y = np.eye(3)[:n_rows], np.arange(1.0, n_rows + 1.0)
    model = regressor_in_order(l1=0.0, refit=True).fit(X, y)
    assert np.isfinite(model.coef_).all()


# --- odd cases ------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_without_features_the_intercept_is_refitted():
    X, y = rows_of("binary")
    model = online("binary", l1=1e3, refit=True).fit(X, y)
    assert model.n_nonzero_ == 0
    share = np.mean(y == 1.0)
    assert model.intercept_ == pytest.approx([np.log(share / (1.0 - share))], abs=1e-5)


def test_without_features_and_intercept_all_scores_are_zero():
    X, y = rows_of("binary")
    model = online("binary", l1=1e3, fit_intercept=False, refit=True).fit(X, y)
    assert not model.decision_function(X).any()


def test_one_feature():
    X, y = rows_of("binary")
    columns = np.abs(X.T @ y).argmax()
    model = online("binary", l1=1e-4, refit=True, refit_l2=L2).fit(X[:, [columns]], y)
    scaled, sizes = in_own_units(X[:, [columns]])
    peer = logistic_regression(len(y)).fit(scaled, y)
    np.testing.assert_allclose(model.coef_, peer.coef_ / sizes, rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "modified_huber"])
def test_separable_data_have_finite_weights(loss):
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * 20)
    y = np.array([0, 1] * 20)
    model = classifier_in_order(loss=loss, l1=1e-3, refit=True).fit(X, y)
    assert model.score(X, y) == 1.0
    assert 0.5 < np.abs(model.coef_).max() < 10.0


def test_a_constant_target_is_met_by_the_intercept():
    X, _ = rows_of("regression")
    model = regressor_in_order(l1=1e3, refit=True).fit(X, np.full(len(X), 5.0))
    np.testing.assert_allclose(model.predict(X), 5.0, rtol=1e-6)


# --- what can be asked for ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [
        (SparseOnlineClassifier, "perceptron"),
        (SparseOnlineRegressor, "quantile"),
        (SparseOnlineRegressor, "epsilon_insensitive"),
    ],
)
def test_losses_without_a_smooth_relative_are_refused(estimator, loss):
    X, y = rows_of("binary")
    with pytest.raises(ConfigError, match="refit=True does not apply to loss"):
        estimator(loss=loss, refit=True).fit(X, y)


@pytest.mark.parametrize(
    "wrong", [{"refit": 1}, {"refit": True, "refit_l2": 0.0}, {"refit_l2": -1}, {"refit_l2": "1"}]
)
def test_nonsense_is_refused(wrong):
    X, y = rows_of("binary")
    with pytest.raises(ConfigError, match=list(wrong)[-1]):
        classifier_in_order(**wrong).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_it_cannot_go_on_learning(kind):
    X, y = rows_of(kind)
    model = online(kind, refit=True)
    assert not hasattr(model, "partial_fit")
    model.fit(X, y)
    before = model.coef_
    with pytest.raises(AttributeError) as error:
        model.partial_fit(X, y)
    assert "all data at once" in str(error.value.__cause__)
    model.set_params(refit=False)
    with pytest.raises(InputError, match="refitted"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)
    assert model.fit(X, y).partial_fit(X, y).t_ == 2 * len(y)


@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_back_from_a_file(kind, tmp_path):
    X, y = rows_of(kind)
    model = online(kind, refit=True, refit_l2=L2).fit(X, y)
    for copy in (pickle.loads(pickle.dumps(model)), saved_and_loaded(model, tmp_path / "a.model")):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        np.testing.assert_array_equal(copy.coef_, model.coef_)
        assert copy.get_params() == model.get_params()
        assert copy.t_ == model.t_
    assert load_model(tmp_path / "a.model").task.rule == online(kind).fit(X, y).learner_.rule
    again = saved_and_loaded(saved_and_loaded(model, tmp_path / "a.model"), tmp_path / "b.model")
    np.testing.assert_array_equal(again.coef_, model.coef_)


def saved_and_loaded(model, path):
    model.save(path)
    return rarefy.load(path)


# --- streams --------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path) -> dict[str, str]:
    found = {}
    for kind in KINDS:
        problem = data.problem(kind, n=300, d=N_FEATURES, classes=3, gap=False)
        found[kind] = str(tmp_path / f"{kind}.svm")
        with open(found[kind], "w") as file:
            file.write(data.svmlight_text(problem))
    return found


@pytest.mark.parametrize("store", ["array", "hashed", "table"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_is_refitted_as_a_matrix(kind, store, files):
    X, y = rows_of(kind)
    matrix = online(kind, refit=True, passes=2).fit(X, y)
    stream = online(kind, refit=True, passes=2).fit_stream(rarefy.read(files[kind]), store=store)
    reader = rarefy.read(files[kind])
    scores = "decision_function" if is_classifier(matrix) else "predict"
    np.testing.assert_allclose(
        getattr(stream, scores)(reader), getattr(matrix, scores)(X), rtol=0, atol=1e-5
    )
    assert stream.n_nonzero_ == matrix.n_nonzero_ < matrix.coef_.size
    assert stream.is_slim_


def test_names_of_features_are_kept(tmp_path):
    path = tmp_path / "sms.tsv"
    path.write_text("label\ttext\n" + "spam\twin a prize\nham\tlunch at noon\n" * 30)
    model = rarefy.train(path, text=["text"], l1=1e-3, refit=True)
    assert model.weights_["text=prize"] > 0.5
    model.save(tmp_path / "sms.model")
    assert "text=prize" in load_model(tmp_path / "sms.model").kept.names


def test_a_pipe_is_refused_before_anything_is_learned(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError, match="only once"):
        classifier_in_order(refit=True).fit_stream(rarefy.read(path))


def test_from_a_cache(files, tmp_path):
    pytest.importorskip("pyarrow")
    zipped = tmp_path / "rows.svm.gz"
    with open(files["binary"], "rb") as plain:
        zipped.write_bytes(gzip.compress(plain.read()))
    without, cached = (
        online("binary", refit=True).fit_stream(rarefy.read(zipped), store="array", **options)
        for options in ({}, {"cache": tmp_path / "rows.arrow"})
    )
    np.testing.assert_array_equal(cached.coef_, without.coef_)


# --- the command ----------------------------------------------------------------------------


def run(*arguments: str, code: int = 0, stdin: bytes | None = None) -> Result:
    """Run a command in this process; only a wanted end is accepted, and no traceback ever."""
    result = CliRunner().invoke(main, [*arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments} ended in a traceback") from result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch, files):
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRAIN = ("train", "binary.svm", "-o", "a.model", "--l1", "1")


def estimator_like_the_command(**parameters):
    return online("binary", refit=True, **parameters).fit_stream(rarefy.read("binary.svm"))


def predicted_by_the_command(path: str) -> np.ndarray:
    lines = run("predict", path, "binary.svm", "--scores").stdout.split()
    return np.array(lines, dtype=float)


def test_the_command_refits_as_the_estimator(folder):
    assert "Refitting" in run(*TRAIN, "--refit", "--refit-l2", str(L2)).stderr
    expected = estimator_like_the_command(refit_l2=L2)
    scores = expected.decision_function(rarefy.read("binary.svm"))
    np.testing.assert_array_equal(predicted_by_the_command("a.model"), scores)
    saved = load_model("a.model")
    assert (saved.parameters["refit"], saved.parameters["refit_l2"]) == (True, L2)
    assert "refit" in run("inspect", "a.model").stdout
    loaded = rarefy.load("a.model")
    assert loaded.refit
    assert loaded.weights_.keys() == expected.weights_.keys()


def test_a_refitted_model_is_not_gone_on_with(folder):
    run(*TRAIN, "--refit")
    message = run("train", "binary.svm", "--resume", "a.model", code=1).stderr
    assert "refitted" in message
    assert "--refit" in run("train", "--resume", "a.model", "--refit", code=2).stderr


def test_held_out_rows_are_predicted_by_the_refitted_model_and_not_refitted(folder):
    lines = Path("binary.svm").read_text().splitlines()
    run(*TRAIN, "--refit", "--holdout", "0.2", "--quiet")
    scores = predicted_by_the_command("a.model")
    held = HeldOutShare(0.2).chosen(0, len(lines))
    y = np.array([float(line.split()[0]) for line in lines])
    found = json.loads(run(*TRAIN, "--refit", "--holdout", "0.2", "--json").stdout.splitlines()[-1])
    assert found["holdout"]["accuracy"] == pytest.approx(
        np.mean((scores > 0) == (y > 0), where=held)
    )
    Path("learned.svm").write_text("".join(f"{lines[row]}\n" for row in np.flatnonzero(~held)))
    learned = online("binary", refit=True).fit_stream(rarefy.read("learned.svm"))
    np.testing.assert_allclose(
        learned.decision_function(rarefy.read("binary.svm")), scores, rtol=0, atol=1e-9
    )


def test_an_interrupted_refit_is_gone_on_with(folder, monkeypatch):
    def interrupted(*arguments):
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("rarefy.training.procedure.refit_stream", interrupted)
        assert "To continue" in run(*TRAIN, "--refit", code=130).stderr
    assert load_model("a.model").state is not None
    run("train", "--resume", "a.model")
    assert load_model("a.model").state is None
    expected = estimator_like_the_command()
    scores = expected.decision_function(rarefy.read("binary.svm"))
    np.testing.assert_array_equal(predicted_by_the_command("a.model"), scores)


def test_standard_input_needs_a_cache(folder):
    pytest.importorskip("pyarrow")
    text = Path("binary.svm").read_bytes()
    command = ("train", "-", "-o", "a.model", "--l1", "1", "--refit")
    assert "only once" in run(*command, code=1, stdin=text).stderr
    assert not Path("a.model").exists()
    run(*command, "--cache", "rows.arrow", stdin=text)
    piped = predicted_by_the_command("a.model")
    run(*TRAIN, "--refit")
    np.testing.assert_array_equal(predicted_by_the_command("a.model"), piped)


def test_options_without_meaning(folder):
    assert "needs --refit" in run(*TRAIN, "--refit-l2", "1", code=2).stderr
    assert "refit_l2" in run(*TRAIN, "--refit", "--refit-l2", "0", code=1).stderr
    assert "perceptron" in run(*TRAIN, "--refit", "--loss", "perceptron", code=1).stderr
