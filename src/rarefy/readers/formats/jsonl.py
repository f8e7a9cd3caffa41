"""JSON lines: an object a line; its members are columns, and those of objects in it are too.

The column of a member is called by its path, the names joined by dots: {"user": {"age": 3}} has
the column `user.age`. The label and the importance are members of the outermost object. What a
value means:

- a number, true or false (1 and 0): the value of the column's feature; if the column is said to be
  categorical, the feature `path=number`, as it is written (or, if it is known from another format
  which columns there are, as value_texts.py says); if it is text, words;
- a string: the feature `path=string`; words, if the column is said to be text; the number in it, if
  the column is said to be numeric;
- null or an empty string: nothing, whatever the column;
- an array: all of its elements, with the path of the array. An element that is a number has its
  position as a name, `path=0`, `path=1` and so on, counted within the innermost array.

Of members with the same name all count, but the last label or importance is the one that holds.
Any member may be absent; one of another name is passed over with a warning, if it is known which
columns there are.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from rarefy.hashing import hash_text
from rarefy.readers.buffers import BatchBuffer
from rarefy.readers.feature_names import ABSENT
from rarefy.readers.features.columns import Columns, pass_over
from rarefy.readers.features.labels import Labels, is_word
from rarefy.readers.features.words import word_tables
from rarefy.readers.formats.json_sample import unknown_in
from rarefy.readers.formats.jsonl_parser import (
    CATEGORICAL,
    FORMS,
    IGNORED,
    LABEL,
    NUMERIC,
    TEXT,
    USUAL_FORM,
    WEIGHT,
    Plan,
    parse_jsonl,
    scratch_for,
)
from rarefy.readers.line_errors import end_of_line
from rarefy.readers.parsed import Parsed
from rarefy.readers.source import Block
from rarefy.readers.text.scan import skip_empty_lines


@lru_cache(100)
def plan_for(columns: Columns) -> Plan:
    forms = dict(columns.forms)
    kinds = {columns.label: LABEL}
    if columns.weight is not None:
        kinds[columns.weight] = WEIGHT if columns.weight_needed else IGNORED
    for names, kind in (
        (columns.text, TEXT),
        (columns.categorical, CATEGORICAL),
        (columns.numeric, NUMERIC),
        (columns.ignore, IGNORED),
    ):
        kinds |= dict.fromkeys(names, kind)
    return Plan(
        np.array([hash_text(name) for name in kinds], dtype=np.uint64),
        np.array(list(kinds.values()), dtype=np.uint8),
        np.array([_form_number(forms.get(name)) for name in kinds], dtype=np.uint8),
        columns.label_needed,
        columns.weight_needed,
        columns.complete,
        word_tables(columns.ngram, columns.skips),
    )


def _form_number(form: str | None) -> int:
    return FORMS.index(form) if form in FORMS else USUAL_FORM


def json_parser(
    file: str, columns: Columns, labels: Labels
) -> Callable[[Any, int, Parsed, BatchBuffer], Parsed]:
    """The parser for a file with these columns, which knows the labels that have come so far."""
    plan = plan_for(columns)
    passed_over: set[str] = set()

    def parse(data: Any, end: int, start: Parsed, buffer: BatchBuffer) -> Parsed:
        scratch = scratch_for(end - start.position)
        parsed = parse_jsonl(
            data, end, start, buffer, plan, scratch, labels.are_words, labels.words
        )
        if scratch.unknown[0] != ABSENT:
            found = unknown_in(data, int(scratch.unknown[0]), columns)
            new = [name for name in found if name not in passed_over]
            passed_over.update(new)
            pass_over(file, new, columns)
        return parsed

    return parse


def label_at(block: Block, position: int, name: str) -> str:
    """The label, which is a word, of the row at a position."""
    label = _label(block, position, name)
    return label if isinstance(label, str) else str(label).lower()  # True is written as true


def begins_with_a_word(block: Block, name: str) -> bool:
    """Whether the first label there is a word and not a number."""
    position = block.begin
    while (position := skip_empty_lines(block.data, position, block.end)) < block.end:
        label = _label(block, position, name)
        if isinstance(label, bool):
            return False
        if isinstance(label, str) and label:
            return is_word(label)
        position = end_of_line(block, position) + 1
    return False


def _label(block: Block, position: int, name: str) -> Any:
    """The label of the row at a position, numbers as they are written; None without one."""
    line = block.data[position : end_of_line(block, position)].tobytes()
    try:
        row = json.loads(line.decode(), parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    return row.get(name) if isinstance(row, dict) else None
