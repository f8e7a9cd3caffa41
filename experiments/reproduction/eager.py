"""SGFT as it is written (S6), every weight in every round, beside the lazy form of the library."""

from typing import NamedTuple

import numpy as np

from experiments.comparison import Floats
from experiments.reproduction.data import load
from experiments.reproduction.methods import METHODS, sgft
from experiments.reproduction.plan import Plan
from experiments.reproduction.runs import l1_of
from rarefy import SparseOnlineClassifier

P, STEP = 2.0, -8
PASSES = 2


class LazyAndEager(NamedTuple):
    n_rows: int
    largest_difference: float
    n_kept: int
    kept_by_one_only: int


def eager_sgft(X: Floats, y: Floats, l1: float) -> Floats:
    """With p = 2 and the hinge loss; y is -1 or 1."""
    w, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for t in range(1, PASSES * len(y) + 1):
        x, label = X[(t - 1) % len(y)], y[(t - 1) % len(y)]
        eta = 1.0 / np.sqrt(t)
        g = -label * x if label * (w @ x) < 1.0 else np.zeros_like(x)
        squares += (eta * g) ** 2
        moved = w - eta * g
        w = np.sign(moved) * np.maximum(np.abs(moved) - eta * l1 * np.sqrt(squares), 0.0)
    return w


def measure(plan: Plan) -> LazyAndEager:
    dataset = next(name for name in plan.binary if name.endswith("-2"))
    X, y = load(dataset, 0, plan.eager_rows)
    l1 = l1_of(STEP)
    eager = eager_sgft(X.toarray(), 2.0 * y - 1.0, l1)
    model = SparseOnlineClassifier(
        **METHODS[sgft(P)],
        l1=l1,
        loss="hinge",
        eta0=1.0,
        passes=PASSES,
        shuffle=False,
        fit_intercept=False,
    )
    lazy = np.asarray(model.fit(X, y).coef_).ravel()
    return LazyAndEager(
        len(y),
        float(np.abs(eager - lazy).max()),
        int(np.count_nonzero(lazy)),
        int(np.count_nonzero((lazy != 0.0) != (eager != 0.0))),
    )
