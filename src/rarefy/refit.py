"""Relaxed refit: the weights that were kept are learned again, to the minimum, without l1.

The penalty that leaves few features also makes their weights small. Once the features are chosen it
has done its work, and what is minimised over the weights that are not zero is

    the mean of the loss + l2/2 ∑ (r_i w_i)²

where r_i is the root mean square of feature i in the rows that have it, so that neither its unit
nor its frequency matters (r = 1 if it is 0 or 1). The intercept is not penalised.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.config import check_flag, check_number
from rarefy.engine import Floats
from rarefy.errors import ConfigError
from rarefy.jit import compiled
from rarefy.learner import Learner
from rarefy.losses import Hinge, SquaredHinge
from rarefy.multiclass import CrammerSinger, OneVsRest, Softmax

DEFAULT_STRENGTH = 2.0  # l2 times the number of examples; of 0.1 to 100, good on all data tried
NOT_REFITTED = ("perceptron", "epsilon_insensitive", "quantile")
PRECISION = 1e-7  # of the gradient, as a share of the one where all weights are zero
MOST_ITERATIONS = 5000  # some dozens are the rule
STEPS_REMEMBERED = 30  # by L-BFGS


def check_refit(refit: Any, refit_l2: Any, loss: str) -> None:
    """Refuse what makes no sense; the loss is given by name."""
    check_flag("refit", refit)
    if refit_l2 is not None:
        check_number("refit_l2", refit_l2)
    if refit and loss in NOT_REFITTED:
        raise ConfigError(
            f"refit=True has no meaning for loss={loss!r}: it has kinks, and no smooth loss with "
            f"about the same minimum is known. Use another loss, or refit=False."
        )


def refitted(learner: Learner, X: Any, y: Floats, importance: Floats, l2: float | None) -> Learner:
    """A learner that predicts with refitted weights of the same features.

    Column i of X, which is CSR, is feature i of the learner.
    """
    counts = importance > 0.0
    X, y, importance = X[counts], y[counts], importance[counts]
    slots, _ = learner.nonzero()
    features, outputs = np.divmod(slots, learner.n_outputs)
    kept, columns = np.unique(features, return_inverse=True)
    objective = Objective(
        X[:, kept],
        y,
        importance,
        smooth(learner.loss),
        columns,
        outputs,
        n_outputs=learner.n_outputs,
        l2=default_l2(importance) if l2 is None else l2,
        fit_intercept=len(learner.intercept_state) > 0,
    )
    return learner.with_weights(slots, *objective.parts(minimum(objective)))


def default_l2(importance: Floats) -> float:
    """The less, the more examples there are; of unequal importance, fewer than their number."""
    n_examples = importance.sum() ** 2 / (importance @ importance)
    return float(DEFAULT_STRENGTH / n_examples)


def smooth(loss: Any) -> Any:
    """The loss itself if it has no kinks; else the one without that is minimised in its place."""
    if isinstance(loss, CrammerSinger):
        return Softmax()
    if isinstance(loss, OneVsRest):
        return OneVsRest(smooth(loss.loss))
    return SquaredHinge() if isinstance(loss, Hinge) else loss


class Objective:
    """What is minimised: a function of the weights, and then the intercepts, in one array.

    Weight k is that of column columns[k] for output outputs[k]; there are no others.
    """

    def __init__(
        self,
        X: Any,
        y: Floats,
        importance: Floats,
        loss: Any,
        columns: NDArray[np.int64],
        outputs: NDArray[np.int64],
        *,
        n_outputs: int,
        l2: float,
        fit_intercept: bool = True,
    ) -> None:
        self.X = X
        self.y = y
        self.shares = importance / importance.sum()
        self.loss = loss
        self.at = columns, outputs
        self.n_weights = len(columns)
        self.n_outputs = n_outputs
        self.n_intercepts = n_outputs if fit_intercept else 0
        squares = X.power(2).T @ self.shares
        occurrences = X.astype(bool).T @ self.shares
        means = np.divide(squares, occurrences, out=np.ones_like(squares), where=occurrences > 0.0)
        self.penalties = l2 * means[columns]
        self.curvatures = np.append(squares[columns] + self.penalties, np.ones(self.n_intercepts))

    def parts(self, variables: Floats) -> tuple[Floats, Floats]:
        """The weights, and an intercept for every output."""
        intercepts = np.zeros(self.n_outputs)
        intercepts[: self.n_intercepts] = variables[self.n_weights :]
        return variables[: self.n_weights], intercepts

    def value_and_gradient(self, variables: Floats) -> tuple[float, Floats]:
        weights, intercepts = self.parts(variables)
        dense = np.zeros((self.X.shape[1], self.n_outputs))
        dense[self.at] = weights
        scores = self.X @ dense + intercepts
        slopes = np.empty_like(scores)
        measure = _measure if self.n_outputs == 1 else _measure_classes
        value = measure(self.loss, scores, self.y, self.shares, slopes)
        value += 0.5 * float(self.penalties @ weights**2)
        by_weight = (self.X.T @ slopes)[self.at] + self.penalties * weights
        return value, np.append(by_weight, slopes.sum(axis=0)[: self.n_intercepts])


def minimum(objective: Objective) -> Floats:
    """The variables with the least value.

    They are scaled for the way there, so that curvatures are about 1 and the first gradient is 1
    long, whatever the units of features and targets.
    """
    from scipy.optimize import minimize

    start = np.zeros(len(objective.curvatures))
    scale = 1.0 / np.sqrt(objective.curvatures)
    length = float(np.linalg.norm(scale * objective.value_and_gradient(start)[1]))
    if length == 0.0:
        return start
    scale *= length

    def scaled(variables: Floats) -> tuple[float, Floats]:
        value, gradient = objective.value_and_gradient(scale * variables)
        return value / length**2, scale * gradient / length**2

    options = {
        "gtol": PRECISION,
        "ftol": 0.0,
        "maxcor": STEPS_REMEMBERED,
        "maxiter": MOST_ITERATIONS,
        "maxfun": 2 * MOST_ITERATIONS,
    }
    found = minimize(scaled, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(scale * found.x)


@compiled
def _measure(loss: Any, scores: Any, y: Any, shares: Any, slopes: Any) -> float:
    """The weighted sum of the losses; their slopes are written."""
    total = 0.0
    for row in range(len(y)):
        total += shares[row] * loss.value(scores[row, 0], y[row])
        slopes[row, 0] = shares[row] * loss.slope(scores[row, 0], y[row])
    return total


@compiled
def _measure_classes(loss: Any, scores: Any, y: Any, shares: Any, slopes: Any) -> float:
    """The same with one score for every class."""
    total = 0.0
    for row in range(len(y)):
        label = int(y[row])
        total += shares[row] * loss.value(scores[row], label)
        loss.slopes(scores[row], label, slopes[row])
        for z in range(scores.shape[1]):
            slopes[row, z] *= shares[row]
    return total
