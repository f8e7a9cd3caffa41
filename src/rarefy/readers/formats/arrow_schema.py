"""Which column of a Parquet or Arrow file is what: from its type, and from what the user says."""

from collections import Counter
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import types

from rarefy.errors import InputError
from rarefy.readers.features.column_doubts import option
from rarefy.readers.features.columns import (
    Columns,
    complete_columns,
    may_be_absent,
    missing_column,
    pass_over,
)
from rarefy.readers.features.value_texts import UNIT_FORMS, zone_form
from rarefy.readers.features.words import WordTables, word_tables

FEATURE_KINDS = ("text", "categorical", "numeric")
LISTS = (
    types.is_list,
    types.is_large_list,
    types.is_fixed_size_list,
    types.is_list_view,
    types.is_large_list_view,
)
NUMBERS = (
    types.is_integer,
    types.is_floating,
    types.is_boolean,
    types.is_decimal,
    types.is_null,
)
TEXTS = (
    types.is_string,
    types.is_large_string,
    types.is_string_view,
    types.is_binary,
    types.is_large_binary,
    types.is_binary_view,
    types.is_fixed_size_binary,
)


class Leaf(NamedTuple):
    """A column, or a field of a struct, that is used."""

    name: str  # `a.b` for the field b of the struct a
    column: str
    fields: tuple[int, ...]  # the way through structs, from the column to the field
    type: Any  # of its values, or of those in its lists
    kind: str
    form: str | None = None  # of values that are not text
    words: WordTables | None = None  # of a text


class Layout(NamedTuple):
    label: Leaf | None
    weight: Leaf | None
    features: list[Leaf]

    @property
    def columns(self) -> list[str]:
        """The columns that have to be read, in their order."""
        return list(dict.fromkeys(leaf.column for leaf in self._leaves))

    @property
    def _leaves(self) -> list[Leaf]:
        leaves = [self.label, self.weight, *self.features]
        return [leaf for leaf in leaves if leaf is not None]

    def roles(self, columns: Columns) -> dict[str, str]:
        """How each column, or field of a struct, is taken."""
        roles = {leaf.name: leaf.kind for leaf in self._leaves}
        return {**roles, **dict.fromkeys(columns.ignore, "ignore")}


def layout(file: str, schema: Any, columns: Columns, *, by_model: bool = False) -> Layout:
    """The leaves that are used; a column that nothing can be made of is an error that names it.

    What is said of a struct holds for all its fields of which nothing else is said.
    """
    said, forms = columns.kinds, dict(columns.forms)
    said[columns.label] = "label"
    if columns.weight is not None:
        said[columns.weight] = "weight"
    names: list[str] = []
    leaves: list[Leaf] = []
    unknown: list[str] = []

    def walk(name: str, column: str, fields: tuple[int, ...], type: Any, kind: str | None) -> None:
        kind = said.get(name, kind)
        if kind == "weight" and not columns.weight_needed:
            kind = "ignore"
        names.append(name)
        type = _stored(type)
        if types.is_struct(type):
            if kind in ("label", "weight"):
                raise InputError(
                    f"{file}: the {kind} {name!r} is a struct; name a field of it, as in "
                    f"'{name}.{type.field(0).name if type.num_fields else 'field'}'."
                )
            for i in range(type.num_fields):
                field = type.field(i)
                walk(f"{name}.{field.name}", column, (*fields, i), field.type, kind)
        elif kind is None and columns.complete:
            unknown.append(name)
        elif kind != "ignore":
            leaf = Leaf(name, column, fields, type, kind or "", forms.get(name))
            found = _leaf(file, leaf, columns, by_model=by_model)
            leaves.extend([found] if found is not None else [])

    for field in schema:
        walk(field.name, field.name, (), field.type, None)
    _check_names(file, names, said, leaves, columns)
    pass_over(file, unknown, columns)
    roles = {leaf.kind: leaf for leaf in leaves}
    return Layout(
        roles.get("label"),
        roles.get("weight"),
        [leaf for leaf in leaves if leaf.kind in FEATURE_KINDS],
    )


def all_names(fields: Any, before: str = "") -> list[str]:
    """The names of columns, and of the fields of structs in them."""
    names = []
    for field in fields:
        names.append(before + field.name)
        if types.is_struct(type := _stored(field.type)):
            inner = [type.field(i) for i in range(type.num_fields)]
            names += all_names(inner, f"{before}{field.name}.")
    return names


def found_columns(plan: Layout, columns: Columns) -> Columns:
    """The columns with what is found of them; one of which all is missing leaves that open."""
    if any(types.is_null(leaf.type) for leaf in plan.features):
        return columns._replace(named=True)
    forms = {
        leaf.name: UNIT_FORMS[leaf.type.unit] + zone_form(leaf.type.tz)
        for leaf in plan.features
        if leaf.kind == "categorical" and types.is_timestamp(leaf.type)
    }
    return complete_columns(columns, plan.roles(columns), forms)


def _leaf(file: str, leaf: Leaf, columns: Columns, *, by_model: bool) -> Leaf | None:
    """The leaf with its kind and the type of its values; None for a label of no use, unneeded."""
    of = leaf.type
    in_list = any(is_list(of) for is_list in LISTS)
    if in_list:
        of = _stored(of.value_type)
    takes_numbers = any(is_kind(of) for is_kind in (*NUMBERS, *TEXTS))
    if leaf.kind in ("label", "weight"):
        if takes_numbers and not in_list:
            return leaf._replace(type=of)
        if leaf.kind == "label" and not columns.label_needed:
            return None
        expected = "numbers or text are" if leaf.kind == "label" else "numbers are"
        raise InputError(
            f"{file}: the {leaf.kind} {leaf.name!r} is {leaf.type}; {expected} expected."
        )
    kind = leaf.kind or default_kind(of)
    if kind is None:
        ignore, categorical = (option(kind, leaf.name) for kind in ("ignore", "categorical"))
        or_categorical = f", or {categorical} to make each value a feature"
        may_be_categorical = _has_text(of) and not by_model
        raise InputError(
            f"{file}: the column {leaf.name!r} is {leaf.type}, which cannot be used as a feature; "
            f"use {ignore} to leave it out{or_categorical if may_be_categorical else ''}."
        )
    if not (takes_numbers if kind == "numeric" else _has_text(of)):
        raise InputError(f"{file}: the column {leaf.name!r} is {leaf.type}, and cannot be {kind}.")
    words = word_tables(columns.ngram, columns.skips) if kind == "text" else None
    return leaf._replace(type=of, kind=kind, words=words)


def default_kind(type: Any) -> str | None:
    """What a column of this type is, if nothing is said of it."""
    if any(is_number(type) for is_number in NUMBERS):
        return "numeric"
    return "categorical" if is_text_type(type) else None


def is_text_type(type: Any) -> bool:
    return any(is_kind(type) for is_kind in TEXTS)


def _stored(type: Any) -> Any:
    """The type of the values themselves, of a dictionary or of a type that extends another."""
    while True:
        if types.is_dictionary(type):
            type = type.value_type
        elif isinstance(type, pa.BaseExtensionType):
            type = type.storage_type
        else:
            return type


def _has_text(type: Any) -> bool:
    """Whether PyArrow can write values of this type as text."""
    try:
        pa.nulls(0, type).cast(pa.large_string())
    except (pa.ArrowException, KeyError):  # KeyError: PyArrow knows the type only by name
        return False
    return not types.is_nested(type)


def _check_names(
    file: str, names: list[str], said: dict[str, str], leaves: list[Leaf], columns: Columns
) -> None:
    """Refuse names that the file does not have, and columns that could not be told apart."""
    for name, kind in said.items():
        if name not in names and not may_be_absent(kind, columns):
            raise missing_column(file, name, kind, names, columns)
    times = Counter(names)
    for leaf in leaves:
        for name in (leaf.column, leaf.name):
            if times[name] > 1:
                raise InputError(f"{file}: there are two columns of the name {name!r}.")
