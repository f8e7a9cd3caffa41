"""Few rows on the shortest way: features that the model knows, in one compiled call.

Everything is laid out once, and bound to calls that take no arguments. Whatever does not go this
way is left to others, with the same results. Single dicts need not even the model's lock: a call
is one step of the interpreter, and is refused while somebody holds the lock.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.checks import number_or_none
from rarefy.engine.divergence import divergence
from rarefy.engine.learner import CACHE_BYTES, Learner
from rarefy.engine.lending import Loan
from rarefy.engine.reference import FIRST_EXAMPLES
from rarefy.engine.watch import Watch
from rarefy.engine.watched import Seen
from rarefy.model.calibration import Calibration
from rarefy.readers.buffers import BatchBuffer, new_buffer
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import OF_TEXTS, expansion, grams_of
from rarefy.readers.formats.dict_parser import dict_scratch
from rarefy.readers.formats.jsonl import plan_for
from rarefy.readers.formats.registry import is_plainly_vw, recognise_text
from rarefy.readers.in_memory import NAME
from rarefy.readers.kept_parser import KeptParser
from rarefy.rules import hooks
from rarefy.rules.averaging import is_averaged
from rarefy.stores.array import ArrayStore
from rarefy.stores.hashed import HashedStore
from rarefy.stores.table_store import TableStore
from rarefy.stores.unique_slots import new_seen
from rarefy.streams.row_loops import (
    DIVERGED,
    DONE,
    RowMemory,
    RowModel,
    learn_rows,
    learn_rows_classes,
    score_rows,
)
from rarefy.system.model_lock import ModelLock

FEWEST_ENTRIES = 1 << 12  # that there is room for
MOST_ROWS, MOST_ENTRIES = 1 << 13, 1 << 18
NO_ENTRIES = np.empty((0, 2), np.uint64)  # of a table
NO_OWNERS = np.empty(0, np.uint8)  # of places that features share


class Owner(Protocol):
    """What has a task, a learner, and the store that leads to its slots; none: keys are slots."""

    @property
    def lock(self) -> ModelLock: ...

    @property
    def classes(self) -> Sequence[str]: ...

    @property
    def learner(self) -> Any: ...

    @property
    def store(self) -> Any: ...

    @property
    def task(self) -> Any: ...

    @property
    def watch(self) -> Watch | None: ...


TargetOf = Callable[[Any], float | None]


def no_target(_: Any) -> None:
    """No label has one."""


def _refuse(*_: Any) -> None:
    """What learns and scores nothing."""


class HotRows:
    """Learns and scores rows, if they go the shortest way; who calls holds the model's lock.

    `learn_one`, a function of a dict, a target and its importance, which gives DONE or not, and
    `score_one`, which gives the score of a dict, the number of its class, or None, need no lock.
    """

    learn_one: Callable[..., int | None]
    score_one: Callable[..., float | None]
    target_of: TargetOf  # of a label
    own_target_of: TargetOf  # of the label of a line, which is a number or a text
    labels: list[Any] | None  # the two, where there is one score

    def __init__(
        self, owner: Owner, columns: Columns, cross: tuple[tuple[str, ...], ...] = ()
    ) -> None:
        self.owner = owner
        self._reads_dicts = columns.named and not cross
        self._line_formats: tuple[str, ...] = ("json",)
        if cross or (columns.ignore and not columns.named):
            self._line_formats = ()
        elif not (columns.named or columns.complete):
            self._line_formats = ("vw", "svmlight")
        self._text_column = columns.text[0] if len(columns.text) == 1 else None
        self._row: dict[str, str] = {}  # which is taken, if it was a text
        self.parser: KeptParser | None = None  # that of the last line
        self._columns = columns
        self._plan, self._scratch = plan_for(columns), dict_scratch()
        self._learner: Any = None
        self._lender: Any = None  # of the last loan
        self._loan: Loan | None = None
        self._arguments: Any = None  # of the calls that are bound
        self._learn: Callable[[], int | None] | None = None
        self._score: Callable[[], int | None] | None = None
        self._turn = np.zeros(1, np.int64)  # of the lock, in which single dicts need it not
        self._free: tuple[Callable[..., Any], ...] = ()  # to learn and score single dicts
        self.learn_one = self.score_one = _refuse
        self.target_of = self.own_target_of = no_target
        self.labels = None
        self.has_learned = False  # rows that went the other way, on which it is checked whether
        self._make_memory(1, FEWEST_ENTRIES)

    # --- rows of one kind or another, into the memory ---------------------------------------

    def take(self, x: Any, format: str | None) -> bool:
        """Take a row: a dict, a text, or a line; whether it is plain, and short."""
        if type(x) is str:
            if format is None and self._text_column is not None:
                self._row = {self._text_column: x}
                return self.take(self._row, None)
            return self._take_line(x, format)
        if type(x) is not dict or format is not None or not self._reads_dicts:
            return False
        self.parser = None
        self._dicts[0], self._n_rows[0] = id(x), 1
        return True

    def _take_line(self, x: str, format: str | None) -> bool:
        try:
            line = x.removesuffix("\n").encode()
        except UnicodeEncodeError:
            return False
        if format is None:
            format = "vw" if is_plainly_vw(line) else recognise_text(NAME, line + b"\n")
        if len(line) > FEWEST_ENTRIES or format not in self._line_formats:
            return False
        self.parser = self._parsers.get(format)
        if self.parser is None:
            words = any(number_or_none(name) is None for name in self.owner.classes)
            self.parser = self._parsers[format] = KeptParser(
                format, self._columns, self._buffer, FEWEST_ENTRIES, labels_are_words=words
            )
        self._dicts[0], self._n_rows[0] = 0, 1
        return self.parser.parse(line)

    def take_dicts(self, rows: Sequence[Any]) -> bool:
        """Take dicts; whether there are few enough. They have to stay until the next call."""
        n = len(rows)
        is_list = isinstance(rows, list | tuple) and 0 < n <= MOST_ROWS
        if not self._reads_dicts or not is_list or set(map(type, rows)) != {dict}:
            return False
        if not self._has_room(n, sum(map(len, rows))):
            return False
        self._dicts[:n] = np.fromiter(map(id, rows), np.int64, n)
        self._n_rows[0] = n
        return True

    def take_features(self, indptr: Any, keys: NDArray[Any], values: NDArray[Any]) -> bool:
        """Take rows by the keys and values of their features; whether there are few enough."""
        n_rows, n = len(indptr) - 1, len(keys)
        if not 0 < n_rows <= MOST_ROWS or not self._has_room(n_rows, n):
            return False
        self._dicts[0], self._n_rows[0] = 0, n_rows
        self._buffer.indptr[: n_rows + 1] = indptr
        self._buffer.keys[:n] = keys
        self._buffer.values[:n] = values
        return True

    def _has_room(self, n_rows: int, n_entries: int) -> bool:
        """Whether there is room for so much now; too much gets none."""
        if n_rows <= len(self._y) and n_entries <= len(self._buffer.labels):
            return True
        if n_entries > MOST_ENTRIES:
            return False
        self._make_memory(n_rows, max(n_entries, FEWEST_ENTRIES))
        return True

    def _make_memory(self, n_rows: int, n_entries: int) -> None:
        self._n_grams = expansion(grams_of(self._columns.ngram, self._columns.skips, OF_TEXTS))
        self._buffer = new_buffer(n_entries, expansion=self._n_grams)
        self._n_rows = np.ones(1, np.int64)
        self._dicts = np.zeros(n_rows, np.int64)
        self._y, self._importance = np.zeros(n_rows), np.ones(n_rows)
        self._parsers: dict[str, KeptParser] = {}
        self._learner = self._arguments = None

    # --- learning and scoring what was taken ------------------------------------------------

    def score(self) -> bool:
        """Whether `scores` are those of the rows now; if not, they have to go the other way."""
        return self._is_ready() and (self._score or self._bind_score())() == DONE

    def learn(self, y: Floats | float, importance: Floats | float) -> bool:
        """Whether the rows were learned; if not, nothing has changed. Of one row, y is a float."""
        if not self._is_ready() or not self._may_learn:
            return False
        if type(y) is float:
            self._y[0], self._importance[0] = y, importance
        else:
            n = self._n_rows.item()
            self._y[:n], self._importance[:n] = y, importance
        watch = self.owner.watch
        calibration = None if watch is None else self._learner.calibration
        result = (self._learn or self._bind_learn())()
        if result == DONE and watch is not None:
            self._tell(watch, calibration)
        if result == DIVERGED and (n_learned := self._n_rows.item()):
            raise divergence(self._learner, n_learned, is_changed=True)
        return result == DONE

    def offer(self) -> None:
        """Learn and score single dicts without the lock, until it is taken for something else.

        Who calls holds it, and has just learned or scored something else on the short way.
        """
        if self._learner is None or not self._reads_dicts:
            return
        if not self._free:
            self._free = self._bind_free()
        self._turn[0] = self.owner.lock.next_turn
        may_learn = self._may_learn and self.owner.watch is None
        learn_one, score_one = self._free
        self.learn_one = learn_one if may_learn else _refuse
        self.score_one = _refuse if self.owner.task.classes_grow else score_one

    def _bind_free(self) -> tuple[Callable[..., Any], ...]:
        """Functions for the model as it is bound now, with memory of their own."""
        model, learner = self._arguments[0], self._learner
        self._turn, given = np.zeros(1, np.int64), np.zeros(3)  # a dict, target, importance
        buffer = new_buffer(FEWEST_ENTRIES, expansion=self._n_grams)
        memory = self._memory(learner, 1, buffer)._replace(
            turn=self._turn,
            n_rows=np.ones(1, np.int64),
            dicts=given[:1].view(np.int64),
            y=given[1:2],
            importance=given[2:],
        )
        loop: Any = learn_rows if learner.n_outputs == 1 else learn_rows_classes
        learn = loop.python_function(model, memory, given=given)
        loop = score_rows
        score = loop.python_function(model, memory, given=given[:1], answer=memory.answer)
        return learn or _refuse, score or _refuse

    def _tell(self, watch: Watch, calibration: Calibration | None) -> None:
        """Tell what was predicted just before it was learned."""
        n = self._n_rows.item()
        rows = self.scores.copy(), self._y[:n].copy(), self._importance[:n].copy()
        learner = self._learner
        watch.add(self.owner.task, learner.loss, [Seen(*rows, calibration)], learner.t)

    @property
    def scores(self) -> Floats:
        """One row of scores for each row that was scored; the next ones overwrite them."""
        return self._scores[: self._n_rows.item()]

    # --- the model as it is now -------------------------------------------------------------

    def _is_ready(self) -> bool:
        """Whether the calls are bound to the model as it is now."""
        learner, owner = self._learner, self.owner
        if (
            learner is not None
            and learner.loan is self._loan
            and learner is owner.learner
            and learner.state is self._state
            and learner.n_features == self._n_features
            and (self._table is None or owner.store._entries is self._entries)
        ):
            return True
        return self._bind()

    def _bind(self) -> bool:
        learner, store = self.owner.learner, self.owner.store
        self._learner = None
        has_slots = store is None or isinstance(store, TableStore | ArrayStore | HashedStore)
        if (
            not has_slots
            or type(learner) is not Learner
            or learner.group_sums is not None
            or learner.clock.common != ()
            or is_averaged(learner.rule)
        ):
            return False
        self._table = store if isinstance(store, TableStore) else None
        self._owners = store.owners if isinstance(store, HashedStore) else NO_OWNERS
        self._entries = NO_ENTRIES if self._table is None else self._table._entries
        self._loan = learner.lend(self._loan if learner is self._lender else None)
        self._learner = self._lender = learner
        self._state, self._n_features = learner.state, learner.n_features
        self._may_learn = self._can_learn(learner, store)
        model = self._model(learner)
        if self._arguments is None or not _are_same(model, self._arguments[0]):
            memory = self._memory(learner, len(self._y), self._buffer)
            self._arguments, self._scores = (model, memory), memory.scores
            self._learn = self._score = None
            self._free = ()
        return True

    def _bind_learn(self) -> Callable[[], int | None]:
        """The call, compiled if need be, which is not before it is made for the first time."""
        loop: Any = learn_rows if self._learner.n_outputs == 1 else learn_rows_classes
        call: Callable[[], int | None] = loop.bound(*self._arguments) or _refuse
        self._learn = call
        return call

    def _bind_score(self) -> Callable[[], int | None]:
        loop: Any = score_rows
        call: Callable[[], int | None] = loop.bound(*self._arguments) or _refuse
        self._score = call
        return call

    def _can_learn(self, learner: Learner, store: Any) -> bool:
        reference = learner.reference
        is_early = reference.n < FIRST_EXAMPLES
        return (
            (store is None or (store.own_by_name is None and self.has_learned))
            and self.owner.task.class_weight is None
            and learner.own_of_columns is None
            and not (is_early and (reference.means_wanted or reference.spread_wanted))
        )

    def _model(self, learner: Learner) -> RowModel:
        assert self._loan is not None
        return RowModel(
            self.owner.lock.turns,
            self._loan.is_on,
            learner.rule,
            learner.intercept_rule,
            learner.loss,
            learner.weighting,
            learner._clock.schedule,
            self._entries,
            self._owners,
            learner.n_features,
            learner.state,
            learner.intercept_state,
            self._loan.clock,
            self._loan.calibration,
            self._loan.n_examples,
            self._loan.targets,
            learner.progress,
            learner.reference.slots,
            learner.reference.means,
            learner.reference.location,
            learner.state.nbytes > CACHE_BYTES,
            *hooks(learner.rule),
        )

    def _memory(self, learner: Learner, n_rows: int, buffer: BatchBuffer) -> RowMemory:
        n_entries = len(buffer.keys)
        n_centred = len(learner.reference.slots)
        size = n_entries + n_rows * n_centred
        return RowMemory(
            self.owner.lock.turns,  # whose turn it is: who calls holds the lock
            self._n_rows,
            self._dicts,
            self._plan,
            self._scratch,
            buffer,
            self._y,
            self._importance,
            np.zeros(n_entries, np.int32),
            new_seen(4 * n_entries),
            np.zeros(n_rows + 1, np.int64),
            np.zeros(size, np.int32),
            np.zeros(size),
            np.zeros(n_centred, np.int64),
            np.zeros(n_rows),
            np.zeros((max(2, n_rows), learner.n_outputs)),  # of one row, it is of another kind
            np.zeros(1),
            learner.bench_for(size),
            np.empty((2, learner.n_outputs)),
        )


def _are_same(model: RowModel, bound: RowModel) -> bool:
    """Whether a call that is bound to the one is also a call with the other."""
    if model.schedule != bound.schedule:
        return False
    parts = zip(model._replace(schedule=bound.schedule), bound, strict=True)
    return all(a is b or (isinstance(a, int | float) and a == b) for a, b in parts)
