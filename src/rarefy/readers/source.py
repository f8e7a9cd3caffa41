"""Bytes from files, globs and standard input, decompressed, in blocks of whole lines."""

import bz2
import glob
import gzip
import io
import lzma
import mmap
import os
import sys
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rarefy.errors import InputError
from rarefy.readers.ahead import READY_ITEMS

BLOCK_BYTES = 3 << 20
LONGEST_LINE = 64 << 20
STDIN = "-"

COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
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
        self.file_position = 0  # bytes of the file that were read for it and those before

    @property
    def text(self) -> bytes:
        return self.data[self.begin : self.end].tobytes()


def padded(text: bytes, *, last: bool) -> Block:
    return Block(np.frombuffer(text + PADDING, np.uint8), 0, len(text), last=last)


def expand(paths: Iterable[str | Path]) -> list[str]:
    """The files that paths and globs name, in order; '-' is standard input."""
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


def is_pipe(file: str) -> bool:
    """Whether it can be read only once."""
    return file == STDIN or (os.path.exists(file) and not os.path.isfile(file))


def n_bytes(files: Iterable[str]) -> int | None:
    """The size of all files together; None if one is a pipe."""
    sizes = [os.path.getsize(file) if os.path.isfile(file) else None for file in files]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def blocks(path: str, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """The file's lines, a few megabytes at a time; a last line without an end is given one.

    A byte-order mark at the beginning is passed over.
    """
    with opened(path) as raw:
        start, is_file = raw.read(6), os.path.isfile(path)
        kind = next((kind for magic, kind in COMPRESSIONS.items() if start.startswith(magic)), None)
        mapped = _mapped(raw) if start and is_file and kind is None else None
        if mapped is not None:
            found = _mapped_blocks(mapped, path, block_bytes)
        else:
            stream = _Joined(start, raw)
            stream = stream if kind is None else OPENERS[kind](stream)
            found = _streamed_blocks(stream, path, block_bytes)
        for n, block in enumerate(found):
            if is_file:
                end = os.path.getsize(path) if block.last else block.end
                block.file_position = raw.tell() if mapped is None else end
            if n == 0 and block.data[block.begin : block.end][:3].tobytes() == BYTE_ORDER_MARK:
                block.begin += 3
            yield block


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
        raise InputError(f"{path}: {error.strerror}.") from error


class _Joined(io.RawIOBase):
    """A stream whose first bytes were read already; pipes cannot go back."""

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        self._start = start
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._start[: len(buffer)] or self._stream.read(len(buffer))
        self._start = self._start[len(data) :] if self._start else b""
        buffer[: len(data)] = data
        return len(data)


def _mapped(raw: BinaryIO) -> mmap.mmap | None:
    """A file as memory; None where files cannot be that, as in /proc and some that are remote."""
    try:
        return mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None


def _mapped_blocks(mapped: mmap.mmap, path: str, block_bytes: int) -> Iterator[Block]:
    """A plain file is mapped into memory and never copied, but for its end."""
    data = np.frombuffer(mapped, np.uint8)
    begin, size, last = 0, block_bytes, len(data) - len(PADDING)
    done: deque[tuple[int, int]] = deque()
    while begin + size <= last:
        end = mapped.rfind(b"\n", begin, begin + size) + 1
        if end == 0:
            end = mapped.find(b"\n", begin + size, begin + LONGEST_LINE) + 1
            if end == 0 and last - begin > LONGEST_LINE:
                raise _line_too_long(path, 1 + _newlines_before(mapped, begin))
            if end == 0 or end > last:
                break
        block = Block(data, begin, end, last=False)
        yield block
        if block.rest == begin:
            size = _more(size, path)
            continue
        done.append((begin, block.rest))
        if len(done) > READY_ITEMS:
            _forget(mapped, *done.popleft())
        begin, size = block.rest, block_bytes
    rest = data[begin:].tobytes()
    if rest:
        yield padded(rest if rest.endswith(b"\n") else rest + b"\n", last=True)


def _newlines_before(mapped: mmap.mmap, end: int) -> int:
    starts = range(0, end, BLOCK_BYTES)
    return sum(mapped[begin : min(begin + BLOCK_BYTES, end)].count(b"\n") for begin in starts)


def _more(size: int, path: str) -> int:
    """The size of a block for a row that did not fit one of this size."""
    if size > LONGEST_LINE:
        raise InputError(
            f"{path}: there is a row of more than {LONGEST_LINE >> 20} MiB; if a quote is never "
            "closed because quotes are ordinary characters, say so with quotes=False (--no-quotes)."
        )
    return 2 * size


def _forget(mapped: mmap.mmap, begin: int, end: int) -> None:
    """Let go of the pages of a block that was dealt with, so that the file does not fill memory."""
    if hasattr(mmap, "MADV_DONTNEED"):
        first, last = begin // mmap.PAGESIZE, end // mmap.PAGESIZE
        if last > first:
            length = (last - first) * mmap.PAGESIZE
            mapped.madvise(mmap.MADV_DONTNEED, first * mmap.PAGESIZE, length)


def _streamed_blocks(stream: Any, path: str, block_bytes: int) -> Iterator[Block]:
    rest, size, line = b"", block_bytes, 1
    while chunk := _read(stream, path, size):
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            rest += chunk
            if len(rest) > LONGEST_LINE:
                raise _line_too_long(path, line + rest.count(b"\n"))
            continue
        block = padded(rest + chunk[:cut], last=False)
        yield block
        size = block_bytes if block.rest > block.begin else _more(size, path)
        line += block.data[: block.rest].tobytes().count(b"\n")
        rest = block.data[block.rest : block.end].tobytes() + chunk[cut:]
    if rest:
        yield padded(rest if rest.endswith(b"\n") else rest + b"\n", last=True)


def _line_too_long(path: str, line: int) -> InputError:
    return InputError(
        f"{path}:{line}:1: the line has more than {LONGEST_LINE >> 20} MiB; is this a text file?"
    )


def _read(stream: Any, path: str, n_bytes: int) -> bytes:
    try:
        return stream.read(n_bytes)  # type: ignore[no-any-return]
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, OSError) and error.strerror is not None:  # of the system
            raise InputError(f"{path}: {error.strerror}.") from error
        raise InputError(f"{path}: the compressed data is damaged or cut off: {error}") from error


class _ZstdFile:
    """Decompressed zstd frames; unlike the library's own reader it notices a cut-off one."""

    def __init__(self, raw: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise InputError(
                "the data is compressed with zstd; reading it needs `pip install rarefy[zstd]`."
            ) from error
        self._raw = raw
        self._error = zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new_frame()
        self._waiting = b""

    def read(self, n_bytes: int) -> bytes:
        parts, n_read = [], 0
        while n_read < n_bytes:
            compressed = self._waiting or self._raw.read(1 << 16)
            self._waiting = b""
            if not compressed:
                break
            if self._frame.eof:
                self._frame = self._new_frame()
            try:
                parts.append(self._frame.decompress(compressed))
            except self._error as error:
                raise OSError(str(error)) from error
            self._waiting = self._frame.unused_data
            n_read += len(parts[-1])
        if n_read == 0 and not self._frame.eof:
            raise EOFError("the last frame is not complete")
        return b"".join(parts)


OPENERS: dict[str, Any] = {
    "gzip": gzip.open,
    "bzip2": bz2.open,
    "xz": lzma.open,
    "zstd": _ZstdFile,
}
