"""Columns of a Parquet or Arrow file: from Arrow's arrays to keys and values, column by column.

Values of a categorical column that are not text are taken by their text: value_texts.py says which.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from rarefy.hashing import hash_text, xxh64
from rarefy.jit import compiled
from rarefy.readers.buffers import BatchBuffer, new_buffer
from rarefy.readers.feature_names import EQUALS, Names, note_name
from rarefy.readers.features.labels import Labels, listed
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
from rarefy.readers.features.words import (
    NAMES_FULL,
    WordTables,
    add_words,
    new_scratch,
    word_tables,
)
from rarefy.readers.formats.arrow_schema import LISTS, Leaf, is_text
from rarefy.readers.text.numbers import NEWLINE, parse_number

MISSING = -1


class Texts(NamedTuple):
    """Strings laid end to end; a missing one is as an empty one."""

    data: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


class Entries(NamedTuple):
    """The features of one column: so many in each row, one row after the other."""

    counts: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]


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


def plain(array: Any) -> Any:
    """The array without a dictionary and without views."""
    array = _storage(array)
    if types.is_dictionary(array.type):
        return plain(array.dictionary).take(array.indices)
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
    array = plain(array)
    if is_text(array.type) or types.is_decimal(array.type):  # PyArrow rounds decimals less well
        texts, _ = as_texts(array)
        return _parsed_numbers(texts), texts.ends > texts.begins
    numbers = pc.cast(array, pa.float64(), safe=False)
    return numbers.to_numpy(zero_copy_only=False), _mask(numbers.is_valid())


def as_texts(array: Any, form: str | None = None) -> tuple[Texts, NDArray[np.bool_]]:
    """The values as text, and which of them are not in UTF-8; those have none."""
    array = _text_form(plain(array), form)
    try:
        array.cast(pa.large_string())
        not_utf8 = np.zeros(len(array), np.bool_)
    except pa.ArrowInvalid:
        not_utf8 = np.array([_is_not_utf8(text) for text in array.to_pylist()], np.bool_)
    _, offsets, data = array.buffers()
    bounds = _items(offsets, np.int64, array.offset, len(array) + 1 if len(array) else 0)
    ends = bounds[1:]
    if array.null_count or not_utf8.any():
        ends = np.where(_mask(array.is_valid()) & ~not_utf8, ends, bounds[:-1])
    return Texts(_bytes(data), _read_only(bounds[:-1]), _read_only(ends)), not_utf8


def _text_form(array: Any, form: str | None = None) -> Any:
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
    elif not is_text(array.type):
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


def _is_not_utf8(text: bytes | None) -> bool:
    try:
        (text or b"").decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _mask(array: Any) -> NDArray[np.bool_]:
    return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _bytes(buffer: Any) -> NDArray[np.uint8]:
    return _read_only(np.frombuffer(b"" if buffer is None else buffer, np.uint8))


def _items(buffer: Any, of: type[Any], first: int, count: int) -> NDArray[Any]:
    """A part of a buffer; one of nothing may be missing."""
    if count == 0:
        return np.empty(0, of)
    return np.frombuffer(buffer, of, count, first * np.dtype(of).itemsize)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """All arrays alike, so that they are compiled for only once."""
    array = array.view()
    array.flags.writeable = False
    return array


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


# --- features ------------------------------------------------------------------------------


class Column:
    """The features of one column of a batch."""

    expected: str  # of a value that is bad

    def __init__(self, leaf: Leaf, array: Any) -> None:
        self.leaf = leaf
        self.array, self.lengths = flat(array)
        self.seed = np.uint64(hash_text(leaf.name))
        self.prefix = _bytes(leaf.name.encode())
        self.bad: NDArray[np.bool_]  # which values cannot be taken

    @property
    def most_entries(self) -> int:
        return len(self.array)

    def entries(self, names: Names) -> Entries | None:
        """The features; None if there is no room for all of their names."""
        raise NotImplementedError

    def rows(self, values: NDArray[np.intp]) -> NDArray[np.intp]:
        """The rows in which values stand."""
        if self.lengths is None:
            return values
        return np.repeat(np.arange(len(self.lengths)), self.lengths)[values]

    def shown(self, value: int) -> str:
        """A value that is bad, for a message."""
        found = self.array[value].as_py()
        return repr(found.item() if isinstance(found, np.generic) else found)

    def _entries(
        self, used: NDArray[np.bool_], keys: NDArray[np.uint64], values: NDArray[np.float64]
    ) -> Entries:
        """From a key and a number for each value; only those that are used are features."""
        counts = used.astype(np.int64)
        if self.lengths is not None:
            before = np.concatenate([[0], np.cumsum(counts)])
            ends = np.cumsum(self.lengths)
            counts = before[ends] - before[ends - self.lengths]
        if not used.all():
            keys, values = keys[used], values[used]
        return Entries(counts, keys, values)


class NumericColumn(Column):
    """A number is the value of the feature; in a list, there is a feature for each position."""

    expected = "a finite number (or nothing)"

    def __init__(self, leaf: Leaf, array: Any) -> None:
        super().__init__(leaf, array)
        self.numbers, self.used = as_numbers(self.array)
        self.bad = self.used & ~np.isfinite(self.numbers)

    def entries(self, names: Names) -> Entries | None:
        if self.lengths is None:
            positions, at = _texts([""]), np.zeros(len(self.numbers), np.int64)
        else:
            longest = int(self.lengths.max(initial=0))
            positions = _texts([str(position) for position in range(longest)])
            begins = np.cumsum(self.lengths) - self.lengths
            at = np.arange(len(self.numbers)) - np.repeat(begins, self.lengths)
        keys = np.empty(len(positions.ends), np.uint64)
        if not _hash_texts(positions, self.seed, self.prefix, True, keys, names):
            return None
        return self._entries(self.used, keys[at], self.numbers)


class CategoricalColumn(Column):
    """Each value is a feature; a list is a bag of values."""

    expected = "text in UTF-8"

    def __init__(self, leaf: Leaf, array: Any) -> None:
        super().__init__(leaf, array)
        array = self.array
        self.codes: NDArray[np.int64] | None = None  # which of the texts each value is
        if types.is_dictionary(array.type) and len(array.dictionary) <= len(array):
            self.codes = array.indices.cast(pa.int64()).fill_null(len(array.dictionary)).to_numpy()
            values = plain(array.dictionary)
            array = pa.concat_arrays([values, pa.nulls(1, values.type)])
        self.texts, bad = as_texts(array, leaf.form)
        self.bad = bad if self.codes is None else bad[self.codes]

    def entries(self, names: Names) -> Entries | None:
        keys = np.empty(len(self.texts.ends), np.uint64)
        if not _hash_texts(self.texts, self.seed, self.prefix, False, keys, names):
            return None
        used = self.texts.ends > self.texts.begins
        if self.codes is not None:
            used, keys = used[self.codes], keys[self.codes]
        return self._entries(used, keys, np.ones(len(keys)))

    def shown(self, value: int) -> str:
        return repr(plain(self.array[value : value + 1])[0].as_buffer().to_pybytes())


class TextColumn(Column):
    """Each word, and each pair of neighbouring words, is a feature."""

    expected = "text in UTF-8"

    def __init__(self, leaf: Leaf, array: Any) -> None:
        super().__init__(leaf, array)
        self.texts, self.bad = as_texts(self.array)
        self.lengths_of_texts = self.texts.ends - self.texts.begins

    @property
    def most_entries(self) -> int:
        return int(self.lengths_of_texts.sum())

    def entries(self, names: Names) -> Entries | None:
        lengths = self.lengths
        if lengths is None:
            lengths = np.ones(len(self.array), np.int64)
        buffer = new_buffer(max(self.most_entries, len(lengths)))._replace(names=names)
        scratch = new_scratch(int(self.lengths_of_texts.max(initial=0)))
        n = _cut_texts(self.texts, lengths, self.seed, self.prefix, word_tables(), scratch, buffer)
        if n == NAMES_FULL:
            return None
        return Entries(
            np.diff(buffer.indptr[: len(lengths) + 1]), buffer.keys[:n], buffer.values[:n]
        )

    shown = CategoricalColumn.shown


COLUMNS: dict[str, type[Column]] = {
    "numeric": NumericColumn,
    "categorical": CategoricalColumn,
    "text": TextColumn,
}


def _texts(texts: list[str]) -> Texts:
    return as_texts(pa.array(texts, pa.large_string()))[0]


@compiled
def _hash_texts(
    texts: Texts, seed: Any, prefix: Any, with_empty: bool, keys: Any, names: Names
) -> bool:
    """Write the keys of all texts; False if there is no room for all names."""
    data, begins, ends = texts.data, texts.begins, texts.ends
    names_wanted = len(names.table) > 0
    for i in range(len(ends)):
        begin, end = begins[i], ends[i]
        if end > begin or with_empty:
            keys[i] = key = xxh64(data, begin, end, seed)
            if names_wanted and not note_name(
                names, key, prefix, 0, len(prefix), EQUALS, data, begin, end
            ):
                return False
    return True


@compiled
def _cut_texts(
    texts: Texts,
    lengths: Any,
    seed: Any,
    prefix: Any,
    tables: WordTables,
    scratch: Any,
    buffer: BatchBuffer,
) -> int:
    """Write the words of all rows; how many there are, or NAMES_FULL."""
    entry, i = 0, 0
    for row in range(len(lengths)):
        for _ in range(lengths[row]):
            begin, end = texts.begins[i], texts.ends[i]
            i += 1
            entry = add_words(
                buffer, entry, tables, scratch, texts.data, begin, end, seed, prefix, 0, len(prefix)
            )
            if entry == NAMES_FULL:
                return entry
        buffer.indptr[row + 1] = entry
    return entry


@compiled
def place_entries(entries: Entries, seed: Any, is_good: Any, at: Any, buffer: BatchBuffer) -> None:
    """Put a column's features where those of each good row go on, and move on."""
    entry, good_row = 0, 0
    for row in range(len(is_good)):
        end = entry + entries.counts[row]
        if is_good[row]:
            to = at[good_row]
            for j in range(entry, end):
                buffer.keys[to] = entries.keys[j]
                buffer.values[to] = entries.values[j]
                if len(buffer.groups) > 0:
                    buffer.groups[to] = seed
                to += 1
            at[good_row] = to
            good_row += 1
        entry = end


# --- labels and weights --------------------------------------------------------------------


class WeightColumn(Column):
    expected = "a number >= 0 as the importance"

    def __init__(self, leaf: Leaf, array: Any) -> None:
        super().__init__(leaf, array)
        self.numbers, _ = as_numbers(self.array)
        self.bad = ~(np.isfinite(self.numbers) & (self.numbers >= 0.0))


class NumberLabels(Column):
    expected = "a number as the label"

    def __init__(self, leaf: Leaf, array: Any, *, needed: bool) -> None:
        super().__init__(leaf, array)
        numbers, _ = as_numbers(self.array)
        self._numbers = np.where(np.isfinite(numbers), numbers, np.nan)
        self.bad = np.isnan(self._numbers) & needed

    def numbers(self, is_good: NDArray[np.bool_]) -> NDArray[np.float64]:
        return self._numbers[is_good]


class WordLabels(Column):
    """Labels that are words; new ones get the next numbers, unless all classes are known."""

    def __init__(self, leaf: Leaf, array: Any, labels: Labels, *, needed: bool) -> None:
        super().__init__(leaf, array)
        self.labels = labels
        self._classes = frozenset(labels.classes)
        encoded = _text_form(plain(self.array)).dictionary_encode()
        self.codes = encoded.indices.fill_null(MISSING).to_numpy()
        words = [_word(text) for text in encoded.dictionary.to_pylist()]
        self.words = [*words, None]  # the last is what MISSING leads to
        unknown = np.array([not self._is_possible(word) for word in self.words])
        self.bad = unknown[self.codes] & needed
        self.expected = "a label"
        if labels.classes:
            self.expected = f"one of {listed(labels.classes)} as the label"

    def _is_possible(self, word: str | None) -> bool:
        return word is not None and (not self._classes or word in self._classes)

    def numbers(self, is_good: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The number of each good row's label; words get theirs in the order of the rows."""
        codes = self.codes[is_good]
        first_seen, at = np.unique(codes, return_index=True)
        in_order = {code: self.words[code] for code in first_seen[np.argsort(at)].tolist()}
        used = {code: word for code, word in in_order.items() if self._is_possible(word)}
        self.labels.add(word for word in used.values() if word is not None)
        known = {name: number for number, name in enumerate(self.labels.names or ())}
        numbers: NDArray[np.float64] = np.full(len(self.words), math.nan)
        for code, word in used.items():
            numbers[code] = known[word]
        found: NDArray[np.float64] = numbers[codes]
        return found


def _word(text: bytes) -> str | None:
    """A label; None for one that is empty or not in UTF-8."""
    return None if _is_not_utf8(text) else text.decode() or None
