"""Reading single rows into a buffer that is allocated once."""

from collections.abc import Callable, Sequence
from typing import Any

from rarefy.arrays import Numbers
from rarefy.checks import number_or_none
from rarefy.readers.buffers import new_buffer
from rarefy.readers.feature_names import forget_names
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import OF_TEXTS, expansion, grams_of
from rarefy.readers.features.row_crosses import DONE, RowCrosses
from rarefy.readers.formats.dict_parser import DictScratch, read_dicts
from rarefy.readers.formats.jsonl_parser import Plan
from rarefy.readers.single_csv_row import SingleCsvRow
from rarefy.readers.single_line_parser import SingleLineParser

LONGEST_LINE = 1 << 12  # bytes

Parser = SingleLineParser | SingleCsvRow


def refuse() -> int:
    """In the place of a call that cannot be bound."""
    return -1


class RowForm:
    """What rows are like: their columns, what is crossed, and which classes there are now."""

    def __init__(
        self, columns: Columns, cross: Sequence[Any], classes: Callable[[], Sequence[str]]
    ) -> None:
        self.columns, self.classes = columns, classes
        has_columns = columns.named or columns.complete
        self.crosses = RowCrosses(cross, () if has_columns else columns.ignore)
        if has_columns:
            self.line_formats: tuple[str, ...] = ("json", "csv")
        else:
            self.line_formats = ("vw",) if self.crosses.is_needed else ("vw", "svmlight")
        self.reads_dicts = columns.named
        self.expansion = expansion(grams_of(columns.ngram, columns.skips, OF_TEXTS))

    def parser(self, format: str, buffer: Any) -> Parser:
        """What parses lines into a buffer."""
        classes = self.classes()
        if format == "csv":
            return SingleCsvRow(self.columns, buffer, LONGEST_LINE, classes)
        words = any(number_or_none(name) is None for name in classes)
        return SingleLineParser(format, self.columns, buffer, LONGEST_LINE, labels_are_words=words)


class SingleRowReading:
    """Reads rows into `buffer`, and what their features are called into `names`, if asked for."""

    def __init__(self, form: RowForm, n_rows: Numbers, n_entries: int, *, names: bool) -> None:
        self._form = form
        is_crossed = form.crosses.is_needed
        self._raw = new_buffer(n_entries, groups=is_crossed, names=names, expansion=form.expansion)
        self.buffer, self.names = self._raw, self._raw.names
        self._cross: Callable[[], int | None] | None = None
        if is_crossed:
            self.buffer = new_buffer(n_entries)
            self._cross = form.crosses.bound(n_rows, self._raw, self.buffer) or refuse
        self._parsers: dict[str, Parser] = {}
        loop: Any = forget_names
        self._forget_names = loop.bound(self.names) if names else None

    def read_line(self, text: bytes, format: str) -> Parser | None:
        """What has parsed a line without its end; None if it is no plain row."""
        parser = self._parsers.get(format)
        if parser is None:
            parser = self._parsers[format] = self._form.parser(format, self._raw)
        if self._forget_names is not None:
            self._forget_names()
        if not parser.parse(text) or (self._cross is not None and self._cross() != DONE):
            return None
        return parser

    def dict_reader(
        self, n_rows: Numbers, dicts: Numbers, plan: Plan, scratch: DictScratch
    ) -> Callable[[], bool]:
        """What reads so many dicts, given by their addresses; whether they are plain."""
        loop: Any = read_dicts
        read = loop.bound(n_rows, dicts, plan, scratch, self._raw) or refuse

        def read_all() -> bool:
            if self._forget_names is not None:
                self._forget_names()
            return read() >= 0 and (self._cross is None or self._cross() == DONE)

        return read_all
