"""Parsing of numbers in text, compiled.

Every block of text ends with a newline, which ends any number, and has eight more bytes behind it,
so no loop here has to look for the end of the data.

A decimal number of up to 15 digits times a small power of ten is exact in one multiplication or
division; all others are left to decimals.py, so that every number is rounded correctly.
"""

from typing import Any

import numpy as np

from rarefy.jit import helper
from rarefy.jit.intrinsics import float_of_bits, load_word, trailing_zeros
from rarefy.readers.text.decimals import DIGITS, POINT, ZERO, nearest, nearest_to_text

_POWERS_OF_TEN = 10.0 ** np.arange(23)
_INTEGER_POWERS = np.array([10**n for n in range(20)], dtype=np.uint64)
_SMALL_POWERS = _INTEGER_POWERS[:9]
_EXACT = np.uint64(1 << 53)
_MOST_TENS = 1 << 40  # more in an exponent than digits could make up for
_ZEROS = np.uint64(0x3030303030303030)  # eight times the character 0
_SIXES = np.uint64(0x0606060606060606)
_UPPER_HALVES = np.uint64(0xF0F0F0F0F0F0F0F0)
_PAIRS = np.uint64(100 + (1_000_000 << 32))
_OTHER_PAIRS = np.uint64(1 + (10_000 << 32))

NEWLINE, SPACE, TAB, RETURN = 10, 32, 9, 13
PLUS, MINUS, COLON, HASH, QUOTE, BAR = 43, 45, 58, 35, 39, 124


@helper
def parse_digits(data: Any, i: Any) -> tuple[np.uint64, Any]:
    """The number that the digits at i make (modulo 2^64) and the position after them.

    Eight bytes are looked at at a time, without a branch on where the digits end: a byte is no
    digit if its upper half is not 3, or if adding 6 to it carries into the upper half.
    """
    number = np.uint64(0)
    while True:
        word = load_word(data, i) ^ _ZEROS
        others = (word | (word + _SIXES)) & _UPPER_HALVES
        n_digits = trailing_zeros(others) >> np.uint64(3)
        if n_digits > 0:
            word <<= np.uint64(64) - (n_digits << np.uint64(3))
            word = word * np.uint64(10) + (word >> np.uint64(8))
            pairs = word & np.uint64(0x000000FF000000FF)
            other_pairs = (word >> np.uint64(16)) & np.uint64(0x000000FF000000FF)
            value = pairs * _PAIRS + other_pairs * _OTHER_PAIRS
            number = number * _SMALL_POWERS[n_digits] + (value >> np.uint64(32))
        i += np.int64(n_digits)
        if n_digits < 8:
            return number, i


@helper
def parse_number(data: Any, i: Any) -> tuple[float, int]:
    """The finite number at i and the position after it; (NaN, position of the fault) otherwise."""
    begin = i
    negative = data[i] == MINUS
    if negative or data[i] == PLUS:
        i += 1
    before_digits = i
    mantissa, i = parse_digits(data, i)
    n_digits, exponent = i - before_digits, np.int64(0)
    if data[i] == POINT:
        fraction, after = parse_digits(data, i + 1)
        n_decimals = after - i - 1
        i = after
        n_digits += n_decimals
        exponent = -n_decimals
        if n_digits <= DIGITS:
            mantissa = mantissa * _INTEGER_POWERS[n_decimals] + fraction
    if n_digits == 0:
        return np.nan, i
    digits_end = i
    if data[i] | 32 == 101:  # e or E
        i += 1
        minus = data[i] == MINUS
        if minus or data[i] == PLUS:
            i += 1
        first = i
        while data[i] == ZERO:
            i += 1
        written, after = parse_digits(data, i)
        if after == first:
            return np.nan, i
        tens = np.int64(_MOST_TENS)
        if after - i <= DIGITS:
            tens = np.int64(min(written, np.uint64(_MOST_TENS)))
        i = after
        exponent += -tens if minus else tens
    if n_digits > DIGITS or mantissa > _EXACT or abs(exponent) > 22:
        if n_digits > DIGITS:
            bits = nearest_to_text(data, before_digits, digits_end, exponent)
        else:
            bits = nearest(mantissa, exponent)
        value = float_of_bits(bits)
        return (-value if negative else value, i) if value < np.inf else (np.nan, begin)
    value = np.float64(mantissa)
    if exponent < 0:
        value /= _POWERS_OF_TEN[-exponent]
    else:
        value *= _POWERS_OF_TEN[exponent]
    return (-value if negative else value), i


@helper
def parse_index(data: Any, i: int) -> tuple[np.uint64, int]:
    """The whole number of up to 19 digits at i and the position after it (i itself if none)."""
    index, after = parse_digits(data, i)
    return index, (after if after - i <= 19 else i)


@helper
def is_blank(byte: Any) -> bool:
    return byte in (SPACE, TAB, RETURN)


@helper
def ends_token(byte: Any) -> bool:
    return is_blank(byte) or byte in (BAR, NEWLINE)


@helper
def skip_blanks(data: Any, i: int) -> int:
    while is_blank(data[i]):
        i += 1
    return i


@helper
def line_end(data: Any, i: int) -> int:
    while data[i] != NEWLINE:
        i += 1
    return i
