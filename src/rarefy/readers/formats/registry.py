"""All formats, and how files are recognised."""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from rarefy.errors import InputError, RarefyWarning
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.features.columns import Columns
from rarefy.readers.features.labels import Labels
from rarefy.readers.formats.line_parser import parse_lines
from rarefy.readers.formats.svmlight import Svmlight
from rarefy.readers.formats.vw import namespaces, tags_at, vw_parser
from rarefy.readers.parsed import Parsed
from rarefy.readers.source import STDIN, Block, opened

Parse = Callable[[Any, int, Parsed, BatchBuffer], Parsed]


class Opened(NamedTuple):
    """How to parse the blocks of one file."""

    parse: Parse  # (data, end, where to start, buffer) -> how far it came
    rows_are_lines: bool = False  # then blocks can be parsed in any order
    label_at: Callable[[Block, int], str] | None = None  # the label of the row at a position
    # where, and at which line, to go on after a fault at a position and line; None: the next line
    next_row: Callable[[Block, int, int], tuple[int, int]] | None = None
    columns: Columns | None = None  # what each column was found to be, if there are columns
    roles: Mapping[str, str] = MappingProxyType({})  # of the columns that the file begins with
    tags_at: Callable[[Block, Iterable[int]], tuple[str, ...]] | None = None  # of rows, by line
    namespaces: Callable[[Block], list[str]] | None = None  # in a block, if there are namespaces


class Opening(Protocol):
    """Finds out how to parse a file.

    Where a trained model reads, users can no longer say what columns are: advice differs.
    """

    def __call__(
        self, file: str, block: Block, columns: Columns, labels: Labels, *, by_model: bool
    ) -> Opened | None: ...


def open_svmlight(
    file: str, block: Block, columns: Columns, labels: Labels, *, by_model: bool = False
) -> Opened:
    labels.settle(words=False)
    return Opened(partial(parse_lines, Svmlight()), rows_are_lines=True)


def open_vw(
    file: str, block: Block, columns: Columns, labels: Labels, *, by_model: bool = False
) -> Opened:
    labels.settle(words=False)
    return Opened(vw_parser(columns), rows_are_lines=True, tags_at=tags_at, namespaces=namespaces)


def open_json(
    file: str, block: Block, columns: Columns, labels: Labels, *, by_model: bool = False
) -> Opened:
    from rarefy.readers.formats.json_sample import settled
    from rarefy.readers.formats.jsonl import begins_with_a_word, json_parser, label_at

    if not labels.are_settled:
        labels.settle(words=begins_with_a_word(block, columns.label))
    find_label = partial(label_at, name=columns.label)
    columns, roles = settled(file, block, columns, by_model=by_model)
    return Opened(
        json_parser(file, columns, labels),
        rows_are_lines=True,
        label_at=find_label,
        columns=columns,
        roles=roles,
    )


def open_csv(
    file: str, block: Block, columns: Columns, labels: Labels, *, by_model: bool = False
) -> Opened | None:
    from rarefy.readers.formats.csv_columns import open_csv_file

    csv = open_csv_file(file, block, columns, labels, by_model=by_model)
    if csv is None:
        return None
    return Opened(
        csv.parse,
        label_at=csv.label_at,
        next_row=csv.next_row,
        columns=csv.columns,
        roles=csv.roles,
    )


# Each gets the file's name and first block, may see to the labels, takes a header off the block,
# and says how to go on; or None, if it has to see more of the file for that, from `rest` on.
TEXT_FORMATS: dict[str, Opening] = {
    "svmlight": open_svmlight,
    "vw": open_vw,
    "csv": open_csv,
    "json": open_json,
}
BINARY_FORMATS = ("parquet", "arrow")
MODEL_BEGINNING = b"rarefy model "
FORMATS = (*TEXT_FORMATS, *BINARY_FORMATS)
ENDINGS = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",  # a file or a stream
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
BINARY_BEGINNINGS = {b"PAR1": "parquet", b"ARROW1": "arrow"}
MOST_RECOGNISED = 1 << 16  # bytes of a text that are looked at to tell its format
NUMBERS_AND_BARS = b"+-.0123456789|"
NOT_BEFORE_BAR = re.compile(rb"[:#\r\n]")  # or the line may be of another format
SVMLIGHT_LINE = re.compile(rb"\s*[-+]?[.0-9][-+.0-9eE]*(\s+qid:\d+)?(\s+\d+:\S+)*\s*(#.*)?$")


def format_by_name(file: str) -> str | None:
    endings = Path(file).suffixes[::-1] if file != STDIN else []
    return next((ENDINGS[ending] for ending in endings if ending in ENDINGS), None)


def recognise_binary(file: str) -> str | None:
    """The format of a file that is not text, by its name or else by how it begins."""
    format = format_by_name(file)
    if format is None and os.path.isfile(file):
        with opened(file) as raw:
            format = _beginning(raw.read(8))
    return format if format in BINARY_FORMATS else None


def _beginning(start: bytes) -> str | None:
    return next(
        (kind for magic, kind in BINARY_BEGINNINGS.items() if start.startswith(magic)), None
    )


def recognise(file: str, block: Block, *, columns_are_known: bool) -> str:
    """The format of a text, by its name or else by its first line that says something."""
    format = format_by_name(file)
    if format is not None:
        return format
    end = min(block.end, block.begin + MOST_RECOGNISED)
    start = block.data[block.begin : end].tobytes()
    return recognise_text(file, start, columns_are_known=columns_are_known)


def recognise_text(file: str, start: bytes, *, columns_are_known: bool = False) -> str:
    """The format of a text that begins so.

    Where columns are known by name, what no other format explains is CSV with a single column.
    """
    if start.lstrip(b" \t\r\n").startswith(b"{"):
        return "json"
    if _beginning(start) is not None:
        raise InputError(
            f"{file}: Parquet and Arrow cannot be read compressed or from standard input; name an "
            f"uncompressed file."
        )
    if start.startswith(MODEL_BEGINNING):
        raise InputError(f"{file} is a rarefy model; data is expected.")
    lines = start.splitlines()
    if not start.endswith(b"\n"):
        lines[-1] = lines[-1].rpartition(b" ")[0]  # the window may have cut a feature in two
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
    if not lines or SVMLIGHT_LINE.match(lines[0]):
        return "svmlight"
    if b"|" in lines[0]:
        return "vw"
    if re.search(rb"[,;\t]", lines[0]) and not lines[0].lstrip().startswith((b"{", b"[")):
        return "csv"
    if columns_are_known:
        what = "standard input" if file == STDIN else file
        warnings.warn(
            f"{what} is read as CSV with one column, since the model was trained on columns; for "
            f"another format, use --format (format=...).",
            RarefyWarning,
            stacklevel=2,
        )
        return "csv"
    blanks = " Between columns, write commas or tabs." if len(lines[0].split()) > 1 else ""
    raise InputError(
        f"{file}: the format cannot be inferred; give format=... (--format), one of "
        f"{', '.join(FORMATS)}.{blanks}"
    )


def is_plainly_vw(line: bytes) -> bool:
    """Whether a line is VW text to `recognise_text`, told in less time; some such lines are not."""
    head, bar, _ = line.partition(b"|")
    return bool(bar) and line[:1] in NUMBERS_AND_BARS and not NOT_BEFORE_BAR.search(head)
