"""Parsing blocks of lines with the compiled parser of a format, and reporting bad lines."""

from typing import NamedTuple

from rarefy.readers.batch import Batch
from rarefy.readers.buffers import PooledBuffer, written_batch
from rarefy.readers.features.labels import MORE_CLASSES, Labels, listed, too_many_labels_at
from rarefy.readers.formats.registry import Opened
from rarefy.readers.line_errors import SHOWN, end_of_line, fault, without_invalid_lines
from rarefy.readers.parsed import Parsed, Problem, remedy, what_is_wrong
from rarefy.readers.source import Block

NO_LABEL = "To leave out rows without a label, use bad_lines='skip' (--bad-lines skip)."


class ParsedBlock(NamedTuple):
    """The rows of a block."""

    batch: Batch
    next_line: int  # at which the next block begins
    n_bad: int  # lines that cannot be parsed
    messages: list[str]  # what is wrong with the first of them


def parse_block(
    opened: Opened,
    file: str,
    block: Block,
    first_line: int,
    pooled: PooledBuffer,
    labels: Labels,
    *,
    skip: bool,
    by_model: bool = False,
) -> ParsedBlock:
    """Parse a block that begins at a line; without `skip`, as far as to the first bad one."""
    valid, not_utf8 = without_invalid_lines(block)
    buffer, parsed = pooled.buffer, Parsed(0, 0, valid.begin, first_line, 0)
    messages: list[str] = []
    n_bad = 0
    while True:
        parsed = opened.parse(valid.data, valid.end, parsed._replace(problem=0), buffer)
        if parsed.problem == Problem.NONE:
            break
        if parsed.problem == Problem.OPEN_QUOTE and not block.last:
            block.rest = block.begin + parsed.position - valid.begin
            break
        if parsed.problem == Problem.NAMES_FULL:
            buffer = pooled.enlarge_names()
            continue
        if parsed.problem == Problem.NEW_LABEL and not labels.classes:
            with too_many_labels_at(f"{file}:{parsed.line}"):
                labels.enlarge()
            continue
        n_bad += 1
        if n_bad <= SHOWN:
            what = not_utf8.get(parsed.line - first_line) or fault(
                valid,
                parsed.position,
                _expected(opened, valid, parsed, labels),
                _remedy(Problem(parsed.problem), by_model=by_model, skip=skip),
            )
            messages.append(f"{file}:{parsed.line}:{what}")
        if not skip:
            break
        position, line = end_of_line(valid, parsed.position) + 1, parsed.line + 1
        if opened.next_row is not None:
            position, line = opened.next_row(valid, parsed.position, parsed.line)
        parsed = parsed._replace(position=position, line=line)
    label_names = None if opened.label_at is None else labels.names
    batch = written_batch(file, buffer, parsed, label_names)
    return ParsedBlock(batch, parsed.line, n_bad, messages)


def _remedy(problem: Problem, *, by_model: bool, skip: bool) -> str | None:
    """What to do about it, where that is known and not done already."""
    if problem == Problem.NO_LABEL and not by_model and not skip:
        return NO_LABEL
    return MORE_CLASSES if problem == Problem.NEW_LABEL else remedy(problem, by_model=by_model)


def _expected(opened: Opened, block: Block, parsed: Parsed, labels: Labels) -> str:
    """What is wrong where the parser stopped."""
    if parsed.problem != Problem.NEW_LABEL:
        return what_is_wrong(Problem(parsed.problem))
    assert opened.label_at is not None
    label = opened.label_at(block, parsed.position)
    return f"the label {label!r} is not one of {listed(labels.classes)}"
