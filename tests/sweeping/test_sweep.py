"""`rarefy.sweep`: the grid, the folds, what is measured, and how to choose from it."""

from __future__ import annotations

import sys
import warnings
from math import inf, nan

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit, StratifiedKFold, cross_val_score

import rarefy
from rarefy import ConfigError, DivergenceError, InputError, RarefyWarning
from rarefy.estimators.sweep_grid import EstimatorAt
from rarefy.rules import Frda
from rarefy.sweeping.folds import fold_numbers
from rarefy.sweeping.grid import grid
from rarefy.sweeping.result import Extent, Sweep
from tests import data
from tests.in_order import classifier_in_order, regressor_in_order

BINARY = data.problem("binary")
FOLDS = np.random.default_rng(2).integers(3, size=len(BINARY.y))
L1S = [1e-2, 0.1, 1.0]


def test_sorted_labels():
    order = np.argsort(BINARY.y, kind="stable")
    how = {"l1": [0.3, 1.0], "folds": 2, "passes": 1}
    with pytest.warns(RarefyWarning, match=r"in long runs .* Use shuffle=True\.$"):
        rarefy.sweep(BINARY.dense[order], BINARY.y[order], **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RarefyWarning)
        rarefy.sweep(BINARY.dense[order], BINARY.y[order], shuffle=True, **how)


RULE = "ftrl"  # which learns rows as they are, and so the same beside others


def Classifier(rule=RULE, *arguments, **parameters):  # noqa: N802
    return classifier_in_order(rule, *arguments, **parameters)


def Regressor(rule=RULE, *arguments, **parameters):  # noqa: N802
    return regressor_in_order(rule, *arguments, **parameters)


def small_sweep(problem=BINARY, **more) -> Sweep:
    chosen = {"rule": RULE, "l1": L1S, "folds": FOLDS, "passes": 2, **more}
    return rarefy.sweep(problem.csr, problem.y, **chosen)


# --- against scikit-learn, and against models that learn by themselves ---------------------------


@pytest.mark.parametrize(
    ("kind", "estimator", "settings"),
    [
        ("binary", Classifier, {"rule": "frda", "loss": "logistic"}),
        ("multiclass", Classifier, {"rule": "frda", "loss": "logistic"}),
        ("regression", Regressor, {"rule": "ftprl", "loss": "squared", "eta0": 0.05}),
        pytest.param(
            *("binary", Classifier, {"rule": "adagrad-ftprl", "q": 2.0}), marks=pytest.mark.slow
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_cross_validation_is_that_of_scikit_learn(kind, estimator, settings):
    problem = data.problem(kind)
    result = small_sweep(problem, **settings)
    split = PredefinedSplit(FOLDS)
    assert result.score == ("r2" if kind == "regression" else "accuracy")
    for i, l1 in enumerate(L1S):
        model = estimator(**settings, l1=l1, passes=2)
        theirs = cross_val_score(model, problem.csr, problem.y, cv=split)
        np.testing.assert_allclose(result.by_fold[result.score][i], theirs, rtol=1e-9)
        assert result.table[result.score][i] == pytest.approx(theirs.mean(), rel=1e-9)
        error = theirs.std(ddof=1) / np.sqrt(3)
        assert result.table["standard_error"][i] == pytest.approx(error, rel=1e-6)
        for fold, (rows, _) in enumerate(split.split()):
            model.fit(problem.csr[rows], problem.y[rows])
            assert result.by_fold["weights"][i, fold] == model.n_nonzero_
            assert result.by_fold["zeros"][i, fold] == pytest.approx(model.sparsity_)
            assert result.by_fold["features"][i, fold] == len(np.unique(model.sparse_coef_.indices))


def test_root_mean_squared_error():
    problem = data.problem("regression")
    result = small_sweep(problem, rule="ftprl", loss="squared", eta0=0.05)
    model = Regressor("ftprl", "squared", eta0=0.05, l1=L1S[1], passes=2)
    score = "neg_root_mean_squared_error"
    cv = PredefinedSplit(FOLDS)
    theirs = cross_val_score(model, problem.csr, problem.y, cv=cv, scoring=score)
    np.testing.assert_allclose(result.by_fold["rmse"][1], -theirs, rtol=1e-9)
    losses = result.by_fold["rmse"] ** 2  # the squared loss
    np.testing.assert_allclose(result.by_fold["loss"], losses, rtol=1e-9)


def test_sample_weights():
    importance = data.importances(len(BINARY.y))
    result = small_sweep(sample_weight=importance)
    for fold in range(3):
        outside = np.equal(FOLDS, fold)
        inside = ~outside
        model = Classifier(l1=L1S[1], passes=2)
        model.fit(BINARY.csr[inside], BINARY.y[inside], sample_weight=importance[inside])
        own = BINARY.csr[outside], BINARY.y[outside], importance[outside]
        assert result.by_fold["accuracy"][1, fold] == pytest.approx(model.score(*own), rel=1e-12)


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_progressive_validation(shuffle):
    result = small_sweep(folds=None, passes=None, shuffle=shuffle, random_state=7)
    for i, l1 in enumerate(L1S):
        model = Classifier(l1=l1, shuffle=shuffle, random_state=7).fit(BINARY.csr, BINARY.y)
        assert result.table["loss"][i] == pytest.approx(model.progressive_loss_, rel=1e-12)
        assert result.table["weights"][i] == model.n_nonzero_
    with pytest.raises(ConfigError, match="needs folds"):
        result.one_standard_error()


def test_progressive_validation_of_the_last_pass():
    result = small_sweep(folds=None, passes=3)
    model = Classifier(l1=L1S[0]).partial_fit(BINARY.csr, BINARY.y, classes=[-1, 1])
    model.partial_fit(BINARY.csr, BINARY.y)
    before = model.learner_.progress.copy()
    loss, weight, right = model.partial_fit(BINARY.csr, BINARY.y).learner_.progress - before
    assert result.table["loss"][0] == pytest.approx(loss / weight)
    assert result.table["accuracy"][0] == pytest.approx(right / weight)


def test_several_seeds_are_part_of_the_grid():
    result = small_sweep(folds=None, passes=2, shuffle=True, random_state=[3, 4], l1=1.0)
    for point, weights in zip(result.points, result.table["weights"], strict=True):
        model = Classifier(l1=1.0, passes=2, shuffle=True, random_state=point["random_state"])
        assert weights == model.fit(BINARY.csr, BINARY.y).n_nonzero_
    assert result.table["random_state"] == [3, 4]


def test_the_chosen_model_is_fitted_to_all_rows():
    result = small_sweep(eta0=0.3, fit_intercept=False, shuffle=True, random_state=5)
    choice = result.frontier()[0]
    model = result.refit(BINARY.csr, BINARY.y, choice)
    expected = Classifier(
        **choice.parameters, passes=2, fit_intercept=False, shuffle=True, random_state=5
    )
    np.testing.assert_array_equal(model.coef_, expected.fit(BINARY.csr, BINARY.y).coef_)
    assert result.estimator().get_params()["l1"] == result.best().parameters["l1"]


# --- refit ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "estimator", "settings"),
    [
        ("binary", Classifier, {"loss": "logistic"}),
        ("binary", Classifier, {"loss": "hinge", "fit_intercept": False, "refit_l2": 0.02}),
        ("multiclass", Classifier, {"loss": "logistic", "multiclass": "ovr"}),
        ("regression", Regressor, {"rule": "ftprl", "loss": "squared", "eta0": 0.05}),
    ],
    ids=["logistic", "hinge", "several classes", "regression"],
)
def test_every_model_is_judged_after_its_refit(kind, estimator, settings):
    problem, importance = data.problem(kind), data.importances(len(BINARY.y))
    settings = {**settings, "refit": True}
    result = small_sweep(problem, **settings, sample_weight=importance)
    for i, l1 in enumerate(L1S):
        for fold in range(3):
            own, others = np.equal(FOLDS, fold), np.not_equal(FOLDS, fold)
            model = estimator(**settings, l1=l1, passes=2)
            model.fit(problem.csr[others], problem.y[others], sample_weight=importance[others])
            score = model.score(problem.csr[own], problem.y[own], sample_weight=importance[own])
            found = {name: values[i, fold] for name, values in result.by_fold.items()}
            assert found[result.score] == pytest.approx(score, abs=1e-8)
            assert found["weights"] == model.n_nonzero_
            assert found["zeros"] == pytest.approx(model.sparsity_)
            assert found["features"] == len(np.unique(model.sparse_coef_.indices))
            if settings["loss"] == "logistic" and kind == "binary":
                probability = model.predict_proba(problem.csr[own])
                losses = -np.log(
                    probability[np.arange(own.sum()), (problem.y[own] > 0).astype(int)]
                )
                loss = np.average(losses, weights=importance[own])
                assert found["loss"] == pytest.approx(loss, abs=1e-8)
    unfitted = small_sweep(problem, **{**settings, "refit": False, "refit_l2": None})
    assert result.table[result.score] != unfitted.table[result.score]


def test_the_chosen_model_is_refitted():
    result = small_sweep(refit=True, refit_l2=0.1)
    model = result.refit(BINARY.csr, BINARY.y)
    alone = Classifier(**result.best().parameters, passes=2, refit=True, refit_l2=0.1)
    np.testing.assert_array_equal(model.coef_, alone.fit(BINARY.csr, BINARY.y).coef_)


def test_a_refit_needs_folds():
    with pytest.raises(ConfigError, match="refit=True needs folds"):
        small_sweep(refit=True, folds=None)


def test_what_diverged_is_not_refitted():
    result = small_sweep(rule="fobos", loss="squared_hinge", eta0=[0.01, 1e40], refit=True)
    diverged = np.equal(result.table["eta0"], 1e40)
    np.testing.assert_array_equal(np.isnan(result.table["accuracy"]), diverged)


# --- what must not matter ------------------------------------------------------------------------


def test_threads_and_parts_do_not_matter():
    several = {"rule": "frda", "basis": ["gradient", "feature"], "l1": np.logspace(-4, -1, 9)}
    result = small_sweep(**several)
    one_block = 25 * 3 * 8 * 8
    for other in (
        small_sweep(**several, n_jobs=1),
        small_sweep(**several, n_jobs=3, memory=one_block),
        small_sweep(**several, memory=one_block * 5 // 2),
    ):
        for name, found in result.by_fold.items():
            np.testing.assert_array_equal(found, other.by_fold[name])
    with pytest.raises(ConfigError, match=f"memory={one_block - 1}: .* take {one_block}"):
        small_sweep(**several, memory=one_block - 1)


def test_progress():
    shares: list[float] = []
    small_sweep(progress=shares.append, l1=np.logspace(-4, -1, 9))
    assert shares[-1] == 1.0
    assert len(shares) == 2 * 4  # passes, and blocks of the 27 models
    assert shares == sorted(set(shares))


def test_progress_of_a_refit():
    shares: list[float] = []
    small_sweep(progress=shares.append, refit=True)
    assert shares[-1] == 1.0
    assert len(shares) == 2 * 2 + 9  # passes of two blocks, and nine models
    assert shares == sorted(set(shares))


def test_an_error_in_the_progress_function_ends_the_sweep():
    calls = []

    def interrupt(share):
        calls.append(share)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small_sweep(progress=interrupt, l1=np.logspace(-4, -1, 40), n_jobs=2)
    assert len(calls) == 1


# --- folds ---------------------------------------------------------------------------------------


def test_drawn_folds_are_stratified_and_seeded():
    y = np.array([0.0] * 40 + [1.0] * 20)
    folds = fold_numbers(5, y, is_regression=False, seed=3)
    assert [np.sum(folds[:40] == fold) for fold in range(5)] == [8] * 5
    assert [np.sum(folds[40:] == fold) for fold in range(5)] == [4] * 5
    split = StratifiedKFold(5, shuffle=True, random_state=3).split(y, y)
    for fold, (_, held_out) in enumerate(split):
        np.testing.assert_array_equal(np.flatnonzero(folds == fold), held_out)
    assert (fold_numbers(5, y, is_regression=False, seed=4) != folds).any()
    assert len(np.unique(fold_numbers(7, y, is_regression=True, seed=0))) == 7


# --- the grid ------------------------------------------------------------------------------------


def test_every_combination_is_a_point():
    points = grid(["frda", "rda"], "logistic", 5, {"l1": [0.1, 0.2], "q": [1, inf], "l2": 0.3})
    of_frda = [point for point in points if point["rule"] == "frda"]
    of_rda = [point for point in points if point["rule"] == "rda"]
    assert [(point["l1"], point["q"]) for point in of_frda] == [
        (0.1, 1), (0.1, inf), (0.2, 1), (0.2, inf)
    ]  # fmt: skip
    assert [point["l1"] for point in of_rda] == [0.1, 0.2]
    assert not any("q" in point for point in of_rda)
    assert all(point["l2"] == 0.3 for point in points)


def test_parameters_are_left_out_where_they_have_no_meaning():
    rules = ["frda", "sgft", "fobos", "ftrl", "truncated-gradient", "ogd", Frda(0.5)]
    parameters = {"schedule": "inv_t", "eta0": 0.1, "cumulative": True, "beta": 0.5, "l1": 0.2}
    parameters |= {"basis": "feature"}
    names = {
        str(point["rule"]): set(point) - {"rule", "loss"}
        for point in grid(rules, "logistic", 1, parameters)
    }
    assert names == {
        "frda": {"schedule", "eta0", "l1", "basis"},
        "sgft": {"schedule", "eta0", "cumulative", "l1"},
        "fobos": {"schedule", "eta0", "cumulative", "l1"},
        "ftrl": {"eta0", "beta", "l1"},
        "truncated-gradient": {"eta0", "l1"},
        "ogd": {"schedule", "eta0"},
        str(Frda(0.5)): {"schedule", "eta0"},
    }
    losses = grid("frda", ["huber", "squared"], 1, {"epsilon": [0.1, 0.2], "l1": 0.1})
    assert [point.get("epsilon") for point in losses] == [0.1, 0.2, None]


def test_default_values_of_l1_lie_around_that_of_the_rule():
    points = grid(["frda", "ftrl", "ogd"], "logistic", 11, {})
    l1s = {rule: [p["l1"] for p in points if p["rule"] == rule] for rule in ("frda", "ftrl")}
    np.testing.assert_allclose(l1s["frda"], np.logspace(-3, 2, 11) * 3e-4)
    np.testing.assert_allclose(l1s["ftrl"], np.logspace(-3, 2, 11))
    assert [p for p in points if p["rule"] == "ogd"] == [{"rule": "ogd", "loss": "logistic"}]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"rule": "fobos", "q": 2}, ConfigError, "does not apply to the rule fobos"),
        ({"rule": ["fobos", "ogd"], "q": 2}, ConfigError, "does not apply to the rule fobos"),
        ({"rule": ["rda", "frda"], "beta": 1}, ConfigError, "does not apply to the rule rda"),
        ({"rule": ["rda", "ogd"], "cumulative": True}, ConfigError, "to the rule rda"),
        ({"rule": [Frda(0.5), Frda(0.1)], "l1": 1.0}, ConfigError, "given as an object"),
        ({"rule": "ogd", "endowment": 1.0}, ConfigError, "endowment=1.0 cannot be used"),
        ({"rule": "nonsense"}, ConfigError, "rule='nonsense'"),
        ({"l1": ()}, ConfigError, "list of values is empty"),
        ({"l1": [1e-3, -1.0]}, ConfigError, "l1=-1.0: a number >= 0 is expected"),
        ({"loss": ["hinge", "squared"]}, ConfigError, "cannot be mixed"),
        ({"loss": "nonsense"}, ConfigError, "loss='nonsense'"),
        ({"lambda1": 0.1}, ConfigError, "lambda1: there is no such parameter; those of"),
        ({"n_l1": 0}, ConfigError, "n_l1=0"),
        ({"by": "auc"}, ConfigError, r"by: there is no such parameter \(use scoring\)"),
        ({"rule": "fobo"}, ConfigError, r"rule='fobo' \(is it 'fobos'\?\): one of"),
        ({"passes": 0}, ConfigError, "passes=0: a whole number of at least 1 is expected"),
        ({"memory": 0.5}, ConfigError, "memory=0.5"),
        ({"n_jobs": -1}, ConfigError, "n_jobs=-1"),
        ({"shuffle": "yes"}, ConfigError, "shuffle='yes'"),
        ({"random_state": [1, 2]}, ConfigError, "need shuffle=True"),
        ({"random_state": None}, ConfigError, "random_state=None"),
        ({"folds": 1}, ConfigError, "folds=1: a whole number between 2"),
        ({"folds": 299}, InputError, "folds=299: .*members in each class"),
        ({"folds": [0, 1]}, InputError, "a whole number for each of the 300 rows"),
        ({"folds": np.zeros(300, int)}, InputError, "all rows into one fold"),
        ({"sample_weight": np.zeros(300)}, InputError, "nothing to learn"),
        ({"sample_weight": (FOLDS != 1) * 1.0}, InputError, "fold 1 has no row"),
    ],
)
def test_nonsense_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        small_sweep(**wrong)


@pytest.mark.parametrize("rule", ["ogd", "scale-free", Frda(0.5), ["ogd", "fobos"]], ids=str)
@pytest.mark.parametrize(
    "weighting",
    [
        {"importance": "aware"},
        {"importance": ["plain", "aware"]},
        {"importance": "nonsense"},
        {"endowment": 5.0},
        {"endowment": -5},
        {"endowment": np.eye(2)},
        {"endowment_by": "nonsense"},
    ],
    ids=str,
)
def test_models_side_by_side_weigh_rows_alike(rule, weighting):
    with pytest.raises(ConfigError, match=next(iter(weighting))):
        small_sweep(rule=rule, l1=None, n_l1=1, **weighting)


def test_weights_that_are_plain_may_be_said_to_be():
    parameters = {"rule": ["ogd", "fobos"], "l1": [1e-3], "folds": None, "sample_weight": 3.0}
    plain = {"importance": "plain", "endowment": 0, "endowment_by": "mistakes"}
    X, y = BINARY.csr, BINARY.y
    expected = rarefy.sweep(X, y, **parameters).table
    found = rarefy.sweep(X, y, **parameters, **plain).table
    assert found["loss"] == expected["loss"]


@pytest.mark.parametrize("loss", ["squared", ["squared", "quantile"]], ids=str)
def test_parameters_of_no_loss_are_refused(loss):
    with pytest.raises(ConfigError, match=r"epsilon=0.5 does not apply .* huber, epsilon_insens"):
        grid("frda", loss, 1, {"epsilon": 0.5})


def test_steps_of_a_rule_that_is_an_object():
    points = grid([Frda(0.5), "ogd"], "logistic", 1, {"eta0": 0.1})
    assert [point["eta0"] for point in points] == [0.1, 0.1]


def test_a_fold_of_equal_targets_is_refused():
    with pytest.raises(InputError, match="y is the same in all rows of fold 0"):
        rarefy.sweep(np.eye(4), [1.0, 1.0, 2.0, 3.0], loss="squared", folds=[0, 0, 1, 1])


# --- choosing ------------------------------------------------------------------------------------

# l1, accuracy of two folds, weights kept
FARED = [
    (0.1, (0.90, 0.94), 1000.0),
    (0.2, (0.93, 0.95), 400.0),
    (0.3, (0.92, 0.95), 300.0),
    (0.4, (0.90, 0.93), 90.0),
    (0.5, (0.92, 0.93), 80.0),
    (0.6, (0.80, 0.82), 10.0),
    (0.7, (nan, nan), nan),
]


def fared(rows=FARED) -> Sweep:
    accuracy = np.array([row[1] for row in rows])
    kept = np.array([[row[2], row[2]] for row in rows])
    by_fold = {"accuracy": accuracy, "loss": accuracy, "weights": kept, "features": kept}
    points = [{"rule": "frda", "loss": "hinge", "l1": row[0]} for row in rows]
    return Sweep(EstimatorAt(Classifier, {"passes": 1}), points, by_fold, Extent(10, 10))


def test_best():
    assert fared().best().parameters["l1"] == 0.2
    assert fared().best(by="loss").parameters["l1"] == 0.6
    assert fared().best(within_features=399).parameters["l1"] == 0.3
    assert fared().best(within_features=80).measures["accuracy"] == pytest.approx(0.925)
    with pytest.raises(ConfigError, match="within_features=9: no point"):
        fared().best(within_features=9)
    with pytest.raises(ConfigError, match="by='weights': one of accuracy, loss"):
        fared().best(by="weights")


def test_one_standard_error():
    """The error of the best is 0.01, and so 0.93 is good enough, which 300 weights have."""
    assert fared().best().measures["standard_error"] == pytest.approx(0.01)
    assert fared().one_standard_error().parameters["l1"] == 0.3
    assert fared().one_standard_error(within_features=90).parameters["l1"] == 0.5


def test_frontier():
    assert [choice.parameters["l1"] for choice in fared().frontier()] == [0.6, 0.5, 0.3, 0.2]
    assert fared().frontier("fobos") == []


def test_if_all_points_diverged_there_is_nothing_to_choose_from():
    with pytest.raises(DivergenceError, match="all points diverged"):
        fared(FARED[-1:]).best()


def test_a_point_that_diverges_is_passed_over():
    problem = data.problem("regression")
    result = small_sweep(problem, rule="ftprl", loss="squared", eta0=[0.05, 1e6], l1=1e-3)
    assert np.isnan(result.table["r2"]).tolist() == [False, True]
    assert result.best().parameters["eta0"] == 0.05


# --- what is made of the table -------------------------------------------------------------------


def test_table():
    result = fared()
    result.points[2] = {"rule": "frda", "loss": "hinge", "q": 2}
    assert result.table["q"] == [None, None, 2, None, None, None, None]
    assert result.table["l1"] == [0.1, 0.2, None, 0.4, 0.5, 0.6, 0.7]
    assert {len(column) for column in result.table.values()} == {7}
    assert repr(result) == "<Sweep of 7 points, 2 folds>"


def test_data_frame():
    pytest.importorskip("pandas")
    frame = fared().to_pandas()
    assert frame["l1"].tolist() == [row[0] for row in FARED]
    assert frame.loc[1, "accuracy"] == pytest.approx(0.94)


def test_arrow_table():
    pytest.importorskip("pyarrow")
    result = fared()
    result.points[0]["rule"] = Frda(0.5)
    table = result.to_arrow()
    assert table["rule"].to_pylist()[:2] == [str(Frda(0.5)), "frda"]
    assert table["weights"].to_pylist()[:2] == [1000.0, 400.0]


@pytest.mark.parametrize(
    ("form", "library"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow"), ("plot", "matplotlib")]
)
def test_forms_that_need_a_library_say_so(monkeypatch, form, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError, match=rf"^{form} needs \w+: pip install .*\.$"):
        getattr(fared(), form)()


def test_picture():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = fared().plot(figure.add_subplot())
    assert axes.get_lines()[0].get_xdata().tolist() == [10, 80, 300, 400]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["frda"]
    figure.canvas.draw()
