"""Reading single rows into a buffer that is allocated once."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rarefy.arrays import Floats, Numbers
from rarefy.checks import number_or_none
from rarefy.readers.buffers import BatchBuffer, new_buffer
from rarefy.readers.feature_names import forget_names
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import OF_TEXTS, expansion, grams_of
from rarefy.readers.features.row_crosses import RowCrosses
from rarefy.readers.formats.dict_parser import DictScratch
from rarefy.readers.formats.jsonl import plan_for
from rarefy.readers.single.csv_row import SingleCsvRow
from rarefy.readers.single.line_parsing import FORMATS, LONGEST_LINE, SingleLineParser
from rarefy.readers.single.row_loop import LineMemory, OwnTargets, line_memory, read_rows

NO_TARGET = np.zeros(1)  # is asked for


def no_names() -> int:
    """There is nothing to forget."""
    return 0


Parser = SingleLineParser | SingleCsvRow
Step = tuple[Any, tuple[Any, ...]]  # a loop and its arguments


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
        self.plan = plan_for(columns) if columns.named else None  # None: dicts become lines
        self.expansion = expansion(grams_of(columns.ngram, columns.skips, OF_TEXTS))

    def parser(self, format: str, buffer: Any) -> Parser:
        """What parses lines into a buffer."""
        if format == "csv":
            return SingleCsvRow(self.columns, buffer, LONGEST_LINE, self.classes())
        words = self._labels_are_words(format)
        return SingleLineParser(format, self.columns, buffer, labels_are_words=words)

    def line_memory(self, format: str | None, own: OwnTargets) -> LineMemory | None:
        """For loops that parse lines themselves; None if they do not."""
        if format not in FORMATS:
            return None
        words = self._labels_are_words(format)
        return line_memory(format, self.columns, own, labels_are_words=words)

    def _labels_are_words(self, format: str) -> bool:
        return format == "json" and any(number_or_none(name) is None for name in self.classes())


class SingleRowReading:
    """Reads rows into `buffer`, and what their features are called into `names`, if asked for."""

    def __init__(self, form: RowForm, n_rows: Numbers, n_entries: int, *, names: bool) -> None:
        self._form, self._n_rows = form, n_rows
        is_crossed = form.crosses.is_needed
        self._raw = new_buffer(n_entries, groups=is_crossed, names=names, expansion=form.expansion)
        self.buffer, self.names = self._raw, self._raw.names
        self._crossing: list[Step] = []
        if is_crossed:
            self.buffer = new_buffer(n_entries)
            self._crossing = [form.crosses.step(n_rows, self._raw, self.buffer)]
        self._parsers: dict[str, Parser] = {}
        loop: Any = forget_names
        self.forget_names = loop.bound(self.names) or no_names if names else no_names

    def read_line(self, text: bytes, format: str) -> Parser | None:
        """What has parsed a line without its end; None if it is no plain row. Steps follow."""
        parser = self._parsers.get(format)
        if parser is None:
            parser = self._parsers[format] = self._form.parser(format, self._raw)
        return parser if parser.parse(text) else None

    def steps(
        self,
        objects: Numbers,
        scratch: DictScratch,
        line: LineMemory | None = None,
        y: Floats = NO_TARGET,
        importance: Floats = NO_TARGET,
    ) -> list[Step]:
        """Loops that read rows, given by their addresses, and make their crosses."""
        how = self._form.plan, scratch, line, y, importance
        return [(read_rows, (self._n_rows, objects, *how, self._raw)), *self._crossing]


class ObjectReading:
    """Reads one dict or line at a time, given by its address, with memory of its own.

    `given` has the address, a target, and its importance.
    """

    def __init__(
        self, form: RowForm, n_entries: int, scratch: DictScratch, line: LineMemory | None
    ) -> None:
        self.given, self.n_rows = np.zeros(3), np.ones(1, np.int64)
        self.has_words = np.zeros(1, np.int64)
        self._reading = SingleRowReading(form, self.n_rows, n_entries, names=False)
        self._scratch, self._line = scratch._replace(has_words=self.has_words), line

    @property
    def buffer(self) -> BatchBuffer:
        return self._reading.buffer

    def steps(self, *, is_learned: bool) -> list[Step]:
        """Loops that read the object, also its own target if it is to be learned."""
        objects = self.given[:1].view(np.int64)
        targets = (self.given[1:2], self.given[2:]) if is_learned else ()
        return self._reading.steps(objects, self._scratch, self._line, *targets)
