"""Data split into pieces that workers read separately, with the result of one reader."""

import os
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.cluster.shard_work import NO_NAMES, packed
from rarefy.errors import InputError
from rarefy.readers import Reader
from rarefy.readers.feature_names import texts_of
from rarefy.readers.features.columns import Columns
from rarefy.readers.in_memory import LinesReader, RowsReader
from rarefy.stores import Prepared, make_store
from rarefy.streams.pipeline import prepared_batches
from rarefy.streams.stream_model import StreamModel, with_targets
from rarefy.training.plan import reader_of

LINES_AT_A_TIME = 1 << 12


class Piece(NamedTuple):
    """A part of the data that can be read by itself."""

    file: str
    share: float  # of the bytes of all data
    table: Any = None  # a handle of its rows, where these are in the memory of workers
    format: str | None = None  # of the lines that its rows are, if they are such


class Reading(NamedTuple):
    """How to read a piece: as the driver has read the first rows."""

    settings: dict[str, Any]  # of the reader
    words: tuple[str, ...] | None  # that are labels, by number; None: labels are numbers
    names_wanted: bool
    store: dict[str, Any]
    classes: tuple[str, ...]
    has_one_score: bool


class Outline(NamedTuple):
    """What the driver knows of rows that a worker has."""

    labels: Floats
    y: Floats
    lengths: NDArray[np.int32]
    importance: Floats | None  # None: 1 for all
    share: float  # of the piece that has been read


class End(NamedTuple):
    """What there is to say of a piece that has been read."""

    n_bad_lines: int
    bad_lines: list[str]
    columns: Columns
    noted: Any  # by the store


def pieces_of(reader: Reader) -> list[Piece]:
    """The files of a reader, or what it has in their place."""
    if pieces := getattr(reader, "pieces", None):
        return list(pieces)
    sizes = [os.path.getsize(file) for file in reader.files]
    total = max(sum(sizes), 1)
    files = map(os.path.abspath, reader.files)  # workers may be in other folders
    return [Piece(file, size / total) for file, size in zip(files, sizes, strict=True)]


def reading_of(reader: Reader, model: StreamModel) -> Reading:
    """How the reader reads, which has read the first rows."""
    return Reading(
        reader.settings(),
        reader.labels.names,
        reader.names_wanted,
        model.store.settings(),
        model.classes,
        model.has_one_score,
    )


def read_piece(
    reading: Reading, piece: Piece, table: Any = None
) -> Iterator[Outline | Prepared | End]:
    """Read a part of the data: what an engine of your own has a worker do.

    Parameters
    ----------
    reading : Reading
        How to read; the first argument of an engine's `read`.
    piece : Piece
        What to read; the second one.
    table : table, optional
        The rows themselves, if they are in the memory of workers.

    Yields
    ------
    Outline, rows or End
        An outline of each batch, which goes to the driver, followed by its rows, which stay where
        they are; after the last batch the end.

    Raises
    ------
    InputError
        If a line cannot be parsed, or the file is gone.

    See Also
    --------
    train : Has an engine read and learn.

    Examples
    --------
    >>> from rarefy.cluster import read_piece
    >>> def read(self, reading, piece):  # a method of an engine that reads where it is
    ...     items = read_piece(reading, piece)
    ...     for outline in items:
    ...         rows = next(items, None)
    ...         yield (outline, rows) if rows is not None else outline
    """
    reader = like = reader_of({**reading.settings, "files": [piece.file]})
    if table is not None:
        reader = reader_of_table(table, piece.format, like.labels.classes, piece.file)
    reader.read_like(like.columns, like.cross, by_model=False)
    reader.labels.settle(words=reading.words is not None)
    reader.labels.add(reading.words or ())
    reader.names_wanted = reading.names_wanted
    store = make_store(**reading.store)

    finish = partial(with_targets, classes=reading.classes, has_one_score=reading.has_one_score)
    for prepared in prepared_batches(reader, store, finish):
        if len(prepared.batch.labels):
            yield _outline(prepared)
            yield _kept(prepared)
    yield End(reader.n_bad_lines, reader.bad_lines, reader.columns, store.noted())


def reader_of_table(
    table: Any, format: str | None, classes: tuple[str, ...], name: str
) -> RowsReader | LinesReader:
    """A reader of rows, or of lines of some format, each of which is a row of the only column."""
    if format is None:
        return RowsReader(table, classes, name)
    return LinesReader(LinesOf(table, name), format, classes, name=name)


class LinesOf:
    """The texts of the only column of a table, as lines; they can be gone over again."""

    def __init__(self, table: Any, name: str) -> None:
        if table.num_columns != 1:
            raise InputError(
                f"{name}: a dataset of lines has one column, as from ray.data.read_text, and this "
                f"one has {', '.join(table.column_names)}. Leave out `format` to read its columns."
            )
        self._table = table

    def __iter__(self) -> Iterator[bytes]:
        for batch in self._table.to_batches(max_chunksize=LINES_AT_A_TIME):
            texts = batch.column(0).to_pylist()
            yield "".join(f"{text}\n" for text in texts if text is not None).encode()


def _outline(prepared: Prepared) -> Outline:
    batch, y = prepared.batch, prepared.y
    assert y is not None
    importance = None if (batch.importance == 1.0).all() else batch.importance.copy()
    lengths = np.diff(batch.indptr).astype(np.int32)
    return Outline(batch.labels.copy(), y.copy(), lengths, importance, batch.share)


def _kept(prepared: Prepared) -> Prepared:
    names = packed(*texts_of(prepared.batch.names)) if prepared.batch.names.used[0] else NO_NAMES
    return prepared._replace(batch=prepared.batch._replace(names=names)).copied()


def check_columns(piece: Piece, reading: Reading, end: End) -> None:
    """Refuse columns that the first rows do not have: what they are would depend on the order."""
    if end.columns != Columns(**reading.settings["columns"]):
        known = Columns(**reading.settings["columns"]).kinds
        new = [name for name in end.columns.kinds if name not in known]
        raise InputError(
            f"{piece.file}: there are columns that the first rows do not have: "
            f"{', '.join(new[:5])}. On a cluster, say what they are: text=..., categorical=..., "
            f"numeric=... or ignore=... (--text, --categorical, --numeric, --ignore)."
        )
