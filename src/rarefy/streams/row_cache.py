"""The row cache: parsed rows in an Arrow file, for further passes.

A record batch of the file is a batch of the reader, as the store prepared it: the columns label,
importance, line (one value a row), places and values (a list a row). With names, the lists
name_keys, name_ends and name_text of its first row hold those of the batch. The last batch has no
rows; it says how many bad lines there were, and what the columns were found to be.

Every batch has a checksum over all that is made of it, so that damage is noticed before anything
is learned from it. A batch is read, not mapped, and so is not changed after it was checked; of a
file that has not changed since a pass over it, later passes do not check the sums again. Who
makes a right checksum for wrong rows gets nowhere outside of them: see row_cache_checks.py.

The metadata say what the rows were made from: the files with their size and time, how they were
read, and for which store. A cache that was made from anything else is made anew. It is written
beside its place and moved there when it is complete, so that an interruption leaves none.
"""

import json
import os
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.errors import InputError
from rarefy.hashing import hash_array
from rarefy.readers import Reader
from rarefy.readers.batch import Batch
from rarefy.readers.feature_names import names_of, new_names, texts_of
from rarefy.readers.line_errors import BadLines
from rarefy.readers.prefetch import WORKERS, Job, prefetched
from rarefy.readers.source import STDIN
from rarefy.stores import Prepared, Store
from rarefy.streams.pipeline import located, never, prepared_batches
from rarefy.streams.reused_memory import ReusedMemory
from rarefy.streams.row_cache_checks import check_batch, checked_end, checked_texts
from rarefy.system.atomic_write import Output

VERSION = 2
ROW_COLUMNS = ("label", "importance", "line")
NAME_COLUMNS = ("name_keys", "name_ends", "name_text")


class RowCache:
    """The cache of what a reader reads for a store."""

    def __init__(self, path: str | Path, reader: Reader, store: Store) -> None:
        self.path = Path(path)
        self._reader = reader
        self._store = store
        self._made_from = made_from(reader, store)
        self._whole: list[Any] = []  # the file of which all checksums were found to be right

    def batches(
        self,
        finish: Callable[[Prepared], Prepared],
        are_kept: Callable[[], bool] = never,
        n_workers: int = WORKERS,
    ) -> Generator[Prepared]:
        """All batches: from the cache, if there is a right one, else from the reader.

        What is left to do with a batch, `finish`, is done in the readers' threads. Those of the
        reader are overwritten unless `are_kept` says that batches are kept.
        """
        now = _identity(self.path) if self.path.exists() else []
        is_whole, file = now == self._whole, self._right_file()
        if file is None:
            reader, store = self._reader, self._store
            yield from self._recorded(prepared_batches(reader, store, finish, are_kept, n_workers))
            return
        with self._clear_errors():
            n_batches = file.num_record_batches - 1
            about = _about(*file.get_batch_with_custom_metadata(n_batches))
            end = checked_end(about, self._store.findings())
            self._reader.columns = end.columns
            self._store.recall(end.findings)
            self._reader.faults = BadLines(skip=self._reader.skip_bad_lines)
            if end.n_bad_lines:
                self._reader.faults.add(0, end.n_bad_lines, end.bad_lines)

        memory = ReusedMemory()

        def job(number: int) -> Prepared:
            with self._clear_errors():
                prepared = self._from_arrow(file, number, is_whole=is_whole)
            batch = prepared.batch._replace(share=(number + 1) / n_batches)
            return located(self._store, finish(prepared._replace(batch=batch)), memory)

        jobs = (Job(partial(job, number)) for number in range(n_batches))
        yield from prefetched(jobs, lambda prepared: are_kept(), n_workers)
        self._whole = now

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except _damages() as error:
            message = f"{self.path} is damaged; remove it, and it will be rebuilt."
            raise InputError(message) from error

    def _right_file(self) -> Any:
        """The cache of the same rows, if there is one; what is no cache is not overwritten."""
        if not self.path.exists():
            return None
        if not self.path.is_file():
            raise InputError(f"{self.path} is not a file; a row cache must be one.")
        damages = _damages()
        try:
            file = _opened(self.path)
            is_right = json.loads(file.schema.metadata[b"made_from"]) == self._made_from
            return file if is_right else None
        except damages as error:
            if isinstance(error, OSError) and error.strerror is not None:
                raise InputError(f"{self.path}: {error.strerror}.") from error
            raise InputError(
                f"{self.path} is not a row cache, or it is damaged: remove it, or name another "
                f"file."
            ) from error

    def _recorded(self, batches: Generator[Prepared]) -> Iterator[Prepared]:
        """Pass the batches on, and write them to the cache on their way."""
        pa = _pyarrow()
        output, writer = Output(self.path), None
        try:
            with closing(batches), ExitStack() as opened:
                for prepared in batches:
                    table = self._to_arrow(prepared)
                    if writer is None:
                        file = opened.enter_context(output.writing())
                        writer = pa.ipc.new_file(file, table.schema)
                    batch = prepared.batch
                    about = {"path": batch.path, "label_names": batch.label_names}
                    if batch.block_labels is not None:
                        about["block_labels"] = batch.block_labels.tolist()
                    _write(writer, table, about)
                    yield prepared
                if writer is not None:
                    end = {
                        "columns": self._reader.columns,
                        "findings": self._store.findings(),
                        "n_bad_lines": self._reader.n_bad_lines,
                        "bad_lines": self._reader.bad_lines,
                    }
                    _write(writer, pa.RecordBatch.from_pylist([], schema=table.schema), end)
                    writer.close()
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"{self.path}: the cache cannot be written: {reason}.") from error

    def _to_arrow(self, prepared: Prepared) -> Any:
        pa = _pyarrow()
        batch, n_rows = prepared.batch, len(prepared.batch.labels)
        columns = dict(zip(ROW_COLUMNS, (batch.labels, batch.importance, batch.lines), strict=True))
        arrays = {name: _array(column) for name, column in columns.items()}
        for name, entries in (("places", prepared.indices), ("values", batch.values)):
            arrays[name] = pa.LargeListArray.from_arrays(_array(batch.indptr), _array(entries))
        if self._store.names_wanted:
            for name, entries in zip(NAME_COLUMNS, texts_of(batch.names), strict=True):
                kept = entries if n_rows > 0 else entries[:0]
                offsets = np.full(n_rows + 1, len(kept), np.int64)
                offsets[0] = 0
                arrays[name] = pa.LargeListArray.from_arrays(_array(offsets), _array(kept))
        metadata = {"made_from": json.dumps(self._made_from)}
        return pa.record_batch(arrays).replace_schema_metadata(metadata)

    def _from_arrow(self, file: Any, number: int, *, is_whole: bool) -> Prepared:
        """A batch of the file, checked."""
        table, metadata = file.get_batch_with_custom_metadata(number)
        about = _about(table, metadata, is_whole=is_whole)
        labels, importance, lines = (_numbers(table.column(name)) for name in ROW_COLUMNS)
        indptr = _numbers(table.column("places").offsets)
        places, values = (_numbers(table.column(name).values) for name in ("places", "values"))
        names = new_names(0)
        if self._store.names_wanted and table.num_rows > 0:
            texts = (_numbers(table.column(name).values) for name in NAME_COLUMNS)
            names = names_of(*checked_texts(*texts))
        label_names, block_labels = about["label_names"], about.get("block_labels")
        batch = Batch(
            about["path"],
            indptr,
            places,
            values,
            labels,
            importance,
            lines,
            names,
            None if label_names is None else tuple(label_names),
            block_labels=None if block_labels is None else np.array(block_labels, np.float64),
        )
        check_batch(batch, self._store.most_keys)
        return Prepared(batch, places, is_own=True)


def made_from(reader: Reader, store: Store) -> dict[str, Any]:
    """All that the rows depend on. Standard input is never the same again."""
    settings = store.settings()
    about = {
        **reader.settings(),
        "version": VERSION,
        "files": [[file, *_size_and_time(file)] for file in reader.files],
        "store": {name: settings.get(name) for name in ("kind", "bits", "names")},
    }
    return json.loads(json.dumps(about))  # type: ignore[no-any-return]


def _size_and_time(file: str) -> list[Any]:
    if file == STDIN:
        return [uuid.uuid4().hex]
    status = os.stat(file)
    return [os.path.abspath(file), status.st_size, status.st_mtime_ns]


def _identity(path: Path) -> list[Any]:
    """What differs between a file and another in its place, or after a change."""
    status = os.stat(path)
    return [status.st_dev, status.st_ino, *_size_and_time(str(path)), status.st_ctime_ns]


def _pyarrow() -> Any:
    try:
        import pyarrow.ipc
    except ImportError as error:
        raise InputError("a row cache needs `pip install rarefy[arrow]`.") from error
    return pyarrow


def _numbers(array: Any) -> NDArray[Any]:
    """What an Arrow array has, without a copy. Its own to_numpy would import pandas."""
    return np.from_dlpack(array)


def _array(numbers: NDArray[Any]) -> Any:
    """An Arrow array of the numbers, without a copy of contiguous ones."""
    pa = _pyarrow()
    buffer = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, buffer])


def _opened(path: Path) -> Any:
    pa = _pyarrow()
    return pa.ipc.open_file(pa.OSFile(str(path)))


def _damages() -> tuple[type[Exception], ...]:
    """What PyArrow, and our own code, raise at a damaged file."""
    ours = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
    return (*ours, OSError, MemoryError, _pyarrow().ArrowException)


def _write(writer: Any, table: Any, about: dict[str, Any]) -> None:
    """Write a batch, and what there is to say about it."""
    text = json.dumps(about).encode()
    writer.write_batch(table, custom_metadata={"rarefy": text, "checksum": _checksum(table, text)})


def _about(table: Any, metadata: Any, *, is_whole: bool = False) -> dict[str, Any]:
    """What a batch of the file, which must be whole, says of itself."""
    table.validate()
    text = metadata[b"rarefy"]
    if not is_whole and _checksum(table, text).encode() != metadata[b"checksum"]:
        raise ValueError("the checksum is wrong")
    return json.loads(text)  # type: ignore[no-any-return]


def _checksum(table: Any, about: bytes) -> str:
    """Of all that is made of a batch: its arrays, their types, and what is said about it."""
    types = [(field.name, str(field.type)) for field in table.schema]
    total = hash_array(np.frombuffer(about + repr(types).encode(), np.uint8))
    for column in table.columns:
        is_list = hasattr(column, "offsets")
        for part in (column.offsets, column.values) if is_list else (column,):
            total = hash_array(_numbers(part), total)
    return str(total)
