"""An l1 for some features: as in the equations, by column, and by namespace."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import rarefy
from rarefy import ConfigError, InputError, SparseOnlineClassifier
from rarefy.errors import RarefyWarning
from rarefy.rules import RULES, WITH_OWN_L1
from tests import data, naive
from tests.rules.test_exactness import (
    PENALISED,
    assert_same,
    estimator,
    mixed,
    problem_for,
    setup,
    slow_where,
)

FIRST_VARIANTS = ("fobos", "frda")  # the others are slow


def of_columns(l1: float, d: int) -> dict[int, float]:
    """No penalty for every fifth column, and three times the usual one for those behind it."""
    return {i: 0.0 if i % 5 == 0 else 3.0 * l1 for i in range(d) if i % 5 < 2}


def by_column(l1: float, d: int) -> np.ndarray:
    return np.array([of_columns(l1, d).get(i, l1) for i in range(d)])


def check(problem: data.Problem, chosen: dict) -> None:
    chosen, plain = mixed(problem, chosen)
    d = problem.dense.shape[1]
    expected = naive.fit(problem.dense, problem.y, **chosen | {"l1": by_column(chosen["l1"], d)})
    assert (expected.coef != plain.coef).any()
    fitted = estimator(chosen | {"l1_of": of_columns(chosen["l1"], d)}).fit(problem.csr, problem.y)
    assert_same(fitted, expected)


@pytest.mark.parametrize(
    "variant",
    [pytest.param(v, marks=slow_where(v not in FIRST_VARIANTS)) for v in PENALISED],
)
def test_every_rule(variant):
    check(problem_for("logistic"), setup(variant, "logistic", passes=2, fit_intercept=True))


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["fobos", "ftpfrl", "scale-free"])
def test_with_l2_and_several_classes(variant):
    check(problem_for("logistic"), setup(variant, "logistic", l2=0.01))
    chosen = setup(variant, "logistic", multiclass="softmax")
    check(data.problem("multiclass"), chosen)


def test_splits_growth_and_files(tmp_path):
    """Calls of partial_fit, of which later ones have more columns, and a file between them."""
    problem = problem_for("logistic")
    d = problem.dense.shape[1]
    narrow, chosen = d // 2, setup("fobos", "logistic", calibrate=False)
    chosen["l1_of"] = {i: l1 for i, l1 in of_columns(0.01, d).items() if i < narrow}
    first = problem.csr[:50].multiply(np.arange(d) < narrow).tocsr()
    X = sparse.vstack([first, problem.csr[50:]]).tocsr()
    expected = estimator(chosen).fit(X, problem.y)
    model = estimator(chosen | {"n_features": "grow"})
    model.partial_fit(X[:50, :narrow], problem.y[:50], classes=[-1, 1])
    model.save(tmp_path / "model")
    model = rarefy.load(tmp_path / "model")
    model.partial_fit(X[50:80], problem.y[50:80]).partial_fit(X[80:], problem.y[80:])
    assert (model.coef_[0, narrow:] != 0.0).any()
    np.testing.assert_array_equal(model.coef_, expected.coef_)


# --- namespaces -----------------------------------------------------------------------------

NAMESPACES = ("title", "text", "")


def vw_file(folder: Path, n: int = 300) -> tuple[Path, np.ndarray, np.ndarray, list[str]]:
    """Rows with features of two namespaces and of none, some of them called alike."""
    rng = np.random.default_rng(5)
    features = [(space, f"f{i}") for space in NAMESPACES for i in range(6)] + [("", "title=f0")]
    X = np.where(rng.random((n, len(features))) < 0.4, rng.normal(size=(n, len(features))), 0.0)
    y = np.where(X[:, :8].sum(axis=1) + rng.normal(size=n) > 0.0, 1, -1)
    lines = []
    for x, label in zip(X, y, strict=True):
        parts = [f"{label}"]
        for j in np.flatnonzero(x):
            space, name = features[j]
            parts.append(f"|{space} {name}:{float(x[j])!r}")
        lines.append(" ".join(parts))
    path = folder / "rows.vw"
    path.write_text("\n".join(lines) + "\n")
    return path, X, y.astype(float), [f"{s}={f}" if s else f for s, f in features]


def test_namespaces(tmp_path):
    path, X, y, names = vw_file(tmp_path)
    l1 = np.array([0.3 if name.startswith("title=") else 0.004 for name in names])
    l1[-1] = 0.004  # it is called so, and has no namespace
    chosen = {"rule": "fobos", "loss": "logistic", "eta0": 0.5}
    expected = naive.fit(X, y, **chosen, l1=l1, fit_intercept=True)
    assert 0.1 < np.mean(expected.coef == 0.0) < 0.9
    model = SparseOnlineClassifier(**chosen, l1=0.004, l1_of={"tit*": 0.3}, passes=1)
    model.fit_stream(rarefy.read(path))
    kept = model.stream_.kept()
    twice = names.index("title=f0")
    for name, weight in zip(kept.names, kept.weights, strict=True):
        columns = [j for j, other in enumerate(names) if other == name]
        assert any(abs(weight - expected.coef[0, j]) < 1e-9 for j in columns)
    assert len(kept.weights) == np.count_nonzero(expected.coef)
    assert expected.coef[0, twice] != expected.coef[0, -1]


def test_stopped_and_resumed(tmp_path):
    path, *_ = vw_file(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    first, rest = tmp_path / "first.vw", tmp_path / "rest.vw"
    first.write_text("".join(lines[:100]))
    rest.write_text("".join(lines[100:]))
    chosen = {"rule": "fobos", "l1": 0.004, "l1_of": {"title": 0.3}}
    whole = rarefy.train(path, **chosen)
    rarefy.train(first, output=tmp_path / "model", **chosen)
    resumed = rarefy.train(rest, resume=tmp_path / "model")
    assert resumed.weights_ == whole.weights_


def test_crosses_have_the_usual_penalty(tmp_path):
    path, *_ = vw_file(tmp_path)
    chosen = {"rule": "fobos", "l1": 0.0}
    model = rarefy.train(
        path, **chosen, l1_of={"title": 1e3, "text": 1e3}, cross=[("title", "text")]
    )
    kept = [name for name in model.weights_ if name.startswith("t")]
    assert kept
    assert all("*" in name for name in kept if name != "title=f0")


def test_first_rows_without_the_namespace(tmp_path):
    path, *_ = vw_file(tmp_path)
    with pytest.warns(RarefyWarning, match="no feature of 'titel'"):
        rarefy.train(path, rule="fobos", l1_of={"titel": 0.1})


@pytest.mark.parametrize(
    ("name", "row", "known", "unknown"),
    [
        ("rows.vw", "{label} |title a b |text c\n", "tit*", "titel"),
        ("rows.svm", "{label} 3:1 7:2\n", "7", "8"),
        ("rows.jsonl", '{{"label": {label}, "title": "a"}}\n', "title", "titel"),
    ],
)
def test_names_of_no_feature_are_told_in_the_end(tmp_path, recwarn, name, row, known, unknown):
    path = tmp_path / name
    path.write_text("".join(row.format(label=n % 2) for n in range(30)))
    rarefy.train(path, output=tmp_path / "model", rule="fobos", l1_of={known: 0.1})
    assert not [one for one in recwarn if "l1_of" in str(one.message)]
    message = f"no effect for '{unknown}': none of the 30 examples"
    with pytest.warns(RarefyWarning, match=message):
        rarefy.train(path, rule="fobos", l1_of={known: 0.1, unknown: 0.2})
    recwarn.clear()
    more = tmp_path / f"more.{name}"
    more.write_text({"vw": "1 |other x\n", "svm": "1 9:1\n"}.get(name[5:], '{"label":1,"b":2}\n'))
    rarefy.train(more, resume=tmp_path / "model")
    assert not [one for one in recwarn if "l1_of" in str(one.message)]


def test_names_of_no_column(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,title,size\n" + "yes,a,1\nno,b,2\n" * 20)
    with pytest.raises(
        InputError, match=r"no column 'titel' .*'title'.*; columns with features are"
    ):
        rarefy.train(str(path), rule="fobos", l1_of={"titel": 0.1})
    with pytest.raises(InputError, match=r"no column 'Z\*'"):
        rarefy.train(str(path), rule="fobos", l1_of={"Z*": 0.1})


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"rule": "ogd", "l1_of": {0: 1.0}}, "does not apply to the rule ogd"),
        ({"l1_of": {0: -1.0}}, "a number >= 0"),
        ({"l1_of": {}}, "values of l1 by the names"),
        ({"l1_of": 0.1}, "values of l1 by the names"),
        ({"l1_of": {9: 1.0}}, "no column '9'"),
        ({"l1_of": {0: 1.0}, "l1": "auto"}, "cannot be combined with parameters that are tuned"),
    ],
)
def test_nonsense(chosen, message):
    with pytest.raises(ConfigError, match=message):
        SparseOnlineClassifier(**chosen).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("store", ["hashed", "array"])
def test_stores_without_names(tmp_path, store):
    path, *_ = vw_file(tmp_path)
    with pytest.raises(ConfigError, match="needs the names of features"):
        rarefy.train(path, l1_of={"title": 1.0}, store=store)


def test_every_rule_with_l1_has_it():
    assert {name for name, kind in RULES.items() if kind in WITH_OWN_L1} == {
        name for name, kind in RULES.items() if "l1" in kind._fields and not kind.common_fields
    }


def test_one_l1_for_all_is_the_rule_itself():
    problem = problem_for("logistic")
    chosen = setup("scale-free", "logistic", l1=0.5)
    expected = estimator(chosen).fit(problem.csr, problem.y)
    fitted = estimator(chosen | {"l1_of": {"*": 0.5}}).fit(problem.csr, problem.y)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
