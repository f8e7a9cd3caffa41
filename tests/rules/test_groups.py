"""Group L1: as in the equations, by columns and by namespaces, and never half a group."""

import numpy as np
import pytest

import rarefy
from rarefy import ConfigError, SparseOnlineClassifier
from tests import data, naive
from tests.rules.test_exactness import assert_same, estimator, problem_for, slow_where
from tests.rules.test_own_l1 import vw_file


class GroupDualAveraging(naive.DualAveraging):
    """w_g ← −[1 − λ T_g / ‖G_g‖]₊ G_g / (1/η_t + λ₂t), T_g = t √n_g, or Σ ‖r_g‖ over rounds.

    A group is all weights of its features, those of every class; n_g counts what has had g ≠ 0.
    """

    def __init__(self, shape, penalty, intensity, groups):
        super().__init__(shape, penalty, intensity)
        self.groups = groups
        self.seen = np.zeros(shape, bool)
        self.totals = dict.fromkeys(groups, 0.0)

    def update(self, now):
        self.G = self.G + now.g
        self.seen = self.seen | (now.g != 0)
        r = self.intensity(now)
        self.w = -self.G / (1 / now.eta + self.l2 * now.t)
        for columns in self.groups:
            if isinstance(r, float):
                total = now.t * np.sqrt(self.seen[:, columns].sum())
            else:
                self.totals[columns] += np.sqrt(np.sum(r[:, columns] ** 2))
                total = self.totals[columns]
            norm = np.sqrt(np.sum(self.G[:, columns] ** 2))
            threshold = self.l1[columns[0]] * total
            self.w[:, columns] *= max(0.0, 1.0 - threshold / norm) if norm > 0 else 0.0


def reference(
    X, y, groups: dict[str, list[int]], *, rule: str, q=np.inf, basis="gradient", **chosen
):
    """The dense fit; columns in no group are groups of one."""
    in_groups = {column for columns in groups.values() for column in columns}
    alone = [(i,) for i in range(X.shape[1]) if i not in in_groups]

    def make(shape, penalty):
        aware = naive.FeatureAwareIntensity(shape, q, basis, 1e6)
        intensity = aware if rule == "frda" else naive.PlainIntensity()
        columns = [*map(tuple, groups.values()), *alone]
        return GroupDualAveraging(shape, penalty, intensity, columns)

    return naive.fit(X, y, rule=rule, other=make, **chosen)


def groups_for(d: int) -> dict[str, list[int]]:
    """Groups of four columns that are far from each other, but for the last columns."""
    return {f"g{k}": list(range(k, d - 5, (d - 5) // 4)) for k in range((d - 5) // 4)}


def strength(problem, chosen: dict, groups: dict[str, list[int]]) -> tuple[dict, naive.Result]:
    """The settings at an l1 that leaves some groups without weights, and the reference there."""
    low, high = 1e-6, 10.0
    for _ in range(40):
        chosen = chosen | {"l1": np.sqrt(low * high)}
        expected = reference(problem.dense, problem.y, groups, **chosen)
        zeros = np.mean(expected.coef == 0.0)
        if 0.3 <= zeros <= 0.7:
            return chosen, expected
        low, high = (chosen["l1"], high) if zeros < 0.3 else (low, chosen["l1"])
    raise AssertionError(f"no l1 leaves some groups: {chosen}")


CASES = [
    ("rda", {}, "logistic"),
    ("frda", {"q": 2.0}, "logistic"),
    ("rda", {"l2": 0.01, "schedule": "constant", "eta0": 0.05}, "hinge"),
    ("frda", {"basis": "feature", "l2": 0.01}, "hinge"),
    ("frda", {"q": 1.0, "basis": "update"}, "squared"),
]


@pytest.mark.parametrize(
    ("rule", "more", "loss"),
    [pytest.param(*case, marks=slow_where(n > 1)) for n, case in enumerate(CASES)],
)
def test_as_the_equations_have_it(rule, more, loss):
    problem = problem_for(loss)
    groups = groups_for(problem.dense.shape[1])
    chosen = {"rule": rule, "loss": loss, "eta0": 0.3, "passes": 2, "fit_intercept": True, **more}
    chosen, expected = strength(problem, chosen, groups)
    fitted = estimator(chosen | {"groups": groups}).fit(problem.csr, problem.y)
    assert_same(fitted, expected)
    for columns in groups.values():
        assert len(set((np.ravel(fitted.coef_)[columns] == 0.0).tolist())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["rda", "frda"])
def test_several_classes(rule):
    """A group is dropped for all classes."""
    problem = data.problem("multiclass")
    groups = groups_for(problem.dense.shape[1])
    chosen = {"rule": rule, "loss": "logistic", "eta0": 0.3, "multiclass": "softmax"}
    chosen, expected = strength(problem, chosen | {"fit_intercept": False}, groups)
    assert_same(estimator(chosen | {"groups": groups}).fit(problem.csr, problem.y), expected)


@pytest.mark.parametrize("rule", ["rda", "frda"])
def test_groups_of_one_are_plain_l1(rule):
    problem = problem_for("logistic")
    chosen = {"rule": rule, "loss": "logistic", "l1": 0.01, "eta0": 0.3}
    expected = estimator(chosen).fit(problem.csr, problem.y).coef_
    fitted = estimator(chosen | {"groups": {"first": [0]}}).fit(problem.csr, problem.y).coef_
    # r = 1 from the first round on whether a feature occurred or not: every one occurs soon
    np.testing.assert_allclose(fitted, expected, rtol=1e-9, atol=1e-12)


def test_pieces_files_and_failed_calls(tmp_path):
    problem = problem_for("logistic")
    groups = groups_for(problem.dense.shape[1])
    chosen = {"rule": "frda", "loss": "logistic", "l1": 0.03, "calibrate": False}
    model = estimator(chosen | {"groups": groups})
    whole = estimator(chosen | {"groups": groups}).fit(problem.csr, problem.y)
    for rows in (slice(0, 1), slice(1, 80), slice(80, None)):
        model.partial_fit(problem.csr[rows], problem.y[rows], classes=[-1, 1])
        with pytest.raises(rarefy.DivergenceError):
            model.partial_fit(problem.csr[:40] * 1e49, problem.y[:40])
        model.save(tmp_path / "model")
        model = rarefy.load(tmp_path / "model")
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert 0 < model.n_nonzero_ < model.coef_.size


def test_namespaces(tmp_path):
    path, X, y, _ = vw_file(tmp_path)
    spaces = [*("title",) * 6, *("text",) * 6, *("",) * 7]
    groups = {space: [i for i, own in enumerate(spaces) if own == space] for space in set(spaces)}
    chosen = {"rule": "rda", "loss": "logistic", "eta0": 0.5, "l1": 0.02}
    expected = reference(X, y, groups, **chosen, fit_intercept=True).coef[0]
    kept = [space for space, columns in groups.items() if (expected[columns] != 0.0).any()]
    assert 0 < len(kept) < 3
    model = rarefy.train(path, **chosen, groups="namespaces")
    found = dict(zip(model.stream_.kept().names, model.stream_.kept().weights, strict=True))
    np.testing.assert_allclose(
        sorted(found.values()), sorted(expected[expected != 0.0]), rtol=1e-9, atol=1e-12
    )
    lines = path.read_text().splitlines(keepends=True)
    (tmp_path / "first.vw").write_text("".join(lines[:100]))
    (tmp_path / "rest.vw").write_text("".join(lines[100:]))
    rarefy.train(tmp_path / "first.vw", output=tmp_path / "model", **chosen, groups="namespaces")
    resumed = rarefy.train(tmp_path / "rest.vw", resume=tmp_path / "model")
    assert resumed.weights_ == model.weights_


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"rule": "fobos", "groups": {"a": [0]}}, "does not apply to the rule fobos"),
        ({"groups": {"a": [0]}}, "Rules with groups: rda, frda"),
        ({"rule": "rda", "groups": {}}, "columns by the name of their group"),
        ({"rule": "rda", "groups": {"a": 3}}, "a list of columns is expected"),
        ({"rule": "rda", "groups": {"a": [9]}}, "groups: X has no column '9'"),
        ({"rule": "rda", "groups": "namespaces"}, "is for files"),
        ({"rule": "rda", "groups": {"a": [0]}, "l1_of": {0: 1.0}}, "without l1_of and average"),
        ({"rule": "rda", "groups": {"a": [0]}, "average": True}, "without l1_of and average"),
    ],
)
def test_nonsense(chosen, message):
    with pytest.raises(ConfigError, match=message):
        SparseOnlineClassifier(**chosen).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"groups": "namespaces", "store": "hashed"}, "needs the names of features"),
        ({"groups": "namespaces", "capacity": 5}, "cannot be combined with capacity"),
        ({"groups": {"a": ["b"]}}, "is for matrices"),
    ],
)
def test_nonsense_for_files(tmp_path, chosen, message):
    path, *_ = vw_file(tmp_path)
    with pytest.raises(ConfigError, match=message):
        rarefy.train(path, rule="rda", **chosen)
