"""Penalties towards given weights: as in the equations, for any split, in files and streams."""

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.errors import ConfigError, DivergenceError, InputError
from rarefy.rules import RULES
from rarefy.rules.anchoring import can_be_anchored
from tests import data, naive
from tests.rules.test_exactness import (
    UNPENALISED,
    VARIANTS,
    assert_same,
    estimator,
    problem_for,
    setup,
)
from tests.selecting import slow_but

N_OLD = 40  # rows of the old model
ANCHORED = tuple(v for v in VARIANTS if can_be_anchored(RULES[v.partition("+")[0]]))


def old_model(problem: data.Problem, chosen: dict):
    return estimator(chosen).fit(problem.csr[:N_OLD], problem.y[:N_OLD])


def mixed(problem: data.Problem, chosen: dict, old) -> tuple[dict, naive.Result]:
    """The settings with which a part of the weights is the old one, and the reference there."""
    anchor = (old.coef_, old.intercept_)
    low, high = 1e-6, 10.0
    for _ in range(40):
        if chosen["rule"] not in UNPENALISED:
            chosen = chosen | {"l1": sqrt(low * high)}
        result = naive.fit(problem.dense, problem.y, **chosen, anchor=anchor)
        same = np.mean(result.coef == old.coef_)
        if chosen["rule"] in UNPENALISED or 0.2 <= same <= 0.8:
            return chosen, result
        low, high = (chosen["l1"], high) if same < 0.2 else (low, chosen["l1"])
    raise AssertionError(f"no l1 leaves a part of the weights: {chosen}")


def check(problem: data.Problem, chosen: dict) -> None:
    old = old_model(problem, chosen)
    chosen, expected = mixed(problem, chosen, old)
    l1 = {"l1": chosen["l1"]} if "l1" in chosen else {}
    new = rarefy.anchored(old, **l1)
    np.testing.assert_array_equal(new.coef_, old.coef_)
    np.testing.assert_array_equal(new.intercept_, old.intercept_)
    new.fit(problem.csr, problem.y)
    assert_same(new, expected)
    stays = np.reshape(new.coef_ == old.coef_, expected.coef.shape)
    np.testing.assert_array_equal(stays, expected.coef == old.coef_)


@pytest.mark.parametrize("variant", slow_but(ANCHORED, "scale-free"))
def test_every_rule(variant):
    check(problem_for("logistic"), setup(variant, "logistic", passes=2, fit_intercept=True))


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["rda", "frda", "ftrl", "scale-free", "adagrad-rda"])
def test_with_l2_and_several_classes(variant):
    check(problem_for("logistic"), setup(variant, "logistic", l2=0.01, fit_intercept=True))
    chosen = setup(variant, "logistic", multiclass="softmax", fit_intercept=True)
    check(data.problem("multiclass"), chosen)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["rda", "ftrl"])
def test_regression(variant):
    check(problem_for("squared"), setup(variant, "squared", fit_intercept=True, eta0=0.05))


def test_another_rule_splits_and_files(tmp_path):
    """An old model that cannot learn on, calls of partial_fit, and a file between them."""
    problem = problem_for("logistic")
    old = old_model(problem, setup("frda", "logistic", fit_intercept=True))
    old.save(tmp_path / "old", slim=True)
    whole = rarefy.anchored(old, rule="scale-free", l1=0.3).partial_fit(problem.csr, problem.y)
    parts = rarefy.anchored(tmp_path / "old", rule="scale-free", l1=0.3)
    for begin, end in ((0, 1), (1, 60), (60, len(problem.y))):
        parts.save(tmp_path / "model")
        parts = rarefy.load(tmp_path / "model")
        parts.partial_fit(problem.csr[begin:end], problem.y[begin:end])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(parts.intercept_, whole.intercept_)
    chosen = {"rule": "scale-free", "loss": "logistic", "l1": 0.3, "eta0": 0.2, "beta": 1.0}
    anchor = (old.coef_, old.intercept_)
    expected = naive.fit(problem.dense, problem.y, **chosen, fit_intercept=True, anchor=anchor)
    assert_same(whole, expected)


def test_a_strong_penalty_changes_the_intercept_alone():
    problem = problem_for("logistic")
    old = old_model(problem, setup("scale-free", "logistic", fit_intercept=True))
    new = rarefy.anchored(old, l1=1e6).partial_fit(problem.csr, problem.y)
    np.testing.assert_array_equal(new.coef_, old.coef_)
    assert new.intercept_ != old.intercept_


def test_a_failed_call_leaves_the_anchor():
    problem = problem_for("logistic")
    old = old_model(problem, setup("scale-free", "logistic", fit_intercept=True))
    new = rarefy.anchored(old)
    with pytest.raises((DivergenceError, InputError)):
        new.partial_fit(np.full((2, problem.dense.shape[1]), 1e300), [-1, 1])
    np.testing.assert_array_equal(new.coef_, old.coef_)


# --- files ----------------------------------------------------------------------------------


def write(path: Path, problem: data.Problem, rows: slice) -> Path:
    """The rows, with names; the last column of the old model's is missing in new data."""
    lines = [
        " ".join([f"{label:g} |", *(f"f{j}:{float(x[j])!r}" for j in np.flatnonzero(x))])
        for x, label in zip(problem.dense[rows], problem.y[rows], strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = problem_for("logistic")
    write(Path("old.vw"), problem, slice(0, N_OLD))
    write(Path("new.vw"), problem, slice(0, None))
    rarefy.train("old.vw", output="old.model", l1=0.1)
    return problem


@pytest.mark.parametrize("store", slow_but([{}, {"capacity": 500}, {"bits": 12}], {}))
def test_streams_give_what_the_equations_give(files, store):
    old = rarefy.train("old.vw", output="old.model", l1=0.1, **store)
    new = rarefy.train("new.vw", anchor="old.model", output="new.model", l1=0.5)
    chosen = {"rule": "scale-free", "loss": "logistic", "l1": 0.5, "eta0": 0.2, "beta": 1.0}
    coef = np.zeros((1, files.dense.shape[1]))
    if "bits" not in store:
        for name, weight in old.weights_.items():
            coef[0, int(name[1:])] = weight
        expected = naive.fit(
            files.dense, files.y, **chosen, fit_intercept=True, anchor=(coef, old.intercept_)
        )
        assert new.weights_.keys() == {f"f{j}" for j in np.flatnonzero(expected.coef)}
        for name, weight in new.weights_.items():
            assert weight == pytest.approx(expected.coef[0, int(name[1:])], rel=1e-9, abs=1e-12)
        same = [name for name in new.weights_ if new.weights_[name] == old.weights_.get(name)]
        assert 0 < len(same) < len(new.weights_)
    again = rarefy.load("new.model")
    assert again.weights_ == new.weights_
    assert again.t_ == len(files.y)
    more = rarefy.train("old.vw", resume="new.model")
    assert more.weights_ == new.partial_fit(rarefy.read("old.vw")).weights_


def test_bad_input(files):
    rarefy.train("new.vw", output="squared.model", loss="squared")
    for anchor, asked, error, message in (
        ("old.model", {"rule": "arow"}, ConfigError, "anchor does not apply to the rule arow"),
        ("old.model", {"rule": "sag"}, ConfigError, "anchor does not apply"),
        ("old.model", {"average": True}, ConfigError, "cannot be combined with anchor"),
        ("old.model", {"loss": "hinge"}, ConfigError, "settled by old.model"),
        ("old.model", {"l1": -1.0}, ConfigError, "l1"),
        ("old.model", {"shards": 2}, ConfigError, "shards"),
        ("old.model", {"resume": "old.model"}, ConfigError, "only one"),
        ("squared.model", {}, ConfigError, "in regression"),
        ("none.model", {}, InputError, "none.model"),
        ("new.vw", {}, InputError, "is not a rarefy model"),
    ):
        with pytest.raises(error, match=message):
            rarefy.train("new.vw", anchor=anchor, output="new.model", **asked)
        assert not Path("new.model").exists()
    lines = Path("new.vw").read_text().replace("|", "|words ")
    Path("other.vw").write_text(lines)
    Path("nothing.vw").write_text("")
    for file, message in (
        ("other.vw", r"other\.vw: old\.model has no weight for any feature of the first"),
        ("nothing.vw", r"nothing\.vw: there are no rows to learn"),
    ):
        with pytest.raises(InputError, match=message):
            rarefy.train(file, anchor="old.model", output="new.model")
        assert not Path("new.model").exists()
    with pytest.raises(ConfigError, match="settled by the old model"):
        rarefy.anchored("old.model", loss="hinge")
