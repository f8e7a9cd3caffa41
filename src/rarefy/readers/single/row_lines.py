"""Rows of Python as the line that means the same in a file.

What a row means follows from what a model has learned from. Of files with named columns (CSV, JSON
lines, Parquet, Arrow), a row is an object of JSON lines; of files without (VW text, svmlight), it
is a line of VW text, in which whole numbers are the indices of svmlight.
"""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from rarefy.checks import choose, is_text
from rarefy.errors import InputError
from rarefy.readers.features.columns import Columns
from rarefy.readers.formats.registry import MOST_RECOGNISED, TEXT_FORMATS, recognise_text
from rarefy.readers.in_memory import NAME, JsonLines

ENDS_NAME = frozenset(" \t\r\n\v\f:|")
ENDS_NAMESPACE = frozenset("|\n\r")


class Line(NamedTuple):
    """The text of a row, ended by a newline, and its format."""

    text: bytes
    format: str


class RowLines:
    """Makes lines of rows for a model that reads such columns."""

    def __init__(self, columns: Columns) -> None:
        self._is_named = columns.named or columns.complete
        self._text_column = columns.text[0] if len(columns.text) == 1 else None
        self._json = JsonLines(columns)

    def line(self, x: Any, number: int = 1, format: str | None = None) -> Line:
        """The line of a row, which messages call by its number."""
        if isinstance(x, str | bytes):
            return self._of_text(x, number, format)
        if format is not None:
            raise InputError(
                f"{NAME}:{number}: format={format!r} is for lines of text, not for "
                f"{type(x).__name__}."
            )
        if not isinstance(x, Mapping) and not _are_pairs(x):
            raise InputError(
                f"{NAME}:{number}: a dict, a list of (name, value), a text or a line is expected, "
                f"not {type(x).__name__}."
            )
        if not self._is_named:
            return Line(_vw_line(x.items() if isinstance(x, Mapping) else x, number), "vw")
        try:
            as_line = self._json.line if isinstance(x, Mapping) else self._json.line_of_pairs
            return Line(as_line(x, number), "json")
        except RecursionError:
            raise InputError(
                f"{NAME}:{number}: a row that is nested less deeply is expected."
            ) from None

    def _of_text(self, x: str | bytes, number: int, format: str | None) -> Line:
        if isinstance(x, bytes):
            try:
                x = x.decode()
            except UnicodeDecodeError as error:
                raise InputError(f"{NAME}:{number}: text in UTF-8 is expected: {error}.") from error
        if not is_text(x):
            raise InputError(f"{NAME}:{number}: text in UTF-8 is expected, not {x!a}.")
        if format is None and self._text_column is not None:
            return Line(self._json.line({self._text_column: x}, number), "json")
        text = x.encode()
        text = text if text.endswith(b"\n") else text + b"\n"
        if format is None:
            format = recognise_text(NAME, text[:MOST_RECOGNISED])
        return Line(text, choose_line_format(format))


def choose_line_format(format: str) -> str:
    """The format, if it is one whose rows are text."""
    choose("format", format, TEXT_FORMATS)
    return format


# --- lines of VW text ----------------------------------------------------------------------


def _are_pairs(x: Any) -> bool:
    if not isinstance(x, list | tuple):
        return False
    return all(isinstance(p, list | tuple) and len(p) == 2 and isinstance(p[0], str) for p in x)


def _vw_line(pairs: Iterable[tuple[Any, Any]], number: int) -> bytes:
    """A number is a feature without a namespace; all else is what stands in a namespace."""
    plain: list[str] = []
    spaces: list[str] = []
    for name, value in pairs:
        where = f"{NAME}:{number}: the value of {name!r}"
        if value is None:
            continue
        if _is_number(value):
            plain.append(_feature(name, value, where))
            continue
        space = _checked(name, ENDS_NAME, where)
        if isinstance(value, str):
            spaces.append(f"|{space} {_checked(value, ENDS_NAMESPACE, where)}")
        elif isinstance(value, Mapping):
            features = [_feature(inner, x, where) for inner, x in value.items() if x is not None]
            spaces.append(f"|{space} {' '.join(features)}")
        elif isinstance(value, list | tuple):
            names = [_checked(inner, ENDS_NAME, where) for inner in value]
            spaces.append(f"|{space} {' '.join(names)}")
        else:
            raise InputError(
                f"{where} is a {type(value).__name__}; a number, a text, a list of texts, or a "
                f"dict of numbers is expected."
            )
    without = [f"| {' '.join(plain)}"] if plain or not spaces else []
    return f"{' '.join([*without, *spaces])}\n".encode()


def _feature(name: Any, value: Any, where: str) -> str:
    if not _is_number(value):
        raise InputError(f"{where} is {value!r} for {name!r}; a number is expected.")
    found = float(value)
    if not np.isfinite(found):
        raise InputError(f"{where} is {value!r}; a finite number is expected.")
    return f"{_checked(str(name), ENDS_NAME, where)}:{found!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.bool_)


def _checked(text: Any, ends: frozenset[str], where: str) -> str:
    """A text that stays in one piece in a line."""
    if not isinstance(text, str | int) or not is_text(str(text)) or not ends.isdisjoint(str(text)):
        what = "blanks, ':' or '|'" if ends is ENDS_NAME else "'|' or newlines"
        raise InputError(f"{where}: {text!r} cannot stand in a line: texts without {what} can.")
    return str(text)
