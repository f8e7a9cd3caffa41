"""Streams that are decompressed while they are read."""

import bz2
import errno
import gzip
import io
import lzma
from typing import Any, BinaryIO

from rarefy.errors import InputError

MOST_XZ_MEMORY = 256 << 20  # what `xz -9` makes needs 65 MiB
COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
NOT_TEXT = {
    b"PK\x03\x04": "a zip archive or an Excel workbook; unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; save the sheet as CSV",
    b"\xff\xfe": "UTF-16; convert it, as with `iconv -f UTF-16 -t UTF-8`",
    b"\xfe\xff": "UTF-16; convert it, as with `iconv -f UTF-16 -t UTF-8`",
}
LONGEST_MAGIC = max(map(len, COMPRESSIONS))


def compression_of(start: bytes) -> str | None:
    """The compression of a file that begins with these bytes, if it has one."""
    return next((kind for magic, kind in COMPRESSIONS.items() if start.startswith(magic)), None)


def refuse_what_is_no_text(path: str, start: bytes) -> None:
    """Refuse a file that begins with these bytes if no format begins so."""
    for magic, what in NOT_TEXT.items():
        if start.startswith(magic):
            raise InputError(f"{path}: this is {what}.")


def decompressed(path: str, stream: Any, kind: str) -> Any:
    """A stream of what another one, of that file, holds compressed."""
    try:
        return _OPENERS[kind](stream)
    except ImportError as error:
        raise InputError(f"{path}: reading {kind} needs `pip install rarefy[{kind}]`.") from error


class _ZstdFile(io.RawIOBase):
    """Decompressed zstd frames; unlike the library's own reader it notices a cut-off one."""

    def __init__(self, raw: BinaryIO) -> None:
        import zstandard

        self._raw = raw
        self._error = zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new_frame()
        self._compressed = b""
        self._decompressed = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._decompressed and self._decompress_more():
            pass
        part = self._decompressed[: len(buffer)]
        buffer[: len(part)] = part
        self._decompressed = self._decompressed[len(part) :]
        return len(part)

    def _decompress_more(self) -> bool:
        """False at the end. A few bytes can become a hundred thousand times as many."""
        compressed = self._compressed or self._raw.read(1 << 12)
        if not compressed:
            if not self._frame.eof:
                raise EOFError("the last frame is not complete")
            return False
        if self._frame.eof:
            self._frame = self._new_frame()
        try:
            self._decompressed = memoryview(self._frame.decompress(compressed))
        except self._error as error:
            raise OSError(str(error)) from error
        self._compressed = self._frame.unused_data
        return True


class _XzFile(io.RawIOBase):
    """Decompressed xz streams; unlike the library's own reader it takes a limited memory."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._stream = self._new_stream()
        self._compressed = b""

    @staticmethod
    def _new_stream() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(memlimit=MOST_XZ_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = b""
        while not part and self._has_more():
            compressed, self._compressed = self._compressed, b""
            part = self._decompress(compressed, len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def _has_more(self) -> bool:
        """Whether there is more to decompress; between streams there may be zeros."""
        if self._stream.eof:
            self._compressed = (self._stream.unused_data or self._raw.read(1 << 16)).lstrip(b"\0")
            while not self._compressed and (more := self._raw.read(1 << 16)):
                self._compressed = more.lstrip(b"\0")
            self._stream = self._new_stream() if self._compressed else self._stream
            return bool(self._compressed)
        if self._stream.needs_input and not self._compressed:
            self._compressed = self._raw.read(1 << 16)
            if not self._compressed:
                raise EOFError("the last stream is not complete")
        return True

    def _decompress(self, compressed: bytes, n_bytes: int) -> bytes:
        try:
            return self._stream.decompress(compressed, n_bytes)
        except lzma.LZMAError as error:
            if "Memory usage limit" not in str(error):
                raise
            why = (
                f"decompressing it takes more than {MOST_XZ_MEMORY >> 20} MiB of memory; compress "
                "it with a smaller dictionary, as `xz -9` does"
            )
            raise OSError(errno.ENOMEM, why) from error


_OPENERS: dict[str, Any] = {
    "gzip": gzip.open,
    "bzip2": bz2.open,
    "xz": _XzFile,
    "zstd": _ZstdFile,
}
