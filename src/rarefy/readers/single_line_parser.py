"""A parser of single lines of VW text, svmlight and JSON, with buffers that are used again.

Setting up a parser as for a file would take a hundred times as long as parsing one line.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.feature_names import ABSENT, new_names
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import OF_NAMESPACES, grams_of, room_for_words
from rarefy.readers.formats.jsonl import plan_for
from rarefy.readers.formats.jsonl_parser import parse_jsonl, scratch_for
from rarefy.readers.formats.line_parser import NO_ROW, parse_lines
from rarefy.readers.formats.svmlight import Svmlight
from rarefy.readers.formats.vw import VowpalWabbit
from rarefy.readers.parsed import Parsed
from rarefy.readers.source import PADDING

FORMATS = ("vw", "svmlight", "json")
END = b"\n" + PADDING
START = Parsed(0, 0, 0, 1, 0)


def _numbers(array: Any) -> Any:
    """An array as something whose single numbers take less time to read and write."""
    return memoryview(array)


class SingleLineParser:
    """Parses lines of one format, each to the beginning of a buffer.

    In JSON, labels may be words, and are kept as such.
    """

    def __init__(
        self,
        format: str,
        columns: Columns,
        buffer: BatchBuffer,
        most_bytes: int,
        *,
        labels_are_words: bool = False,
    ) -> None:
        self._ends = _numbers(buffer.indptr)  # of rows
        self._labels, self._weights = _numbers(buffer.labels), _numbers(buffer.importance)
        self._most = most_bytes
        self._text = bytearray(most_bytes + len(END))
        self._has_words = labels_are_words and format == "json"
        self._has_labels = format != "json" or columns.weight is None
        self._scratch = scratch_for(most_bytes + 1) if format == "json" else scratch_for(0)
        self._unknown = _numbers(self._scratch.unknown)
        data = np.frombuffer(self._text, np.uint8)
        data.flags.writeable = False
        self._parse = self._bound(format, columns, data, buffer)

    def _bound(
        self, format: str, columns: Columns, data: Any, buffer: BatchBuffer
    ) -> Callable[[int], Any] | None:
        """The call that parses the first so many bytes of the text; None: there is no such call."""
        if format == "json":
            of_json: Any = parse_jsonl
            how = plan_for(columns), self._scratch, self._has_words, new_names(1)
            return of_json.bound(data, 0, START, buffer, *how, open_at=1)  # type: ignore[no-any-return]
        parser: Any = Svmlight()
        if format == "vw":
            grams = grams_of(columns.ngram, columns.skips, OF_NAMESPACES)
            room = room_for_words(self._most + 1 if len(grams.sizes) else 0)
            parser = VowpalWabbit(grams, room)
        of_lines: Any = parse_lines
        return of_lines.bound(parser, data, 0, START, buffer, open_at=2)  # type: ignore[no-any-return]

    def parse(self, line: bytes) -> bool:
        """Whether the line, without its end, is a valid row, which is in the buffer then."""
        n = len(line)
        if self._parse is None or n > self._most or b"\n" in line:
            return False
        self._text[: n + len(END)] = line + END
        self._ends[1] = NO_ROW
        self._unknown[0] = ABSENT
        self._parse(n + 1)
        return bool(self._ends[1] != NO_ROW and self._unknown[0] == ABSENT)

    @property
    def label(self) -> float | str:
        """That of the line that was parsed; NaN if it has none, or has to be read otherwise."""
        if self._has_words:
            text = self._scratch.label[: self._scratch.label_size.item(0)].tobytes()
            return text.decode() if text and self._has_labels else math.nan
        return self._labels[0] if self._has_labels else math.nan

    @property
    def weight(self) -> float:
        """That of the line that was parsed."""
        return float(self._weights[0])
