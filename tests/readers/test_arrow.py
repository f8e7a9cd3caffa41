"""Parquet and Arrow files against a slow reading of the same tables, row by row in plain Python."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import gzip
import io
import itertools
import math
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rarefy import InputError
from rarefy.readers import Batch, Reader, read
from tests.selecting import examples
from tests.text_formats import same_bits

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
arrow = pytest.importorskip("rarefy.readers.formats.arrow")

PYARROW = int(pa.__version__.split(".")[0])
on_files = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=examples(150),
)
IGNORE, CATEGORICAL = "--ignore a (ignore=['a'])", "--categorical a (categorical=['a'])"


# --- what a table means, row by row ---------------------------------------------------------


class Row(NamedTuple):
    label: Any
    keys: list[int]
    values: list[float]
    names: list[str]


def key(column: str, text: str) -> int:
    return xxhash.xxh64_intdigest(text.encode(), xxhash.xxh64_intdigest(column.encode(), 0))


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "milliseconds")
    return value.decode() if isinstance(value, bytes) else str(value)


def words(text: str) -> list[str]:
    """Each word, and behind it the pair with the word before it; for ASCII only."""
    found = re.findall("[a-z0-9]+", text.lower())
    pairs = [f"{first} {second}" for first, second in itertools.pairwise(found)]
    return found[:1] + [part for both in zip(found[1:], pairs, strict=True) for part in both]


class BadValueError(Exception):
    pass


def add_feature(row: Row, column: str, text: str, value: float) -> None:
    row.keys.append(key(column, text))
    row.values.append(value)
    row.names.append("=".join(part for part in (column, text) if part))


def add_value(row: Row, column: str, position: str, value: Any, kind: str | None) -> None:
    """The features of one value that is not a list."""
    if isinstance(value, np.float16):  # as PyArrow gives it before version 21
        value = float(value)
    if value is None or value in ("", b""):
        return
    is_number = isinstance(value, (int, float, decimal.Decimal))
    if kind == "numeric" or (kind is None and is_number):
        number = float(value)
        if not math.isfinite(number):
            raise BadValueError(column)
        add_feature(row, column, position, number)
    elif kind == "text":
        for word in words(text_of(value)):
            add_feature(row, column, word, 1.0)
    else:
        add_feature(row, column, text_of(value), 1.0)


def add_column(row: Row, column: str, type: Any, value: Any, kinds: dict[str, str]) -> None:
    if pa.types.is_struct(type):
        for field in type:
            inner = None if value is None else value[field.name]
            add_column(row, f"{column}.{field.name}", field.type, inner, kinds)
    elif isinstance(value, list):
        for position, element in enumerate(value):
            add_value(row, column, str(position), element, kinds.get(column))
    else:
        add_value(row, column, "", value, kinds.get(column))


def meaning(table: Any, kinds: dict[str, str]) -> tuple[list[Row], list[int], list[int]]:
    """The rows, their numbers, and the numbers of the bad rows."""
    rows, lines, bad = [], [], []
    for line, record in enumerate(table.to_pylist(), start=1):
        row = Row(record["label"], [], [], [])
        try:
            for field in table.schema:
                if field.name != "label" and kinds.get(field.name) != "ignore":
                    add_column(row, field.name, field.type, record[field.name], kinds)
        except BadValueError:
            bad.append(line)
            continue
        rows.append(row)
        lines.append(line)
    return rows, lines, bad


# --- writing and reading files --------------------------------------------------------------

ENDINGS = ("parquet", "arrow", "feather", "arrows")


def written(folder: Path, table: Any, ending: str, chunk: int = 1 << 16, name: str = "t") -> Path:
    """The table as a file with chunks (row groups, record batches) of so many rows."""
    path = folder / f"{name}.{ending}"
    if ending == "parquet":
        pq.write_table(table, path, row_group_size=chunk)
    else:
        new = pa.ipc.new_stream if ending == "arrows" else pa.ipc.new_file
        with new(path, table.schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=True)) as w:
            w.write_table(table, max_chunksize=chunk)
    return path


@contextlib.contextmanager
def pieces_of(n_rows: int, n_bytes: int = arrow.MOST_BYTES) -> Iterator[None]:
    before = arrow.MOST_ROWS, arrow.MOST_BYTES
    arrow.MOST_ROWS, arrow.MOST_BYTES = n_rows, n_bytes
    try:
        yield
    finally:
        arrow.MOST_ROWS, arrow.MOST_BYTES = before


def names_of(batch: Batch) -> dict[int, str]:
    names = batch.names
    n = int(names.used[0])
    bounds = [0, *names.ends[:n].tolist()]
    texts = [names.text[a:b].tobytes().decode() for a, b in itertools.pairwise(bounds)]
    return dict(zip(names.keys[:n].tolist(), texts, strict=True))


def rows_of(batches: list[Batch]) -> tuple[list[Row], list[int]]:
    rows, lines = [], []
    for batch in batches:
        names = names_of(batch)
        assert batch.indptr[0] == 0
        assert batch.indptr[-1] == len(batch.keys) == len(batch.values)
        for row, line in enumerate(batch.lines.tolist()):
            part = slice(batch.indptr[row], batch.indptr[row + 1])
            keys = batch.keys[part].tolist()
            label = batch.labels[row]
            if batch.label_names is not None and not np.isnan(label):
                label = batch.label(row)
            rows.append(
                Row(label, keys, batch.values[part].tolist(), [names.get(key, "") for key in keys])
            )
            lines.append(line)
    return rows, lines


def all_of(reader: Reader) -> tuple[list[Row], list[int]]:
    reader.names_wanted = True
    return rows_of(list(reader))


def check(path: Path, table: Any, kinds: dict[str, str]) -> None:
    said: dict[str, list[str]] = {}
    for column, kind in kinds.items():
        said.setdefault(kind, []).append(column)
    expected, lines, bad = meaning(table, kinds)
    reader = read(path, bad_lines="skip", **said)
    ours, our_lines = all_of(reader)
    assert our_lines == lines
    assert [row.keys for row in ours] == [row.keys for row in expected]
    assert [row.names for row in ours] == [row.names for row in expected]
    assert [row.label for row in ours] == [row.label for row in expected]
    for row, other in zip(ours, expected, strict=True):
        assert same_bits(np.array(row.values), other.values)
    assert reader.n_bad_lines == len(bad)
    if bad:
        with pytest.raises(InputError, match=re.escape(f"{path}:{bad[0]}: ")):
            list(read(path, **said))


def table_of(**columns: Any) -> Any:
    """A table with a label, if none is given."""
    n = len(next(iter(columns.values())))
    return pa.table({"label": columns.pop("label", [1.0] * n), **columns})


def has_missing_fixed_list(table: Any) -> bool:
    return any(pa.types.is_fixed_size_list(c.type) and c.null_count > 0 for c in table.columns)


def array_of(values: list[Any], type: Any) -> Any:
    """The array; old versions of PyArrow make dictionaries only of arrays."""
    if not pa.types.is_dictionary(type):
        return pa.array(values, type)
    encoded = pa.array(values, type.value_type).dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices.cast(type.index_type), encoded.dictionary)


def message_of(path: Path | str, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        list(read(path, **options))
    return str(caught.value)


# --- columns of all types -------------------------------------------------------------------

texts = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.sampled_from(("", "a", "x" * 70, "é", "日本", "12", "\x00", "a\nb")),
)
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from((0.0, -0.0, 5e-324, 1.7976931348623157e308, 2.0**53 + 2)),
)
any_floats = st.one_of(floats, floats, floats, st.sampled_from((math.nan, math.inf, -math.inf)))
decimals = st.decimals(min_value=-9999, max_value=9999, places=2)
moments = st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1))
SCALARS: list[tuple[Any, st.SearchStrategy]] = [
    (pa.float64(), any_floats),
    (pa.float32(), st.floats(width=32)),
    (pa.float16(), st.floats(width=16).map(np.float16)),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.bool_(), st.booleans()),
    (pa.decimal128(8, 2), decimals),
    (pa.decimal256(40, 2), decimals),
    (pa.null(), st.none()),
    (pa.string(), texts),
    (pa.large_string(), texts),
    (pa.string_view(), texts),
    (pa.binary(), texts.map(str.encode)),
    (pa.large_binary(), texts.map(str.encode)),
    (pa.binary_view(), texts.map(str.encode)),
    (pa.binary(2), st.sampled_from((b"ab", b"cd", b"\x00\x01"))),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(("a", "b", "", "é"))),
    (pa.dictionary(pa.int32(), pa.large_string()), texts),
    (pa.dictionary(pa.int16(), pa.int64()), st.integers(-5, 5)),
]


@st.composite
def columns(draw: st.DrawFn) -> tuple[Any, st.SearchStrategy]:
    """The type of a column, and what gives its values."""
    type, values = draw(st.sampled_from(SCALARS))
    values = st.one_of(values, values, values, st.none())
    shape = draw(st.sampled_from(("", "", "", "list", "large", "fixed", "view", "struct", "deep")))
    if pa.types.is_null(type) or pa.types.is_dictionary(type):  # PyArrow cannot write them in all
        return type, values
    if shape in ("list", "large", "view"):
        of = {"list": pa.list_, "large": pa.large_list, "view": pa.list_view}[shape]
        return of(type), st.one_of(st.lists(values, max_size=4), st.none())
    if shape == "fixed":
        return pa.list_(type, 3), st.one_of(st.lists(values, min_size=3, max_size=3), st.none())
    if shape in ("struct", "deep"):
        inner, inner_values = pa.list_(type), st.one_of(st.lists(values, max_size=2), st.none())
        if shape == "deep":
            inner = pa.struct([("z", inner)])
            inner_values = st.one_of(st.fixed_dictionaries({"z": inner_values}), st.none())
        struct = pa.struct([("x", type), ("y", inner)])
        return struct, st.one_of(st.fixed_dictionaries({"x": values, "y": inner_values}), st.none())
    return type, values


@st.composite
def tables(draw: st.DrawFn) -> Any:
    n_rows = draw(st.integers(0, 9))
    found = {"label": pa.array(draw(st.lists(floats, min_size=n_rows, max_size=n_rows)))}
    for name in draw(st.lists(st.sampled_from(("a", "b", "c", "é", "", "x y")), unique=True)):
        type, values = draw(columns())
        found[name] = array_of(draw(st.lists(values, min_size=n_rows, max_size=n_rows)), type)
    return pa.table(found)


class TestTables:
    @on_files
    @given(data=st.data())
    def test_are_read_as_the_slow_reading_says(self, tmp_path, data):
        table = data.draw(tables())
        chunk = data.draw(st.integers(1, 10))
        ending = data.draw(st.sampled_from(ENDINGS))
        try:
            path = written(tmp_path, table, ending, chunk)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # not every type has a place there
            path = written(tmp_path, table, "arrow", chunk)
        if path.suffix == ".parquet" and PYARROW < 26 and has_missing_fixed_list(table):
            assert "can be read from Parquet by PyArrow 26" in message_of(path, bad_lines="skip")
            path = written(tmp_path, table, "arrow", chunk)
        with pieces_of(data.draw(st.sampled_from((1, 2, 3, 65536)))):
            check(path, table, {})

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_of_many_rows_and_chunks(self, tmp_path, ending):
        rng = random.Random(0)
        n = 3000
        table = table_of(
            site=[rng.choice(("a", "b", None, "")) for _ in range(n)],
            user=[f"user {rng.randrange(500)}" for _ in range(n)],
            kind=pa.array([rng.choice("xyz") for _ in range(n)]).dictionary_encode(),
            tags=[[rng.choice("pqr") for _ in range(rng.randrange(4))] for _ in range(n)],
            size=[rng.choice((None, rng.random())) for _ in range(n)],
        )
        path = written(tmp_path, table, ending, 700)
        for n_rows, n_bytes in ((1 << 16, 1 << 20), (256, 1 << 20), (1 << 16, 3000)):
            with pieces_of(n_rows, n_bytes):
                check(path, table, {})

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_without_a_row(self, tmp_path, ending):
        path = written(tmp_path, table_of(a=pa.array([], pa.string())), ending)
        assert sum(len(batch.labels) for batch in read(path)) == 0

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_pieces_are_of_bounded_size(self, tmp_path, ending):
        path = written(tmp_path, table_of(a=["x" * 100] * 1000), ending)
        with pieces_of(64):
            assert max(len(batch.labels) for batch in read(path)) <= 64
        with pieces_of(65536, 5000):
            assert max(len(batch.labels) for batch in read(path)) <= 100

    def test_a_dictionary_larger_than_the_piece(self, tmp_path):
        table = table_of(a=pa.array([f"v{i}" for i in range(50)]).dictionary_encode())
        path = written(tmp_path, table, "arrow")
        with pieces_of(7):
            check(path, table, {})

    @pytest.mark.parametrize("n_rows", [1, 3, 65536])
    def test_a_dictionary_of_views(self, tmp_path, n_rows):
        values = pa.array(["a", "a long text, not in its view", None], pa.string_view())
        array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2, 1], pa.uint32()), values)
        path = written(tmp_path, table_of(a=array), "arrow")
        with pieces_of(n_rows):
            rows, _ = all_of(read(path))
        long = [f"a={values[1]}"]
        assert [row.names for row in rows] == [["a=a"], long, [], [], long]

    def test_a_missing_view_may_point_anywhere(self, tmp_path):
        views = np.array([1, 97, 0, 0, -256, 255, 9, 9], np.int32)
        buffers = [pa.py_buffer(b"\x01"), pa.py_buffer(views), pa.py_buffer(b"")]
        array = pa.Array.from_buffers(pa.string_view(), 2, buffers)
        rows, _ = all_of(read(written(tmp_path, table_of(a=array), "arrow")))
        assert [row.names for row in rows] == [["a=a"], []]

    def test_a_dictionary_with_a_missing_value(self, tmp_path):
        values = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1]), pa.array(["a", None]))
        path = written(tmp_path, table_of(a=values), "arrow")
        rows, _ = all_of(read(path))
        assert [row.names for row in rows] == [["a=a"], [], [], []]

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_dictionaries_in_lists_and_structs(self, tmp_path, ending):
        words = pa.array(["a", "b", None, "a", "é", "a"]).dictionary_encode()
        lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, None, 5, 6]), words)
        structs = pa.StructArray.from_arrays([words[:5]], ["d"])
        table = table_of(a=lists, b=structs)
        path = written(tmp_path, table, ending)
        for n_rows in (1, 2, 65536):
            with pieces_of(n_rows):
                check(path, table, {})

    def test_compressed_inside(self, tmp_path):
        table = table_of(a=["x", "y"] * 500)
        path = tmp_path / "t.arrow"
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(path, table.schema, options=options) as writer:
            writer.write_table(table)
        check(path, table, {})

    def test_an_extension_type_is_what_it_is_stored_as(self, tmp_path):
        storage = pa.array(['{"a": 1}', None], pa.string())
        array = pa.ExtensionArray.from_storage(pa.json_(), storage)
        rows, _ = all_of(read(written(tmp_path, table_of(a=array), "arrow")))
        assert [row.names for row in rows] == [['a={"a": 1}'], []]

    def test_several_files_and_formats_in_turn(self, tmp_path):
        first = written(tmp_path, table_of(a=["x", "y"]), "parquet", name="1")
        second = written(tmp_path, table_of(a=["z"]), "arrow", name="2")
        third = tmp_path / "3.vw"
        third.write_text("1 |a w\n")
        batches = list(read(first, second, third))
        found = [number for batch in batches for number in batch.keys.tolist()]
        assert found == [key("a", value) for value in "xyzw"]
        assert [batch.location(0) for batch in batches] == [
            f"{first}:1",
            f"{second}:1",
            f"{third}:1",
        ]

    def test_reused_rooms_hold_the_same(self, tmp_path):
        path = written(tmp_path, table_of(a=[f"v{i}" for i in range(100)]), "parquet")
        with pieces_of(7):
            fresh = [batch.keys.tolist() for batch in read(path)]
            reused = [batch.keys.tolist() for batch in (job.make() for job in read(path).jobs(2))]
        assert fresh == reused


# --- what the user says of columns ----------------------------------------------------------

tame_floats = st.one_of(
    st.integers(-(2**53), 2**53).map(float),
    st.floats(0.01, 1e6, allow_nan=False).map(lambda number: round(number, 3)),
)
AS_TEXT = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float64(), tame_floats),
    (pa.bool_(), st.booleans()),
    (pa.decimal128(8, 2), decimals.map(lambda number: number.quantize(decimal.Decimal("0.01")))),
    (pa.date32(), st.dates()),
    (pa.timestamp("ms"), moments.map(lambda moment: moment.replace(microsecond=123000))),
    (pa.list_(pa.int64()), st.lists(st.one_of(st.integers(-9, 9), st.none()), max_size=3)),
    (pa.string(), texts),
]
sentences = st.text("ab cd_0! ,Z", max_size=20)
AS_WORDS = [
    (pa.string(), sentences),
    (pa.list_(pa.string()), st.lists(st.one_of(sentences, st.none()), max_size=3)),
    (pa.dictionary(pa.int8(), pa.large_string()), st.sampled_from(("a b c", "", "B a"))),
    (pa.int64(), st.integers(0, 10**9)),
]
NUMBERS_IN_TEXT = ("1", "-2.5", "1e3", "", ".5", "12345678901234567890", "1e-320", "0.1", "9" * 50)
AS_NUMBERS = [
    (pa.string(), st.sampled_from(NUMBERS_IN_TEXT)),
    (pa.binary(), st.sampled_from([text.encode() for text in NUMBERS_IN_TEXT])),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(NUMBERS_IN_TEXT)),
    (pa.list_(pa.string()), st.lists(st.sampled_from(NUMBERS_IN_TEXT), max_size=3)),
    (pa.int64(), st.integers(-9, 9)),
]


class TestWhatIsSaid:
    @on_files
    @given(data=st.data())
    def test_holds(self, tmp_path, data):
        kind = data.draw(st.sampled_from(("categorical", "text", "numeric")))
        types = {"categorical": AS_TEXT, "text": AS_WORDS, "numeric": AS_NUMBERS}[kind]
        type, values = data.draw(st.sampled_from(types))
        column = array_of(data.draw(st.lists(st.one_of(values, st.none()), max_size=8)), type)
        table = table_of(a=column, b=pa.nulls(len(column), pa.string()))
        path = written(tmp_path, table, data.draw(st.sampled_from(ENDINGS)), 4)
        with pieces_of(data.draw(st.sampled_from((1, 3, 65536)))):
            check(path, table, {"a": kind, "b": "ignore"})

    def test_rows_without_words_are_rows(self, tmp_path):
        table = table_of(a=[None] * 1000 + ["one word"])
        check(written(tmp_path, table, "parquet"), table, {"a": "text"})

    def test_how_numbers_and_times_are_written(self, tmp_path):
        day = datetime.datetime(2024, 1, 31, 23, 59, 59)
        table = table_of(
            float=[1.0, -0.0, 0.1, 1e20, 1e-7, 1e10, 12345678901.0, 1.5e10 + 0.5],
            time=pa.array([day] * 8, pa.timestamp("ms")),
            zone=pa.array([day] * 8, pa.timestamp("ms", "UTC")),
            small=pa.array([0.1] * 8, pa.float32()),
        )
        path = written(tmp_path, table, "parquet")
        rows, _ = all_of(read(path, categorical=["float", "time", "zone", "small"]))
        floats = [
            "1", "0", "0.1", "1e+20", "1e-7", "10000000000", "12345678901", "1.50000000005e+10",
        ]  # fmt: skip
        assert [row.names[0] for row in rows] == [f"float={text}" for text in floats]
        assert rows[0].names[1:] == [
            "time=2024-01-31 23:59:59.000", "zone=2024-01-31 23:59:59.000Z", "small=0.1",
        ]  # fmt: skip

    def test_of_a_struct_holds_for_its_fields(self, tmp_path):
        struct = pa.array([{"x": 1, "y": 2, "z": 3}])
        path = written(tmp_path, table_of(s=struct, t=struct), "arrow")
        (row,), _ = all_of(read(path, categorical=["s"], numeric=["s.y"], ignore=["t"]))
        assert row.names == ["s.x=1", "s.y", "s.z=3"]
        (row,), _ = all_of(read(path, ignore=["s", "t"], numeric=["s.y"]))
        assert row.names == ["s.y"]

    @pytest.mark.parametrize("text", ["x", "1 ", " 1", "1x", "nan", "inf", "1e999", "--1", "1,5"])
    def test_text_that_is_no_number_is_refused(self, tmp_path, text):
        path = written(tmp_path, table_of(a=["1", text]), "parquet")
        assert message_of(path, numeric=["a"]) == (
            f"{path}:2: a finite number (or nothing) is expected in the column 'a', not {text!r}."
        )
        reader = read(path, numeric=["a"], bad_lines="skip")
        assert [batch.lines.tolist() for batch in reader] == [[1]]
        assert reader.n_bad_lines == 1

    def test_columns_that_are_not_there(self, tmp_path):
        path = written(tmp_path, table_of(a=[{"b": 1}]), "parquet")
        assert message_of(path, text=["c"]) == (
            f"{path}: there is no column 'c' (text); the columns are label, a, a.b."
        )
        assert "no column 'y' (label)" in message_of(path, label="y")
        assert "no column 'w' (weight)" in message_of(path, weight="w")
        assert "no column 'c' (ignore)" in message_of(path, ignore=["c"])

    @pytest.mark.parametrize(
        ("type", "value", "options", "expected"),
        [
            (pa.timestamp("us"), None, {}, "timestamp[us], which cannot be used as a feature; "
            f"use {IGNORE} to leave it out, or {CATEGORICAL} to make each value a feature."),
            (pa.duration("s"), None, {}, f"or {CATEGORICAL} to make"),
            (pa.date32(), None, {"numeric": ["a"]}, "is date32[day], and cannot be numeric."),
            (pa.map_(pa.string(), pa.int64()), None, {}, f"as a feature; use {IGNORE} to"),
            (pa.map_(pa.string(), pa.int64()), None, {"text": ["a"]}, "and cannot be text."),
            (pa.list_(pa.list_(pa.int64())), None, {}, "is list<item: list<item: int64>>, which"),
            (pa.list_(pa.struct([("b", pa.int64())])), None, {}, f"use {IGNORE} to"),
            (pa.list_(pa.date32()), None, {}, f"or {CATEGORICAL} to make"),
            (pa.list_(pa.float64()), None, {"label": "a"}, "numbers or text are expected."),
            (pa.timestamp("us"), None, {"label": "a"}, "numbers or text are expected."),
            (pa.timestamp("us"), None, {"weight": "a"}, "numbers are expected."),
            (pa.struct([("b", pa.int64())]), None, {"label": "a"}, "a field of it, as in 'a.b'."),
            (pa.month_day_nano_interval(), None, {}, f"as a feature; use {IGNORE} to"),
        ],
        ids=str,
    )  # fmt: skip
    def test_types_that_cannot_be_taken(self, tmp_path, type, value, options, expected):
        path = written(tmp_path, table_of(a=pa.array([value], type)), "arrow")
        message = message_of(path, **options)
        assert message.startswith(f"{path}: the ")
        assert "'a' is " in message
        assert message.endswith(expected) or expected in message

    @pytest.mark.parametrize("type", [pa.map_(pa.string(), pa.int64()), pa.timestamp("us")])
    def test_any_column_can_be_ignored(self, tmp_path, type):
        path = written(tmp_path, table_of(a=pa.nulls(1, type), b=[1]), "parquet")
        (row,), _ = all_of(read(path, ignore=["a"]))
        assert row.names == ["b"]

    def test_two_columns_of_one_name(self, tmp_path):
        table = pa.Table.from_arrays([pa.array([1])] * 3, names=["label", "a", "a"])
        path = written(tmp_path, table, "arrow")
        assert message_of(path) == f"{path}: there are two columns of the name 'a'."
        (row,), _ = all_of(read(path, ignore=["a"]))
        assert row.names == []

    def test_a_field_and_a_column_of_one_name(self, tmp_path):
        path = written(tmp_path, table_of(a=[{"b": 1}], **{"a.b": [2]}), "arrow")
        assert message_of(path) == f"{path}: there are two columns of the name 'a.b'."


# --- bad rows -------------------------------------------------------------------------------


class TestBadRows:
    @pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
    def test_numbers_that_are_not_finite(self, tmp_path, number):
        path = written(tmp_path, table_of(a=[1.0, number], b=[[1.0], [2.0, number]]), "parquet")
        expected = "a finite number (or nothing) is expected in the column"
        assert message_of(path) == f"{path}:2: {expected} 'a', not {number}."
        assert message_of(path, ignore=["a"]) == f"{path}:2: {expected} 'b', not {number}."

    def test_are_dropped_and_counted(self, tmp_path):
        n = 40
        table = table_of(
            a=[math.nan if i % 3 == 0 else float(i) for i in range(n)],
            b=[[math.inf] * (i % 2) + [1.0] for i in range(n)],
            c=[f"v{i}" for i in range(n)],
            d=[f"some words {i}" for i in range(n)],
            label=[f"l{i}" for i in range(n)],
        )
        good = [i for i in range(n) if i % 3 and not i % 2]
        path = written(tmp_path, table, "parquet", 11)
        with pieces_of(7):
            reader = read(path, bad_lines="skip", text=["d"])
            batches = list(reader)
        assert [line for batch in batches for line in batch.lines] == [i + 1 for i in good]
        assert reader.n_bad_lines == n - len(good)
        assert len(reader.bad_lines) == 5
        assert batches[-1].label_names == tuple(f"l{i}" for i in good)
        check(path, table, {"d": "text"})

    def test_the_first_one_is_named(self, tmp_path):
        table = table_of(a=[1.0, 1.0, math.nan], b=[1.0, math.inf, 1.0])
        assert ":2: " in message_of(written(tmp_path, table, "arrow"))

    @pytest.mark.parametrize("kind", ["categorical", "text", "label"])
    @pytest.mark.parametrize("dictionary", [False, True])
    @pytest.mark.parametrize("ending", ["parquet", "arrow"])
    def test_text_that_is_not_utf8(self, tmp_path, kind, dictionary, ending):
        array = pa.array([b"good", b"b\xff", b"\xc3", b"\xa9", "é".encode()])
        if dictionary:
            array = array.dictionary_encode()
        path = written(tmp_path, table_of(a=array), ending)
        options = {"label": "a"} if kind == "label" else {kind: ["a"]}
        expected = "a label" if kind == "label" else "text in UTF-8"
        message = f"{path}:2: {expected} is expected in the column 'a', not b'b\\xff'."
        assert message_of(path, **options) == message
        reader = read(path, bad_lines="skip", **options)
        (batch,) = reader
        assert batch.lines.tolist() == [1, 5]

    def test_a_string_column_that_is_not_utf8(self, tmp_path):
        offsets = pa.py_buffer(np.array([0, 1, 2], np.int32))
        array = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff")])
        for ending in ENDINGS:
            path = written(tmp_path, table_of(a=array), ending)
            assert message_of(path).startswith(f"{path}:2: text in UTF-8 is expected")

    def test_long_values_are_cut(self, tmp_path):
        path = written(tmp_path, table_of(a=["1", "x" * 1000]), "arrow")
        assert len(message_of(path, numeric=["a"])) < len(str(path)) + 150


# --- labels and weights ---------------------------------------------------------------------


def predicting(path: Path, **options: Any) -> Reader:
    reader = read(path, **options)
    reader.columns = reader.columns._replace(label_needed=False)
    return reader


def labels_of(reader: Reader) -> list[float]:
    return [label for batch in reader for label in batch.labels.tolist()]


class TestLabels:
    @pytest.mark.parametrize(
        ("array", "expected"),
        [
            (pa.array([1, 0, -1]), [1.0, 0.0, -1.0]),
            (pa.array([True, False]), [1.0, 0.0]),
            (pa.array([0.5, -0.0], pa.float32()), [0.5, -0.0]),
            (pa.array([decimal.Decimal("1.25")]), [1.25]),
        ],
        ids=str,
    )
    def test_that_are_numbers(self, tmp_path, array, expected):
        path = written(tmp_path, table_of(label=array, a=[1] * len(array)), "parquet")
        assert labels_of(read(path)) == expected

    @pytest.mark.parametrize("type", [pa.string(), pa.dictionary(pa.int8(), pa.string())])
    def test_that_are_words(self, tmp_path, type):
        array = pa.array(["no", "yes", "no", "perhaps"], type)
        path = written(tmp_path, table_of(label=array, a=[1] * 4), "arrow")
        for n_rows in (1, 3, 65536):
            with pieces_of(n_rows):
                batches = list(read(path))
            assert [x for batch in batches for x in batch.labels] == [0, 1, 0, 2]
            assert batches[-1].label_names == ("no", "yes", "perhaps")

    def test_that_are_words_of_known_classes(self, tmp_path):
        path = written(tmp_path, table_of(label=["b", "a", "c"], a=[1] * 3), "parquet")
        assert message_of(path, classes=["a", "b"]) == (
            f"{path}:3: one of a, b as the label is expected in the column 'label', not 'c'."
        )
        assert labels_of(read(path, classes=["a", "b"], bad_lines="skip")) == [1, 0]
        found = labels_of(predicting(path, classes=["a", "b"]))
        assert same_bits(np.array(found), [1, 0, math.nan])

    def test_the_first_file_says_what_they_are(self, tmp_path):
        numbers = written(tmp_path, table_of(label=[1, 2], a=[1] * 2), "parquet", name="1")
        words = written(tmp_path, table_of(label=["2", "x"], a=[1] * 2), "parquet", name="2")
        assert labels_of(read(words, numbers)) == [0, 1, 2, 0]
        assert labels_of(read(numbers, words, bad_lines="skip")) == [1, 2, 2]
        with pytest.raises(InputError, match=r"2\.parquet:2: a number as the label is expected"):
            list(read(numbers, words))

    @pytest.mark.parametrize(
        "array",
        [pa.array([None, 1.0, math.nan]), pa.array(["", "x", None]), pa.nulls(3)],
        ids=["numbers", "words", "nothing"],
    )
    def test_that_are_missing(self, tmp_path, array):
        path = written(tmp_path, table_of(label=array, a=[1] * 3), "parquet")
        assert message_of(path).startswith(f"{path}:1: a ")
        reader = read(path, bad_lines="skip")
        assert [line for batch in reader for line in batch.lines] == [2] * (array.null_count < 3)
        found = labels_of(predicting(path))
        assert np.isnan(found).tolist() == [True, array.null_count == 3, True]

    @pytest.mark.parametrize(
        "array", [pa.array([[1.0]]), pa.array([datetime.date(2020, 1, 1)])], ids=str
    )
    def test_of_no_use_do_not_matter_to_a_prediction(self, tmp_path, array):
        path = written(tmp_path, table_of(label=array, a=[1]), "parquet")
        assert np.isnan(labels_of(predicting(path))).all()

    def test_need_not_be_there_for_a_prediction(self, tmp_path):
        path = written(tmp_path, pa.table({"a": [1, 2]}), "parquet")
        assert np.isnan(labels_of(predicting(path, weight="w"))).all()
        assert "no column 'label'" in message_of(path)

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_rows_without_any_column_are_rows(self, tmp_path, ending):
        path = written(tmp_path, pa.table({"a": [1, 2]}), ending)
        assert len(labels_of(predicting(path, ignore=["a"]))) == 2

    def test_of_another_name_or_in_a_struct(self, tmp_path):
        struct = pa.struct([("y", pa.float64()), ("x", pa.string())])
        table = table_of(y=[3.0], s=pa.array([{"y": 4.0, "x": "a"}], struct))
        path = written(tmp_path, table, "parquet")
        (row,), _ = all_of(read(path, label="y"))
        assert (row.label, row.names) == (3.0, ["label", "s.y", "s.x=a"])
        (row,), _ = all_of(read(path, label="s.y"))
        assert (row.label, row.names) == (4.0, ["label", "y", "s.x=a"])

    def test_weights(self, tmp_path):
        table = table_of(w=[0.5, 0.0, 2.0], v=["1", "2", "1e3"], a=[1] * 3)
        path = written(tmp_path, table, "parquet")
        (batch,) = read(path, weight="w", ignore=["v"])
        assert batch.importance.tolist() == [0.5, 0.0, 2.0]
        assert batch.keys.tolist() == [key("a", "")] * 3
        (batch,) = read(path, weight="v")
        assert batch.importance.tolist() == [1.0, 2.0, 1000.0]
        (batch,) = read(path)
        assert batch.importance.tolist() == [1.0] * 3

    @pytest.mark.parametrize("number", [-1.0, None, math.nan, math.inf])
    def test_weights_that_are_none(self, tmp_path, number):
        path = written(tmp_path, table_of(w=[1.0, number]), "arrow")
        assert message_of(path, weight="w") == (
            f"{path}:2: a number >= 0 as the importance is expected in the column 'w', "
            f"not {number}."
        )


# --- names and crosses ----------------------------------------------------------------------


def test_many_names_find_room(tmp_path):
    n = 20_000
    table = table_of(a=[f"value {i}" for i in range(n)], t=[f"w{i} and some" for i in range(n)])
    check(written(tmp_path, table, "parquet"), table, {"t": "text"})


def test_no_names_unless_they_are_wanted(tmp_path):
    (batch,) = read(written(tmp_path, table_of(a=["x"]), "parquet"))
    assert names_of(batch) == {}


def test_crosses(tmp_path):
    table = table_of(a=["x", "y"], b=[2.0, None], c=[["p", "q"], ["r"]], t=["u v", "w"])
    reader = read(
        written(tmp_path, table, "parquet"), cross=[("a", "b"), ("a", "c"), ("b", "t")], text=["t"]
    )
    rows, _ = all_of(reader)
    own = ["a=x", "b", "c=p", "c=q", "t=u", "t=v", "t=u v"]
    assert rows[0].names == [
        *own, "a=x*b", "a=x*c=p", "a=x*c=q", "b*t=u", "b*t=v", "b*t=u v",
    ]  # fmt: skip
    assert rows[0].values == [1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 2, 2, 2]
    assert rows[1].names == ["a=y", "c=r", "t=w", "a=y*c=r"]


def test_the_same_rows_as_text_have_the_same_keys(tmp_path):
    """A namespace of VW text for each column; a number is the value of the name of nothing."""
    table = table_of(a=["x", "é", None], b=["1", "u", "v"], label=[1.0, -1.0, 1.0])
    lines = [
        f"{row['label']} "
        + " ".join(f"|{name} {row[name]}" for name in ("a", "b") if row[name] is not None)
        for row in table.to_pylist()
    ]
    text = tmp_path / "t.vw"
    text.write_text("\n".join(lines), "utf-8")
    (ours,), (theirs,) = read(written(tmp_path, table, "parquet")), read(text)
    assert ours.keys.tolist() == theirs.keys.tolist()
    assert ours.labels.tolist() == theirs.labels.tolist()
    assert ours.indptr.tolist() == theirs.indptr.tolist()


# --- files ----------------------------------------------------------------------------------


class TestFiles:
    @pytest.mark.parametrize("ending", ["parquet", "arrow"])
    def test_are_told_by_how_they_begin(self, tmp_path, ending):
        path = written(tmp_path, table_of(a=["x"]), ending)
        other = path.rename(tmp_path / "data")
        (batch,) = read(other)
        assert batch.keys.tolist() == [key("a", "x")]

    def test_a_name_that_says_otherwise_is_believed(self, tmp_path):
        path = tmp_path / "t.svm"
        path.write_text("PAR1")
        assert "a number as the label" in message_of(path)

    @pytest.mark.parametrize("ending", ["arrow", "arrows", "feather", "ipc"])
    def test_streams_and_files_have_the_same_endings(self, tmp_path, ending):
        path = written(tmp_path, table_of(a=["x"]), "arrows")
        (batch,) = read(path.rename(tmp_path / f"other.{ending}"))
        assert batch.keys.tolist() == [key("a", "x")]

    def test_a_stream_from_standard_input(self, tmp_path, monkeypatch):
        data = written(tmp_path, table_of(a=["x", "y"]), "arrows", 1).read_bytes()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        reader = read("-", format="arrow")
        assert [batch.keys.tolist() for batch in reader] == [[key("a", "x")], [key("a", "y")]]
        with pytest.raises(InputError, match="standard input can be read only once"):
            list(reader)

    @pytest.mark.parametrize(("ending", "format"), [("parquet", "parquet"), ("arrow", "arrow")])
    def test_other_files_from_standard_input(self, tmp_path, monkeypatch, ending, format):
        data = written(tmp_path, table_of(a=["x", "y"]), ending, 1).read_bytes()
        for given_format in (None, format):
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
            message = message_of("-", format=given_format)
            assert message.startswith("-: ")
            assert "standard input" in message or "a pipe" in message

    @pytest.mark.parametrize("ending", ["parquet", "arrow"])
    @pytest.mark.parametrize("name", ["t.{}.gz", "data"])
    def test_compressed_from_outside(self, tmp_path, ending, name):
        data = written(tmp_path, table_of(a=["x", "y"]), ending).read_bytes()
        path = tmp_path / name.format(ending)
        path.write_bytes(gzip.compress(data))
        assert "compressed" in message_of(path)

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_empty_or_missing(self, tmp_path, ending):
        path = tmp_path / f"t.{ending}"
        path.touch()
        assert message_of(path) == f"{path}: the file is empty."
        reader = read(path)
        path.unlink()
        with pytest.raises(InputError, match="No such file"):
            list(reader)

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_something_else(self, tmp_path, ending):
        path = tmp_path / f"t.{ending}"
        path.write_text("1 |a b\n" * 20)
        assert message_of(path).startswith(f"{path}: the file is damaged or of another kind: ")

    def test_missing_lists_of_fixed_size(self, tmp_path):
        table = table_of(a=pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2)))
        path = written(tmp_path, table, "parquet")
        if PYARROW >= 26:
            check(path, table, {})
        else:
            assert message_of(path) == (
                f"{path}: missing lists of fixed size can be read from Parquet by PyArrow 26 and "
                "later: Expected all lists to be of size=2 but index 2 had size=0."
            )

    def test_half_floats_that_are_no_numbers(self, tmp_path):
        path = written(tmp_path, table_of(a=np.array([1.0, math.inf], np.float16)), "arrow")
        assert message_of(path).endswith("is expected in the column 'a', not inf.")

    def test_the_first_version_of_feather(self, tmp_path):
        path = tmp_path / "t.feather"
        path.write_bytes(b"FEA1" + bytes(100))
        assert "version 1 of Feather" in message_of(path)

    def test_rows_that_are_lost(self, tmp_path, monkeypatch):
        """PyArrow gives fewer rows of some damaged files, without a word."""
        path = written(tmp_path, table_of(a=["x"] * 100), "parquet")
        batches = pq.ParquetFile.iter_batches
        monkeypatch.setattr(
            pq.ParquetFile, "iter_batches", lambda *given, **more: [*batches(*given, **more)][:-1]
        )
        assert "there are 100 rows, of which 0 can be read" in message_of(path)

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_cut_off(self, tmp_path, ending):
        table = table_of(a=[f"value {i}" for i in range(200)])
        path = written(tmp_path, table, ending, 50)
        data = path.read_bytes()
        for n in {1, 3, 8, 20, len(data) // 2, len(data) - 20, len(data) - 8, len(data) - 1}:
            path.write_bytes(data[:n])
            if ending != "arrows" or n < len(data) - 8:  # the mark at the end may be missing
                assert message_of(path).startswith(f"{path}: the file is damaged")

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_damaged_files_are_read_or_refused(self, tmp_path, ending):
        """Whatever happens to some bytes, there is no other error, and no crash."""
        rng = random.Random(ending)
        table = table_of(
            a=[f"value {i % 7}" for i in range(60)],
            b=pa.array(["x", "y"] * 30).dictionary_encode(),
            c=[["p"] * (i % 3) for i in range(60)],
            d=[{"e": 1.5, "f": "é"}] * 60,
        )
        data = written(tmp_path, table, ending, 30).read_bytes()
        for n in range(150):
            damaged = bytearray(data)
            for _ in range(rng.choice((1, 1, 5, 30))):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            path = tmp_path / f"{n}.{ending}"
            path.write_bytes(damaged)
            with contextlib.suppress(InputError):
                list(read(path, bad_lines="skip"))


def in_new_process(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_without_pyarrow(tmp_path, monkeypatch):
    path = written(tmp_path, table_of(a=["x"]), "parquet")
    monkeypatch.setitem(sys.modules, "rarefy.readers.formats.arrow", None)
    assert message_of(path) == (
        f"{path}: reading Parquet and Arrow files needs `pip install rarefy[arrow]`."
    )


def test_pyarrow_is_not_imported_for_text(tmp_path):
    path = tmp_path / "t.vw"
    path.write_text("1 |a b\n")
    code = f"import sys, rarefy; list(rarefy.read({str(path)!r})); print('pyarrow' in sys.modules)"
    assert in_new_process(code) == "False"
