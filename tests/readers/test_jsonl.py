"""JSON lines: the compiled parser against json.loads and a slow flattening of what it gives."""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from rarefy import InputError
from rarefy.hashing import hash_text
from rarefy.readers import Batch, Reader, read
from rarefy.readers.compression import COMPRESSIONS
from rarefy.readers.features.columns import Columns
from tests.readers.test_readers import ROOT, block_size, mutated, on_files, written
from tests.readers.test_words import features_of
from tests.text_formats import NUMBER, BadLineError, same_bits

# files of a few lines, which lack most of the columns that are named for all of them
pytestmark = pytest.mark.filterwarnings("ignore:.*there is no column:rarefy.RarefyWarning")

DEEPEST = 64
BYTE_ORDER_MARK = "\ufeff"


# --- the format once more, slowly -------------------------------------------------------------


class Written(str):
    """A number, true or false as it is written, which is no string."""


class Members(list):
    """The members of an object, of which several may have the same name."""


class Feature(NamedTuple):
    path: str
    name: str
    value: float

    @property
    def key(self) -> int:
        return hash_text(self.name, hash_text(self.path))

    @property
    def full_name(self) -> str:
        return "=".join(part for part in (self.path, self.name) if part)


class Row(NamedTuple):
    label: str | float
    importance: float
    features: list[Feature]


def refuse(literal: str) -> None:
    raise BadLineError(f"{literal} is not JSON")


def loaded(line: bytes) -> Members | None:
    """The object on a line, by the standard library, less what we refuse and it takes."""
    text = line.decode()
    if not text.strip(" \t\r"):
        return None
    members = json.loads(
        text,
        parse_int=Written,
        parse_float=Written,
        parse_constant=refuse,
        object_pairs_hook=Members,
    )
    if not isinstance(members, Members):
        raise BadLineError("no object")
    check(members, 1)
    return members


def check(value: Any, depth: int) -> None:
    """Refuse halves of surrogate pairs, and what is too deep."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, Members):
        for name, member in value:
            name.encode()
            check(member, depth + 1)
    elif isinstance(value, list):
        for element in value:
            check(element, depth + 1)
    if isinstance(value, list) and depth > DEEPEST:
        raise BadLineError("too deep")


def number(value: Any) -> float:
    if isinstance(value, bool):
        return float(value)
    if not NUMBER.fullmatch(value.encode()) or math.isinf(float(value)):
        raise BadLineError(f"{value} is no finite number")
    return float(value)


def as_written(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def flattened(path: str, value: Any, columns: Columns, position: str = "") -> Iterator[Feature]:
    """The features of a value; `position` is that of an element of an array."""
    if path in columns.ignore or value is None or value == "":
        return
    if isinstance(value, Members):
        for name, member in value:
            yield from flattened(f"{path}.{name}", member, columns)
    elif isinstance(value, list):
        for n, element in enumerate(value):
            yield from flattened(path, element, columns, str(n))
    elif path in columns.text:
        yield from (Feature(path, words, 1.0) for words in features_of(as_written(value)))
    elif path in columns.categorical:
        yield Feature(path, as_written(value), 1.0)
    elif isinstance(value, Written | bool) or path in columns.numeric:
        yield Feature(path, position, number(value))
    else:
        yield Feature(path, value, 1.0)


def row_of(line: bytes, columns: Columns, words: bool) -> Row | None:
    members = loaded(line)
    if members is None:
        return None
    label: str | float = math.nan
    weight_needed = columns.label_needed and columns.weight is not None
    importance, features = math.nan if weight_needed else 1.0, []
    for name, value in members:
        nothing = value is None or value == ""
        if name == columns.label:
            label = math.nan if nothing else label_of(value, columns, words)
        elif name == columns.weight:
            if weight_needed:
                importance = math.nan if nothing else importance_of(value)
        else:
            features += flattened(name, value, columns)
    if columns.label_needed and not isinstance(label, str) and math.isnan(label):
        raise BadLineError("no label")
    if math.isnan(importance):
        raise BadLineError("no importance")
    return Row(label, importance, features)


def importance_of(value: Any) -> float:
    if isinstance(value, list):
        raise BadLineError("a list is no importance")
    importance = number(value)
    if importance < 0:
        raise BadLineError("negative importance")
    return importance


def label_of(value: Any, columns: Columns, words: bool) -> str | float:
    try:
        if isinstance(value, list):
            raise BadLineError("a list is no label")
        return as_written(value) if words else number(value)
    except BadLineError:
        if columns.label_needed:
            raise
        return math.nan


class Text(NamedTuple):
    rows: list[Row]
    lines: list[int]
    bad_lines: list[int]


def parsed(text: bytes, columns: Columns, words: bool = False) -> Text:
    found = Text([], [], [])
    for n, line in enumerate(text.split(b"\n"), start=1):
        try:
            row = row_of(line, columns, words)
        except (BadLineError, ValueError, RecursionError):
            found.bad_lines.append(n)
            continue
        if row is not None:
            found.rows.append(row)
            found.lines.append(n)
    return found


# --- reading, and comparing -------------------------------------------------------------------

COLUMNS = Columns(
    weight="w",
    text=("t", "a.t"),
    categorical=("c", "a.c"),
    numeric=("n", "a.n"),
    ignore=("x", "a.x"),
)
PREDICTION = COLUMNS._replace(label_needed=False)


def reader_of(
    path: Path, columns: Columns, *, format: str | None = "json", **options: Any
) -> Reader:
    reader = read(path, format=format, **options)
    reader.columns = columns
    return reader


def names_of(batch: Batch) -> dict[int, str]:
    n = int(batch.names.used[0])
    ends = [0, *batch.names.ends[:n].tolist()]
    text = batch.names.text.tobytes()
    texts = (text[begin:end].decode() for begin, end in pairwise(ends))
    return dict(zip(batch.names.keys[:n].tolist(), texts, strict=True))


def assert_same(batches: list[Batch], expected: Text, words: bool) -> None:
    rows = expected.rows
    assert [line for batch in batches for line in batch.lines.tolist()] == expected.lines
    lengths = [n for batch in batches for n in np.diff(batch.indptr).tolist()]
    assert lengths == [len(row.features) for row in rows]
    features = [feature for row in rows for feature in row.features]
    named = [(batch, names_of(batch)) for batch in batches]
    keys = [key for batch in batches for key in batch.keys.tolist()]
    assert keys == [feature.key for feature in features]
    found = [names[key] for batch, names in named for key in batch.keys.tolist()]
    assert found == [feature.full_name for feature in features]
    values = [value for batch in batches for value in batch.values.tolist()]
    assert same_bits(np.array(values), [feature.value for feature in features])
    importance = [value for batch in batches for value in batch.importance.tolist()]
    assert same_bits(np.array(importance), [row.importance for row in rows])
    labels = [label for batch in batches for label in batch.labels.tolist()]
    if words:
        assert [
            batch.label(n) for batch in batches for n in range(len(batch.labels))
        ] == [row.label for row in rows]  # fmt: skip
    else:
        assert same_bits(np.array(labels), [float(row.label) for row in rows])


def check_text(
    folder: Path,
    text: bytes,
    columns: Columns = COLUMNS,
    n_bytes: int | None = None,
    words: bool = False,
) -> None:
    """Good lines are read as they should be, and bad ones are refused or passed over."""
    if text.startswith((*COMPRESSIONS, BYTE_ORDER_MARK.encode())):
        return
    path = written(folder, text)
    expected = parsed(text, columns, words)
    with block_size(n_bytes):
        reader = reader_of(path, columns, bad_lines="skip")
        reader.names_wanted = True
        reader.labels.settle(words=words)
        batches = list(reader)
        assert reader.n_bad_lines == len(expected.bad_lines), (expected.bad_lines, reader.bad_lines)
        assert_same(batches, expected, words)
        if expected.bad_lines:
            stopping = reader_of(path, columns)
            stopping.labels.settle(words=words)
            with pytest.raises(InputError, match=re.escape(f"{path}:{expected.bad_lines[0]}:")):
                list(stopping)


def only_row(folder: Path, line: str, **options: Any) -> tuple[list[str], list[float], float]:
    """Names and values of the features, and the label."""
    reader = read(written(folder, line.encode(), "data.jsonl"), **options)
    reader.names_wanted = True
    (batch,) = reader
    assert len(batch.labels) == 1
    names = names_of(batch)
    return [names[key] for key in batch.keys.tolist()], batch.values.tolist(), batch.labels[0]


def message_of(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        list(read(path, **options))
    return str(caught.value)


# --- lines, good ones and bad ones ------------------------------------------------------------

names = st.sampled_from(("a", "b", "t", "c", "n", "x", "w", "label", "", "a.n", "é", "日", 'q"\n'))
strings = st.one_of(
    st.sampled_from(("", "1", "-2.5e3", "1.", "01", "a b", "Hello, World", "1e999", "x" * 40)),
    st.text(max_size=12),
)
numbers = st.one_of(
    st.integers(-9, 99),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
)
scalars = st.one_of(strings, numbers, st.booleans(), st.none())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
    max_leaves=12,
)
WRITERS = [
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False),
    lambda value: json.dumps(value, separators=(",", ":")),
    lambda value: " \t" + json.dumps(value, separators=(" ,\t", " : ")) + "\r",
]
labels = st.one_of(st.integers(-3, 3), st.booleans(), st.sampled_from(("1", "-0.5")))


@st.composite
def objects(draw: Any, label: st.SearchStrategy = labels) -> str:
    """A line; numbers in strings may be bad ones, and the importance may be strange."""
    members = draw(st.dictionaries(names, values, max_size=5))
    if draw(st.integers(0, 9)):
        members["label"] = draw(label)
        members["w"] = draw(st.sampled_from((0, 1, 0.25, None, "3")))
    return draw(st.sampled_from(WRITERS))(members)


def files(label: st.SearchStrategy = labels) -> st.SearchStrategy:
    lines = st.one_of(objects(label), objects(label), st.sampled_from(("", " ", "\r")))
    return st.lists(lines, max_size=5).map(lambda lines: "\n".join(lines).encode())


block_sizes = st.sampled_from((None, 1, 7, 30))
ALPHABET = rb'{}[]:,"\/ntfrue0123456789+-.eEabdsl .' + b"\t\r\n\x00\x1f\x7f\xff\xc3\xa9"
PARTS = (
    b"{", b"}", b"[", b"]", b":", b",", b'"', b"null", b"true", b"false", b"NaN", b"Infinity",
    b"-Infinity", b"1", b"01", b"-", b"-0", b"1.5", b"1.", b".5", b"1e5", b"1E+", b"1e999", b'"a"',
    b'"label":1', b'"label"', b'"n":"', b"\\", b"\\u", b"\\ud83d", b"\\ude00", b"\\u00e9", b"\\n",
    b" ", b"\r", b"\n", b"\xc3\xa9", b"\xff", b"\x00", b"\x1f",
)  # fmt: skip
noise = st.one_of(
    st.lists(st.sampled_from(ALPHABET), max_size=40).map(bytes),
    st.lists(st.sampled_from(PARTS), max_size=14).map(b"".join),
    st.lists(st.sampled_from(PARTS), max_size=6).map(
        lambda parts: b'{"label":1,"a":' + b"".join(parts) + b"}"
    ),
)


class TestAgainstTheStandardLibrary:
    @on_files
    @given(text=files(), n_bytes=block_sizes)
    def test_objects(self, tmp_path, text, n_bytes):
        check_text(tmp_path, text, n_bytes=n_bytes)

    @on_files
    @given(text=files(scalars), n_bytes=block_sizes)
    def test_objects_to_predict(self, tmp_path, text, n_bytes):
        check_text(tmp_path, text, PREDICTION, n_bytes)

    @on_files
    @given(text=files(scalars), n_bytes=block_sizes)
    def test_labels_that_are_words(self, tmp_path, text, n_bytes):
        check_text(tmp_path, text, n_bytes=n_bytes, words=True)

    @on_files
    @given(text=files(), seed=st.integers(0, 2**32), n_bytes=block_sizes)
    def test_damaged_objects(self, tmp_path, text, seed, n_bytes):
        check_text(tmp_path, mutated(text, seed), n_bytes=n_bytes)

    @on_files
    @given(text=noise, n_bytes=block_sizes)
    @example(text=b'{"label":1,"a":1e999}', n_bytes=None)
    @example(text=b'{"label":1,"x":1e999,"c":1e999}', n_bytes=None)
    @example(text=b'{"label":1,"a":"\\ud83d\\u0041"}', n_bytes=None)
    @example(text=b'{"label":1,"a":"\\ud83d', n_bytes=None)
    @example(text=b'{"label":1,"a":"\\', n_bytes=None)
    def test_noise(self, tmp_path, text, n_bytes):
        check_text(tmp_path, text, n_bytes=n_bytes)


# --- what a line means, said directly ---------------------------------------------------------

MEANINGS = {
    '{"w": 1, "label": 1}': ([], []),
    '{"w": 1, "label": 1, "a": 2.5}': (["a"], [2.5]),
    '{"w": 1, "label": 1, "a": true, "b": false, "d": null}': (["a", "b"], [1, 0]),
    '{"w": 1, "label": 1, "a": "red"}': (["a=red"], [1]),
    '{"w": 1, "label": 1, "a": ""}': ([], []),
    '{"w": 1, "label": 1, "a": 2, "a": 3}': (["a", "a"], [2, 3]),
    '{"w": 1, "label": 1, "user": {"age": 3, "home": {"zip": "x"}}}': (
        ["user.age", "user.home.zip=x"], [3, 1],
    ),
    '{"w": 1, "label": 1, "a": ["x", "y"]}': (["a=x", "a=y"], [1, 1]),
    '{"w": 1, "label": 1, "a": [5, null, 7, "z", true]}': (
        ["a=0", "a=2", "a=z", "a=4"], [5, 7, 1, 1],
    ),
    '{"w": 1, "label": 1, "a": [[5, 6], [7]]}': (["a=0", "a=1", "a=0"], [5, 6, 7]),
    '{"w": 1, "label": 1, "a": [{"b": 1}, {"b": "x"}]}': (["a.b", "a.b=x"], [1, 1]),
    '{"w": 1, "label": 1, "c": 7.50, "t": "Big  cat"}': (
        ["c=7.50", "t=big", "t=cat", "t=big cat"], [1, 1, 1, 1],
    ),
    '{"w": 1, "label": 1, "c": [1, true, "x"]}': (["c=1", "c=true", "c=x"], [1, 1, 1]),
    '{"w": 1, "label": 1, "t": ["Big cat", 7]}': (
        ["t=big", "t=cat", "t=big cat", "t=7"], [1, 1, 1, 1],
    ),
    '{"w": 1, "label": 1, "n": "-2e3"}': (["n"], [-2000]),
    '{"w": 1, "label": 1, "n": ["1", "", 3]}': (["n=0", "n=2"], [1, 3]),
    '{"w": 1, "label": 1, "x": {"deep": [1, {"a": 2}]}, "a": 1}': (["a"], [1]),
    '{"w": 1, "label": 1, "a": {"label": 5, "w": 3}}': (["a.label", "a.w"], [5, 3]),
    '{"w": 1, "label": 1, "a\\u002eb": 5, "\\ud83d\\ude00": "\\n\\/"}': (["a.b", "😀=\n/"], [5, 1]),
    '{"w": 1, "label": 1, "": 5, "a": {"": 6}}': (["", "a."], [5, 6]),
}  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), MEANINGS.items(), ids=MEANINGS)
def test_what_a_line_means(tmp_path, line, expected):
    found, values, label = only_row(
        tmp_path, line, weight="w", text=["t"], categorical=["c"], numeric=["n"], ignore=["x"]
    )
    assert (found, values, label) == (*expected, 1)
    check_text(tmp_path, line.encode())


def test_a_position_of_several_digits(tmp_path):
    found, _, _ = only_row(tmp_path, json.dumps({"label": 1, "a": [0.5] * 1001}))
    assert found == [f"a={n}" for n in range(1001)]


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST, DEEPEST + 1, 1000])
@pytest.mark.parametrize("kind", ["a", "x"])
def test_depth(tmp_path, depth, kind):
    for opening, closing in (("[", "]"), ('{"b":', "}")):
        inner = opening * (depth - 1) + "1" + closing * (depth - 1)
        path = written(tmp_path, f'{{"label":1,"{kind}":{inner}}}'.encode())
        if depth <= DEEPEST:
            check_text(tmp_path, path.read_bytes())
        else:
            message = message_of(path, ignore=["x"])
            assert "nested less deeply" in message
            column = len(f'{{"label":1,"{kind}":') + (DEEPEST - 1) * len(opening) + 1
            assert message.startswith(f"{path}:1:{column}: ")


# --- labels -----------------------------------------------------------------------------------


class TestLabels:
    @pytest.mark.parametrize(
        ("written_label", "label"),
        [("2.5", 2.5), ("true", 1), ("false", 0), ('"-3"', -3), ('"\\u0031"', 1)],
    )
    def test_that_are_numbers(self, tmp_path, written_label, label):
        assert only_row(tmp_path, f'{{"label": {written_label}}}')[2] == label

    def test_that_are_words(self, tmp_path):
        lines = ("spam", "ham", "spam", "é\n😀", 7, True)
        path = written(tmp_path, "\n".join(json.dumps({"label": x}) for x in lines).encode())
        for n_bytes in (None, 1):
            with block_size(n_bytes):
                batches = list(read(path))
            found = [batch.label(n) for batch in batches for n in range(len(batch.labels))]
            assert found == ["spam", "ham", "spam", "é\n😀", "7", "true"]

    def test_words_are_told_from_the_first_label_there_is(self, tmp_path):
        text = b'bad\n[]\n{"label": null}\n{"label": ""}\n\n{"label": "true"}\n'
        reader = read(written(tmp_path, text), format="json", bad_lines="skip")
        (batch,) = reader
        assert batch.label_names == ("true",)
        assert reader.n_bad_lines == 4

    def test_among_classes(self, tmp_path):
        path = written(tmp_path, b'{"label": "b"}\n{"label": "z", "a": 1}\n', "data.json")
        assert message_of(path, classes=["a", "b"]).startswith(f"{path}:2:1: the label 'z' is not")
        (batch,) = read(path, classes=["a", "b"], bad_lines="skip")
        assert batch.labels.tolist() == [1]

    @pytest.mark.parametrize("label", ["null", '""', "[1]", '{"a": 1}'])
    def test_that_are_missing(self, tmp_path, label):
        path = written(tmp_path, f'{{"label": 1}}\n{{"a": 1, "label": {label}}}\n'.encode())
        assert "a label is expected" in message_of(path)
        (batch,) = reader_of(path, PREDICTION)
        assert same_bits(batch.labels, [1, math.nan])
        assert batch.keys.tolist() == [Feature("a", "", 1).key]

    def test_of_another_name(self, tmp_path):
        found = only_row(tmp_path, '{"label": 1, "y": 2, "z": {"y": 3}}', label="y")
        assert found == (["label", "z.y"], [1, 3], 2)

    def test_unknown_words_are_no_labels_of_rows_to_predict(self, tmp_path):
        path = written(tmp_path, b'{"label": "a"}\n{"label": "z"}\n{}\n')
        (batch,) = reader_of(path, PREDICTION, classes=["a", "b"])
        assert same_bits(batch.labels, [0, math.nan, math.nan])

    def test_the_last_of_several_holds(self, tmp_path):
        assert only_row(tmp_path, '{"label": 1, "label": 2}')[2] == 2


# --- names, crosses, blocks, formats ----------------------------------------------------------


def test_many_names(tmp_path):
    """More than there is room for at first, in one row and in several."""
    rows = [
        {"label": 1, f"column {n % 7}": [f"value {n} {k}" for k in range(90)]} for n in range(99)
    ]
    text = "\n".join(map(json.dumps, rows)).encode()
    check_text(tmp_path, text)
    check_text(tmp_path, text, Columns(text=tuple(f"column {n}" for n in range(7))))


def test_crosses(tmp_path):
    line = '{"label": 1, "a": ["x", 3], "b": {"c": 2}}'
    found, values, _ = only_row(tmp_path, line, cross=[("a", "b.c")])
    assert found == ["a=x", "a=1", "b.c", "a=x*b.c", "a=1*b.c"]
    assert values == [1, 3, 2, 2, 6]
    (batch,) = read(tmp_path / "data.jsonl", cross=[("a", "b.c")])
    x, second, c = (key.tobytes() for key in batch.keys[:3])
    assert batch.keys[3:].tolist() == [xxhash.xxh64_intdigest(key + c) for key in (x, second)]


def test_block_borders(tmp_path):
    text = '{"label":1,"a":"é"}\n\n{"label":0,"b":[1,2]}\r\nbad\n {"label":2,"t":"x y"}'.encode()
    for n_bytes in range(1, len(text) + 10):
        check_text(tmp_path, text, n_bytes=n_bytes)
        check_text(tmp_path, text + b"\n", n_bytes=n_bytes)


def test_a_byte_order_mark_is_passed_over(tmp_path):
    assert only_row(tmp_path, BYTE_ORDER_MARK + '{"label": 3}')[2] == 3


@pytest.mark.parametrize("name", ["data", "data.jsonl", "data.ndjson", "data.json", "a.json.gz"])
def test_the_format_is_told(tmp_path, name):
    for text in (b'{"label": 1}', b'\n \r\n\t{"label": 1, "a": "|"}\n'):
        (batch,) = read(written(tmp_path, text, name))
        assert batch.labels.tolist() == [1]


# --- faults -----------------------------------------------------------------------------------

FAULTS = {
    "[1]": (1, "a JSON object on a line of its own"),
    "{": (2, "the rest of the object, on the same line"),
    '{"label": 1, "a': (16, "the rest of the object, on the same line"),
    '{"label": 1,': (13, "the rest of the object, on the same line"),
    "{label: 1}": (2, "a name in double quotes"),
    "{'label': 1}": (2, "a name in double quotes"),
    '{"label": 1,}': (13, "a name in double quotes"),
    '{"label" 1}': (10, "':' after the name"),
    '{"label": 1 "a": 2}': (13, "',' or the end of the object or array"),
    '{"label": 01}': (12, "',' or the end of the object or array"),
    '{"label": 1, "a": [1, 2}': (24, "',' or the end of the object or array"),
    '{"label": 1, "a": [1,]}': (22, "a value (string, finite number"),
    '{"label": 1, "a": NaN}': (19, "a value (string, finite number"),
    '{"label": 1, "a": -Infinity}': (19, "a value (string, finite number"),
    '{"label": 1, "a": .5}': (19, "a value (string, finite number"),
    '{"label": 1, "a": +5}': (19, "a value (string, finite number"),
    '{"label": 1, "a": True}': (19, "a value (string, finite number"),
    '{"label": 1, "a": 1e999}': (19, "a finite number as the value"),
    '{"label": 1, "a": "x\ty"}': (21, "for a control character"),
    '{"label": 1, "a": "x\\qy"}': (21, "a valid escape"),
    '{"label": 1, "a": "x\\u12g4"}': (21, "a valid escape"),
    '{"label": 1, "a": "x\\ud83dy"}': (21, "a whole character"),
    '{"label": 1, "a": "x\\ude00y"}': (21, "a whole character"),
    '{"label": 1, "\\ud800": 1}': (15, "a whole character"),
    '{"label": 1} {"label": 2}': (14, "the end of the line after the object"),
    '{"label": 1}}': (13, "the end of the line after the object"),
    '{"label": "spam"}': (11, "a number as the label"),
    '{"label": 1e999}': (11, "a number as the label"),
    '{"a": 1}': (1, "a label"),
    '{"label": [1]}': (11, "a label"),
    '{"label": 1, "a": 1}': (1, "a number >= 0 as the importance"),
    '{"label": 1, "w": 2, "w": null}': (1, "a number >= 0 as the importance"),
    '{"label": 1, "w": ""}': (1, "a number >= 0 as the importance"),
    '{"label": 1, "w": -1}': (19, "a number >= 0 as the importance"),
    '{"label": 1, "w": "x"}': (19, "a number >= 0 as the importance"),
    '{"label": 1, "w": [1]}': (19, "a number >= 0 as the importance"),
    '{"label": 1, "n": "12x"}': (19, "a number (or nothing) in this column"),
    '{"label": 1, "n": "true"}': (19, "a number (or nothing) in this column"),
}


@pytest.mark.parametrize(("line", "column", "expected"), [(k, *v) for k, v in FAULTS.items()])
class TestFaults:
    def test_stop_with_their_place(self, tmp_path, line, column, expected):
        text = f'{{"label": 0, "w": 1}}\n\n{line}\n{{"label": 3, "w": 1}}\n'.encode()
        path = written(tmp_path, text, "data.jsonl")
        message = message_of(path, weight="w", numeric=["n"])
        assert message.startswith(f"{path}:3:{column}: ")
        assert expected in message
        assert " is expected, near " in message

    def test_leave_no_trace_if_skipped(self, tmp_path, line, column, expected):
        good = '{"label": 0, "w": 1}'
        for lines in ((good, line, good), (good, good, line)):
            text = "\n".join(lines).encode()
            assert len(parsed(text, COLUMNS).bad_lines) == 1
            for n_bytes in (None, 1):
                check_text(tmp_path, text, n_bytes=n_bytes)


def test_invalid_utf8(tmp_path):
    text = b'{"label": 1}\n{"label": 1, "a": "\xff"}\n{"label": 2}\n'
    path = written(tmp_path, text, "data.jsonl")
    assert message_of(path).startswith(f"{path}:2:20: 0xff is not UTF-8")
    check_text(tmp_path, text)


# --- noise, with the bounds of arrays checked -------------------------------------------------

CHECKED_FUZZ = """
import sys
from pathlib import Path
from tests.readers.test_jsonl import fuzz
fuzz(Path(sys.argv[1]), int(sys.argv[2]), seed=int(sys.argv[3]))
"""
SEEDS = [
    b'{"label":1,"a":{"n":"12","t":"Big Cat"},"n":["1",2,[3]],"c":1.50,"x":[{}],"w":0.5}',
    b'{"label":1,"\\u00e9":"\\ud83d\\ude00\\n","a":[true,false,null,-1.5e-3,{"b":[]}],"":{}}',
    b' { "w" : "2" ,\t"label" : "3" , "t" : [ "x y z" , 7 ] } \r',
]


def random_value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(9 if depth < 4 else 6)
    if kind < 2:
        return rng.choice(
            (0, -0.0, 7, 0.1, -12.5, 10**18, 2**53 + 1, 1e-320, 1.5e300, rng.random())
        )
    if kind < 4:
        return rng.choice(("", "1", "-2.5e3", "Big Cat", 'a"\\\n', "é😀", "\x00\x7f", "x" * 33))
    if kind < 6:
        return rng.choice((True, False, None))
    values = [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return values
    return {rng.choice(("a", "t", "c", "n", "x", "é.", "", '"')): value for value in values}


def fuzz(folder: Path, n_cases: int, seed: int) -> None:
    """Random lines: good ones, damaged ones, and noise."""
    rng = random.Random(seed)
    for start in range(0, n_cases, 50):
        lines = []
        for _ in range(50):
            kind = rng.randrange(5)
            if kind > 2:
                members = {rng.choice("abctnx"): random_value(rng, 0) for _ in range(4)}
                line = rng.choice(WRITERS)({**members, "label": 1}).encode()
            elif kind == 0:
                line = b"".join(rng.choices(PARTS, k=rng.randrange(12)))
                line = b'{"label":1,"a":' + line + b"}" if rng.random() < 0.7 else line
            else:
                line = rng.choice(SEEDS)
                for _ in range(rng.randint(1, 2)):
                    at = rng.randrange(len(line) + 1)
                    part = rng.choice(PARTS) if kind == 1 else bytes([rng.choice(ALPHABET)])
                    line = line[:at] + part + line[at + rng.choice((0, 0, 1, len(part))) :]
            lines.append(line)
        columns, words = rng.choice(((COLUMNS, False), (COLUMNS, True), (PREDICTION, False)))
        try:
            check_text(folder, b"\n".join(lines), columns, rng.choice((None, 1, 90)), words)
        except BaseException:
            print(f"seed {seed}, case {start}: {lines}", file=sys.stderr)
            raise


def test_random_lines(tmp_path):
    fuzz(tmp_path, 3000, seed=0)


@pytest.mark.slow
def test_random_lines_with_checked_bounds(tmp_path):
    """The compiled code never looks outside of its arrays."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CHECKED_FUZZ, str(tmp_path), "20000", "1"],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("label", ["1e999", '"-1e999"'])
def test_a_first_label_that_is_too_large_is_no_word(tmp_path, label):
    text = f'{{"label": {label}, "a": 1}}\n{{"label": 1, "a": 1}}\n'
    reader = read(written(tmp_path, text.encode(), "data.jsonl"), bad_lines="skip")
    assert [batch.labels.tolist() for batch in reader] == [[1]]
    assert reader.n_bad_lines == 1
