"""Readers: text in several formats to batches of rows, each parsed by one compiled function."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rarefy.config import choose
from rarefy.errors import InputError
from rarefy.readers.batch import (
    EXPECTED,
    Batch,
    Parsed,
    Problem,
    Room,
    filled,
    room_for,
    room_size,
)
from rarefy.readers.source import BLOCK_BYTES, STDIN, Block, blocks, expand, padded
from rarefy.readers.svmlight import parse_svmlight
from rarefy.readers.vw import parse_vw

PARSERS = {"svmlight": parse_svmlight, "vw": parse_vw}
ENDINGS = {".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".vw": "vw"}
BAD_LINES = ("stop", "skip")
SHOWN_BAD_LINES = 5
SHOWN_TEXT = 20  # bytes before and after a fault
INVALID = 0xFF  # a byte that is in no valid line

__all__ = ["Batch", "Reader", "read"]


def read(*paths: str | Path, format: str | None = None, bad_lines: str = "stop") -> "Reader":
    """A reader of files, globs or '-' for standard input, compressed or not.

    The format (svmlight or vw) is told from the name or the first lines, if it is not given. A line
    that cannot be parsed stops the reading with an InputError; with bad_lines="skip" it is passed
    over, and counted in `n_bad_lines`.
    """
    if not paths:
        raise InputError("nothing to read: name a file, or '-' for standard input.")
    if format is not None:
        choose("format", format, PARSERS)
    choose("bad_lines", bad_lines, dict.fromkeys(BAD_LINES))
    return Reader(expand(paths), format, skip_bad_lines=bad_lines == "skip")


class Reader:
    """Gives batches of rows; can be gone over again, unless it reads standard input."""

    def __init__(self, files: list[str], format: str | None, *, skip_bad_lines: bool) -> None:
        self.files = files
        self.format = format
        self.skip_bad_lines = skip_bad_lines
        self.n_bad_lines = 0
        self.bad_lines: list[str] = []  # what was wrong with the first of them
        self._stdin_was_read = False

    def __iter__(self) -> Iterator[Batch]:
        return self.batches()

    def batches(self, n_rooms: int | None = None) -> Iterator[Batch]:
        """All batches; with `n_rooms`, a batch is overwritten when so many more have come.

        Fresh memory for every batch would cost a tenth of the time.
        """
        self.n_bad_lines, self.bad_lines = 0, []
        rooms: list[Room | None] = [None] * (n_rooms or 1)
        n = 0
        for file in self.files:
            self._check_stdin(file)
            parse, line = None, 1
            for block in blocks(file):
                parse = parse or PARSERS[self.format or recognise(file, block)]
                room = None if n_rooms is None else rooms[n % n_rooms]
                if room is None or len(room.values) < room_size(block.end - block.begin):
                    room = room_for(max(block.end - block.begin, BLOCK_BYTES if n_rooms else 0))
                rooms[n % len(rooms)] = room
                batch, line = self._parse(parse, file, block, line, room)
                yield batch
                n += 1

    def _check_stdin(self, file: str) -> None:
        if file == STDIN and self._stdin_was_read:
            raise InputError(
                "-: standard input can be read only once; for several passes name a file."
            )
        self._stdin_was_read |= file == STDIN

    def _parse(
        self, parse: Any, file: str, block: Block, line: int, room: Room
    ) -> tuple[Batch, int]:
        """The rows of a block that begins at a line, and the line at which the next one does."""
        block, not_utf8 = without_invalid_lines(block)
        parsed = parse(block.data, block.end, Parsed(0, 0, block.begin, line, Problem.NONE), room)
        while parsed.problem != Problem.NONE:
            end = line_end(block, parsed.position)
            if not self.skip_bad_lines or len(self.bad_lines) < SHOWN_BAD_LINES:
                what = not_utf8.get(parsed.line - line)
                if what is None:
                    expected = f"{EXPECTED[parsed.problem]} is expected"
                    what = fault(block, parsed.position, expected)
                self.bad_lines.append(f"{file}:{parsed.line}:{what}")
            self.n_bad_lines += 1
            if not self.skip_bad_lines:
                raise InputError(self.bad_lines[-1])
            go_on = parsed._replace(position=end + 1, line=parsed.line + 1, problem=Problem.NONE)
            parsed = parse(block.data, block.end, go_on, room)
        return filled(file, room, parsed), parsed.line


def without_invalid_lines(block: Block) -> tuple[Block, dict[int, str]]:
    """The block with lines that are not UTF-8 made such that no parser takes them.

    Also what to say of these lines, which are counted from the block's beginning.
    """
    if block.end == block.begin or block.data[block.begin : block.end].max() < 0x80:
        return block, {}
    text = block.text
    if first_invalid(text) is None:
        return block, {}
    copy = padded(text)
    data = copy.data.copy()
    faults, begin = {}, 0
    for n, line in enumerate(text.split(b"\n")):
        position = None if line.isascii() else first_invalid(line)
        if position is not None:
            what = f"0x{line[position]:02x} is not UTF-8"
            faults[n] = fault(copy, begin + position, what)
            data[begin : begin + len(line)] = INVALID
        begin += len(line) + 1
    data.flags.writeable = False
    return Block(data, copy.begin, copy.end), faults


def line_end(block: Block, position: int) -> int:
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


def fault(block: Block, position: int, what: str) -> str:
    """The column, what is wrong, and what stands there."""
    begin, end = line_begin(block, position), line_end(block, position)
    near = slice(max(begin, position - SHOWN_TEXT), min(end, position + SHOWN_TEXT))
    shown = block.data[near].tobytes().decode("utf-8", "replace")
    return f"{position - begin + 1}: {what}, near {shown!r}."


def first_invalid(text: bytes) -> int | None:
    """The position of the first byte that is not valid UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


SVMLIGHT_LINE = re.compile(rb"\s*[-+]?[.0-9][-+.0-9eE]*(\s+qid:\d+)?(\s+\d+:\S+)*\s*(#.*)?$")


def recognise(file: str, block: Block) -> str:
    """The format of a file, by its name or else by its first line that says something."""
    for ending in Path(file).suffixes[::-1] if file != STDIN else ():
        if ending in ENDINGS:
            return ENDINGS[ending]
    start = block.data[block.begin : min(block.end, block.begin + 65536)].tobytes()
    lines = start.splitlines()
    if not start.endswith(b"\n"):
        lines[-1] = lines[-1].rpartition(b" ")[0]  # the window may have cut a feature in two
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
    if not lines or SVMLIGHT_LINE.match(lines[0]):
        return "svmlight"
    if b"|" in lines[0]:
        return "vw"
    raise InputError(f"{file}: the format cannot be told; say format='svmlight' or format='vw'.")
