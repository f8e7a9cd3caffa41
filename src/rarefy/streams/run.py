"""A run: passes over data in steps, which can be stopped and resumed."""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import portions
from rarefy.engine.round_size import NONE_HELD
from rarefy.engine.sharding import Sharding, check_sharding
from rarefy.engine.workers import n_cores
from rarefy.errors import ConfigError, InputError
from rarefy.hashing import PRIME1, PRIME2, PRIME3
from rarefy.jit import compiled
from rarefy.model.label_runs import LabelRuns
from rarefy.model.target_order import TargetOrder
from rarefy.readers import Reader
from rarefy.readers.prefetch import READY_ITEMS, WORKERS
from rarefy.stores import Prepared
from rarefy.streams.class_numbers import ClassNumbers
from rarefy.streams.holdout import HeldOutShare
from rarefy.streams.pipeline import prepared_batches
from rarefy.streams.rounds import Rounds
from rarefy.streams.row_cache import RowCache
from rarefy.streams.shuffle import Shuffle, Shuffling
from rarefy.streams.stream_model import StreamModel

NEVER = 1 << 62


class Position(NamedTuple):
    """How far a run has come."""

    pass_number: int = 1
    rows: int = 0  # of this pass that have been dealt with
    fingerprint: int = 0  # of the labels and lengths of these rows

    def after(self, part: Prepared) -> "Position":
        """The position when these rows, too, have been dealt with."""
        labels, indptr = part.batch.labels, part.batch.indptr
        fingerprint = _fingerprint(np.uint64(self.fingerprint), labels.view(np.uint64), indptr)
        return Position(self.pass_number, self.rows + len(labels), fingerprint)


class Elsewhere(Protocol):
    """Other processes, which read and learn the rows of a run.

    Its batches have labels, importance, lengths and numbers of rows, and none of their features.
    """

    def batches(self) -> Generator[Prepared]: ...

    def learn_round(self, parts: Sequence[Prepared], sharding: Sharding) -> None:
        """Learn the rows of a round, as `StreamModel.learn_round` does."""

    def here(self, part: Prepared) -> Prepared:
        """Rows with their features."""


class Predicted(NamedTuple):
    """Examples that were predicted just before they were learned, and how well, summed."""

    examples: int = 0
    loss: float = 0.0  # by importance, as the others
    weight: float = 0.0
    right: float = 0.0

    def since(self, other: "Predicted") -> "Predicted":
        return Predicted(
            self.examples - other.examples,
            self.loss - other.loss,
            self.weight - other.weight,
            self.right - other.right,
        )


@compiled
def _fingerprint(before: np.uint64, labels: NDArray[np.uint64], indptr: NDArray[np.int64]) -> int:
    """A hash below NEVER of rows and all before them, however they were cut into batches."""
    fingerprint = before
    for row in range(len(labels)):
        length = np.uint64(indptr[row + 1] - indptr[row])
        own = (labels[row] ^ (labels[row] >> np.uint64(32))) * PRIME2 + length * PRIME3
        fingerprint = (fingerprint * PRIME1 + own) & np.uint64(NEVER - 1)
    return fingerprint  # type: ignore[return-value]


BEGINNING = Position()


class Run:
    """A model that learns all that a reader gives, `passes` times.

    From a position that is not the beginning, the rows before it are read again and passed over;
    they must be the rows of the run that came so far.
    """

    def __init__(
        self,
        model: StreamModel,
        reader: Reader,
        *,
        passes: int = 1,
        cache: str | Path | None = None,
        position: Position = BEGINNING,
        held_out: HeldOutShare | None = None,
        shuffle: Shuffle | None = None,
        shards: int = 1,
        before: Predicted | None = None,
        first_pass: Predicted | None = None,
    ) -> None:
        check_sharding(shards, model.task)
        self._classes_grow = model.task.classes_grow
        if self._classes_grow and (held_out is not None or shards > 1):
            what = "shards" if held_out is None else "holdout"
            raise ConfigError(f"classes='grow' cannot be combined with {what}.")
        self.model = model
        self.reader = reader
        self.passes = passes
        self.position = position  # up to which rows have been learned
        self._read = BEGINNING  # up to which they have been read, in this process
        self._whole: Position | None = None  # the end of the first pass that was read to its end
        self.held_out = held_out
        self.before = predicted(model) if before is None else before  # when the run began
        self._first_pass = first_pass  # once it is over
        self.label_runs: LabelRuns | TargetOrder = (  # of the first pass, in this process
            TargetOrder() if model.task.is_regression else LabelRuns()
        )
        self.share = math.nan  # of the work that is done, where that is known
        self.is_waiting = False  # for the next batch, and so not in the middle of learning
        self.is_whole = True  # the model has learned the rows up to the position, and no others
        self._class_names: list[str] = []  # of classes that grow, with those of the last batch
        reader.names_wanted = model.store.names_wanted
        self._cache = None if cache is None else RowCache(cache, reader, model.store)
        self._rounds = None if shards == 1 else Rounds(Sharding(shards))
        self.elsewhere: Elsewhere | None = None  # where rows are, if not in this process
        self._shuffling: Shuffling | None = None
        if shuffle is not None:
            self._shuffling = Shuffling(
                shuffle, lambda batch: self.model.begin(batch, reader), self._finish
            )

    @property
    def is_over(self) -> bool:
        return self.position.pass_number > self.passes

    @property
    def can_be_read_again(self) -> bool:
        return self._cache is not None or self.reader.can_be_read_again

    @property
    def first_pass(self) -> Predicted | None:
        """Of the first pass of this run, so far; None where that is not known any more.

        The rows of later passes have been learned before, and so are no measure.
        """
        if self.position.pass_number == 1 or self.passes == 1:
            return predicted(self.model).since(self.before)
        return self._first_pass

    @property
    def how_shuffled(self) -> str:
        """Whether all rows, or those of a window, come in random order; empty if none do."""
        return "" if self._shuffling is None else self._shuffling.remark

    def steps(self, pause: Callable[[], int] = lambda: NEVER) -> Iterator[None]:
        """Learn, or pass over; a step ends with a batch, a pass, or after the rows of `pause`.

        It ends within a fraction of a second, too, however many classes there are.
        """
        while not self.is_over:
            self._read = Position(self.position.pass_number)
            if self.held_out is not None:
                self.held_out.begin_pass()
            with closing(self._in_order()) as batches:
                while (prepared := self._next(batches)) is not None:
                    if len(prepared.batch.labels):
                        yield from self._learn_batch(prepared, pause)
            if self._rounds is not None:
                self._learn_gathered(self._rounds)
                yield
            if self._read.rows < self.position.rows:
                raise _other_data(self.position)
            self._check_unchanged()
            self._first_pass = self.first_pass
            self.position = Position(self.position.pass_number + 1)
            yield

    def _check_unchanged(self) -> None:
        """Refuse to go on when a pass had other rows than the first one in this process."""
        if self._whole is None:
            self._whole = self._read
        is_same = self._read.rows == self._whole.rows
        if is_same and self._shuffling is None:
            is_same = self._read.fingerprint == self._whole.fingerprint
        if not is_same:
            raise InputError(
                f"the data have changed while they were learned: pass {self._read.pass_number} had "
                f"{self._read.rows:,} rows, and pass {self._whole.pass_number} had "
                f"{self._whole.rows:,}. Train again, on files that stay as they are."
            )

    def again(self) -> Iterator[tuple[Prepared, NDArray[np.bool_]]]:
        """All rows of the data once more, and which of them are held out; nothing is learned.

        Of rows that are elsewhere, only those that are held out come here.
        """
        n_rows = 0
        with closing(self._batches(self.model.with_targets)) as batches:
            for prepared in batches:
                held = np.zeros(len(prepared.batch.labels), np.bool_)
                if self.held_out is not None:
                    held = self.held_out.chosen(n_rows, len(held))
                n_rows += len(held)
                if self.elsewhere is None:
                    yield prepared, held
                else:
                    yield self._here(prepared.only(held)), held[held]

    def _finish(self, prepared: Prepared) -> Prepared:
        """The batch with its targets, as far as they are known before it is learned."""
        if not self._classes_grow:
            return self.model.with_targets(prepared)
        return prepared._replace(y=np.zeros(len(prepared.batch.labels)))  # see _numbered

    def _batches(self, finish: Callable[[Prepared], Prepared]) -> Generator[Prepared]:
        if self.elsewhere is not None:
            return self.elsewhere.batches()
        if self._cache is not None:
            return self._cache.batches(finish, self._gathers, self._n_readers)
        return prepared_batches(
            self.reader, self.model.store, finish, self._gathers, self._n_readers
        )

    @property
    def _n_readers(self) -> int:
        """In how many threads rows are read: shards need them faster than one learner does."""
        if self._rounds is None:
            return WORKERS
        return max(WORKERS, min(self._rounds.sharding.n_threads, n_cores() // 2, READY_ITEMS))

    def _gathers(self) -> bool:
        """Whether rows are gathered for a round, and not learned as they come."""
        if self._rounds is None:
            return False
        return self.elsewhere is not None or not self._rounds.is_in_order

    def _in_order(self) -> Generator[Prepared]:
        """The batches of a pass, as they are to be learned."""
        if self._shuffling is None:
            return self._batches(self._finish)
        return self._shuffling.batches(
            lambda: self._batches(self._finish), self.position.pass_number
        )

    def _next(self, batches: Iterator[Prepared]) -> Prepared | None:
        self.is_waiting = True
        try:
            return next(batches, None)
        finally:
            self.is_waiting = False

    def _learn_batch(self, prepared: Prepared, pause: Callable[[], int]) -> Iterator[None]:
        self.model.begin(prepared.batch, self.reader)
        self.model.learner.begin_pass(self.position.pass_number)
        rest: Prepared | None = prepared
        if self._classes_grow:
            rest = self._numbered(prepared)
        elif prepared.y is None:
            rest = self.model.with_targets(prepared)
        while rest is not None:
            to_skip = self.position.rows - self._read.rows
            n_rows = to_skip
            if to_skip <= 0:
                n_rows = self._n_rows_of_step(rest, pause)
            part, rest = rest.cut(n_rows)
            first, self._read = self._read.rows, self._read.after(part)
            if to_skip <= 0:
                self._take(part, first)
            elif self._read.rows == self.position.rows and self._read != self.position:
                raise _other_data(self.position)
            self.share = (self.position.pass_number - 1 + prepared.batch.share) / self.passes
            yield

    def _numbered(self, prepared: Prepared) -> Prepared:
        """The batch with the numbers of classes that grow, in the order in which they come."""
        numbers = ClassNumbers(self.model.classes)
        y = numbers.of_batch(prepared.batch)
        self._class_names = numbers.names
        return prepared._replace(y=y)

    def _n_rows_of_step(self, rows: Prepared, pause: Callable[[], int]) -> int:
        """How many of the rows to take next."""
        _, portion = next(portions(rows.batch.indptr, self.model.learner.n_outputs))
        most = min(max(pause(), 1), portion)
        if self._rounds is None:
            return most
        self._rounds.begin_unless_begun(self.model.learner)
        if not self._gathers():
            rows, _ = rows.cut(most)
        return self._rounds.n_rows(rows, self._are_held(rows, self._read.rows))

    def _take(self, part: Prepared, first_row: int) -> None:
        """Learn rows, now or when they make a round; the first has that number in the pass."""
        if part.numbers is None:
            part = part._replace(numbers=first_row + np.arange(len(part.batch.labels)))
        if self._rounds is None or not self._gathers():
            self._learn_whole([part])
        else:
            self._rounds.add(part)
        if self._rounds is not None and self._rounds.is_complete:
            self._learn_gathered(self._rounds)

    def _learn_gathered(self, rounds: Rounds) -> None:
        """Learn the rows of a round that is over, unless they were learned as they came."""
        if gathered := rounds.taken():
            self._learn_whole(gathered)

    def _are_held(self, rows: Prepared, first_row: int) -> NDArray[np.bool_]:
        """Which rows are held out; empty if there is no such thing."""
        if self.held_out is None:
            return NONE_HELD
        numbers = rows.numbers
        if numbers is None:
            numbers = first_row + np.arange(len(rows.batch.labels))
        return self.held_out.among(numbers)

    def _learn_whole(self, parts: list[Prepared]) -> None:
        """Learn all rows, or none of them, or be no more of use."""
        before, self.is_whole = self.model.t, False
        try:
            self._learn(parts)
        except InputError:
            self.is_whole = not self._gathers() and self.model.t == before  # rows were refused
            raise
        self.is_whole = True
        self.position = self._read

    def _learn(self, parts: list[Prepared]) -> None:
        if self.position.pass_number == 1:
            for part in parts:
                assert part.y is not None
                self.label_runs.add(part.y)
        held = [self._are_held(part, 0) for part in parts]
        learned = parts
        if self.held_out is not None:
            learned = [part.only(~one) for part, one in zip(parts, held, strict=True)]
        if self._classes_grow:
            (part,) = learned
            self.model.learn_with_new_classes(part, self._class_names)
        elif self._rounds is None or not self._gathers():
            self.model.learn(*learned)
        elif self.elsewhere is None:
            self.model.learn_round(learned, self._rounds.sharding)
        else:
            self.elsewhere.learn_round(learned, self._rounds.sharding)
        if self.held_out is not None:
            for part, one in zip(parts, held, strict=True):
                assert part.numbers is not None
                self.held_out.score(self.model, self._here(part.only(one)), part.numbers[one])

    def _here(self, part: Prepared) -> Prepared:
        """The rows of a part, which may be elsewhere."""
        return part if self.elsewhere is None else self.elsewhere.here(part)


def predicted(model: StreamModel) -> Predicted:
    """All that a model has predicted before learning it."""
    return Predicted(model.t, *model.learner.progress.tolist()) if model.t else Predicted()


def _other_data(start: Position) -> InputError:
    return InputError(
        f"these are not the data of the interrupted run: the first {start.rows:,} rows differ. "
        f"Give the same files in the same order."
    )
