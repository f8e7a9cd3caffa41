"""What the columns of a CSV file are: from the header, from what the user says, and by content."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rarefy.errors import InputError
from rarefy.hashing import hash_text
from rarefy.readers.batch import EXPECTED, Parsed, Problem, Room
from rarefy.readers.columns import Columns, complete_columns, roles_in
from rarefy.readers.csv import (
    CATEGORICAL,
    IGNORED,
    LABEL_NUMBER,
    LABEL_WORD,
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
from rarefy.readers.faults import fault, first_invalid, line_end
from rarefy.readers.forms import form_of
from rarefy.readers.labels import Labels
from rarefy.readers.source import STDIN, Block
from rarefy.readers.words import new_scratch, word_tables

DELIMITERS = ",;\t|"
TAB_ENDINGS = (".tsv", ".tab")
EMPTY_LINES = (b"", b"\r")
ROWS_LOOKED_AT = 1000
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
    n_header_lines: int

    def parse(self, data: Any, end: int, start: Parsed, room: Room) -> Parsed:
        n_bytes = end - start.position
        undoubled = np.empty(n_bytes + 16, np.uint8)
        to_read = undoubled.view()
        to_read.flags.writeable = False
        has_text = (self.table.roles == TEXT).any()
        return parse_csv(
            data,
            end,
            start,
            room,
            self.dialect,
            self.table,
            self.labels.words,
            new_bounds(len(self.table.roles) + 1),
            word_tables(),
            new_scratch(n_bytes if has_text else 0),
            undoubled,
            to_read,
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
            return line_end(block, position) + 1, line + 1
        return split.row_end + 1, line + split.n_lines


def open_csv_file(file: str, block: Block, columns: Columns, labels: Labels) -> CsvFile | None:
    """How to read the file that begins with the block; None if there is no whole row in it."""
    dialect = Dialect(ord(columns.delimiter or _delimiter(file, block, columns)), columns.quotes)
    rows = _rows(block, dialect)
    first = next(rows, None)
    n_header_lines = first.n_lines_to_end if first is not None and columns.header else 0
    sample = list(islice(rows, ROWS_LOOKED_AT))
    if first is not None and not columns.header:
        sample = [first, *sample]
    if not sample and not block.last:
        return None
    if first is None:
        return CsvFile(dialect, _table({}, columns, labels), columns, labels, 0)
    names = _names(file, block, first) if columns.header else _numbered(first)
    values = _values(sample, names)
    roles = roles_in(file, names, columns)
    for name in names:
        if name not in roles:
            roles[name] = "numeric" if _are_numbers(values[name]) else "categorical"
    given_labels = [label for label in values.get(columns.label, ()) if label]
    if given_labels:
        labels.settle(words=not _are_numbers(given_labels[:1]))
    roles = {name: roles[name] for name in names}
    table = _table(roles, columns, labels)
    if sample:  # a file without rows says nothing of the columns of others
        columns = complete_columns(columns, roles, _forms(roles, values))
    return CsvFile(dialect, table, columns, labels, n_header_lines)


class _Row(NamedTuple):
    """A row as it is met in the first block."""

    split: Split
    fields: list[bytes]
    n_lines_to_end: int  # counted from the beginning of the block


def _rows(block: Block, dialect: Dialect) -> Iterator[_Row]:
    """The rows of a block, the faulty ones too, but not one that goes on in the next block."""
    position, n_lines = block.begin, 0
    bounds = new_bounds(block.end - block.begin)
    while position < block.end:
        split = split_one_row(block.data, position, block.end, dialect, bounds)
        if split.problem == Problem.OPEN_QUOTE and not block.last:
            return
        n_lines += split.n_lines
        if block.data[position : split.row_end].tobytes() not in EMPTY_LINES:
            yield _Row(split, _fields(block, split, bounds), n_lines)
        position = split.row_end + 1


def _fields(block: Block, split: Split, bounds: Bounds) -> list[bytes]:
    fields = []
    for start, begin, end in zip(*(a[: split.n_fields].tolist() for a in bounds), strict=True):
        field = block.data[begin:end].tobytes()
        fields.append(field.replace(b'""', b'"') if begin > start else field)
    return fields


def _delimiter(file: str, block: Block, columns: Columns) -> str:
    """The one of the delimiters that is most often in the first line, outside quotes."""
    if file != STDIN and any(ending in TAB_ENDINGS for ending in Path(file).suffixes):
        return "\t"
    line = b""
    position = block.begin
    while not line.strip(b"\r") and position < block.end:
        end = line_end(block, position)
        line, position = block.data[position:end].tobytes(), end + 1
    if columns.quotes:
        line = b"".join(line.split(b'"')[::2])
    return max(DELIMITERS, key=lambda delimiter: line.count(delimiter.encode()))


def _names(file: str, block: Block, header: _Row) -> list[str]:
    """The names in the header, without blanks around them."""
    problem, position = header.split.problem, header.split.fault
    if problem != Problem.NONE:
        line = 1 + block.data[block.begin : position].tobytes().count(b"\n")
        what = fault(block, position, f"{EXPECTED[problem]} is expected")
        raise InputError(f"{file}:{line}:{what}")
    try:
        return [field.decode().strip(BLANKS) for field in header.fields]
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: the header is not UTF-8: {error}.") from error


def _numbered(row: _Row) -> list[str]:
    return [str(number) for number in range(1, len(row.fields) + 1)]


def _values(rows: Sequence[_Row], names: Sequence[str]) -> dict[str, list[bytes]]:
    """The values of each column in the rows that are as they should be."""
    good = [
        row.fields
        for row in rows
        if row.split.problem == Problem.NONE
        and len(row.fields) == len(names)
        and first_invalid(b"".join(row.fields)) is None
    ]
    return {name: [fields[k] for fields in good] for k, name in enumerate(names)}


def _are_numbers(values: Sequence[bytes]) -> bool:
    """Whether all values that there are, and there are some, are finite numbers."""
    there = [value for value in values if value.strip(b" \t")]
    return bool(there) and all(NUMBER.fullmatch(v) and math.isfinite(float(v)) for v in there)


def _forms(roles: Mapping[str, str], values: Mapping[str, list[bytes]]) -> dict[str, str]:
    """How values that are not text are written in columns whose text counts."""
    forms = {name: form_of(values[name]) for name in roles if roles[name] == "categorical"}
    return {name: form for name, form in forms.items() if form is not None}


def _table(roles: Mapping[str, str], columns: Columns, labels: Labels) -> Table:
    codes = {**ROLES, "label": LABEL_WORD if labels.are_words else LABEL_NUMBER}
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
