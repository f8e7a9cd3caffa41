"""Validation of row caches, whoever wrote them.

Compiled code does not look where it reads and writes, so that everything that leads it somewhere
is checked before: types, offsets, places, numbers of labels.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import LARGEST_VALUE
from rarefy.checks import is_text
from rarefy.readers.batch import Batch
from rarefy.readers.features.columns import Columns, checked_columns
from rarefy.stores.unique_slots import are_within

Texts = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint8]]
MOST_LINES = 1 << 63
NO_CHARACTER = 0b10000000  # what the first two bits of a byte are that no character begins with


class End(NamedTuple):
    """What the last batch says."""

    columns: Columns
    findings: dict[str, int]
    n_bad_lines: int
    bad_lines: list[str]


def checked_end(about: dict[str, Any], findings: dict[str, int]) -> End:
    """What the last batch says; its findings are of the same kind as these."""
    end = End(
        checked_columns(Columns(*about["columns"])),
        dict(about["findings"]),
        about["n_bad_lines"],
        list(about["bad_lines"]),
    )
    counts = (end.n_bad_lines, *end.findings.values())
    _require(all(type(count) is int and 0 <= count < MOST_LINES for count in counts))
    _require(end.findings.keys() == findings.keys())
    _require(all(map(is_text, end.bad_lines)))
    _require(bool(end.bad_lines) or end.n_bad_lines == 0)
    return end


def check_batch(batch: Batch, most_keys: int) -> None:
    indptr, places, labels = batch.indptr, batch.keys, batch.labels
    _require(is_text(batch.path))
    kinds = {
        np.int64: (indptr, batch.lines),
        np.float64: (labels, batch.importance, batch.values),
        np.uint64 if most_keys > 1 << 32 else np.int32: (places,),
    }
    for kind, arrays in kinds.items():
        _require(all(array.dtype == kind for array in arrays))
    _require(bool((np.diff(indptr, prepend=0) >= 0).all()))
    _require(indptr[-1] <= min(len(places), len(batch.values)))
    _require(int(places.view(f"u{places.itemsize}").max(initial=0)) < most_keys)
    _require(are_within(batch.values, LARGEST_VALUE))
    _require(are_within(batch.importance, LARGEST_VALUE))
    _require(float(batch.importance.min(initial=0.0)) >= 0.0)
    if batch.label_names is not None:
        _require(all(map(is_text, batch.label_names)))
        for numbers in (labels, batch.block_labels):
            if numbers is not None:
                _check_numbers(numbers, len(batch.label_names))


def checked_texts(keys: NDArray[Any], ends: NDArray[Any], text: NDArray[Any]) -> Texts:
    """The keys, ends and text of names, each of which is whole and in UTF-8."""
    _require(keys.dtype == np.uint64 and ends.dtype == np.int64 and text.dtype == np.uint8)
    _require(len(ends) == len(keys))
    _require(bool((np.diff(ends, prepend=0) >= 0).all()))
    _require(int(ends[-1] if len(ends) else 0) == len(text))
    text.tobytes().decode()
    begins = ends[ends < len(text)]
    _require(not (text[begins] >> 6 == NO_CHARACTER >> 6).any())
    return keys, ends, text


def _check_numbers(numbers: NDArray[np.float64], n_names: int) -> None:
    _require(bool((np.floor(numbers) == numbers).all()))
    _require(float(numbers.min(initial=0.0)) >= 0.0 and float(numbers.max(initial=-1.0)) < n_names)


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("no reader gives such rows")
