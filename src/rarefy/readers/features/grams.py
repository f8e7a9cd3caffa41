"""N-grams of the words of a text, or of the names in a namespace, compiled: docs/reference/text.md

What is said of them is kept by name: how many words they have at most, and how many words between
their first and their last one may be left out. `*` stands for all texts and namespaces.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.checks import check_whole, is_text
from rarefy.errors import ConfigError
from rarefy.hashing import hash_text, xxh64
from rarefy.jit import helper, inlined
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.feature_names import EQUALS, expect_name, note_name, wants_name
from rarefy.readers.parsed import Problem
from rarefy.readers.text.numbers import SPACE

ALL = "*"
OF_TEXTS, OF_NAMESPACES = 2, 1  # words of an n-gram at most, if nothing is said
MOST_PER_WORD = 127
NAMES_FULL, ENTRIES_FULL = -1, -2

Sizes = tuple[tuple[str, int], ...]  # a number by name
Namespace = tuple[Any, Any, Any]  # a text, and where the name of a namespace or column is in it


def checked_sizes(option: str, given: Any, least: int) -> Sizes:
    """A number for all texts and namespaces, or numbers by name."""
    if given is None:
        return ()
    pairs = (
        list(dict(given).items()) if isinstance(given, Mapping | tuple | list) else [(ALL, given)]
    )
    for name, number in pairs:
        if not is_text(name) or not name:
            raise ConfigError(f"{option}={given!r}: names of columns or namespaces are expected.")
        what = option if name == ALL else f"{option} of {name!r}"
        check_whole(what, number, least, MOST_PER_WORD)
    return tuple(pairs)


def check_grams(ngram: Sizes, skips: Sizes) -> None:
    """Refuse more n-grams than are sensible, and skips in what has one word."""
    for name in dict([*ngram, *skips, (ALL, 0)]):
        longest, left_out = _sizes_of(name, ngram, skips, OF_TEXTS)
        where = "" if name == ALL else f" of {name!r}"
        if left_out and longest == 1:
            raise ConfigError(f"skips{where} has no meaning with ngram=1: give ngram=2 or more.")
        n_patterns = _n_patterns(longest, left_out)
        if n_patterns > MOST_PER_WORD:
            raise ConfigError(
                f"ngram={longest} with skips={left_out}{where} makes {n_patterns:,} n-grams of "
                f"each word; {MOST_PER_WORD} at most are possible."
            )


def _sizes_of(name: str, ngram: Sizes, skips: Sizes, default: int) -> tuple[int, int]:
    longest, left_out = dict(ngram), dict(skips)
    return (
        longest.get(name, longest.get(ALL, default)),
        left_out.get(name, left_out.get(ALL, 0)),
    )


def _n_patterns(longest: int, left_out: int) -> int:
    return sum(comb(size - 1 + left_out, left_out) for size in range(2, longest + 1))


class Grams(NamedTuple):
    """The n-grams of each text and namespace, by patterns: how far back each of their words is.

    The patterns of group g are those from bounds[g] to bounds[g + 1]; what is no group has the last
    ones.
    """

    groups: NDArray[np.uint64]  # hashes of names
    bounds: NDArray[np.int64]
    sizes: NDArray[np.int64]  # of patterns: how many words they have
    back: NDArray[np.int64]  # a row for each pattern, with the words in the order of the text


@lru_cache(100)
def grams_of(ngram: Sizes, skips: Sizes, default: int) -> Grams:
    """What `add_grams` takes; `default` is the longest of which nothing is said."""
    names = [name for name in dict([*ngram, *skips]) if name != ALL]
    of_each = [list(_patterns(*_sizes_of(name, ngram, skips, default))) for name in [*names, ALL]]
    patterns = [pattern for of_one in of_each for pattern in of_one]
    longest = max(map(len, patterns), default=0)
    return Grams(
        np.array([hash_text(name) for name in names], np.uint64),
        np.cumsum([0, *map(len, of_each)]),
        np.array([*map(len, patterns)], np.int64),
        np.array([[*p, *[0] * (longest - len(p))] for p in patterns], np.int64).reshape(
            len(patterns), longest
        ),
    )


def expansion(grams: Grams) -> int:
    """How many times as many features as words and pairs there are at most, rounded up."""
    return max((int(np.diff(grams.bounds).max()) + 2) // 2, 1)


def _patterns(longest: int, left_out: int) -> Iterator[tuple[int, ...]]:
    """How far back from the last word the words of all n-grams are that end with it."""
    for size in range(2, longest + 1):
        for steps in _steps(size - 1, left_out):
            yield tuple(accumulate(steps, initial=0))[::-1]


def _steps(n_steps: int, left_out: int) -> Iterator[tuple[int, ...]]:
    """All ways to go back so many times, where so many words may be left out in all."""
    if n_steps == 0:
        yield ()
        return
    for skipped in range(left_out + 1):
        for more in _steps(n_steps - 1, left_out - skipped):
            yield (1 + skipped, *more)


class WordsSoFar(NamedTuple):
    """The words of a text, with a space behind each, and where they begin."""

    text: NDArray[np.uint8]  # with as much room again, for words that are put together
    begins: NDArray[np.int64]


def room_for_words(n_bytes: int) -> WordsSoFar:
    """Room for the words of texts of up to so many bytes; most of it never becomes memory.

    Folding makes three bytes of two at most, and a space follows each word.
    """
    return WordsSoFar(np.empty(4 * n_bytes + 16, np.uint8), np.empty(n_bytes // 2 + 2, np.int64))


@helper
def problem_of(entry: int) -> Problem:
    """What it is that there is no room for."""
    return Problem.NAMES_FULL if entry == NAMES_FULL else Problem.TOO_MANY_GRAMS


@helper
def patterns_of(grams: Grams, group: Any) -> tuple[Any, Any]:
    """The first pattern of a text or namespace, and the one behind its last."""
    at = 0
    while at < len(grams.groups) and grams.groups[at] != group:
        at += 1
    return grams.bounds[at], grams.bounds[at + 1]


@inlined
def _gram_at(
    words: WordsSoFar, grams: Grams, pattern: int, n_before: int, end: Any, free: Any
) -> tuple[Any, Any]:
    """Where the text of an n-gram is; if words between are left out, it is put where it is free."""
    farthest = grams.back[pattern, 0]
    if farthest < grams.sizes[pattern]:
        return words.begins[n_before - farthest], end
    return free, _put_together(words, grams, pattern, n_before, end, free)


@helper
def _put_together(
    words: WordsSoFar, grams: Grams, pattern: int, n_before: int, end: Any, to: Any
) -> Any:
    """Copy the words of an n-gram to a place in the text; where it ends."""
    text, begins = words
    size = grams.sizes[pattern]
    for k in range(size):
        word = n_before - grams.back[pattern, k]
        word_end = begins[word + 1] - 1 if word < n_before else end
        for i in range(begins[word], word_end):
            text[to] = text[i]
            to += 1
        if k < size - 1:
            text[to] = SPACE
            to += 1
    return to


@inlined
def add_gram(buffer: BatchBuffer, entry: int, text: Any, begin: Any, end: Any, seed: Any) -> None:
    """Write the key of a text."""
    key = xxh64(text, begin, end, seed)
    buffer.keys[entry] = key
    expect_name(buffer.names, key)


@helper
def add_grams(
    buffer: BatchBuffer,
    entry: int,
    grams: Grams,
    first: Any,
    after: Any,
    words: WordsSoFar,
    n_before: int,
    end: Any,
    seed: Any,
) -> int:
    """Write the n-grams whose last word is the one that ends there, with so many before it.

    The entry after them. Nothing may stand behind the word yet.
    """
    for pattern in range(first, after):
        if grams.back[pattern, 0] <= n_before:
            begin, gram_end = _gram_at(words, grams, pattern, n_before, end, end + 1)
            add_gram(buffer, entry, words.text, begin, gram_end, seed)
            entry += 1
    return entry


@helper
def note_gram(
    buffer: BatchBuffer, entry: int, text: Any, begin: Any, end: Any, namespace: Namespace
) -> bool:
    """Say what a text is called whose key is written; False if there is no room for the name."""
    key, (prefix, prefix_begin, prefix_end) = buffer.keys[entry], namespace
    return not wants_name(buffer.names, key) or note_name(
        buffer.names, key, prefix, prefix_begin, prefix_end, EQUALS, text, begin, end
    )


@helper
def note_grams(
    buffer: BatchBuffer,
    entry: int,
    grams: Grams,
    first: Any,
    after: Any,
    words: WordsSoFar,
    n_before: int,
    end: Any,
    free: Any,
    namespace: Namespace,
) -> int:
    """Say what the n-grams are called whose keys `add_grams` wrote.

    The entry after them, or NAMES_FULL. Behind all words, the text is `free`.
    """
    for pattern in range(first, after):
        if grams.back[pattern, 0] <= n_before:
            begin, gram_end = _gram_at(words, grams, pattern, n_before, end, free)
            if not note_gram(buffer, entry, words.text, begin, gram_end, namespace):
                return NAMES_FULL
            entry += 1
    return entry
