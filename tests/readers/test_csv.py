"""CSV and TSV, against a slow parser written from the description of the format alone, and against
what Python's own csv module writes."""

from __future__ import annotations

import csv
import io
import lzma
import math
import os
import random
import re
import subprocess
import sys
import unicodedata
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.data import REAL_DATA
from rarefy import InputError, RarefyWarning
from rarefy.errors import ConfigError
from rarefy.readers import Reader, read, source
from rarefy.readers.features.columns import Columns
from rarefy.readers.formats import csv_columns
from tests.readers.test_readers import ROOT, block_size, on_files, written
from tests.readers.test_words import features_of
from tests.text_formats import BadLineError, Row, Text, number, same_bits

# --- the slow parser ------------------------------------------------------------------------


class Meaning(NamedTuple):
    """What a file's columns are, by name: a kind, "label" or "weight"."""

    roles: dict[str, str]
    delimiter: bytes = b","
    quotes: bool = True
    word_labels: list[bytes] | None = None  # filled in the order in which they come
    label_needed: bool = True


def is_invalid(line: bytes) -> bool:
    return line.decode("utf-8", "replace").encode() != line


class OpenQuoteError(Exception):
    """A quote that is never closed."""


class InvalidLineError(Exception):
    """A line inside quotes that is not UTF-8."""


def split(lines: list[bytes], at: int, meaning: Meaning) -> tuple[list[bytes], int, bool]:
    """The fields of the row at a line, the line after it, and whether it is well formed."""
    fields, rest, is_good = [], lines[at], True
    while True:
        if meaning.quotes and rest.startswith(b'"'):
            field, rest = b"", rest[1:]
            while True:
                inside, quote, after = rest.partition(b'"')
                field += inside
                if not quote:
                    at += 1
                    if at == len(lines):
                        raise OpenQuoteError
                    if is_invalid(lines[at]):
                        raise InvalidLineError(at)
                    field, rest = field + b"\n", lines[at]
                elif after.startswith(b'"'):
                    field, rest = field + b'"', after[1:]
                else:
                    rest = after
                    break
            junk, delimiter, rest = rest.partition(meaning.delimiter)
            is_good &= junk == b"" or (not delimiter and junk == b"\r")
        else:
            field, delimiter, rest = rest.partition(meaning.delimiter)
            field = field if delimiter else field.removesuffix(b"\r")
        fields.append(field)
        if not delimiter:
            return fields, at + 1, is_good


NOTHING = (b"", b"NA", b"N/A", b"#N/A", b"NAN", b"NULL", b"NONE", b"?", rb"\N")


def key_of(column: str, text: bytes) -> int:
    return xxhash.xxh64_intdigest(text, xxhash.xxh64_intdigest(column.encode(), 0))


def row_of(fields: Sequence[bytes], meaning: Meaning) -> Row:  # noqa: PLR0912
    if len(fields) != len(meaning.roles):
        raise BadLineError("another number of fields")
    row = Row(math.nan, 1.0, [], [])
    word = None
    for (column, role), field in zip(meaning.roles.items(), fields, strict=True):
        bare = field.strip(b" \t")
        if role == "label":
            if meaning.word_labels is not None:
                if not field and meaning.label_needed:
                    raise BadLineError("no label")
                word = field
            elif bare and (meaning.label_needed or is_number(bare)):
                row = row._replace(label=number(bare))
            elif meaning.label_needed:
                raise BadLineError("no label")
        elif role == "weight":
            row = row._replace(importance=number(bare))
            if row.importance < 0:
                raise BadLineError("negative importance")
        elif role == "numeric" and bare.upper() not in NOTHING:
            row.keys.append(key_of(column, b""))
            row.values.append(number(bare))
        elif role == "categorical" and field:
            row.keys.append(key_of(column, field))
            row.values.append(1.0)
        elif role == "text":
            row.keys.extend(key_of(column, name.encode()) for name in features_of(field.decode()))
            row.values.extend([1.0] * (len(row.keys) - len(row.values)))
    if word:
        known = meaning.word_labels
        if word not in known and meaning.label_needed:
            known.append(word)
        row = row._replace(label=known.index(word) if word in known else math.nan)
    return row


def is_number(text: bytes) -> bool:
    try:
        number(text)
    except BadLineError:
        return False
    return True


def parse(text: bytes, meaning: Meaning, first_line: int = 1) -> Text:
    """All rows after the header, which is not in the text."""
    found = Text([], [], [])
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    at = 0
    while at < len(lines):
        begin = at
        if lines[at] in (b"", b"\r"):
            at += 1
            continue
        try:
            if is_invalid(lines[at]):
                raise InvalidLineError(at)
            fields, at, is_good = split(lines, at, meaning)
            if not is_good:
                raise BadLineError("something after a closing quote")
            found.rows.append(row_of(fields, meaning))
            found.lines.append(begin + first_line)
        except OpenQuoteError:
            found.bad_lines.append(begin + first_line)
            at = begin + 1
        except InvalidLineError as error:
            found.bad_lines.append(error.args[0] + first_line)
            at = error.args[0] + 1
        except BadLineError:
            found.bad_lines.append(begin + first_line)
    return found


# --- reading --------------------------------------------------------------------------------


def reader_of(path: Path, meaning: Meaning, **options: object) -> Reader:
    """With every column named."""
    kinds = {
        kind: [name for name, role in meaning.roles.items() if role == kind]
        for kind in ("text", "categorical", "numeric", "ignore")
    }
    weight = next((name for name, role in meaning.roles.items() if role == "weight"), None)
    label = next((name for name, role in meaning.roles.items() if role == "label"), "label")
    reader = read(
        path, format="csv", label=label, weight=weight, quotes=meaning.quotes,
        delimiter=meaning.delimiter.decode(), **kinds, **options,
    )  # fmt: skip
    reader.columns = reader.columns._replace(label_needed=meaning.label_needed)
    return reader


def all_of(reader: Reader) -> tuple[list[Row], list[int], tuple[str, ...] | None]:
    rows, lines, label_names = [], [], None
    for batch in reader:
        assert batch.indptr[0] == 0
        assert batch.indptr[-1] == len(batch.keys) == len(batch.values)
        for row in range(len(batch.labels)):
            part = slice(batch.indptr[row], batch.indptr[row + 1])
            keys, values = batch.keys[part].tolist(), batch.values[part].tolist()
            label, importance = float(batch.labels[row]), float(batch.importance[row])
            rows.append(Row(label, importance, keys, values))
        lines += batch.lines.tolist()
        label_names = batch.label_names
    return rows, lines, label_names


def assert_same(reader: Reader, expected: Text, words: list[bytes] | None = None) -> None:
    rows, lines, label_names = all_of(reader)
    assert lines == expected.lines
    assert [row.keys for row in rows] == [row.keys for row in expected.rows]
    for ours, theirs in zip(rows, expected.rows, strict=True):
        ours_, theirs_ = [ours.label, *ours[1:2], *ours[3]], [*theirs[:2], *theirs[3]]
        assert same_bits(np.array(ours_), theirs_), (ours, theirs)
    if words is not None and rows:
        assert label_names == tuple(word.decode() for word in words)


def check(folder: Path, text: bytes, meaning: Meaning, n_bytes: int | None = None) -> Text:
    """The rows below a header are what the slow parser makes of them."""
    header = meaning.delimiter.join(name.encode() for name in meaning.roles) + b"\n"
    path = written(folder, header + text, "data.csv")
    words = None if meaning.word_labels is None else []
    expected = parse(text, meaning._replace(word_labels=words), first_line=2)
    with block_size(n_bytes):
        reader = reader_of(path, meaning, bad_lines="skip")
        reader.labels.settle(words=words is not None)
        assert_same(reader, expected, words)
        assert reader.n_bad_lines == len(expected.bad_lines)
        assert len(reader.bad_lines) == min(5, len(expected.bad_lines))
        if expected.bad_lines:
            reader.skip_bad_lines = False
            with pytest.raises(InputError, match=re.escape(f"{path}:")):
                list(reader)
    return expected


MEANINGS = (
    Meaning({"label": "label", "a": "categorical", "b": "numeric", "c": "text"}),
    Meaning({"a": "categorical", "label": "label", "w": "weight", "i": "ignore"}, b";"),
    Meaning({"b": "numeric", "é": "text", "label": "label"}, b"\t", quotes=False),
    Meaning({"t": "text", "label": "label"}, b"|", word_labels=[]),
    Meaning({"label": "label", "a": "categorical"}, b" ", word_labels=[], label_needed=False),
    Meaning({"label": "label", "b": "numeric"}, label_needed=False),
    Meaning({"a": "categorical"}, label_needed=False),
)


# --- what rows mean -------------------------------------------------------------------------

ROWS = {
    b"1,x,2.5,Some words": (1, [("a", b"x"), ("b", b""), ("c", b"some"), ("c", b"words"),
                               ("c", b"some words")], [1, 2.5, 1, 1, 1]),
    b"1,,,": (1, [], []),
    b'1,"","",""': (1, [], []),
    b"1,,,\r": (1, [], []),
    b'1,"x",2,"y"\r': (1, [("a", b"x"), ("b", b""), ("c", b"y")], [1, 2, 1]),
    b'1,"x, y",,': (1, [("a", b"x, y")], [1]),
    b'1,"x\ny",,': (1, [("a", b"x\ny")], [1]),
    b'1,"x\r\ny",,': (1, [("a", b"x\r\ny")], [1]),
    b'1,"say ""x""",,': (1, [("a", b'say "x"')], [1]),
    b'1,"""",,': (1, [("a", b'"')], [1]),
    b'1,x"y",,': (1, [("a", b'x"y"')], [1]),
    b'1, "x",,': (1, [("a", b' "x"')], [1]),
    b'" 1 ",x," 2 ",': (1, [("a", b"x"), ("b", b"")], [1, 2]),
    b'"1","x""y","-2e3","a ""b"""': (
        1, [("a", b'x"y'), ("b", b""), ("c", b"a"), ("c", b"b"), ("c", b"a b")], [1, -2000, 1, 1, 1]
    ),
    b"-1,\r,0, ": (-1, [("a", b"\r"), ("b", b"")], [1, 0]),
    "0,é 東, ,東京é".encode(): (
        0, [("a", "é 東".encode()), ("c", "東".encode()), ("c", "京".encode()),
            ("c", "東 京".encode()), ("c", "é".encode()), ("c", "京 é".encode())], [1] * 6
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), ROWS.items(), ids=repr)
def test_what_a_row_means(tmp_path, line, expected):
    check(tmp_path, line, MEANINGS[0])
    path = written(tmp_path, b"label,a,b,c\n" + line + b"\n", "data.csv")
    ((row,), lines, _) = all_of(read(path, text=["c"], numeric=["b"], categorical=["a"]))
    label, names, values = expected
    assert row == Row(label, 1.0, [key_of(*name) for name in names], values)
    assert lines == [2]


# --- files that Python's csv module writes ---------------------------------------------------


def is_old(character: str) -> bool:
    """Whether every Python knows it as a letter, or knows that it is none."""
    return unicodedata.ucd_3_2_0.category(character) != "Cn"


characters = st.one_of(
    st.sampled_from("ab Z09,;\"'\n\r\t|é東\x00"),
    st.characters(codec="utf-8", max_codepoint=0x2FFFF).filter(is_old),
)
texts = st.text(characters, max_size=12)
decimals = st.one_of(
    st.sampled_from(("", "0", "-1.5", "1e-3", " 7 ", "12345678901234567890")),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
missing = st.sampled_from(("NA", "na", "N/A", "#N/A", "NaN", " null ", "None", "?", r"\N"))
python_rows = st.lists(
    st.tuples(decimals.filter(str.strip), texts, decimals | missing, texts), max_size=6
)


@on_files
@given(
    rows=python_rows,
    quoting=st.sampled_from((csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)),
    end=st.sampled_from(("\n", "\r\n")),
    delimiter=st.sampled_from(",;\t|"),
    n_bytes=st.sampled_from((None, 1, 7, 30)),
)
def test_files_of_the_csv_module(tmp_path, rows, quoting, end, delimiter, n_bytes):
    out = io.StringIO()
    writer = csv.writer(out, quoting=quoting, lineterminator=end, delimiter=delimiter)
    writer.writerow(["label", "a", "b", "c"])
    writer.writerows(rows)
    meaning = MEANINGS[0]
    path = written(tmp_path, out.getvalue().encode(), "data")
    expected = [row_of([field.encode() for field in row], meaning) for row in rows]
    with block_size(n_bytes):
        found, _, _ = all_of(read(path, format="csv", text=["c"], numeric=["b"], categorical=["a"]))
    assert found == expected


# --- noise ----------------------------------------------------------------------------------

noise = st.one_of(
    st.lists(
        st.sampled_from(
            (b",", b";", b'"', b'""', b"\n", b"\r", b"\r\n", b"\t", b"|", b" ", b"1", b"-2.5", b"x",
             b"1,x,2,Y y\n", b'1,"a\nb",2,"c"\n', b"x;1;2;\n", b"\xff", "é".encode(), b"\xc3", b"e")
        ), max_size=30,
    ).map(b"".join),
    st.binary(max_size=60),
)  # fmt: skip


@on_files
@given(text=noise, meaning=st.sampled_from(MEANINGS), n_bytes=st.sampled_from((None, 1, 4, 20)))
@example(text=b'1,"\n\xff\n",2,3\n1,2,3,4', meaning=MEANINGS[0], n_bytes=None)
@example(text=b'1,x,bad,"a\nb"\n1,x,2,y', meaning=MEANINGS[0], n_bytes=1)
@example(text=b'1,x,"a\n1,x,2,y\n1,x,2,y', meaning=MEANINGS[0], n_bytes=1)
@example(text=b'"1"x,"\n",2,3\n1,x,2,y', meaning=MEANINGS[0], n_bytes=None)
def test_noise_is_read_or_refused(tmp_path, text, meaning, n_bytes):
    check(tmp_path, text, meaning, n_bytes)


GOOD_ROWS = (
    (b"1,x,2,Y y\n", b'1,"a\nb",2,"c"\n', b'"1","a""b","2","c ""d"" e"\r\n', b"-1,,,\n"),
    (b"x;1;2;\n", b'"a;b";0;.5;"\n"\n'),
    (b"2\tc c\t1\n", b'\t"\t-1\r\n'),
    (b"some text|spam\n", b'"a\nb"|ham\n', b'x|"""h"""\n'),
    (b"1 x\n", b'"" "x y"\n'),
    (b"0,-1e-5\n", b'?,"2"\n'),
    (b"a\n", b'"a\n""b"""\n', b'""\n'),
)
PARTS = (
    b",", b";", b'"', b'""', b"\n", b"\n", b"\r\n", b"\t", b"|", b" ", b"1", b"-2.5", b"x", b"\xff",
    "é東".encode(), b"\xc3", b"e", b"12345678901234567890123", b"a" * 40,
)  # fmt: skip


def fuzz(folder: Path, n_cases: int, seed: int) -> int:
    """Rows with noise between them and bytes changed; how many rows could be read."""
    rng = random.Random(seed)
    n_rows = 0
    for _ in range(n_cases):
        kind = rng.randrange(len(MEANINGS))
        parts = (*GOOD_ROWS[kind] * rng.choice((1, 10)), *PARTS)
        text = b"".join(rng.choices(parts, k=rng.randrange(25)))
        if rng.random() < 0.3 and text:
            at = rng.randrange(len(text))
            text = text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
        n_bytes = rng.choice((None, None, 1, 4, 20, 50))
        n_rows += len(check(folder, text, MEANINGS[kind], n_bytes).rows)
    return n_rows


def test_more_noise(tmp_path):
    assert fuzz(tmp_path, 400, seed=1) > 500


@pytest.mark.slow
def test_noise_with_checked_bounds(tmp_path):
    """The compiled code never looks outside of its arrays."""
    program = "import sys, pathlib; from tests.readers import test_csv as t; "
    program += "print(t.fuzz(pathlib.Path(sys.argv[1]), 3000, seed=2))"
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3000


# --- block borders --------------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n\n\n\n\n\n\n\n\n\n"], ids=repr)
def test_every_block_size(tmp_path, end):
    text = '1,x,2,"é\n\n""a"" b"\r\n\n0,"y\n",bad,z\n1,z,,\n0,"a""b","3",\n1,x,1,"'.encode() + end
    for n_bytes in range(1, len(text) + 40):
        assert len(check(tmp_path, text, MEANINGS[0], n_bytes).rows) == 3


def test_a_row_over_many_blocks(tmp_path):
    text = b'1,x,2,"' + b"word\n" * 5000 + b'"\n0,y,3,b\n'
    assert len(check(tmp_path, text, MEANINGS[0], n_bytes=64).rows) == 2


def test_a_quote_that_is_never_closed_in_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE", 1000)
    path = written(tmp_path, b'label,a\n1,"x\n' + b"1,y\n" * 1000, "data.csv")
    with block_size(100), pytest.raises(InputError, match=r"a row of more than .*--no-quotes"):
        list(read(path))
    with block_size(100):
        assert len(all_of(read(path, quotes=False))[0]) == 1001


# --- limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("empty", [b"\n", b"\r\n"], ids=repr)
def test_many_empty_lines(tmp_path, empty):
    """A block of them passes; with a larger one again and again this would take minutes."""
    n = 4 << 20
    path = written(tmp_path, empty * n + b"label,a\n" + empty * n + b"1,2\n0,3\n", "data.csv")
    reader = read(path)
    rows, lines, _ = all_of(reader)
    assert ([row.label for row in rows], lines) == ([1, 0], [2 * n + 2, 2 * n + 3])
    assert reader.columns.numeric == ("a",)


@pytest.mark.parametrize("n_bytes", [1, 3, 7, 10, 16, 30])
def test_empty_lines_in_blocks(tmp_path, n_bytes):
    path = written(tmp_path, b'\n\n\nlabel,a\n\n\n\r\n\n1,"x\n\n"\n\n0,3\n', "data.csv")
    with block_size(n_bytes):
        rows, lines, _ = all_of(read(path, categorical=["a"]))
    assert ([row.label for row in rows], lines) == ([1, 0], [9, 13])


def test_a_wrong_header_behind_empty_lines(tmp_path):
    path = written(tmp_path, b"\n" * 50 + b'label,"a"b\n1,2\n', "data.csv")
    with block_size(10), pytest.raises(InputError, match=re.escape(f"{path}:51:10: the end of")):
        list(read(path))


def test_only_fields_of_columns_become_objects(tmp_path, monkeypatch):
    found, fields_of = [], csv_columns._fields
    monkeypatch.setattr(
        csv_columns, "_fields", lambda *row: found.append(fields_of(*row)) or found[-1]
    )
    path = written(tmp_path, b"label,a\n1" + b"," * (2 << 20) + b"\n0,3\n", "data.csv")
    rows, lines, _ = all_of(read(path, bad_lines="skip"))
    assert (len(rows), lines) == (1, [3])
    assert found == [[b"label", b"a"], [b"0", b"3"]]


@pytest.mark.parametrize("header", [True, False])
def test_too_many_columns(tmp_path, monkeypatch, header):
    monkeypatch.setattr(csv_columns, "MOST_COLUMNS", 3)
    for n_columns, is_good in ((3, True), (4, False)):
        names = ",".join(map(str, range(1, n_columns + 1)))
        path = written(tmp_path, f"\n{names}\n{names}\n".encode(), "data.csv")
        reader = read(path, header=header, label="1")
        if is_good:
            assert len(all_of(reader)[0]) == 2 - header
            continue
        with pytest.raises(InputError, match=re.escape(f"{path}:2: there are 4 columns; 3 at")):
            list(reader)


def test_missing_numbers(tmp_path):
    """They do not make a column categorical; in categorical columns they are values."""
    content = "label,age,kind\n1,NA,NA\n0,31,b\n1,?,?\n0,,\n1,n/a,b\n0,\\N,b\n1,4.5,NULL\n0,NaN,b\n"
    path = written(tmp_path, content.encode(), "data.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader = read(path)
        (batch,) = reader
    assert reader.roles == {"label": "label", "age": "numeric", "kind": "categorical"}
    assert batch.indptr.tolist() == [0, 1, 3, 4, 4, 5, 6, 8, 9]


@pytest.mark.parametrize(
    "word", ["-nan", "N A", "NANs", "n", "nulls", "??", "nä", "\x1fa", "n\x0fa"]
)
def test_other_words_are_no_missing_numbers(tmp_path, word):
    path = written(tmp_path, f"label,age\n1,2\n0,{word}\n".encode(), "data.csv")
    with pytest.raises(InputError, match=r":3:.*a number \(or nothing\)"):
        list(read(path, numeric=["age"]))


# --- faults ---------------------------------------------------------------------------------

FAULTS = {
    b"1,x,2": (3, 6, "this row has fewer fields than there are columns, near"),
    b"1,x,2,y,z": (3, 9, "this row has more fields than there are columns, near"),
    b"1,x,abc,y": (
        3,
        5,
        "a number (or nothing) in this column is expected, near '1,x,abc,y'. Leave",
    ),
    b'1,x,"abc",y': (3, 5, "a number (or nothing)"),
    b"1,x,nam,y": (3, 5, "a number (or nothing)"),
    b"1,x,1e999,y": (3, 5, "a number (or nothing)"),
    b"1,x,1 2,y": (3, 5, "a number (or nothing)"),
    b"x,x,1,y": (3, 1, "a number as the label"),
    b",x,1,y": (3, 1, "a label"),
    b'1,"x"y,2,z': (3, 6, "the end of the field after the closing quote"),
    b'1,"x" ,2,z': (3, 6, "the end of the field after the closing quote"),
    b'1,x,2,"z': (3, 1, "a quote in this row is never closed, near"),
    b'1,"x\ny",abc,z': (4, 4, "a number (or nothing)"),
    b'1,"x\ny"': (4, 3, "this row has fewer fields"),
    b'1,"x\n\xff"': (4, 1, "0xff is not UTF-8"),
    b"1,\xff,2,z": (3, 3, "0xff is not UTF-8"),
}


@pytest.mark.parametrize(("line", "expected"), FAULTS.items(), ids=repr)
def test_faults_are_told_with_their_place(tmp_path, line, expected):
    path = written(tmp_path, b"label,a,b,c\n1,x,2,y\n" + line + b"\n", "data.csv")
    with pytest.raises(InputError) as caught:
        list(read(path, numeric=["b"]))
    line_number, column, what = expected
    assert str(caught.value).startswith(f"{path}:{line_number}:{column}: {what}")


@pytest.mark.parametrize("weight", ["", "-1", "x", "nan"])
def test_weights_that_are_none(tmp_path, weight):
    path = written(tmp_path, f"label,w\n1,{weight}\n".encode(), "data.csv")
    with pytest.raises(InputError, match=r":2:3: a number >= 0 as the importance"):
        list(read(path, weight="w"))


def test_a_bad_row_is_skipped_to_its_end(tmp_path):
    """Else the lines inside the quotes would be taken for rows."""
    path = written(tmp_path, b'label,a,t\n1,bad,"x\n1,2,y\n"\n0,1,z\n', "data.csv")
    rows, lines, _ = all_of(read(path, numeric=["a"], bad_lines="skip"))
    assert (len(rows), lines) == (1, [5])


# --- which column is what -------------------------------------------------------------------


def columns_of(folder: Path, content: str, **options: object) -> Columns:
    reader = read(written(folder, content.encode(), "data.csv"), **options)
    list(reader)
    return reader.columns


def test_columns_are_told_from_what_they_contain(tmp_path):
    text = "label,a,b,c,d,e,f\n1,1,1,,1,, 2 \n0,2.5e3,x,,inf,, \n1,,3,,2,5,-.5\n"
    columns = columns_of(tmp_path, text)
    assert columns.numeric == ("a", "e", "f")
    assert columns.categorical == ("b", "c", "d")
    assert columns.complete


def test_what_is_said_of_columns_holds(tmp_path):
    text = "y,a,b,c,w\n1,1,1,x y,2\n"
    columns = columns_of(
        tmp_path, text, label="y", weight="w", categorical=["a"], text=["c"], ignore=["b"]
    )
    assert (columns.categorical, columns.text, columns.ignore) == (("a",), ("c",), ("b",))
    assert columns.numeric == ()


def test_a_row_that_is_wrong_says_nothing_of_its_columns(tmp_path):
    path = written(tmp_path, b"label,a\n1,2,3\n1,2\n0,\xff\n", "data.csv")
    reader = read(path, bad_lines="skip")
    list(reader)
    assert reader.columns.numeric == ("a",)


def test_only_the_first_rows_tell(tmp_path):
    text = "label,a\n" + "1,2\n" * 1000 + "1,x\n"
    with pytest.raises(InputError, match=r":1002:3: a number .*--categorical"):
        columns_of(tmp_path, text)
    assert columns_of(tmp_path, text, categorical=["a"]).categorical == ("a",)


@pytest.mark.parametrize("n_bytes", [1, 3, 10])
def test_a_header_alone_in_its_block(tmp_path, n_bytes):
    with block_size(n_bytes):
        columns = columns_of(tmp_path, 'label,"a\nb",c\n1,x,2.25\n')
    assert (columns.numeric, columns.categorical) == (("c",), ("a\nb",))


def test_lines_are_counted_with_those_of_the_header(tmp_path):
    path = written(tmp_path, b'\n\r\nlabel,"a\nb"\n\n1,x\n', "data.csv")
    for n_bytes in (None, 1, 5):
        with block_size(n_bytes):
            assert all_of(read(path))[1] == [6]


@pytest.mark.parametrize("text", ["", "\n", "\r\n\n", "label,a\n", "label,a"])
def test_files_without_a_row(tmp_path, text):
    path = written(tmp_path, text.encode(), "data.csv")
    assert all_of(read(path))[0] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.csv", "label,a\n1,x\n"),
        ("data.csv", "label;a\n1;x\n"),
        ("data.csv", "label\ta\n1\tx\n"),
        ("data.csv", "label|a\n1|x\n"),
        ("data.csv", '"label";"a"\n1;x\n'),
        ("data.csv", '\nlabel;"a,,"\n1;x\n'),
        ("data.tsv", "label\ta,,\n1\tx\n"),
        ("data.tab", "label\ta\n1\tx\n"),
        ("data.csv", "\ufefflabel,a\n1,x\n"),
        ("data.csv", " label , a\n1,x\n"),
        ("data", "label,a\n1,x\n"),
        ("data", "label\ta\n1\tx\n"),
    ],
)
def test_the_delimiter_is_told(tmp_path, name, text):
    path = written(tmp_path, text.encode(), name)
    ((row,), _, _) = all_of(read(path))
    column = "a,," if ",," in text else "a"
    assert (row.label, row.keys) == (1, [key_of(column, b"x")])


def test_a_given_delimiter(tmp_path):
    path = written(tmp_path, b"label:a,b,c\n1:x\n", "data.csv")
    ((row,), _, _) = all_of(read(path, delimiter=":"))
    assert row.keys == [key_of("a,b,c", b"x")]


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", "\r", "é", "1", "e", ".", "-"])
def test_delimiters_that_are_none(tmp_path, delimiter):
    with pytest.raises(ConfigError, match="delimiter="):
        read(written(tmp_path, b"label,a\n"), delimiter=delimiter)


def test_columns_without_a_header(tmp_path):
    path = written(tmp_path, b"spam\tbuy this\t2\nham\thi\t3\n", "data.tsv")
    reader = read(path, header=False, label="1", text=["2"])
    rows, lines, names = all_of(reader)
    assert (names, lines) == (("spam", "ham"), [1, 2])
    assert rows[1].keys == [key_of("2", b"hi"), key_of("3", b"")]
    assert reader.columns.numeric == ("3",)


@pytest.mark.parametrize("first", [b'"1,2', b'1,"2', b'1,"2"x,3', b"1,\xff,3"], ids=repr)
@pytest.mark.parametrize("n_bytes", [None, 1, 12])
def test_without_a_header_the_first_good_row_tells_the_columns(tmp_path, first, n_bytes):
    path = written(tmp_path, first + b"\n0,3\n1,4\n", "data.csv")
    with block_size(n_bytes):
        reader = read(path, header=False, label="1", bad_lines="skip")
        assert (all_of(reader)[1], reader.n_bad_lines) == ([2, 3], 1)
        assert reader.columns.numeric == ("2",)
        with pytest.raises(InputError, match=re.escape(f"{path}:1:")):
            list(read(path, header=False, label="1"))


def test_without_a_header_and_a_good_row(tmp_path):
    path = written(tmp_path, b'"1,2\n', "data.csv")
    with pytest.raises(InputError, match=re.escape(f"{path}:1:1: a quote in this row")):
        list(read(path, header=False, label="1"))


WRONG_COLUMNS = {
    "no column 't' (text); the columns are 1, b. If the file has no header, use header=False": (
        "1,b\n1,2\n",
        {"text": ["t"]},
    ),
    "there is no column 'label' for the label; the columns are a, b. Name the": ("a,b\n1,2\n", {}),
    "there is no column 't' (text); the columns are label, b.": ("label,b\n1,2\n", {"text": ["t"]}),
    "the columns are label, b. If the file has no header": ("label,b\n1,2\n", {"text": ["2"]}),
    "there is no column 'w' (weight); the columns are": ("label,b\n1,2\n", {"weight": "w"}),
    "there is no column 'i' (ignore); the columns are": ("label,b\n1,2\n", {"ignore": ["i"]}),
    "2 columns are called 'b'; the columns are label, b, b. Rename them.": (
        "label,b, b\n1,2,3\n",
        {},
    ),
    "no column 'label' for the label (is it 'LABEL'?); the": ("LABEL,b\n1,2\n", {}),
    "The header has no ';': leave out delimiter=": ("label,b\n1,2\n", {"delimiter": ";"}),
    "lines end with a carriage return alone": ("label,b\r1,2\r", {}),
    "the columns are 1, 2. Name the label column with label=": ("1,2\n", {"header": False}),
}


@pytest.mark.parametrize(("message", "case"), WRONG_COLUMNS.items())
def test_columns_that_do_not_fit(tmp_path, message, case):
    text, options = case
    path = written(tmp_path, text.encode(), "data.csv")
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        list(read(path, **options))
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("first", ["1\t2\t1", f"ham\t{'text ' * 500}"], ids=["twice", "no label"])
def test_a_file_without_a_header_is_told_of_the_option(tmp_path, first):
    path = tmp_path / "data.tsv"
    path.write_text(f"{first}\n{first}\n")
    with pytest.raises(InputError, match=r"no header, use header=False \(--no-header\)") as e:
        list(read(path))
    assert len(str(e.value)) - len(str(path)) < 400


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b'label,"a"b', ":1:10: the end of the field after the closing quote"),
        (b'\nlabel,"a', ":2:7: a quote in this row is never closed"),
        (b"label,\xff", ": the header is not UTF-8 (convert the file, as with `iconv"),
        (b"\xff\xfel\0a\0", ": this is UTF-16; convert it"),
        (b"PK\x03\x04\x14\0", ": this is a zip archive or an Excel workbook; unpack it"),
    ],
)
def test_a_header_that_is_wrong(tmp_path, header, message):
    path = written(tmp_path, header + b"\n1,2\n", "data.csv")
    with pytest.raises(InputError, match=re.escape(f"{path}{message}")):
        list(read(path))


class TestSeveralFiles:
    def test_columns_are_those_of_the_first(self, tmp_path):
        first = written(tmp_path, b"label,a,b\n1,2,x\n", "1.csv")
        second = written(tmp_path, b"b;label;a\n3;0;4\n", "2.csv")
        rows, _, _ = all_of(read(first, second))
        assert rows[1] == Row(0, 1, [key_of("b", b"3"), key_of("a", b"")], [1, 4])

    def test_in_every_pass(self, tmp_path):
        first = written(tmp_path, b"label,a\n1,x\n", "1.csv")
        second = written(tmp_path, b"a,label\n1,1\n", "2.csv")
        reader = read(first, second)
        assert all_of(reader) == all_of(reader)

    def test_a_column_that_was_unknown(self, tmp_path):
        first = written(tmp_path, b"label,a\n1,2\n", "1.csv")
        second = written(tmp_path, b"label,b,a\n1,3,2\n", "2.csv")
        with pytest.warns(RarefyWarning, match=r"2.csv: new columns are ignored: 'b';"):
            rows, _, _ = all_of(read(first, second))
        assert rows[0] == rows[1]

    def test_a_column_that_is_gone(self, tmp_path):
        first = written(tmp_path, b"label,a,b,c\n1,2,x,y\n", "1.csv")
        second = written(tmp_path, b"label,a\n1,2\n", "2.csv")
        with pytest.raises(InputError, match=r"2.csv: there is no column 'b' \(categorical\)"):
            list(read(first, second, ignore=["c"]))

    def test_a_column_that_is_ignored_may_be_gone(self, tmp_path):
        first = written(tmp_path, b"label,a,c\n1,2,y\n", "1.csv")
        second = written(tmp_path, b"label,a\n1,2\n", "2.csv")
        assert len(all_of(read(first, second, ignore=["c"]))[0]) == 2


# --- labels ---------------------------------------------------------------------------------


def test_labels_that_are_words(tmp_path):
    path = written(tmp_path, 'label,a\nspam,1\n"h""am",2\nspam,3\né,x,4\né,4\n'.encode(), "a.csv")
    rows, _, names = all_of(read(path, bad_lines="skip"))
    assert names == ("spam", 'h"am', "é")
    assert [row.label for row in rows] == [0, 1, 0, 2]


def test_labels_of_bad_rows_are_not_learned(tmp_path):
    path = written(tmp_path, b"label,a\nx,1\ny,bad\nz,3\n", "data.csv")
    _, _, names = all_of(read(path, numeric=["a"], bad_lines="skip"))
    assert names == ("x", "z")


def test_labels_that_are_no_class(tmp_path):
    path = written(tmp_path, b'label,a\nx,"1\n2"\ny,2\nx,3\n', "data.csv")
    with pytest.raises(InputError, match=r":4:1: the label 'y' is not one of x, z"):
        list(read(path, classes=("x", "z")))
    reader = read(path, classes=("x", "z"), bad_lines="skip")
    rows, lines, names = all_of(reader)
    assert ([row.label for row in rows], lines, names) == ([0, 0], [2, 5], ("x", "z"))


def test_the_first_label_tells_whether_labels_are_words(tmp_path):
    path = written(tmp_path, b"label,a\n,1\n1,1\nx,1\n", "data.csv")
    reader = read(path, bad_lines="skip")
    assert [row.label for row in all_of(reader)[0]] == [1]
    assert [line.split(": ")[1] for line in reader.bad_lines] == [
        "a label is expected, near ',1'.", "a number as the label is expected, near 'x,1'.",
    ]  # fmt: skip


def test_a_missing_label_says_how_to_leave_rows_out(tmp_path):
    path = written(tmp_path, b"label,a\nx,1\n,2\ny,3\n", "data.csv")
    with pytest.raises(InputError, match=r":3:1: a label .* near ',2'\. .* bad_lines='skip' "):
        list(read(path))
    reader = read(path, bad_lines="skip")
    assert [row.label for row in all_of(reader)[0]] == [0, 1]
    assert reader.bad_lines == [f"{path}:3:1: a label is expected, near ',2'."]


def test_a_first_label_that_is_too_large_is_no_word(tmp_path):
    path = written(tmp_path, b"label,a\n1e999,1\n1,1\n0,1\n", "data.csv")
    reader = read(path, bad_lines="skip")
    assert [row.label for row in all_of(reader)[0]] == [1, 0]
    assert "a number as the label" in reader.bad_lines[0]


@pytest.mark.parametrize("text", ["a,b\nx,2\n", "a,label,b\nx,,2\n", "a,label,b\nx,?,2\n"])
@pytest.mark.parametrize("classes", [(), ("x", "y"), ("0", "1")])
def test_rows_to_predict_need_no_label(tmp_path, text, classes):
    path = written(tmp_path, text.encode(), "data.csv")
    reader = read(path, classes=classes, weight="w")
    reader.columns = reader.columns._replace(label_needed=False)
    ((row,), _, _) = all_of(reader)
    assert math.isnan(row.label)
    assert row[1:] == (1, [key_of("a", b"x"), key_of("b", b"")], [1, 2])


# --- names and crosses ----------------------------------------------------------------------


def names_in(reader: Reader) -> list[list[str]]:
    reader.names_wanted = True
    found = []
    for batch in reader:
        n = int(batch.names.used[0])
        ends = batch.names.ends[:n].tolist()
        texts = [
            batch.names.text[a:b].tobytes().decode()
            for a, b in zip([0, *ends][:-1], ends, strict=True)
        ]
        names = dict(zip(batch.names.keys[:n].tolist(), texts, strict=True))
        for row in range(len(batch.labels)):
            keys = batch.keys[batch.indptr[row] : batch.indptr[row + 1]]
            found.append([names[key] for key in keys.tolist()])
    return found


def test_names(tmp_path):
    path = written(tmp_path, 'label,a,é,t\n1,"x""y",2,A b\n'.encode(), "data.csv")
    assert names_in(read(path, text=["t"])) == [['a=x"y', "é", "t=a", "t=b", "t=a b"]]


def test_crosses(tmp_path):
    path = written(tmp_path, b"label,a,b,t\n1,x,2,u v\n0,y,,u\n", "data.csv")
    reader = read(path, text=["t"], cross=[("a", "b"), ("a", "t")])
    assert names_in(reader) == [
        ["a=x", "b", "t=u", "t=v", "t=u v", "a=x*b", "a=x*t=u", "a=x*t=v", "a=x*t=u v"],
        ["a=y", "t=u", "a=y*t=u"],
    ]


def test_more_names_than_there_is_room_for_at_first(tmp_path):
    text = "".join(f"{i % 2},c{i},w{i} x{i}\n" for i in range(6000))
    path = written(tmp_path, b"label,a,t\n" + text.encode(), "data.csv")
    assert names_in(read(path, text=["t"])) == [
        [f"a=c{i}", f"t=w{i}", f"t=x{i}", f"t=w{i} x{i}"] for i in range(6000)
    ]


# --- real files -----------------------------------------------------------------------------

REAL_FILES = {
    "sms-spam/SMSSpamCollection.tsv.xz": Meaning(
        {"1": "label", "2": "text"}, b"\t", quotes=False, word_labels=[]
    ),
    "criteo-8k/dev.tsv.xz": Meaning(
        {
            str(n): "label" if n == 1 else "numeric" if n <= 14 else "categorical"
            for n in range(1, 41)
        },
        b"\t",
    ),
}


@pytest.mark.parametrize(("name", "meaning"), REAL_FILES.items(), ids=REAL_FILES)
def test_real_files(name, meaning):
    path = REAL_DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    reader = reader_of(path, meaning, header=False)
    expected = parse(lzma.decompress(path.read_bytes()), meaning)
    assert not expected.bad_lines
    assert_same(reader, expected, meaning.word_labels)


def test_a_file_without_rows_says_nothing_of_the_columns_of_others(tmp_path):
    (tmp_path / "1.csv").write_text("label,a\n")
    (tmp_path / "2.csv").write_text("label,a\n1,2.5\n")
    batches = [batch for batch in read(tmp_path / "*.csv") if len(batch.labels)]
    assert [batch.values.tolist() for batch in batches] == [[2.5]]
