"""Tables of Arrow IPC in bodies: how large they are is found out before they are read.

A buffer may be compressed, and a column of nulls takes no bytes at all, so that a small body may
become a large table. What a message would become is in its metadata, a flatbuffer
(https://github.com/apache/arrow/blob/main/format/Message.fbs).
"""

import struct
from typing import Any, NamedTuple

from rarefy.serving.refusals import RefusedError, TooLargeError, UnknownFormatError

FILE_MAGIC = b"ARROW1\0\0"  # behind which a file is a stream, and has more behind that
HEADER_TYPE, HEADER = 1, 2  # fields of a message
DICTIONARY, BATCH = 2, 3  # types of a header
LENGTH, BUFFERS, COMPRESSION = 0, 2, 3  # fields of a batch
BATCH_OF_DICTIONARY = 1  # the field of a dictionary that is a batch
NOT_COMPRESSED = -1  # the length of a buffer that is as it was


def read_table(data: bytes) -> Any:
    """The table in a stream or a file of Arrow IPC."""
    pa = _pyarrow()
    try:
        table = pa.ipc.open_stream(_stream(data)).read_all()
        table.validate(full=True)
        return table
    except (pa.ArrowException, OSError, ValueError) as error:
        raise RefusedError(f"the body is not a table of Arrow: {error}.") from error


def check_table_size(data: bytes, most_rows: int, most_bytes: int) -> None:
    """Refuse a table that would be too large, without reading it."""
    pa, n_rows, n_bytes = _pyarrow(), 0, 0
    try:
        for message in pa.ipc.MessageReader.open_stream(_stream(data)):
            batch = _batch(bytes(message.metadata))
            if batch is not None:
                n_rows += abs(batch.length())
                n_bytes += batch.uncompressed_bytes(message.body)
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        raise RefusedError(f"the body is not a table of Arrow: {error}.") from error
    if n_rows > most_rows:
        raise TooLargeError(f"there are {n_rows:,} rows; {most_rows:,} are allowed at once.")
    if n_bytes > most_bytes:
        raise TooLargeError(f"the table has {n_bytes:,} bytes; {most_bytes:,} are allowed at once.")


class _Table(NamedTuple):
    """A table of a flatbuffer; each field has a place, or none if it is not set."""

    data: bytes
    at: int

    def field(self, number: int) -> int | None:
        to_offsets = self.at - self._number("<i", self.at)
        where = 4 + 2 * number
        if where + 2 > self._number("<H", to_offsets):
            return None
        offset = self._number("<H", to_offsets + where)
        return self.at + offset if offset else None

    def table(self, number: int) -> "_Table | None":
        at = self.field(number)
        return None if at is None else _Table(self.data, at + self._number("<I", at))

    def byte(self, number: int) -> int:
        at = self.field(number)
        return 0 if at is None else self._number("<B", at)

    def length(self) -> int:
        """The rows of a batch."""
        at = self.field(LENGTH)
        return 0 if at is None else self._number("<q", at)

    def uncompressed_bytes(self, body: Any) -> int:
        """The size that the compressed buffers of a batch would have; each begins with its own."""
        at = self.field(BUFFERS)
        if at is None or self.field(COMPRESSION) is None:
            return 0
        at += self._number("<I", at)
        n_bytes = 0
        for n in range(self._number("<I", at)):
            offset, length = struct.unpack_from("<qq", self.data, at + 4 + 16 * n)
            if length:
                (size,) = struct.unpack_from("<q", body, offset)
                n_bytes += length if size == NOT_COMPRESSED else abs(size)
        return n_bytes

    def _number(self, kind: str, at: int) -> int:
        number: int = struct.unpack_from(kind, self.data, at)[0]
        return number


def _batch(metadata: bytes) -> _Table | None:
    """The batch of rows, or of entries of a dictionary, that a message has."""
    message = _Table(metadata, struct.unpack_from("<I", metadata)[0])
    header = message.table(HEADER)
    if header is not None and message.byte(HEADER_TYPE) == DICTIONARY:
        return header.table(BATCH_OF_DICTIONARY)
    return header if message.byte(HEADER_TYPE) == BATCH else None


def _stream(data: bytes) -> Any:
    begin = len(FILE_MAGIC) if data.startswith(FILE_MAGIC) else 0
    return _pyarrow().py_buffer(data)[begin:]


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ImportError as error:
        raise UnknownFormatError(
            "Arrow is not installed here (rarefy[arrow]); send JSON."
        ) from error
    return pa
