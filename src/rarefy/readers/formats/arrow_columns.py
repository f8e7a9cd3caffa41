"""Columns of a Parquet or Arrow file: from values to keys and numbers, a column at a time."""

import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from rarefy.errors import InputError
from rarefy.hashing import hash_text, xxh64
from rarefy.jit import compiled
from rarefy.readers.buffers import BatchBuffer, new_buffer
from rarefy.readers.feature_names import EQUALS, Names, note_name
from rarefy.readers.features.grams import (
    ENTRIES_FULL,
    NAMES_FULL,
    WordsSoFar,
    expansion,
    room_for_words,
)
from rarefy.readers.features.labels import Labels, listed
from rarefy.readers.features.words import WordTables, add_words
from rarefy.readers.formats.arrow_schema import Leaf
from rarefy.readers.formats.arrow_values import (
    Texts,
    as_bytes,
    as_numbers,
    as_texts,
    decoded,
    flat,
    is_not_utf8,
    text_form,
)
from rarefy.readers.parsed import EXPECTED, Problem

MISSING = -1


class Entries(NamedTuple):
    """The features of one column: so many in each row, one row after the other."""

    counts: NDArray[np.int64]
    keys: NDArray[np.uint64]
    values: NDArray[np.float64]


class Column:
    """The features of one column of a batch."""

    expected: str  # of a value that is bad

    def __init__(self, leaf: Leaf, array: Any) -> None:
        self.leaf = leaf
        self.array, self.lengths = flat(array)
        self.seed = np.uint64(hash_text(leaf.name))
        self.prefix = as_bytes(leaf.name.encode())
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
            values = decoded(array.dictionary)
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
        return repr(decoded(self.array[value : value + 1])[0].as_buffer().to_pybytes())


class TextColumn(Column):
    """Each word, and each of its n-grams, is a feature."""

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
        assert self.leaf.words is not None
        n_bytes, times = max(self.most_entries, len(lengths)), expansion(self.leaf.words.grams)
        buffer = new_buffer(n_bytes, expansion=times)._replace(names=names)
        words = room_for_words(int(self.lengths_of_texts.max(initial=0)))
        n = _cut_texts(self.texts, lengths, self.seed, self.prefix, self.leaf.words, words, buffer)
        if n == NAMES_FULL:
            return None
        if n == ENTRIES_FULL:
            raise too_many_grams(f"in the column {self.leaf.name!r}")
        return Entries(
            np.diff(buffer.indptr[: len(lengths) + 1]), buffer.keys[:n], buffer.values[:n]
        )

    shown = CategoricalColumn.shown


def too_many_grams(where: str) -> InputError:
    return InputError(f"{EXPECTED[Problem.TOO_MANY_GRAMS]} is expected {where}.")


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
    words: WordsSoFar,
    buffer: BatchBuffer,
) -> int:
    """Write the words of all rows; how many there are, or NAMES_FULL or ENTRIES_FULL."""
    entry, i = 0, 0
    for row in range(len(lengths)):
        for _ in range(lengths[row]):
            begin, end = texts.begins[i], texts.ends[i]
            i += 1
            entry = add_words(
                buffer, entry, tables, words, texts.data, begin, end, seed, (prefix, 0, len(prefix))
            )
            if entry < 0:
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
        encoded = text_form(decoded(self.array)).dictionary_encode()
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
    return None if is_not_utf8(text) else text.decode() or None
