"""Coin betting: the same as Vowpal Wabbit's, free of units, and never broke."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse

from tests import data, naive
from tests.in_order import classifier_in_order

PER_ROW = 4
N_FEATURES = 15


def rows_of_equal_norm(n: int = 400, seed: int = 0) -> data.Problem:
    """Rows of 4 features that are -1 or 1, so that Vowpal Wabbit's mean norm is always 4."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((n, N_FEATURES))
    for row in dense:
        row[rng.choice(N_FEATURES, PER_ROW, replace=False)] = rng.choice([-1.0, 1.0], PER_ROW)
    chances = 1.0 / (1.0 + np.exp(-2.0 * dense[:, :5].sum(axis=1)))
    return data.Problem(
        sparse.csr_matrix(dense), dense, np.where(rng.random(n) < chances, 1.0, -1.0)
    )


def fitted(X, y, **chosen):
    chosen = {"loss": "logistic", "passes": 1, "shuffle": False, "fit_intercept": False, **chosen}
    return classifier_in_order(rule="coin", **chosen).fit(X, y)


def vw_line(x, y) -> str:
    return f"{y:g} | " + " ".join(f"{i}:{x[i]:g}" for i in np.flatnonzero(x))


def state_of_vw(folder, lines: list[str], *options: str) -> np.ndarray:
    """What it knows of each feature: weight, -G, Σ|g|, largest |x|, winnings, largest slope."""
    (folder / "rows.vw").write_text("\n".join(lines) + "\n")
    command = (*options, "--noconstant", "--quiet", "--save_resume", "--readable_model", "state")
    subprocess.run(
        [sys.executable, "-m", "vowpalwabbit", "-d", "rows.vw", *command],
        cwd=folder,
        check=True,
        timeout=60,
    )
    parts = [line.split(":") for line in (folder / "state").read_text().splitlines()]
    found = {int(name): rest for name, *rest in parts if name.isdigit() and len(rest) == 1}
    return np.array([[float(part) for part in found[i][0].split()] for i in range(N_FEATURES)])


@pytest.mark.skipif(find_spec("vowpalwabbit") is None, reason="needs vowpalwabbit")
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_it_is_that_of_vowpal_wabbit(tmp_path, loss):
    """Its state is compared: the predictions that it prints are those of a round before."""
    problem, alpha = rows_of_equal_norm(), 2.0
    lines = [vw_line(x, y) for x, y in zip(problem.dense, problem.y, strict=True)]
    options = ("--coin", "--loss_function", loss, "--ftrl_alpha", f"{alpha}")
    theirs = state_of_vw(tmp_path, lines, *options)
    model = fitted(problem.csr, problem.y, loss=loss, eta0=alpha / PER_ROW)
    ours = model.learner_.state[:N_FEATURES, :4]
    expected = np.stack(
        [-theirs[:, 1], theirs[:, 2], theirs[:, 4] / PER_ROW, theirs[:, 3] * theirs[:, 5]], axis=1
    )
    assert np.abs(expected[:, 2]).max() > 1.0
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)


def test_rescaling_columns_changes_no_prediction():
    problem = data.problem("binary")
    units = 2.0 ** np.random.default_rng(3).integers(-12, 12, problem.dense.shape[1])
    expected = fitted(problem.dense, problem.y)
    rescaled = fitted(problem.dense * units, problem.y)
    assert rescaled.progressive_loss_ == expected.progressive_loss_
    np.testing.assert_array_equal(rescaled.coef_ * units, expected.coef_)


def test_no_weight_loses_all_that_it_has():
    """Labels that follow no feature, and values of which later ones are larger."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3)) * np.linspace(1.0, 50.0, 500)[:, np.newaxis]
    y = np.where(rng.random(500) < 0.5, -1.0, 1.0)
    won = fitted(X, y, loss="hinge", eta0=0.5).learner_.state[:3, 2]
    assert -0.5 < won.min() < 0.0


def test_by_hand():
    """Subgradients -2 and -1 of values 2 and 1, each below the margin."""
    rows, labels = np.array([[2.0], [1.0]]), np.array([1.0, 1.0])
    chosen = {"rule": "coin", "loss": "hinge", "eta0": 0.3}
    # L = 2, Σ|g| = 2, nothing was bet.
    assert naive.fit(rows[:1], labels[:1], **chosen).coef[0, 0] == pytest.approx(0.3 * 2 / (2 * 4))
    # 0.075 was bet on 1; then Σ|g| = 3.
    expected = (0.3 + 0.075) * 3 / (2 * 5)
    assert naive.fit(rows, labels, **chosen).coef[0, 0] == pytest.approx(expected)
