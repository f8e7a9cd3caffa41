"""The grids of Vowpal Wabbit."""

from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.peers.data import Task
from experiments.peers.outcome import Outcome
from experiments.peers.plan import Plan
from experiments.peers.theirs import l1s

BITS = 20
CONSTANT = 11_650_396 % 2**BITS  # where its intercept is kept
COMMON = ["--quiet", "--loss_function", "logistic", "--holdout_off", "--predict_only_model"]
STEPS = {(): (-2.2, -4.8), ("--sgd",): (-0.6, -4.2)}  # and decades of --l1, as in theirs.PATH
ALPHAS = ("0.1", "1")


def l1(task: Task, plan: Plan) -> Outcome:
    """--l1 with its adaptive steps, and with plain ones."""
    options = [
        (*steps, "--l1", repr(value))
        for steps, path in STEPS.items()
        for value in l1s(task, plan.n_points // 2, path)
    ]
    return judged(task, plan, options)


def ftrl(task: Task, plan: Plan) -> Outcome:
    """--ftrl; with --ftrl_alpha 0.005, its default, ten passes are not enough."""
    values = np.logspace(-0.5, 3.0, plan.n_points // 2)
    options = [
        ("--ftrl", "--ftrl_alpha", alpha, "--l1", repr(float(value)))
        for alpha, value in product(ALPHAS, values)
    ]
    return judged(task, plan, options)


def judged(task: Task, plan: Plan, options: list[tuple[str, ...]]) -> Outcome:
    accuracy: list[list[float]] = [[] for _ in options]
    weights: list[list[float]] = [[] for _ in options]
    with TemporaryDirectory() as folder:
        for fold in range(plan.n_folds):
            X, y, X_own, y_own = task.split(fold)
            text = Path(folder, "rows.vw")
            text.write_text(as_text(X, y))
            for point, chosen in enumerate(options):
                found, intercept = learned(text, X.shape[1], plan.passes, chosen)
                scores = X_own @ found + intercept
                accuracy[point].append(float(np.mean((scores > 0.0) == (y_own > 0.0))))
                weights[point].append(float(np.count_nonzero(found)))
    return Outcome(accuracy, weights)


def as_text(X: Any, y: NDArray[np.float64]) -> str:
    lines = []
    for row, label in enumerate(y.tolist()):
        part = slice(X.indptr[row], X.indptr[row + 1])
        entries = zip(places(X.indices[part]).tolist(), X.data[part].tolist(), strict=True)
        lines.append(f"{label:g} | {' '.join(f'{i}:{value!r}' for i, value in entries)}\n")
    return "".join(lines)


def places(columns: NDArray[Any]) -> NDArray[Any]:
    """The index of every column, none of which is that of the intercept."""
    return columns + (columns >= CONSTANT)


def learned(
    text: Path, n_features: int, passes: int, options: tuple[str, ...]
) -> tuple[NDArray[np.float64], float]:
    """All weights, and the intercept."""
    from vowpalwabbit import Workspace

    readable, cache = text.with_suffix(".model"), text.with_suffix(".cache")
    files = ["-d", text, "--cache_file", cache, "--readable_model", readable]
    if not cache.exists() or cache.stat().st_mtime_ns < text.stat().st_mtime_ns:
        files.append("-k")
    numbers = ["-b", str(BITS), "--passes", str(passes)]
    Workspace(arg_list=[*COMMON, *numbers, *map(str, files), *options]).finish()
    weights = np.zeros(2**BITS)
    for line in readable.read_text().splitlines():
        index, _, value = line.partition(":")
        if index.isdigit() and value:
            weights[int(index)] = float(value.split()[0])
    return weights[places(np.arange(n_features))], float(weights[CONSTANT])
