"""Batches from plain dicts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rarefy.readers.batch import Batch
from rarefy.readers.buffers import PooledBuffer, written_batch
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import NAMES_FULL, OF_TEXTS, expansion, grams_of
from rarefy.readers.formats.dict_parser import dict_scratch, read_dicts
from rarefy.readers.formats.jsonl import plan_for
from rarefy.readers.in_memory import NAME
from rarefy.readers.parsed import Parsed

ROWS_AT_ONCE = 1 << 12


class DictBatches:
    """Reads dicts with such columns; their labels do not matter."""

    def __init__(self, columns: Columns) -> None:
        self._plan, self._scratch = plan_for(columns), dict_scratch()
        self._text_columns = columns.text
        self._expansion = expansion(grams_of(columns.ngram, columns.skips, OF_TEXTS))

    def batches(self, rows: Sequence[Any], *, names_wanted: bool) -> list[Batch] | None:
        """The batches of rows, whose lines are counted through; None if not all are plain dicts."""
        if set(map(type, rows)) != {dict}:
            return None
        found: list[Batch] = []
        for first in range(0, len(rows), ROWS_AT_ONCE):
            batch = self._batch(rows[first : first + ROWS_AT_ONCE], names_wanted)
            if batch is None:
                return None
            found.append(batch._replace(lines=batch.lines + first))
        return found

    def _batch(self, rows: Sequence[Any], names_wanted: bool) -> Batch | None:
        pooled = PooledBuffer(False, names_wanted, self._expansion)
        pooled.prepare(sum(map(len, rows)) + self._n_text_bytes(rows), 0)
        n_rows, addresses = np.array([len(rows)]), np.fromiter(map(id, rows), np.int64, len(rows))
        n_entries = NAMES_FULL
        while n_entries == NAMES_FULL:
            buffer, loop = pooled.buffer, read_dicts
            read: Any = loop.bound(n_rows, addresses, self._plan, self._scratch, buffer)  # type: ignore[attr-defined]
            if read is None:
                return None
            n_entries = read()
            if n_entries == NAMES_FULL:
                pooled.enlarge_names()
        if n_entries < 0:
            return None
        return written_batch(NAME, buffer, Parsed(len(rows), n_entries, 0, 1, 0), None)

    def _n_text_bytes(self, rows: Sequence[Any]) -> int:
        """How many bytes texts that are split into words have at most."""
        texts = (row.get(name) for name in self._text_columns for row in rows)
        return sum(4 * len(text) + 2 for text in texts if isinstance(text, str))
