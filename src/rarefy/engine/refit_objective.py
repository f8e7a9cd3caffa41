"""The objective of a refit: mean loss plus penalty, as a function of the weights."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, dot
from rarefy.engine import refit_loops as loops
from rarefy.engine.newton import Point
from rarefy.model.importance import PlainUpdate
from rarefy.model.losses import Hinge, SquaredHinge
from rarefy.model.multiclass import CrammerSinger, OneVsRest, Softmax


class Wanted(NamedTuple):
    """What is to be found: weight k is that of columns[k], which ascend, for outputs[k].

    There is at least one for every column, and so exactly one where there is one output.
    """

    columns: NDArray[np.int64]
    outputs: NDArray[np.int64]
    n_outputs: int
    fit_intercept: bool
    loss: Any

    def start(self) -> Floats:
        """The variables to begin with: weights, and then an intercept for every output."""
        return np.zeros(len(self.columns) + self.n_outputs)


class Objective:
    """What is minimised: a function of the weights, and then the intercepts, in one array.

    The importances of the rows add up to 1; rows where it is 0 take no part.
    """

    def __init__(self, rows: Rows, wanted: Wanted, l2: float) -> None:
        self._rows = rows
        self._wanted = wanted
        self._l2 = np.append(np.full(len(wanted.columns), l2), np.zeros(wanted.n_outputs))
        (last_of_columns,) = np.nonzero(np.diff(wanted.columns, append=-1))
        self._weights_of = np.append(0, last_of_columns + 1).astype(np.uint64)
        self._outputs = wanted.outputs.astype(np.uint64)

    def start(self) -> Floats:
        return self._wanted.start()

    def parts(self, variables: Floats) -> tuple[Floats, Floats]:
        """The weights, and an intercept for every output."""
        n_weights = len(self._wanted.columns)
        return variables[:n_weights], variables[n_weights:]

    def at(self, variables: Floats) -> Point:
        _, _, n_outputs, fit_intercept, loss = self._wanted
        gradient, diagonal = self._l2 * variables, self._l2.copy()
        penalty = 0.5 * dot(variables, gradient)
        bends = np.zeros((len(self._rows.y), n_outputs))
        if n_outputs == 1:
            value = loops.at(loss, self._rows, variables, gradient, diagonal, bends)
        else:
            value = loops.at_classes(
                loss, PlainUpdate(), self._rows, self._weights_of, self._outputs, variables,
                gradient, diagonal, bends, np.empty((2, n_outputs)),
            )  # fmt: skip
        spread = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
        if not fit_intercept:
            spread[-n_outputs:] = 0.0
        return Point(variables, value + penalty, gradient, spread, bends)

    def curved(self, point: Point, direction: Floats) -> Floats:
        _, _, n_outputs, _, loss = self._wanted
        curved = self._l2 * direction
        if n_outputs == 1:
            loops.curved(self._rows, point.bends, direction, curved)
        else:
            loops.curved_classes(
                loss, self._rows, self._weights_of, self._outputs, point.bends, direction, curved,
                np.empty((2, n_outputs)),
            )  # fmt: skip
        return curved

    def losses(self, rows: Rows, variables: Floats) -> Floats:
        """The losses of rows, 0 for those that take no part."""
        _, _, n_outputs, _, loss = self._wanted
        losses = np.zeros(len(rows.y))
        if n_outputs == 1:
            loops.losses(loss, rows, variables, losses)
        else:
            loops.losses_of_classes(
                loss, rows, self._weights_of, self._outputs, variables, losses, np.empty(n_outputs)
            )
        return losses


def smooth(loss: Any) -> Any:
    """The loss itself if it has no kinks; else the one without that is minimised in its place."""
    if isinstance(loss, CrammerSinger):
        return Softmax()
    if isinstance(loss, OneVsRest):
        return OneVsRest(smooth(loss.loss))
    return SquaredHinge() if isinstance(loss, Hinge) else loss
