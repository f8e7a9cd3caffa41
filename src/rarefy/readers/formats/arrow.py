"""Parquet and Arrow files, through PyArrow: the same batches as from text, made column by column.

The names of the columns take the place of namespaces: see hashing.py. A missing value makes no
feature. Memory does not grow with a Parquet file, which is read in pieces of bounded size; of an
Arrow file the columns that are used are in memory a record batch at a time.
"""

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import types

from rarefy.errors import InputError
from rarefy.readers import source
from rarefy.readers.batch import Batch
from rarefy.readers.buffers import BufferPool, PooledBuffer, written_batch
from rarefy.readers.compression import compression_of
from rarefy.readers.features.column_doubts import warn_of_doubts
from rarefy.readers.features.columns import Columns, without_globs
from rarefy.readers.features.labels import Labels
from rarefy.readers.formats.arrow_columns import (
    COLUMNS,
    Column,
    Entries,
    NumberLabels,
    WeightColumn,
    WordLabels,
    place_entries,
    too_many_grams,
)
from rarefy.readers.formats.arrow_schema import (
    Layout,
    Leaf,
    all_names,
    found_columns,
    is_text_type,
    layout,
)
from rarefy.readers.formats.arrow_values import as_texts, flat, leaf_array, without_views
from rarefy.readers.parsed import Parsed, Problem
from rarefy.readers.source import Unchanged, is_pipe

MOST_ROWS = 1 << 16  # of a piece
MOST_BYTES = 8 << 20
BUFFER_BYTES = 1 << 20  # of a column, that are read ahead
SHOWN_REASON = 200  # characters of what PyArrow says
SHOWN_VALUE = 40
ROWS_LOOKED_AT = 1000
MISSING_FIXED_LIST = re.compile(r"Expected all lists to be of size=\d+ but index \d+ had size=0")
FILE_MAGIC, FIRST_VERSION_MAGIC = b"ARROW1", b"FEA1"
AS_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}


class Opened(NamedTuple):
    """A file: its schema, and what gives the pieces of it for the columns that are used."""

    schema: Any
    pieces: Callable[[Layout], Iterator[Any]]
    row_bytes: float = 0.0  # of the file; 0: not known


class ArrowReading(NamedTuple):
    """How to read a file, and who is told of what is found in it."""

    columns: Columns
    settle: Callable[[Columns, dict[str, str]], None]  # what each column was found to be
    labels: Labels
    pool: BufferPool
    refuse: Callable[[str], None]  # what is wrong with a bad row
    by_model: bool  # whether a trained model reads


def arrow_batches(file: str, format: str, reading: ArrowReading) -> Iterator[tuple[Batch, int]]:
    """All batches of a file, and about how many of its bytes they and those before took."""
    with _clear_errors(file):
        if is_pipe(file):
            if format == "parquet":
                raise InputError(f"{file}: Parquet cannot be read from a pipe; name a file.")
            with source.opened(file) as raw:
                yield from _batches(file, _open_ipc_stream(raw), reading)
            return
        with _opened(file) as (opened, unchanged):
            open_format = _open_parquet if format == "parquet" else _open_ipc
            parts = _batches(file, open_format(file, opened), reading)
            yield from unchanged.while_reading(parts)


def table_batches(name: str, table: Any, reading: ArrowReading) -> Iterator[Batch]:
    """All batches of a table in memory."""
    opened = Opened(table.schema, lambda plan: _ipc_pieces(table.to_batches(), plan))
    for batch, _ in _batches(name, opened, reading):
        yield batch


def _batches(file: str, opened: Opened, reading: ArrowReading) -> Iterator[tuple[Batch, int]]:
    columns = without_globs(reading.columns, all_names(opened.schema))
    plan = layout(file, opened.schema, columns, by_model=reading.by_model)
    reading.settle(found_columns(plan, columns), plan.roles(columns))
    if plan.label is not None:
        reading.labels.settle(words=is_text_type(plan.label.type))
    row = 0
    for piece in _smaller(opened.pieces(plan), reading.pool.expansion):
        if row == 0 and not columns.complete:
            inferred = [leaf for leaf in plan.features if leaf.name not in columns.kinds]
            _warn_of_doubts(file, piece, inferred, by_model=reading.by_model)
        lines = np.arange(row + 1, row + len(piece) + 1)
        row += len(piece)
        yield _batch(file, piece, lines, plan, reading), int(row * opened.row_bytes)


def _smaller(pieces: Iterator[Any], times: int) -> Iterator[Any]:
    """Each piece in so many parts, or in its rows if there are fewer."""
    for piece in pieces:
        n_rows = max(math.ceil(len(piece) / times), 1)
        for begin in range(0, len(piece), n_rows):
            yield piece.slice(begin, n_rows)


def _warn_of_doubts(file: str, piece: Any, leaves: Sequence[Leaf], *, by_model: bool) -> None:
    """Warn of columns whose kind was inferred from their type, by the first values."""
    first = piece.slice(0, ROWS_LOOKED_AT)
    may_be_ids = [leaf for leaf in leaves if is_text_type(leaf.type) or types.is_integer(leaf.type)]
    values = {leaf.name: _texts(flat(leaf_array(first, leaf))[0]) for leaf in may_be_ids}
    warn_of_doubts(file, {leaf.name: leaf.kind for leaf in may_be_ids}, values, by_model=by_model)


def _texts(array: Any) -> list[str]:
    """The values as text; empty where one is missing."""
    texts, _ = as_texts(array)
    bounds = zip(texts.begins.tolist(), texts.ends.tolist(), strict=True)
    return [texts.data[begin:end].tobytes().decode("utf-8", "replace") for begin, end in bounds]


# --- files ---------------------------------------------------------------------------------


@contextmanager
def _clear_errors(file: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:SHOWN_REASON].rstrip(".")
        what = "the file is damaged or of another kind"
        if isinstance(error, pa.ArrowNotImplementedError):
            what = "the file has something that PyArrow does not read"
        if MISSING_FIXED_LIST.match(reason):
            what = "missing lists of fixed size can be read from Parquet by PyArrow 26 and later"
        elif is_pipe(file):
            what = "a whole stream of Arrow, not a file, is expected from a pipe"
        raise InputError(f"{file}: {what}: {reason}.") from error


@contextmanager
def _opened(file: str) -> Iterator[tuple[Any, Unchanged]]:
    """The file for PyArrow to read, and what sees to it that it does not change meanwhile."""
    with source.opened(file) as raw:
        start = raw.read(8)
        if not start:
            raise InputError(f"{file}: the file is empty.")
        kind = compression_of(start)
        if kind is not None:
            raise InputError(
                f"{file}: the file is compressed with {kind}; Parquet and Arrow files are "
                "compressed inside, so decompress it first."
            )
        unchanged = Unchanged(raw, file)
        with pa.OSFile(file) as opened:
            yield opened, unchanged


def _open_parquet(file: str, opened: Any) -> Opened:
    parquet = pq.ParquetFile(opened, buffer_size=BUFFER_BYTES, pre_buffer=False)
    groups = [parquet.metadata.row_group(i) for i in range(parquet.num_row_groups)]
    row_bytes = [group.total_byte_size / max(group.num_rows, 1) for group in groups]
    n_rows = math.ceil(MOST_BYTES / max(*row_bytes, MOST_BYTES / MOST_ROWS, 1))

    def pieces(plan: Layout) -> Iterator[Any]:
        n_read = 0
        for batch in parquet.iter_batches(n_rows, columns=plan.columns):
            n_read += len(batch)
            yield from _cut(batch)
        if n_read != n_in_all:
            raise pa.ArrowInvalid(f"there are {n_in_all} rows, of which {n_read} can be read")

    n_in_all = parquet.metadata.num_rows
    return Opened(parquet.schema_arrow, pieces, os.path.getsize(file) / max(n_in_all, 1))


def _open_ipc(file: str, opened: Any) -> Opened:
    start = opened.read(8)
    opened.seek(0)
    if start.startswith(FIRST_VERSION_MAGIC):
        raise InputError(f"{file}: this is version 1 of Feather; write it anew in version 2.")
    if not start.startswith(FILE_MAGIC):
        return _open_ipc_stream(opened)
    schema = pa.ipc.open_file(opened).schema

    def pieces(plan: Layout) -> Iterator[Any]:
        used = [schema.get_field_index(name) for name in plan.columns]
        options = pa.ipc.IpcReadOptions(included_fields=used)
        reader = pa.ipc.open_file(opened, options=options)
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        return _ipc_pieces(batches, plan)

    return Opened(schema, pieces)


def _open_ipc_stream(opened: Any) -> Opened:
    stream = pa.ipc.open_stream(opened)
    return Opened(stream.schema, lambda plan: _ipc_pieces(stream, plan))


def _ipc_pieces(batches: Any, plan: Layout) -> Iterator[Any]:
    for batch in batches:
        used = batch.select(plan.columns)
        for begin in range(0, len(used), MOST_ROWS):
            yield from _cut(used.slice(begin, MOST_ROWS))


def _cut(batch: Any) -> Iterator[Any]:
    """The batch in pieces that are not too large.

    PyArrow trusts what a file says of offsets and positions until it is asked to look at them.
    That text is in UTF-8 is seen to later, row by row.
    """
    for array in batch.columns:
        array.cast(AS_BYTES.get(array.type, array.type)).validate(full=True)
    n_pieces = math.ceil(sum(map(_n_bytes, batch.columns)) / MOST_BYTES)
    n_rows = math.ceil(len(batch) / max(n_pieces, 1))
    for begin in range(0, len(batch), max(n_rows, 1)):
        yield batch.slice(begin, n_rows)


def _n_bytes(array: Any) -> int:
    """The size of an array, without the dictionaries and buffers that it shares with others."""
    if types.is_dictionary(array.type):
        return _n_bytes(array.indices)
    if types.is_nested(array.type):
        parts = array.flatten()
        return sum(map(_n_bytes, parts)) if isinstance(parts, list) else _n_bytes(parts)
    return int(without_views(array).nbytes)


# --- rows ----------------------------------------------------------------------------------


def _batch(
    file: str,
    piece: Any,
    lines: NDArray[np.int64],
    plan: Layout,
    reading: ArrowReading,
) -> Batch:
    """The good rows of a piece."""
    labels = reading.labels
    features = [COLUMNS[leaf.kind](leaf, leaf_array(piece, leaf)) for leaf in plan.features]
    label: WordLabels | NumberLabels | None = None
    weight = None
    needed = reading.columns.label_needed
    if plan.label is not None:
        array = leaf_array(piece, plan.label)
        if labels.are_words:
            label = WordLabels(plan.label, array, labels, needed=needed)
        else:
            label = NumberLabels(plan.label, array, needed=needed)
    if plan.weight is not None:
        weight = WeightColumn(plan.weight, leaf_array(piece, plan.weight))
    checked = [column for column in (label, weight, *features) if column is not None]
    is_good = _good_rows(file, lines, checked, reading.refuse)

    n_rows = int(is_good.sum())
    pooled = reading.pool.next(max(n_rows, sum(column.most_entries for column in features)))
    buffer = pooled.buffer
    buffer.labels[:n_rows] = math.nan if label is None else label.numbers(is_good)
    buffer.importance[:n_rows] = 1.0 if weight is None else weight.numbers[is_good]
    buffer.lines[:n_rows] = lines[is_good]
    found = [_entries(column, pooled) for column in features]
    buffer = pooled.buffer
    counts = sum((entries.counts[is_good] for entries in found), np.zeros(n_rows, np.int64))
    buffer.indptr[0] = 0
    np.cumsum(counts, out=buffer.indptr[1 : n_rows + 1])
    if buffer.indptr[n_rows] > len(buffer.keys):
        raise too_many_grams(f"in each of the rows from {file}:{lines[0]} on")
    at = buffer.indptr[:n_rows].copy()
    for column, entries in zip(features, found, strict=True):
        place_entries(entries, column.seed, is_good, at, buffer)
    parsed = Parsed(n_rows, int(buffer.indptr[n_rows]), 0, 0, Problem.NONE)
    return written_batch(file, buffer, parsed, labels.names)


def _good_rows(
    file: str, lines: NDArray[np.int64], columns: list[Column], refuse: Callable[[str], None]
) -> NDArray[np.bool_]:
    """Which rows can be taken; the others are refused, in their order."""
    faults: dict[int, tuple[Column, int]] = {}
    for column in columns:
        values = np.flatnonzero(column.bad)
        for row, value in zip(column.rows(values).tolist(), values.tolist(), strict=True):
            faults.setdefault(row, (column, value))
    for row, (column, value) in sorted(faults.items(), key=lambda fault: fault[0]):
        shown = column.shown(value)
        if len(shown) > SHOWN_VALUE:
            shown = f"{shown[:SHOWN_VALUE]}..."
        refuse(
            f"{file}:{lines[row]}: {column.expected} is expected in the column "
            f"{column.leaf.name!r}, not {shown}."
        )
    is_good = np.ones(len(lines), np.bool_)
    is_good[list(faults)] = False
    return is_good


def _entries(column: Column, pooled: PooledBuffer) -> Entries:
    """The features of a column, with as much room for names as they need."""
    while (entries := column.entries(pooled.buffer.names)) is None:
        pooled.enlarge_names()
    return entries
