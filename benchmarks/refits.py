"""The refit next to LIBLINEAR at one penalty, on a quiet machine and on a busy one."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from benchmarks.data import Dataset, svmlight
from benchmarks.sweeps import alternating
from benchmarks.tables import markdown_table
from rarefy import SparseOnlineClassifier

PASSES = 5
N_LEFT = 20
REAL = [(("a9a", "a9a.svm.xz"), "a9a"), (("rcv1-small", "train.svm.xz"), "rcv1")]


def pages(n_rows: int = 40_000, n_features: int = 300, per_row: int = 12) -> Dataset:
    """Binary rows like web pages described by key words, 3 % of them positive."""
    rng = np.random.default_rng(0)
    frequencies = np.arange(1, n_features + 1) ** -0.7
    frequencies *= per_row / frequencies.sum()
    X = sparse.csr_array((rng.random((n_rows, n_features)) < frequencies).astype(float))
    weights = 1.5 * rng.normal(size=n_features) * (rng.random(n_features) < 0.4)
    scores = X @ weights + rng.logistic(size=n_rows)
    y = np.where(scores > np.quantile(scores, 0.97), 1.0, -1.0)
    return Dataset(f"{n_rows:,} x {n_features}, binary", X, y)


def _busy() -> None:
    while True:
        pass


@contextmanager
def busy_machine() -> Iterator[None]:
    """Inside, as many other processes compute as there are cores."""
    n_cores = os.cpu_count() or 1
    others = [multiprocessing.Process(target=_busy, daemon=True) for _ in range(n_cores)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()


def times(dataset: Dataset) -> list[float]:
    """LIBLINEAR, the refit of all features that were kept, and that of the strongest."""
    models = [
        LogisticRegression(solver="liblinear"),
        SparseOnlineClassifier(passes=PASSES, refit=True),
        SparseOnlineClassifier(passes=PASSES, refit=True, refit_features=N_LEFT),
    ]
    for model in models:
        model.fit(dataset.X, dataset.y)  # compiles
    return alternating(5, *(partial(model.fit, dataset.X, dataset.y) for model in models))


def row(dataset: Dataset, machine: str, seconds: list[float]) -> list[object]:
    ratios = [f"{ours / seconds[0]:.1f}" for ours in seconds[1:]]
    return [dataset.name, machine, *(f"{time:.3f}" for time in seconds), *ratios]


def measure() -> str:
    real = [found for path, name in REAL if (found := svmlight(*path, name=name)) is not None]
    rows = []
    for dataset in [pages(), *real]:
        rows.append(row(dataset, "quiet", times(dataset)))
        with busy_machine():
            rows.append(row(dataset, "busy", times(dataset)))
    text = f"LIBLINEAR at one penalty, and {PASSES} passes with a refit that seeks its penalty, of "
    text += f"all features that were kept and of the strongest {N_LEFT}, in seconds (promised: at "
    text += "most 5 times as long, on a machine with as many other processes as cores, too):\n\n"
    ours = ["refit", f"to {N_LEFT}"]
    header = ["data", "machine", "LIBLINEAR", *ours, *(f"{name}, times" for name in ours)]
    return text + markdown_table(header, rows)
