"""svmlight / libsvm: `label [qid:n] index:value index:value ... [# comment]`, a row a line.

The key of a feature is its index. Empty lines and lines with a comment alone are passed over.
"""

import math
from typing import Any, NamedTuple

from rarefy.jit import compile_methods
from rarefy.readers.buffers import BatchBuffer, end_row
from rarefy.readers.parsed import Parsed, Problem
from rarefy.readers.text.numbers import (
    COLON,
    HASH,
    NEWLINE,
    is_blank,
    line_end,
    parse_index,
    parse_number,
    skip_blanks,
)
from rarefy.readers.text.scan import Scan
from rarefy.readers.text.short_numbers import ENOUGH, copy_pairs


@compile_methods
class Svmlight(NamedTuple):
    """The format, for `parse_lines`."""

    def is_recognised(self, data: Any) -> bool:
        """Whether a line would be recognised as svmlight, if it is valid."""
        return True

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
        first, was_worth_it = entry, False
        while i < end and entry - first < ENOUGH:
            i = skip_blanks(data, i)
            if data[i] == HASH:
                i = line_end(data, i)
            if data[i] == NEWLINE:
                i += 1
                line += 1
                continue
            label, i = parse_number(data, i)
            if math.isnan(label) or not (
                is_blank(data[i]) or data[i] == NEWLINE or data[i] == HASH
            ):
                return Parsed(row, entry, i, line, Problem.LABEL), scan
            i = skip_blanks(data, i)
            if (
                data[i] == 113
                and data[i + 1] == 105
                and data[i + 2] == 100
                and data[i + 3] == COLON
            ):
                begin = i + 4
                _, i = parse_index(data, begin)
                if i == begin or not (is_blank(data[i]) or data[i] == NEWLINE or data[i] == HASH):
                    return Parsed(row, entry, i, line, Problem.INDEX), scan
                i = skip_blanks(data, i)
            tries_words = short_as_words
            while data[i] != NEWLINE and data[i] != HASH:
                if tries_words:
                    before = entry
                    i, scan, entry = copy_pairs(
                        data, i, end, scan, buffer.words, buffer.values, first, entry
                    )
                    tries_words, was_worth_it = False, entry > before
                    i = skip_blanks(data, i)
                    continue
                begin = i
                key, i = parse_index(data, i)
                if i == begin:
                    return Parsed(row, entry, i, line, Problem.INDEX), scan
                if data[i] != COLON:
                    return Parsed(row, entry, i, line, Problem.COLON), scan
                value, i = parse_number(data, i + 1)
                if math.isnan(value):
                    return Parsed(row, entry, i, line, Problem.VALUE), scan
                if not (is_blank(data[i]) or data[i] == NEWLINE or data[i] == HASH):
                    return Parsed(row, entry, i, line, Problem.AFTER_FEATURE), scan
                i = skip_blanks(data, i)
                buffer.keys[entry] = key
                buffer.values[entry] = value
                buffer.words.keys[entry - first] = 0
                buffer.words.values[entry - first] = 0
                entry += 1
                tries_words, was_worth_it = was_worth_it, False
            row = end_row(buffer, row, entry, label, 1.0, line)
            i = line_end(data, i) + 1
            line += 1
        return Parsed(row, entry, i, line, Problem.NONE), scan
