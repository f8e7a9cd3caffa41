"""Relaxed refit: the weights that were kept are learned again, to the minimum, without l1.

The penalty that leaves few features also makes their weights small. Once the features are chosen it
has done its work, and what is minimised over the weights that are not zero is

    the mean of the loss + l2/2 ∑ (r_i w_i)²

where r_i is the root mean square of feature i in the rows that have it, so that neither its unit
nor its frequency matters (r = 1 if it is 0 or 1). The intercept is not penalised.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.config import check_flag, check_number
from rarefy.engine import Floats
from rarefy.errors import ConfigError
from rarefy.holdout import HeldOutShare
from rarefy.jit import compiled
from rarefy.learner import Learner
from rarefy.losses import Hinge, SquaredHinge
from rarefy.multiclass import CrammerSinger, OneVsRest, Softmax
from rarefy.weighting import PlainUpdate

NOT_REFITTED = ("perceptron", "epsilon_insensitive", "quantile")
STRENGTHS = (1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0, 0.3, 0.1, 0.03)  # l2 times the number of examples
HELD_OUT = 0.25  # of the examples, to choose from them
PRECISION = 1e-7  # of the gradient, as a share of the one where all weights are zero
ROUGH = 1e-3  # the same where strengths are compared
MOST_ITERATIONS = 5000  # some hundred are the rule
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


class Examples(NamedTuple):
    X: Any  # CSR
    y: Floats
    importance: Floats

    def only(self, chosen: NDArray[np.bool_]) -> "Examples":
        return Examples(self.X[chosen], self.y[chosen], self.importance[chosen])

    @property
    def size(self) -> float:
        """How many there are; those of little importance hardly count."""
        return float(self.importance.sum() ** 2 / (self.importance @ self.importance))

    @property
    def shares(self) -> Floats:
        return np.asarray(self.importance / self.importance.sum())


class Wanted(NamedTuple):
    """What is to be found: weight k is that of column columns[k] for output outputs[k]."""

    columns: NDArray[np.int64]
    outputs: NDArray[np.int64]
    n_outputs: int
    fit_intercept: bool
    loss: Any


def refitted(learner: Learner, X: Any, y: Floats, importance: Floats, l2: float | None) -> Learner:
    """A learner that predicts with refitted weights of the same features.

    Column i of X, which is CSR, is feature i of the learner.
    """
    slots, _ = learner.nonzero()
    features, outputs = np.divmod(slots, learner.n_outputs)
    kept, columns = np.unique(features, return_inverse=True)
    has_intercept = len(learner.intercept_state) > 0
    wanted = Wanted(columns, outputs, learner.n_outputs, has_intercept, smooth(learner.loss))
    examples = Examples(X[:, kept], y, importance).only(importance > 0.0)
    if l2 is None:
        l2 = best_strength(examples, wanted) / examples.size
    objective = Objective(examples, wanted, l2)
    return learner.with_weights(slots, *objective.parts(minimum(objective)))


def smooth(loss: Any) -> Any:
    """The loss itself if it has no kinks; else the one without that is minimised in its place."""
    if isinstance(loss, CrammerSinger):
        return Softmax()
    if isinstance(loss, OneVsRest):
        return OneVsRest(smooth(loss.loss))
    return SquaredHinge() if isinstance(loss, Hinge) else loss


def best_strength(examples: Examples, wanted: Wanted) -> float:
    """The largest strength whose loss on held-out examples is not clearly worse than the least.

    That is, by not more than a standard error: the features were chosen with a view to all of the
    examples, which makes weak penalties look better than they are.
    """
    held = HeldOutShare(HELD_OUT).chosen(0, len(examples.y))
    if held.all() or not held.any():
        return 1.0
    learned, predicted = examples.only(~held), examples.only(held)
    means: list[float] = []
    variables = None
    for strength in STRENGTHS:
        objective = Objective(learned, wanted, strength / learned.size)
        variables = minimum(objective, variables, ROUGH)
        losses, _ = objective.losses_and_slopes(predicted, variables)
        mean = float(predicted.shares @ losses)
        if means and mean >= means[-1]:
            break
        means.append(mean)
        error = float(np.linalg.norm(predicted.shares * (losses - mean)))
    good_enough = np.array(means) <= means[-1] + error
    return STRENGTHS[int(good_enough.argmax())]


class Objective:
    """What is minimised: a function of the weights, and then the intercepts, in one array."""

    def __init__(self, examples: Examples, wanted: Wanted, l2: float) -> None:
        self.examples = examples
        self.wanted = wanted
        self.n_weights = len(wanted.columns)
        self.n_intercepts = wanted.n_outputs if wanted.fit_intercept else 0
        squares = examples.X.power(2).T @ examples.shares
        occurrences = examples.X.astype(bool).T @ examples.shares
        means = np.divide(squares, occurrences, out=np.ones_like(squares), where=occurrences > 0.0)
        self.penalties = l2 * means[wanted.columns]
        self.curvatures = np.append(
            squares[wanted.columns] + self.penalties, np.ones(self.n_intercepts)
        )

    def parts(self, variables: Floats) -> tuple[Floats, Floats]:
        """The weights, and an intercept for every output."""
        intercepts = np.zeros(self.wanted.n_outputs)
        intercepts[: self.n_intercepts] = variables[self.n_weights :]
        return variables[: self.n_weights], intercepts

    def losses_and_slopes(self, examples: Examples, variables: Floats) -> tuple[Floats, Floats]:
        """The loss of every example, and how it changes with every score."""
        columns, outputs, n_outputs, _, loss = self.wanted
        weights, intercepts = self.parts(variables)
        dense = np.zeros((examples.X.shape[1], n_outputs))
        dense[columns, outputs] = weights
        scores = examples.X @ dense + intercepts
        losses, slopes = np.empty(len(scores)), np.empty_like(scores)
        measure = _measure if n_outputs == 1 else _measure_classes
        measure(loss, PlainUpdate(), scores, examples.y, losses, slopes)
        return losses, slopes

    def value_and_gradient(self, variables: Floats) -> tuple[float, Floats]:
        examples, weights = self.examples, variables[: self.n_weights]
        losses, slopes = self.losses_and_slopes(examples, variables)
        slopes *= examples.shares[:, np.newaxis]
        value = examples.shares @ losses + 0.5 * (self.penalties @ weights**2)
        by_column = examples.X.T @ slopes
        by_weight = by_column[self.wanted.columns, self.wanted.outputs] + self.penalties * weights
        return float(value), np.append(by_weight, slopes.sum(axis=0)[: self.n_intercepts])


def minimum(
    objective: Objective, start: Floats | None = None, precision: float = PRECISION
) -> Floats:
    """The variables with the least value.

    They are scaled for the way there, so that curvatures are about 1, and the gradient where all
    are zero is 1 long, whatever the units of features and targets.
    """
    from scipy.optimize import minimize

    zeros = np.zeros(len(objective.curvatures))
    scale = 1.0 / np.sqrt(objective.curvatures)
    length = float(np.linalg.norm(scale * objective.value_and_gradient(zeros)[1]))
    if length == 0.0:
        return zeros
    scale *= length

    def scaled(variables: Floats) -> tuple[float, Floats]:
        value, gradient = objective.value_and_gradient(scale * variables)
        return value / length**2, scale * gradient / length**2

    options = {
        "gtol": precision,
        "ftol": 0.0,
        "maxcor": STEPS_REMEMBERED,
        "maxiter": MOST_ITERATIONS,
        "maxfun": 2 * MOST_ITERATIONS,
    }
    begin = zeros if start is None else start / scale
    found = minimize(scaled, begin, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(scale * found.x)


@compiled
def _measure(loss: Any, update: Any, scores: Any, y: Any, losses: Any, slopes: Any) -> None:
    for row in range(len(y)):
        losses[row] = loss.value(scores[row, 0], y[row])
        slopes[row, 0] = update.slope(loss, scores[row, 0], y[row], 1.0, 0.0)


@compiled
def _measure_classes(loss: Any, update: Any, scores: Any, y: Any, losses: Any, slopes: Any) -> None:
    for row in range(len(y)):
        losses[row] = loss.value(scores[row], int(y[row]))
        loss.slopes(scores[row], int(y[row]), update, 1.0, 0.0, slopes[row])
