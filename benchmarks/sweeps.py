"""A grid in one pass: against the same models one after the other, and against GridSearchCV."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.data import Dataset, svmlight, zipf_rows
from benchmarks.tables import markdown_table
from rarefy import SparseOnlineClassifier, sweep

N_LANES = 64
DECADES = {"scale-free": (-0.5, 1.5)}  # of l1
RULES = ("frda", "fobos", "ftrl", "scale-free")
N_L1, N_FOLDS, PASSES = 30, 10, 20
REAL = [
    (("movie-reviews", "ub.svm.xz"), "movie reviews"),
    (("amazon-books", "ub6000.svm.xz"), "Amazon book reviews"),
]


def alternating(repeats: int, *runs: Callable[[], Any]) -> list[float]:
    """The least time of each, run in turn, so that a slow moment of the machine hits all."""
    times = [[] for _ in runs]
    for _ in range(repeats):
        for run, own in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            own.append(time.perf_counter() - start)
    return [min(own) for own in times]


def one_after_the_other(dataset: Dataset, rule: str, l1s: list[float]) -> None:
    for l1 in l1s:
        model = SparseOnlineClassifier(rule, "hinge", l1=l1, passes=1, shuffle=False)
        model.fit(dataset.X, dataset.y)


def lanes(dataset: Dataset, rule: str) -> list[object]:
    """One pass of 64 models: the models one by one on one core, the sweep on one and on all."""
    l1s = np.logspace(*DECADES.get(rule, (-6, -3)), N_LANES).tolist()

    def side_by_side(n_jobs: int | None, values: list[float] = l1s) -> None:
        sweep(dataset.X, dataset.y, rule=rule, loss="hinge", l1=values, folds=None, n_jobs=n_jobs)

    one_after_the_other(dataset, rule, l1s[:1])  # compiles
    side_by_side(1, l1s[:1])
    singly, on_one, on_all = alternating(
        5,
        lambda: one_after_the_other(dataset, rule, l1s),
        lambda: side_by_side(1),
        lambda: side_by_side(None),
    )
    return [
        rule, dataset.name, f"{singly:.2f}", f"{on_one:.2f}", f"{on_all:.2f}",
        f"{singly / on_one:.1f}", f"{singly / on_all:.1f}",
    ]  # fmt: skip


def grid_search(dataset: Dataset) -> list[object]:
    """30 penalties, 10 folds, 20 passes; both with two jobs, and without a final fit."""
    X, y = dataset.X, dataset.y
    penalties = np.logspace(-7, -2, N_L1).tolist()
    sgd = SGDClassifier(loss="log_loss", penalty="l1", max_iter=PASSES, tol=None)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(sgd, {"alpha": penalties}, cv=folds, n_jobs=2, refit=False)

    def ours() -> Any:
        return sweep(X, y, rule="frda", l1=penalties, folds=N_FOLDS, passes=PASSES, n_jobs=2)

    best = ours().best()  # compiles
    theirs, our_time = alternating(2, lambda: search.fit(X, y), ours)
    return [
        dataset.name, f"{theirs:.1f}", f"{our_time:.1f}", f"{theirs / our_time:.1f}",
        f"{search.best_score_:.4f}", f"{best.measures['accuracy']:.4f}",
    ]  # fmt: skip


def measure() -> str:
    text = f"One pass with {N_LANES} penalties, hinge loss, in seconds: `fit` "
    text += "64 times on one core, and one `sweep` on one core and on all "
    text += "(promised for frda: at least 8 times as fast on two):\n\n"
    real = [found for path, name in REAL if (found := svmlight(*path, name=name)) is not None]
    made = [zipf_rows(200_000, n_features) for n_features in (50_000, 1_000_000)]
    rows = [lanes(dataset, rule) for dataset in [*made, *real] for rule in RULES]
    header = ["rule", "data", "one by one", "one core", "all cores", "times as fast", "on all"]
    text += markdown_table(header, rows)
    text += f"\n\n{N_L1} penalties, {N_FOLDS} folds, {PASSES} passes, two jobs: `GridSearchCV` "
    text += "over `SGDClassifier(penalty='l1')` and `sweep` (frda), in seconds "
    text += "(promised: at least 10 times as fast):\n\n"
    rows = [grid_search(dataset) for dataset in real]
    header = ["data", "GridSearchCV", "sweep", "times as fast", "its best accuracy", "ours"]
    return text + markdown_table(header, rows)
