"""Checks that n-grams are asked of columns or formats that have words."""

from rarefy.checks import nearest
from rarefy.errors import InputError
from rarefy.readers.features.columns import Columns, listed_columns
from rarefy.readers.features.grams import ALL, OF_NAMESPACES, grams_of


def check_texts(file: str, columns: Columns) -> None:
    """Refuse names of what is no text column."""
    texts = columns.text
    for option in ("ngram", "skips"):
        for name, number in getattr(columns, option):
            if (name == ALL and texts) or name in texts:
                continue
            there_is = "no text column" if name == ALL else f"no text column {name!r}"
            raise InputError(
                f"{file}: {option}={_shown(name, number)} (--{option}): there is {there_is}"
                f"{nearest(name, texts)}; {_listed_texts(texts)}."
            )


def check_format_has_grams(file: str, format: str, columns: Columns) -> None:
    """Refuse n-grams of indices, and skips alone where names are by themselves by default."""
    for option in ("ngram", "skips"):
        if getattr(columns, option) and format == "svmlight":
            raise InputError(f"{file}: svmlight has no words, and so no {option} (--{option}).")
    has_skips = any(number for _, number in columns.skips)
    if has_skips and len(grams_of(columns.ngram, columns.skips, OF_NAMESPACES).sizes) == 0:
        raise InputError(
            f"{file}: skips (--skips) has no meaning for VW's text without ngram (--ngram), which "
            f"is 1 there by default."
        )


def _listed_texts(texts: tuple[str, ...]) -> str:
    if not texts:
        return "text=[...] (--text) names text columns"
    return f"text columns (--text) are {listed_columns(texts)}"


def _shown(name: str, number: int) -> str:
    return str(number) if name == ALL else f"{name}={number}"
