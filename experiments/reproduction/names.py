"""Which features RDA and FRDA keep, by name and by how often they occur (T4.8)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.comparison import Floats
from experiments.data import vocabulary
from experiments.reproduction.data import load
from experiments.reproduction.methods import METHODS, RDA, frda
from experiments.reproduction.runs import l1_of
from experiments.reproduction.study import Study, best_sparse
from rarefy import SparseOnlineClassifier

THESIS, FREQUENCY_AWARE = frda(math.inf), frda(2.0)
AWARE = (THESIS, FREQUENCY_AWARE)
TOP = 100
HALVINGS = 8  # of the interval in which an l1 is looked for that keeps as many weights
DECADES = 1.5  # from where it is looked for, to either side
VOCABULARIES = {
    "books-2000": ("amazon-books", "processed_acl2000.vocab.xz"),
    "books-6000": ("amazon-books", "ub6000.vocab.xz"),
}


class Named(NamedTuple):
    """A feature that is among the strongest of one model and not of another."""

    name: str
    rows: int  # in which it occurs
    weight: float
    other_weight: float


class Model(NamedTuple):
    l1: float
    weights: Floats

    @property
    def n_kept(self) -> int:
        return int(np.count_nonzero(self.weights))

    @property
    def strongest(self) -> NDArray[np.bool_]:
        """Which weights are among the largest."""
        chosen = np.zeros(len(self.weights), dtype=bool)
        chosen[np.argsort(-np.abs(self.weights), kind="stable")[:TOP]] = True
        return chosen & (self.weights != 0.0)


class Kept(NamedTuple):
    """Models of all rows, with about as many weights each."""

    names: Sequence[str]
    rows: NDArray[np.int64]  # in which each feature occurs
    models: dict[str, Model]

    def stronger(self, mine: str, other: str) -> list[Named]:
        """Among the strongest of one model and not of the other; the strongest first."""
        own, others = self.models[mine], self.models[other]
        only = np.flatnonzero(own.strongest & ~others.strongest)
        return [
            Named(
                self.names[k].replace("_", " "),
                int(self.rows[k]),
                float(own.weights[k]),
                float(others.weights[k]),
            )
            for k in sorted(only, key=lambda k: -abs(own.weights[k]))
        ]

    def rows_if_strongest(self, mine: str, other: str) -> NDArray[np.int64]:
        """In how many rows those features occur."""
        return np.array([named.rows for named in self.stronger(mine, other)], dtype=np.int64)

    def rows_if_kept(self, mine: str, other: str) -> NDArray[np.int64]:
        """In how many rows the features occur that only one model keeps."""
        own, others = (self.models[method].weights for method in (mine, other))
        return self.rows[(own != 0.0) & (others == 0.0)]


def rarer(some: NDArray[np.int64], others: NDArray[np.int64]) -> float:
    """The p-value for that the first features occur in fewer rows (Mann and Whitney)."""
    if len(some) == 0 or len(others) == 0:
        return 1.0
    return float(stats.mannwhitneyu(some, others, alternative="less").pvalue)


def learned(study: Study, method: str, l1: float) -> Model:
    """From all rows."""
    plan = study.plan
    X, y = load(plan.names_dataset, 0, plan.n_rows)
    model = SparseOnlineClassifier(
        **METHODS[method],
        l1=l1,
        loss=plan.protocol.loss,
        eta0=plan.protocol.eta0,
        passes=plan.protocol.passes,
        shuffle=False,
        fit_intercept=plan.protocol.intercept,
    )
    return Model(l1, np.asarray(model.fit(X, y).coef_).ravel())


def with_as_many(study: Study, method: str, near: float, n_kept: int) -> Model:
    """The model of a method that keeps about so many weights, by bisection."""
    low, high = (math.log10(near) + side * DECADES for side in (-1.0, 1.0))
    tried = []
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        tried.append(learned(study, method, 10.0**middle))
        low, high = (middle, high) if tried[-1].n_kept > n_kept else (low, middle)
    return min(tried, key=lambda model: abs(model.n_kept - n_kept))


def learn(study: Study) -> Kept:
    """The thesis's rule with the sparse choice of l1, and others with as many weights."""
    plan = study.plan
    X, _ = load(plan.names_dataset, 0, plan.n_rows)
    l1 = l1_of(best_sparse(study.path(study.case(plan.names_dataset, THESIS))))
    models = {THESIS: learned(study, THESIS, l1)}
    for method in (RDA, FREQUENCY_AWARE):
        models[method] = with_as_many(study, method, l1, models[THESIS].n_kept)
    return Kept(
        vocabulary(*VOCABULARIES[plan.names_dataset])[: X.shape[1]],
        np.bincount(X.indices, minlength=X.shape[1]),
        models,
    )
