"""The parser of lines of VW text and svmlight, kept from one line to the next.

Files are read by a parser, and with memory, of their own. For a single line, that would take a
hundred times as long as parsing it.
"""

from typing import Any

import numpy as np

from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.grams import OF_NAMESPACES, grams_of, room_for_words
from rarefy.readers.formats.line_parser import NO_ROW, parse_lines
from rarefy.readers.formats.svmlight import Svmlight
from rarefy.readers.formats.vw import VowpalWabbit
from rarefy.readers.parsed import Parsed
from rarefy.readers.source import PADDING

FORMATS = ("vw", "svmlight")
END = b"\n" + PADDING


class KeptParser:
    """Parses lines of one format, each to the beginning of a buffer."""

    def __init__(self, format: str, columns: Columns, buffer: BatchBuffer, most_bytes: int) -> None:
        self._ends = buffer.indptr  # of rows
        self._most = most_bytes
        self._text = bytearray(most_bytes + len(END))
        data = np.frombuffer(self._text, np.uint8)
        data.flags.writeable = False
        parser: Any = Svmlight()
        if format == "vw":
            grams = grams_of(columns.ngram, columns.skips, OF_NAMESPACES)
            room = room_for_words(most_bytes + 1 if len(grams.sizes) else 0)
            parser = VowpalWabbit(grams, room)
        loop: Any = parse_lines
        self._parse = loop.bound(parser, data, 0, Parsed(0, 0, 0, 1, 0), buffer, open_at=2)

    def parse(self, line: bytes) -> bool:
        """Whether the line, without its end, is a valid row, which is in the buffer then."""
        n = len(line)
        if n > self._most or b"\n" in line:
            return False
        self._text[:n] = line
        self._text[n : n + len(END)] = END
        self._ends[1] = NO_ROW
        self._parse(n + 1)
        return self._ends.item(1) != NO_ROW
