"""Parquet and Arrow files, through PyArrow: the same batches as from text, made column by column.

The names of the columns take the place of namespaces: see hashing.py. A missing value makes no
feature. Memory does not grow with the file, which is mapped and read in pieces of bounded size.
"""

import math
import mmap
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import types

from rarefy.errors import InputError
from rarefy.readers.arrow_schema import Layout, found_columns, is_text, layout
from rarefy.readers.arrow_values import (
    COLUMNS,
    Column,
    Entries,
    NumberLabels,
    WeightColumn,
    WordLabels,
    leaf_array,
    place_entries,
    without_views,
)
from rarefy.readers.batch import Batch, Parsed, Problem, RoomPlace, Rooms, filled
from rarefy.readers.columns import Columns
from rarefy.readers.labels import Labels
from rarefy.readers.source import COMPRESSIONS, STDIN

MOST_ROWS = 1 << 16  # of a piece
MOST_BYTES = 8 << 20
SHOWN_REASON = 200  # characters of what PyArrow says
SHOWN_VALUE = 40
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
    settle: Callable[[Columns], None]  # what each column was found to be
    labels: Labels
    rooms: Rooms
    refuse: Callable[[str], None]  # what is wrong with a bad row


def arrow_batches(file: str, format: str, reading: ArrowReading) -> Iterator[tuple[Batch, int]]:
    """All batches of a file, and about how many of its bytes they and those before took."""
    with _clear_errors(file):
        opened = _open_parquet(file) if format == "parquet" else _open_ipc(file)
        yield from _batches(file, opened, reading)


def table_batches(name: str, table: Any, reading: ArrowReading) -> Iterator[Batch]:
    """All batches of a table in memory."""
    opened = Opened(table.schema, lambda plan: _ipc_pieces(table.to_batches(), plan))
    for batch, _ in _batches(name, opened, reading):
        yield batch


def _batches(file: str, opened: Opened, reading: ArrowReading) -> Iterator[tuple[Batch, int]]:
    plan = layout(file, opened.schema, reading.columns)
    reading.settle(found_columns(plan, reading.columns))
    if plan.label is not None:
        reading.labels.settle(words=is_text(plan.label.type))
    row = 0
    for piece in opened.pieces(plan):
        lines = np.arange(row + 1, row + len(piece) + 1)
        row += len(piece)
        yield _batch(file, piece, lines, plan, reading), int(row * opened.row_bytes)


# --- files ---------------------------------------------------------------------------------


@contextmanager
def _clear_errors(file: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:SHOWN_REASON].rstrip(".")
        what = "the file is damaged or of another kind"
        if MISSING_FIXED_LIST.match(reason):
            what = "missing lists of fixed size can be read from Parquet by PyArrow 26 and later"
        elif file == STDIN:
            what = "a whole stream of Arrow, not a file, is expected from standard input"
        raise InputError(f"{file}: {what}: {reason}.") from error


def _mapped(file: str) -> mmap.mmap:
    try:
        with open(file, "rb") as raw:
            if os.fstat(raw.fileno()).st_size == 0:
                raise InputError(f"{file}: the file is empty.")
            mapped = mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}.") from error
    for magic, kind in COMPRESSIONS.items():
        if mapped[: len(magic)] == magic:
            raise InputError(
                f"{file}: the file is compressed with {kind}; Parquet and Arrow files are "
                "compressed inside, so decompress it first."
            )
    return mapped


def _forgetting(mapped: mmap.mmap, pieces: Iterator[Any]) -> Iterator[Any]:
    """The pieces; what of the file was read for one is let go of before the next."""
    for piece in pieces:
        yield piece
        if hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


def _open_parquet(file: str) -> Opened:
    if file == STDIN:
        raise InputError("-: Parquet cannot be read from standard input; name a file.")
    mapped = _mapped(file)
    parquet = pq.ParquetFile(pa.BufferReader(mapped))
    groups = [parquet.metadata.row_group(i) for i in range(parquet.num_row_groups)]
    row_bytes = [group.total_byte_size / max(group.num_rows, 1) for group in groups]
    n_rows = math.ceil(MOST_BYTES / max(*row_bytes, MOST_BYTES / MOST_ROWS, 1))

    def pieces(plan: Layout) -> Iterator[Any]:
        for batch in parquet.iter_batches(n_rows, columns=plan.columns):
            yield from _cut(batch)

    return Opened(
        parquet.schema_arrow,
        lambda plan: _forgetting(mapped, pieces(plan)),
        len(mapped) / max(parquet.metadata.num_rows, 1),
    )


def _open_ipc(file: str) -> Opened:
    if file == STDIN:
        if sys.stdin is None:
            raise InputError("-: there is no standard input.")
        stream = pa.ipc.open_stream(sys.stdin.buffer)
        return Opened(stream.schema, lambda plan: _ipc_pieces(stream, plan))
    mapped = _mapped(file)
    if mapped[: len(FIRST_VERSION_MAGIC)] == FIRST_VERSION_MAGIC:
        raise InputError(f"{file}: this is version 1 of Feather; write it anew in version 2.")
    buffer = pa.py_buffer(mapped)
    if mapped[: len(FILE_MAGIC)] != FILE_MAGIC:
        stream = pa.ipc.open_stream(buffer)
        return Opened(stream.schema, lambda plan: _forgetting(mapped, _ipc_pieces(stream, plan)))
    reader = pa.ipc.open_file(buffer)
    batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
    return Opened(reader.schema, lambda plan: _forgetting(mapped, _ipc_pieces(batches, plan)))


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
    place = reading.rooms.next(max(n_rows, sum(column.most_entries for column in features)))
    room = place.room
    room.labels[:n_rows] = math.nan if label is None else label.numbers(is_good)
    room.importance[:n_rows] = 1.0 if weight is None else weight.numbers[is_good]
    room.lines[:n_rows] = lines[is_good]
    found = [_entries(column, place) for column in features]
    room = place.room
    counts = sum((entries.counts[is_good] for entries in found), np.zeros(n_rows, np.int64))
    room.indptr[0] = 0
    np.cumsum(counts, out=room.indptr[1 : n_rows + 1])
    at = room.indptr[:n_rows].copy()
    for column, entries in zip(features, found, strict=True):
        place_entries(entries, column.seed, is_good, at, room)
    parsed = Parsed(n_rows, int(room.indptr[n_rows]), 0, 0, Problem.NONE)
    return filled(file, room, parsed, labels.names)


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


def _entries(column: Column, place: RoomPlace) -> Entries:
    """The features of a column, with as much room for names as they need."""
    while (entries := column.entries(place.room.names)) is None:
        place.with_more_names()
    return entries
