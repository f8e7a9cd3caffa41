"""The columns of JSON lines, from the first rows of a file."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rarefy.errors import RarefyWarning
from rarefy.readers.features.column_doubts import warn_of_doubts
from rarefy.readers.features.columns import Columns, missing_column, without_globs
from rarefy.readers.line_errors import end_of_line
from rarefy.readers.source import Block
from rarefy.readers.text.scan import skip_empty_lines

ROWS_LOOKED_AT = 1000
BY_VALUE = "numeric or categorical, by the type of each value"


def settled(
    file: str, block: Block, columns: Columns, *, by_model: bool = False
) -> tuple[Columns, dict[str, str]]:
    """The columns without globs, and how those in the first rows are taken.

    What a user says of a column that is not there leads to a warning: it may still come.
    """
    if columns.complete or columns.named:
        return columns._replace(named=True), {}
    values = _values(block)
    columns = without_globs(columns, list(values))
    said = columns.kinds
    if columns.weight is not None:
        said[columns.weight] = "weight"
    if values:
        _warn_of_absent(file, said, values, columns)
    said[columns.label] = "label"
    inferred = {name: _kind(found) for name, found in values.items() if name not in said}
    texts = {name: [str(value) for value in values[name]] for name in inferred}
    warn_of_doubts(file, inferred, texts, by_model=by_model)
    return columns._replace(named=True), {n: said.get(n) or inferred[n] for n in values}


def unknown_in(data: Any, position: int, columns: Columns) -> list[str]:
    """The columns of the row at a position that are not among these."""
    line = data[position : position + data[position:].tobytes().find(b"\n")].tobytes()
    known = {columns.label, columns.weight, *columns.kinds}
    return [
        name
        for name, _ in _leaves(_row(line), "")
        if name not in known and not any(name.startswith(f"{other}.") for other in columns.ignore)
    ]


def _warn_of_absent(
    file: str, said: Mapping[str, str], values: Mapping[str, Sequence[Any]], columns: Columns
) -> None:
    for name, kind in said.items():
        if not any(found == name or found.startswith(f"{name}.") for found in values):
            missing = str(missing_column(file, name, kind, list(values), columns))
            text = f"{missing.removesuffix('.')}, in the first rows."
            warnings.warn(text, RarefyWarning, stacklevel=2)


def _values(block: Block) -> dict[str, list[Any]]:
    """The values of the columns in the first rows, without those that are missing."""
    values: dict[str, list[Any]] = {}
    for row in _rows(block):
        for name, value in _leaves(row, ""):
            values.setdefault(name, []).append(value)
    return values


def _rows(block: Block) -> Iterator[Any]:
    position = block.begin
    for _ in range(ROWS_LOOKED_AT):
        position = skip_empty_lines(block.data, position, block.end)
        if position >= block.end:
            return
        end = end_of_line(block, position)
        yield _row(block.data[position:end].tobytes())
        position = end + 1


def _row(line: bytes) -> Any:
    """The object on a line; nothing where that is wrong, as the parser will say."""
    try:
        return json.loads(line.decode())
    except (ValueError, RecursionError):
        return {}


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The paths and values that are neither objects nor arrays, nor missing, in their order."""
    left = [(path, value)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            members = [(f"{path}.{name}" if path else name, value[name]) for name in value]
            left += reversed(members)
        elif isinstance(value, list):
            left += [(path, element) for element in reversed(value)]
        elif value is not None and value != "" and path:
            yield path, value


def _kind(values: Sequence[Any]) -> str:
    """How the parser takes values of which nothing is said."""
    are_texts = {isinstance(value, str) for value in values}
    if len(are_texts) > 1:
        return BY_VALUE
    return "categorical" if are_texts == {True} else "numeric"
