"""Values of a Parquet or Arrow file, as numbers and as texts, from Arrow's arrays.

Those of a categorical column that are not text are taken by their text: value_texts.py says which.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from rarefy.arrays import read_only
from rarefy.jit import compiled
from rarefy.readers.features.value_texts import (
    DATE_FORM,
    FLOATS,
    LARGEST_WHOLE,
    OFFSET_FORM,
    TRUTHS,
    UNIT_FORMS,
    UTC_FORM,
    moment_form,
)
from rarefy.readers.formats.arrow_schema import LISTS, Leaf, is_text_type
from rarefy.readers.text.numbers import NEWLINE, parse_number


class Texts(NamedTuple):
    """Strings laid end to end; a missing one is as an empty one."""

    data: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


def leaf_array(batch: Any, leaf: Leaf) -> Any:
    """The array of a leaf; what is in a missing struct is missing."""
    array = _storage(batch.column(leaf.column))
    for field in leaf.fields:
        array = _storage(pc.struct_field(array, [field]))
    return array


def _storage(array: Any) -> Any:
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array


def flat(array: Any) -> tuple[Any, NDArray[np.int64] | None]:
    """The values of all lists, and how many each row has; None if there is one in each row."""
    if not any(is_list(array.type) for is_list in LISTS):
        return array, None
    lengths = pc.list_value_length(array).fill_null(0).to_numpy()
    return _storage(array.flatten()), lengths.astype(np.int64)


def decoded(array: Any) -> Any:
    """The array without a dictionary and without views."""
    array = _storage(array)
    if types.is_dictionary(array.type):
        return decoded(array.dictionary).take(array.indices)
    return without_views(array)


def without_views(array: Any) -> Any:
    """The array as large_binary, if it is one of views, with nothing for what is missing.

    PyArrow casts the views of missing values too, which may point anywhere.
    """
    if not (types.is_string_view(array.type) or types.is_binary_view(array.type)):
        return array
    _, buffer, *data = array.buffers()
    words = _items(buffer, np.uint64, 2 * array.offset, 2 * len(array))
    views = np.where(np.repeat(_mask(array.is_valid()), 2), words, np.uint64(0))
    buffers = [None, pa.py_buffer(views), *data]
    return pa.Array.from_buffers(pa.binary_view(), len(array), buffers).cast(pa.large_binary())


def as_numbers(array: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The values as numbers, NaN for all that is none, and which of them are there at all."""
    array = decoded(array)
    # PyArrow rounds decimals less well.
    if is_text_type(array.type) or types.is_decimal(array.type):
        texts, _ = as_texts(array)
        return _parsed_numbers(texts), texts.ends > texts.begins
    numbers = pc.cast(array, pa.float64(), safe=False)
    return numbers.to_numpy(zero_copy_only=False), _mask(numbers.is_valid())


def as_texts(array: Any, form: str | None = None) -> tuple[Texts, NDArray[np.bool_]]:
    """The values as text, and which of them are not in UTF-8; those have none."""
    array = text_form(decoded(array), form)
    try:
        array.cast(pa.large_string())
        not_utf8 = np.zeros(len(array), np.bool_)
    except pa.ArrowInvalid:
        not_utf8 = np.array([is_not_utf8(text) for text in array.to_pylist()], np.bool_)
    _, offsets, data = array.buffers()
    bounds = _items(offsets, np.int64, array.offset, len(array) + 1 if len(array) else 0)
    ends = bounds[1:]
    if array.null_count or not_utf8.any():
        ends = np.where(_mask(array.is_valid()) & ~not_utf8, ends, bounds[:-1])
    return Texts(as_bytes(data), read_only(bounds[:-1]), read_only(ends)), not_utf8


def text_form(array: Any, form: str | None = None) -> Any:
    """The text of all values, as large_binary."""
    is_number = types.is_floating(array.type) or types.is_integer(array.type)
    if form in TRUTHS and types.is_boolean(array.type):
        array = pc.if_else(array, *TRUTHS[form])
    elif form == FLOATS and is_number:
        array = _float_form(array)
    elif (moment := moment_form(form)) is not None and _is_moment(array.type, *moment):
        array = _moment_form(array, *moment)
    elif types.is_floating(array.type):
        array = array.cast(pa.float32() if array.type == pa.float16() else array.type)
        is_whole = pc.and_(
            pc.equal(array, pc.trunc(array)), pc.less_equal(pc.abs(array), LARGEST_WHOLE)
        )
        whole = pc.cast(pc.if_else(is_whole, array, 0.0), pa.int64(), safe=False)
        array = pc.if_else(is_whole, whole.cast(pa.string()), array.cast(pa.string()))
    elif not is_text_type(array.type):
        array = array.cast(pa.string())
    return array.cast(pa.large_binary())


def _float_form(array: Any) -> Any:
    """Numbers as Python writes floats."""
    to = pa.float32() if array.type == pa.float16() else pa.float64()
    if array.type not in (pa.float32(), pa.float64()):
        array = array.cast(to, safe=False)
    encoded = array.dictionary_encode()
    texts = [str(value) for value in encoded.dictionary.to_numpy(zero_copy_only=False)]
    return pa.array(texts, pa.string()).take(encoded.indices)


def _is_moment(type: Any, moment: str, zone: str) -> bool:
    """Whether values of a type can have that form: with a zone, or without one."""
    if types.is_date(type):
        return not zone
    return types.is_timestamp(type) and (type.tz is not None) == bool(zone)


def _moment_form(array: Any, moment: str, zone: str) -> Any:
    """Dates and moments in a form; with all their decimals where the form would lose some."""
    if types.is_date(array.type) and moment != DATE_FORM:
        array = array.cast(pa.timestamp("ms"))
    if zone == UTC_FORM:
        array = array.cast(pa.timestamp(array.type.unit, "UTC"))
    unit = next((unit for unit, of in UNIT_FORMS.items() if len(of) == len(moment)), None)
    to = pa.date32() if unit is None else pa.timestamp(unit, array.type.tz)
    cut = array.cast(to, safe=False)
    is_same = pc.equal(cut.cast(array.type, safe=False), array)
    texts = pc.replace_substring(cut.cast(pa.string()), " ", moment[10:11])
    if zone not in ("", UTC_FORM):
        texts = pc.replace_substring_regex(texts, "Z$", OFFSET_FORM)
    if ":" in zone:
        texts = pc.replace_substring_regex(texts, r"(\d\d)$", r":\1")
    return pc.if_else(is_same, texts, array.cast(pa.string()))


def is_not_utf8(text: bytes | None) -> bool:
    try:
        (text or b"").decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _mask(array: Any) -> NDArray[np.bool_]:
    return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def as_bytes(buffer: Any) -> NDArray[np.uint8]:
    return read_only(np.frombuffer(b"" if buffer is None else buffer, np.uint8))


def _items(buffer: Any, of: type[Any], first: int, count: int) -> NDArray[Any]:
    """A part of a buffer; one of nothing may be missing."""
    if count == 0:
        return np.empty(0, of)
    return np.frombuffer(buffer, of, count, first * np.dtype(of).itemsize)


def _parsed_numbers(texts: Texts) -> NDArray[np.float64]:
    """The numbers that the texts are; NaN for those that are none."""
    numbers = np.full(len(texts.ends), np.nan)
    longest = int((texts.ends - texts.begins).max(initial=0))
    _parse_numbers(texts, np.full(longest + 9, NEWLINE, np.uint8), numbers)
    return numbers


@compiled
def _parse_numbers(texts: Texts, scratch: NDArray[np.uint8], numbers: NDArray[np.float64]) -> None:
    for i in range(len(numbers)):
        length = texts.ends[i] - texts.begins[i]
        for k in range(length):
            scratch[k] = texts.data[texts.begins[i] + k]
        scratch[length] = NEWLINE
        number, end = parse_number(scratch, 0)
        if end == length:
            numbers[i] = number
