"""Strings, numbers, true, false and null of JSON (RFC 8259), compiled."""

from typing import Any

import numpy as np

from rarefy.jit import helper
from rarefy.jit.intrinsics import load_word, store_word, trailing_zeros
from rarefy.readers.features.words import encode
from rarefy.readers.parsed import Problem
from rarefy.readers.text.decimals import POINT, ZERO
from rarefy.readers.text.numbers import MINUS, PLUS

DOUBLE_QUOTE, BACKSLASH, SLASH = 34, 92, 47
LOWER_B, LOWER_E, LOWER_F, LOWER_N, LOWER_R, LOWER_T, LOWER_U = 98, 101, 102, 110, 114, 116, 117

_ONES = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_QUOTES = _ONES * np.uint64(DOUBLE_QUOTE)
_BACKSLASHES = _ONES * np.uint64(BACKSLASH)
_SPACES = _ONES * np.uint64(32)
_TRUE, _FALSE, _NULL = (
    np.uint64(int.from_bytes(word, "little")) for word in (b"true", b"fals", b"null")
)


@helper
def copy_unescaped(data: Any, i: Any, to: Any, at: Any) -> tuple[Any, Any]:
    """Copy the plain part of a string, up to a quote, a backslash or a control character.

    The positions after it in both. Eight bytes are looked at, and written, at a time. Subtracting
    sets the top bit of the first byte that is sought, and of bytes behind it at most.
    """
    while True:
        word = load_word(data, i)
        store_word(to, at, word)
        quotes, backslashes = word ^ _QUOTES, word ^ _BACKSLASHES
        found = (
            ((quotes - _ONES) & ~quotes)
            | ((backslashes - _ONES) & ~backslashes)
            | ((word - _SPACES) & ~word)
        ) & _TOPS
        if found != 0:
            n_bytes = np.int64(trailing_zeros(found) >> np.uint64(3))
            return i + n_bytes, at + n_bytes
        i += 8
        at += 8


@helper
def is_digit(byte: int) -> bool:
    return ZERO <= byte <= 57


@helper
def hex_code(data: Any, i: int) -> Any:
    """The number that the four hexadecimal digits at i make, or -1."""
    code = np.int64(0)
    for k in range(4):
        byte: Any = np.int64(data[i + k])
        letter = byte | 32
        if is_digit(byte):
            digit = byte - ZERO
        elif 97 <= letter <= 102:
            digit = letter - 87
        else:
            return np.int64(-1)
        code = code << 4 | digit
    return code


@helper
def simple_escape(byte: Any) -> Any:
    """What stands for a character after a backslash, or -1."""
    if byte in (DOUBLE_QUOTE, BACKSLASH, SLASH):
        return np.int64(byte)
    if byte == LOWER_N:
        return 10
    if byte == LOWER_T:
        return 9
    if byte == LOWER_R:
        return 13
    if byte == LOWER_B:
        return 8
    if byte == LOWER_F:
        return 12
    return -1


@helper
def decode_string(data: Any, i: int, to: Any, at: int) -> tuple[int, int, Problem]:
    """Write the string at i, which is behind its opening quote, to a buffer; escapes are resolved.

    The position behind the closing quote, the end of what was written, and what is wrong, if
    something is; then the position is that of the fault. Nothing gets longer by this, but up to
    eight bytes behind the end are written to.
    """
    while True:
        i, at = copy_unescaped(data, i, to, at)
        if data[i] == DOUBLE_QUOTE:
            return i + 1, at, Problem.NONE
        if data[i] != BACKSLASH:
            return i, at, Problem.STRING
        if data[i + 1] != LOWER_U:
            escape = simple_escape(data[i + 1])
            if escape < 0:
                return i, at, Problem.ESCAPE
            to[at] = escape
            i += 2
            at += 1
            continue
        code, n_bytes = hex_code(data, i + 2), 6
        if code < 0:
            return i, at, Problem.ESCAPE
        if 0xD800 <= code < 0xE000:  # a character in two halves
            low = np.int64(-1)
            if code < 0xDC00 and data[i + 6] == BACKSLASH and data[i + 7] == LOWER_U:
                low = hex_code(data, i + 8)
            if not 0xDC00 <= low < 0xE000:
                return i, at, Problem.SURROGATE
            code, n_bytes = 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF)), 12
        at = encode(to, at, code)
        i += n_bytes


@helper
def digits_end(data: Any, i: int) -> int:
    while is_digit(data[i]):
        i += 1
    return i


@helper
def number_end(data: Any, i: int) -> int:
    """The position behind the number at i; i itself if there is none."""
    first = i + (data[i] == MINUS)
    if not is_digit(data[first]):
        return i
    i = first + 1 if data[first] == ZERO else digits_end(data, first)
    if data[i] == POINT and is_digit(data[i + 1]):
        i = digits_end(data, i + 1)
    if data[i] | 32 == LOWER_E:
        exponent = i + 1 + (data[i + 1] == MINUS or data[i + 1] == PLUS)
        if is_digit(data[exponent]):
            i = digits_end(data, exponent)
    return i


@helper
def literal_end(data: Any, i: int) -> int:
    """The position behind the number, true, false or null at i; i itself if there is none."""
    word = load_word(data, i) & np.uint64(0xFFFFFFFF)
    if word in (_TRUE, _NULL):
        return i + 4
    if word == _FALSE and data[i + 4] == LOWER_E:
        return i + 5
    return number_end(data, i)
