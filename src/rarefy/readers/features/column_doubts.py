"""Columns that may have been misread: running text, ids, dates, odd numbers."""

import re
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from rarefy.checks import number_or_none
from rarefy.errors import RarefyWarning

FEWEST_VALUES = 20  # from which anything is concluded
WORDS_OF_TEXT = 3.0  # a value of running text has as many on average
MOSTLY = 0.5
ALMOST_ALL = 0.9
SIGNS_OF_MISSING = 10  # different words among numbers, such as NA and ?, that stand for none
MOST_WARNINGS = 5
SHOWN_TEXT = 40  # characters
SHOWN_COLUMNS = 10
ID_NAME = re.compile(r"(^|[\W_])(?i:id|uuid|guid)$|[a-z]I[dD]$")
DATE = re.compile(r"(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3\d{2,4})([T ].*)?", re.ASCII)
NUMBER_IN_WORDS = re.compile(
    r"[-+]?[$€£¥]?\s?[-+]?(\d{1,3}([,.'\s]\d{3})+([,.]\d+)?|\d+([,.]\d+)?)\s?[%$€£¥]?", re.ASCII
)  # as people write them; not all of them are read
WHOLE = re.compile(r"\s*[-+]?\d+\s*", re.ASCII)


def warn_of_doubts(
    file: str,
    inferred: Mapping[str, str],
    values: Mapping[str, Sequence[str]],
    *,
    by_model: bool = False,
) -> None:
    """Warn of columns whose kind was inferred and whose first values look like something else.

    Users of a trained model cannot say what columns are; they can only write them otherwise.
    """
    found = {name: doubt(name, kind, values[name]) for name, kind in inferred.items()}
    said = {name: text for name, text in found.items() if text}
    if by_model:
        _warn_of_other_format(file, {name: inferred[name] for name in said})
        return
    for text in list(said.values())[:MOST_WARNINGS]:
        warnings.warn(f"{file}: {text}", RarefyWarning, stacklevel=2)
    if len(said) > MOST_WARNINGS:
        more = f"{len(said) - MOST_WARNINGS} more columns may be misread."
        warnings.warn(f"{file}: {more}", RarefyWarning, stacklevel=2)


def _warn_of_other_format(file: str, doubtful: Mapping[str, str]) -> None:
    if not doubtful:
        return
    taken = [f"{name!r} is {kind}" for name, kind in doubtful.items()]
    more = "" if len(taken) <= SHOWN_COLUMNS else f", ... ({len(taken)} in all)"
    warnings.warn(
        f"{file}: the model was not trained on a table, so the kinds of columns are inferred: "
        f"{', '.join(taken[:SHOWN_COLUMNS])}{more}. If that is wrong, write the data in the format "
        f"of the training data.",
        RarefyWarning,
        stacklevel=2,
    )


def doubt(name: str, kind: str, values: Sequence[str]) -> str:
    """What a column looks like, and what to do about it; empty if it looks like its kind."""
    there = [value for value in values if value.strip()]
    if len(there) < FEWEST_VALUES:
        return ""
    return next(_doubts(name, kind, there), "")


def _doubts(name: str, kind: str, values: Sequence[str]) -> Iterator[str]:
    share = len(set(values)) / len(values)  # of different values
    if kind == "categorical":
        if share > MOSTLY and _mean_words(values) >= WORDS_OF_TEXT:
            yield (
                f"the column {name!r} looks like running text, as in {_shown(values[0])}, but is "
                f"read as categorical: each whole text is one feature. Use "
                f"{option('text', name)} to split it into words, or "
                f"{option('categorical', name)} if this is intended."
            )
        if _share_of(DATE, values) > ALMOST_ALL:
            yield (
                f"the column {name!r} looks like dates, as in {_shown(values[0])}, but is read as "
                f"categorical: a date that is not in these data tells the model nothing. Use "
                f"{option('ignore', name)} to leave it out, or put month, weekday or hour into "
                f"columns; {option('categorical', name)} if this is intended."
            )
        words = [value for value in values if number_or_none(value.strip()) is None]
        most_words = MOSTLY if len(set(words)) <= SIGNS_OF_MISSING else 1.0 - ALMOST_ALL
        if words and len(words) < most_words * len(values):
            yield (
                f"the column {name!r} is read as categorical because of values such as "
                f"{_shown(words[0])}, but looks numeric. Leave missing numbers empty, or "
                f"use {option('categorical', name)} if each number is a category."
            )
        if _share_of(NUMBER_IN_WORDS, values) > ALMOST_ALL:
            yield (
                f"the column {name!r} looks like numbers, as in {_shown(values[0])}, but is read "
                f"as categorical: write numbers as in 1234.5, without signs for thousands, "
                f"percent or currency, or use {option('categorical', name)} if each is a "
                f"category."
            )
        if share > ALMOST_ALL:
            yield (
                f"the column {name!r} looks like ids: {len(set(values)):,} of the first "
                f"{len(values):,} values are unique, so nothing can be learned from it. Use "
                f"{option('ignore', name)} to leave it out, or {option('categorical', name)} if "
                f"its values do repeat."
            )
    elif all(map(WHOLE.fullmatch, values)):
        has_id_name = ID_NAME.search(name) is not None
        if share == 1.0 and (has_id_name or _is_rising(values)):
            yield (
                f"the column {name!r} looks like ids or row numbers, but is read as numeric. "
                f"Use {option('ignore', name)} to leave it out, or {option('numeric', name)} if "
                f"its size matters."
            )
        if has_id_name:
            yield (
                f"the column {name!r} looks like ids, but is read as numeric, a single feature. "
                f"Use {option('categorical', name)} for one feature per id, or "
                f"{option('numeric', name)} if its size matters."
            )


def option(kind: str, name: str) -> str:
    """How to say what a column is."""
    return f"--{kind} {shlex.quote(name)} ({kind}=[{name!r}])"


def _share_of(pattern: re.Pattern[str], values: Sequence[str]) -> float:
    return sum(pattern.fullmatch(value.strip()) is not None for value in values) / len(values)


def _shown(value: str) -> str:
    return repr(value if len(value) <= SHOWN_TEXT else f"{value[:SHOWN_TEXT]}...")


def _mean_words(values: Sequence[str]) -> float:
    return sum(len(value.split()) for value in values) / len(values)


def _is_rising(values: Sequence[str]) -> bool:
    return all(int(before) < int(after) for before, after in pairwise(values))
