"""Which features RDA and FRDA keep, by name and by how often they occur (T4.8)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.comparison import Floats
from experiments.data import vocabulary
from experiments.reproduction.data import load
from experiments.reproduction.methods import METHODS, RDA, frda
from experiments.reproduction.runs import l1_of
from experiments.reproduction.study import Study, as_sparse, sparse
from rarefy import SparseOnlineClassifier

FEATURE_AWARE = frda(math.inf)
LISTED = 15
TOP = 100
VOCABULARIES = {
    "books-2000": ("amazon-books", "processed_acl2000.vocab.xz"),
    "books-6000": ("amazon-books", "ub6000.vocab.xz"),
}


class Named(NamedTuple):
    """A feature that is among the strongest of one model and that the other leaves at zero."""

    name: str
    rows: int  # in which it occurs
    weight: float


class Kept(NamedTuple):
    """Two models of all rows: the plain one and the feature-aware one."""

    names: list[str]
    rows: NDArray[np.int64]  # in which each feature occurs
    plain: Floats
    aware: Floats

    def only(self, mine: Floats, other: Floats) -> list[Named]:
        """Of the strongest weights, those that the other model does not have at all."""
        strongest = np.argsort(-np.abs(mine), kind="stable")[:TOP]
        return [
            Named(self.names[k].replace("_", " "), int(self.rows[k]), float(mine[k]))
            for k in strongest
            if mine[k] != 0.0 and other[k] == 0.0
        ]

    def rows_of_only(self, mine: Floats, other: Floats) -> NDArray[np.int64]:
        """In how many rows the features occur that only this model keeps."""
        return self.rows[(mine != 0.0) & (other == 0.0)]

    @property
    def p(self) -> float:
        """That what only the feature-aware model keeps is rarer (Mann and Whitney, one-sided)."""
        aware = self.rows_of_only(self.aware, self.plain)
        plain = self.rows_of_only(self.plain, self.aware)
        if len(aware) == 0 or len(plain) == 0:
            return 1.0
        return float(stats.mannwhitneyu(aware, plain, alternative="less").pvalue)

    def weights_of(self, phrase: str) -> tuple[int, float, float] | None:
        """Rows and both weights of a feature, if it occurs at all."""
        name = phrase.replace(" ", "_")
        if name not in self.names:
            return None
        k = self.names.index(name)
        return int(self.rows[k]), float(self.plain[k]), float(self.aware[k])


def chosen_steps(study: Study) -> dict[str, int]:
    """The sparse choice of l1 for the feature-aware rule, and as many zeros for the plain one."""
    aware, plain = (
        study.path(study.case(study.plan.names_dataset, method)) for method in (FEATURE_AWARE, RDA)
    )
    step = sparse(aware)
    return {RDA: as_sparse(plain, aware[step].zeros.mean()), FEATURE_AWARE: step}


def weights(study: Study, method: str, step: int) -> Floats:
    """Of a model that has learned all rows."""
    plan = study.plan
    X, y = load(plan.names_dataset, 0, plan.n_rows)
    model = SparseOnlineClassifier(
        **METHODS[method],
        l1=l1_of(step),
        loss=plan.protocol.loss,
        eta0=plan.protocol.eta0,
        passes=plan.protocol.passes,
        fit_intercept=plan.protocol.intercept,
    )
    return np.asarray(model.fit(X, y).coef_).ravel()


def learn(study: Study) -> Kept:
    plan = study.plan
    X, _ = load(plan.names_dataset, 0, plan.n_rows)
    return Kept(
        vocabulary(*VOCABULARIES[plan.names_dataset])[: X.shape[1]],
        np.bincount(X.indices, minlength=X.shape[1]),
        *(weights(study, method, step) for method, step in chosen_steps(study).items()),
    )
