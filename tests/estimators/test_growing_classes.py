"""Classes that come at any time: weights from then on, the same bits however rows are split."""

from __future__ import annotations

import json
import pickle
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import rarefy
from rarefy import ConfigError, InputError, SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.streams.run import Run
from tests import naive_growth
from tests.estimators.test_one_at_a_time import assert_same
from tests.selecting import slow_but

N, D = 120, 12
COLOURS = np.array(["red", "green", "blue", "white", "black"])


def problem(n_classes: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and classes that come one after the other."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N, D)) * (random.random((N, D)) < 0.4)
    X[:, 0] += 3.0
    y = np.array([random.integers(min(n_classes, 1 + i // 15)) for i in range(N)])
    return X, y


def as_dicts(X: np.ndarray) -> list[dict[str, float]]:
    return [{f"x{j}": float(x) for j, x in enumerate(row) if x} for row in X]


# --- the weights ------------------------------------------------------------------------------

CASES = {
    "scale-free": {"eta0": 0.5, "l1": 0.3, "beta": 1.0},
    "ftrl": {"eta0": 0.3, "l1": 0.2, "l2": 0.1, "beta": 1.0},
    "fobos": {"eta0": 0.3, "l1": 0.01, "schedule": "inv_sqrt"},
    "rda": {"eta0": 0.3, "l1": 0.01, "schedule": "inv_sqrt"},
    "frda": {"eta0": 0.3, "l1": 0.01, "schedule": "inv_sqrt", "q": 2},
    "fr-comid": {"eta0": 0.3, "l1": 0.01, "schedule": "inv_sqrt", "q": 2, "basis": "feature"},
    "ftpfrl": {"eta0": 0.3, "l1": 0.01, "schedule": "inv_sqrt", "q": 2},
    "adagrad-rda": {"eta0": 0.3, "l1": 0.01},
    "truncated-gradient": {"eta0": 0.1, "l1": 0.01, "schedule": "constant", "truncate_every": 5},
    "coin": {"eta0": 0.3},
}


@pytest.mark.parametrize("average", slow_but([False, True], False))
@pytest.mark.parametrize("rule", slow_but(CASES, "scale-free"))
def test_weights_are_those_of_a_dense_model_whose_classes_start_when_they_come(rule, average):
    X, y = problem()
    if average and rule in ("coin", "truncated-gradient"):
        pytest.skip("no mean of these")
    chosen = {"rule": rule, "loss": "logistic", **CASES[rule], "average": average}
    model = SparseOnlineClassifier(**chosen, calibrate=False)
    model.partial_fit(X, y, classes="grow")
    expected = naive_growth.fit(X, y, multiclass="softmax", fit_intercept=True, **chosen)
    np.testing.assert_allclose(model.coef_, expected.coef, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, expected.intercept, atol=1e-9)
    assert model.progressive_loss_ == pytest.approx(expected.progressive_loss, abs=1e-9)
    assert model.n_nonzero_ > 20


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "multiclass"), [("hinge", "crammer_singer"), ("logistic", "ovr")])
def test_other_losses_grow_too(loss, multiclass):
    X, y = problem()
    chosen = {"rule": "ftrl", "loss": loss, "multiclass": multiclass, **CASES["ftrl"]}
    model = SparseOnlineClassifier(**chosen).partial_fit(X, y, classes="grow")
    expected = naive_growth.fit(X, y, fit_intercept=True, **chosen)
    np.testing.assert_allclose(model.coef_, expected.coef, atol=1e-9)


def test_two_classes_are_learned_as_if_both_had_been_known():
    """Before the second comes, the first is learned against a class without rows."""
    X, y = problem(2)
    y[:20] = 0
    model = SparseOnlineClassifier().partial_fit(X, y, classes="grow")
    assert model.coef_.shape == (2, D)
    np.testing.assert_allclose(model.coef_[0], -model.coef_[1], atol=1e-12)


# --- the same bits ----------------------------------------------------------------------------


def test_any_split_into_calls_gives_the_same_bits():
    X, y = problem()
    whole = SparseOnlineClassifier().partial_fit(X, COLOURS[y], classes="grow")
    assert whole.classes_.tolist() == list(dict.fromkeys(COLOURS[y].tolist()))
    parts = SparseOnlineClassifier()
    for begin in range(0, N, 17):
        some = slice(begin, begin + 17)
        parts.partial_fit(sparse.csr_array(X[some]), COLOURS[y][some], classes="grow")
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    np.testing.assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))
    assert whole.progressive_loss_ == parts.progressive_loss_


def rows_learned(how: str, begin: int = 0, end: int = N, model: Any = None) -> Any:
    """A model of rows in one of the ways in which they can come."""
    X, y = problem()
    X, y = X[begin:end], COLOURS[y][begin:end]
    rows, labels = as_dicts(X), y.tolist()
    model = model or SparseOnlineClassifier().start(classes="grow")
    if how == "one":
        for row, label in zip(rows, labels, strict=True):
            model.predict_one(row)
            model.learn_one(row, label)
    elif how == "many":
        model.learn_many(rows, labels)
    elif how == "own labels":
        model.learn_many([{**row, "label": label} for row, label in zip(rows, labels, strict=True)])
    elif how == "iterator":
        model.partial_fit(zip(rows, labels, strict=True))
    else:
        labelled = [{**row, "label": label} for row, label in zip(rows, labels, strict=True)]
        Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labelled))
        model.partial_fit(rarefy.read("rows.jsonl"))
    return model


@pytest.mark.parametrize("how", ["many", "own labels", "iterator", "file"])
def test_rows_give_the_same_bits_in_whatever_way_they_come(how, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, expected = rows_learned(how), rows_learned("one")
    assert_same(model, expected)
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.stream_.classes == tuple(expected.classes_)


@pytest.mark.parametrize("end", [10, 40, 100])
def test_a_model_that_was_saved_goes_on_to_the_same_bits(end, tmp_path):
    expected = rows_learned("one")
    model = rows_learned("one", 0, end)
    if len(model.classes_) > 1:
        model.save(tmp_path / "some.model")
        model = rarefy.load(tmp_path / "some.model")
    model = pickle.loads(pickle.dumps(model))
    assert_same(rows_learned("one", end, N, model), expected)


def test_models_of_matrices_are_saved_too(tmp_path):
    X, y = problem()
    expected = SparseOnlineClassifier().partial_fit(X, y, classes="grow")
    model = SparseOnlineClassifier().partial_fit(X[:60], y[:60], classes="grow")
    model.save(tmp_path / "some.model")
    model = rarefy.load(tmp_path / "some.model").partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.predict(X).tolist() == expected.predict(X).tolist()


def test_merging_keeps_classes_that_only_one_has():
    X, y = problem(3)
    rows, labels = as_dicts(X), COLOURS[y].tolist()
    base = SparseOnlineClassifier().start(classes="grow").learn_many(3 * rows, 3 * labels)
    parts = [pickle.loads(pickle.dumps(base)) for _ in range(2)]
    parts[0].learn_many(rows[60:80], ["gold", "red"] * 10)
    parts[1].learn_many(rows[80:], labels[80:])
    model = rarefy.merge(parts, base=base)
    assert set(model.classes_) == {*base.classes_, "gold"}
    assert model.t_ == 3 * N + 20 + 40
    ours, theirs = (one.classes_.tolist().index("gold") for one in (model, parts[0]))
    of_gold = {name: float(weights[theirs]) for name, weights in parts[0].weights_.items()}
    assert any(of_gold.values())
    for name, weight in of_gold.items():
        merged = model.weights_.get(name, np.zeros(4))[ours]
        assert float(merged) == pytest.approx(weight, abs=1e-12)
    model.learn_one(rows[0], "silver")
    assert model.classes_.tolist()[-1] == "silver"


# --- runs -------------------------------------------------------------------------------------


def write_rows(name: str, begin: int = 0, end: int = N) -> None:
    X, y = problem()
    labelled = zip(as_dicts(X)[begin:end], COLOURS[y].tolist()[begin:end], strict=True)
    text = "".join(json.dumps({**row, "label": label}) + "\n" for row, label in labelled)
    Path(name).write_text(text)


def test_a_run_gives_the_bits_of_rows_one_by_one(tmp_path, monkeypatch):
    """From scratch, in one go or in two, and with a model that has learned rows."""
    monkeypatch.chdir(tmp_path)
    write_rows("all.jsonl")
    write_rows("first.jsonl", 0, 50)
    write_rows("rest.jsonl", 50)
    expected = rows_learned("one")
    model = SparseOnlineClassifier().fit_stream(rarefy.read("all.jsonl"), classes="grow")
    assert_same(model, expected)
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert_same(rarefy.train("all.jsonl", classes="grow"), expected)
    rarefy.train("first.jsonl", classes="grow", output="first.model")
    again = rarefy.train("rest.jsonl", resume="first.model", output="again.model")
    assert_same(again, expected)
    assert_same(rarefy.load("again.model"), expected)
    assert_same(rarefy.train("rest.jsonl", resume=rows_learned("one", 0, 50)), expected)
    assert rarefy.load("again.model").learn_one({"x1": 1.0}, "gold").classes_[-1] == "gold"


@pytest.mark.parametrize(
    "how",
    [
        {"passes": 2},
        pytest.param({"shuffle": True, "random_state": 3}, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_gives_the_same_bits(how, tmp_path, monkeypatch):
    """Also if it ends where a class has just come; one class alone is not saved."""
    monkeypatch.chdir(tmp_path)
    write_rows("all.jsonl")
    expected = rarefy.train("all.jsonl", classes="grow", output="whole.model", **how)
    for end in (5, 33, 77):
        saved = []
        take = Run._take

        def stop_after(run, part, first_row, end=end, saved=saved, take=take):
            take(run, part, first_row)
            saved.append(run.model.t)
            if run.model.t >= end:
                raise KeyboardInterrupt

        monkeypatch.setattr(Run, "_take", stop_after)
        warns = pytest.warns(rarefy.RarefyWarning) if end == 5 else nullcontext()
        with warns, pytest.raises(KeyboardInterrupt):
            rarefy.train("all.jsonl", classes="grow", output="part.model", save_every=1, **how)
        monkeypatch.setattr(Run, "_take", take)
        assert saved[-1] == end
        if not Path("part.model").exists():
            assert end == 5
            continue
        model = rarefy.train(resume="part.model", output="part.model")
        assert_same(model, expected)
        assert model.classes_.tolist() == expected.classes_.tolist()
        Path("part.model").unlink()


def test_runs_that_cannot_grow_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows("all.jsonl")
    for how in ({"holdout": 0.2}, {"shards": 2}, {"class_weight": "balanced"}, {"rule": "auto"}):
        with pytest.raises(ConfigError, match=f"grow.*({next(iter(how))}|tuned)"):
            rarefy.train("all.jsonl", classes="grow", **how)
    with pytest.raises(InputError, match="numbers, not classes"):
        rarefy.train("all.jsonl", classes="grow", loss="squared")
    with pytest.raises(InputError, match="'grow' is expected"):
        SparseOnlineClassifier().fit_stream(rarefy.read("all.jsonl"), classes=["red"])
    Path("one.jsonl").write_text('{"a": 1, "label": "red"}\n')
    with pytest.raises(InputError, match="as soon as it has two"):
        rarefy.train("one.jsonl", classes="grow", output="one.model")
    assert not Path("one.model").exists()


@pytest.mark.slow
def test_a_refit_of_classes_that_grew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows("all.jsonl")
    model = rarefy.train("all.jsonl", classes="grow", target_features=6, output="small.model")
    assert 0 < len(model.weights_) <= 6
    rows = as_dicts(problem()[0])
    assert rarefy.load("small.model").predict_many(rows) == model.predict_many(rows)


# --- what it says before classes are known, and what is refused -------------------------------


def test_before_any_class_is_known():
    model = SparseOnlineClassifier().start(classes="grow")
    assert model.predict_one({"a": 1}) is None
    assert model.predict_many([{"a": 1}]) == [None]
    assert model.predict_proba_one({"a": 1}) == {}
    model.learn_one({"a": 1}, "red")
    assert model.predict_one({"a": 1}) == "red"
    assert model.predict_proba_one({"a": 1}) == {"red": 1.0}
    with pytest.raises(InputError, match="as soon as it has two"):
        model.save("nowhere.model")
    model.learn_one({"a": -1}, "blue")
    assert sum(model.predict_proba_one({"a": 1}).values()) == pytest.approx(1.0)


def test_labels_that_come_later_may_be_of_new_classes():
    model = rows_learned("one", 0, 30)
    total = model.learner_.progress[0]
    answer = model.predict_proba_one({"x1": 1.0}, id=7)
    model.learn_one({"x2": 1.0}, "gold")
    before = model.learner_.progress.copy()
    model.learn_one(id=7, y="silver")
    assert model.classes_.tolist()[-2:] == ["gold", "silver"]
    assert model.learner_.progress[1] - before[1] == 1.0
    assert model.learner_.progress[2] == before[2]
    assert "silver" not in answer
    assert total < model.learner_.progress[0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([3], "the classes so far are texts"),
        ([None], "None"),
        ([1.5], "label"),
    ],
)
def test_bad_labels_change_nothing(y, message):
    model = rows_learned("one", 0, 40)
    before = pickle.dumps(model)
    with pytest.raises(InputError, match=message):
        model.learn_many([{"x1": 1.0}], y)
    assert_same(model, pickle.loads(before))
    assert model.classes_.tolist() == pickle.loads(before).classes_.tolist()


def test_a_bad_row_brings_no_class():
    model = rows_learned("one", 0, 40)
    with pytest.raises(InputError):
        model.learn_many([{"x1": 1.0}, {"x1": object()}], ["gold", "gold"])
    assert "gold" not in model.classes_
    assert "gold" not in model.stream_.classes


def test_what_cannot_grow_is_refused():
    X, y = problem()
    with pytest.raises(ConfigError, match="tuned"):
        SparseOnlineClassifier(rule="auto").partial_fit(X, y, classes="grow")
    with pytest.raises(ConfigError, match="class_weight"):
        SparseOnlineClassifier(class_weight="balanced").start(classes="grow")
    with pytest.raises(ConfigError, match="decision_threshold"):
        SparseOnlineClassifier(decision_threshold=1.0).partial_fit(X, y, classes="grow")
    with pytest.raises(InputError, match="numbers, not classes"):
        SparseOnlineRegressor().start(classes="grow")
    fixed = SparseOnlineClassifier().partial_fit(X, y, classes=range(5))
    with pytest.raises(InputError, match="first call"):
        fixed.partial_fit(X, y, classes="grow")


def test_fit_knows_all_classes_again():
    X, y = problem(2)
    model = SparseOnlineClassifier().partial_fit(X, y, classes="grow").fit(X, y)
    assert model.coef_.shape == (1, D)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["1", "2", '"x"', "3"], ["1", "2", "x", "3"]),
        (['"x"', "1", '"2"'], ["x", "1", "2"]),
        (["2", "-0.0", "0", "-0"], [2, 0]),
    ],
)
def test_labels_of_lines_are_the_classes_that_those_of_files_are(
    labels: list[str], classes: list[Any], tmp_path: Path
) -> None:
    """Also where numbers come first, and words later."""
    by_lines, by_files = (SparseOnlineClassifier().start(classes="grow") for _ in range(2))
    for n, label in enumerate(labels):
        line, path = f'{{"a": {n}, "label": {label}}}', tmp_path / f"{n}.jsonl"
        path.write_text(f"{line}\n")
        by_lines.learn_one(line)
        by_files.partial_fit(rarefy.read(path))
    assert by_lines.classes_.tolist() == by_files.classes_.tolist() == classes
    assert by_lines.predict_one({"a": 1}) in classes
    assert_same(by_lines, by_files)
