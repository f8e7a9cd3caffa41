"""The result of a parser: how far it came, and the error where it stopped."""

from enum import IntEnum
from typing import NamedTuple


class Problem(IntEnum):
    """Why a parser stopped before the end."""

    NONE = 0
    LABEL = 1
    IMPORTANCE = 2
    BEFORE_BAR = 3
    INDEX = 4
    COLON = 5
    VALUE = 6
    NAMESPACE_VALUE = 7
    AFTER_FEATURE = 8
    NOT_UTF8 = 9
    TOO_FEW_FIELDS = 10
    TOO_MANY_FIELDS = 11
    AFTER_QUOTE = 12
    OPEN_QUOTE = 13  # a fault in the last block; in others, the row goes on in the next one
    NUMBER = 14
    JSON = 15
    NO_LABEL = 16
    TOO_DEEP = 17
    TOO_MANY_GRAMS = 18
    MEMBER = 30
    AFTER_NAME = 31
    JSON_VALUE = 32
    COMMA = 33
    STRING = 34
    ESCAPE = 35
    SURROGATE = 36
    REST_OF_OBJECT = 37
    AFTER_OBJECT = 38
    # not faults: the reader does what is needed, and parsing goes on
    NEW_LABEL = 100  # the position is that of a label, in text, that was not known so far
    NAMES_FULL = 101  # the names do not fit; the position is that of the row


EXPECTED = {
    Problem.LABEL: "a number as the label",
    Problem.IMPORTANCE: "a number >= 0 as the importance",
    Problem.BEFORE_BAR: "at most label, importance and tag, and then '|'",
    Problem.INDEX: "the index of a feature, a whole number",
    Problem.COLON: "':' and a value after the index",
    Problem.VALUE: "a finite number as the value",
    Problem.NAMESPACE_VALUE: "a finite number as the weight of the namespace",
    Problem.AFTER_FEATURE: "a space after the feature",
    Problem.NOT_UTF8: "text in UTF-8",
    Problem.AFTER_QUOTE: "the end of the field after the closing quote",
    Problem.NUMBER: "a number (or nothing) in this column",
    Problem.JSON: "a JSON object on a line of its own",
    Problem.NO_LABEL: "a label",
    Problem.TOO_MANY_GRAMS: "a text with fewer n-grams (16,777,216 at most)",
    Problem.TOO_DEEP: "JSON that is nested less deeply",
    Problem.MEMBER: "a member, that is, a name in double quotes, ':' and a value,",
    Problem.AFTER_NAME: "':' after the name",
    Problem.JSON_VALUE: "a value (string, finite number, object, array, true, false or null)",
    Problem.COMMA: "',' or the end of the object or array",
    Problem.STRING: "an escape, as in \\t or \\u0000, for a control character",
    Problem.ESCAPE: "a valid escape, as in \\n, \\\\ or \\u00e9,",
    Problem.SURROGATE: "a whole character, that is, both \\u of a surrogate pair,",
    Problem.REST_OF_OBJECT: "the rest of the object, on the same line,",
    Problem.AFTER_OBJECT: "the end of the line after the object",
}
FAULTS = {  # where what is expected would say less
    Problem.TOO_FEW_FIELDS: "this row has fewer fields than there are columns",
    Problem.TOO_MANY_FIELDS: "this row has more fields than there are columns",
    Problem.OPEN_QUOTE: "a quote in this row is never closed",
}
NO_QUOTES = "If quotes are ordinary characters in this file, use quotes=False (--no-quotes)."
REMEDIES = {
    Problem.AFTER_QUOTE: NO_QUOTES,
    Problem.OPEN_QUOTE: NO_QUOTES,
    Problem.NUMBER: "Leave missing numbers out; if the column holds words, name it in "
    "categorical=[...] (--categorical).",
    Problem.TOO_MANY_GRAMS: "A smaller ngram=... (--ngram) or skips=... (--skips) makes fewer.",
}
REMEDIES_FOR_MODELS = {  # which read as they have learned to
    Problem.AFTER_QUOTE: NO_QUOTES,
    Problem.OPEN_QUOTE: NO_QUOTES,
    Problem.NUMBER: "The model was trained on numbers in this column; leave missing ones out.",
}


def what_is_wrong(problem: Problem) -> str:
    """What to say of a fault."""
    return FAULTS.get(problem) or f"{EXPECTED[problem]} is expected"


def remedy(problem: Problem, *, by_model: bool) -> str | None:
    """What to do about it, where that is known."""
    return (REMEDIES_FOR_MODELS if by_model else REMEDIES).get(problem)


class Parsed(NamedTuple):
    """How far a parser came: whole rows and their entries, and why it stopped, if it did."""

    n_rows: int
    n_entries: int
    position: int  # where parsing can go on, or the fault
    line: int  # the line of that position
    problem: int  # a Problem; going on, a plain 0 is faster to hand over than an enumeration
