"""The roles of named columns, as given by the user."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from rarefy.checks import check_flag, is_text, nearest
from rarefy.errors import ConfigError, InputError, RarefyWarning
from rarefy.readers.features.grams import Sizes, check_grams, checked_sizes

FLAGS = ("header", "quotes", "label_needed", "complete", "named")
KINDS = ("text", "categorical", "numeric", "ignore")
DELIMITERS = ",;\t|"  # of CSV, unless another is given
SHOWN_COLUMNS = 50
SHOWN_NAME = 30  # characters
NO_HEADER = " If the file has no header, use header=False (--no-header)."
ADD_HEADER = " If the file has no header, add a line with the names."
SAME_COLUMNS = " All data for a model need the same columns, under the same names."


class Columns(NamedTuple):
    """Which column is what; the kind of any other is inferred from its values."""

    label: str = "label"
    weight: str | None = None  # the importance of a row
    text: tuple[str, ...] = ()  # cut into words and word pairs
    categorical: tuple[str, ...] = ()  # each value is a feature
    numeric: tuple[str, ...] = ()  # the number is the value of the feature
    ignore: tuple[str, ...] = ()
    delimiter: str | None = None  # of CSV; None: inferred from the first line
    header: bool = True  # whether the first line of a CSV file names the columns
    quotes: bool = True  # whether fields of a CSV file may be quoted
    label_needed: bool = True  # whether a row without a label, or a named weight, is wrong
    complete: bool = False  # whether all columns are named, and any other is wrong
    named: bool = False  # whether rows were found to have named columns at all
    forms: tuple[tuple[str, str], ...] = ()  # of values that are not text: see value_texts.py
    ngram: Sizes = ()  # of texts and namespaces: see grams.py
    skips: Sizes = ()

    @property
    def weight_needed(self) -> bool:
        """Whether every row must have an importance; where labels do not count, it does not."""
        return self.weight is not None and self.label_needed

    @property
    def kinds(self) -> dict[str, str]:
        """What each column is that something is said of, but for label and weight."""
        return {name: kind for kind in KINDS for name in getattr(self, kind)}


def columns_given(**given: Any) -> Columns:
    """Columns as users, or files, say them, all checked."""
    return checked_columns(Columns(**given))


def checked_columns(columns: Columns) -> Columns:
    """Columns with lists as tuples; a column that is said to be two things is refused."""
    for flag in FLAGS:
        check_flag(flag, getattr(columns, flag))
    lists: dict[str, Any] = {kind: _checked_names(kind, getattr(columns, kind)) for kind in KINDS}
    _check_name("label", columns.label)
    roles: dict[str, str] = {columns.label: "label"}
    if columns.weight is not None:
        _check_name("weight", columns.weight)
        if columns.weight == columns.label:
            raise ConfigError(f"the column {columns.label!r} is given as both label and weight.")
        roles[columns.weight] = "weight"
    for kind, names in lists.items():
        for name in names:
            if roles.setdefault(name, kind) != kind:
                both = f"{roles[name]} and {kind}"
                raise ConfigError(f"the column {name!r} is given as both {both}.")
    delimiter = columns.delimiter
    if delimiter is not None and (
        len(delimiter) != 1
        or not delimiter.isascii()
        or delimiter.isalnum()
        or delimiter in '"+-.\r\n'
    ):
        raise ConfigError(
            f"delimiter={delimiter!r}: a single character is expected that is not a quote and not "
            f"part of a number or a word."
        )
    forms = tuple((str(name), str(form)) for name, form in columns.forms)
    ngram = checked_sizes("ngram", columns.ngram, 1)
    skips = checked_sizes("skips", columns.skips, 0)
    check_grams(ngram, skips)
    return columns._replace(forms=forms, ngram=ngram, skips=skips, **lists)


def _checked_names(kind: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ConfigError(f"{kind}={names!r}: a list of column names is expected.")
    found = tuple(names)
    for name in found:
        _check_name(kind, name)
    return found


def _check_name(role: str, name: Any) -> None:
    if not is_text(name):
        raise ConfigError(f"{role}={name!r}: the name of a column, in UTF-8, is expected.")


def roles_in(
    file: str, names: Sequence[str], columns: Columns, *, by_model: bool = False
) -> dict[str, str]:
    """What the columns of a file are, as far as that is said; what does not fit is refused.

    Label and weight are there to learn from, and may be absent otherwise.
    """
    there_are = f"the columns are {listed_columns(names)}"
    no_header = _about_header(columns, by_model=by_model)
    name, n_times = Counter(names).most_common(1)[0]
    if n_times > 1:
        raise InputError(
            f"{file}: {n_times} columns are called {name!r}; {there_are}. Rename them.{no_header}"
        )
    columns = without_globs(columns, names)
    roles = columns.kinds
    if columns.weight is not None:
        roles[columns.weight] = "weight"
    there = set(names)
    for name, role in roles.items():
        if name not in there and not may_be_absent(role, columns):
            is_in_doubt = columns.label_needed and columns.label not in there
            is_in_doubt = is_in_doubt or name.isdecimal() or no_header == ADD_HEADER
            advice = no_header if is_in_doubt else ""
            raise missing_column(file, name, role, names, columns, advice)
    if columns.label_needed and columns.label not in there:
        raise InputError(
            f"{file}: there is no column {columns.label!r} for the label"
            f"{nearest(columns.label, names)}; {there_are}. Name the label column with label=... "
            f"(--label).{_about_delimiter(names, columns) or no_header}"
        )
    roles[columns.label] = "label"
    if columns.complete:
        unknown = [name for name in names if name not in roles]
        pass_over(file, unknown, columns)
        roles |= dict.fromkeys(unknown, "ignore")
    return {name: roles[name] for name in names if name in roles}


def _about_header(columns: Columns, *, by_model: bool) -> str:
    """What to say if the first line may not be a header."""
    if not columns.header:
        return ""
    return ADD_HEADER if columns.complete or by_model else NO_HEADER


def _about_delimiter(names: Sequence[str], columns: Columns) -> str:
    """What to say if the header was not split because the delimiter that was given is wrong."""
    is_whole = columns.delimiter is not None and len(names) == 1
    if not is_whole or not any(delimiter in names[0] for delimiter in DELIMITERS):
        return ""
    return f" The header has no {columns.delimiter!r}: leave out delimiter=... (--delimiter)."


def without_globs(columns: Columns, names: Sequence[str]) -> Columns:
    """The columns with every glob replaced by the names that it matches, if there are any.

    What is said of a column by its name holds against a glob.
    """
    if columns.complete:
        return columns
    there, by_name = set(names), {columns.label, columns.weight, *columns.kinds}
    lists: dict[str, Any] = {}
    for kind in KINDS:
        found: list[str] = []
        for given in getattr(columns, kind):
            matches = [] if given in there else _matches(given, names)
            found += [name for name in matches if name not in by_name] if matches else [given]
        lists[kind] = tuple(dict.fromkeys(found))
    return checked_columns(columns._replace(**lists))


def _matches(glob: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if fnmatchcase(name, glob)] if set(glob) & set("*?[") else []


def may_be_absent(role: str, columns: Columns) -> bool:
    """Whether a table may be without the column of a role."""
    if role in ("label", "weight"):
        return not columns.label_needed
    return role == "ignore" and (columns.named or columns.complete)


def missing_column(
    file: str, name: str, role: str, names: Sequence[str], columns: Columns, advice: str = ""
) -> InputError:
    others = [other for other in names if other not in columns.kinds]
    return InputError(
        f"{file}: there is no column {name!r} ({role}){nearest(name, others)}; "
        f"the columns are {listed_columns(names)}.{SAME_COLUMNS if columns.complete else ''}"
        f"{advice}"
    )


def pass_over(file: str, unknown: Sequence[str], columns: Columns) -> None:
    """Warn of columns that were not there before, and are not looked at."""
    if not unknown:
        return
    known = list(columns.kinds)
    shown = [f"{name!r}{nearest(name, known)}" for name in unknown[:SHOWN_COLUMNS]]
    more = "" if len(unknown) <= SHOWN_COLUMNS else f", ... ({len(unknown)} in all)"
    warnings.warn(
        f"{file}: new columns are ignored: {', '.join(shown)}{more}; the columns were "
        f"{listed_columns(known)}. Name them in ignore=[...] (--ignore) to silence this warning.",
        RarefyWarning,
        stacklevel=2,
    )


def complete_columns(
    columns: Columns, roles: Mapping[str, str], forms: Mapping[str, str]
) -> Columns:
    """Columns with what each of a file was found to be, and how its values are written."""
    if columns.complete:
        return columns
    lists: dict[str, Any] = {
        kind: tuple(name for name in roles if roles[name] == kind) for kind in KINDS
    }
    return columns._replace(complete=True, named=True, forms=tuple(forms.items()), **lists)


def listed_columns(names: Sequence[str]) -> str:
    printable = [n.encode(errors="backslashreplace").decode() for n in names[:SHOWN_COLUMNS]]
    shown = [n if len(n) <= SHOWN_NAME else f"{n[:SHOWN_NAME]}..." for n in printable]
    listed = ", ".join(shown) or "none"
    return listed if len(names) <= SHOWN_COLUMNS else f"{listed}, ... ({len(names)} in all)"
