"""What the user says about named columns: for CSV, JSON lines, Parquet and Arrow."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rarefy.errors import ConfigError


class Columns(NamedTuple):
    """Which column is what; a column that is named nowhere is told from what it contains."""

    label: str = "label"
    weight: str | None = None  # the importance of a row
    text: tuple[str, ...] = ()  # cut into words and word pairs
    categorical: tuple[str, ...] = ()  # each value is a feature
    numeric: tuple[str, ...] = ()  # the number is the value of the feature
    ignore: tuple[str, ...] = ()
    delimiter: str | None = None  # of CSV; None: told from the first line
    header: bool = True  # whether the first line of a CSV file names the columns
    quotes: bool = True  # whether fields of a CSV file may be quoted
    label_needed: bool = True  # whether a file without the column of the label is wrong


def checked_columns(columns: Columns) -> Columns:
    """The same, with lists as tuples; a column that is said to be two things is refused."""
    kinds = ("text", "categorical", "numeric", "ignore")
    lists: dict[str, Any] = {kind: _names(kind, getattr(columns, kind)) for kind in kinds}
    roles: dict[str, str] = {columns.label: "label"}
    if columns.weight is not None:
        if columns.weight == columns.label:
            raise ConfigError(f"the column {columns.label!r} is said to be both label and weight.")
        roles[columns.weight] = "weight"
    for kind, names in lists.items():
        for name in names:
            if roles.setdefault(name, kind) != kind:
                raise ConfigError(
                    f"the column {name!r} is said to be both {roles[name]} and {kind}."
                )
    delimiter = columns.delimiter
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'
    ):
        raise ConfigError(f"delimiter={delimiter!r}: one character, and not a quote, is expected.")
    return columns._replace(**lists)


def _names(kind: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ConfigError(f"{kind}={names!r}: a list of column names is expected.")
    return tuple(names)
