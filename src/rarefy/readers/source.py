"""Bytes from files, globs and standard input, decompressed, in blocks of whole lines."""

import glob
import io
import lzma
import os
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import read_only
from rarefy.errors import ConfigError, InputError
from rarefy.readers.compression import (
    LONGEST_MAGIC,
    compression_of,
    decompressed,
    refuse_what_is_no_text,
)
from rarefy.readers.prefetch import READY_ITEMS

BLOCK_BYTES = 3 << 20
LONGEST_LINE = 16 << 20
STDIN = "-"
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
NEWLINE = 10
T = TypeVar("T")

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PADDING = b"\n" * 32  # what a parser may look at behind the end


class Block:
    """Whole lines of one file: data[begin:end], with at least 32 bytes behind the end.

    Whoever parses it may leave the lines from `rest` on to the next block, unless it is the last.
    """

    def __init__(self, data: NDArray[np.uint8], begin: int, end: int, *, last: bool) -> None:
        self.data = data
        self.begin = begin
        self.end = end
        self.rest = end
        self.last = last
        self.line = 1  # of the file, at which it begins
        self.header: Any = None  # of the file, if blocks before had no more than that
        self.file_position = 0  # bytes of the file that were read for it and those before

    @property
    def text(self) -> bytes:
        return self.data[self.begin : self.end].tobytes()


def padded(text: bytes, *, last: bool) -> Block:
    return Block(np.frombuffer(text + PADDING, np.uint8), 0, len(text), last=last)


def expand(paths: Iterable[str | Path]) -> list[str]:
    """The files that paths and globs name, in order; '-' is standard input."""
    paths = list(paths)
    for path in paths:
        if not isinstance(path, str | os.PathLike):
            raise ConfigError(
                f"a {type(path).__name__} is not the name of a file. Rows in memory, such as data "
                f"frames and lists of dicts, are for fit and partial_fit."
            )
    files: list[str] = []
    for path in map(str, paths):
        found = [path] if path == STDIN or os.path.exists(path) else sorted(glob.glob(path))
        if not found:
            raise InputError(f"{path}: there is no such file.")
        files += found
    for file in files:
        if file != STDIN and os.path.isdir(file):
            raise InputError(f"{file} is a folder; name the files in it, as in '{file}/*'.")
    if files.count(STDIN) > 1:
        raise InputError("-: standard input can be read only once.")
    return files


def also_among(files: Iterable[str], others: Iterable[str]) -> list[str]:
    """Those of the files that are among the others, under any name; standard input never is."""
    known = {os.path.realpath(other) for other in others if other != STDIN}
    return [file for file in files if file != STDIN and os.path.realpath(file) in known]


def is_pipe(file: str) -> bool:
    """Whether it can be read only once."""
    return file == STDIN or (os.path.exists(file) and not os.path.isfile(file))


def file_sizes(files: Iterable[str]) -> list[int] | None:
    """The sizes of the files; None if one is a pipe."""
    sizes = [os.path.getsize(file) if os.path.isfile(file) else None for file in files]
    known = [size for size in sizes if size is not None]
    return known if len(known) == len(sizes) else None


def blocks(
    path: str,
    line_reached: Callable[[], int] = lambda: 1,
    block_bytes: int = BLOCK_BYTES,
    *,
    at_once: bool = False,
    expansion: int = 1,
) -> Iterator[Block]:
    """The file's lines, a few megabytes at a time; a last line without an end is given one.

    A block stands until READY_ITEMS more have come. A byte-order mark at the beginning is passed
    over. `line_reached` tells at which line the next block begins, for messages. With `at_once`,
    the lines of a pipe that is not compressed come as soon as no more are there. Where
    `expansion` times as much as usual is made of a line, blocks are the smaller.

    Files are read, not mapped: one that is cut off while it is mapped kills the process.
    """
    with opened(path) as raw:
        unchanged = Unchanged(raw, path)
        is_file = os.path.isfile(path)
        start = raw.read(LONGEST_MAGIC) if is_file or not at_once else _first_bytes(raw)
        kind = compression_of(start)
        if is_file:
            if not start and Path(path).suffix in COMPRESSED:
                raise InputError(f"{path} has 0 bytes; complete compressed files have more.")
            raw.seek(0)
        stream = raw if is_file else _Joined(start, raw)
        if kind is not None:
            stream = decompressed(path, stream, kind)
        waiting_for = raw if at_once and kind is None and not is_file else None
        cutting = _Cutting(stream, path, line_reached, block_bytes // expansion, waiting_for)
        for n, block in enumerate(unchanged.while_reading(cutting.blocks())):
            if is_file:
                block.file_position = raw.tell()
            if n == 0:
                _check_beginning(path, block)
            yield block


def _check_beginning(path: str, block: Block) -> None:
    """Pass over a byte-order mark, and refuse what is no text."""
    first = block.data[block.begin : block.end][:LONGEST_MAGIC].tobytes()
    refuse_what_is_no_text(path, first)
    if first.startswith(BYTE_ORDER_MARK):
        block.begin += len(BYTE_ORDER_MARK)


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """A file to read; what goes wrong with it is said to be of this name."""
    try:
        if path != STDIN:
            with open(path, "rb") as raw:
                yield raw
        elif sys.stdin is None:
            raise InputError("-: there is no standard input.")
        else:
            yield sys.stdin.buffer
    except OSError as error:
        if error.strerror is None:  # not of the system
            raise
        raise InputError(f"{path}: {error.strerror}.") from error


def _first_bytes(raw: io.BufferedReader) -> bytes:
    """As many as tell a compression, or fewer that end a line."""
    start = b""
    while len(start) < LONGEST_MAGIC and not start.endswith(b"\n") and (more := raw.read1(1)):
        start += more
    return start


def _has_more(raw: BinaryIO) -> bool:
    """Whether there is more to read, or the end, without waiting for it."""
    try:
        return bool(select.select([raw.fileno()], [], [], 0.0)[0])
    except (OSError, ValueError):  # not of a kind that can be waited for
        return True


class _Joined(io.RawIOBase):
    """A stream whose first bytes were read already; pipes cannot go back."""

    def __init__(self, start: bytes, stream: io.BufferedReader) -> None:
        self._start = start
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._start[: len(buffer)] or self._stream.read1(len(buffer))
        self._start = self._start[len(data) :] if self._start else b""
        buffer[: len(data)] = data
        return len(data)


class Unchanged:
    """Sees to it that a file is not changed while it is read.

    What has been read of a file that grows ends anywhere in a line, and what is overwritten is
    neither the one file nor the other.
    """

    def __init__(self, raw: BinaryIO, path: str) -> None:
        self._raw = raw
        self._path = path
        self._state = self._size_and_time()

    def while_reading(self, parts: Iterable[T]) -> Iterator[T]:
        """The parts that are read, unless the file has changed since."""
        reading = iter(parts)
        while True:
            try:
                part = next(reading, None)
            finally:
                self.check()
            if part is None:
                return
            yield part

    def check(self) -> None:
        if self._size_and_time() != self._state:
            raise InputError(
                f"{self._path} changed while it was read. Read a copy, or a pipe if it is still "
                f"being written."
            )

    def _size_and_time(self) -> tuple[int, int] | None:
        """None for what is no file."""
        if self._path == STDIN:
            return None
        status = os.fstat(self._raw.fileno())
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


class _Cutting:
    """Cuts what is read into blocks of whole lines."""

    def __init__(
        self,
        stream: Any,
        path: str,
        line_reached: Callable[[], int],
        block_bytes: int,
        waiting_for: BinaryIO | None = None,
    ) -> None:
        self._stream = stream
        self._waiting_for = waiting_for  # a pipe whose lines are wanted as they come
        self._path = path
        self._line_reached = line_reached
        self._block_bytes = block_bytes
        self._buffers = cycle([bytearray() for _ in range(READY_ITEMS + 1)])

    def blocks(self) -> Iterator[Block]:
        rest, size = memoryview(b""), self._block_bytes
        while True:
            size = max(size, len(rest) + 1)
            buffer = self._buffer(size)
            buffer[: len(rest)] = rest
            with memoryview(buffer) as view:
                n_read, is_last = self._read(view[len(rest) : size])
            n_bytes = len(rest) + n_read
            if is_last and n_bytes and buffer[n_bytes - 1] != NEWLINE:
                buffer[n_bytes] = NEWLINE
                n_bytes += 1
            end = buffer.rfind(b"\n", 0, n_bytes) + 1
            if is_last and end == 0:
                return
            if end == 0:
                rest, size = memoryview(buffer)[:n_bytes], self._larger(size, self._line_too_long)
                continue
            block = Block(read_only(np.frombuffer(buffer, np.uint8)), 0, end, last=is_last)
            yield block
            if is_last:
                return
            rest = memoryview(buffer)[block.rest : n_bytes]
            size = self._block_bytes
            if block.rest <= block.begin < block.end:
                size = self._larger(n_bytes, self._row_too_long)

    def _buffer(self, size: int) -> bytearray:
        """Fresh memory for every block would cost a twentieth of the time."""
        needed = size + 1 + len(PADDING)
        if size > self._block_bytes:
            return bytearray(needed)
        buffer = next(self._buffers)
        if len(buffer) < needed:
            buffer.extend(bytes(needed - len(buffer)))
        return buffer

    def _read(self, free: memoryview) -> tuple[int, bool]:
        """How many bytes were read, and whether these are the last."""
        n_read = 0
        try:
            while n_read < len(free):
                n_more = self._stream.readinto(free[n_read:])
                if not n_more:
                    return n_read, True
                n_read += n_more
                if self._is_enough(free[:n_read]):
                    break
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            what = "the compressed data is damaged or cut off: "
            reason = getattr(error, "strerror", None)
            raise InputError(f"{self._path}: {reason or f'{what}{error}'}.") from error
        return n_read, False

    def _is_enough(self, read: memoryview) -> bool:
        """Whether lines are wanted at once, there is one, and no more are there."""
        pipe = self._waiting_for
        return pipe is not None and not _has_more(pipe) and b"\n" in bytes(read)

    def _larger(self, size: int, too_large: Callable[[], InputError]) -> int:
        """The size of a block for what did not fit one of this size."""
        if size > LONGEST_LINE:
            raise too_large()
        return min(2 * size, LONGEST_LINE + 1)

    def _line_too_long(self) -> InputError:
        return InputError(
            f"{self._path}:{self._line_reached()}:1: the line has more than {LONGEST_LINE >> 20} "
            "MiB; is this a text file?"
        )

    def _row_too_long(self) -> InputError:
        return InputError(
            f"{self._path}:{self._line_reached()}: there is a row of more than "
            f"{LONGEST_LINE >> 20} MiB; if quotes are ordinary characters, use quotes=False "
            f"(--no-quotes)."
        )
