"""Rows that were read once, in an Arrow file, for further passes without parsing.

A record batch of the file is a batch of the reader, as the store prepared it: the columns label,
importance, line (one value a row), places and values (a list a row). With names, the lists
name_keys, name_ends and name_text of its first row hold those of the batch. The file is mapped into
memory and not copied.

The metadata say what the rows were made from: the files with their size and time, how they were
read, and for which store. A cache that was made from anything else is made anew. It is written
beside its place and moved there when it is complete, so that an interruption leaves none.
"""

import json
import mmap
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rarefy.engine import LARGEST_VALUE
from rarefy.errors import InputError
from rarefy.readers import Reader
from rarefy.readers.ahead import READY_ITEMS, ahead
from rarefy.readers.bad_lines import BadLines
from rarefy.readers.batch import Batch
from rarefy.readers.columns import Columns, checked_columns
from rarefy.readers.names import names_of, new_names, texts_of
from rarefy.readers.source import STDIN
from rarefy.stores import Prepared, Store

VERSION = 1
ROW_COLUMNS = ("label", "importance", "line")
NAME_COLUMNS = ("name_keys", "name_ends", "name_text")


class RowCache:
    """The cache of what a reader reads for a store."""

    def __init__(self, path: str | Path, reader: Reader, store: Store) -> None:
        self.path = Path(path)
        self._reader = reader
        self._store = store
        self._made_from = made_from(reader, store)

    def batches(self) -> Iterator[Prepared]:
        """All batches: from the cache, if there is a right one, else from the reader."""
        if not self._is_right():
            yield from self._recorded(prepared_ahead(self._reader, self._store))
            return
        with self.path.open("rb") as raw:
            mapped = mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ)
        file = _opened(mapped)
        self._reader.columns = columns_of(file)
        n_batches = file.num_record_batches
        about = _about(file.get_batch_with_custom_metadata(n_batches - 1)[1])
        self._reader.faults = BadLines(skip=self._reader.skip_bad_lines)
        if about["n_bad_lines"]:
            self._reader.faults.add(0, about["n_bad_lines"], about["bad_lines"])
        jobs = (
            partial(self._from_arrow, *file.get_batch_with_custom_metadata(n))
            for n in range(n_batches)
        )
        for prepared in ahead(jobs):
            yield prepared
            _forget(mapped, prepared)

    def _is_right(self) -> bool:
        """Whether there is a cache of the same rows; what is no cache at all is not overwritten."""
        if not self.path.exists():
            return False
        try:
            with self.path.open("rb") as raw:
                file = _opened(mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ))
            return bool(json.loads(file.schema.metadata[b"made_from"]) == self._made_from)
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror or error}.") from error
        except (ValueError, LookupError, TypeError) as error:
            raise InputError(
                f"{self.path} is not a cache of rows, or a damaged one: remove it, or name another "
                f"file."
            ) from error

    def _recorded(self, batches: Iterable[Prepared]) -> Iterator[Prepared]:
        """The same batches, written to the cache on their way."""
        ipc = _pyarrow().ipc
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        writer = None
        try:
            for prepared in batches:
                table = self._to_arrow(prepared)
                if writer is None:
                    writer = ipc.new_file(str(part), table.schema)
                about = {
                    "path": prepared.batch.path,
                    "label_names": prepared.batch.label_names,
                    "n_bad_lines": self._reader.n_bad_lines,
                    "bad_lines": self._reader.bad_lines,
                }
                writer.write_batch(table, custom_metadata={"rarefy": json.dumps(about)})
                yield prepared
            if writer is not None:
                writer.close()
                os.replace(part, self.path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"{self.path}: the cache cannot be written: {reason}.") from error
        finally:
            part.unlink(missing_ok=True)

    def _to_arrow(self, prepared: Prepared) -> Any:
        pa = _pyarrow()
        batch, n_rows = prepared.batch, len(prepared.batch.labels)
        columns = dict(zip(ROW_COLUMNS, (batch.labels, batch.importance, batch.lines), strict=True))
        arrays = {name: pa.array(column) for name, column in columns.items()}
        for name, entries in (("places", prepared.places), ("values", batch.values)):
            arrays[name] = pa.LargeListArray.from_arrays(pa.array(batch.indptr), pa.array(entries))
        if self._store.names_wanted:
            for name, entries in zip(NAME_COLUMNS, texts_of(batch.names), strict=True):
                offsets = np.full(n_rows + 1, len(entries), np.int64)
                offsets[0] = 0
                arrays[name] = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(entries))
        metadata = {
            "made_from": json.dumps(self._made_from),
            "columns": json.dumps(self._reader.columns._asdict()),
        }
        return pa.record_batch(arrays).replace_schema_metadata(metadata)

    def _from_arrow(self, table: Any, metadata: Any) -> Prepared:
        """A batch of the file, checked, so that damage cannot lead anywhere outside of it."""
        about = _about(metadata)
        labels, importance, lines = (table.column(name).to_numpy() for name in ROW_COLUMNS)
        indptr = table.column("places").offsets.to_numpy()
        places, values = (table.column(name).values.to_numpy() for name in ("places", "values"))
        names = new_names(0)
        if self._store.names_wanted and table.num_rows > 0:
            names = names_of(*(table.column(name).values.to_numpy() for name in NAME_COLUMNS))
        right = (
            (np.diff(indptr, prepend=0) >= 0).all()
            and indptr[-1] <= min(len(places), len(values))
            and (places.dtype == np.uint64 or places.min(initial=0) >= 0)
            and int(places.max(initial=0)) < self._store.most_keys
            and values.min(initial=0.0) >= -LARGEST_VALUE
            and values.max(initial=0.0) <= LARGEST_VALUE
        )
        if not right:
            raise InputError(f"{self.path} is damaged; remove it, and it will be made anew.")
        label_names = about["label_names"]
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
        )
        return Prepared(batch, places)


def made_from(reader: Reader, store: Store) -> dict[str, Any]:
    """All that the rows depend on. Standard input is never the same again."""
    settings = store.settings()
    about = {
        "version": VERSION,
        "files": [[file, *_size_and_time(file)] for file in reader.files],
        "format": reader.format,
        "columns": reader.columns._asdict(),
        "classes": reader.labels.classes,
        "cross": reader.cross,
        "skip_bad_lines": reader.skip_bad_lines,
        "store": {name: settings.get(name) for name in ("kind", "bits", "names")},
    }
    return json.loads(json.dumps(about))  # type: ignore[no-any-return]


def _size_and_time(file: str) -> list[Any]:
    if file == STDIN:
        return [uuid.uuid4().hex]
    status = os.stat(file)
    return [os.path.abspath(file), status.st_size, status.st_mtime_ns]


def _pyarrow() -> Any:
    try:
        import pyarrow.ipc
    except ImportError as error:
        raise InputError("a cache of rows needs `pip install rarefy[arrow]`.") from error
    return pyarrow


def _opened(mapped: mmap.mmap) -> Any:
    pa = _pyarrow()
    return pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped)))


def columns_of(file: Any) -> Columns:
    """What the columns of the source were found to be."""
    return checked_columns(Columns(**json.loads(file.schema.metadata[b"columns"])))


def _about(metadata: Any) -> dict[str, Any]:
    """What a batch of the file says of itself."""
    return json.loads(metadata[b"rarefy"])  # type: ignore[no-any-return]


def _forget(mapped: mmap.mmap, prepared: Prepared) -> None:
    """Let go of the pages up to the end of a batch, so that the file does not fill memory."""
    values = prepared.batch.values
    if hasattr(mmap, "MADV_DONTNEED") and len(values):
        start = np.frombuffer(mapped, np.uint8).ctypes.data
        end = (values.ctypes.data + values.nbytes - start) // mmap.PAGESIZE * mmap.PAGESIZE
        mapped.madvise(mmap.MADV_DONTNEED, 0, max(end, mmap.PAGESIZE))


def prepared_ahead(reader: Reader, store: Store) -> Iterator[Prepared]:
    """All batches of a reader, prepared for a store, in threads of their own."""

    def prepare(make: Callable[[], Batch]) -> Prepared:
        return store.prepare(make())

    return ahead(partial(prepare, make) for make in reader.jobs(READY_ITEMS))
