"""Writes src/rarefy/readers/features/unicode.txt from the Unicode data of the Python that runs it.

The package ships the table so that a text has the same words whatever Python reads it. Another
table makes other words: write one only along with a new version of the models.
"""

import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

TABLE = Path(__file__).parents[1] / "src/rarefy/readers/features/unicode.txt"
CODES = range(sys.maxunicode + 1)

# Letters that are written without spaces between words: of the scripts Han, Hiragana and Katakana.
ALONE_NAMES = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "HIRAGANA",
    "HENTAIGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "HANGZHOU NUMERAL",
    "IDEOGRAPHIC ITERATION MARK",
    "IDEOGRAPHIC NUMBER ZERO",
    "VERTICAL IDEOGRAPHIC ITERATION MARK",
)

HEADER = """\
# Characters of words, Unicode {version}; made by tools/make_unicode_table.py.
# `word first last`: characters that words are made of. `alone first last`: each is a word.
# `fold first last to`: the first is written as `to`, the next one as `to` + 1, and so on.
# All numbers are hexadecimal code points; both ends of a range belong to it.
"""


def kind(code: int) -> str | None:
    character = chr(code)
    if unicodedata.category(character)[0] not in "LMN":
        return None
    return "alone" if unicodedata.name(character, "").startswith(ALONE_NAMES) else "word"


def fold(code: int) -> int:
    """Simple case folding: one character for one character."""
    character = chr(code)
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return ord(folded)
    return code


def ranges(value: Callable[[int], object]) -> Iterator[tuple[int, int, object]]:
    """First, last and value of each range of codes that have the same value."""
    first = 0
    for code in CODES[1:]:
        if value(code) != value(first):
            yield first, code - 1, value(first)
            first = code
    yield first, CODES[-1], value(first)


def lines() -> Iterator[str]:
    for first, last, word in ranges(kind):
        if word is not None:
            yield f"{word} {first:04X} {last:04X}\n"
    for first, last, distance in ranges(lambda code: fold(code) - code if kind(code) else 0):
        if distance:
            yield f"fold {first:04X} {last:04X} {first + distance:04X}\n"


if __name__ == "__main__":
    header = HEADER.format(version=unicodedata.unidata_version)
    TABLE.write_text(header + "".join(lines()), encoding="ascii", newline="\n")
