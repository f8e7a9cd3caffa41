"""SAG and SVRG: minimise the mean loss + λ |w| + λ₂/2 |w|² over rows in memory.

Both step along a known mean gradient, corrected by what the gradient of one row, drawn at random,
is now and was when the mean was taken:

    w ← prox(w - η (ḡ + share (now - then) x)),    prox(u) = soft(u, η λ) / (1 + η λ₂)

SAG replaces the row's gradient in the mean at once (share = 1/n: its step is the new mean), SVRG
takes the mean anew every two passes (share = 1). Of a row, its slope is all that has to be kept.

Lazy form: while a coordinate is away ḡ is constant, so each missed step is the same map, affine on
either side of zero, and `drifted` makes up for any number of them at once.

Sums are taken anew now and then, in the order of the rows, so that no rounding adds up.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import Floats, Numbers, Rows
from rarefy.engine.learner import Learner
from rarefy.errors import ConfigError
from rarefy.jit import compiled, helper
from rarefy.model.losses import LOSSES, PROPERTIES, properties_of
from rarefy.rules import name_of
from rarefy.rules.proximal import soft
from rarefy.rules.variance_reduced import Sag, Svrg

PASSES_OF_AN_EPOCH = {Sag: 10, Svrg: 2}
TOLERANCE = 1e-9  # by which the steepest slope of the objective is to fall
MOST_PASSES = 2000


@helper
def proximal(u: float, eta: float, l1: float, l2: float) -> float:
    return soft(u, eta * l1) / (1.0 + eta * l2)


@helper
def drifted(w: float, g: float, n_steps: float, eta: float, l1: float, l2: float) -> float:
    """The weight after so many steps with the same gradient.

    On its side of zero, |w| is led to a fixed point by the same factor in every step; a step or two
    before it would cross zero, steps are taken one by one. It crosses once, at most.
    """
    left = n_steps
    while left > 0.0:
        if w == 0.0 and abs(g) <= l1:
            return 0.0
        side = math.copysign(1.0, w) if w != 0.0 else math.copysign(1.0, -g)
        pull = side * g + l1
        if l2 == 0.0:
            until_zero = abs(w) / (eta * pull) if pull > 0.0 else math.inf
        else:
            fixed = -pull / l2
            factor = -math.log1p(eta * l2)
            until_zero = math.log(-fixed / (abs(w) - fixed)) / factor if pull > 0.0 else math.inf
        many = left if until_zero > left + 2.0 else max(math.floor(until_zero) - 2.0, 0.0)
        if many > 0.0:
            if l2 == 0.0:
                w = side * (abs(w) - many * eta * pull)
            else:
                w = side * (abs(w) + (fixed - abs(w)) * -math.expm1(many * factor))
            left -= many
        if left > 0.0:
            w = proximal(w - eta * g, eta, l1, l2)
            left -= 1.0
    return w


@compiled
def take_gradient(
    loss: Any, rows: Rows, w: Floats, share: float, gradient: Floats, slopes: Floats
) -> None:
    """The slope of every row, and the sum of the rows' gradients times `share`.

    The last weight, of which there is a gradient, is the intercept.
    """
    gradient[:] = 0.0
    for row in range(len(rows.y)):
        score = w[-1]
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            score += rows.values[j] * w[rows.indices[j]]
        slopes[row] = rows.importance[row] * loss.slope(score, rows.y[row])
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            gradient[rows.indices[j]] += share * slopes[row] * rows.values[j]
        gradient[-1] += share * slopes[row]


@compiled
def take_steps(
    loss: Any,
    rows: Rows,
    order: Numbers,
    eta: float,
    l1: float,
    l2: float,
    share: float,
    replaces: bool,
    fit_intercept: bool,
    w: Floats,
    gradient: Floats,
    slopes: Floats,
    last: Floats,
) -> None:
    """Steps with the rows in this order, after which no coordinate has missed any.

    A slope times `share` is its part of the mean gradient; `replaces` makes it SAG. `last`, the
    steps that each coordinate has taken, is zero before and afterwards.
    """
    t, n = 0.0, len(rows.y)
    for number in range(len(order)):
        row = order[number]
        begin, end = rows.indptr[row], rows.indptr[row + 1]
        score = w[-1]
        for j in range(begin, end):
            slot = rows.indices[j]
            w[slot] = drifted(w[slot], gradient[slot], t - last[slot], eta, l1, l2)
            score += rows.values[j] * w[slot]
        slope = rows.importance[row] * loss.slope(score, rows.y[row])
        change = share * (slope - slopes[row])
        t += 1.0
        if replaces:
            slopes[row] = slope
        for j in range(begin, end):
            slot = rows.indices[j]
            if replaces:
                gradient[slot] += change * rows.values[j]
                direction = gradient[slot]
            else:
                direction = gradient[slot] + n * change * rows.values[j]
            w[slot] = proximal(w[slot] - eta * direction, eta, l1, l2)
            last[slot] = t
        if fit_intercept:
            if replaces:
                gradient[-1] += change
                w[-1] -= eta * gradient[-1]
            else:
                w[-1] -= eta * (gradient[-1] + n * change)
    for slot in range(len(w) - 1):
        w[slot] = drifted(w[slot], gradient[slot], t - last[slot], eta, l1, l2)
        last[slot] = 0.0


class Minimisation(NamedTuple):
    """Rows and an objective; `w` has the weights and, last, the intercept, and is changed."""

    rule: Sag | Svrg
    loss: Any
    rows: Rows
    fit_intercept: bool
    eta: float
    w: Floats
    gradient: Floats
    slopes: Floats

    @property
    def share(self) -> float:
        return float(1.0 / self.rows.importance.sum())

    def take_gradient(self) -> float:
        """Take the full gradient; how steep the objective is: zero at its minimum."""
        take_gradient(self.loss, self.rows, self.w, self.share, self.gradient, self.slopes)
        eta, l1, l2 = self.eta, self.rule.l1, self.rule.l2
        moved = self.w[:-1] - eta * self.gradient[:-1]
        after = np.sign(moved) * np.maximum(np.abs(moved) - eta * l1, 0.0) / (1.0 + eta * l2)
        of_weights = np.abs(after - self.w[:-1]).max(initial=0.0) / eta
        return float(max(of_weights, abs(self.gradient[-1]) if self.fit_intercept else 0.0))

    def take_steps(self, order: Numbers) -> None:
        take_steps(
            self.loss,
            self.rows,
            order,
            self.eta,
            self.rule.l1,
            self.rule.l2,
            self.share,
            isinstance(self.rule, Sag),
            self.fit_intercept,
            self.w,
            self.gradient,
            self.slopes,
            np.zeros(len(self.w)),
        )

    def run(self, random: Any, passes: int | None) -> tuple[int, bool]:
        """Go over the rows so often, or until the minimum; how often, and whether it is there."""
        n, of_epoch = len(self.rows.y), PASSES_OF_AN_EPOCH[type(self.rule)]
        most = MOST_PASSES if passes is None else passes
        done, first = 0, math.inf
        while done < most:
            steepness = self.take_gradient()
            first = min(first, steepness) if first == math.inf else first
            if passes is None and steepness <= TOLERANCE * max(first, 1e-3):
                return done, True
            now = min(of_epoch, most - done)
            self.take_steps(random.randint(n, size=now * n))
            done += now
        return done, passes is not None


def minimisation(rule: Any, loss: Any, rows: Rows, n_features: int, fit: bool) -> Minimisation:
    """From weights of zero; losses that are not smooth are refused."""
    names = [name for name, kind in LOSSES.items() if isinstance(loss, kind)]
    max_curvature = properties_of(names[0]).max_curvature if names else None
    if max_curvature is None:
        smooth = [name for name, of in PROPERTIES.items() if of.max_curvature is not None]
        raise ConfigError(
            f"the rule {name_of(rule)} does not apply to "
            f"{f'loss={names[0]!r}' if names else 'more than two classes'}: it needs one score "
            f"and a smooth loss: {', '.join(smooth)}."
        )
    lengths = np.add.reduceat(np.append(rows.values**2, 0.0), rows.indptr[:-1])
    lengths[np.diff(rows.indptr) == 0] = 0.0
    weighted = rows.importance / rows.importance.mean() * (lengths + float(fit))
    steepest = max_curvature * float(weighted.max())
    eta = rule.eta0 / max(steepest, 1e-300)
    n = n_features + 1
    return Minimisation(rule, loss, rows, fit, eta, np.zeros(n), np.zeros(n), np.zeros(len(rows.y)))


def minimise(learner: Learner, rows: Rows, random: Any, passes: int | None) -> tuple[int, bool]:
    """Give a learner the weights of the minimum; how many passes that took, and if it is there."""
    has_intercept = len(learner.intercept_state) > 0
    problem = minimisation(learner.rule, learner.loss, rows, learner.n_features, has_intercept)
    done, is_there = problem.run(random, passes)
    learner.state[: learner.n_features, 0] = problem.w[:-1]
    learner.intercept_state[:, 0] = problem.w[-1]
    learner.clock = learner.clock._replace(t=float(done * len(rows.y)))
    return done, is_there
