"""Compiled calls that learn and score few rows, bound to the arrays of a model."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from rarefy.engine.learner import CACHE_BYTES, Learner
from rarefy.engine.live_scalars import LiveScalars
from rarefy.engine.reference import FIRST_EXAMPLES
from rarefy.engine.watch import Watch
from rarefy.jit import in_turn
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.single.row_intake import SingleRowIntake
from rarefy.readers.single.row_loop import NO_TARGETS, OwnTargets
from rarefy.readers.single.row_reading import ObjectReading
from rarefy.rules import hooks
from rarefy.rules.averaging import is_averaged
from rarefy.stores.array import ArrayStore
from rarefy.stores.hashed import HashedStore
from rarefy.stores.table_index import NO_TABLE
from rarefy.stores.table_store import TableStore
from rarefy.stores.unique_slots import new_seen
from rarefy.streams.fast_path_loops import (
    OneScore,
    RowMemory,
    RowModel,
    SeveralScores,
    learn_rows,
    score_rows,
)
from rarefy.system.model_lock import ModelLock

NO_OWNERS = np.empty(0, np.uint8)  # of slots that features share


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


def refuse(*_: Any) -> None:
    """What learns and scores nothing."""


class BoundCalls:
    """Learns and scores what an intake has taken, in one step of the interpreter each."""

    may_learn: bool  # whether rows go this way to be learned, too
    own_targets: OwnTargets = NO_TARGETS  # of the labels of lines
    object_reading: ObjectReading | None  # what single objects are read by
    object_arguments: tuple[RowModel, RowMemory]  # and learned

    def __init__(self, owner: Owner, intake: SingleRowIntake) -> None:
        self.owner, self._intake = owner, intake
        self.learner: Any = None  # that the calls are bound to
        self.has_learned = False  # rows that went the other way, on which it is checked whether
        self._scalars_of: Any = None  # the learner
        self._scalars: LiveScalars | None = None
        self._buffer: BatchBuffer | None = None  # that the intake had then
        self.arguments: Any = None  # of the calls that are bound
        self._learn: Callable[[], int | None] | None = None
        self._score: Callable[[], int | None] | None = None
        self._turn = np.zeros(1, np.int64)  # of the lock, in which single objects need it not
        self._free: tuple[Callable[..., Any], ...] = ()  # to learn and score single objects
        self._free_for: tuple[str | None, OwnTargets] = (None, NO_TARGETS)  # lines

    def is_ready(self) -> bool:
        """Whether the calls are bound to the model as it is now; if they can be, they are."""
        learner, owner = self.learner, self.owner
        if (
            learner is not None
            and learner.live_scalars is self._scalars
            and learner is owner.learner
            and learner.state is self._state
            and learner.n_features == self._n_features
            and self._buffer is self._intake.buffer
            and (self._table is None or self._table.is_index_of(self._index))
        ):
            return True
        return self._bind()

    def learn(self) -> int | None:
        """Learn the rows, with `y` and `importance`; DONE, or why they are not learned."""
        return (self._learn or self._bind_learn())()

    def score(self) -> int | None:
        """Write the `scores` of the rows; DONE, or why that cannot be."""
        return (self._score or self._bind_score())()

    def free(self, turn: int) -> tuple[Callable[..., Any], ...]:
        """Functions that learn and score single objects in that turn of the lock, without it."""
        format, own = self._free_for
        if not self._free or own is not self.own_targets or format != self._intake.line_format:
            self._free_for = self._intake.line_format, self.own_targets
            self._free = self._bind_free()
        self._turn[0] = turn
        return self._free

    # --- binding ----------------------------------------------------------------------------

    def _bind(self) -> bool:
        learner, store = self.owner.learner, self.owner.store
        self.learner = None
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
        self._index = NO_TABLE if self._table is None else self._table.index
        self._scalars = learner.go_live(self._scalars if learner is self._scalars_of else None)
        self.learner = self._scalars_of = learner
        self._state, self._n_features = learner.state, learner.n_features
        self.may_learn = self._can_learn(learner, store)
        model, buffer = self._model(learner), self._intake.buffer
        if buffer is self._buffer and _are_same(model, self.arguments[0]):
            return True
        self._buffer = buffer
        self.y, self.importance = np.zeros((2, self._intake.most_rows))
        memory = self._memory(learner, buffer)
        self.arguments, self.scores, self.may_add = (model, memory), memory.scores, memory.may_add
        self.n_learned = memory.n_learned
        self._learn = self._score = None
        self._free = ()
        return True

    def _bind_learn(self) -> Callable[[], int | None]:
        """The call, compiled if need be, which is not before it is made for the first time."""
        self._learn = in_turn(*self._intake.steps, (learn_rows, self.arguments)) or refuse
        return self._learn

    def _bind_score(self) -> Callable[[], int | None]:
        self._score = in_turn(*self._intake.steps, (score_rows, self.arguments)) or refuse
        return self._score

    def _bind_free(self) -> tuple[Callable[..., Any], ...]:
        """Functions for the model as it is bound now, with memory of their own."""
        self.object_reading = reading = self._intake.object_reading(self.own_targets)
        if reading is None:
            return refuse, refuse
        self._turn, given = np.zeros(1, np.int64), reading.given
        memory = self._memory(self.learner, reading.buffer)._replace(
            turn=self._turn,
            n_rows=reading.n_rows,
            has_words=reading.has_words,
            y=given[1:2],
            importance=given[2:],
        )
        self.object_arguments = arguments = self.arguments[0], memory
        to_learn, to_score = (reading.steps(is_learned=learns) for learns in (True, False))
        learn = in_turn(*to_learn, (learn_rows, arguments), given=given)
        score = in_turn(*to_score, (score_rows, arguments), given=given[:1], answer=memory.answer)
        return learn or refuse, score or refuse

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
        assert self._scalars is not None
        return RowModel(
            self.owner.lock.turns,
            self._scalars.is_on,
            learner.rule,
            learner.intercept_rule,
            learner.loss,
            learner.weighting,
            learner._clock.schedule,
            self._index,
            self._owners,
            learner.n_features,
            learner.state,
            learner.intercept_state,
            self._scalars.clock,
            self._scalars.calibration,
            self._scalars.n_examples,
            self._scalars.targets,
            learner.progress,
            learner.reference.slots,
            learner.reference.means,
            learner.reference.location,
            learner.state.nbytes > CACHE_BYTES,
            *hooks(learner.rule),
        )

    def _memory(self, learner: Learner, buffer: BatchBuffer) -> RowMemory:
        intake = self._intake
        n_rows, n_entries = len(self.y), len(buffer.keys)
        n_centred = len(learner.reference.slots)
        size = n_entries + n_rows * n_centred
        return RowMemory(
            self.owner.lock.turns,  # whose turn it is: who calls holds the lock
            intake.n_rows,
            np.zeros(1, np.int64),
            intake.has_words,
            buffer,
            intake.names,
            np.zeros(1, np.int64),
            self.y,
            self.importance,
            np.zeros(n_entries, np.int32),
            new_seen(4 * n_entries),
            np.zeros(n_rows + 1, np.int64),
            np.zeros(size, np.int32),
            np.zeros(size),
            np.zeros(n_centred, np.int64),
            np.zeros(n_rows),
            np.zeros((max(2, n_rows), learner.n_outputs)),  # of one row, it is of another kind
            np.zeros(1),
            OneScore(learner.bench_for(size))
            if learner.n_outputs == 1
            else SeveralScores(np.empty((2, learner.n_outputs))),
        )


def _are_same(model: Any, bound: Any) -> bool:
    """Whether a call that is bound to the one is also a call with the other."""
    if isinstance(model, tuple):
        return type(model) is type(bound) and all(map(_are_same, model, bound))
    return model is bound or (isinstance(model, int | float) and model == bound)
