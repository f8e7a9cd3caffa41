"""Parsing of numbers of up to eight bytes, in two steps, compiled.

The first step only copies the numbers, as they are written, to a word each. The second one turns
the words of many features into numbers, in loops that have no branches, so that the compiler makes
them work on several words at once. It also finds the few words that are no numbers after all; then
the text has to be parsed again, with care.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import helper, inlined
from rarefy.jit.intrinsics import bytes_between, load_word, trailing_zeros
from rarefy.readers.text.numbers import COLON, NEWLINE, RETURN, SPACE, TAB, parse_number
from rarefy.readers.text.scan import MOST_ENDS, Scan, scanned

ENOUGH = 1024  # features to be turned into numbers in one go, while the nearest cache holds them
_ONE, _EIGHT, _NIBBLE = np.uint64(1), np.uint64(8), np.uint64(4)
_NO_DIGIT = np.uint64(0x1010101010101010)  # the bit of each byte that tells digits from - . /
_LAST_BYTE = np.uint64(1 << 56)


class Words(NamedTuple):
    """Indices and values as they are written: the last byte highest, zeros before the first one.

    A word of zero stands for a number that is known already.
    """

    keys: NDArray[np.uint64]
    values: NDArray[np.uint64]
    ends: NDArray[np.uint32]  # of tokens: see scan.py


def new_words(n: int) -> Words:
    """Room for n features."""
    return Words(np.empty(n, np.uint64), np.empty(n, np.uint64), np.empty(MOST_ENDS, np.uint32))


@inlined
def word_of(data: Any, begin: Any, n: Any) -> Any:
    """The n bytes, one to eight, from `begin` on."""
    return load_word(data, begin) << (np.uint64(64) - _EIGHT * n)


@helper
def copy_pairs(
    data: Any, i: int, end: int, scan: Scan, words: Words, values: Any, first: int, entry: int
) -> tuple[Any, Scan, Any]:
    """Copy pairs `index:value` from i on, as long as the indices are short and one blank follows.

    The words begin with the one of the entry `first`. Values that are not short are worked out at
    once. Gives the position after the pairs, the scan, and the entry after theirs.
    """
    at, to = np.uint64(i), np.uint64(entry - first)
    base, next, n_ends = scan
    while next < n_ends and base + words.ends[next] < at:
        next += _ONE
    while True:
        if next + _ONE >= n_ends:
            base, next, n_ends = scanned(data, at, np.uint64(end), words.ends)
            if n_ends < 2:
                break
        colon = base + words.ends[next]
        stop = base + words.ends[next + _ONE]
        n_index, n_value = colon - at, stop - colon - _ONE
        if n_index - _ONE >= 8 or data[colon] != COLON:
            break
        next += np.uint64(2)
        if n_value - _ONE < 8 and data[stop] in (SPACE, NEWLINE, RETURN, TAB):
            words.values[to] = word_of(data, colon + _ONE, n_value)
        else:
            value, after = parse_number(data, np.int64(colon) + 1)
            if math.isnan(value) or data[after] not in (SPACE, NEWLINE, RETURN, TAB):
                break
            words.values[to] = 0
            values[first + np.int64(to)] = value
            if np.uint64(after) != stop:  # there is an exponent
                stop = np.uint64(after)
                while next < n_ends and base + words.ends[next] <= stop:
                    next += _ONE
        words.keys[to] = word_of(data, at, n_index)
        to += _ONE
        at = stop
        if data[stop] != SPACE:
            break
        at += _ONE
    return np.int64(at), Scan(base, next, n_ends), first + np.int64(to)


@inlined
def value_word(data: Any, begin: Any) -> tuple[Any, Any]:
    """The word of a value, zero if that is not short, and the position after the value."""
    n = trailing_zeros(~bytes_between(data, begin, 45, 57))
    return (word_of(data, begin, n) if n - _ONE < 8 else np.uint64(0)), begin + np.int64(n)


@inlined
def eight_digits(word: Any) -> Any:
    """The number that the lower halves of the bytes make, of which the last is the ones."""
    word = ((word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(1 + (10 << 8))) >> np.uint64(8)
    word = ((word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(1 + (100 << 16))) >> np.uint64(16)
    word = (word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(1 + (10000 << 32))
    return word >> np.uint64(32)


@helper
def numbers_from_words(words: Words, n_words: int, keys: Any, values: Any, first: int) -> Any:
    """Write the numbers that the words mean, from `first` on; whether all of them mean one.

    An index is made of digits; a value is made of a minus or none, and digits with a point among
    them or none. The word 1.25 becomes 125, by moving what is before the point one byte up, and is
    divided by 100, the number whose only digit that is not zero stands where the point was.
    """
    wrong, n, at = np.uint64(0), np.uint64(n_words), np.uint64(first)
    written = np.uint64(0)
    for k in range(n):
        written |= words.keys[k] | words.values[k]
    if written == 0:
        return True
    for k in range(n):
        word = words.keys[k]
        wrong |= (word >> _ONE) & ~word & _NO_DIGIT
        keys[at + k] = eight_digits(word) if word != 0 else keys[at + k]
    for k in range(n):
        word = words.values[k]
        odd = (word >> _ONE) & ~word & _NO_DIGIT
        ones, twos = word << _NIBBLE, word << np.uint64(3)
        point, minus = odd & twos & ~ones, odd & ones & ~twos
        wrong |= odd ^ (point | minus)
        wrong |= point & (point - _ONE)
        wrong |= word & ((minus >> _NIBBLE) - _ONE) if minus != 0 else np.uint64(0)
        digits = word & ~((minus << _NIBBLE) - (minus >> _NIBBLE))
        place = point >> _NIBBLE
        without_point = ((digits & (place - _ONE)) << _EIGHT) | (
            digits & ~((place << _EIGHT) - _ONE)
        )
        digits = without_point if point != 0 else digits
        wrong |= np.uint64(digits == 0) & np.uint64(word != 0)
        value = np.float64(np.int64(eight_digits(digits)))
        value /= np.float64(np.int64(eight_digits(place if point != 0 else _LAST_BYTE)))
        value = -value if minus != 0 else value
        values[at + k] = value if word != 0 else values[at + k]
    return wrong == 0
