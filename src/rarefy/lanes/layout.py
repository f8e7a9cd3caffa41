"""Memory layout of models side by side: one row of an array per number, the lane last."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, read_only

# Rows of the lanes' work; the last three are there for every output.
OWN_FOLD, ALIVE, SEES, FOUND, SCORE, SLOPE, STEPS = range(7)
PER_OUTPUT = 3

# Rows of the tallies: weighted sums over the rows that a lane was judged by, and what it keeps.
N_TALLIES = 6
LOSS, EXAMPLES, RIGHT, SQUARED_ERROR, WEIGHTS, FEATURES = range(N_TALLIES)


class LaneRows(NamedTuple):
    """Rows whose features may stand for several columns that always have the same weight."""

    indptr: NDArray[np.int64]
    indices: Any
    values: Floats
    y: Floats
    importance: Floats
    shares: Floats  # what goes into the score: the sum of the values in those columns


def lane_rows(rows: Rows | LaneRows) -> LaneRows:
    """The rows as they are, every feature a column, if nothing else was made of them."""
    return rows if isinstance(rows, LaneRows) else LaneRows(*rows, rows.values)


def rows_at(rows: LaneRows, numbers: NDArray[np.int64]) -> LaneRows:
    """Some of the rows, by their numbers, which ascend."""
    lengths = np.diff(rows.indptr)
    is_chosen = np.zeros(len(lengths), np.bool_)
    is_chosen[numbers] = True
    entries = np.repeat(is_chosen, lengths)
    parts = (
        np.append(0, np.cumsum(lengths[numbers])),
        rows.indices[entries],
        rows.values[entries],
        rows.y[numbers],
        rows.importance[numbers],
        rows.shares[entries],
    )
    return LaneRows(*map(read_only, parts))


class Seats(NamedTuple):
    """What the models of a block have in common, and where the numbers of each one lie.

    The last axis of every array is the lane.
    """

    rule: Any
    intercept_rule: Any
    loss: Any
    clock: Any
    rules: Floats  # (parameter, lane)
    intercept_rules: Floats
    losses: Floats
    clocks: Floats  # of the round to come
    state: Floats  # (slot, field, lane)
    intercepts: Floats  # (output, field, lane), or nothing
    work: Floats
    tallies: Floats  # after the named rows, losses with scores times each of these
    scales: Floats
    sums: int  # the first row of work for sums over the steps of a row
