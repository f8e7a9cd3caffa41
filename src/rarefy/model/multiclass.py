"""Losses of one score per class: the value, and the slope with respect to every score.

`y` is the number of the right class. Every (feature, class) pair has a weight of its own, and all
share one clock. How the importance of an example enters its slopes is up to the `update` (see
`rarefy.model.importance`). Some losses depend on the scores of two classes only, the right one and
the best wrong one.

Losses without kinks have a Hessian, which is made of one number for each score, the `bend`:
`curvature` makes its diagonal of them, and `turn` says how slopes change with a change of scores.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.checks import choose
from rarefy.errors import ConfigError
from rarefy.jit import compile_methods, helper
from rarefy.model.importance import AwareUpdate
from rarefy.model.losses import REGRESSION_LOSSES, Hinge, Logistic, Loss

Scores = NDArray[np.float64]


@helper
def best_wrong(p: Scores, y: int) -> int:
    """The class with the highest score among the wrong ones (the first of them on a tie)."""
    best = 1 if y == 0 else 0
    for z in range(best + 1, len(p)):
        if z != y and p[z] > p[best]:
            best = z
    return best


@compile_methods
class CrammerSinger(NamedTuple):
    """A margin loss of p_y - max_{z != y} p_z; with the hinge it is (S15)."""

    loss: Any

    def is_of_two_scores(self) -> bool:
        return True

    def value(self, p: Scores, y: int) -> float:
        return self.loss.value(p[y] - p[best_wrong(p, y)], 1.0)  # type: ignore[no-any-return]

    def slopes(
        self, p: Scores, y: int, update: Any, importance: float, reach: float, out: Scores
    ) -> None:
        rival = best_wrong(p, y)
        slope = update.slope(self.loss, p[y] - p[rival], 1.0, importance, reach)
        out[:] = 0.0
        out[y] = slope
        out[rival] = -slope


@helper
def _highest(p: Scores) -> float:
    highest = p[0]
    for z in range(1, len(p)):
        highest = max(highest, p[z])
    return highest  # type: ignore[no-any-return]


@helper
def _softmax(p: Scores, out: Scores) -> None:
    highest = _highest(p)
    total = 0.0
    for z in range(len(p)):
        out[z] = math.exp(p[z] - highest)
        total += out[z]
    for z in range(len(p)):
        out[z] /= total


@compile_methods
class Softmax(NamedTuple):
    """-log softmax(p)_y."""

    def is_of_two_scores(self) -> bool:
        return False

    def value(self, p: Scores, y: int) -> float:
        highest = _highest(p)
        total = 0.0
        for z in range(len(p)):
            total += math.exp(p[z] - highest)
        return math.log(total) + highest - p[y]  # type: ignore[no-any-return]

    def slopes(
        self, p: Scores, y: int, update: Any, importance: float, reach: float, out: Scores
    ) -> None:
        _softmax(p, out)
        for z in range(len(p)):
            out[z] = importance * (out[z] - (1.0 if z == y else 0.0))

    def bend(self, p: Scores, y: int, out: Scores) -> None:
        _softmax(p, out)

    def curvature(self, bend: float) -> float:
        return bend * (1.0 - bend)

    def turn(self, bend: Scores, change: Scores, importance: float, out: Scores) -> None:
        mean = 0.0
        for z in range(len(bend)):
            mean += bend[z] * change[z]
        for z in range(len(bend)):
            out[z] = importance * bend[z] * (change[z] - mean)


@compile_methods
class OneVsRest(NamedTuple):
    """The sum over the classes of a margin loss, +1 for the right class and -1 for the others."""

    loss: Any

    def is_of_two_scores(self) -> bool:
        return False

    def value(self, p: Scores, y: int) -> float:
        total = 0.0
        for z in range(len(p)):
            total += self.loss.value(p[z], 1.0 if z == y else -1.0)
        return total

    def slopes(
        self, p: Scores, y: int, update: Any, importance: float, reach: float, out: Scores
    ) -> None:
        for z in range(len(p)):
            sign = 1.0 if z == y else -1.0
            out[z] = update.slope(self.loss, p[z], sign, importance, reach)

    def bend(self, p: Scores, y: int, out: Scores) -> None:
        for z in range(len(p)):
            out[z] = self.loss.curvature(p[z], 1.0 if z == y else -1.0)

    def curvature(self, bend: float) -> float:
        return bend

    def turn(self, bend: Scores, change: Scores, importance: float, out: Scores) -> None:
        for z in range(len(bend)):
            out[z] = importance * bend[z] * change[z]


MULTICLASS = ("auto", "crammer_singer", "softmax", "ovr")


def check_multiclass(scheme: str, loss: str) -> None:
    """Refuse a scheme that does not apply to a loss, given by name."""
    choose("multiclass", scheme, dict.fromkeys(MULTICLASS))
    if scheme != "auto" and loss in REGRESSION_LOSSES:
        raise ConfigError(
            f"multiclass={scheme!r} does not apply to loss={loss!r}, which predicts numbers."
        )
    if scheme == "softmax" and loss != "logistic":
        raise ConfigError(
            f"multiclass='softmax' does not apply to loss={loss!r}: softmax is the "
            f"logistic loss of many classes. Use loss='logistic', or 'crammer_singer' or 'ovr'."
        )


def check_update(update: Any, loss: Any) -> None:
    """Refuse importance-aware updates of scores that are not independent of each other."""
    if isinstance(update, AwareUpdate) and not isinstance(loss, OneVsRest):
        raise ConfigError(
            "importance='aware' is available for two classes, and for more with multiclass='ovr'."
        )


def multiclass_loss(scheme: str, loss: Loss) -> Any:
    """The loss over all classes that a scheme makes of a margin loss."""
    if scheme == "softmax" or (scheme == "auto" and isinstance(loss, Logistic)):
        return Softmax()
    if scheme == "crammer_singer" or (scheme == "auto" and isinstance(loss, Hinge)):
        return CrammerSinger(loss)
    return OneVsRest(loss)
