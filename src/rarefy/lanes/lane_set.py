"""Any number of models that learn side by side from one reading of the rows."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows, read_only
from rarefy.engine.reference import Reference
from rarefy.jit.lane_intrinsics import WIDTH
from rarefy.lanes.block import NO_FOLD, Block, Lane
from rarefy.lanes.layout import LaneRows


class Tallies(NamedTuple):
    """What is known of every lane; the first four are weighted sums over rows."""

    loss: Floats
    examples: Floats
    right: Floats
    squared_error: Floats
    weights: Floats  # that are not zero
    features: Floats  # that have such a weight
    diverged: Floats  # 1 where the lane stopped learning because its weights diverged


def blocks_of(lanes: Sequence[Lane]) -> Iterator[list[int]]:
    """The numbers of the lanes that share a block: those of one kind, one fold after the other."""
    by_kind: dict[Any, list[int]] = {}
    for number, lane in enumerate(lanes):
        by_kind.setdefault(lane.kind(), []).append(number)
    for numbers in by_kind.values():
        in_order = sorted(numbers, key=lambda number: lanes[number].fold)
        for first in range(0, len(in_order), WIDTH):
            yield in_order[first : first + WIDTH]


class Lanes:
    """Models by number, each of which is what it would be by itself.

    They lie in blocks, which are spread over threads. What a model becomes depends neither on the
    number of threads nor on the models that it shares a block with.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        *,
        n_features: int,
        n_outputs: int = 1,
        fit_intercept: bool = True,
        n_threads: int = 1,
    ) -> None:
        self.n_outputs = n_outputs
        self._numbers = list(blocks_of(lanes))
        self._blocks = [
            Block(
                [lanes[number] for number in numbers],
                n_features=n_features,
                n_outputs=n_outputs,
                fit_intercept=fit_intercept,
            )
            for numbers in self._numbers
        ]
        self._seats = {
            number: (block, seat)
            for numbers, block in zip(self._numbers, self._blocks, strict=True)
            for seat, number in enumerate(numbers)
        }
        self._n_threads = n_threads

    def learn(
        self,
        rows: Rows | LaneRows,
        folds: Floats | None = None,
        order: NDArray[np.int64] | None = None,
        *,
        judged: bool = False,
    ) -> None:
        """Every lane learns the rows whose fold is not its own, in the given order.

        With `judged` a lane's predictions are tallied before it learns.
        """
        folds = _checked(folds, rows)
        order = read_only(np.arange(len(rows.y)) if order is None else order)
        self._on_all(lambda block: block.learn(rows, folds, order, judged))

    def begin_pass(self, number: int) -> None:
        """Say how often the rows that come have been learned, this time included."""
        for block in self._blocks:
            block.begin_pass(number)

    def set_reference(self, reference: Reference) -> None:
        """Say what the rows that come are relative to."""
        for block in self._blocks:
            block.set_reference(reference)

    def n_bytes(self, n_features: int) -> int:
        """How much memory all lanes take with so many features."""
        return sum(
            Block.n_bytes(block.lanes[0], n_features, self.n_outputs) for block in self._blocks
        )

    def grow(self, n_features: int) -> None:
        """Make room for more features."""
        for block in self._blocks:
            block.grow(n_features)

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""
        for block in self._blocks:
            block.move(old, new, n_features)

    def judge(self, rows: Rows | LaneRows, folds: Floats | None = None) -> None:
        """Tally every lane's predictions of the rows of its own fold; of all rows without folds."""
        folds = _checked(folds, rows)
        self._on_all(lambda block: block.judge(rows, folds))

    def _on_all(self, work: Callable[[Block], None]) -> None:
        if self._n_threads == 1:
            for block in self._blocks:
                work(block)
        else:
            with ThreadPoolExecutor(self._n_threads) as threads:
                list(threads.map(work, self._blocks))

    def scores(self, rows: Rows | LaneRows) -> Floats:
        """(lane, row, output)."""
        out = np.empty((len(self._seats), len(rows.indptr) - 1, self.n_outputs))
        for numbers, block in zip(self._numbers, self._blocks, strict=True):
            out[numbers] = np.moveaxis(block.scores(rows), 2, 0)
        return out

    def tallies(self, sizes: Floats | None = None) -> Tallies:
        """What was tallied so far, and what is kept now, by lane.

        `sizes` says how many columns each feature stands for; without it, one.
        """
        tallies = np.empty((len(Tallies._fields), len(self._seats)))
        for numbers, block in zip(self._numbers, self._blocks, strict=True):
            tallies[:, numbers] = block.tallies(sizes)
        return Tallies(*tallies)

    def weights(self, lane: int) -> Floats:
        """All weights of a lane, (output, feature)."""
        block, seat = self._seats[lane]
        return block.weights(seat)

    def intercepts(self, lane: int) -> Floats:
        """The intercepts of a lane, one per output."""
        block, seat = self._seats[lane]
        return block.intercepts(seat)


def _checked(folds: Floats | None, rows: Rows | LaneRows) -> Floats:
    if folds is None:
        folds = np.full(len(rows.y), NO_FOLD)
    return read_only(np.asarray(folds, dtype=np.float64))
