"""Models that tune themselves, against the best point of a full cross-validation, in one pass."""

import math
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import markdown_table
from experiments.peers.data import SOURCES, Task, absent, task
from rarefy import SparseOnlineClassifier, sweep

ORDERS = range(9, 12)  # seeds of the rows' order and folds
N_FOLDS = 10
N_TIMES = 2
MOST_ROWS = 25_000
STEPS = np.logspace(-1.0, 2.0, 7)  # in shares of what a rule takes for values of size one
SCALE_FREE_STEPS = np.logspace(-1.7, 0.1, 7)
GRID = {
    "adagrad-fobos": 0.1 * STEPS,
    "ftrl": 0.1 * STEPS,
    "frda": STEPS,
    "scale-free": SCALE_FREE_STEPS,
    "scale-free-ftrl": SCALE_FREE_STEPS,
}
BETAS = {rule: {"beta": [1.0, 0.0]} for rule in ("scale-free", "scale-free-ftrl")}
N_L1 = 12
NORMS = (math.inf, 2.0, 1.0)

Floats = NDArray[np.float64]


class Fixed(NamedTuple):
    """The best of all points by the mean over all orders and folds."""

    parameters: dict[str, object]
    accuracy: Floats  # by order
    error: float  # the standard error of a cross-validation
    chosen_without: float  # the accuracy of points that were chosen without the fold to be judged


class Tuned(NamedTuple):
    accuracy: float
    weights: float
    cost: float  # in fits with what was found


def best_fixed(orders: list[Task], grids: list[dict[str, object]]) -> Fixed:
    swept = [[_swept(data, grid) for grid in grids] for data in orders]
    points = [point for of_grid, _ in swept[0] for point in of_grid]
    by_fold = np.array(
        [np.nan_to_num(np.vstack([accuracy for _, accuracy in own])) for own in swept]
    )  # (order, point, fold)
    best = int(by_fold.mean(axis=(0, 2)).argmax())
    own = by_fold[:, best]
    errors = own.std(axis=1, ddof=1) / math.sqrt(N_FOLDS)
    return Fixed(
        points[best],
        own.mean(axis=1),
        float(np.sqrt(np.mean(errors**2))),
        float(np.mean([_chosen_without(accuracy) for accuracy in by_fold])),
    )


def _swept(data: Task, grid: dict[str, object]) -> tuple[list[dict[str, Any]], Floats]:
    """The points of the grid, without those by which it is widened, and accuracy (point, fold)."""
    found = sweep(data.X, data.y, **grid, n_l1=N_L1, folds=data.folds, passes=1, n_jobs=1)
    n_points = n_points_of(grid)
    return found.points[:n_points], found.by_fold["accuracy"][:n_points]


def n_points_of(grid: dict[str, object]) -> int:
    return N_L1 * math.prod(len(values) for values in grid.values() if isinstance(values, list))


def _chosen_without(by_fold: Floats) -> float:
    """The accuracy in each fold of the point that is the best in the others, (point, fold)."""
    chosen = [np.delete(by_fold, fold, axis=1).mean(axis=1).argmax() for fold in range(N_FOLDS)]
    return float(np.mean(by_fold[chosen, range(N_FOLDS)]))


def tuned(data: Task, **left: object) -> Tuned:
    """Over the same folds."""
    accuracy, weights, times = [], [], np.zeros(2)
    for fold in range(N_FOLDS):
        X, y, X_own, y_own = data.split(fold)
        model = SparseOnlineClassifier(passes=1, shuffle=False, **left).fit(X, y)
        alone = SparseOnlineClassifier(passes=1, shuffle=False, **model.found_).fit(X, y)
        for number, estimator in enumerate((model, alone)):
            times[number] += min(_time(estimator, X, y) for _ in range(N_TIMES))
        accuracy.append(model.score(X_own, y_own))
        weights.append(model.n_nonzero_)
    return Tuned(float(np.mean(accuracy)), float(np.mean(weights)), float(times[0] / times[1]))


def _time(model: SparseOnlineClassifier, X: Any, y: Any) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def measure() -> str:
    of_rules = [
        {"rule": rule, "eta0": steps.tolist(), **BETAS.get(rule, {})}
        for rule, steps in GRID.items()
    ]
    of_norms = [{"rule": "frda", "q": q, "eta0": STEPS.tolist()} for q in NORMS]
    return (
        f"One pass, logistic loss, {N_FOLDS} folds, in {len(ORDERS)} orders of the rows with folds "
        f"of their own: the best of {sum(map(n_points_of, of_rules))} points (rule, eta0, l1, "
        f"beta) by cross-validation over all of them, with the standard error of one "
        f"cross-validation, and `rule='auto'` learned without each fold. The best of so many is "
        f"better than it will be on new data; so, beside it, the accuracy of the point that was "
        f"the best without the fold by which it is judged. The differences to both are in standard "
        f"errors; promised: no less than -1. How that to the best point varies over the orders is "
        f"beside them. The cost is in fits of the model that was found, by CPU time, best of "
        f"{N_TIMES}; promised: at most 4.\n\n"
        f"{_table(of_rules, 'rule', rule='auto')}\n\n"
        f"The same for `rule='frda', q='auto'`, which finds q, l1 and the step, beside the best of "
        f"{sum(map(n_points_of, of_norms))} points (q, eta0, l1) of frda.\n\n"
        f"{_table(of_norms, 'q', rule='frda', q='auto')}"
    )


def _table(grids: list[dict[str, object]], named: str, **left: object) -> str:
    """A row for each data set at hand; as many at a time as there are cores, one each."""
    names = [name for name in SOURCES if not absent([name])]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn")) as pool:
        rows = list(pool.map(partial(_row, grids, named, left), names))
    header = ["data", "size", "best point", "chosen without", "auto", "differences", "by order"]
    header += ["weights", "cost"]
    return markdown_table(header, rows)


def _row(
    grids: list[dict[str, object]], named: str, left: dict[str, object], name: str
) -> list[str]:
    orders = [task(name, MOST_ROWS, N_FOLDS, seed) for seed in ORDERS]
    best = best_fixed(orders, grids)
    found = [tuned(data, **left) for data in orders]
    accuracy = np.array([own.accuracy for own in found])
    behind = (accuracy - best.accuracy) / best.error
    behind_chosen = (accuracy.mean() - best.chosen_without) / best.error
    n_rows, n_features = orders[0].X.shape
    return [
        name,
        f"{n_rows:,} x {n_features:,}",
        f"{100 * best.accuracy.mean():.2f} ± {100 * best.error:.2f} "
        f"({named} {best.parameters[named]})",
        f"{100 * best.chosen_without:.2f}",
        f"{100 * accuracy.mean():.2f}",
        f"{behind.mean():+.1f}, {behind_chosen:+.1f}",
        f"{behind.min():+.1f} to {behind.max():+.1f}",
        f"{np.mean([own.weights for own in found]):,.0f}",
        f"{np.mean([own.cost for own in found]):.1f}",
    ]
