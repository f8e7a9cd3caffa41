"""Compiled loops of the refit, over rows some of which may have weight 0.

The variables are the weights, and then an intercept for every output. With several outputs the
weights of column c are those from `weights_of[c]` up to `weights_of[c + 1]`, and `outputs` says for
which output each is.
"""

from typing import Any

import numpy as np

from rarefy.jit import compiled, inlined


@inlined
def _score(rows: Any, row: int, variables: Any) -> Any:
    score = variables[-1]
    for at in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
        score += rows.values[at] * variables[np.uint64(rows.indices[at])]
    return score


@compiled
def losses(loss: Any, rows: Any, variables: Any, losses: Any) -> None:
    """The loss of every row that takes part."""
    for row in range(len(losses)):
        if rows.importance[row] > 0.0:
            losses[row] = loss.value(_score(rows, row, variables), rows.y[row])


@compiled
def at(loss: Any, rows: Any, variables: Any, gradient: Any, diagonal: Any, bends: Any) -> Any:
    """The mean loss; adds its gradient and the Hessian's diagonal, and notes the curvatures."""
    value = 0.0
    for row in range(len(rows.y)):
        share, y = rows.importance[row], rows.y[row]
        if share == 0.0:
            continue
        score = _score(rows, row, variables)
        value += share * loss.value(score, y)
        slope = share * loss.slope(score, y)
        bend = share * loss.curvature(score, y)
        gradient[-1] += slope
        diagonal[-1] += bend
        bends[row, 0] = bend
        for at in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
            gradient[np.uint64(rows.indices[at])] += rows.values[at] * slope
            diagonal[np.uint64(rows.indices[at])] += rows.values[at] * rows.values[at] * bend
    return value


@compiled
def curved(rows: Any, bends: Any, direction: Any, curved: Any) -> None:
    """Adds the Hessian of the mean loss times a direction."""
    for row in range(len(rows.y)):
        if bends[row, 0] == 0.0:
            continue
        turn = bends[row, 0] * _score(rows, row, direction)
        curved[-1] += turn
        for at in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
            curved[np.uint64(rows.indices[at])] += rows.values[at] * turn


@inlined
def _set_scores(
    rows: Any, row: int, weights_of: Any, outputs: Any, variables: Any, scores: Any
) -> None:
    n_weights = len(outputs)
    for output in range(len(scores)):
        scores[output] = variables[n_weights + output]
    for at in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
        column = np.uint64(rows.indices[at])
        for k in range(weights_of[column], weights_of[column + np.uint64(1)]):
            scores[outputs[k]] += rows.values[at] * variables[k]


@inlined
def _add_slopes(
    rows: Any, row: int, weights_of: Any, outputs: Any, slopes: Any, gradient: Any
) -> None:
    n_weights = len(outputs)
    for output in range(len(slopes)):
        gradient[n_weights + output] += slopes[output]
    for at in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
        column = np.uint64(rows.indices[at])
        for k in range(weights_of[column], weights_of[column + np.uint64(1)]):
            gradient[k] += rows.values[at] * slopes[outputs[k]]


@compiled
def losses_of_classes(
    loss: Any, rows: Any, weights_of: Any, outputs: Any, variables: Any, losses: Any, scores: Any
) -> None:
    """As `losses`, of several outputs."""
    for row in range(len(losses)):
        if rows.importance[row] > 0.0:
            _set_scores(rows, row, weights_of, outputs, variables, scores)
            losses[row] = loss.value(scores, int(rows.y[row]))


@compiled
def at_classes(
    loss: Any, update: Any, rows: Any, weights_of: Any, outputs: Any, variables: Any,
    gradient: Any, diagonal: Any, bends: Any, scratch: Any,
) -> Any:  # fmt: skip
    """As `at`, of several outputs; `bends` are what the loss calls so."""
    scores, slopes = scratch[0], scratch[1]
    n_weights = len(outputs)
    value = 0.0
    for row in range(len(rows.y)):
        share, y = rows.importance[row], int(rows.y[row])
        if share == 0.0:
            continue
        _set_scores(rows, row, weights_of, outputs, variables, scores)
        value += share * loss.value(scores, y)
        loss.bend(scores, y, bends[row])
        loss.slopes(scores, y, update, share, 0.0, slopes)
        _add_slopes(rows, row, weights_of, outputs, slopes, gradient)
        for output in range(len(slopes)):
            slopes[output] = share * loss.curvature(bends[row, output])
            diagonal[n_weights + output] += slopes[output]
        for at in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
            column, square = np.uint64(rows.indices[at]), rows.values[at] * rows.values[at]
            for k in range(weights_of[column], weights_of[column + np.uint64(1)]):
                diagonal[k] += square * slopes[outputs[k]]
    return value


@compiled
def curved_classes(
    loss: Any, rows: Any, weights_of: Any, outputs: Any, bends: Any, direction: Any, curved: Any,
    scratch: Any,
) -> None:  # fmt: skip
    """As `curved`, of several outputs."""
    change, turn = scratch[0], scratch[1]
    for row in range(len(rows.y)):
        share = rows.importance[row]
        if share == 0.0:
            continue
        _set_scores(rows, row, weights_of, outputs, direction, change)
        loss.turn(bends[row], change, share, turn)
        _add_slopes(rows, row, weights_of, outputs, turn, curved)
