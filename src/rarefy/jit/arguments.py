"""Arguments of compiled loops as numbers and addresses, in Numba's layout.

Read from Numba 0.68 and NumPy 2.4.
"""

import ctypes
from enum import IntEnum
from typing import Any

import numpy as np

SCALARS: dict[type, str] = {
    bool: "bool",
    np.bool_: "bool",
    np.int64: "int64",
    np.int32: "int32",
    np.float64: "float64",
}
LARGEST = 2**63 - 1
WHOLE_NUMBERS = range(-LARGEST, 2**64)
FLAGS_THAT_MATTER = 0x1 | 0x2 | 0x100 | 0x400  # NumPy's: C and Fortran order, aligned, writeable
HEAD_BYTES = object.__basicsize__  # behind which an array has the address of its data
_address = ctypes.c_size_t.from_address  # ten times as fast as asking the array


class UnknownArgumentError(Exception):
    """An argument of another kind than loops of our own have."""


def spread_out(values: tuple[Any, ...], kinds: list[Any], spread: list[Any]) -> None:
    """Append what the code has to be compiled for, and the numbers and addresses it is called with.

    An array is passed as Numba's struct of it: two owners (here none), number and size of items,
    address, shape and strides.
    """
    for value in values:
        if type(value) is float:
            kinds.append("float64")
            spread.append(value)
        elif isinstance(value, np.ndarray):
            kinds += (value.dtype, value.ndim, value.flags.num & FLAGS_THAT_MATTER)
            spread += (0, 0, value.size, value.itemsize, _address(id(value) + HEAD_BYTES).value)
            spread += value.shape
            spread += value.strides
        elif isinstance(value, tuple):
            kinds += (type(value), len(value))
            spread_out(value, kinds, spread)
        elif value is None:
            kinds.append(None)
            spread.append(0)
        elif type(value) is int and value in WHOLE_NUMBERS:
            kinds.append("int64" if value <= LARGEST else "uint64")
            spread.append(value if value <= LARGEST else value - 2**64)
        elif type(value) is np.uint64:
            kinds.append("uint64")
            spread.append(int(value.view(np.int64)))
        elif isinstance(value, IntEnum):
            kinds.append(type(value))
            spread.append(value)
        elif type(value) in SCALARS:
            kinds.append(SCALARS[type(value)])
            spread.append(value.item() if isinstance(value, np.generic) else value)
        else:
            raise UnknownArgumentError
