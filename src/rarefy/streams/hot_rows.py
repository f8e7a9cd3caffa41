"""Single rows on the shortest way: plain dicts whose features are known, to a table.

Everything is laid out once, and bound to calls that take no arguments. Whatever does not go this
way is left to single_rows.py, with the same results.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rarefy.engine.learner import CACHE_BYTES, Learner
from rarefy.engine.lending import Loan
from rarefy.readers.buffers import new_buffer
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import OF_TEXTS, expansion, grams_of
from rarefy.readers.formats.dict_parser import dict_scratch
from rarefy.readers.formats.jsonl import plan_for
from rarefy.rules import hooks
from rarefy.rules.averaging import is_averaged
from rarefy.stores.table_store import TableStore
from rarefy.stores.unique_slots import new_seen
from rarefy.streams.row_loops import (
    DONE,
    RowMemory,
    RowModel,
    learn_row,
    learn_row_classes,
    score_row,
)
from rarefy.streams.stream_model import StreamModel

MOST_ENTRIES = 1 << 12  # of a row


class HotRows:
    """Learns and scores rows of a model, if they go the shortest way; who calls holds its lock."""

    def __init__(self, model: StreamModel, columns: Columns, cross: Any) -> None:
        self.model = model
        self.lock = model.lock.lock
        self._store: Any = model.store
        self._is_open = columns.named and not cross
        self._learner: Any = None
        self._loan: Loan | None = None
        self.scores = np.zeros((1, 1))
        self._address = np.zeros(1, np.int64)
        n_grams = expansion(grams_of(columns.ngram, columns.skips, OF_TEXTS))
        self._buffer = new_buffer(MOST_ENTRIES, expansion=n_grams)
        self._y, self._importance = np.zeros(1), np.ones(1)
        self._plan = plan_for(columns)
        self._learn: Callable[[], int] = lambda: 0
        self._score: Callable[[], int] = lambda: 0

    def score(self, x: Any) -> bool:
        """Whether `scores` are those of the row now; if not, it has to go the other way."""
        self._address[0] = id(x)
        return self._is_ready() and self._score() == DONE

    def learn(self, x: Any, y: float, importance: float) -> bool:
        """Whether the row was learned; if not, nothing has changed."""
        if not self._is_ready():
            return False
        self._address[0] = id(x)
        self._y[0] = y
        self._importance[0] = importance
        return self._learn() == DONE

    def _is_ready(self) -> bool:
        """Whether the calls are bound to the model as it is now."""
        learner = self._learner
        if (
            learner is not None
            and learner.loan is self._loan
            and learner.state is self._state
            and self._store._entries is self._entries
        ):
            return True
        return self._is_open and self._bind()

    def _bind(self) -> bool:
        model, store = self.model, self._store
        learner: Any = model.learner
        may_be_hot = (
            type(learner) is Learner
            and isinstance(store, TableStore)
            and store.own_by_name is None
            and learner.own_of_columns is None
            and learner.group_sums is None
            and learner.clock.common == ()
            and not is_averaged(learner.rule)
            and learner.reference.is_known
            and model.task.class_weight is None
        )
        if not may_be_hot:
            return False
        self._loan = learner.lend()
        self._learner, self._state, self._entries = learner, learner.state, store._entries
        self.scores = np.zeros((1, learner.n_outputs))
        row_model = RowModel(
            learner.rule,
            learner.intercept_rule,
            learner.loss,
            learner.weighting,
            learner._clock.schedule,
            store._entries,
            learner.state,
            learner.intercept_state,
            self._loan.clock,
            self._loan.calibration,
            learner.progress,
            learner.reference.slots,
            learner.reference.means,
            learner.reference.location,
            learner.state.nbytes > CACHE_BYTES,
            *hooks(learner.rule),
        )
        memory = self._memory(learner)
        learn = learn_row if learner.n_outputs == 1 else learn_row_classes
        self._learn = learn.bound(row_model, memory)  # type: ignore[attr-defined]
        self._score = score_row.bound(row_model, memory)  # type: ignore[attr-defined]
        return True

    def _memory(self, learner: Learner) -> RowMemory:
        n_centred = len(learner.reference.slots)
        size = MOST_ENTRIES + n_centred
        return RowMemory(
            self._address,
            self._plan,
            dict_scratch(),
            self._buffer,
            self._y,
            self._importance,
            np.zeros(2, np.int64),
            np.zeros(MOST_ENTRIES, np.int32),
            new_seen(4 * MOST_ENTRIES),
            np.zeros(2, np.int64),
            np.zeros(size, np.int32),
            np.zeros(size),
            np.zeros(n_centred, np.int64),
            self.scores,
            learner.bench_for(size),
            np.empty((2, learner.n_outputs)),
        )
