"""Shared parts of the parsers of lines full of short numbers, compiled."""

from typing import Any

import numpy as np

from rarefy.jit import compiled
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.parsed import Parsed, Problem
from rarefy.readers.text.scan import Scan
from rarefy.readers.text.short_numbers import numbers_from_words


@compiled
def parse_lines(format: Any, data: Any, end: int, start: Parsed, buffer: BatchBuffer) -> Parsed:
    """Parse whole lines up to `end`, from where `start` has come to, into the buffer.

    Stops at the first fault; the row with the fault leaves no trace. Short numbers are left as
    words, and worked out together; rows in which one is none are parsed again, one by one.
    """
    unscanned = Scan(np.uint64(0), np.uint64(0), np.uint64(0))
    scan = unscanned
    parsed = Parsed(start.n_rows, start.n_entries, start.position, start.line, Problem.NONE)
    while parsed.position < end and parsed.problem == Problem.NONE:
        first = parsed
        parsed, scan = format.parse_some(data, end, first, buffer, scan, True)
        n_words, at = parsed.n_entries - first.n_entries, first.n_entries
        if not numbers_from_words(buffer.words, n_words, buffer.keys, buffer.values, at):
            parsed, scan = format.parse_some(data, end, first, buffer, unscanned, False)
    n_entries = buffer.indptr[parsed.n_rows]
    return Parsed(parsed.n_rows, n_entries, parsed.position, parsed.line, parsed.problem)
