"""The rows of a run that workers read and learn: the driver sees labels, but no features."""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.cluster.pieces import End, Outline, Piece, Reading, check_columns, pieces_of, reading_of
from rarefy.cluster.remote_round import RemoteRound
from rarefy.cluster.shard_work import NO_NAMES
from rarefy.cluster.stored_rows import StoredRows
from rarefy.cluster.worker_protocol import Workers
from rarefy.engine.sharding import Sharding
from rarefy.readers.batch import Batch
from rarefy.readers.line_errors import BadLines
from rarefy.stores import Prepared
from rarefy.streams.run import Run

NO_KEYS, NO_VALUES, NO_LINES = np.empty(0, np.uint64), np.empty(0), np.empty(0, np.int64)


class RemoteBatch(Prepared):
    """Rows without their features, which are known by the numbers of the rows."""

    __slots__ = ()

    def only(self, chosen: NDArray[np.bool_]) -> Prepared:
        batch = self.batch
        assert self.y is not None
        assert self.numbers is not None
        some = batch._replace(
            indptr=np.concatenate([[0], np.cumsum(np.diff(batch.indptr)[chosen])]),
            labels=batch.labels[chosen],
            importance=batch.importance[chosen],
        )
        return self._replace(batch=some, y=self.y[chosen], numbers=self.numbers[chosen])


class RemoteRows:
    """Gives the batches of a run, and has its rounds learned."""

    def __init__(self, run: Run, workers: Workers) -> None:
        self._run = run
        self._workers = workers
        self._reading: Reading | None = None
        self._stored = StoredRows(workers)

    def batches(self) -> Generator[Prepared]:
        """All batches in order; several pieces are read at a time."""
        run, reader = self._run, self._run.reader
        self._reading = self._reading or self._read_like_first_rows()
        if self._reading is None:
            return
        reader.faults = BadLines(skip=reader.skip_bad_lines)
        self._stored = StoredRows(self._workers)
        first_row, share = 0, 0.0
        for number, (piece, items) in enumerate(self._pieces(self._reading)):
            for item in items:
                if isinstance(item, End):
                    self._conclude(number, piece, item)
                    continue
                outline, handle = item
                self._stored.add(first_row, handle)
                self._stored.forget_before(first_row if run.is_over else run.position.rows)
                yield _remote_batch(piece, outline, first_row, share)
                first_row += len(outline.labels)
            share += piece.share

    def _read_like_first_rows(self) -> Reading | None:
        """How to read all pieces, told from the first rows; None: there are none."""
        run, reader = self._run, self._run.reader
        first = next((batch for batch in reader if len(batch.labels)), None)
        if first is None:
            return None
        run.model.begin(first, reader)
        return reading_of(reader, run.model)

    def _pieces(self, reading: Reading) -> Iterator[tuple[Piece, Iterator[Any]]]:
        """The pieces; more of them are being read than the one that is given."""
        ahead: deque[tuple[Piece, Iterator[Any]]] = deque()
        for piece in pieces_of(self._run.reader):
            ahead.append((piece, self._workers.read(reading, piece)))
            if len(ahead) > self._workers.n_readers:
                yield ahead.popleft()
        yield from ahead

    def _conclude(self, number: int, piece: Piece, end: End) -> None:
        assert self._reading is not None
        check_columns(piece, self._reading, end)
        if end.n_bad_lines:
            self._run.reader.faults.add(number, end.n_bad_lines, end.bad_lines)
        self._run.model.store.note(end.noted)

    def here(self, part: Prepared) -> Prepared:
        """Rows with their features."""
        assert part.numbers is not None
        if len(part.numbers) == 0:
            return part
        found = self._stored.fetched(self._stored.fetch(part.numbers))
        return found._replace(numbers=part.numbers)

    def learn_round(self, parts: Sequence[Prepared], sharding: Sharding) -> None:
        """Learn the rows of a round, as a model does that has them."""
        with self._run.model.lock:
            RemoteRound(self._run.model, self._stored, sharding).learn(parts)


def _remote_batch(piece: Piece, outline: Outline, first_row: int, share: float) -> RemoteBatch:
    """A batch, of which this is known; `share` is that of the data before its piece."""
    n_rows = len(outline.labels)
    batch = Batch(
        piece.file,
        np.concatenate([[0], np.cumsum(outline.lengths, dtype=np.int64)]),
        NO_KEYS,
        NO_VALUES,
        np.array(outline.labels),
        np.ones(n_rows) if outline.importance is None else np.array(outline.importance),
        NO_LINES,
        NO_NAMES,
        share=share + piece.share * outline.share,
    )
    return RemoteBatch(batch, NO_KEYS, np.array(outline.y), first_row + np.arange(n_rows))
