"""Request bodies: rows in one of several formats."""

import io
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from rarefy.errors import InputError
from rarefy.readers import Reader, compression
from rarefy.readers.in_memory import LinesReader, RowsReader
from rarefy.serving.arrow_bodies import check_table_size, read_table
from rarefy.serving.json_lists import lines_of_list
from rarefy.serving.limits import Limits
from rarefy.serving.refusals import RefusedError, TooLargeError, UnknownFormatError

BLOCK_BYTES = 1 << 19  # of text that is learned at once; predictions wait for no more
JSON = "application/json"
AS_JSON = ("", "application/x-www-form-urlencoded")  # what curl says, if it is not told
FORMATS = {
    JSON: "json",
    "application/x-ndjson": "json",
    "application/jsonl": "json",
    "text/x-vw": "vw",
    "text/x-svmlight": "svmlight",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.arrow.file": "arrow",
}
ENCODINGS = {"": None, "identity": None, "gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}
OF_LINES = ("json", "vw", "svmlight")  # whose texts can be put one after the other
decode_json = msgspec.json.Decoder().decode
encode_json = msgspec.json.Encoder().encode


class Body(NamedTuple):
    """Rows: lines of text that end with a newline each, or a table of Arrow."""

    format: str
    data: bytes

    def reader(self, classes: tuple[str, ...]) -> Reader:
        """What reads the rows for a model of these classes."""
        if self.format == "arrow":
            return RowsReader(read_table(self.data), classes)
        pieces = _pieces(self.data) if self.format in OF_LINES else [self.data]
        return LinesReader(pieces, self.format, classes, BLOCK_BYTES)


def joined(bodies: Sequence[Body]) -> Body:
    """Bodies of one format of lines, one after the other."""
    if len(bodies) == 1:
        return bodies[0]
    return Body(bodies[0].format, b"".join([body.data for body in bodies]))


class Sent(NamedTuple):
    """What came with a request, and whether it was a single row, to be answered as such."""

    body: Body
    is_single: bool = False


def sent(content_type: str, data: bytes, limits: Limits) -> Sent:
    """The body of a request of this type; one of more rows than there may be is refused."""
    kind = _kind(content_type)
    if FORMATS[kind] == "arrow":
        check_table_size(data, limits.rows, limits.body_bytes)
        return Sent(Body("arrow", data))
    if kind != JSON:
        if data.count(b"\n") > limits.rows + 1:  # a header is no row
            raise TooLargeError(f"there are more than {limits.rows:,} lines.")
        return Sent(Body(FORMATS[kind], _ended(data)))
    data = data.strip()
    if data.startswith(b"["):
        return Sent(Body("json", lines_of_list(data, limits.rows)))
    return Sent(Body("json", _line(data)), is_single=True)


@lru_cache(100)
def _kind(content_type: str) -> str:
    kind = content_type.partition(";")[0].strip().lower()
    kind = JSON if kind in AS_JSON else kind
    if kind not in FORMATS:
        raise UnknownFormatError(
            f"Content-Type {kind!r} is not known; it may be {', '.join(FORMATS)}."
        )
    return kind


def decompressed(encoding: str, data: bytes, most: int) -> bytes:
    """The data as they were before they were compressed, if they are no more than that."""
    encoding = encoding.strip().lower()
    if encoding not in ENCODINGS:
        raise UnknownFormatError(f"Content-Encoding {encoding!r} is not known; use gzip or zstd.")
    kind = ENCODINGS[encoding]
    if kind is not None:
        try:
            stream = compression.decompressed("the body", io.BytesIO(data), kind)
            data = io.BufferedReader(stream).read(most + 1)
        except InputError as error:
            raise UnknownFormatError(f"{kind} is not installed here; use gzip.") from error
        except (OSError, EOFError, zlib.error) as error:
            raise RefusedError(
                f"the body is cut off, or not compressed with {kind}: {error}."
            ) from error
    if len(data) > most:
        raise TooLargeError(f"the body has more than {most:,} bytes; send it in several requests.")
    return data


def _pieces(text: bytes) -> Iterator[bytes]:
    """Whole lines, so many bytes at a time."""
    begin = 0
    while begin < len(text):
        end = text.find(b"\n", begin + BLOCK_BYTES) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _decoded(data: bytes) -> Any:
    try:
        return decode_json(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RefusedError(f"the body is not valid JSON: {error}.") from error


def json_of(data: bytes) -> Any:
    """What a body of JSON says; an empty one says nothing."""
    return _decoded(data) if data.strip() else {}


def with_member(line: bytes, name: str, value: Any) -> bytes:
    """An object of JSON on a line with one more member; of two of a name, the last one counts.

    The others stay as they are written, which is what counts in columns of texts and categories.
    """
    inside = line.rstrip().removesuffix(b"}").rstrip()
    comma = b"" if inside.endswith(b"{") else b","
    return inside + comma + encode_json({name: value})[1:] + b"\n"


def _line(text: bytes) -> bytes:
    """An object of JSON as a line; newlines in it are mere space."""
    return text.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def _ended(text: bytes) -> bytes:
    return text if text.endswith(b"\n") or not text else text + b"\n"
