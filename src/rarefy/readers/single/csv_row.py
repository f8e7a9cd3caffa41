"""Single rows of CSV with their header: what the header means is worked out once and cached."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rarefy.arrays import read_only
from rarefy.errors import InputError
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import room_for_words
from rarefy.readers.features.labels import Labels
from rarefy.readers.features.words import word_tables
from rarefy.readers.formats.csv import LABEL_WORD, new_bounds, parse_csv
from rarefy.readers.formats.csv_columns import CsvFile, delimiter_in, open_csv_file
from rarefy.readers.parsed import Parsed
from rarefy.readers.source import PADDING, padded

END = b"\n" + PADDING
START = Parsed(0, 0, 0, 1, 0)


class SingleCsvRow:
    """Parses rows of CSV to the beginning of a buffer.

    Only what is known of all columns beforehand is kept: what is told from a row is told anew.
    """

    def __init__(
        self, columns: Columns, buffer: BatchBuffer, most_bytes: int, classes: Sequence[str]
    ) -> None:
        self._columns, self._buffer, self._classes = columns, buffer, classes
        self._known = {columns.label, columns.weight, *columns.kinds}
        self._most = most_bytes
        self._text = bytearray(most_bytes + len(END))
        self._data = read_only(np.frombuffer(self._text, np.uint8))
        self._header: bytes | None = None  # the last one
        self._parse: Callable[[int], Any] | None = None  # rows with that header
        self._has_words = False

    def parse(self, text: bytes) -> bool:
        """Whether a header and a row, without its end, are valid; it is in the buffer then."""
        if self._columns.header:
            header, end, row = text.partition(b"\n")
        else:  # then the delimiter may have to be told from the row
            delimiter = self._columns.delimiter or delimiter_in(text, self._columns)
            header, end, row = delimiter.encode(), b"\n", text
        if not end or b"\n" in row or len(row) > self._most:
            return False
        if header != self._header:
            self._open(header, text)
        if self._parse is None:
            return False
        self._text[: len(row) + len(END)] = row + END
        return bool(self._parse(len(row) + 1) == 1)

    def _open(self, header: bytes, text: bytes) -> None:
        """Find out what the columns are, and bind the call that parses their rows."""
        self._header, self._parse = header, None
        block = padded(text + b"\n", last=True)
        try:
            csv = open_csv_file("rows", block, self._columns, Labels(self._classes))
        except InputError:
            return
        n_header = len(header) + 1 if self._columns.header else 0
        if csv is None or block.begin != n_header or not self._known.issuperset(csv.roles):
            return
        self._has_words = bool((csv.table.roles == LABEL_WORD).any())
        self._parse = self._bound(csv)

    def _bound(self, csv: CsvFile) -> Callable[[int], Any] | None:
        undoubled = np.empty(self._most + 16, np.uint8)
        loop: Any = parse_csv
        return loop.bound(  # type: ignore[no-any-return]
            self._data,
            0,
            START,
            self._buffer,
            csv.dialect,
            csv.table,
            csv.labels.words,
            new_bounds(len(csv.table.roles) + 1),
            word_tables(csv.columns.ngram, csv.columns.skips),
            room_for_words(self._most),
            undoubled,
            read_only(undoubled),
            open_at=1,
        )

    @property
    def label(self) -> float | str:
        """That of the row that was parsed; NaN if it has none, or has to be read otherwise."""
        label = math.nan if self._columns.weight is not None else float(self._buffer.labels[0])
        return self._classes[int(label)] if self._has_words and not math.isnan(label) else label

    @property
    def weight(self) -> float:
        return 1.0  # where there is a column of weights, the label is read otherwise
