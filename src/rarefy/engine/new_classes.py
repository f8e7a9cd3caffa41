"""Classes that appear during learning: their weights start with their first row.

Numbers of classes count in the order in which the classes came. So a label that is higher than all
before is that of a new class.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import pairwise

import numpy as np

from rarefy.arrays import Floats, Rows, part_of
from rarefy.engine.learner import Learner
from rarefy.engine.watched import Seen, watched


def by_new_classes(y: Floats, n_outputs: int) -> Iterator[tuple[int, int, int]]:
    """Where to cut rows, so that new classes come between: begin, end, and how many outputs."""
    needed = np.maximum(np.maximum.accumulate(y).astype(np.int64) + 1, n_outputs)
    cuts = [0, *(np.flatnonzero(np.diff(needed)) + 1).tolist(), len(y)]
    for begin, end in pairwise(cuts):
        if end > begin:
            yield begin, end, int(needed[begin])


def learn_with_new_classes(
    learner: Learner,
    rows: Rows,
    n_features: int,
    between: Callable[[], None],
    seen: list[Seen],
) -> Learner:
    """The learner that has learned the rows; if there are new classes, another one.

    If that fails, the given one is as before. What was predicted before learning is `seen`.
    """
    parts = list(by_new_classes(rows.y, learner.n_outputs))
    if len(parts) == 1 and parts[0][-1] == learner.n_outputs:
        with watched(learner, seen):
            learner.learn(rows, n_features, between=between)
        return learner
    grown = deepcopy(learner)
    with watched(grown, seen):
        for begin, end, n_outputs in parts:
            grown.grow_outputs(n_outputs)
            grown.learn(part_of(rows, begin, end), n_features, between=between)
    return grown
