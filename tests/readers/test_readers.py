"""The compiled parsers against the slow ones, on good files, bad files and noise; and all sources
that files come from."""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import io
import lzma
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import rarefy.readers
from rarefy import InputError
from rarefy.readers import Batch, compression, read, source
from rarefy.readers.compression import COMPRESSIONS, NOT_TEXT
from rarefy.readers.source import BYTE_ORDER_MARK
from tests import text_formats
from tests.selecting import examples

FORMATS = ("svmlight", "vw")
COMPRESS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}
ROOT = Path(__file__).parents[2]
on_files = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(150),
)


# --- reading, and comparing with what the slow parsers say ----------------------------------


@contextlib.contextmanager
def block_size(n_bytes: int | None) -> Iterator[None]:
    """Let the readers cut files into blocks of about so many bytes."""
    before = rarefy.readers.reader.blocks
    if n_bytes is not None:
        rarefy.readers.reader.blocks = functools.partial(source.blocks, block_bytes=n_bytes)
    try:
        yield
    finally:
        rarefy.readers.reader.blocks = before


@contextlib.contextmanager
def standard_input(stream: io.BufferedIOBase) -> Iterator[None]:
    before = sys.stdin
    sys.stdin = SimpleNamespace(buffer=stream)
    try:
        yield
    finally:
        sys.stdin = before


def written(folder: Path, text: bytes, name: str = "data") -> Path:
    path = folder / name
    path.write_bytes(text)
    return path


def joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([*parts, np.empty(0)]) if parts else np.empty(0)


def assert_same(batches: list[Batch], expected: text_formats.Text) -> None:
    """The batches hold the rows of the text, to the last bit."""
    for batch in batches:
        assert batch.indptr[0] == 0
        assert batch.indptr[-1] == len(batch.keys) == len(batch.values)
    rows = expected.rows
    lengths = [n for batch in batches for n in np.diff(batch.indptr).tolist()]
    assert [line for batch in batches for line in batch.lines.tolist()] == expected.lines
    assert lengths == [len(row.keys) for row in rows]
    assert [key for batch in batches for key in batch.keys.tolist()] == [
        key for row in rows for key in row.keys
    ]
    for name, numbers in (
        ("labels", [row.label for row in rows]),
        ("importance", [row.importance for row in rows]),
        ("values", [value for row in rows for value in row.values]),
    ):
        ours = joined([getattr(batch, name) for batch in batches])
        assert text_formats.same_bits(ours, numbers), (name, ours, numbers)


def check_file(path: Path, text: bytes, format: str, n_bytes: int | None = None) -> None:
    """Good lines are read as they should be, and bad ones are refused or passed over."""
    expected = text_formats.parse(text, format)
    with block_size(n_bytes):
        reader = read(path, format=format, bad_lines="skip")
        assert_same(list(reader), expected)
        assert reader.n_bad_lines == len(expected.bad_lines)
        assert len(reader.bad_lines) == min(5, len(expected.bad_lines))
        if expected.bad_lines:
            with pytest.raises(InputError, match=re.escape(f"{path}:")):
                list(read(path, format=format))
        else:
            assert_same(list(read(path, format=format)), expected)


def check_text(folder: Path, text: bytes, format: str, n_bytes: int | None = None) -> None:
    if text.startswith((*COMPRESSIONS, BYTE_ORDER_MARK)):
        return
    check_file(written(folder, text), text, format, n_bytes)


def message_of(path: Path, format: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        list(read(path, format=format))
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def labels_of(*paths: str | Path, format: str | None = None) -> list[float]:
    return [label for batch in read(*paths, format=format) for label in batch.labels.tolist()]


# --- valid files ----------------------------------------------------------------------------

digits = st.integers(1, 25).flatmap(lambda n: st.text("0123456789", min_size=n, max_size=n))
odd_numbers = st.sampled_from(
    ("-0.0", "-0", "+1", ".5", "5.", "1e-320", "4.9e-324", "2.4e-324", "1e22", "1e23", "1E+5",
     "9007199254740992", "9007199254740993", "9007199254740993.0000001", "0e99999999999999999999",
     "1.7976931348623157e308", "179769313486231570000e288", "0.1", "123456789012345678e-30",
     "9999999999999999999", "00000000000000000000000001", "0.00000000000000000000000001")
)  # fmt: skip
decimals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(("", "-", "+")),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(".{}".format)),
    st.one_of(st.just(""), st.integers(-300, 250).map("e{}".format)),
)
numbers = st.one_of(
    odd_numbers, decimals, st.floats(allow_nan=False, allow_infinity=False).map(repr)
)
moderate = st.one_of(st.sampled_from(("0.5", "-2", "1e-9", "3.", "7e9")), digits)
indices = st.one_of(
    st.integers(0, 10**19 - 1).map(str), st.sampled_from(("0", "007", "9999999999999999999"))
)
blanks = st.sampled_from((" ", " ", " ", "\t", "  ", " \t ", "\r "))
line_ends = st.sampled_from(("\n", "\n", "\r\n", " \n", "\n\n", "\n \t\n"))
names = st.one_of(
    st.text(st.characters(exclude_characters=" \t\r\n:|", codec="utf-8"), min_size=1),
    st.sampled_from(("a", "ab", "1", "12", "99999999999999999999", "1e5", "it's", "x" * 70)),
    indices,
)


def spaced(first: st.SearchStrategy, rest: st.SearchStrategy) -> st.SearchStrategy:
    """One thing and others after it, with blanks between them."""
    others = st.lists(st.builds("{}{}".format, blanks, rest), max_size=6).map("".join)
    return st.builds("{}{}".format, first, others)


svmlight_lines = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(("", "", " ", "\t")),
    spaced(
        st.one_of(numbers, st.builds("{}{}qid:{}".format, numbers, blanks, st.integers(0, 99))),
        st.builds("{}:{}".format, indices, numbers),
    ),
    st.sampled_from(("", "", " ", "\r")),
    st.sampled_from(("", "", " # a comment", " # 1:2 | é", " #")),
)
vw_heads = st.one_of(
    st.just(""),
    numbers.map("{} ".format),
    st.builds("{}{}{}\t".format, numbers, blanks, st.sampled_from(("1", "0", "0.25", "1e3", "+2"))),
)
vw_tags = st.one_of(st.just(""), st.builds("'{} ".format, names), st.builds("{}".format, names))
vw_sections = spaced(
    st.one_of(
        st.just("|"),
        names.map("|{}".format),
        st.builds("|{}:{}".format, st.one_of(names, st.just("")), moderate),
    ),
    st.one_of(names, st.builds("{}:{}".format, names, moderate)),
)
vw_lines = st.builds(
    "{}{}{}".format, vw_heads, vw_tags, st.lists(vw_sections, min_size=1, max_size=3).map(" ".join)
)
LINES = {"svmlight": svmlight_lines, "vw": vw_lines}


def files(format: str) -> st.SearchStrategy:
    """Whole files; the last line may have no end."""
    lines = st.lists(st.builds("{}{}".format, LINES[format], line_ends), max_size=6).map("".join)
    return st.builds(
        lambda text, last: (text + last).encode(),
        lines,
        st.one_of(st.just(""), LINES[format], st.sampled_from((" ", "\t", "\r"))),
    )


@pytest.mark.parametrize("format", FORMATS)
class TestValidFiles:
    @on_files
    @given(data=st.data())
    def test_are_read_as_the_slow_parser_reads_them(self, tmp_path, format, data):
        text = data.draw(files(format))
        expected = text_formats.parse(text, format)
        assert not expected.bad_lines
        n_bytes = data.draw(st.sampled_from((None, 1, 2, 3, 5, 8, 13, 40)))
        check_text(tmp_path, text, format, n_bytes)

    def test_without_a_byte(self, tmp_path, format):
        path = written(tmp_path, b"")
        assert sum(len(batch.labels) for batch in read(path, format=format)) == 0

    @pytest.mark.parametrize("text", [b"\n", b"\n\n", b" ", b"\r\n\r\n", b" \t\r\n\n \n"], ids=repr)
    def test_without_a_row(self, tmp_path, format, text):
        check_text(tmp_path, text, format)


SPECIAL_NUMBERS = (
    "0", "-0", "-0.0", "+0", "+1", ".5", "5.", "-.5e1", "5.e-1", "1e0", "1E5", "1e+5", "1e-5",
    "1e22", "1e23", "1e-22", "1e-23", "1e-320", "-1e-320", "4.9e-324", "2.4e-324", "1e-400",
    "0e999", "0e99999999999999999999", "0.0e-99999999999999999999", "1.7976931348623157e308",
    "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740992.5",
    "18446744073709551615", "18446744073709551616", "1234567890123456789",
    "12345678901234567890", "1234567890.123456789", "1234567890.1234567890",
    "0.1234567890123456789", "00000000000000000001", "0.00000000000000000001",
    "100000000000000000000000000000", "7e22", "7.1e22", "8.5e-23", "2.2250738585072011e-308",
    "2.2250738585072014e-308", "6.631236846766476e-316",
)  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_special_numbers_are_those_of_float(tmp_path, format):
    template = "{0} 1:{0}\n" if format == "svmlight" else "{0} |a x:{0}\n"
    text = "".join(template.format(number) for number in SPECIAL_NUMBERS).encode()
    (batch,) = read(written(tmp_path, text), format=format)
    expected = [float(number) for number in SPECIAL_NUMBERS]
    assert text_formats.same_bits(batch.labels, expected)
    assert text_formats.same_bits(batch.values, expected)


@pytest.mark.parametrize("n_digits", range(1, 26))
def test_numbers_of_every_length_are_those_of_float(tmp_path, n_digits):
    rng = random.Random(n_digits)
    numbers = []
    for _ in range(300):
        text = "".join(rng.choices("0123456789", k=n_digits))
        point = rng.randint(0, n_digits)
        exponent = rng.choice(("", "", f"e{rng.randint(-40, 40)}", f"E{rng.randint(-310, 280)}"))
        numbers.append(text[:point] + rng.choice((".", "")) + text[point:] + exponent)
    text = "1 " + " ".join(f"{i}:{number}" for i, number in enumerate(numbers))
    (batch,) = read(written(tmp_path, text.encode()), format="svmlight")
    assert text_formats.same_bits(batch.values, [float(number) for number in numbers])


# --- what lines mean, said directly ---------------------------------------------------------


def only_row(folder: Path, text: str, format: str) -> tuple[float, float, list[int], list[float]]:
    (batch,) = read(written(folder, text.encode()), format=format)
    assert len(batch.labels) == 1
    return (
        float(batch.labels[0]),
        float(batch.importance[0]),
        batch.keys.tolist(),
        batch.values.tolist(),
    )


key = text_formats.vw_key
SVMLIGHT_ROWS = {
    "1 3:4 7:0.5": (1, 1, [3, 7], [4, 0.5]),
    "-1": (-1, 1, [], []),
    "0 qid:3 1:2": (0, 1, [1], [2]),
    "0 qid:3": (0, 1, [], []),
    "2.5 1:2 # 3:4": (2.5, 1, [1], [2]),
    "2.5# 3:4": (2.5, 1, [], []),
    "1 1:2#3:4": (1, 1, [1], [2]),
    "1 7:1 3:2 7:3": (1, 1, [7, 3, 7], [1, 2, 3]),
    "1 0:5": (1, 1, [0], [5]),
    "1 9999999999999999999:5": (1, 1, [9999999999999999999], [5]),
}
VW_ROWS = {
    "1 |a x": (1, 1, [key(b"a", b"x")], [1]),
    "1 0.5 |a x:2": (1, 0.5, [key(b"a", b"x")], [2]),
    "1 0.5 'tag |a x:2": (1, 0.5, [key(b"a", b"x")], [2]),
    "1 'tag |a x:2": (1, 1, [key(b"a", b"x")], [2]),
    "1 tag|a x:2": (1, 1, [key(b"a", b"x")], [2]),
    "'tag|a x:2": (math.nan, 1, [key(b"a", b"x")], [2]),
    "1 'a:b |c x": (1, 1, [key(b"c", b"x")], [1]),
    "|": (math.nan, 1, [], []),
    "|a:2 x:3 y |:0.5 z 7": (
        math.nan, 1, [key(b"a", b"x"), key(b"a", b"y"), key(b"", b"z"), 7], [6, 2, 0.5, 0.5],
    ),
    "|a:2|b y": (math.nan, 1, [key(b"b", b"y")], [1]),
    "|a x:2|b y": (math.nan, 1, [key(b"a", b"x"), key(b"b", b"y")], [2, 1]),
    "|a 7": (math.nan, 1, [key(b"a", b"7")], [1]),
    "| 007 7": (math.nan, 1, [7, 7], [1, 1]),
    "| 9999999999999999999": (math.nan, 1, [9999999999999999999], [1]),
    "| 00000000000000000001": (math.nan, 1, [key(b"", b"00000000000000000001")], [1]),
    "| 1x 1.0 -1": (math.nan, 1, [key(b"", b) for b in (b"1x", b"1.0", b"-1")], [1, 1, 1]),
    "|é 日本:2": (math.nan, 1, [key("é".encode(), "日本".encode())], [2]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("format", "line", "expected"),
    [
        *(("svmlight", line, row) for line, row in SVMLIGHT_ROWS.items()),
        *(("vw", line, row) for line, row in VW_ROWS.items()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_line_means(tmp_path, format, line, expected):
    label, *rest = only_row(tmp_path, line, format)
    assert label == pytest.approx(expected[0], nan_ok=True, abs=0)
    assert tuple(rest) == expected[1:]


# --- block borders --------------------------------------------------------------------------

BORDER_TEXTS = {
    "svmlight": "1 1:2 3:4\n\n-1 qid:2 5:6.25 # é\r\nbad\n1\n0 12345678:-1e-3\n\n1 2:2".encode(),
    "vw": "1 |a b:2\n\n-1 2 'é |é x:6.25\r\nbad\n|\n | 12345678:-1e-3 |\n\n1 |a z".encode(),
}


@pytest.mark.parametrize("format", FORMATS)
class TestBlockBorders:
    def test_of_a_mapped_file(self, tmp_path, format):
        text = BORDER_TEXTS[format]
        for n_bytes in range(1, len(text) + 10):
            check_text(tmp_path, text, format, n_bytes)

    @pytest.mark.parametrize("end", [b"", b"\n", b"\n\n\n\n\n\n\n\n\n\n\n"], ids=repr)
    def test_of_a_mapped_file_with_another_end(self, tmp_path, format, end):
        text = BORDER_TEXTS[format] + end
        for n_bytes in range(1, len(text) + 10, 3):
            check_text(tmp_path, text, format, n_bytes)

    def test_of_standard_input(self, format):
        text = BORDER_TEXTS[format]
        expected = text_formats.parse(text, format)
        for n_bytes in range(1, len(text) + 10):
            stream = io.BufferedReader(io.BytesIO(text))
            with standard_input(stream), block_size(n_bytes):
                reader = read("-", format=format, bad_lines="skip")
                assert_same(list(reader), expected)
            assert reader.bad_lines[0].startswith("-:4:")

    @pytest.mark.parametrize("kind", COMPRESS)
    def test_of_a_compressed_file(self, tmp_path, format, kind):
        text = BORDER_TEXTS[format]
        path = written(tmp_path, COMPRESS[kind](text))
        for n_bytes in range(1, len(text) + 10):
            check_file(path, text, format, n_bytes)

    def test_of_blocks_as_they_are(self, tmp_path, format):
        """Lines enough for two blocks and a bit of the default size."""
        line = BORDER_TEXTS[format].replace(b"bad", b"") + b"\n"
        n_copies = 9_000_000 // len(line)
        n_lines, n_rows = line.count(b"\n"), len(text_formats.parse(line, format).rows)
        path = written(tmp_path, line * n_copies)
        batches = list(read(path, format=format))
        assert len(batches) >= 3
        assert sum(len(batch.labels) for batch in batches) == n_rows * n_copies
        assert batches[-1].lines[-1] == n_lines * n_copies


# --- batches that share memory --------------------------------------------------------------


@pytest.mark.parametrize("n_buffers", [1, 2, 6])
@pytest.mark.parametrize("n_files", [1, 3, 7, 20])
@pytest.mark.parametrize("rows_per_file", [1, 4])
def test_a_batch_stands_until_so_many_more_have_come(tmp_path, n_buffers, n_files, rows_per_file):
    """Among the last `n_buffers` batches no two share memory, whatever file they come from."""
    for file in range(n_files):
        rows = range(file * rows_per_file, (file + 1) * rows_per_file)
        written(tmp_path, b"".join(b"%d 1:1\n" % row for row in rows), f"{file:02}.svm")
    alive: list[tuple[Batch, list[float]]] = []
    with block_size(1):
        for batch in (job.make() for job in read(tmp_path / "*.svm").jobs(n_buffers)):
            alive = [*alive, (batch, batch.labels.tolist())][-n_buffers:]
            for earlier, labels in alive:
                assert earlier.labels.tolist() == labels


# --- faults ---------------------------------------------------------------------------------

SVMLIGHT_FAULTS = {
    "abc 1:2": (1, "a number as the label"),
    "1:2 3:4": (2, "a number as the label"),
    "nan 1:2": (1, "a number as the label"),
    "inf 1:2": (1, "a number as the label"),
    "1x 1:2": (2, "a number as the label"),
    "1e999 1:2": (1, "a number as the label"),
    "\ufeffx 1:2": (1, "a number as the label"),
    "1 1:abc": (5, "a finite number as the value"),
    "1 1:": (5, "a finite number as the value"),
    "1 1:nan": (5, "a finite number as the value"),
    "1 1:NaN": (5, "a finite number as the value"),
    "1 1:inf": (5, "a finite number as the value"),
    "1 1:1e999": (5, "a finite number as the value"),
    "1 1:-1e999 2:3": (5, "a finite number as the value"),
    "1 1:1e": (7, "a finite number as the value"),
    "1 1:0x10": (6, "a space after the feature"),
    "1 1:1_0": (6, "a space after the feature"),
    "1 1:1,5": (6, "a space after the feature"),
    "1 1:2:3": (6, "a space after the feature"),
    "1 1 2:3": (4, "':' and a value after the index"),
    "1 1 : 2": (4, "':' and a value after the index"),
    "1 x:2": (3, "the index of a feature"),
    "1 -1:2": (3, "the index of a feature"),
    "1 12345678901234567890:2": (3, "the index of a feature"),
    "1 1:2 qid:3": (7, "the index of a feature"),
    "1 qid:x 1:2": (7, "the index of a feature"),
    "1 qid: 1:2": (7, "number"),
    "1 qid:": (7, "number"),
    "1 1.5:2": (4, "':' and a value after the index"),
}
VW_FAULTS = {
    "1 2 3 |a b": (5, "at most label, importance and tag"),
    "1 'tag 2 |a b": (8, "at most label, importance and tag"),
    "1": (2, "at most label, importance and tag"),
    "1 2 'tag": (9, "at most label, importance and tag"),
    "x |a b": (1, "a number as the label"),
    "nan |a b": (1, "a number as the label"),
    "1:2 |a b": (2, "a number as the label"),
    "1e999 |a b": (1, "a number as the label"),
    "1 -1 |a b": (3, "a number >= 0 as the importance"),
    "1 x |a b": (3, "a number >= 0 as the importance"),
    "1 nan |a b": (3, "a number >= 0 as the importance"),
    "1 1e999 |a b": (3, "a number >= 0 as the importance"),
    "1 |a:x b": (6, "a finite number as the weight of the namespace"),
    "1 |a: b": (6, "a finite number as the weight of the namespace"),
    "1 |a:1e999 b": (6, "a finite number as the weight of the namespace"),
    "1 |a b:": (8, "a finite number as the value"),
    "1 |a b:x": (8, "a finite number as the value"),
    "1 |a b:inf": (8, "a finite number as the value"),
    "1 |a b:1e999": (8, "a finite number as the value"),
    "1 |a b:0x1": (9, "a space after the feature"),
    "1 |a b:1:2": (9, "a space after the feature"),
}
FAULTS = [
    *(("svmlight", line, *fault) for line, fault in SVMLIGHT_FAULTS.items()),
    *(("vw", line, *fault) for line, fault in VW_FAULTS.items()),
]
GOOD_LINES = {"svmlight": (b"1 1:2", b"-1 5:6 7:8"), "vw": (b"1 |a b", b"-1 |a c:2 d")}


@pytest.mark.parametrize(("format", "line", "column", "expected"), FAULTS)
class TestFaults:
    def test_stop_with_their_place(self, tmp_path, format, line, column, expected):
        first, last = GOOD_LINES[format]
        text = b"\n".join([first, b"", line.encode(), last, b""])
        for end in (b"", b"\nworse\n"):
            message = message_of(written(tmp_path, text + end), format)
            assert message.startswith(f"{tmp_path / 'data'}:3:{column}: ")
            assert expected in message
            assert "near " in message
            assert line[:5] in message or repr(line[:5])[1:-1] in message

    def test_leave_no_trace_if_skipped(self, tmp_path, format, line, column, expected):
        first, last = GOOD_LINES[format]
        for n_bytes in (None, 1):
            check_text(tmp_path, b"\n".join([first, line.encode(), last]), format, n_bytes)
            check_text(tmp_path, b"\n".join([first, last, line.encode()]), format, n_bytes)

    def test_are_refused_by_the_slow_parser_too(self, tmp_path, format, line, column, expected):
        assert text_formats.parse(line.encode(), format).bad_lines == [1]


def test_a_product_of_value_and_weight_that_overflows(tmp_path):
    path = written(tmp_path, b"1 |a x:1\n1 |a:1e200 x:1e200\n", "data.vw")
    assert message_of(path).startswith(f"{path}:2:")


@pytest.mark.parametrize(
    "bad", [b"\xff", b"\xc3", b"\xe6\x97", b"\xed\xa0\x80", b"\xc0\x80"], ids=repr
)
@pytest.mark.parametrize("format", FORMATS)
def test_invalid_utf8(tmp_path, format, bad):
    first, last = GOOD_LINES[format]
    for line in (first + b" # " + bad, bad + first, first[:-1] + bad):
        text = b"\n".join([first, b"", line, last])
        message = message_of(written(tmp_path, text), format)
        column = line.index(bad) + 1
        assert message.startswith(f"{tmp_path / 'data'}:3:{column}: 0x{bad[0]:02x} is not UTF-8")
        check_text(tmp_path, text, format)
        check_text(tmp_path, text, format, 1)


def test_the_first_fault_is_the_one_that_is_told(tmp_path):
    path = written(tmp_path, b"1 1:2\nbad\n1 1:2 # \xff\n", "data.svm")
    assert message_of(path).startswith(f"{path}:2:1: ")
    reader = read(path, bad_lines="skip")
    list(reader)
    assert [message.split(":")[1] for message in reader.bad_lines] == ["2", "3"]


def test_a_fault_is_shown_with_a_bit_of_its_line_only(tmp_path):
    path = written(tmp_path, b"0 1:1\n1 " + b"1:1 " * 50 + b"oops " + b"2:2 " * 50, "data.svm")
    shown = message_of(path).split("near ")[1]
    assert "oops" in shown
    assert len(shown) < 60
    assert "\n" not in shown


@pytest.mark.parametrize("n_bytes", [None, 1, 20])
def test_skipped_lines_are_counted_and_the_first_five_told(tmp_path, n_bytes):
    good = [b"%d 1:2" % i for i in range(20)]
    lines = [part for line in good for part in (line, b"", b"x" + line)]
    path = written(tmp_path, b"\n".join(lines), "data.svm")
    with block_size(n_bytes):
        reader = read(path, bad_lines="skip")
        batches = list(reader)
    assert reader.n_bad_lines == 20
    assert [message.split(":")[1] for message in reader.bad_lines] == ["3", "6", "9", "12", "15"]
    assert_same(batches, text_formats.parse(b"\n".join(lines), "svmlight")._replace(bad_lines=[]))
    without = text_formats.parse(b"\n".join(good), "svmlight")
    assert joined([batch.labels for batch in batches]).tolist() == [r.label for r in without.rows]


def test_bad_lines_are_counted_once_however_often_the_file_is_read(tmp_path):
    reader = read(written(tmp_path, b"1 1:1\nbad\n", "data.svm"), bad_lines="skip")
    for _ in range(3):
        list(reader)
    assert reader.n_bad_lines == 1
    assert len(reader.bad_lines) == 1


@pytest.mark.parametrize(
    "line", [b"bad line\n", b"1 1:2 # \xff\n"], ids=("not in the format", "not UTF-8")
)
def test_skipping_takes_time_in_proportion_to_the_file(tmp_path, line):
    """A block full of bad lines: each line again from the beginning would take minutes."""
    path = written(tmp_path, line * 25_000, "data.svm")
    reader = read(path, bad_lines="skip")
    start = time.perf_counter()
    list(reader)
    assert reader.n_bad_lines == 25_000
    assert time.perf_counter() - start < 20.0


# --- noise ----------------------------------------------------------------------------------

ALPHABET = b" \t\r\n:|#'.+-eE0123456789abqid\x00\xff\xc3\xa9\x80"


def mutated(text: bytes, seed: int) -> bytes:
    """A few bytes flipped, replaced, deleted or doubled, or the end cut off."""
    rng = random.Random(seed)
    data = bytearray(text)
    for _ in range(rng.randint(1, 4)):
        at, n = rng.randrange(len(data) + 1), rng.randint(1, 5)
        kind = rng.choice(("flip", "replace", "delete", "double", "cut"))
        if kind == "flip" and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == "replace" and at < len(data):
            data[at] = rng.choice(ALPHABET)
        elif kind == "delete":
            del data[at : at + n]
        elif kind == "double":
            data[at:at] = data[at : at + n]
        elif kind == "cut":
            del data[at:]
    return bytes(data)


noise = st.one_of(
    st.binary(max_size=80), st.lists(st.sampled_from(ALPHABET), max_size=60).map(bytes)
).filter(lambda text: not text.startswith(tuple(NOT_TEXT)))  # refused for what they are


@pytest.mark.parametrize("format", FORMATS)
class TestNoise:
    @on_files
    @given(text=noise, n_bytes=st.sampled_from((None, 1, 4, 9)))
    @example(text=b"1 qid:", n_bytes=None)
    @example(text=b"1 qid: 3:4\n", n_bytes=None)
    @example(text=b"1 3:4#5", n_bytes=None)
    @example(text=b"|a:2|b c", n_bytes=None)
    @example(text=b"|a:1e200 x:1e200", n_bytes=None)
    @example(text=b"|" * 50, n_bytes=None)
    @example(text=b"1\n" * 25, n_bytes=None)
    @example(text=b"| " + b"a " * 25, n_bytes=1)
    @example(text=b"-", n_bytes=None)
    @example(text=b"1e", n_bytes=None)
    def test_is_read_or_refused(self, tmp_path, format, text, n_bytes):
        check_text(tmp_path, text, format, n_bytes)

    @on_files
    @given(data=st.data(), seed=st.integers(0, 2**32))
    def test_in_valid_files_is_read_or_refused(self, tmp_path, format, data, seed):
        text = mutated(data.draw(files(format)), seed)
        check_text(tmp_path, text, format, data.draw(st.sampled_from((None, 1, 4, 9))))

    @on_files
    @given(text=noise)
    def test_of_unknown_format_is_read_or_refused(self, tmp_path, format, text):
        name = {"svmlight": "data", "vw": "data.vw"}[format]
        with contextlib.suppress(InputError):
            list(read(written(tmp_path, text, name)))


CHECKED_FUZZ = """
import random, sys, tempfile
from pathlib import Path
from tests.readers import test_readers as t
folder, n = Path(tempfile.mkdtemp(dir=sys.argv[1])), 0
for seed in range(2000):
    rng = random.Random(seed)
    for format, text in t.BORDER_TEXTS.items():
        if seed % 2:
            text = bytes(rng.choice(t.ALPHABET) for _ in range(rng.randrange(60)))
        else:
            text = t.mutated(text * rng.randint(1, 2), seed)
        with t.block_size(rng.choice((None, 1, 4, 9))):
            for batch in t.read(t.written(folder, text), format=format, bad_lines="skip"):
                n += len(batch.labels)
from tests.stores import test_stores as stores
for seed in range(60):
    rng = random.Random(seed)
    rows = [
        [(rng.randrange(1 + 40 * seed), rng.choice((-1.0, 0.0, 0.5, 1.0))) for _ in range(length)]
        for length in (seed, 3, 7 * seed, *([5] * 300))
    ]
    for kind in stores.STORES:
        more = {"capacity": 600} if kind == "table" and seed % 2 else {}
        store = stores.make_store(kind, bits=9 if kind == "hashed" else None, **more)
        examples = stores.examples_of(rows)
        model = stores.learned(store, {"rule": "fobos", "l1": 0.01}, examples, name_of=str)
        store.kept(model.learner)
print("rows:", n)
"""


@pytest.mark.slow
def test_noise_with_checked_bounds(tmp_path):
    """The compiled code never looks outside of its arrays."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CHECKED_FUZZ, str(tmp_path)],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 1000


def test_the_share_that_was_read(tmp_path):
    shares = [batch.share for batch in read(written(tmp_path, ROWS, "data.svm"))]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs /proc/self/mem")
@pytest.mark.parametrize("format", [None, "svmlight", "csv"])
def test_errors_of_reading_say_of_what(format):
    assert message_of("/proc/self/mem", format) == "/proc/self/mem: Input/output error."


# --- files, and what they are compressed with -----------------------------------------------

ROWS = b"".join(b"%d 1:%d.5 %d:1\n" % (i, i, i * 7919 % 100_003) for i in range(20_000))


@pytest.mark.parametrize("kind", COMPRESS)
class TestCompression:
    def test_is_told_from_the_content(self, tmp_path, kind):
        for name in ("data.svm", "data.svm.gz", "data.svm.txt.xz"):
            path = written(tmp_path, COMPRESS[kind](ROWS), name)
            assert labels_of(path) == list(range(20_000))

    def test_several_parts_in_one_file(self, tmp_path, kind):
        middle = ROWS.index(b"\n", len(ROWS) // 2) - 3  # within a line
        parts = COMPRESS[kind](ROWS[:middle]) + COMPRESS[kind](ROWS[middle:])
        assert labels_of(written(tmp_path, parts, "data.svm")) == list(range(20_000))

    def test_nothing_compressed(self, tmp_path, kind):
        assert labels_of(written(tmp_path, COMPRESS[kind](b""), "data.svm")) == []

    @pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 0.9999])
    def test_a_cut_off_file_is_refused(self, tmp_path, kind, share):
        whole = COMPRESS[kind](ROWS)
        path = written(tmp_path, whole[: int(share * len(whole))], "data.svm")
        message = message_of(path)
        assert message.startswith(f"{path}: ")
        assert "cut off" in message

    def test_a_damaged_file_is_refused(self, tmp_path, kind):
        whole = bytearray(COMPRESS[kind](ROWS))
        middle = len(whole) // 2
        for i in range(middle, middle + 40):
            whole[i] ^= 0xFF
        path = written(tmp_path, bytes(whole), "data.svm")
        assert message_of(path).startswith(f"{path}")

    def test_through_standard_input(self, kind):
        stream = io.BufferedReader(io.BytesIO(COMPRESS[kind](ROWS)))
        with standard_input(stream):
            assert labels_of("-", format="svmlight") == list(range(20_000))


class InDribs(io.RawIOBase):
    """A pipe whose writer is slow: one byte at a time."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        part, self.rest = self.rest[:1], self.rest[1:]
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("kind", COMPRESS)
def test_compression_is_recognised_when_the_first_bytes_come_slowly(kind):
    data = COMPRESS[kind](b"1 1:2\n")
    with standard_input(io.BufferedReader(InDribs(data))):
        assert labels_of("-", format="svmlight") == [1]


def test_standard_input_cannot_be_read_twice():
    with standard_input(io.BufferedReader(io.BytesIO(b"1 1:2\n"))):
        reader = read("-", format="svmlight")
        assert [len(batch.labels) for batch in reader] == [1]
        with pytest.raises(InputError):
            list(reader)


class TestPaths:
    def test_several_files_in_order(self, tmp_path):
        paths = [written(tmp_path, b"%d 1:1\n" % i, f"{i}.svm") for i in (3, 1, 2)]
        assert labels_of(*paths) == [3, 1, 2]
        assert labels_of(paths[0], str(paths[0])) == [3, 3]

    def test_each_batch_knows_its_file_and_lines(self, tmp_path):
        paths = [written(tmp_path, b"\n1 1:1\n", f"{i}.svm") for i in range(3)]
        batches = list(read(*paths))
        assert [batch.location(0) for batch in batches] == [f"{path}:2" for path in paths]

    def test_files_without_a_last_newline_are_not_joined(self, tmp_path):
        paths = [written(tmp_path, b"%d 1:1" % i, f"{i}.svm") for i in (1, 2)]
        assert labels_of(*paths) == [1, 2]

    def test_globs_are_sorted(self, tmp_path):
        for i in (10, 2, 1):
            written(tmp_path, b"%d 1:1\n" % i, f"{i:02}.svm")
        assert labels_of(f"{tmp_path}/*.svm") == [1, 2, 10]

    def test_files_of_different_formats(self, tmp_path):
        paths = [written(tmp_path, b"1 1:1\n", "a.svm"), written(tmp_path, b"2 | 1\n", "b.vw")]
        assert labels_of(*paths) == [1, 2]

    def test_a_name_with_glob_characters(self, tmp_path):
        assert labels_of(written(tmp_path, b"1 1:1\n", "a[1]*.svm")) == [1]

    def test_a_named_pipe(self, tmp_path):
        pipe = tmp_path / "pipe.svm"
        os.mkfifo(pipe)
        with subprocess.Popen(["sh", "-c", f"echo '1 1:2' > '{pipe}'"]):
            assert labels_of(pipe) == [1]

    @pytest.mark.parametrize("name", ["missing.svm", "*.none", "x" * 300], ids=lambda n: n[:12])
    def test_without_a_file(self, tmp_path, name):
        with pytest.raises(InputError, match=re.escape(name)):
            read(tmp_path / name)

    def test_a_folder(self, tmp_path):
        with pytest.raises(InputError, match="is a folder"):
            read(tmp_path)

    def test_a_file_that_is_gone_when_it_is_read(self, tmp_path):
        reader = read(written(tmp_path, b"1 1:1\n", "data.svm"))
        (tmp_path / "data.svm").unlink()
        with pytest.raises(InputError, match=r"data\.svm: No such file"):
            list(reader)

    def test_nothing(self):
        with pytest.raises(InputError, match="nothing to read"):
            read()

    @pytest.mark.parametrize("option", [{"format": "xls"}, {"bad_lines": "ignore"}], ids=str)
    def test_an_unknown_option(self, tmp_path, option):
        with pytest.raises(ValueError, match="is expected"):
            read(written(tmp_path, b"", "data.svm"), **option)

    @pytest.mark.parametrize("format", FORMATS)
    def test_a_binary_file(self, tmp_path, format):
        data = np.random.default_rng(0).integers(0, 256, 100_000, dtype=np.uint8).tobytes()
        path = written(tmp_path, data)
        assert message_of(path).startswith(f"{path}")
        assert message_of(path, format).startswith(f"{path}:1:")
        assert message_of(written(tmp_path, b"\x00" * 5000), format).startswith(f"{path}:1:")


# --- telling the format ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("data", b"1 1:2\n", [1]),
        ("data", b"\n\n  1 qid:1 1:2 # c\n", [1]),
        ("data", b"# a comment\n1 1:2\n", [1]),
        ("data", b"# label | features\n1 1:2\n", [1]),
        ("data", b"1 1:2 # a|b\n", [1]),
        ("data", b"-1\r\n", [-1]),
        ("data", b"1#x\n", [1]),
        ("data", b"1 |a b\n", [1]),
        ("data", b"1 2 'tag |a b\n", [1]),
        ("data", b"label,a\n1,x\n", [1]),
        ("data", b"\n\n", []),
        ("data", b"", []),
        ("data.vw", b"1 |a b\n", [1]),
        ("data.vw.2024.gz", b"1 |a b\n", [1]),
        ("data.libsvm", b"1 1:2 # a|b\n", [1]),
        ("data.svm.part1", b"1 1:2 # a|b\n", [1]),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value)[2:-1][:24],
)
def test_the_format_is_told(tmp_path, name, text, labels):
    assert labels_of(written(tmp_path, text, name)) == labels


@pytest.mark.parametrize("indent", range(0, 9))
def test_the_format_is_told_from_a_long_first_line(tmp_path, indent):
    features = b" ".join(b"%d:1" % i for i in range(100_000, 110_000))
    path = written(tmp_path, b" " * indent + b"1 " + features + b"\n")
    assert labels_of(path) == [1]


@pytest.mark.parametrize("text", [b"hello\n", b"[1, 2]\n"], ids=repr)
def test_the_format_cannot_be_told(tmp_path, text):
    path = written(tmp_path, text)
    assert message_of(path).startswith(f"{path}: the format cannot be inferred")


def test_a_line_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE", 1000)
    text = b"1 1:1\n" * 70 + b"1 " + b"1:1 " * 1000 + b"\n1 1:1\n"
    with block_size(100):
        for content in (text, gzip.compress(text)):
            path = written(tmp_path, content, "data.svm")
            assert message_of(path).startswith(f"{path}:71:1: the line has more than")


def test_xz_that_asks_for_too_much_memory(tmp_path, monkeypatch):
    text = b"1 1:1\n" * 1000
    path = written(tmp_path, lzma.compress(text[:600]) + bytes(8) + lzma.compress(text[600:]))
    assert len(labels_of(path)) == 1000
    monkeypatch.setattr(compression, "MOST_XZ_MEMORY", 1 << 20)
    assert message_of(path).startswith(f"{path}: decompressing it takes more than 1 MiB of memory")


def test_an_extra_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "rows.svm.zst"
    path.write_bytes(zstandard.compress(b"1 1:1\n"))
    message = re.escape(f"{path}: reading zstd needs `pip install rarefy[zstd]`.")
    with pytest.raises(InputError, match=message):
        list(read(path))
