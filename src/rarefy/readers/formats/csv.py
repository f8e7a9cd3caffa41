"""CSV and TSV, compiled: RFC 4180, a row at a time.

First a row is split into fields, then each field gets the meaning of its column. A field is quoted
if it begins with a quote; then a quote inside is written twice, and delimiters and newlines are
part of it. Empty lines are passed over, and so is a carriage return before a newline.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.hashing import xxh64
from rarefy.jit import compiled, helper
from rarefy.jit.intrinsics import load_word, trailing_zeros
from rarefy.readers.buffers import BatchBuffer, end_row
from rarefy.readers.feature_names import ABSENT, EQUALS, Names, note_name, wants_name
from rarefy.readers.features.grams import WordsSoFar, problem_of
from rarefy.readers.features.labels import number_of_label
from rarefy.readers.features.words import WordTables, add_words
from rarefy.readers.line_errors import INVALID
from rarefy.readers.parsed import Parsed, Problem
from rarefy.readers.text.numbers import NEWLINE, RETURN, SPACE, TAB, parse_number

DOUBLE_QUOTE = 34
IGNORED, CATEGORICAL, TEXT, LABEL_WORD, NUMERIC, WEIGHT, LABEL_NUMBER = range(7)

# What stands for a number that is missing, in small letters; also each as the number of its bytes.
MISSING = (b"na", b"n/a", b"#n/a", b"nan", b"null", b"none", b"?", b"\\n")
_MISSING_CODES = tuple(int.from_bytes(word, "big") for word in MISSING)
_LONGEST_MISSING = max(map(len, MISSING))

_EACH_BYTE = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)


class Dialect(NamedTuple):
    """How fields are told apart."""

    delimiter: int
    quotes: bool


class Table(NamedTuple):
    """What the columns mean, in the order of the file."""

    roles: NDArray[np.uint8]
    seeds: NDArray[np.uint64]  # hashes of the names; 0 for the label
    keys: NDArray[np.uint64]  # of the numeric columns
    names: NDArray[np.uint8]
    name_ends: NDArray[np.int64]  # where the names of column 0, 1, ... end, after a zero
    label_needed: bool


class Bounds(NamedTuple):
    """Where the fields of a row are; those that do not fit are left out."""

    starts: NDArray[np.int64]  # with the quote, if there is one
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


class Split(NamedTuple):
    """How splitting a row went."""

    n_fields: int
    row_end: int  # the position of the newline
    n_lines: int
    has_doubled: bool
    problem: Problem
    fault: int


def new_bounds(size: int) -> Bounds:
    return Bounds(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64))


@helper
def find_either(data: Any, i: int, one: int, other: int) -> int:
    """The position of the first of two bytes, eight at a time; there must be one.

    A byte that is zero is the lowest one that borrows when one is taken off each.
    """
    ones, others = np.uint64(one) * _EACH_BYTE, np.uint64(other) * _EACH_BYTE
    while True:
        word = load_word(data, i)
        a, b = word ^ ones, word ^ others
        found = (((a - _EACH_BYTE) & ~a) | ((b - _EACH_BYTE) & ~b)) & _HIGH_BITS
        if found != 0:
            return i + int(trailing_zeros(found) >> np.uint64(3))
        i += 8


@helper
def split_row(data: Any, i: int, end: int, dialect: Dialect, bounds: Bounds) -> Split:
    """Split the row at i, which may go over several lines."""
    delimiter, size = dialect.delimiter, len(bounds.starts)
    column, n_lines, has_doubled = 0, 1, False
    problem, fault = Problem.NONE, i
    while True:
        start = i
        if dialect.quotes and data[i] == DOUBLE_QUOTE:
            i += 1
            begin = i
            while True:
                i = find_either(data, i, DOUBLE_QUOTE, NEWLINE)
                if data[i] == NEWLINE:
                    i += 1
                    n_lines += 1
                    if i >= end:
                        return Split(column, i, n_lines, has_doubled, Problem.OPEN_QUOTE, start)
                    if data[i] == INVALID:
                        return Split(column, i, n_lines, has_doubled, Problem.NOT_UTF8, i)
                elif data[i + 1] == DOUBLE_QUOTE:
                    has_doubled = True
                    i += 2
                else:
                    break
            field_end = i
            after_quote = i + 1
            i = find_either(data, after_quote, delimiter, NEWLINE)
            at_line_end = data[i] == NEWLINE and data[after_quote] == RETURN
            if i > after_quote + at_line_end and problem == Problem.NONE:
                problem, fault = Problem.AFTER_QUOTE, after_quote
        else:
            begin = i
            i = find_either(data, i, delimiter, NEWLINE)
            field_end = i - (data[i] == NEWLINE and i > begin and data[i - 1] == RETURN)
        if column < size:
            bounds.starts[column] = start
            bounds.begins[column] = begin
            bounds.ends[column] = field_end
        column += 1
        if data[i] == NEWLINE:
            return Split(column, i, n_lines, has_doubled, problem, fault)
        i += 1


@compiled
def split_one_row(data: Any, i: int, end: int, dialect: Dialect, bounds: Bounds) -> Split:
    """Find the fields of a row; `split_row` for callers that are not compiled."""
    return split_row(data, i, end, dialect, bounds)


@helper
def undouble_quotes(data: Any, bounds: Bounds, n_fields: int, to: Any) -> None:
    """Write the fields without the doubling of quotes, each with a newline behind it."""
    at = 0
    for column in range(n_fields):
        begin, end = bounds.begins[column], bounds.ends[column]
        is_quoted = begin > bounds.starts[column]
        bounds.begins[column] = at
        i = begin
        while i < end:
            to[at] = data[i]
            at += 1
            i += 2 if is_quoted and data[i] == DOUBLE_QUOTE else 1
        bounds.ends[column] = at
        to[at] = NEWLINE
        at += 1


@helper
def line_of(data: Any, begin: int, line: int, position: int) -> int:
    """The line of a position in a row."""
    for i in range(begin, position):
        line += data[i] == NEWLINE
    return line


@helper
def trimmed(text: Any, begin: int, end: int) -> tuple[int, int]:
    """The range without blanks around it."""
    while begin < end and (text[begin] == SPACE or text[begin] == TAB):
        begin += 1
    while begin < end and (text[end - 1] == SPACE or text[end - 1] == TAB):
        end -= 1
    return begin, end


@helper
def says_missing(text: Any, begin: int, end: int) -> bool:
    """Whether a field is a word for a number that is missing."""
    if end - begin > _LONGEST_MISSING:
        return False
    code = 0
    for i in range(begin, end):
        byte = int(text[i])
        is_capital = 65 <= byte <= 90
        code = code << 8 | (byte | 32 if is_capital else byte)
    return code in _MISSING_CODES


@compiled
def parse_csv(
    data: Any,
    end: int,
    start: Parsed,
    buffer: BatchBuffer,
    dialect: Dialect,
    table: Table,
    label_words: Names,
    bounds: Bounds,
    tables: WordTables,
    words: WordsSoFar,
    undoubled: NDArray[np.uint8],
    undoubled_to_read: NDArray[np.uint8],
) -> Parsed:
    """Parse whole lines up to `end`, from where `start` has come to, into the buffer.

    Stops at the first fault; the row with the fault leaves no trace. `undoubled` is for fields with
    doubled quotes; it comes once to be written to, and once of the same type as the data, so that
    what comes after is compiled once.
    """
    row, entry, i, line = start.n_rows, start.n_entries, start.position, start.line
    keys, values, groups, names = buffer.keys, buffer.values, buffer.groups, buffer.names
    roles, seeds, name_ends = table.roles, table.seeds, table.name_ends
    n_columns, has_groups = len(roles), len(groups) > 0
    starts, begins, ends = bounds.starts, bounds.begins, bounds.ends
    while i < end:
        if data[i] == NEWLINE or (data[i] == RETURN and data[i + 1] == NEWLINE):
            i += 1 + (data[i] == RETURN)
            line += 1
            continue
        if data[i] == INVALID:
            return Parsed(row, buffer.indptr[row], i, line, Problem.NOT_UTF8)
        split = split_row(data, i, end, dialect, bounds)
        problem, fault, text = split.problem, split.fault, data
        if problem == Problem.NONE:
            if split.n_fields < n_columns:
                problem, fault = Problem.TOO_FEW_FIELDS, split.row_end
            elif split.n_fields > n_columns:
                problem, fault = Problem.TOO_MANY_FIELDS, starts[n_columns]
            elif split.has_doubled:
                undouble_quotes(data, bounds, n_columns, undoubled)
                text = undoubled_to_read

        label, importance = np.nan, 1.0
        label_begin, label_end = 0, 0  # where a label that is a word is
        column = 0
        while column < n_columns and problem == Problem.NONE:
            role, begin, field_end = roles[column], begins[column], ends[column]
            seed, key, value = seeds[column], table.keys[column], 1.0
            fault = starts[column]
            column += 1
            if role >= NUMERIC:
                begin, field_end = trimmed(text, begin, field_end)
                value, after = parse_number(text, begin)
                value = value if after == field_end else np.nan
            elif role == CATEGORICAL:
                key = xxh64(text, begin, field_end, seed)

            if role == IGNORED:
                continue
            if role in (LABEL_NUMBER, LABEL_WORD):
                if begin == field_end:
                    problem = Problem.NO_LABEL if table.label_needed else Problem.NONE
                elif role == LABEL_NUMBER:
                    label = value
                    if math.isnan(label) and table.label_needed:
                        problem = Problem.LABEL
                else:
                    label_begin, label_end = begin, field_end
            elif role == WEIGHT:
                importance = value
                if not importance >= 0.0:
                    problem = Problem.IMPORTANCE
            elif begin == field_end:
                continue
            elif role == TEXT:
                entry = add_words(
                    buffer, entry, tables, words, text, begin, field_end,
                    seed, (table.names, name_ends[column - 1], name_ends[column]),
                )  # fmt: skip
                if entry < 0:
                    problem = problem_of(entry)
            elif math.isnan(value):
                if not says_missing(text, begin, field_end):
                    problem = Problem.NUMBER
            else:
                keys[entry] = key
                values[entry] = value
                if has_groups:
                    groups[entry] = seed
                if role == NUMERIC:
                    begin = field_end  # the name is that of the column
                if wants_name(names, key) and not note_name(
                    names, key, table.names, name_ends[column - 1], name_ends[column],
                    EQUALS, text, begin, field_end,
                ):  # fmt: skip
                    problem = Problem.NAMES_FULL
                entry += 1

        if problem == Problem.NONE and label_end > label_begin:
            number = number_of_label(label_words, text, label_begin, label_end, table.label_needed)
            if number != ABSENT:
                label = float(number)
            elif table.label_needed:
                problem = Problem.NEW_LABEL
        if problem in (Problem.OPEN_QUOTE, Problem.NEW_LABEL, Problem.NAMES_FULL):
            return Parsed(row, buffer.indptr[row], i, line, problem)
        if problem != Problem.NONE:
            fault_line = line_of(data, i, line, fault)
            return Parsed(row, buffer.indptr[row], fault, fault_line, problem)
        row = end_row(buffer, row, entry, label, importance, line)
        i = split.row_end + 1
        line += split.n_lines
    return Parsed(row, entry, i, line, Problem.NONE)
