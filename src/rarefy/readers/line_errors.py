"""Errors for lines that cannot be read: where, why, and what happens to the other lines."""

import threading

from rarefy.arrays import read_only
from rarefy.errors import InputError
from rarefy.readers.source import Block, padded

SHOWN = 5


class BadLines:
    """What was wrong in the blocks of a reader, which may be parsed in any order."""

    def __init__(self, *, skip: bool) -> None:
        self.skip = skip
        self.count = 0
        self._messages: list[tuple[int, list[str]]] = []
        self._lock = threading.Lock()

    def add(self, block: int, count: int, messages: list[str]) -> None:
        """Bad lines of a block, counted by its number; of a block the first few messages do."""
        if not self.skip:
            raise InputError(messages[0])
        with self._lock:
            self.count += count
            self._messages.append((block, messages[:SHOWN]))
            self._messages = sorted(self._messages)[:SHOWN]

    @property
    def shown(self) -> list[str]:
        """The messages of the first few bad lines."""
        return [message for _, messages in self._messages for message in messages][:SHOWN]


NOT_UTF8 = "is not UTF-8 (convert the file, as with `iconv -f LATIN1 -t UTF-8`)"
SHOWN_TEXT = 20  # bytes before and after a fault
INVALID = 0xFF  # a byte that is in no valid line


def without_invalid_lines(block: Block) -> tuple[Block, dict[int, str]]:
    """The block with lines that are not UTF-8 made such that no parser takes them.

    Also what to say of these lines, which are counted from the block's beginning.
    """
    if block.end == block.begin or block.data[block.begin : block.end].max() < 0x80:
        return block, {}
    text = block.text
    if first_invalid(text) is None:
        return block, {}
    copy = padded(text, last=block.last)
    data = copy.data.copy()
    faults, begin = {}, 0
    for n, line in enumerate(text.split(b"\n")):
        position = None if line.isascii() else first_invalid(line)
        if position is not None:
            what = f"0x{line[position]:02x} {NOT_UTF8}"
            faults[n] = fault(copy, begin + position, what)
            data[begin : begin + len(line)] = INVALID
        begin += len(line) + 1
    return Block(read_only(data), copy.begin, copy.end, last=block.last), faults


def end_of_line(block: Block, position: int) -> int:
    """The position of the newline at or after a position."""
    window = 256
    while True:
        found = block.data[position : position + window].tobytes().find(b"\n")
        if found >= 0:
            return position + found
        window *= 4


def line_begin(block: Block, position: int) -> int:
    """The position at which the line of a position begins."""
    window = 256
    while True:
        begin = max(block.begin, position - window)
        found = block.data[begin:position].tobytes().rfind(b"\n")
        if found >= 0 or begin == block.begin:
            return begin + found + 1
        window *= 4


def fault(block: Block, position: int, what: str, remedy: str | None = None) -> str:
    """The column, what is wrong, what stands there, and what to do, where that is known."""
    begin, end = line_begin(block, position), end_of_line(block, position)
    near = slice(max(begin, position - SHOWN_TEXT), min(end, position + SHOWN_TEXT))
    shown = block.data[near].tobytes().decode("utf-8", "replace")
    sentence = f"{position - begin + 1}: {what}, near {shown!r}."
    return sentence if remedy is None else f"{sentence} {remedy}"


def first_invalid(text: bytes) -> int | None:
    """The position of the first byte that is not valid UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None
