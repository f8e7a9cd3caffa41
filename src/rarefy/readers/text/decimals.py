"""Correctly rounded conversion of decimal numbers, compiled.

Numbers of up to 19 digits are multiplied by a power of five of 128 bits, which is always enough
(Mushtak and Lemire, Fast number parsing without fallback, 2023). Of longer ones the first 19 digits
lie between two numbers that mostly have the same nearest double. If they have not, all digits are
compared with the number half-way between the two doubles.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import helper
from rarefy.jit.intrinsics import N_STACK_WORDS, leading_zeros, multiply_high, words_on_stack

SMALLEST_POWER, LARGEST_POWER = -342, 308  # of ten, that 19 digits can have in a finite double
INFINITY = np.uint64(0x7FF0000000000000)
DIGITS = 19  # that fit 64 bits, whatever they are
POINT, ZERO = 46, 48

_ONE, _HALF_WORD, _FRACTION_BITS = np.uint64(1), np.uint64(32), np.uint64(52)
_LOWER_HALF = np.uint64(0xFFFFFFFF)
_IN_DOUBT = np.uint64(0x1FF)  # below the bits of a double, and one more: more bits may carry
_HIDDEN = _ONE << _FRACTION_BITS


def _power_of_five(power: int) -> int:
    """The first 128 bits of 5**power; of 1/5 to 1/5**27 the next larger number."""
    if power >= 0:
        five = int(5**power)
        return five << 128 >> five.bit_length()
    five = int(5**-power)
    return (1 << five.bit_length() + 127) // five + (power >= -27)


def _powers_of_five() -> NDArray[np.uint64]:
    powers = map(_power_of_five, range(SMALLEST_POWER, LARGEST_POWER + 1))
    halves = [(power >> 64, power & 0xFFFFFFFFFFFFFFFF) for power in powers]
    return np.array(halves, np.uint64)


_POWERS_OF_FIVE = _powers_of_five()


@helper
def nearest(digits: Any, power: Any) -> Any:
    """The bits of the double nearest to digits * 10**power."""
    if digits == 0 or power < SMALLEST_POWER:
        return np.uint64(0)
    if power > LARGEST_POWER:
        return INFINITY
    place = power - SMALLEST_POWER
    five, five_low = _POWERS_OF_FIVE[place, 0], _POWERS_OF_FIVE[place, 1]
    n_zeros = leading_zeros(digits)
    digits <<= n_zeros
    high, low = multiply_high(digits, five), digits * five
    if high & _IN_DOUBT == _IN_DOUBT:
        more = multiply_high(digits, five_low)
        low += more
        high += np.uint64(low < more)
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)
    mantissa = high >> shift  # with one bit more than a double has
    log2_of_power = (217706 * power) >> 16
    exponent = log2_of_power + np.int64(top) - np.int64(n_zeros) + 1086
    if exponent <= 0:
        if exponent < -62:
            return np.uint64(0)
        mantissa >>= np.uint64(1 - exponent)
        return (mantissa + (mantissa & _ONE)) >> _ONE
    is_half_way = low <= _ONE and -4 <= power <= 23 and mantissa << shift == high
    if is_half_way and mantissa & np.uint64(3) == _ONE:
        mantissa -= _ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    return min((np.uint64(exponent - 1) << _FRACTION_BITS) + mantissa, INFINITY)


@helper
def nearest_to_text(data: Any, begin: int, end: int, power: Any) -> Any:
    """The bits of the double nearest to digits, from begin to end, times a power of ten.

    There may be a point among them; they stand for a whole number whatever the point, and the power
    for all the rest.
    """
    digits, n_digits, more = np.uint64(0), 0, np.uint64(0)
    first, point = begin, end
    for i in range(begin, end):
        if data[i] == POINT:
            point = i
            continue
        digit = np.uint64(data[i] - ZERO)
        if n_digits == 0:
            first = i
        if n_digits > 0 or digit > 0:
            n_digits += 1
        if n_digits <= DIGITS:
            digits = digits * np.uint64(10) + digit
        else:
            more |= digit
    power_of_first = power + max(n_digits - DIGITS, 0)
    below = nearest(digits, power_of_first)
    if more == 0 or nearest(digits + _ONE, power_of_first) == below:
        return below
    order = _compared_with_half_way(data, first, point, n_digits, n_digits + power, below)
    return below + np.uint64(order > 0 or (order == 0 and below & _ONE == _ONE))


@helper
def _digit(data: Any, first: int, point: int, n_digits: int, k: int) -> Any:
    """The digit k, where 0 is the first that is not zero."""
    if k < 0 or k >= n_digits:
        return np.uint64(0)
    i = first + k
    return np.uint64(data[i + (first < point <= i)] - ZERO)


@helper
def _half_word(mantissa: Any, shift: Any) -> Any:
    """The lowest 32 bits of mantissa * 2**shift, without its fraction."""
    if shift >= 32 or shift <= -64:
        return np.uint64(0)
    shifted = mantissa << np.uint64(shift) if shift >= 0 else mantissa >> np.uint64(-shift)
    return shifted & _LOWER_HALF


@helper
def _compared_with_half_way(
    data: Any, first: int, point: int, n_digits: int, n_before_point: int, below: Any
) -> int:
    """-1, 0 or 1, as a number is less than, equal to or more than the middle of two doubles.

    The number has its point behind so many of its digits; `below` are the bits of the lower double.
    The parts before the point are compared first, then digit by digit those behind it.
    """
    exponent = np.int64(below >> _FRACTION_BITS)
    mantissa = below & (_HIDDEN - _ONE)
    if exponent > 0:
        mantissa |= _HIDDEN
        exponent -= 1
    mantissa = (mantissa << _ONE) | _ONE
    exponent -= 1075
    words = words_on_stack()
    n_words = N_STACK_WORDS
    for j in range(n_words):
        words[j] = 0
    for k in range(n_before_point):
        carry = _digit(data, first, point, n_digits, k)
        for j in range(n_words):
            carry += words[j] * np.uint64(10)
            words[j] = carry & _LOWER_HALF
            carry >>= _HALF_WORD
    for j in range(n_words - 1, -1, -1):
        middle = _half_word(mantissa, exponent - 32 * j)
        if words[j] != middle:
            return 1 if words[j] > middle else -1
    for j in range(n_words):
        words[j] = _half_word(mantissa, exponent + 32 * (j + 1))
    for k in range(n_before_point, n_digits):
        while n_words > 0 and words[n_words - 1] == 0:
            n_words -= 1
        carry = np.uint64(0)
        for j in range(n_words - 1, -1, -1):
            carry += words[j] * np.uint64(10)
            words[j] = carry & _LOWER_HALF
            carry >>= _HALF_WORD
        digit = _digit(data, first, point, n_digits, k)
        if digit != carry:
            return 1 if digit > carry else -1
    for j in range(n_words):
        if words[j] != 0:
            return -1
    return 0
