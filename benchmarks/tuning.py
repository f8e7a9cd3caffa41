"""Models that tune themselves, against the best point of a full cross-validation, in one pass."""

import math
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tables import markdown_table
from experiments.peers.data import SOURCES, Task, absent, task
from rarefy import SparseOnlineClassifier, sweep

N_FOLDS = 10
N_TIMES = 3
MOST_ROWS = 25_000
STEPS = np.logspace(-1.0, 2.0, 7)  # in shares of what a rule takes for values of size one
GRID = {
    "adagrad-fobos": 0.1 * STEPS,
    "ftrl": 0.1 * STEPS,
    "frda": STEPS,
    "scale-free": np.logspace(-1.7, 0.1, 7),
}
N_L1 = 12
NORMS = (math.inf, 2.0, 1.0)


class Fixed(NamedTuple):
    """The best of all points."""

    parameters: dict[str, object]
    accuracy: float
    error: float
    chosen_without: float  # the accuracy of points that were chosen without the fold to be judged


def best_fixed(data: Task, grids: list[dict[str, object]]) -> Fixed:
    common = {"n_l1": N_L1, "folds": data.folds, "passes": 1}
    swept = [sweep(data.X, data.y, **grid, **common) for grid in grids]
    by_fold = np.vstack([np.nan_to_num(found.by_fold["accuracy"]) for found in swept])
    chosen_without = [
        by_fold[np.delete(by_fold, fold, axis=1).mean(axis=1).argmax(), fold]
        for fold in range(N_FOLDS)
    ]
    best = max(
        (found.best() for found in swept),
        key=lambda choice: choice.measures["accuracy"],
    )
    return Fixed(
        best.parameters,
        best.measures["accuracy"],
        best.measures["standard_error"],
        float(np.mean(chosen_without)),
    )


def tuned(data: Task, **left: object) -> tuple[float, float, float]:
    """Accuracy and weights kept over the same folds, and the time in fits with what was found."""
    accuracy, weights, times = [], [], np.zeros(2)
    for fold in range(N_FOLDS):
        X, y, X_own, y_own = data.split(fold)
        model = SparseOnlineClassifier(**left).fit(X, y)
        alone = SparseOnlineClassifier(**model.found_).fit(X, y)
        for number, estimator in enumerate((model, alone)):
            times[number] += min(_time(estimator, X, y) for _ in range(N_TIMES))
        accuracy.append(model.score(X_own, y_own))
        weights.append(model.n_nonzero_)
    return float(np.mean(accuracy)), float(np.mean(weights)), float(times[0] / times[1])


def _time(model: SparseOnlineClassifier, X: Any, y: Any) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def measure() -> str:
    n_points = len(STEPS) * N_L1
    of_rules = [{"rule": rule, "eta0": steps.tolist()} for rule, steps in GRID.items()]
    of_norms = [{"rule": "frda", "q": q, "eta0": STEPS.tolist()} for q in NORMS]
    return (
        f"One pass, logistic loss, {N_FOLDS} folds: the best of {len(of_rules) * n_points} "
        f"points (rule, eta0, l1) by cross-validation, and `rule='auto'` learned without each "
        f"fold. The best of so many is better than it will be on new data; so, beside it, the "
        f"accuracy of the point that was the best without the fold by which it is judged. The "
        f"differences to both are in standard errors of the best point; promised: no less than "
        f"-1. The cost is in fits of the model that was found, by CPU time, best of {N_TIMES}; "
        f"promised: at most 4.\n\n"
        f"{_table(of_rules, 'rule', rule='auto')}\n\n"
        f"The same for `rule='frda', q='auto'`, which finds q, l1 and the step, beside the best of "
        f"{len(of_norms) * n_points} points (q, eta0, l1) of frda.\n\n"
        f"{_table(of_norms, 'q', rule='frda', q='auto')}"
    )


def _table(grids: list[dict[str, object]], named: str, **left: object) -> str:
    rows = []
    for name in SOURCES:
        if absent([name]):
            continue
        data = task(name, MOST_ROWS, N_FOLDS)
        parameters, best, error, chosen_without = best_fixed(data, grids)
        accuracy, weights, cost = tuned(data, **left)
        rows.append(
            [
                name,
                f"{len(data.y):,} x {data.X.shape[1]:,}",
                f"{100 * best:.2f} ± {100 * error:.2f} ({named} {parameters[named]})",
                f"{100 * chosen_without:.2f}",
                f"{100 * accuracy:.2f}",
                f"{(accuracy - best) / error:+.1f}, {(accuracy - chosen_without) / error:+.1f}",
                f"{weights:,.0f}",
                f"{cost:.1f}",
            ]
        )
        print(rows[-1], flush=True)
    header = ["data", "size", "best point", "chosen without", "auto", "differences", "weights"]
    header += ["cost"]
    return markdown_table(header, rows)
