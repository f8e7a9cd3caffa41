"""The namespace or column of a feature in a table, from its key and name.

A feature is called `namespace=name`, and its key is the hash of the name with that of the namespace
as the seed (rarefy/hashing.py). By the key, it is known which `=` is meant, and that a cross, whose
name begins with that of a namespace, too, is of none.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.hashing import xxh64
from rarefy.jit import compiled
from rarefy.readers.feature_names import EQUALS
from rarefy.stores.name_texts import LENGTH_BYTES, NO_NAME, NameTexts, name_length

OF_NONE = -1


def namespaces_of(
    slots: NDArray[np.int64], keys: NDArray[np.uint64], names: NameTexts
) -> list[str | None]:
    """The namespaces of the features in these slots, and None for features without one.

    A column of numbers is a feature by itself, called as the column is; an index is, too.
    """
    lengths = np.empty(len(slots), np.int64)
    _find(keys, names.at[slots], names.text, lengths)
    return [
        _text(names, int(names.at[slot]), int(key), length)
        for slot, key, length in zip(slots, keys, lengths.tolist(), strict=True)
    ]


def _text(names: NameTexts, at: int, key: int, length: int) -> str | None:
    if at == NO_NAME:
        return str(key)
    if length == OF_NONE:
        return None
    begin = at + LENGTH_BYTES
    return names.text[begin : begin + length].tobytes().decode()


@compiled
def _find(keys: Any, name_at: Any, text: Any, lengths: Any) -> None:
    """Write the length of each name's namespace, or OF_NONE."""
    for j in range(len(keys)):
        lengths[j] = OF_NONE
        if name_at[j] == NO_NAME:
            continue
        begin = name_at[j] + LENGTH_BYTES
        end = begin + name_length(text, name_at[j])
        for i in range(begin, end + 1):
            name = min(i + 1, end)
            if (i == end or text[i] == EQUALS) and keys[j] == xxh64(
                text, name, end, xxh64(text, begin, i, np.uint64(0))
            ):
                lengths[j] = i - begin
                break
