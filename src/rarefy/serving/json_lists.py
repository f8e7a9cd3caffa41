"""From a list of JSON to lines, without an object of Python for each of its rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compiled, helper
from rarefy.readers.formats.json_values import BACKSLASH, DOUBLE_QUOTE
from rarefy.readers.text.numbers import NEWLINE, RETURN, SPACE, TAB
from rarefy.serving.refusals import RefusedError, TooLargeError

COMMA, OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE = 44, 91, 93, 123, 125
CUT_OFF, MISPLACED, TOO_MANY = -1, -2, -3


def lines_of_list(text: bytes, most: int) -> bytes:
    """The elements of a list, each on a line; whether they are rows is for their reader to say."""
    data = np.frombuffer(bytearray(text), np.uint8)
    found = _make_lines(data, most)
    if found == TOO_MANY:
        raise TooLargeError(f"there are more than {most:,} rows; send them in several requests.")
    if found == MISPLACED:
        raise RefusedError("the body is not valid JSON: a comma or a bracket is misplaced.")
    if found == CUT_OFF:
        raise RefusedError("the body is not valid JSON: the list has no end.")
    return data.tobytes()


@compiled
def _make_lines(data: NDArray[np.uint8], most: int) -> int:
    """Make lines of a list, in place: commas between elements become ends of lines.

    How many elements there are; or what is wrong with the list.
    """
    depth, n_commas, is_empty, i = 1, 0, True, 1
    data[0] = SPACE
    while i < len(data):
        byte = data[i]
        if byte == COMMA and depth == 1:
            n_commas += 1
            if is_empty or n_commas == most:
                return MISPLACED if is_empty else TOO_MANY
            data[i], is_empty = NEWLINE, True
        elif byte in (NEWLINE, RETURN, SPACE, TAB):
            data[i] = SPACE
        elif depth == 1 and byte == CLOSING_BRACKET and i == len(data) - 1:
            data[i] = NEWLINE
            return MISPLACED if is_empty and n_commas > 0 else n_commas + 1 - is_empty
        else:
            depth += _step(byte)
            is_empty = False
            if depth == 0:
                return MISPLACED
            if byte == DOUBLE_QUOTE:
                i = _end_of_string(data, i + 1)
        i += 1
    return CUT_OFF


@helper
def _step(byte: int) -> int:
    """How much deeper what follows is."""
    if byte in (OPENING_BRACKET, OPENING_BRACE):
        return 1
    return -1 if byte in (CLOSING_BRACKET, CLOSING_BRACE) else 0


@helper
def _end_of_string(data: Any, i: int) -> int:
    """Where the quote is that ends a string, or behind all if there is none."""
    while i < len(data) and data[i] != DOUBLE_QUOTE:
        i += 2 if data[i] == BACKSLASH else 1
    return i
