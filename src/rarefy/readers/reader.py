"""Readers: files in several formats to batches of rows."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from rarefy.errors import InputError
from rarefy.hashing import hash_text
from rarefy.readers.batch import Batch
from rarefy.readers.block_parsing import parse_block
from rarefy.readers.buffers import BufferPool, PooledBuffer
from rarefy.readers.features.columns import Columns, checked_columns, listed_columns
from rarefy.readers.features.cross_names import check_first_features, crosses_of_columns
from rarefy.readers.features.crosses import crossings
from rarefy.readers.features.gram_names import check_format_has_grams, check_texts
from rarefy.readers.features.grams import OF_TEXTS, expansion, grams_of
from rarefy.readers.features.labels import (
    labels_of,
    too_many_labels_at,
)
from rarefy.readers.formats.registry import (
    BINARY_FORMATS,
    TEXT_FORMATS,
    Opened,
    recognise,
    recognise_binary,
)
from rarefy.readers.line_errors import BadLines
from rarefy.readers.prefetch import Job
from rarefy.readers.source import STDIN, Block, blocks, file_sizes, is_pipe
from rarefy.readers.text.scan import n_lines

NAMED_KINDS = ("text", "categorical", "numeric")
AT_LABEL = " The label of a row is the first word of its line."
AT_WEIGHT = {
    "svmlight": " All its rows have the same weight; VW text has weights.",
    "vw": " The weight of a row is the number after its label.",
}
NO_COLUMNS = {
    "svmlight": "svmlight has no columns",
    "vw": "VW text has namespaces, not columns",
}

Placed = tuple[Job[Batch], int]  # what makes a batch, and the position in the file behind it


class Reader:
    """Gives the rows of files in batches, and can be gone over again unless it reads a pipe.

    Readers are made by `rarefy.read`, which describes the parameters.

    Attributes
    ----------
    files : list of str
        The files in the order in which they are read, globs expanded.
    n_bad_lines : int
        How many lines were passed over when the reader was last gone over.
    bad_lines : list of str
        What was wrong with the first of them.
    can_be_read_again : bool
        False if one of the files is standard input or another pipe.
    columns : Columns
        What each column is, as far as it was said or found.
    roles : dict of str to str
        How the columns of the first file are taken, once it is read; empty if it has none.
    """

    def __init__(
        self,
        files: list[str],
        format: str | None,
        *,
        columns: Columns,
        classes: Sequence[str],
        cross: tuple[tuple[str, ...], ...],
        skip_bad_lines: bool,
        max_classes: int | None = None,
        stated: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.files = files
        self.format = format
        self.columns = columns
        self.labels = labels_of(classes, max_classes)
        self.cross = cross
        self.roles: dict[str, str] = {}
        self._is_first_reading = True  # what users say of columns is yet to be held against files
        self.names_wanted = False
        self.tags_wanted = False
        self.at_once = False  # whether lines of a pipe are read as they come
        self._by_model = False  # whether it reads as a trained model has learned to
        self._stated = stated  # of the columns, which holds against what a model has learned
        self.skip_bad_lines = skip_bad_lines
        self.faults = BadLines(skip=skip_bad_lines)
        self._numbers = count()
        self._read_once: set[str] = set()

    def settings(self) -> dict[str, Any]:
        """What a reader that reads the same is made of, as JSON takes it."""
        return {
            "files": self.files,
            "format": self.format,
            "columns": self.columns._asdict(),
            "classes": self.labels.classes,
            "cross": self.cross,
            "skip_bad_lines": self.skip_bad_lines,
            "max_classes": self.labels.most,
        }

    def read_like(
        self, columns: Columns, cross: tuple[tuple[str, ...], ...], *, by_model: bool = True
    ) -> None:
        """Read as another reader did; but what is stated of these files holds.

        What this one is told to ignore, and the other has not read, is ignored.
        """
        more = [name for name in self.columns.ignore if name not in columns.kinds]
        stated = {"ignore": (*columns.ignore, *more), **self._stated}
        if not columns.label_needed:
            stated |= {"label": columns.label, "weight": columns.weight}
        self.columns, self.cross = checked_columns(columns._replace(**stated)), cross
        self._by_model = by_model
        self._is_first_reading = False

    def another(self) -> "Reader":
        """A reader of the same files, to go over them side by side with this one."""
        once = [file for file in self.files if is_pipe(file)]
        if once:
            raise InputError(
                f"{once[0]}: {_what_is_read_once(once[0])} can be read only once, but two models "
                f"have to read the data; write it to a file first."
            )
        return Reader(**{**self.settings(), "columns": self.columns, "stated": self._stated})

    @property
    def n_bad_lines(self) -> int:
        """How many lines were passed over when the reader was last gone over."""
        return self.faults.count

    @property
    def bad_lines(self) -> list[str]:
        """What was wrong with the first of them."""
        return self.faults.shown

    @property
    def can_be_read_again(self) -> bool:
        return not any(is_pipe(file) for file in self.files)

    def __iter__(self) -> Iterator[Batch]:
        return (job.make() for job in self.jobs())

    def jobs(self, n_buffers: int | None = None) -> Iterator[Job[Batch]]:
        """What makes the batches, in order; that may be done side by side.

        With `n_buffers`, a batch is overwritten when so many more have come. Fresh memory for every
        batch would cost a tenth of the time.
        """
        self.faults = BadLines(skip=self.skip_bad_lines)
        self._numbers = count()  # of the blocks
        has_groups = bool(self.cross or self.columns.ignore or self.columns.ngram)
        pool = self._pool(n_buffers, has_groups=has_groups)
        sizes, before = file_sizes(self.files), 0
        total = None if sizes is None else sum(sizes)
        for n, file in enumerate(self.files):
            self._check_pipe(file)
            format = self.format or recognise_binary(file)
            file_jobs = self._text_jobs(file, pool)
            if format in BINARY_FORMATS:
                file_jobs = self._arrow_jobs(file, format, pool)
            for job, position in file_jobs:
                share = (before + position) / total if total else math.nan
                yield job.then(partial(_with_share, share))
            before += 0 if sizes is None else sizes[n]

    def _pool(self, n_buffers: int | None, *, has_groups: bool) -> BufferPool:
        return BufferPool(
            n_buffers, groups=has_groups, names=self.names_wanted, expansion=self._expansion
        )

    @property
    def _expansion(self) -> int:
        """How many times as many features as usual a text may have, and so a batch fewer texts."""
        return expansion(grams_of(self.columns.ngram, self.columns.skips, OF_TEXTS))

    def _text_jobs(self, file: str, pool: BufferPool) -> Iterator[Placed]:
        """Blocks whose lines can be counted beforehand are parsed later, others at once."""
        opened, line = None, 1

        def line_reached() -> int:
            return line

        header = None
        for block in self._blocks(file, line_reached):
            if opened is None:
                begin, block.line, block.header = block.begin, line, header
                opened = self._open(file, block)
                header = block.header
                seen = block.rest if opened is None else block.begin
                line += n_lines(block.data, begin, seen)
            if opened is None:
                continue
            pooled = pool.next(block.end - block.begin)
            parse = partial(self._parse, opened, file, block, next(self._numbers), line, pooled)
            if opened.rows_are_lines and not self.labels.are_words and not self.cross:
                line += n_lines(block.data, block.begin, block.end)
                yield Job(parse).then(itemgetter(0)), block.file_position
                continue
            batch, line = parse()
            for job in self._parts(batch):
                yield job, block.file_position

    def _blocks(self, file: str, line_reached: Callable[[], int]) -> Iterator[Block]:
        return blocks(file, line_reached, at_once=self.at_once, expansion=self._expansion)

    def _parts(self, batch: Batch) -> Iterator[Job[Batch]]:
        """The batch, or several with crosses, of which each takes a limited amount of memory."""
        if not self.cross:
            yield Job(lambda: batch)
            return
        for part in crossings(batch, self.cross, self._refuse_row):
            yield Job(part.batch_with_crosses, part.size)

    def _refuse_row(self, message: str) -> None:
        self.faults.add(next(self._numbers), 1, [message])

    def _arrow_jobs(self, file: str, format: str, pool: BufferPool) -> Iterator[Placed]:
        try:
            from rarefy.readers.formats.arrow import arrow_batches
        except ImportError as error:
            raise InputError(
                f"{file}: reading Parquet and Arrow files needs `pip install rarefy[arrow]`."
            ) from error
        with too_many_labels_at(file):
            for batch, position in arrow_batches(file, format, self.arrow_reading(file, pool)):
                for job in self._parts(batch):
                    yield job, position

    def arrow_reading(self, file: str, pool: BufferPool) -> Any:
        """How to read a Parquet or Arrow file."""
        from rarefy.readers.formats.arrow import ArrowReading

        return ArrowReading(
            self.columns,
            partial(self._settle, file),
            self.labels,
            pool,
            self._refuse_row,
            self._by_model,
        )

    def _settle(self, file: str, columns: Columns, roles: Mapping[str, str]) -> None:
        """Keep what the columns of the first file were found to be, for all files and passes."""
        if self._is_first_reading and roles:
            self.roles = dict(roles)
            self.cross = crosses_of_columns(file, self.cross, roles, all_known=columns.complete)
            check_texts(file, columns)
            self._is_first_reading = not columns.complete
        self.columns = columns

    def _check_pipe(self, file: str) -> None:
        if not is_pipe(file):
            return
        if file in self._read_once:
            raise InputError(
                f"{file}: {_what_is_read_once(file)} can be read only once; for several passes, "
                f"use a file or cache=... (--cache)."
            )
        self._read_once.add(file)

    def _open(self, file: str, block: Block) -> Opened | None:
        """How to parse the file that begins with the block, which is left without its header.

        None if the block is too small to tell; its `rest` is to be seen again, with more. What the
        columns of the first file were found to be holds for all files, and for all passes.
        """
        known = self.columns.complete
        format = self.format or recognise(file, block, columns_are_known=known)
        if format in NO_COLUMNS:
            self._refuse_names(file, format)
        opening = TEXT_FORMATS[format]
        opened = opening(file, block, self.columns, self.labels, by_model=self._by_model)
        if opened is None:
            return None
        if opened.columns is not None:
            self._settle(file, opened.columns, opened.roles)
        return opened

    def _refuse_names(self, file: str, format: str) -> None:
        """Who asks for columns where there are none has another file, or model, in mind."""
        if format == "vw" and not self._is_first_reading:
            return  # namespaces can be the columns that a model knows
        if self.cross and format == "svmlight":
            raise InputError(
                f"{file}: svmlight has no namespaces or columns that could be crossed."
            )
        check_format_has_grams(file, format, self.columns)
        named = [name for kind in NAMED_KINDS for name in getattr(self.columns, kind)]
        if named:
            if self._by_model:
                raise InputError(
                    f"{file}: {format} has no columns, so no column {named[0]!r}. The model was "
                    f"trained on the columns {listed_columns(named)}: give a file with them, such "
                    f"as CSV, JSON lines or Parquet."
                )
            kind = next(kind for kind in NAMED_KINDS if getattr(self.columns, kind))
            has_none = NO_COLUMNS[format]
            raise InputError(f"{file}: {has_none}: {kind}=[...] (--{kind}) does not apply.")
        if not self._by_model:
            self._refuse_roles(file, format)

    def _refuse_roles(self, file: str, format: str) -> None:
        """Label and weight are no columns there, and svmlight has no names to ignore."""
        columns = self.columns
        if columns.label != Columns().label:
            raise InputError(_no_column(file, format, "label", columns.label, AT_LABEL))
        if columns.weight is not None:
            raise InputError(_no_column(file, format, "weight", columns.weight, AT_WEIGHT[format]))
        if columns.ignore and format == "svmlight":
            raise InputError(_no_column(file, format, "ignore", columns.ignore[0]))

    def _parse(
        self,
        opened: Opened,
        file: str,
        block: Block,
        number: int,
        first_line: int,
        pooled: PooledBuffer,
    ) -> tuple[Batch, int]:
        """The rows of a block that begins at a line, and the line at which the next one does."""
        found = parse_block(
            opened,
            file,
            block,
            first_line,
            pooled,
            self.labels,
            skip=self.skip_bad_lines,
            by_model=self._by_model,
        )
        if found.n_bad:
            self.faults.add(number, found.n_bad, found.messages)
        batch = found.batch
        if number == 0 and self._is_first_reading:
            is_all = block.last and len(self.files) == 1
            self._check_namespaces(opened, block, batch, is_all=is_all)
        if opened.tags_at is not None:
            if self.tags_wanted:
                batch = batch._replace(tags=opened.tags_at(block, batch.lines - first_line))
            if self.columns.ignore:
                batch = batch.without_groups(list(map(hash_text, self.columns.ignore)))
        return batch, found.next_line

    def _check_namespaces(
        self, opened: Opened, block: Block, batch: Batch, *, is_all: bool
    ) -> None:
        """Refuse, or doubt, names of namespaces and members that the first rows do not have."""
        self._is_first_reading = False
        options = [("cross", names) for names in self.cross]
        if opened.tags_at is not None:
            options += [("ignore", (name,)) for name in self.columns.ignore]
            options += [("ngram", (name,)) for name, _ in self.columns.ngram]
            options += [("skips", (name,)) for name, _ in self.columns.skips]
        namespaces = None if opened.namespaces is None else partial(opened.namespaces, block)
        check_first_features(batch, options, is_all=is_all, namespaces=namespaces)


def _no_column(file: str, format: str, option: str, name: str, instead: str = "") -> InputError:
    return InputError(
        f"{file}: {format} has no columns, so no column {name!r} ({option}=..., --{option})."
        f"{instead}"
    )


def _what_is_read_once(file: str) -> str:
    return "standard input" if file == STDIN else "what is not a file"


def _with_share(share: float, batch: Batch) -> Batch:
    return batch._replace(share=share)
