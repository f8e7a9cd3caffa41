"""Readers: files in several formats to batches of rows; each text format has a compiled parser."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rarefy.config import choose
from rarefy.errors import InputError
from rarefy.readers.batch import EXPECTED, Batch, Parsed, Problem, Rooms, filled
from rarefy.readers.columns import Columns, checked_columns
from rarefy.readers.crosses import checked_crosses, with_crosses
from rarefy.readers.faults import fault, line_end, without_invalid_lines
from rarefy.readers.formats import (
    BINARY_FORMATS,
    FORMATS,
    TEXT_FORMATS,
    Opened,
    recognise,
    recognise_binary,
)
from rarefy.readers.labels import Labels
from rarefy.readers.source import STDIN, Block, blocks, expand

BAD_LINES = ("stop", "skip")
SHOWN_BAD_LINES = 5

__all__ = ["Batch", "Reader", "read"]


def read(
    *paths: str | Path,
    format: str | None = None,
    bad_lines: str = "stop",
    cross: Sequence[tuple[str, str]] = (),
    classes: Sequence[str] = (),
    label: str = "label",
    weight: str | None = None,
    text: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
    delimiter: str | None = None,
    header: bool = True,
    quotes: bool = True,
) -> "Reader":
    """A reader of files, globs or '-' for standard input, compressed or not.

    The format is told from the name or the first lines, if it is not given. A line that cannot be
    parsed stops the reading with an InputError; with bad_lines="skip" it is passed over, and
    counted in `n_bad_lines`.

    `cross` names pairs of namespaces or columns: all features of the one times all of the other
    are features too. `classes` are all labels that may come. The others say which column of a CSV,
    JSON, Parquet or Arrow file is what; columns that are not named are told from what they contain.
    """
    if not paths:
        raise InputError("nothing to read: name a file, or '-' for standard input.")
    if format is not None:
        choose("format", format, dict.fromkeys(FORMATS))
    choose("bad_lines", bad_lines, dict.fromkeys(BAD_LINES))
    columns = Columns(
        label,
        weight,
        tuple(text),
        tuple(categorical),
        tuple(numeric),
        tuple(ignore),
        delimiter,
        header,
        quotes,
    )
    return Reader(
        expand(paths),
        format,
        columns=checked_columns(columns),
        classes=classes,
        cross=checked_crosses(cross),
        skip_bad_lines=bad_lines == "skip",
    )


class Reader:
    """Gives batches of rows; can be gone over again, unless it reads standard input."""

    def __init__(
        self,
        files: list[str],
        format: str | None,
        *,
        columns: Columns,
        classes: Sequence[str],
        cross: tuple[tuple[str, str], ...],
        skip_bad_lines: bool,
    ) -> None:
        self.files = files
        self.format = format
        self.columns = columns
        self.labels = Labels(classes)
        self.cross = cross
        self.names_wanted = False
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
        rooms = Rooms(n_rooms, groups=bool(self.cross), names=self.names_wanted)
        for file in self.files:
            self._check_stdin(file)
            format = self.format or recognise_binary(file)
            if format in BINARY_FORMATS:
                for batch in self._arrow_batches(file, format, rooms):
                    yield with_crosses(batch, rooms.current, self.cross)
                continue
            opened, line = None, 1
            for block in blocks(file):
                opened = opened or self._open(file, block)
                if opened is None:
                    block.rest = block.begin
                    continue
                line = max(line, 1 + opened.n_header_lines)
                batch, line = self._parse(opened, file, block, line, rooms)
                yield with_crosses(batch, rooms.current, self.cross)

    def _arrow_batches(self, file: str, format: str, rooms: Rooms) -> Iterator[Batch]:
        try:
            from rarefy.readers.arrow import arrow_batches
        except ImportError as error:
            raise InputError(
                f"{file}: reading Parquet and Arrow files needs `pip install rarefy[arrow]`."
            ) from error
        return arrow_batches(file, format, self.columns, self.labels, rooms, self._refuse)

    def _refuse(self, message: str) -> None:
        """Count a bad row, or stop at it."""
        self.n_bad_lines += 1
        if len(self.bad_lines) < SHOWN_BAD_LINES:
            self.bad_lines.append(message)
        if not self.skip_bad_lines:
            raise InputError(message)

    def _check_stdin(self, file: str) -> None:
        if file == STDIN and self._stdin_was_read:
            raise InputError(
                "-: standard input can be read only once; for several passes name a file."
            )
        self._stdin_was_read |= file == STDIN

    def _open(self, file: str, block: Block) -> Opened | None:
        """How to parse the file that begins with the block, which is left without its header.

        None if the block is too small to tell. What the columns of the first file were found to be
        holds for all files, and for all passes.
        """
        opening = TEXT_FORMATS[self.format or recognise(file, block)]
        opened = opening(file, block, self.columns, self.labels)
        if opened is None:
            return None
        self.columns = opened.columns or self.columns
        for _ in range(opened.n_header_lines):
            block.begin = line_end(block, block.begin) + 1
        return opened

    def _parse(
        self, opened: Opened, file: str, block: Block, first_line: int, rooms: Rooms
    ) -> tuple[Batch, int]:
        """The rows of a block that begins at a line, and the line at which the next one does."""
        valid, not_utf8 = without_invalid_lines(block)
        room = rooms.next(block.end - block.begin)
        parsed = Parsed(0, 0, valid.begin, first_line, Problem.NONE)
        while True:
            parsed = opened.parse(valid.data, valid.end, parsed, room)
            if parsed.problem == Problem.NONE:
                break
            if parsed.problem == Problem.OPEN_QUOTE and not block.last:
                block.rest = block.begin + parsed.position - valid.begin
                break
            if parsed.problem == Problem.NO_ROOM:
                room = rooms.with_more_names()
                continue
            what = None
            if parsed.problem == Problem.NEW_LABEL:
                what = self._new_label(opened, valid, parsed.position)
                if what is None:
                    continue
            if not self.skip_bad_lines or len(self.bad_lines) < SHOWN_BAD_LINES:
                expected = what or f"{EXPECTED[parsed.problem]} is expected"
                what = not_utf8.get(parsed.line - first_line)
                what = what or fault(valid, parsed.position, expected)
                self.bad_lines.append(f"{file}:{parsed.line}:{what}")
            self.n_bad_lines += 1
            if not self.skip_bad_lines:
                raise InputError(self.bad_lines[-1])
            position, line = line_end(valid, parsed.position) + 1, parsed.line + 1
            if opened.next_row is not None:
                position, line = opened.next_row(valid, parsed.position, parsed.line)
            parsed = parsed._replace(position=position, line=line)
        return filled(file, room, parsed, self.labels.names), parsed.line

    def _new_label(self, opened: Opened, block: Block, position: int) -> str | None:
        """Take note of the label of the row at a position, or say why that cannot be."""
        assert opened.label_at is not None
        label = opened.label_at(block, position)
        if self.labels.classes:
            return f"the label {label!r} is not one of {', '.join(self.labels.classes)}"
        self.labels.add(label)
        return None
