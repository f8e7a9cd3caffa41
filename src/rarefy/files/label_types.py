"""The types of labels that a model file can hold."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.errors import InputError

USUAL = {np.dtype(name): name for name in ("int64", "uint64", "float64", "bool", "object")}
TEXT = "str"  # as wide as the longest label
WIDEST = 255  # characters of a text type that is wider than its labels
OTHERS = re.compile(r"[<>|][iu][1248]|[<>]f(2|4|8|16)|[<>]U[1-9]\d{0,2}", re.ASCII)


def label_type(name: str, labels: NDArray[Any]) -> str:
    """How the type of labels is written; labels that are neither numbers nor texts are refused."""
    dtype = labels.dtype
    is_text = all(isinstance(label, str) for label in labels) if dtype.kind == "O" else True
    if dtype.kind not in "iufbUO" or not is_text:
        raise InputError(
            f"Unknown label type: {name} is an array of {dtype}; whole numbers, texts, or True and "
            f"False are expected."
        )
    if dtype.kind != "U":
        return USUAL.get(dtype, dtype.str)
    width = max(map(len, labels.tolist()), default=1)
    is_usual = dtype == np.dtype(f"U{width}") or dtype.itemsize > 4 * WIDEST
    return TEXT if is_usual else dtype.str


def is_label_type(written: Any) -> bool:
    """Whether `label_type` can have written it."""
    if not isinstance(written, str):
        return False
    return written == TEXT or written in USUAL.values() or OTHERS.fullmatch(written) is not None


def label_names(labels: NDArray[Any]) -> tuple[str, ...]:
    """The labels as a model file has them."""
    return tuple(map(str, labels.tolist()))


def labels_named(names: tuple[str, ...], written: str) -> NDArray[Any]:
    """The labels that have these names; names that no label of this type has are refused."""
    values = [name == "True" for name in names] if written == "bool" else names
    labels = np.array(values, dtype=written)
    if labels.dtype.kind != "f" and label_names(labels) != names:
        raise ValueError("labels of this type have other names")
    return labels
