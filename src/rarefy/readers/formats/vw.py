"""Vowpal Wabbit's text: `[label [importance]] ['tag] |namespace[:weight] name[:value] ... |...`.

A value is 1 if it is not given, and is multiplied by the weight of its namespace. The key of a
feature is the hash of its name, seeded by the namespace (see hashing.py); in the namespace without
a name, a name that is a whole number of up to 19 digits is its own key, as in svmlight. N-grams, if
they are wanted, stand behind the names that they are made of, and their values are 1. A row
without a label is a row to predict: its label is NaN. A tag begins with ' or touches the bar.
"""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from rarefy.hashing import xxh64, xxh64_short
from rarefy.jit import compile_methods, helper, inlined
from rarefy.jit.intrinsics import WINDOW, bytes_between, load_word, trailing_zeros
from rarefy.readers.buffers import BatchBuffer, end_row, has_room
from rarefy.readers.feature_names import EQUALS, note_name, wants_name
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import (
    ENTRIES_FULL,
    OF_NAMESPACES,
    Grams,
    WordsSoFar,
    add_grams,
    grams_of,
    note_grams,
    patterns_of,
    problem_of,
    room_for_words,
)
from rarefy.readers.formats.line_parser import parse_lines
from rarefy.readers.parsed import Parsed, Problem
from rarefy.readers.source import Block
from rarefy.readers.text.decimals import POINT, ZERO
from rarefy.readers.text.numbers import (
    BAR,
    COLON,
    HASH,
    MINUS,
    NEWLINE,
    PLUS,
    QUOTE,
    RETURN,
    SPACE,
    ends_token,
    is_blank,
    line_end,
    parse_index,
    parse_number,
    skip_blanks,
)
from rarefy.readers.text.scan import Scan
from rarefy.readers.text.short_names import find_short_names, hash_short_names
from rarefy.readers.text.short_numbers import ENOUGH, copy_pairs, value_word


def tags_at(block: Block, lines: Iterable[int]) -> tuple[str, ...]:
    """The tags of the rows at these lines of a block, counted from 0; empty where there is none."""
    texts = block.text.split(b"\n")
    return tuple(_tag(texts[line]) for line in lines)


def namespaces(block: Block) -> list[str]:
    """The names of namespaces in a block, in the order in which they come."""
    names = dict.fromkeys(re.findall(rb"\|([^\s:|]+)", block.text))
    return [name.decode(errors="replace") for name in names]


def _tag(line: bytes) -> str:
    head = line.partition(b"|")[0]
    tokens = head.split()
    if not tokens:
        return ""
    if tokens[-1].startswith(b"'"):
        return tokens[-1][1:].decode()
    return tokens[-1].decode() if head.endswith(tokens[-1]) else ""


@helper
def ends_name(byte: Any) -> bool:
    return is_blank(byte) or byte in (COLON, BAR, NEWLINE)


@inlined
def name_end(data: Any, i: Any) -> Any:
    """The first position from i on whose byte ends a name."""
    i = np.uint64(i)
    while True:
        ends = bytes_between(data, i, 0, SPACE)
        ends |= bytes_between(data, i, COLON, COLON) | bytes_between(data, i, BAR, BAR)
        if ends == 0:
            i += np.uint64(WINDOW)
            continue
        i += trailing_zeros(ends)
        if ends_name(data[i]):
            return np.int64(i)
        i += np.uint64(1)


@inlined
def hash_name(data: Any, begin: int, end: int, seed: Any) -> Any:
    """The hash of the text from begin to end, most often short."""
    if end - begin < 16:
        first, second = load_word(data, begin), load_word(data, begin + 8)
        return xxh64_short(first, second, np.uint64(end - begin), seed)
    return xxh64(data, begin, end, seed)


@inlined
def parse_name(data: Any, i: int, seed: Any, has_namespace: bool) -> tuple[Any, int, bool]:
    """The key of the name at i, the position after it, and whether it is more than an index."""
    if not has_namespace:
        index, after = parse_index(data, i)
        if after > i and ends_name(data[after]):
            return index, after, False
    after = name_end(data, i)
    return hash_name(data, i, after, seed), after, True


@helper
def _note_names(
    data: Any, space_begin: int, space_end: int, i: Any, buffer: BatchBuffer, first: int, after: int
) -> bool:
    """Remember the short names from i on, whose keys are at `first`; False if there is no room."""
    if len(buffer.names.table) == 0:
        return True
    begin = i
    for entry in range(first, after):
        key, end = buffer.keys[entry], i + np.int64(buffer.short_names.ends[entry - first])
        if wants_name(buffer.names, key) and not note_name(
            buffer.names, key, data, space_begin, space_end, EQUALS, data, begin, end
        ):
            return False
        begin = end + 1
    return True


@helper
def _add_grams(
    data: Any,
    space_begin: int,
    space_end: int,
    begin: Any,
    buffer: BatchBuffer,
    n_names: int,
    entry: int,
    first_entry: int,
    seed: Any,
    grams: Grams,
    words: WordsSoFar,
    n_before: int,
    to: Any,
) -> tuple[int, Any]:
    """Write the n-grams that names are the last of, which begin there and end as `short_names` say.

    The entry after them, or NAMES_FULL or ENTRIES_FULL, and where the next name is put.
    """
    first, after = patterns_of(grams, seed)
    first_gram, name = entry, begin
    for k in range(n_names):
        name_end = begin + np.int64(buffer.short_names.ends[k])
        words.begins[n_before + k] = to
        for i in range(name, name_end):
            words.text[to] = data[i]
            to += 1
        if not has_room(buffer, entry, after - first):
            return ENTRIES_FULL, to
        entry = add_grams(buffer, entry, grams, first, after, words, n_before + k, to, seed)
        words.text[to] = SPACE
        to += 1
        name = name_end + 1
    words.begins[n_before + n_names] = to
    if len(buffer.names.table) > 0:
        noted, namespace = first_gram, (data, space_begin, space_end)
        for n in range(n_before, n_before + n_names):
            end = words.begins[n + 1] - 1
            noted = note_grams(
                buffer, noted, grams, first, after, words, n, end, to, namespace
            )  # fmt: skip
            if noted < 0:
                return noted, to
    buffer.values[first_gram:entry] = 1.0
    buffer.words.keys[first_gram - first_entry : entry - first_entry] = 0
    buffer.words.values[first_gram - first_entry : entry - first_entry] = 0
    if len(buffer.groups) > 0:
        buffer.groups[first_gram:entry] = seed
    return entry, to


def vw_parser(columns: Columns) -> Callable[[Any, int, Parsed, BatchBuffer], Parsed]:
    """The parser, with the n-grams that are wanted."""
    grams = grams_of(columns.ngram, columns.skips, OF_NAMESPACES)

    def parse(data: Any, end: int, start: Parsed, buffer: BatchBuffer) -> Parsed:
        n_bytes = end - start.position if len(grams.sizes) else 0
        return parse_lines(VowpalWabbit(grams, room_for_words(n_bytes)), data, end, start, buffer)

    return parse


@compile_methods
class VowpalWabbit(NamedTuple):
    """The format, for `parse_lines`."""

    grams: Grams
    words: WordsSoFar

    def is_recognised(self, data: Any) -> bool:
        """Whether a line is plainly recognised as VW text: it has a bar before any index."""
        i = 0
        if not (ZERO <= data[0] <= ZERO + 9 or data[0] in (PLUS, MINUS, POINT, BAR)):
            return False
        while data[i] not in (BAR, COLON, HASH, RETURN, NEWLINE):
            i += 1
        return data[i] == BAR  # type: ignore[no-any-return]

    def parse_some(
        self,
        data: Any,
        end: int,
        start: Parsed,
        buffer: BatchBuffer,
        scan: Scan,
        short_as_words: bool,
    ) -> tuple[Parsed, Scan]:
        """Parse some rows; short numbers may be left as words, to be worked out later.

        The entries of a row with a fault are counted: there may be another fault among them.
        """
        row, entry, i, line = start.n_rows, start.n_entries, start.position, start.line
        first_entry = entry
        while i < end and entry - first_entry < ENOUGH:
            row_begin = i
            i = skip_blanks(data, i)
            if data[i] == NEWLINE:
                i += 1
                line += 1
                continue

            label, importance, n_numbers = np.nan, 1.0, 0
            while data[i] != BAR:
                if data[i] == NEWLINE:
                    return Parsed(row, entry, i, line, Problem.BEFORE_BAR), scan
                begin = i
                token_end = i
                while not ends_token(data[token_end]):
                    token_end += 1
                if data[begin] == QUOTE or data[token_end] == BAR:
                    i = skip_blanks(data, token_end)
                    if data[i] != BAR:
                        return Parsed(row, entry, i, line, Problem.BEFORE_BAR), scan
                    continue
                number, i = parse_number(data, i)
                if n_numbers == 0:
                    if math.isnan(number) or i != token_end:
                        return Parsed(row, entry, i, line, Problem.LABEL), scan
                    label = number
                elif n_numbers == 1:
                    if not number >= 0.0 or i != token_end:
                        return Parsed(row, entry, begin, line, Problem.IMPORTANCE), scan
                    importance = number
                else:
                    return Parsed(row, entry, begin, line, Problem.BEFORE_BAR), scan
                n_numbers += 1
                i = skip_blanks(data, i)

            while data[i] == BAR:
                i += 1
                begin = i
                i = namespace_end = name_end(data, i)
                has_namespace = i > begin
                seed = hash_name(data, begin, i, np.uint64(0)) if has_namespace else np.uint64(0)
                weight = 1.0
                if data[i] == COLON:
                    weight, i = parse_number(data, i + 1)
                    if math.isnan(weight) or not ends_token(data[i]):
                        return Parsed(row, entry, i, line, Problem.NAMESPACE_VALUE), scan
                i = skip_blanks(data, i)
                weighs_one = short_as_words and weight == 1.0
                n_names, name_to = 0, 0  # that n-grams are made of, and where the next is put
                first_gram, after_grams = patterns_of(self.grams, seed)
                has_grams = after_grams > first_gram
                tries_runs, was_worth_it = True, False
                while data[i] != BAR and data[i] != NEWLINE:
                    if tries_runs:
                        before = entry
                        if weighs_one and not has_namespace and not has_grams:
                            i, scan, entry = copy_pairs(
                                data, i, end, scan, buffer.words, buffer.values, first_entry, entry
                            )
                        if entry == before:
                            names = buffer.short_names
                            n_short, after = find_short_names(data, i, names, not has_namespace)
                            if n_short > 0:
                                entry += n_short
                                hash_short_names(names, n_short, seed, buffer.keys, before)
                                buffer.values[before:entry] = weight
                                buffer.words.keys[before - first_entry : entry - first_entry] = 0
                                buffer.words.values[before - first_entry : entry - first_entry] = 0
                                if not _note_names(
                                    data, begin, namespace_end, i, buffer, before, entry
                                ):
                                    return Parsed(
                                        row, entry, row_begin, line, Problem.NAMES_FULL
                                    ), scan
                                if len(buffer.groups) > 0:
                                    buffer.groups[before:entry] = seed
                                if has_grams:
                                    after_names = entry
                                    entry, name_to = _add_grams(
                                        data, begin, namespace_end, i, buffer, n_short, entry,
                                        first_entry, seed, self.grams, self.words, n_names, name_to,
                                    )  # fmt: skip
                                    if entry < 0:
                                        problem = problem_of(entry)
                                        return Parsed(
                                            row, after_names, row_begin, line, problem
                                        ), scan
                                    n_names += n_short
                                i = after
                        elif len(buffer.groups) > 0:
                            buffer.groups[before:entry] = seed
                        tries_runs, was_worth_it = False, entry > before
                        i = skip_blanks(data, i)
                        continue
                    first = i
                    key, i, is_named = parse_name(data, i, seed, has_namespace)
                    last = i
                    value, word = weight, np.uint64(0)
                    if data[i] == COLON:
                        if weighs_one:
                            word, after = value_word(data, i + 1)
                            if not ends_token(data[after]):
                                word = np.uint64(0)
                        if word != 0:
                            i = after
                        else:
                            value, i = parse_number(data, i + 1)
                            value *= weight
                            if not math.isfinite(value):
                                return Parsed(row, entry, i, line, Problem.VALUE), scan
                    if not ends_token(data[i]):
                        return Parsed(row, entry, i, line, Problem.AFTER_FEATURE), scan
                    buffer.keys[entry] = key
                    buffer.values[entry] = value
                    buffer.words.keys[entry - first_entry] = 0
                    buffer.words.values[entry - first_entry] = word
                    if len(buffer.groups) > 0:
                        buffer.groups[entry] = seed
                    if (
                        is_named
                        and wants_name(buffer.names, key)
                        and not note_name(
                            buffer.names, key, data, begin, namespace_end, EQUALS, data, first, last
                        )
                    ):
                        return Parsed(row, entry, row_begin, line, Problem.NAMES_FULL), scan
                    entry += 1
                    if has_grams:
                        after_name = entry
                        buffer.short_names.ends[0] = last - first
                        entry, name_to = _add_grams(
                            data, begin, namespace_end, first, buffer, 1, entry,
                            first_entry, seed, self.grams, self.words, n_names, name_to,
                        )  # fmt: skip
                        if entry < 0:
                            problem = problem_of(entry)
                            return Parsed(row, after_name, row_begin, line, problem), scan
                        n_names += 1
                    tries_runs, was_worth_it = was_worth_it, False
                    i = skip_blanks(data, i)
            row = end_row(buffer, row, entry, label, importance, line)
            i = line_end(data, i) + 1
            line += 1
        return Parsed(row, entry, i, line, Problem.NONE), scan
