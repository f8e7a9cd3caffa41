"""The words of a text and their n-grams, compiled; docs/reference/text.md is the rule.

Which characters make words, and how they are folded, stands in a table of the package's own, so
that a text has the same words on every version of Python.
"""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import helper
from rarefy.readers.buffers import BatchBuffer, has_room
from rarefy.readers.features.grams import (
    ENTRIES_FULL,
    NAMES_FULL,
    OF_TEXTS,
    Grams,
    Namespace,
    Sizes,
    WordsSoFar,
    add_gram,
    add_grams,
    grams_of,
    note_gram,
    note_grams,
    patterns_of,
)
from rarefy.readers.text.numbers import SPACE

SEPARATOR, WORD, ALONE = 0, 1, 2
N_CODES = 0x110000
PAGE_BITS = 8


class WordTables(NamedTuple):
    """What each character is, and which n-grams there are of the words.

    The place of a character is in the page of its upper bits. ASCII characters are their own
    places, so that they need not be looked up in two steps.
    """

    pages: NDArray[np.int32]  # upper bits of a code -> where its page begins in the others
    kinds: NDArray[np.uint8]  # by place: SEPARATOR, WORD or ALONE
    folds: NDArray[np.int32]  # by place: how far the folded character is from the character
    grams: Grams


def word_tables(ngram: Sizes = (), skips: Sizes = ()) -> WordTables:
    """The tables that `add_words` takes."""
    return WordTables(*_characters(), grams_of(ngram, skips, OF_TEXTS))


@cache
def _characters() -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int32]]:
    """Pages, kinds and folds of the tables."""
    kinds, folds = np.zeros(N_CODES, np.uint8), np.zeros(N_CODES, np.int32)
    for line in (Path(__file__).parent / "unicode.txt").read_text("ascii").splitlines():
        what, *numbers = line.split()
        if what == "#":
            continue
        first, last, *to = (int(number, 16) for number in numbers)
        if what == "fold":
            folds[first : last + 1] = to[0] - first
        else:
            kinds[first : last + 1] = ALONE if what == "alone" else WORD
    both = np.column_stack([kinds, folds]).reshape(-1, 2 << PAGE_BITS)
    _, used, page = np.unique(both, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(used)  # the first page first
    pages = np.empty(len(order), np.int32)
    pages[order] = np.arange(len(order)) << PAGE_BITS
    chosen = both[used[order]].reshape(-1, 2)
    return pages[page.ravel()], chosen[:, 0].astype(np.uint8), chosen[:, 1].astype(np.int32)


@helper
def decode(data: Any, i: int, end: int) -> tuple[Any, int]:
    """The character at i, which is not ASCII, and the position after it.

    What is no character, or is cut off by the end, is taken for U+0000, a separator.
    """
    lead: Any = np.int64(data[i])
    n_bytes = 2 if lead < 0xE0 else (3 if lead < 0xF0 else 4)
    if lead < 0xC0 or i + n_bytes > end:
        return np.int64(0), i + 1
    code = lead & (0x7F >> n_bytes)
    for k in range(1, n_bytes):
        code = code << 6 | (np.int64(data[i + k]) & 0x3F)
    return (code if code < N_CODES else np.int64(0)), i + n_bytes


@helper
def encode(scratch: Any, to: int, code: Any) -> int:
    """Write a character in UTF-8; the position after it."""
    if code < 0x80:
        scratch[to] = code
        return to + 1
    if code < 0x800:
        scratch[to] = 0xC0 | code >> 6
        scratch[to + 1] = 0x80 | (code & 0x3F)
        return to + 2
    if code < 0x10000:
        scratch[to] = 0xE0 | code >> 12
        scratch[to + 1] = 0x80 | (code >> 6 & 0x3F)
        scratch[to + 2] = 0x80 | (code & 0x3F)
        return to + 3
    scratch[to] = 0xF0 | code >> 18
    scratch[to + 1] = 0x80 | (code >> 12 & 0x3F)
    scratch[to + 2] = 0x80 | (code >> 6 & 0x3F)
    scratch[to + 3] = 0x80 | (code & 0x3F)
    return to + 4


@helper
def next_word(
    tables: WordTables, scratch: Any, to: int, data: Any, i: int, end: int
) -> tuple[int, int]:
    """Write the next word, folded; the positions after it, in the text and in the scratch."""
    begin = to
    while i < end:
        code, after = np.int64(data[i]), i + 1
        place = code
        if code >= 0x80:
            code, after = decode(data, i, end)
            place = tables.pages[code >> PAGE_BITS] | (code & (1 << PAGE_BITS) - 1)
        kind = tables.kinds[place]
        if kind == WORD:
            to = encode(scratch, to, code + tables.folds[place])
        elif to > begin:
            return i, to
        elif kind == ALONE:
            return after, encode(scratch, to, code)
        i = after
    return i, to


@helper
def add_words(
    buffer: BatchBuffer,
    entry: int,
    tables: WordTables,
    words: WordsSoFar,
    data: Any,
    begin: int,
    end: int,
    seed: Any,
    namespace: Namespace,
) -> int:
    """Write the features of a text: each word, and behind it the n-grams that it is the last of.

    The entry after them, or NAMES_FULL or ENTRIES_FULL if there is no room for all.
    """
    text, begins = words
    first_entry = entry
    first, after = patterns_of(tables.grams, seed)
    n_words, word = 0, 0
    i, to = next_word(tables, text, 0, data, begin, end)
    while to > word:
        begins[n_words] = word
        if not has_room(buffer, entry, after - first):
            return ENTRIES_FULL
        add_gram(buffer, entry, text, word, to, seed)
        entry = add_grams(
            buffer, entry + 1, tables.grams, first, after, words, n_words, to, seed
        )  # fmt: skip
        text[to] = SPACE
        n_words += 1
        word = to + 1
        i, to = next_word(tables, text, word, data, i, end)
    begins[n_words] = word
    if len(buffer.names.table) > 0:
        noted = first_entry
        for n in range(n_words):
            word, to = begins[n], begins[n + 1] - 1
            if not note_gram(buffer, noted, text, word, to, namespace):
                return NAMES_FULL
            noted = note_grams(
                buffer, noted + 1, tables.grams, first, after, words, n, to, begins[n_words],
                namespace,
            )  # fmt: skip
            if noted < 0:
                return noted
    buffer.values[first_entry:entry] = 1.0
    if len(buffer.groups) > 0:
        buffer.groups[first_entry:entry] = seed
    return entry
