"""The text formats once more: slow parsers, written from the description of the formats alone.

Every parser takes one line (bytes, without its newline) and gives a row, None for a line without
one, or raises BadLineError.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xxhash

BLANKS = b" \t\r"
NUMBER = re.compile(rb"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
INDEX = re.compile(rb"[0-9]{1,19}")


class BadLineError(Exception):
    """A line that is not in the format."""


class Row(NamedTuple):
    label: float
    importance: float
    keys: list[int]
    values: list[float]


class Text(NamedTuple):
    """What a file means: its rows, their lines, and the lines that mean nothing."""

    rows: list[Row]
    lines: list[int]
    bad_lines: list[int]


def number(token: bytes) -> float:
    if not NUMBER.fullmatch(token):
        raise BadLineError(f"{token!r} is no number")
    value = float(token)
    if math.isinf(value):
        raise BadLineError(f"{token!r} is too large")
    return value


def index(token: bytes) -> int:
    if not INDEX.fullmatch(token):
        raise BadLineError(f"{token!r} is no index")
    return int(token)


def svmlight_row(line: bytes) -> Row | None:
    """`label [qid:n] index:value ... [# comment]`."""
    parts = split_at_blanks(line.partition(b"#")[0])
    if not parts:
        return None
    label, *features = parts
    if features and features[0].startswith(b"qid:"):
        index(features.pop(0)[len(b"qid:") :])
    row = Row(number(label), 1.0, [], [])
    for feature in features:
        key, colon, value = feature.partition(b":")
        if not colon:
            raise BadLineError(f"{feature!r} has no value")
        row.keys.append(index(key))
        row.values.append(number(value))
    return row


def vw_row(line: bytes) -> Row | None:
    """`[label [importance]] ['tag] |namespace[:weight] name[:value] ... |...`."""
    if not split_at_blanks(line):
        return None
    head, bar, body = line.partition(b"|")
    if not bar:
        raise BadLineError("there is no bar")
    numbers = split_at_blanks(head)
    touches_the_bar = head.rstrip(BLANKS) == head
    if numbers and (touches_the_bar or numbers[-1].startswith(b"'")):
        numbers.pop()
    if len(numbers) > 2:
        raise BadLineError("too much before the bar")
    label = number(numbers[0]) if numbers else math.nan
    importance = number(numbers[1]) if len(numbers) == 2 else 1.0
    if importance < 0:
        raise BadLineError("negative importance")
    row = Row(label, importance, [], [])
    for section in body.split(b"|"):
        add_section(row, section)
    return row


def add_section(row: Row, section: bytes) -> None:
    """The features of one namespace, whose name touches the bar, if there is one."""
    features = split_at_blanks(section)
    namespace, weight = b"", 1.0
    if section and section[:1] not in (b" ", b"\t", b"\r"):
        namespace, colon, written = features.pop(0).partition(b":")
        weight = number(written) if colon else 1.0
    for feature in features:
        name, colon, written = feature.partition(b":")
        value = (number(written) if colon else 1.0) * weight
        if math.isinf(value):
            raise BadLineError("the product is too large")
        row.keys.append(vw_key(namespace, name))
        row.values.append(value)


def vw_key(namespace: bytes, name: bytes) -> int:
    if not namespace and INDEX.fullmatch(name):
        return int(name)
    seed = xxhash.xxh64_intdigest(namespace, 0) if namespace else 0
    return xxhash.xxh64_intdigest(name, seed)


def split_at_blanks(text: bytes) -> list[bytes]:
    """Only space, tab and carriage return are blanks; bytes.split() knows more."""
    return [part for part in re.split(rb"[ \t\r]+", text) if part]


ROW_PARSERS: dict[str, Callable[[bytes], Row | None]] = {"svmlight": svmlight_row, "vw": vw_row}


def parse(text: bytes, format: str) -> Text:
    """A whole file."""
    found = Text([], [], [])
    for number_of_line, line in enumerate(text.split(b"\n"), start=1):
        try:
            line.decode("utf-8")
            row = ROW_PARSERS[format](line)
        except (BadLineError, UnicodeDecodeError):
            found.bad_lines.append(number_of_line)
            continue
        if row is not None:
            found.rows.append(row)
            found.lines.append(number_of_line)
    return found


def same_bits(ours: np.ndarray, theirs: list[float]) -> bool:
    """Equal to the last bit, the sign of zero included; any NaN equals any other."""
    expected = np.array(theirs, dtype=np.float64)
    if ours.shape != expected.shape or not np.array_equal(np.isnan(ours), np.isnan(expected)):
        return False
    known = ~np.isnan(expected)
    return np.array_equal(ours[known].view(np.uint64), expected[known].view(np.uint64))
