"""What the columns of a CSV file are: from the header, from what the user says, and by content."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import read_only
from rarefy.errors import InputError
from rarefy.hashing import hash_text
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.features.column_doubts import warn_of_doubts
from rarefy.readers.features.columns import DELIMITERS, Columns, complete_columns, roles_in
from rarefy.readers.features.grams import room_for_words
from rarefy.readers.features.labels import Labels
from rarefy.readers.features.value_texts import form_of
from rarefy.readers.features.words import word_tables
from rarefy.readers.formats.csv import (
    CATEGORICAL,
    IGNORED,
    LABEL_NUMBER,
    LABEL_WORD,
    MISSING,
    NUMERIC,
    TEXT,
    WEIGHT,
    Bounds,
    Dialect,
    Split,
    Table,
    new_bounds,
    parse_csv,
    split_one_row,
)
from rarefy.readers.line_errors import NOT_UTF8, end_of_line, fault, first_invalid
from rarefy.readers.parsed import Parsed, Problem, remedy, what_is_wrong
from rarefy.readers.source import BLOCK_BYTES, STDIN, Block
from rarefy.readers.text.scan import skip_empty_lines

TAB_ENDINGS = (".tsv", ".tab")
ROWS_LOOKED_AT = 1000
FIELDS_LOOKED_AT = BLOCK_BYTES
MOST_COLUMNS = 1_000_000
BLANKS = " \t"
ROLES = {
    "ignore": IGNORED,
    "categorical": CATEGORICAL,
    "numeric": NUMERIC,
    "text": TEXT,
    "weight": WEIGHT,
}
NUMBER = re.compile(rb"[ \t]*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?[ \t]*")


class CsvFile(NamedTuple):
    """How to read one file."""

    dialect: Dialect
    table: Table
    columns: Columns  # with every column of the file in it
    labels: Labels
    roles: Mapping[str, str]  # of the columns, in the order of the file

    def parse(self, data: Any, end: int, start: Parsed, buffer: BatchBuffer) -> Parsed:
        n_bytes = end - start.position
        undoubled = np.empty(n_bytes + 16, np.uint8)
        has_text = (self.table.roles == TEXT).any()
        return parse_csv(
            data,
            end,
            start,
            buffer,
            self.dialect,
            self.table,
            self.labels.words,
            new_bounds(len(self.table.roles) + 1),
            word_tables(self.columns.ngram, self.columns.skips),
            room_for_words(n_bytes if has_text else 0),
            undoubled,
            read_only(undoubled),
        )

    def label_at(self, block: Block, position: int) -> str:
        """The label of the row at a position."""
        bounds = new_bounds(len(self.table.roles))
        split = split_one_row(block.data, position, block.end, self.dialect, bounds)
        (number,) = np.flatnonzero(self.table.roles == LABEL_WORD)
        return _fields(block, split, bounds)[number].decode()

    def next_row(self, block: Block, position: int, line: int) -> tuple[int, int]:
        """Where to go on after a fault at a position, and the line of that.

        A row with a quote that is never closed is taken to be one line.
        """
        split = split_one_row(block.data, position, block.end, self.dialect, new_bounds(0))
        if split.problem == Problem.OPEN_QUOTE:
            return end_of_line(block, position) + 1, line + 1
        return split.row_end + 1, line + split.n_lines


def open_csv_file(
    file: str, block: Block, columns: Columns, labels: Labels, *, by_model: bool = False
) -> CsvFile | None:
    """How to read the file that begins with the block, which is left without its header.

    None if there is no whole row in it. Then a header is kept for the next block, and the block's
    `rest` is where the first row begins.
    """
    header = block.header or _header(file, block, columns, by_model=by_model)
    if not block.last and (header is None or next(_rows(block, header.dialect), None) is None):
        block.header = header
        block.rest = skip_empty_lines(block.data, block.begin, block.end)
        return None
    if header is None:
        header = _Header(_dialect(file, block, columns), [], {})
    sample = _sample(block, header)
    values = {name: [fields[k] for fields in sample] for k, name in enumerate(header.names)}
    roles = {name: header.roles.get(name) or _role(values[name]) for name in header.names}
    label = next(filter(None, values.get(columns.label, ())), None)
    if label is not None:
        labels.settle(words=NUMBER.fullmatch(label) is None)
    table = _table(roles, columns, labels)
    if next(_rows(block, header.dialect), None) is not None and not columns.complete:
        # a file without rows says nothing of the columns of others
        inferred = {name: role for name, role in roles.items() if name not in header.roles}
        warn_of_doubts(file, inferred, _texts(values, inferred), by_model=by_model)
        columns = complete_columns(columns, roles, _forms(roles, values))
    return CsvFile(header.dialect, table, columns, labels, roles)


class _Header(NamedTuple):
    """Which columns there are, and what is said of them."""

    dialect: Dialect
    names: list[str]
    roles: dict[str, str]


def _header(file: str, block: Block, columns: Columns, *, by_model: bool) -> _Header | None:
    """The header, which is taken off the block, or numbers for names; None without a whole row."""
    dialect = _dialect(file, block, columns)
    row = next(_rows(block, dialect), None) if columns.header else _good_row(block, dialect)
    if row is None:
        return None
    _check_header(file, block, row, by_model=by_model)
    if columns.header:
        names = _names(file, block, row)
        block.begin = row.split.row_end + 1
    else:
        names = [str(number) for number in range(1, row.split.n_fields + 1)]
    return _Header(dialect, names, roles_in(file, names, columns, by_model=by_model))


class _Row(NamedTuple):
    """A row as it is met in the first block."""

    begin: int
    split: Split
    bounds: Bounds  # of its fields, until the next row comes


def _rows(block: Block, dialect: Dialect) -> Iterator[_Row]:
    """The rows of a block, the faulty ones too, but not one that goes on in the next block."""
    bounds = new_bounds(min(block.end - block.begin, MOST_COLUMNS))
    begin = block.begin
    while (begin := skip_empty_lines(block.data, begin, block.end)) < block.end:
        split = split_one_row(block.data, begin, block.end, dialect, bounds)
        if split.problem == Problem.OPEN_QUOTE and not block.last:
            return
        yield _Row(begin, split, bounds)
        last_line = {Problem.OPEN_QUOTE: begin, Problem.NOT_UTF8: split.fault}
        begin = end_of_line(block, last_line.get(split.problem, split.row_end)) + 1


def _good_row(block: Block, dialect: Dialect) -> _Row | None:
    """The first row that is as it should be, or else the one that comes nearest.

    None if there is none, but may be one in the next block.
    """
    rows = list(islice(_rows(block, dialect), ROWS_LOOKED_AT))
    best = min(rows, key=lambda row: _badness(block, row), default=None)
    may_come = not block.last and len(rows) < ROWS_LOOKED_AT
    return None if best is None or (may_come and _badness(block, best)) else best


def _badness(block: Block, row: _Row) -> int:
    if row.split.problem != Problem.NONE:
        return 2
    return int(first_invalid(block.data[row.begin : row.split.row_end].tobytes()) is not None)


def _sample(block: Block, header: _Header) -> list[list[bytes]]:
    """The fields of the first rows, of those that are as they should be."""
    n_columns = len(header.names)
    rows = islice(_rows(block, header.dialect), ROWS_LOOKED_AT)
    whole = (r for r in rows if r.split.problem == Problem.NONE and r.split.n_fields == n_columns)
    few = islice(whole, 1 + FIELDS_LOOKED_AT // max(n_columns, 1))
    return [_fields(block, row.split, row.bounds) for row in few if not _badness(block, row)]


def _fields(block: Block, split: Split, bounds: Bounds) -> list[bytes]:
    fields = []
    for start, begin, end in zip(*(a[: split.n_fields].tolist() for a in bounds), strict=True):
        field = block.data[begin:end].tobytes()
        fields.append(field.replace(b'""', b'"') if begin > start else field)
    return fields


def _dialect(file: str, block: Block, columns: Columns) -> Dialect:
    return Dialect(ord(columns.delimiter or _delimiter(file, block, columns)), columns.quotes)


def _delimiter(file: str, block: Block, columns: Columns) -> str:
    """The one of the delimiters that is most often in the first line, outside quotes."""
    if file != STDIN and any(ending in TAB_ENDINGS for ending in Path(file).suffixes):
        return "\t"
    begin = skip_empty_lines(block.data, block.begin, block.end)
    end = end_of_line(block, begin) if begin < block.end else begin
    return delimiter_in(block.data[begin:end].tobytes(), columns)


def delimiter_in(line: bytes, columns: Columns) -> str:
    """The one of the delimiters that is most often in a line, outside quotes."""
    if columns.quotes:
        line = b"".join(line.split(b'"')[::2])
    return max(DELIMITERS, key=lambda delimiter: line.count(delimiter.encode()))


def _check_header(file: str, block: Block, row: _Row, *, by_model: bool) -> None:
    """Refuse a row that does not tell which columns there are."""
    problem, position = row.split.problem, row.split.fault
    line = block.line + block.data[block.begin : position].tobytes().count(b"\n")
    if problem != Problem.NONE:
        advice = remedy(problem, by_model=by_model)
        what = fault(block, position, what_is_wrong(Problem(problem)), advice)
        raise InputError(f"{file}:{line}:{what}")
    if row.split.n_fields > MOST_COLUMNS:
        raise InputError(
            f"{file}:{line}: there are {row.split.n_fields:,} columns; {MOST_COLUMNS:,} at most "
            "can be read from CSV."
        )


def _names(file: str, block: Block, row: _Row) -> list[str]:
    """The names in the header, without blanks around them."""
    fields = _fields(block, row.split, row.bounds)
    if any(b"\r" in field.replace(b"\r\n", b"\n") for field in fields):
        raise InputError(
            f"{file}: lines end with a carriage return alone; convert the file, as with "
            f"`tr '\\r' '\\n'`."
        )
    try:
        return [field.decode().strip(BLANKS) for field in fields]
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: the header {NOT_UTF8}: {error}.") from error


def _role(values: Sequence[bytes]) -> str:
    return "numeric" if _are_numbers(values) else "categorical"


def _are_numbers(values: Sequence[bytes]) -> bool:
    """Whether all values that there are, and there are some, are finite numbers."""
    there = [value for value in values if value.strip(b" \t").lower() not in (b"", *MISSING)]
    return bool(there) and all(NUMBER.fullmatch(v) and math.isfinite(float(v)) for v in there)


def _texts(values: Mapping[str, list[bytes]], names: Iterable[str]) -> dict[str, list[str]]:
    return {name: [value.decode() for value in values[name]] for name in names}


def _forms(roles: Mapping[str, str], values: Mapping[str, list[bytes]]) -> dict[str, str]:
    """How values that are not text are written in columns whose text counts."""
    forms = {name: form_of(values[name]) for name in roles if roles[name] == "categorical"}
    return {name: form for name, form in forms.items() if form is not None}


def _table(roles: Mapping[str, str], columns: Columns, labels: Labels) -> Table:
    codes = {**ROLES, "label": LABEL_WORD if labels.are_words else LABEL_NUMBER}
    if not columns.weight_needed:
        codes["weight"] = IGNORED
    seeds = [hash_text(name) for name in roles]
    encoded = [name.encode() for name in roles]
    return Table(
        np.array([codes[role] for role in roles.values()], np.uint8),
        np.array([0 if roles[n] == "label" else hash_text(n) for n in roles], np.uint64),
        np.array([hash_text("", seed) for seed in seeds], np.uint64),
        np.frombuffer(b"".join(encoded), np.uint8),
        np.cumsum([0, *map(len, encoded)]),
        columns.label_needed,
    )
