"""Readers: text in several formats to batches of rows, each parsed by one compiled function."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

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
SHOWN_TEXT = 20  # characters before and after a fault

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

    def __iter__(self) -> Iterator[Batch]:
        return self.batches()

    def batches(self, n_rooms: int | None = None) -> Iterator[Batch]:
        """All batches; with `n_rooms`, a batch is overwritten when so many more have come.

        Fresh memory for every batch would cost a tenth of the time.
        """
        rooms: list[Room] = []
        for file in self.files:
            parse, line = None, 1
            for n, block in enumerate(blocks(file)):
                parse = parse or PARSERS[self.format or recognise(file, block)]
                valid = self._valid_utf8(file, line, block)
                room = self._room(rooms, n_rooms, n, valid.end - valid.begin)
                batch, line = self._parse(parse, file, valid, line, room)
                yield batch

    def _room(self, rooms: list[Room], n_rooms: int | None, n: int, n_bytes: int) -> Room:
        """Room for the n-th block, used before if possible."""
        if n_rooms is None:
            return room_for(n_bytes)
        if len(rooms) < n_rooms:
            rooms.append(room_for(max(n_bytes, BLOCK_BYTES)))
            return rooms[-1]
        if len(rooms[n % n_rooms].values) < room_size(n_bytes):
            rooms[n % n_rooms] = room_for(n_bytes)
        return rooms[n % n_rooms]

    def _parse(
        self, parse: Any, file: str, block: Block, line: int, room: Room
    ) -> tuple[Batch, int]:
        """The rows of a block that begins at a line, and the line at which the next one does."""
        parsed = parse(block.data, block.end, Parsed(0, 0, block.begin, line, Problem.NONE), room)
        while parsed.problem != Problem.NONE:
            expected = EXPECTED[parsed.problem]
            self._note(fault(file, parsed.line, block, parsed.position, f"{expected} is expected"))
            after = line_end_of(block, parsed.position) + 1
            go_on = parsed._replace(position=after, line=parsed.line + 1, problem=Problem.NONE)
            parsed = parse(block.data, block.end, go_on, room)
        return filled(file, room, parsed), parsed.line

    def _valid_utf8(self, file: str, first_line: int, block: Block) -> Block:
        """The block with nothing left of lines that are not text."""
        if block.data[block.begin : block.end].max() < 0x80:
            return block
        text = block.text
        while (position := first_invalid(text)) is not None:
            bad = padded(text)
            line = first_line + text.count(b"\n", 0, position)
            self._note(fault(file, line, bad, position, f"0x{text[position]:02x} is not UTF-8"))
            end = line_end_of(bad, position)
            text = text[: text.rfind(b"\n", 0, position) + 1] + text[end:]
        return padded(text)

    def _note(self, message: str) -> None:
        """Stop at a bad line, or remember it."""
        if not self.skip_bad_lines:
            raise InputError(message)
        self.n_bad_lines += 1
        if len(self.bad_lines) < SHOWN_BAD_LINES:
            self.bad_lines.append(message)


def line_end_of(block: Block, position: int) -> int:
    newlines = np.flatnonzero(block.data[position : block.end] == ord("\n"))
    return position + int(newlines[0])


def fault(file: str, line: int, block: Block, position: int, what: str) -> str:
    """path:line:column, what is wrong, and what stands there."""
    text = block.data[block.begin : position].tobytes()
    column = position - block.begin - text.rfind(b"\n")
    end = min(line_end_of(block, position), position + SHOWN_TEXT)
    begin = max(position - min(column - 1, SHOWN_TEXT), block.begin)
    shown = block.data[begin:end].tobytes().decode("utf-8", "replace")
    return f"{file}:{line}:{column}: {what}, near {shown!r}."


def first_invalid(text: bytes) -> int | None:
    """The position of the first byte that is not valid UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def recognise(file: str, block: Block) -> str:
    """The format of a file, by its name or else by its first line."""
    for ending in Path(file).suffixes[::-1] if file != STDIN else ():
        if ending in ENDINGS:
            return ENDINGS[ending]
    start = block.data[block.begin : min(block.end, block.begin + 65536)].tobytes()
    first = next((line for line in start.splitlines() if line.strip()), b"")
    if b"|" in first:
        return "vw"
    if re.match(rb"\s*(#|[-+.0-9eE]+(\s+(qid:)?\d+:\S+)*\s*(#.*)?$)", first):
        return "svmlight"
    raise InputError(f"{file}: the format cannot be told; say format='svmlight' or format='vw'.")
