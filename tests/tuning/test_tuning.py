"""Models that find their own parameters while they learn."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import rarefy
from rarefy import ConfigError, DivergenceError
from rarefy.arrays import as_rows, part_of
from rarefy.cli import main
from rarefy.estimators.matrices import as_csr
from rarefy.model.schedules import InvSqrt
from rarefy.parameters.build import make_rule
from rarefy.tuning.compact_index import CompactIndex
from rarefy.tuning.space import TUNABLE
from tests.in_order import classifier_in_order, regressor_in_order
from tests.tuned import assert_same_kind, stream

# Rules that have another form while their numbers are found.
STATIONARY = (
    {"rule": "frda", "q": "auto"},
    {"rule": "fr-comid", "l1": "auto", "q": 2.0},
    {"rule": "fobos", "l1": "auto"},
)
X, Y = stream()
FIRST, REST = slice(0, 2000), slice(2000, None)


def fitted(model=classifier_in_order, **parameters):
    return model(**parameters).fit(X[FIRST], Y[FIRST])


class TestCompactIndex:
    """Features are numbered as they occur."""

    def test_numbers_are_as_a_dict_gives_them(self):
        rng = np.random.default_rng(0)
        index, expected = CompactIndex(50), {}
        for dtype in (np.int32, np.int64):
            features = rng.integers(0, 50, 30).astype(dtype)
            numbers = [expected.setdefault(feature, len(expected)) for feature in features.tolist()]
            assert index.number(features).tolist() == numbers
        assert index.features.tolist() == list(expected)

    def test_growing_keeps_the_numbers(self):
        index = CompactIndex(3)
        index.number(np.array([2, 0]))
        index.grow(1000)
        assert index.number(np.array([999, 0, 2])).tolist() == [2, 1, 0]

    def test_moving_forgets_what_does_not_move(self):
        index = CompactIndex(10)
        index.number(np.array([7, 3, 9, 5]))
        staying = index.move(np.array([9, 5, 7, 1]), np.array([0, 1, 2, 3]), 4)
        assert staying.tolist() == [0, 2, 3]
        assert index.features.tolist() == [2, 0, 1]
        assert index.number(np.array([1, 3])).tolist() == [2, 3]


def test_few_rows_are_learned_with_about_the_usual_parameters():
    few = classifier_in_order(rule="auto").fit(X[:50], Y[:50]).found_
    usual, _ = make_rule("scale-free-ftrl")
    assert 0.5 <= few["l1"] / usual.l1 <= 2.0
    assert 0.5 < few["eta0"] / usual.eta0 < 1.5


class TestFinding:
    @pytest.mark.parametrize(
        "left",
        [
            {"rule": "auto"},
            {"l1": "auto"},
            {"rule": "ftrl", "eta0": "auto"},
            {"rule": "frda", "q": "auto", "l1": 1e-3},
            *STATIONARY,
        ],
        ids=str,
    )
    def test_what_is_found_is_a_model_of_its_own(self, left):
        model = fitted(**left)
        found = model.found_
        asked = {name for name, value in left.items() if value == "auto"}
        assert asked <= set(found)
        assert "auto" not in found.values()
        given = {name: value for name, value in left.items() if value != "auto"}
        rule, schedule = make_rule(
            **{
                "loss": "logistic",
                **given,
                **found,
            }
        )
        assert_same_kind(model.learner_.rule, rule)
        assert_same_kind(model.learner_.clock.schedule, schedule)
        assert model.score(X[REST], Y[REST]) > 0.8
        assert model.t_ == 2000

    def test_steps_suit_the_size_of_the_values(self):
        """What is learned from larger or smaller values is the same, but for the scale."""
        scores = []
        for scale in (0.03, 1.0, 1e3):
            X, y = stream(scale=scale)
            model = classifier_in_order(rule="auto").fit(X[FIRST], y[FIRST])
            scores.append(model.score(X[REST], y[REST]))
        assert min(scores) > 0.8
        assert max(scores) - min(scores) < 0.05

    def test_no_worse_than_any_of_a_grid(self):
        grid = [
            fitted(rule="ftrl", l1=l1, eta0=eta0).progressive_loss_
            for l1 in (0.01, 0.3, 10.0)
            for eta0 in (0.01, 0.1, 1.0)
        ]
        assert fitted(rule="ftrl", l1="auto").progressive_loss_ < 1.05 * min(grid)

    def test_q_is_found_among_the_norms(self):
        assert fitted(rule="frda", q="auto").found_["q"] in (1.0, inf)

    def test_given_parameters_stay(self):
        model = fitted(rule="frda", l1="auto", eta0=0.7, l2=1e-3, q=2.0)
        assert set(model.found_) >= {"l1"}
        assert_same_kind(model.learner_.clock.schedule, InvSqrt(0.7))
        assert model.learner_.rule.l2 == 1e-3

    def test_several_classes(self):
        y = np.where(Y, "b", np.where(X[:, 0].toarray().ravel() > 0.0, "a", "c"))
        model = classifier_in_order(l1="auto").fit(X[FIRST], y[FIRST])
        assert model.score(X[REST], y[REST]) > 0.8

    def test_regression(self):
        target = X @ np.linspace(-1.0, 1.0, X.shape[1])
        model = regressor_in_order(rule="auto").fit(X[FIRST], target[FIRST])
        assert model.score(X[REST], target[REST]) > 0.8

    @pytest.mark.parametrize("left", [{"rule": "ftrl", "l1": "auto"}, *STATIONARY], ids=str)
    @pytest.mark.parametrize("portion", [128, 1000, 1999])
    def test_portions_make_no_difference(self, left, portion):
        model = classifier_in_order(**left)
        for begin in range(0, 2000, portion):
            part = slice(begin, min(begin + portion, 2000))
            model.partial_fit(X[part], Y[part], classes=[False, True])
        whole = fitted(**left)
        assert model.found_ == whole.found_
        assert (model.sparse_coef_ != whole.sparse_coef_).nnz == 0
        assert model.progressive_loss_ == pytest.approx(whole.progressive_loss_, rel=1e-12)

    def test_one_row_is_enough(self):
        model = classifier_in_order(rule="auto").fit(X[:2], [False, True])
        assert model.predict(X[:2]).shape == (2,)

    @pytest.mark.parametrize("n", [50, 127])
    def test_few_rows_do_not_lead_to_an_empty_model(self, n):
        model = classifier_in_order(rule="ftrl", l1="auto", eta0=0.1).fit(X[:n], Y[:n])
        assert model.n_nonzero_ > 0

    def test_rows_of_no_weight_are_as_if_they_were_not_there(self):
        weights = np.ones(2000)
        weights[150:400] = 0.0
        some = weights > 0.0
        model = classifier_in_order(rule="ftrl", l1="auto")
        model.partial_fit(X[FIRST], Y[FIRST], classes=[False, True], sample_weight=weights)
        other = classifier_in_order(rule="ftrl", l1="auto")
        other.partial_fit(X[FIRST][some], Y[FIRST][some], classes=[False, True])
        assert model.t_ == other.t_ == model.learner_.settled().t
        assert model.found_ == other.found_
        assert (model.sparse_coef_ != other.sparse_coef_).nnz == 0

    def test_values_too_small_to_be_measured(self):
        model = classifier_in_order(rule="auto").fit(X[:200] * 1e-200, Y[:200])
        assert np.isfinite(model.decision_function(X)).all()

    def test_the_progressive_loss_is_that_of_predictions_before_learning(self):
        """With more rows than it takes for others to join the model that learns alone."""
        X, y = stream(n=14_000, d=30, n_useful=10)
        model = classifier_in_order(rule="ftrl", l1="auto")
        model.partial_fit(X[:128], y[:128], classes=[False, True])
        total = model.learner_.progress[0]
        all_rows = as_rows(as_csr(X), np.where(y, 1.0, -1.0), np.ones(len(y)))
        for row in range(128, len(y)):
            one = part_of(all_rows, row, row + 1)
            score = model.learner_.scores(one)[0, 0]
            total += np.logaddexp(0.0, -one.y[0] * score)
            model.learner_.learn(one)
        assert model.learner_.progress[0] == pytest.approx(total, rel=1e-9)
        whole = classifier_in_order(rule="ftrl", l1="auto").fit(X, y)
        assert model.found_ == whole.found_
        assert (model.sparse_coef_ != whole.sparse_coef_).nnz == 0

    def test_columns_may_be_added(self):
        model = classifier_in_order(l1="auto", rule="ftrl", n_features="grow")
        model.partial_fit(X[:1000, :100], Y[:1000], classes=[False, True])
        model.partial_fit(X[1000:2000], Y[1000:2000])
        assert model.coef_.shape == (1, X.shape[1])
        assert model.coef_[:, 100:].any()

    def test_a_model_that_learns_alone_is_as_before_when_it_diverges(self):
        model = regressor_in_order(rule="fobos", l1="auto").partial_fit(X[:1000], Y[:1000] * 1.0)
        before = model.coef_
        with pytest.raises(DivergenceError, match="unchanged by this call"):
            model.partial_fit(X[2500:] * 1e40, Y[2500:] * 1e40)
        np.testing.assert_array_equal(model.coef_, before)

    def test_models_that_have_all_diverged_say_so_again(self):
        model = regressor_in_order(rule="fobos", l1="auto").partial_fit(X[:500], Y[:500] * 1.0)
        for use in (lambda: model.partial_fit(X * 1e40, Y * 1e40), lambda: model.predict(X)):
            with pytest.raises(DivergenceError, match="all models diverged"):
                use()

    @pytest.mark.parametrize("n", [50, 3000])
    def test_all_models_diverge(self, n):
        model = regressor_in_order(rule="fobos", l1="auto", eta0=1e30)
        with pytest.raises(DivergenceError, match="eta0"):
            model.fit(X[:n] * 1e20, Y[:n] * 1.0)


class TestLimit:
    @pytest.mark.parametrize(
        ("rule", "limit"),
        [*product(("frda", "ftrl", "scale-free"), (1, 10_000)), *product(TUNABLE, (15,))],
    )
    def test_no_more_features_than_that(self, rule, limit):
        model = fitted(rule=rule, target_features=limit)
        assert 1 <= len(np.unique(model.sparse_coef_.indices)) <= limit

    def test_the_features_that_matter_stay(self):
        model = fitted(rule="auto", target_features=80)
        kept = set(model.sparse_coef_.indices.tolist())
        assert len(kept & set(range(80))) >= 70
        assert model.score(X[REST], Y[REST]) > 0.87

    def test_it_holds_at_any_moment(self):
        model = classifier_in_order(rule="ftrl", target_features=15)
        for begin in range(0, 3000, 500):
            part = slice(begin, begin + 500)
            model.partial_fit(X[part], Y[part], classes=[False, True])
            assert 1 <= model.n_nonzero_ <= 15

    def test_after_fit_there_is_no_going_on_beyond_it(self):
        with pytest.raises(ConfigError, match="use partial_fit from the start"):
            fitted(rule="ftrl", target_features=15).partial_fit(X[REST], Y[REST])

    def test_a_refit_keeps_to_it(self):
        model = fitted(rule="auto", target_features=20, refit=True)
        assert len(np.unique(model.sparse_coef_.indices)) <= 20
        assert model.found_["rule"]


@pytest.mark.parametrize(
    ("parameters", "part"),
    [
        ({"l1": "auto", "passes": 2}, "in one pass"),
        ({"l1": "auto", "endowment": 1.0}, "endowment"),
        ({"rule": "auto", "importance": "aware"}, "aware"),
        ({"rule": "fobos", "l1": "auto", "cumulative": True}, "cumulative"),
        ({"rule": "ogd", "l1": "auto"}, "ogd"),
        ({"rule": "ftprl", "l1": "auto"}, "Rules that support it"),
        ({"rule": rarefy.rules.ftrl.Ftrl(), "l1": "auto"}, "Ftrl"),
        ({"rule": "ftrl", "q": "auto"}, "no norm"),
        ({"l1": 0.1, "target_features": 5}, "give only one of them"),
        ({"target_features": 0}, "target_features=0"),
        ({"target_features": 2.5}, "target_features=2.5"),
        ({"l2": "auto"}, "l2='auto'"),
        ({"rule": "auto", "basis": "feature"}, "basis"),
    ],
    ids=str,
)
def test_what_cannot_be_found_is_refused(parameters, part):
    with pytest.raises(ConfigError, match=part):
        fitted(**parameters)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"l1": "auto"}, {"target_features": 5}),
        ({"l1": "auto"}, {"rule": "frda"}),
        ({"l1": 0.1}, {"l1": "auto"}),
    ],
    ids=str,
)
def test_what_is_to_be_found_stays_the_same(before, after):
    model = classifier_in_order(**{"rule": "ftrl", **before})
    model.partial_fit(X[:200], Y[:200], classes=[False, True])
    with pytest.raises(ConfigError, match="start again"):
        model.set_params(**after).partial_fit(X[200:400], Y[200:400])


def test_a_plain_fit_does_not_pass_through_tuning():
    """Nor is any of it imported."""
    code = (
        "import sys, numpy, rarefy\n"
        "rarefy.SparseOnlineClassifier().fit(numpy.eye(2), [0, 1])\n"
        "assert not [name for name in sys.modules if 'rarefy.tuning' in name]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_sweep_tries_values():
    with pytest.raises(ConfigError, match="needs a list of values"):
        rarefy.sweep(X, Y, l1="auto")


class TestFiles:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch) -> Path:
        monkeypatch.chdir(tmp_path)
        dump_svmlight_file(X[FIRST], Y[FIRST].astype(int), "data.svm")
        return tmp_path

    @pytest.mark.parametrize("left", [{"rule": "ftrl", "l1": "auto"}, *STATIONARY], ids=str)
    def test_a_model_knows_what_was_found_when_it_is_read_again(self, left):
        model = fitted(**left)
        model.save("a.model")
        again = rarefy.load("a.model")
        assert (again.l1, again.eta0) == (model.found_["l1"], model.found_["eta0"])
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        again.partial_fit(X[REST], Y[REST])
        model.partial_fit(X[REST], Y[REST])
        assert (again.sparse_coef_ != model.sparse_coef_).nnz == 0

    @pytest.mark.parametrize("left", [{"rule": "ftrl", "l1": "auto"}, *STATIONARY], ids=str)
    @pytest.mark.parametrize("n", [300, 1000, 2000])
    def test_a_model_that_is_still_searching_can_be_saved(self, left, n):
        """In a race, alone, and in a challenge."""
        model = classifier_in_order(**left)
        model.partial_fit(X[:n], Y[:n], classes=[False, True])
        model.save("a.model")
        again = rarefy.load("a.model")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert again.found_ == model.found_
        assert again.get_params() == model.get_params()

    @pytest.mark.parametrize("store", ["array", "table", "hashed"])
    def test_stores_agree_with_matrices(self, store):
        model = rarefy.train(
            "data.svm",
            rule="ftrl",
            l1="auto",
            store=store,
            **({"bits": 20} if store == "hashed" else {}),
        )
        weights = {int(name): weight for name, weight in model.weights_.items()}
        whole = fitted(rule="ftrl", l1="auto")
        assert model.found_ == whole.found_
        if store == "hashed":
            assert len(weights) == whole.n_nonzero_
        else:
            coef = whole.sparse_coef_
            assert weights == dict(zip(coef.indices.tolist(), coef.data.tolist(), strict=True))

    @pytest.mark.parametrize(
        "left", [{"l1": "auto"}, {"target_features": 100, "loss": "perceptron"}], ids=str
    )
    def test_a_table_that_grows_forgets_nothing_that_matters(self, left):
        rng = np.random.default_rng(0)
        wide = sparse.random_array((3000, 8000), density=0.002, rng=rng, format="csr")
        y = wide @ rng.normal(size=8000) > 0.0
        dump_svmlight_file(wide, y.astype(int), "wide.svm")
        table, array = (
            classifier_in_order(rule="fobos", **left).fit_stream(
                rarefy.read("wide.svm"), store=store
            )
            for store in ("table", "array")
        )
        assert table.weights_ == array.weights_
        assert table.progressive_loss_ == array.progressive_loss_

    def test_a_crowded_table(self):
        model = rarefy.train("data.svm", rule="ftrl", l1="auto", capacity=50)
        assert len(model.weights_) <= 50

    def test_the_command_says_what_it_found(self):
        command = ["train", "data.svm", "-o", "a.model", "--rule", "ftrl", "--l1", "auto"]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        assert "Found: --rule ftrl --l1 " in result.output
        found = rarefy.load("a.model")
        assert found.l1 == rarefy.train("data.svm", rule="ftrl", l1="auto").found_["l1"]

    def test_the_command_keeps_to_a_size(self):
        command = ["train", "data.svm", "-o", "a.model", "--target-features", "7", "--rule", "ftrl"]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        assert 1 <= len(rarefy.load("a.model").weights_) <= 7

    def test_a_checkpoint_goes_on_with_what_was_found_by_then(self):
        arguments = ["-o", "a.model", "--rule", "ftrl", "--l1", "auto", "--save-every", "1500"]
        assert CliRunner().invoke(main, ["train", "data.svm", *arguments]).exit_code == 0
        result = CliRunner().invoke(main, ["train", "data.svm", "--resume", "a.model"])
        assert result.exit_code == 0, result.output
        assert rarefy.load("a.model").t_ == 4000

    def test_a_run_that_is_gone_on_with_keeps_to_a_size(self):
        target = ["--rule", "ftrl", "--target-features", "7", "--loss", "perceptron"]
        run = CliRunner().invoke(main, ["train", "data.svm", "-o", "a.model", *target])
        assert run.exit_code == 0, run.output
        for _ in range(2):
            result = CliRunner().invoke(main, ["train", "data.svm", "--resume", "a.model"])
            assert result.exit_code == 0, result.output
            assert 1 <= len(rarefy.load("a.model").weights_) <= 7

    def test_rows_may_be_held_out_before_the_first_is_learned(self):
        command = ["train", "data.svm", "-o", "a.model", "--rule", "ftrl", "--l1", "auto"]
        held_out = ["--holdout", "0.9", "--save-every", "1"]
        result = CliRunner().invoke(main, [*command, *held_out])
        assert result.exit_code == 0, result.output

    def test_several_passes_are_refused(self):
        command = ["train", "data.svm", "-o", "a.model", "--l1", "auto", "--passes", "3"]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 1
        assert "rarefy sweep" in result.output
