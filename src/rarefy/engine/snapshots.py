"""The state of a learner as named numbers and arrays, for model files."""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def put_back(target: NDArray[Any], numbers: NDArray[Any], *, may_be_infinite: bool = False) -> None:
    """Write what was read to where it came from; there must be as many numbers, none of them NaN.

    They come in any shape.
    """
    if not (np.abs(numbers) <= (math.inf if may_be_infinite else sys.float_info.max)).all():
        raise ValueError("some of the numbers are none")
    target[...] = numbers.reshape(target.shape)


def checked_whole(number: Any, least: int, end: int | None = None) -> int:
    """A number that was read, if it is a whole one in that range."""
    if type(number) is not int or number < least or (end is not None and number >= end):
        raise ValueError("a whole number is out of its range")
    return number
