"""A parser of single lines of VW text, svmlight and JSON, with buffers that are used again.

Setting up a parser as for a file would take a hundred times as long as parsing one line.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import read_only
from rarefy.jit import compile_methods, compiled, helper
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.feature_names import ABSENT, Names, new_names
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import OF_NAMESPACES, grams_of, room_for_words
from rarefy.readers.formats.dict_parser import NOT_PLAIN
from rarefy.readers.formats.jsonl import plan_for
from rarefy.readers.formats.jsonl_parser import Plan, Scratch, parse_jsonl, scratch_for
from rarefy.readers.formats.line_parser import parse_lines
from rarefy.readers.formats.svmlight import Svmlight
from rarefy.readers.formats.vw import VowpalWabbit
from rarefy.readers.parsed import Parsed, Problem
from rarefy.readers.source import PADDING

FORMATS = ("vw", "svmlight", "json")
LONGEST_LINE = 1 << 12  # bytes
END = b"\n" + PADDING

_parse_lines = helper(parse_lines.function)  # type: ignore[attr-defined]
_parse_jsonl = helper(parse_jsonl.function)  # type: ignore[attr-defined]


@helper
def _is_one_row(parsed: Parsed) -> bool:
    """Whether a text is one line, and that is a row."""
    return parsed.problem == Problem.NONE and parsed.n_rows == 1 and parsed.line == 2


@compile_methods
class NumbersLine(NamedTuple):
    """A line of VW text or svmlight."""

    format: Any

    def is_recognised(self, data: Any) -> bool:
        """Whether a text would be taken for this format if it is valid; some are that are not."""
        return self.format.is_recognised(data)  # type: ignore[no-any-return]

    def parse(self, data: Any, end: int, buffer: BatchBuffer) -> bool:
        """Whether the text, which ends with a newline, is a valid row; it is in the buffer then."""
        return _is_one_row(_parse_lines(self.format, data, end, Parsed(0, 0, 0, 1, 0), buffer))


@compile_methods
class JsonLine(NamedTuple):
    """A line of JSON; labels that are words are left in the scratch."""

    plan: Plan
    scratch: Scratch
    labels_are_words: bool
    label_words: Names

    def is_recognised(self, data: Any) -> bool:
        """What is a valid object is taken for one."""
        return True

    def parse(self, data: Any, end: int, buffer: BatchBuffer) -> bool:
        """Whether the text is a valid row of known columns; it is in the buffer then.

        One with a column that is not known is left to the readers of files.
        """
        self.scratch.unknown[0] = ABSENT
        parsed = _parse_jsonl(
            data, end, Parsed(0, 0, 0, 1, 0), buffer, self.plan, self.scratch,
            self.labels_are_words, self.label_words,
        )  # fmt: skip
        return _is_one_row(parsed) and self.scratch.unknown[0] == ABSENT


LineFormat = NumbersLine | JsonLine


def line_format(format: str, columns: Columns, *, labels_are_words: bool = False) -> LineFormat:
    """What parses lines of a format, up to LONGEST_LINE, with memory of its own."""
    if format == "json":
        scratch = scratch_for(LONGEST_LINE + 1)
        return JsonLine(plan_for(columns), scratch, labels_are_words, new_names(1))
    if format == "svmlight":
        return NumbersLine(Svmlight())
    grams = grams_of(columns.ngram, columns.skips, OF_NAMESPACES)
    room = room_for_words(LONGEST_LINE + 1 if len(grams.sizes) else 0)
    return NumbersLine(VowpalWabbit(grams, room))


@compiled
def parse_line(format: Any, data: Any, end: Any, buffer: BatchBuffer) -> int:
    """Parse the text that has its end there to the beginning of a buffer; 0 if it is a row."""
    return 0 if format.parse(data, end[0], buffer) else NOT_PLAIN


def _numbers(array: Any) -> Any:
    """An array as something whose single numbers take less time to read and write."""
    return memoryview(array)


class SingleLineParser:
    """Parses lines of one format, each to the beginning of a buffer.

    In JSON, labels may be words, and are kept as such.
    """

    def __init__(
        self, format: str, columns: Columns, buffer: BatchBuffer, *, labels_are_words: bool = False
    ) -> None:
        self._labels, self._weights = _numbers(buffer.labels), _numbers(buffer.importance)
        self._text = bytearray(LONGEST_LINE + len(END))
        self._has_labels = has_labels(format, columns)
        self._format = line_format(format, columns, labels_are_words=labels_are_words)
        data, end = read_only(np.frombuffer(self._text, np.uint8)), np.zeros(1, np.int64)
        self._end = _numbers(end)
        loop: Any = parse_line
        self._parse: Callable[[], int] | None = loop.bound(self._format, data, end, buffer)

    def parse(self, line: bytes) -> bool:
        """Whether the line, without its end, is a valid row, which is in the buffer then."""
        n = len(line)
        if self._parse is None or n > LONGEST_LINE:
            return False
        self._text[: n + len(END)] = line + END
        self._end[0] = n + 1
        return self._parse() == 0

    @property
    def label(self) -> float | str:
        """That of the line that was parsed; NaN if it has none, or has to be read otherwise."""
        if not self._has_labels:
            return math.nan
        if isinstance(self._format, JsonLine) and self._format.labels_are_words:
            scratch = self._format.scratch
            text = scratch.label[: scratch.label_size.item(0)].tobytes()
            return text.decode() if text else math.nan
        return self._labels[0]  # type: ignore[no-any-return]

    @property
    def weight(self) -> float:
        """That of the line that was parsed."""
        return float(self._weights[0])


def has_labels(format: str, columns: Columns) -> bool:
    """Whether the label of a line is all that has to be known of it beside its features."""
    return format != "json" or columns.weight is None
