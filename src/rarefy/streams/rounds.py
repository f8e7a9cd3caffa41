"""Collecting the rows of a stream into rounds of shards."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Flags, Floats, Rows, read_only, without
from rarefy.engine.learner import Learner
from rarefy.engine.online_learner import OnlineLearner
from rarefy.engine.round_size import RoundSize
from rarefy.engine.sharding import Sharding
from rarefy.stores import Prepared


class Rounds:
    """Gathers rows; nothing is learned of a round, nor known to the store, until it is complete.

    Only of a round in order, rows may be taken as they come.
    """

    def __init__(self, sharding: Sharding) -> None:
        self.sharding = sharding
        self.parts: list[Prepared] = []
        self._size: RoundSize | None = None  # of a round that has begun

    @property
    def is_in_order(self) -> bool:
        """Whether the rows of the round that has begun, or is just over, are learned in order."""
        return self.sharding.is_in_order

    def begin_unless_begun(self, learner: OnlineLearner) -> None:
        """Begin a round, if the last one is over."""
        if self._size is None:
            self._size = self.sharding.new_round(learner)

    def n_rows(self, rows: Prepared, held: Flags) -> int:
        """How many of the rows that come next belong to the round that has begun."""
        assert self._size is not None
        return self._size.take(rows.batch.indptr, rows.batch.importance, held)

    def add(self, part: Prepared) -> None:
        """Take rows, which are copied if others may write to their memory."""
        self.parts.append(part if part.is_own else part.copied())

    @property
    def is_complete(self) -> bool:
        return self._size is not None and self._size.is_complete

    def taken(self) -> list[Prepared]:
        """The rows that have come of the round; it is over if it is complete, or these are last."""
        parts, self.parts, self._size = self.parts, [], None
        return parts


class Gathering:
    """A learner in the eyes of a store: it takes rows with slots, and learns none of them yet."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.parts: list[Rows] = []
        self.n_moves = 0

    @property
    def n_features(self) -> int:
        return self._learner.n_features

    @property
    def n_outputs(self) -> int:
        return self._learner.n_outputs

    @property
    def t(self) -> int:
        return self._learner.t

    def learn(self, rows: Rows, n_features: int = 0, *, restorable: bool = True) -> None:
        self._learner.grow(n_features)
        entries = slice(rows.indptr[0], rows.indptr[-1])
        self.parts.append(
            rows._replace(
                indptr=read_only(rows.indptr - rows.indptr[0]),
                indices=rows.indices[entries],
                values=rows.values[entries],
            )
        )

    def scores(self, rows: Rows) -> Floats:
        return self._learner.scores(rows)

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        return self._learner.usefulness(counts)

    def grow(self, n_features: int) -> None:
        self._learner.grow(n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features to new slots; rows lose those that are dropped."""
        moved = np.full(self.n_features, -1, np.int32)
        moved[old] = new
        self._learner.move(old, new, n_features)
        self.n_moves += 1
        for number, rows in enumerate(self.parts):
            indices = moved[rows.indices]
            self.parts[number] = without(rows._replace(indices=read_only(indices)), indices < 0)
