"""The grids of LIBLINEAR, scikit-learn's SGD and River."""

import warnings
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC, l1_min_c

from experiments.peers.data import SEED, Task
from experiments.peers.outcome import Outcome
from experiments.peers.plan import Plan

PATH = (-0.05, -3.5)  # decades of l1 below the least that leaves no weight


def largest_l1(task: Task) -> float:
    """The least l1 that leaves no weight where the mean of the logistic loss is minimised."""
    return 1.0 / (len(task.y) * float(l1_min_c(task.X, task.y, loss="log")))


def l1s(task: Task, n_points: int, path: tuple[float, float] = PATH) -> list[float]:
    return (largest_l1(task) * np.logspace(*path, n_points)).tolist()  # type: ignore[no-any-return]


def judged(task: Task, plan: Plan, models: Iterable[Callable[[], Any]]) -> Outcome:
    """By scikit-learn's estimators that the functions make."""
    accuracy, weights = [], []
    for model in models:
        of_folds = []
        for fold in range(plan.n_folds):
            X, y, X_own, y_own = task.split(fold)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what has not converged
                fitted = model().fit(X, y)
            of_folds.append((fitted.score(X_own, y_own), np.count_nonzero(fitted.coef_)))
        accuracy.append([float(score) for score, _ in of_folds])
        weights.append([float(count) for _, count in of_folds])
    return Outcome(accuracy, weights)


def liblinear_logistic(task: Task, plan: Plan) -> Outcome:
    n_rows = len(task.y) * (1.0 - 1.0 / plan.n_folds)
    return judged(
        task,
        plan,
        (
            lambda l1=l1: LogisticRegression(
                penalty="l1", solver="liblinear", C=1.0 / (n_rows * l1), random_state=SEED
            )
            for l1 in l1s(task, plan.n_points)
        ),
    )


def liblinear_squared_hinge(task: Task, plan: Plan) -> Outcome:
    least = float(l1_min_c(task.X, task.y, loss="squared_hinge"))
    return judged(
        task,
        plan,
        (
            lambda c=c: LinearSVC(penalty="l1", dual=False, C=c, random_state=SEED)
            for c in least / np.logspace(*PATH, plan.n_points)
        ),
    )


def sgd(alpha: float, schedule: dict[str, Any], passes: int, l1_ratio: float) -> SGDClassifier:
    return SGDClassifier(
        loss="log_loss",
        penalty="elasticnet",
        l1_ratio=l1_ratio,
        alpha=alpha / l1_ratio,
        max_iter=passes,
        tol=None,
        random_state=SEED,
        **schedule,
    )


def sgd_l1(task: Task, plan: Plan) -> Outcome:
    """With scikit-learn's own steps, and with steps like ours."""
    schedules: list[dict[str, Any]] = [
        {},
        {"learning_rate": "invscaling", "eta0": 1.0, "power_t": 0.5},
    ]
    grid = product(schedules, l1s(task, plan.n_points // 2))
    return judged(
        task, plan, (lambda s=s, l1=l1: sgd(l1, s, plan.passes, l1_ratio=1.0) for s, l1 in grid)
    )


def sgd_elastic(task: Task, plan: Plan) -> Outcome:
    grid = product((0.9, 0.5), l1s(task, plan.n_points // 2))
    return judged(
        task, plan, (lambda r=r, l1=l1: sgd(l1, {}, plan.passes, l1_ratio=r) for r, l1 in grid)
    )


def river(task: Task, plan: Plan) -> Outcome:
    """Its logistic regression with l1, in one pass, with two sizes of steps."""
    from river import linear_model, optim

    accuracy, weights = [], []
    for step, l1 in product((0.1, 1.0), l1s(task, plan.n_points // 2)):
        of_folds = []
        for fold in range(plan.n_folds):
            X, y, X_own, y_own = task.split(fold)
            model = linear_model.LogisticRegression(optimizer=optim.SGD(step), l1=l1)
            for row, label in zip(as_dicts(X), y > 0.0, strict=True):
                model.learn_one(row, bool(label))
            right = [
                model.predict_one(row) == bool(label)
                for row, label in zip(as_dicts(X_own), y_own > 0.0, strict=True)
            ]
            kept = sum(weight != 0.0 for weight in model.weights.values())
            of_folds.append((float(np.mean(right)), float(kept)))
        accuracy.append([score for score, _ in of_folds])
        weights.append([count for _, count in of_folds])
    return Outcome(accuracy, weights)


def as_dicts(X: Any) -> Iterable[dict[int, float]]:
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))
