"""Rows in memory: dicts, read as JSON lines are, and data frames and tables, read as Arrow is."""

import datetime
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import count
from typing import Any

import numpy as np

from rarefy.errors import InputError
from rarefy.readers.batch import Batch
from rarefy.readers.features.columns import Columns, may_be_absent, missing_column
from rarefy.readers.features.value_texts import written
from rarefy.readers.line_errors import BadLines
from rarefy.readers.prefetch import Job
from rarefy.readers.reader import Reader
from rarefy.readers.source import BLOCK_BYTES, Block, padded

NAME = "rows"  # in the place of a file's name, in messages
ARROW_INTERFACES = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")
FEW_ROWS = 1 << 12
PLAIN = (float, int, bool)
SMALL_FLOATS = (np.dtype(np.float16), np.dtype(np.float32))


def are_rows(X: Any) -> bool:
    """Whether these are rows with named columns: a dict, dicts, a data frame or a table."""
    if isinstance(X, list | tuple):
        return all(isinstance(row, Mapping) for row in X)
    is_table = any(hasattr(X, interface) for interface in ARROW_INTERFACES)
    return isinstance(X, Mapping) or is_table or is_pandas(X)


class RowsReader(Reader):
    """Gives batches of rows that are in memory, for what has learned from files.

    The name is that of the rows in messages.
    """

    def __init__(self, rows: Any, classes: Sequence[str], name: str = NAME) -> None:
        super().__init__(
            [], "json", columns=Columns(), classes=classes, cross=(), skip_bad_lines=False
        )
        self._rows: Any = [rows] if isinstance(rows, Mapping) else rows
        self._name = name

    def jobs(self, n_buffers: int | None = None) -> Iterator[Job[Batch]]:
        self.faults, self._numbers = BadLines(skip=False), count()
        if hasattr(self._rows, "__len__") and len(self._rows) <= FEW_ROWS:
            n_buffers = None  # those to be used again have room for a block, in each thread
        pool = self._pool(n_buffers, has_groups=bool(self.cross))
        table = None if isinstance(self._rows, list | tuple) else _as_table(self._rows)
        if table is None:
            yield from (job for job, _ in self._text_jobs(self._name, pool))
            return
        from rarefy.readers.formats.arrow import table_batches

        for batch in table_batches(self._name, table, self.arrow_reading(self._name, pool)):
            yield from self._parts(batch)

    def _blocks(self, file: str, line_reached: Callable[[], int]) -> Iterator[Block]:
        """The rows as JSON lines."""
        rows: Iterable[Mapping[Any, Any]] = self._rows
        is_frame = is_pandas(self._rows)
        if is_frame:
            _check_names(list(map(str, self._rows.columns)), self.columns)
            rows = _dicts(self._rows)
        lines = JsonLines(self.columns, nan_is_missing=is_frame)
        texts = (lines.line(row, n) for n, row in enumerate(rows, start=1))
        return blocks_of(texts, BLOCK_BYTES // self._expansion)


class LinesReader(Reader):
    """Gives batches of rows that are lines of one format, all of them in memory."""

    def __init__(
        self,
        lines: Iterable[bytes],
        format: str,
        classes: Sequence[str],
        block_bytes: int = BLOCK_BYTES,
        name: str = NAME,
    ) -> None:
        super().__init__(
            [], format, columns=Columns(), classes=classes, cross=(), skip_bad_lines=False
        )
        self._lines = lines
        self._block_bytes = block_bytes
        self._name = name

    def jobs(self, n_buffers: int | None = None) -> Iterator[Job[Batch]]:
        self.faults, self._numbers = BadLines(skip=False), count()
        has_groups = bool(self.cross or self.columns.ignore or self.columns.ngram)
        pool = self._pool(n_buffers, has_groups=has_groups)
        return (job for job, _ in self._text_jobs(self._name, pool))

    def _blocks(self, file: str, line_reached: Callable[[], int]) -> Iterator[Block]:
        return blocks_of(self._lines, self._block_bytes // self._expansion)


def blocks_of(lines: Iterable[bytes], most_bytes: int) -> Iterator[Block]:
    """Lines that end with a newline each, some megabytes at a time."""
    text: list[bytes] = []
    n_bytes = 0
    for line in lines:
        text.append(line)
        n_bytes += len(line)
        if n_bytes > most_bytes:
            yield padded(b"".join(text), last=False)
            text, n_bytes = [], 0
    yield padded(b"".join(text), last=True)


# --- dicts ---------------------------------------------------------------------------------


class JsonLines:
    """Rows as lines that mean the same.

    NaN is what pandas has for missing numbers; in dicts it is an error, as in JSON lines.
    """

    def __init__(self, columns: Columns, *, nan_is_missing: bool = False) -> None:
        self._nan_is_missing = nan_is_missing
        self._kinds = {**columns.kinds, columns.label: "label"}
        if columns.weight is not None and not columns.weight_needed:
            self._kinds[columns.weight] = "ignore"
        self._forms = dict(columns.forms)
        self._unused = ("ignore",) if columns.label_needed else ("ignore", "label")

    def line(self, row: Mapping[Any, Any], number: int) -> bytes:
        members = {str(name): self._value(value, str(name), number) for name, value in row.items()}
        return json.dumps(members).encode() + b"\n"

    def line_of_pairs(self, pairs: Iterable[tuple[Any, Any]], number: int) -> bytes:
        """The line of members that may have the same name; all of them count."""
        members = (
            f"{json.dumps(str(name))}: {json.dumps(self._value(value, str(name), number))}"
            for name, value in pairs
        )
        return f"{{{', '.join(members)}}}\n".encode()

    def _value(self, value: Any, path: str, row: int, *, in_ignored: bool = False) -> Any:
        """A value as JSON has it; null for what is missing or not used."""
        kind = self._kinds.get(path, "ignore" if in_ignored else None)
        if kind is None and type(value) in PLAIN and -math.inf < value < math.inf:
            return value
        is_ignored = kind == "ignore"
        if isinstance(value, Mapping) and kind != "label":
            return {
                str(k): self._value(v, f"{path}.{k}", row, in_ignored=is_ignored)
                for k, v in value.items()
            }
        if kind in self._unused or (_is_missing(value) and not self._is_refused_nan(value)):
            return None
        if isinstance(value, list | tuple | np.ndarray):
            return [self._value(element, path, row) for element in value]
        try:
            is_text = kind in ("categorical", "text") and not self._is_refused_nan(value)
            found = written(value, self._forms.get(path)) if is_text else _number_or_text(value)
        except UnicodeDecodeError:
            found = None
        if found is None or (isinstance(found, float) and not math.isfinite(found)):
            expected = "a finite number or text (or nothing: None)"
            raise InputError(
                f"{NAME}:{row}: {expected} is expected in the column {path!r}, not {value!r}."
            )
        return found

    def _is_refused_nan(self, value: Any) -> bool:
        is_number = isinstance(value, float | np.floating | Decimal)
        return not self._nan_is_missing and is_number and _is_missing(value)


def _is_missing(value: Any) -> bool:
    """None, and what pandas has for it: NaN, NaT and NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    may_be = isinstance(value, float | np.generic | Decimal | datetime.date)
    return may_be and bool(value != value)  # noqa: PLR0124


def _number_or_text(value: Any) -> Any:
    """A number or text; None if it is neither."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode()
    return value if isinstance(value, str | bool | int | float) else None


# --- data frames and tables ----------------------------------------------------------------


def _as_table(X: Any) -> Any:
    """A table of Arrow; None for a frame of pandas that is none, or without PyArrow."""
    try:
        import pyarrow as pa
    except ImportError as error:
        if is_pandas(X):
            return None
        raise InputError(
            "reading data frames needs `pip install rarefy[arrow]`; or give the rows as dicts."
        ) from error
    try:
        if is_pandas(X):
            return _from_pandas(pa, X)
        if hasattr(X, "__arrow_c_stream__"):
            return pa.table(X)
        if hasattr(X, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(X)])
        from pyarrow.interchange import from_dataframe

        return from_dataframe(X)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"a {type(X).__name__} is not a table with named columns: {error}"
        ) from error


def _from_pandas(pa: Any, frame: Any) -> Any:
    """None if it is to be read as dicts, in which each value is what it is by itself."""
    if not frame.columns.is_unique:
        name = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"{NAME}: there are two columns of the name {str(name)!r}.")
    if any(_is_changed_by_arrow(column) for _, column in frame.items()):
        return None
    try:
        return _without_nan(pa, pa.Table.from_pandas(frame, preserve_index=False))
    except (pa.ArrowException, OverflowError, TypeError):  # TypeError: columns that are sparse
        return None


def _without_nan(pa: Any, table: Any) -> Any:
    """Nothing in the place of NaN, which PyArrow leaves in some types of columns."""
    import pyarrow.compute as pc

    for n, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            to = pa.float32() if field.type == pa.float16() else field.type
            numbers = table.column(n).cast(to)
            numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, to), numbers)
            table = table.set_column(n, field.name, numbers)
    return table


def _is_changed_by_arrow(column: Any) -> bool:
    """Whether a column of pandas, or its categories, mean something else in Arrow.

    PyArrow makes values of one type of objects other than text, or ends the process. Some versions
    (22) drop the time zone of categories.
    """
    from pandas.api.types import infer_dtype

    values = getattr(column.dtype, "categories", column)
    if values is not column and getattr(values.dtype, "tz", None) is not None:
        return True
    return values.dtype == object and infer_dtype(values, skipna=True) not in ("string", "empty")


def _dicts(frame: Any) -> Iterator[dict[Any, Any]]:
    """The rows of a frame of pandas, with values of the types that the columns have."""
    columns = [_values(column) for _, column in frame.items()]
    for _, *values in zip(frame.index, *columns, strict=True):
        yield dict(zip(frame.columns, values, strict=True))


def _values(column: Any) -> Iterable[Any]:
    """The values of a column of pandas; floats of 32 bits stay such."""
    array, dtype = column.array, column.dtype
    if hasattr(dtype, "categories"):
        values = [*_values(array.categories), None]  # the last is what the code -1 leads to
        return [values[code] for code in array.codes]
    if getattr(dtype, "numpy_dtype", None) in SMALL_FLOATS:
        return array.to_numpy(dtype.numpy_dtype, na_value=math.nan)  # type: ignore[no-any-return]
    return array  # type: ignore[no-any-return]


def _check_names(names: list[str], columns: Columns) -> None:
    """Refuse a frame without a column, or a dict that holds it."""
    roles = columns.kinds
    if columns.weight is not None:
        roles[columns.weight] = "weight"
    for name, role in roles.items():
        holders = [known for known in names if roles.get(known, "ignore") == "ignore"]
        is_there = name in names or any(name.startswith(f"{known}.") for known in holders)
        if not is_there and not may_be_absent(role, columns):
            raise missing_column(NAME, name, role, names, columns)


def is_pandas(X: Any) -> bool:
    """Whether it is a data frame of pandas, which need not be installed."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)
