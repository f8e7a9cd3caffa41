"""`rarefy.regret`: the loss of online learning beyond that of the best fixed weights.

Regret (T2.2, T4.3, T4.51) is Σ (ℓ_t(w_t) + Φ_t(w_t)) - min_w Σ (ℓ_t(w) + Φ_t(w)), where w_t is what
round t was predicted with. Φ_t is the penalty of the round: λ Σ_i r_{t,i} |w_i| + λ₂/2 |w|², with
r = 1 for plain L1, and of feature-aware rules the r after the round. Rules that have λ once for all
rounds (ftrl, the scale-free ones) have no penalty of a round, and Φ is left out.

The minimum is found by SciPy: L-BFGS-B with w = u - v, u and v ≥ 0, where the loss is smooth, and
as a linear programme for the hinge.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.base import clone

from rarefy.arrays import Floats, as_rows
from rarefy.engine.finite_data import take_gradient
from rarefy.engine.learner import Learner
from rarefy.engine.loop import total_loss
from rarefy.errors import ConfigError, InputError
from rarefy.estimators.sparse_online import SparseOnline, examples_for, task_of
from rarefy.model.losses import Hinge
from rarefy.rules import FINITE_DATA, RULES
from rarefy.rules.averaging import is_averaged
from rarefy.rules.ftrl import Ftrl

TOLERANCE = 1e-8
STARTS = 3
PENALTY_ONCE = (Ftrl, RULES["scale-free"], RULES["scale-free-ftrl"])


class Regret(NamedTuple):
    """What learning has cost, and what the best fixed weights would have cost.

    Attributes
    ----------
    regret : float
        The difference of the two.
    learned : float
        The losses and penalties of all rounds.
    best : float
        The least that any fixed weights have of these.
    coef, intercept : array and float
        These weights.
    largest_distance : float
        How far the weights of any round are from them, intercept included.
    """

    learned: float
    best: float
    coef: Floats
    intercept: float
    largest_distance: float

    @property
    def regret(self) -> float:
        return self.learned - self.best


def regret(model: SparseOnline, X: Any, y: Any, *, sample_weight: Any = None) -> Regret:
    """Learn rows one after the other, and compare that with the best fixed weights in hindsight.

    It is for theory and tests: all weights are looked at in every round.

    Parameters
    ----------
    model : SparseOnlineClassifier or SparseOnlineRegressor
        Its parameters say how the rows are learned: in their order, once. It is left as it is.
    X : matrix
        The rows.
    y : array-like
        Labels of two classes, or targets.
    sample_weight : array-like, optional
        How much each row counts.

    Returns
    -------
    Regret
        `regret`, and what it consists of.

    Raises
    ------
    ConfigError
        If there are more than two classes, or the best weights cannot be found: for losses with
        kinks other than the hinge, and the hinge with l2.

    See Also
    --------
    evaluate : Metrics of a fitted model.

    Examples
    --------
    >>> import numpy as np, rarefy
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = X[:, 0] + np.random.default_rng(1).normal(size=100) > 0.0
    >>> found = rarefy.regret(rarefy.SparseOnlineClassifier("ogd"), X, y)
    >>> 0.0 < found.regret < found.learned
    True
    """
    task = task_of(model)
    rule = task.rule
    if type(rule) in FINITE_DATA.values() or is_averaged(rule) or task.is_open:
        raise ConfigError("regret is of rules that learn online, with fixed parameters.")
    examples = examples_for(clone(model), X, y, sample_weight)
    if len(examples.classes) > 2:
        raise ConfigError("regret is of two classes, or a regression.")
    learner = task.new_learner(examples.classes, examples.X.shape[1]).settled()
    has_penalty = not isinstance(rule, PENALTY_ONCE)
    l1 = getattr(rule, "l1", 0.0) if has_penalty else 0.0
    l2 = (getattr(rule, "l2", None) or 0.0) if has_penalty else 0.0
    rounds = _play(learner, examples, l1, l2)
    best, w = _best_in_hindsight(task.loss, examples, l1 * rounds.intensities, rounds.n * l2,
                                 task.fit_intercept)  # fmt: skip
    distances = np.linalg.norm(rounds.weights - w, axis=1)
    return Regret(rounds.cost, best, w[:-1], float(w[-1]), float(distances.max(initial=0.0)))


class _Rounds(NamedTuple):
    n: int
    cost: float
    intensities: Floats  # the sum of r over the rounds
    weights: Floats  # of each round, the intercept last


def _play(learner: Learner, examples: Any, l1: float, l2: float) -> _Rounds:
    n_features = examples.X.shape[1]
    slots = np.arange(n_features)
    cost, intensities, weights = 0.0, np.zeros(n_features), []
    for row in np.flatnonzero(examples.importance):
        part = slice(row, row + 1)
        rows = as_rows(examples.X[part], examples.y[part], examples.importance[part])
        w = learner.weights().toarray()[0]
        weights.append(np.append(w, learner.intercept()[0]))
        cost += total_loss(learner.loss, learner.scores(rows), rows.y, rows.importance)
        learner.learn(rows)
        r = learner.field("r", slots)
        r = np.ones(n_features) if r is None else r
        intensities += r
        cost += l1 * float(r @ np.abs(w)) + l2 / 2.0 * float(w @ w)
    if not weights:
        raise InputError("sample_weight is zero for all rows: there is nothing to learn.")
    return _Rounds(len(weights), cost, intensities, np.array(weights))


def _best_in_hindsight(
    loss: Any, examples: Any, strengths: Floats, l2: float, fit_intercept: bool
) -> tuple[float, Floats]:
    """The least sum of losses + Σ c_i |w_i| + λ₂/2 |w|², and its weights, the intercept last."""
    if isinstance(loss, Hinge) and l2 == 0.0:
        return _linear_programme(examples, strengths, fit_intercept)
    if not hasattr(loss, "curvature"):
        name = type(loss).__name__
        raise ConfigError(f"regret: the best weights cannot be found for {name}, l2={l2:g}.")
    rows = as_rows(examples.X, examples.y, examples.importance)
    n = len(strengths)
    gradient, slopes = np.empty(n + 1), np.empty(len(rows.y))

    def value(parts: Floats) -> tuple[float, Floats]:
        w = np.append(parts[:n] - parts[n : 2 * n], parts[-1])
        take_gradient(loss, rows, w, 1.0, gradient, slopes)
        scores = (examples.X @ w[:-1] + w[-1])[:, np.newaxis]
        total = total_loss(loss, scores, rows.y, rows.importance)
        total += strengths @ (parts[:n] + parts[n : 2 * n]) + l2 / 2.0 * w[:-1] @ w[:-1]
        of_weights = gradient[:-1] + l2 * w[:-1]
        by_part = (of_weights + strengths, strengths - of_weights, gradient[-1:])
        return float(total), np.concatenate(by_part)

    ends = [(0.0, None)] * (2 * n) + [(None, None) if fit_intercept else (0.0, 0.0)]
    options = {"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-16, "gtol": 1e-10, "maxcor": 30}
    start = np.zeros(2 * n + 1)
    for _ in range(STARTS):  # a new start forgets curvatures that no longer hold
        found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=ends, options=options)
        start = found.x
    _, slope = value(found.x)
    steep = np.where(found.x[:-1] > 0.0, np.abs(slope[:-1]), np.maximum(-slope[:-1], 0.0))
    steepest = max(steep.max(initial=0.0), abs(slope[-1]) if fit_intercept else 0.0)
    if steepest > TOLERANCE * max(1.0, float(rows.importance.sum())):
        raise ConfigError(
            f"regret: the best weights were not found to {TOLERANCE:g}: without a penalty, they "
            f"may be infinite."
        )
    w = np.append(found.x[:n] - found.x[n : 2 * n], found.x[-1])
    return float(found.fun), w


def _linear_programme(
    examples: Any, strengths: Floats, fit_intercept: bool
) -> tuple[float, Floats]:
    """Of the hinge: ξ ≥ 1 - y (x (u - v) + b), ξ, u, v ≥ 0, with the least Σ h ξ + Σ c (u + v)."""
    n_rows, n = examples.X.shape
    signed = sparse.diags_array(examples.y) @ examples.X
    ones = sparse.csr_array(examples.y[:, np.newaxis] * float(fit_intercept))
    bounds = -sparse.hstack([signed, -signed, ones, sparse.eye_array(n_rows)]).tocsr()
    cost = np.concatenate([strengths, strengths, [0.0], examples.importance])
    ends = [(0.0, None)] * (2 * n) + [(None, None)] + [(0.0, None)] * n_rows
    found = linprog(cost, A_ub=bounds, b_ub=-np.ones(n_rows), bounds=ends, method="highs")
    w = np.append(found.x[:n] - found.x[n : 2 * n], found.x[2 * n])
    return float(found.fun), w
