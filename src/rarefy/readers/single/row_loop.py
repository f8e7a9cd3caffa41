"""The loop that reads single rows of Python, dicts and lines, by their addresses."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rarefy.arrays import LARGEST_VALUE, Floats, Numbers, read_only
from rarefy.jit import compiled, inlined
from rarefy.jit.python_objects import STR, copy_text, type_address
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.features.columns import Columns
from rarefy.readers.formats.dict_parser import NOT_PLAIN, DictScratch, add_dict
from rarefy.readers.formats.jsonl_parser import Plan
from rarefy.readers.single.line_parsing import LONGEST_LINE, has_labels, line_format
from rarefy.readers.text.numbers import NEWLINE

DONE = 0
BEHIND = 64  # bytes behind a line that may be looked at
OWN = math.nan  # in the place of a target: that of the line's own label


class OwnTargets(NamedTuple):
    """What the loss learns for the label of a line."""

    labels: Floats
    targets: Floats
    is_label: bool  # the target is the label itself


NO_TARGETS = OwnTargets(np.empty(0), np.empty(0), False)
LABELS_THEMSELVES = NO_TARGETS._replace(is_label=True)


def targets_by_number(targets: Mapping[Any, float]) -> OwnTargets:
    """Those of labels that are numbers, as lines can have them."""
    numbers = {
        float(label): target
        for label, target in targets.items()
        if type(label) in (int, float) and float(label) == label
    }
    return OwnTargets(np.array([*numbers]), np.array([*numbers.values()]), False)


class LineMemory(NamedTuple):
    """How lines are parsed, and where they are copied to."""

    format: Any
    to: Any
    text: Any  # the same, to be read
    size: Numbers
    own: OwnTargets


def line_memory(
    format: str, columns: Columns, own: OwnTargets, *, labels_are_words: bool
) -> LineMemory:
    to = np.zeros(LONGEST_LINE + BEHIND, np.uint8)
    return LineMemory(
        line_format(format, columns, labels_are_words=labels_are_words),
        to,
        read_only(to),
        np.zeros(1, np.int64),
        own if has_labels(format, columns) and not labels_are_words else NO_TARGETS,
    )


@inlined
def _target(own: OwnTargets, label: float) -> float:
    """What is learned for a label; NaN if that is not known."""
    if own.is_label:
        return label if abs(label) <= LARGEST_VALUE else math.nan
    for k in range(len(own.labels)):
        if own.labels[k] == label:
            return own.targets[k]  # type: ignore[no-any-return]
    return math.nan


@inlined
def _is_line_read(
    address: Any, line: LineMemory, y: Floats, importance: Floats, buffer: BatchBuffer
) -> bool:
    """Whether a text is plainly a row; it is in the buffer then, and so is its label if needed."""
    n = copy_text(address, line.to, line.size)
    if n < 1 or n > len(line.to) - BEHIND:
        return False
    if line.to[n - 1] == NEWLINE:
        n -= 1
    line.to[n] = NEWLINE
    if not line.format.is_recognised(line.text) or not line.format.parse(line.text, n + 1, buffer):
        return False
    if math.isnan(y[0]):
        y[0], importance[0] = _target(line.own, buffer.labels[0]), buffer.importance[0]
    return not math.isnan(y[0])


@compiled
def read_rows(
    n_rows: Numbers,
    objects: Numbers,
    plan: Plan | None,
    scratch: DictScratch,
    line: LineMemory | None,
    y: Floats,
    importance: Floats,
    buffer: BatchBuffer,
) -> int:
    """Write the features of dicts, or of one line, to the buffer; DONE, or what is in the way.

    If the first address is 0, the buffer has them already. Without a plan dicts are not plain, and
    without a line texts are not. Where y is OWN, it becomes the target of the line.
    """
    scratch.has_words[0] = 1  # a feature may come twice, unless dicts have no texts
    if objects[0] == 0:
        return DONE
    if line is not None and type_address(objects[0]) == scratch.types[STR]:
        return DONE if _is_line_read(objects[0], line, y, importance, buffer) else NOT_PLAIN
    if plan is None:
        return NOT_PLAIN
    scratch.has_words[0] = 0
    n = 0
    for row in range(n_rows[0]):
        n = add_dict(objects[row], plan, scratch, buffer, n)
        if n < 0:
            return n
        buffer.indptr[row + 1] = n
    return DONE
