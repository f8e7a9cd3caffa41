"""svmlight / libsvm: `label [qid:n] index:value index:value ... [# comment]`, a row a line.

The key of a feature is its index. Empty lines and lines with a comment alone are passed over.
"""

import math
from typing import Any

from rarefy.jit import compiled_in_place
from rarefy.readers.batch import Parsed, Problem, Room
from rarefy.readers.numbers import (
    COLON,
    HASH,
    NEWLINE,
    is_blank,
    line_end,
    parse_index,
    parse_number,
    skip_blanks,
)


@compiled_in_place
def parse_svmlight(data: Any, end: int, start: Parsed, room: Room) -> Parsed:
    """Parse whole lines up to `end`, from where `start` has come to, into the room.

    Stops at the first fault; the row with the fault leaves no trace.
    """
    row, entry, i, line = start.n_rows, start.n_entries, start.position, start.line
    while i < end:
        i = skip_blanks(data, i)
        if data[i] == HASH:
            i = line_end(data, i)
        if data[i] == NEWLINE:
            i += 1
            line += 1
            continue
        label, i = parse_number(data, i)
        if math.isnan(label) or not (is_blank(data[i]) or data[i] == NEWLINE or data[i] == HASH):
            return Parsed(row, room.indptr[row], i, line, Problem.LABEL)
        i = skip_blanks(data, i)
        if data[i] == 113 and data[i + 1] == 105 and data[i + 2] == 100 and data[i + 3] == COLON:
            begin = i + 4
            _, i = parse_index(data, begin)
            if i == begin or not (is_blank(data[i]) or data[i] == NEWLINE or data[i] == HASH):
                return Parsed(row, room.indptr[row], i, line, Problem.INDEX)
            i = skip_blanks(data, i)
        while data[i] != NEWLINE and data[i] != HASH:
            begin = i
            key, i = parse_index(data, i)
            if i == begin:
                return Parsed(row, room.indptr[row], i, line, Problem.INDEX)
            if data[i] != COLON:
                return Parsed(row, room.indptr[row], i, line, Problem.COLON)
            value, i = parse_number(data, i + 1)
            if math.isnan(value):
                return Parsed(row, room.indptr[row], i, line, Problem.VALUE)
            if not (is_blank(data[i]) or data[i] == NEWLINE or data[i] == HASH):
                return Parsed(row, room.indptr[row], i, line, Problem.AFTER_FEATURE)
            i = skip_blanks(data, i)
            room.keys[entry] = key
            room.values[entry] = value
            entry += 1
        room.labels[row] = label
        room.importance[row] = 1.0
        room.lines[row] = line
        row += 1
        room.indptr[row] = entry
        i = line_end(data, i) + 1
        line += 1
    return Parsed(row, entry, i, line, Problem.NONE)
