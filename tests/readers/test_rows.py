"""Rows in memory (data frames, tables, dicts) mean what the same rows mean in files."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import re
import sys
import warnings
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rarefy
from rarefy import InputError, RarefyWarning, SparseOnlineClassifier
from rarefy.readers.features.value_texts import form_of, written
from tests.selecting import examples

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

from rarefy.readers.formats.arrow_values import as_texts  # noqa: E402


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(model: SparseOnlineClassifier, rows: Any) -> list[float]:
    if isinstance(rows, str):
        rows = rarefy.read(rows)
    return model.decision_function(rows).tolist()


# --- any table, in any of these -------------------------------------------------------------

Table = dict[str, list[Any]]
N_ROWS = 12


def in_words(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def write_csv(table: Table) -> str:
    pandas.DataFrame({name: map(in_words, table[name]) for name in table}).to_csv(
        "rows.csv", index=False
    )
    return "rows.csv"


def write_json(table: Table) -> str:
    lines = [json.dumps(row, default=str) for row in dicts(table)]
    Path("rows.jsonl").write_text("\n".join(lines) + "\n")
    return "rows.jsonl"


def write_json_of_floats(table: Table) -> str:
    """Whole numbers are written as 1.0 where one is missing."""
    found = frame(table)
    lines = [
        json.dumps(row)
        for row in found.astype(object).where(found.notna(), None).to_dict("records")
    ]
    Path("floats.jsonl").write_text("\n".join(lines) + "\n")
    return "floats.jsonl"


def write_parquet(table: Table) -> str:
    arrow(table).to_pandas().to_parquet("rows.parquet", index=False)
    return "rows.parquet"


def arrow(table: Table) -> Any:
    return pa.table(table)


def frame(table: Table) -> pandas.DataFrame:
    """Whole numbers are floats where one is missing."""
    return pandas.DataFrame(table)


def nullable_frame(table: Table) -> pandas.DataFrame:
    return pandas.DataFrame(table).convert_dtypes()


def frame_of_categories(table: Table) -> pandas.DataFrame:
    found = pandas.DataFrame(table)
    return found.astype({name: "category" for name in found if name.startswith("code")})


def frame_of_objects(table: Table) -> pandas.DataFrame:
    return pandas.DataFrame(table, dtype=object)


def mixed_frame(table: Table) -> pandas.DataFrame:
    """Numbers, and numbers as text, in one column."""
    mixed = [str(v) if n % 2 and v is not None else v for n, v in enumerate(table["code"])]
    return pandas.DataFrame({**table, "code": mixed}, dtype=object)


def dicts(table: Table) -> list[dict[str, Any]]:
    rows = zip(*table.values(), strict=True)
    return [dict(zip(table, row, strict=True)) for row in rows]


def sparse_dicts(table: Table) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if value is not None} for row in dicts(table)
    ]


def one_by_one(table: Table) -> list[dict[str, Any]]:
    return dicts(table)[:1]


FILES: list[Callable[[Table], str]] = [write_csv, write_json, write_parquet]
ROWS: list[Callable[[Table], Any]] = [
    arrow, lambda table: arrow(table).combine_chunks().to_batches()[0],
    frame, nullable_frame, frame_of_categories, frame_of_objects, mixed_frame,
    dicts, sparse_dicts, write_json_of_floats,
]  # fmt: skip

WHOLE = st.one_of(st.integers(-20, 20), st.sampled_from((2**53, -(2**53), 10**15)))
NUMBERS = st.one_of(st.floats(-9, 9), st.sampled_from((-0.0, 1.0, 1e-7, 0.1, 5e-324)))
WORDS = st.sampled_from(("a", "b", "é", "x y", "12 monkeys", "no, no", 'a "b"'))
COLUMNS = {
    "code": WHOLE,
    "code2": WHOLE,
    "count": WHOLE,
    "size": NUMBERS,
    "site": WORDS,
    "message": st.sampled_from(("Win a prize", "See you", "See a prize", "12 é")),
    "flag": st.booleans(),
    "day": st.dates(datetime.date(1999, 1, 1), datetime.date(2030, 1, 1)).map(str),
}
KINDS = {
    "categorical": ["code", "code2", "site", "flag", "day"],
    "numeric": ["count", "size"],
    "text": ["message"],
}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Rows of mixed kinds with missing values; none is missing in the first one."""
    table: Table = {"label": [n % 2 for n in range(N_ROWS)]}
    for name, values in COLUMNS.items():
        rest = st.lists(
            st.one_of(values, values, st.none()), min_size=N_ROWS - 1, max_size=N_ROWS - 1
        )
        table[name] = [draw(values), *draw(rest)]
    return table


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(table=tables())
def test_what_learned_from_any_file_scores_all_others_alike(table):
    files = [write(table) for write in FILES]
    for file in files:
        model = rarefy.train(file, cross=[("site", "code")], passes=2, l1=0.0, **KINDS)
        expected = scores(model, file)
        for other in files:
            assert scores(model, other) == expected, (file, other)
        for rows in ROWS:
            if rows is write_json_of_floats and file == "rows.jsonl":
                continue  # there the text counts
            assert scores(model, rows(table)) == expected, (file, rows)
        assert scores(model, dicts(table)[0]) == expected[:1]


# --- how values are written -----------------------------------------------------------------

ZONES = [zoneinfo.ZoneInfo(name) for name in ("UTC", "Etc/UTC", "Asia/Kolkata", "America/New_York")]
VALUES = st.one_of(
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.floats(width=16).map(np.float16),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text(st.characters(codec="utf-8")),
    st.dates(),
    st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)),
    st.datetimes().map(lambda moment: moment.replace(microsecond=0)),
    st.datetimes(
        datetime.datetime(1970, 1, 2),
        datetime.datetime(2037, 1, 1),
        timezones=st.sampled_from(ZONES),
        allow_imaginary=False,
    ),
    st.times(),
    st.decimals(-9999, 9999, places=2),
)
FORMS = (
    None,
    "True",
    "TRUE",
    "1.0",
    "0000-00-00",
    "0000-00-00 00:00:00",
    "0000-00-00T00:00:00.000",
    "0000-00-00 00:00:00+00:00",
    "0000-00-00T00:00:00.000Z",
    "0000-00-00 00:00:00.000000+0000",
)


@settings(max_examples=examples(600), deadline=None)
@given(value=VALUES, form=st.sampled_from(FORMS))
def test_a_value_is_written_as_in_a_column(value, form):
    if isinstance(value, float) and not math.isfinite(value):
        form = None
    texts, _ = as_texts(pa.array([value]), form)
    assert texts.data[: texts.ends[0]][texts.begins[0] :].tobytes().decode() == written(value, form)


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ("True False", "True"),
        ("TRUE", "TRUE"),
        ("true false", None),
        ("True x", None),
        ("1.0 2.5 1e-07", "1.0"),
        ("1 2", None),
        ("1.0 2", None),
        ("1.5 2.5", None),
        ("2024-01-31", "0000-00-00"),
        ("2024-01-31T10:20:30 1999-01-01T00:00:00", "0000-00-00T00:00:00"),
        ("2024-01-31 1999-01-01T00:00:00", None),
        ("2024-01-31T10:20:30+02:00 1999-01-01T00:00:00-05:30", "0000-00-00T00:00:00+00:00"),
        ("2024-01-31T10:20:30.000Z", "0000-00-00T00:00:00.000Z"),
        ("2024-01-31T10:20:30-0500", "0000-00-00T00:00:00+0000"),
        ("2024-01-31T10:20:30Z 2024-01-31T10:20:30+00:00", None),
        ("2024-01-31+01:00", None),
        ("", None),
    ],
)
def test_forms(values, form):
    assert form_of([value.encode() for value in values.split(" ")]) == form


def learned_from_csv(table: pandas.DataFrame, **options: Any) -> SparseOnlineClassifier:
    table.to_csv("data.csv", index=False)
    return rarefy.train("data.csv", l1=0.0, **options)


N = 60
NUMBER = np.arange(N)
LABEL = (NUMBER % 3 > 0).astype(int)


@pytest.mark.parametrize(
    "column",
    [
        pandas.Series(NUMBER % 3 > 0),
        pandas.Series([None if n % 5 == 0 else n % 3 for n in range(N)], dtype=float),
        pandas.Series([None if n % 5 == 0 else n % 3 for n in range(N)], dtype="Int64"),
        pandas.Series([None if n % 5 == 0 else n % 3 > 1 for n in range(N)], dtype="boolean"),
        pandas.Series(pandas.to_datetime("2024-01-31") + pandas.to_timedelta(NUMBER % 3, "D")),
        pandas.Series(pandas.to_datetime("2024-01-31") + pandas.to_timedelta(NUMBER % 3, "h")),
        pandas.Series(pandas.to_datetime("2024-01-31") + pandas.to_timedelta(NUMBER % 3, "ms")),
        pandas.Series(pandas.date_range("2024-01-31", periods=N, freq="8h", tz="Europe/Berlin")),
        pandas.Series(pandas.date_range("2024-01-31", periods=N, freq="8h", tz="UTC")),
        pandas.Series([datetime.date(2024, 1, 1 + n % 3) for n in range(N)]),
        pandas.Series([decimal.Decimal(n % 3).quantize(decimal.Decimal("0.01")) for n in range(N)]),
        pandas.Series([n % 3 + 2**60 for n in range(N)]),
        pandas.Series([0.5 * (n % 3) for n in range(N)]),
        pandas.Series(["abc"[n % 3] for n in range(N)], dtype="category"),
    ],
    ids=lambda column: f"{column.dtype} {column[1]}",
)
def test_what_pandas_writes_to_csv(column):
    """The form is that of the file: True, 1.0, 2024-01-31."""
    rows = pandas.DataFrame({"label": LABEL, "x": column})
    model = learned_from_csv(rows, categorical=["x"])
    assert any(name.startswith("x=") for name in model.weights_)
    expected = scores(model, "data.csv")
    assert len(set(expected)) > 1
    rows.to_parquet("rows.parquet")
    dicts = [nan_as_none(row) for row in rows.to_dict("records")]
    for other in (rows, rows[["x"]], "rows.parquet", dicts, arrow(rows[["x"]])):
        assert scores(model, other) == expected


def test_whole_numbers_that_became_floats():
    """Pandas makes floats of a column with a missing value; the model has learned site=1."""
    rows = pandas.DataFrame({"label": LABEL, "site": NUMBER % 3})
    model = learned_from_csv(rows, categorical=["site"])
    assert "site=1" in model.weights_
    with_missing = rows.site.astype(float).where(NUMBER > 0)
    found = scores(model, pandas.DataFrame({"site": with_missing}))
    assert found[1:] == scores(model, "data.csv")[1:]
    assert found[0] == scores(model, {})[0]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "Etc/UTC", "-03:30"])
def test_moments_with_a_zone(zone):
    """In Parquet, in frames and in dicts they are the same."""
    moments = pandas.Series(pandas.date_range("2024-03-30", periods=N, freq="8h", tz=zone))
    rows = pandas.DataFrame({"label": LABEL, "x": moments})
    rows.to_parquet("data.parquet")
    model = rarefy.train("data.parquet", categorical=["x"], l1=0.0)
    expected = scores(model, "data.parquet")
    assert len(set(expected)) > 2
    mixed = rows.assign(x=[*rows.x[:-1].astype(object), "?"])
    for other in (rows[["x"]], rows.to_dict("records"), arrow(rows), arrow(rows).to_pylist()):
        assert scores(model, other) == expected
    assert scores(model, mixed)[:-1] == expected[:-1]


def test_moments_in_utc_are_the_same_in_any_zone():
    utc = pandas.Series(pandas.date_range("2024-01-31", periods=N, freq="8h", tz="UTC"))
    texts = utc.dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    model = learned_from_csv(pandas.DataFrame({"label": LABEL, "x": texts}), categorical=["x"])
    rows = pandas.DataFrame({"x": utc.dt.tz_convert("Asia/Tokyo")})
    for other in (rows, rows.to_dict("records")):
        assert scores(model, other) == scores(model, "data.csv")


def test_small_floats():
    """Their text is short, in a frame that Arrow cannot take, too."""
    rows = pandas.DataFrame({"label": LABEL, "x": np.float32(0.1) * (NUMBER % 3 > 0), "y": "a"})
    rows["x"] = rows.x.astype("float32")
    model = learned_from_csv(rows, categorical=["x", "y"])
    for other in (rows, arrow(rows)):
        assert scores(model, other) == scores(model, "data.csv")
    mixed = rows.assign(y=[1, *rows.y[1:]])
    assert scores(model, mixed)[1:] == scores(model, "data.csv")[1:]


def test_moments_in_other_units():
    moments = pandas.to_datetime("2024-01-31") + pandas.to_timedelta(NUMBER % 3, "s")
    table = pa.table({"label": LABEL, "x": moments.to_numpy().astype("datetime64[ns]")})
    pa.parquet.write_table(table, "data.parquet")
    model = rarefy.train("data.parquet", categorical=["x"], l1=0.0)
    expected = scores(model, "data.parquet")
    assert len(set(expected)) == 3
    for unit in ("s", "ms", "us"):
        other = table.set_column(1, "x", table["x"].cast(pa.timestamp(unit)))
        assert scores(model, other) == expected
    assert scores(model, table.to_pylist()) == expected


def nan_as_none(row: dict[str, Any]) -> dict[str, Any]:
    """A row of pandas as a dict that means the same: NaN is a missing value in frames alone."""
    is_nan = {name: isinstance(x, float | np.floating) and x != x for name, x in row.items()}  # noqa: PLR0124
    return {name: None if is_nan[name] else x for name, x in row.items()}


@pytest.mark.parametrize("missing", [None, math.nan, pandas.NA, pandas.NaT, ""])
def test_what_is_missing(missing):
    rows = pandas.DataFrame({"label": LABEL, "x": NUMBER % 3, "y": "a"})
    model = learned_from_csv(rows, categorical=["y"])
    expected = scores(model, {"y": "a"})
    assert scores(model, nan_as_none({"x": missing, "y": "a"})) == expected
    assert scores(model, pandas.DataFrame({"x": [missing], "y": "a"}, dtype=object)) == expected


def learned_from_texts(texts: list[Any]) -> SparseOnlineClassifier:
    """Each of the texts, in the column x, has a weight of its own."""
    rows = {"label": np.arange(len(texts)) % 2, "y": 0.5, "x": texts}
    pandas.DataFrame(rows).to_csv("texts.csv", index=False)
    return rarefy.train("texts.csv", l1=0.0, passes=2, categorical=["x"])


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([np.datetime64("NaT"), np.int64(3)], [None, "3"]),  # PyArrow would end the process
        ([np.datetime64("NaT", "ns"), True, pandas.NA], [None, "true", None]),
        ([2.5, False], ["2.5", "false"]),
        ([np.float64(2.5), np.bool_(True)], ["2.5", "true"]),
        ([0, decimal.Decimal("-0.001")], ["0", "-0.001"]),
        ([decimal.Decimal("1.5"), decimal.Decimal("0.25")], ["1.5", "0.25"]),
        ([decimal.Decimal("1E-8"), decimal.Decimal("1E+3")], ["1E-8", "1000"]),
        ([2**70, 1.0, "1.0"], [str(2**70), "1", "1.0"]),
        ([np.float32(0.1), 0.1, np.float32(0.1).item()], ["0.1", "0.1", "0.10000000149011612"]),
        ([datetime.date(2024, 1, 31), "?"], ["2024-01-31", "?"]),
        (
            [np.datetime64("2024-01-31"), np.datetime64("2024"), 1],
            ["2024-01-31", "2024-01-01", "1"],
        ),
        ([np.datetime64("2024-01-31T10"), 1], ["2024-01-31 10:00:00", "1"]),
        ([np.datetime64("2024-01-31", "ns"), 1], ["2024-01-31 00:00:00.000000000", "1"]),
        ([pandas.Timestamp("2024-01-31").as_unit("s"), 1], ["2024-01-31 00:00:00", "1"]),
        ([b"a", "b"], ["a", "b"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [object, "category"])
def test_objects_in_a_frame_are_what_they_are_in_dicts(values, texts, dtype):
    decoys = ["0.000", "0.0", "1.50", "True", "2", "2024-01-31 00:00:00.000000", "0.001"]
    model = learned_from_texts([*filter(None, texts), *decoys])
    expected = scores(model, [{"x": text, "y": 1} for text in texts])
    column = pandas.Series(values, dtype=object)
    if dtype != "category" or column.dropna().is_unique:
        found = pandas.DataFrame({"x": column.astype(dtype), "y": np.ones(len(values), "float32")})
        assert scores(model, found) == expected
    assert scores(model, [{"x": value, "y": 1} for value in values]) == expected


@pytest.mark.parametrize("dtype", ["float32", "float16", "Float32", "category", "float32[pyarrow]"])
def test_small_floats_beside_objects(dtype):
    """They keep their 32 bits, whatever is in another column."""
    small = np.array([0.1, 0.2], "float16" if dtype == "float16" else "float32")
    texts = [str(np.float32(value)) for value in small]
    model = learned_from_texts([*texts, *map(float, small), "0.3"])
    rows = pandas.DataFrame({"x": pandas.Series(small).astype(dtype), "y": [1, 2]})
    mixed = rows.assign(y=pandas.Series([1, "2"], dtype=object))
    expected = scores(model, [{"x": text, "y": n} for n, text in enumerate(texts, start=1)])
    assert scores(model, rows) == scores(model, mixed) == expected


def test_a_field_of_a_struct_that_is_ignored():
    """Naming a field says more than ignoring all that is around it."""
    rows = [{"label": n, "x": {"y": 2.0 + n, "z": "q"}} for n in (0, 1)]
    pa.parquet.write_table(pa.Table.from_pylist(rows), "rows.parquet")
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = []
    for file in ("rows.parquet", "rows.jsonl"):
        model = rarefy.train(file, ignore=["x"], numeric=["x.y"], l1=0.0)
        assert list(model.weights_) == ["x.y"]
        found += [scores(model, of) for of in (rows, pandas.DataFrame(rows), "rows.jsonl")]
        found.append(scores(model, "rows.parquet"))
    assert all(values == found[0] for values in found)


def test_a_column_that_another_one_could_hold():
    """A column that was learned from is no dict in which others are."""
    Path("rows.csv").write_text("label,x,x.y\n1,a,b\n0,c,d\n")
    model = rarefy.train("rows.csv")
    with pytest.raises(InputError, match=r"no column 'x\.y'"):
        scores(model, pandas.DataFrame({"x": ["a", 1]}, dtype=object))


def test_sparse_columns_of_pandas():
    model = learned_from_texts(["0", "2.5", "3"])
    dense = pandas.DataFrame({"x": [0.0, 2.5, 3.0], "y": [1.0, 0.0, 2.0]})
    sparse = dense.astype(pandas.SparseDtype(float, 0.0))
    assert scores(model, sparse) == scores(model, dense)


MOMENTS = st.datetimes(datetime.datetime(1970, 1, 2), datetime.datetime(2037, 1, 1))
NUMBER_COLUMNS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    *(
        (dtype, st.floats(-9, 9, width=32))
        for dtype in ("float64", "float32", "Float64", "Float32")
    ),
    ("float16", st.floats(-9, 9, width=16)),
    *((dtype, st.integers(-128, 127)) for dtype in ("int8", "Int8", "int8[pyarrow]")),
    *((dtype, st.integers(-(2**63), 2**63 - 1)) for dtype in ("int64", "Int64")),
    ("uint64", st.integers(0, 2**64 - 1)),
    *((dtype, st.booleans()) for dtype in ("bool", "boolean", "bool[pyarrow]")),
    (pandas.ArrowDtype(pa.decimal128(20, 9)), st.decimals(-9, 9, places=9)),
]
ALL_COLUMNS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    *NUMBER_COLUMNS,
    *((dtype, st.sampled_from(("a", "é", "", "1", "1.0"))) for dtype in ("str", "string")),
    *((f"datetime64[{unit}]", MOMENTS) for unit in ("s", "ms", "us", "ns", "ns, Asia/Tokyo")),
    ("timestamp[ms][pyarrow]", MOMENTS.map(lambda moment: moment.replace(microsecond=5000))),
    ("date32[day][pyarrow]", st.dates()),
]
MISSING = st.sampled_from(
    [None, math.nan, np.float32("nan"), pandas.NA, pandas.NaT, np.datetime64("NaT")]
)
DECIMALS = st.decimals(-9, 9, places=2) | st.decimals(-1, 1, places=9)
PYTHON_OBJECTS = st.one_of(st.booleans(), st.integers(), st.floats(-9, 9), DECIMALS)


@st.composite
def typed_columns(draw: st.DrawFn, n: int, of: list[Any]) -> pandas.Series[Any]:
    """A column of one type, or of categories of one."""
    dtype, values = draw(st.sampled_from(of))
    column = pandas.Series(draw(st.lists(values, min_size=n, max_size=n)), dtype=dtype)
    if draw(st.booleans()):
        column = column.where(np.arange(n) % 3 > 0)
    can_be_categories = dtype != "float16" and column.dtype != object
    return column.astype("category") if can_be_categories and draw(st.booleans()) else column


@st.composite
def columns(draw: st.DrawFn, n: int, of: list[Any]) -> pandas.Series[Any]:
    """A column of one type, or one of objects of several."""
    if draw(st.booleans()):
        return draw(typed_columns(n, of))
    parts = [draw(typed_columns(n, of)) for _ in range(2)]
    others = draw(st.lists(PYTHON_OBJECTS | MISSING, min_size=n, max_size=n))
    objects = [
        draw(st.sampled_from([*(part.iloc[i] for part in parts), others[i]])) for i in range(n)
    ]
    return pandas.Series(objects, dtype=object)


@st.composite
def frames(draw: st.DrawFn) -> pandas.DataFrame:
    n = draw(st.integers(1, 4))
    kinds = {"a": ALL_COLUMNS, "b": ALL_COLUMNS, "n": NUMBER_COLUMNS, "n2": NUMBER_COLUMNS}
    return pandas.DataFrame({name: draw(columns(n, of)) for name, of in kinds.items()})


@pytest.fixture(scope="module")
def hashed_models(tmp_path_factory) -> list[SparseOnlineClassifier]:
    """All texts have weights, some shared; the forms are the usual one and others."""
    path = tmp_path_factory.mktemp("hashed") / "data.csv"
    models = []
    for a in ("{}", "{}.0", "2024-01-31 10:20:30.{:06d}"):
        rows = [f"{n % 2},{a.format(n)},{n},{n / 7},{n}\n" for n in range(4000)]
        path.write_text("label,a,b,n,n2\n" + "".join(rows))
        kinds = {"categorical": ["a", "b"], "numeric": ["n", "n2"]}
        models.append(rarefy.train(path, l1=0.0, store="hashed", bits=9, **kinds))
    return models


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(frame=frames(), number=st.integers(0, 2))
def test_a_frame_means_what_its_values_mean_in_dicts(hashed_models, frame, number):
    model = hashed_models[number]
    rows = [{name: frame[name].iloc[n] for name in frame} for n in range(len(frame))]
    assert scores(model, frame) == scores(model, [nan_as_none(row) for row in rows])


def test_categories_keep_their_time_zone(hashed_models):
    moments = pandas.to_datetime(["2000-01-01", "2000-01-02"]).tz_localize("Asia/Tokyo")
    frame = pandas.DataFrame({"a": pandas.Categorical(moments), "b": "b", "n": 0.0, "n2": 0.0})
    dicts = [{"a": moment, "b": "b", "n": 0.0, "n2": 0.0} for moment in moments]
    assert scores(hashed_models[0], frame) == scores(hashed_models[0], dicts)


# --- columns --------------------------------------------------------------------------------

MAIL = pandas.DataFrame(
    {"label": LABEL, "id": NUMBER, "color": np.array(["red", "blue"])[LABEL], "size": NUMBER / 8.0}
)
ROW = {"color": "red", "size": 0.5}


def learned_from(file: str, **options: Any) -> SparseOnlineClassifier:
    MAIL.to_csv("mail.csv", index=False)
    MAIL.to_parquet("mail.parquet")
    MAIL.to_json("mail.jsonl", orient="records", lines=True)
    return rarefy.train(file, l1=0.0, ignore=["id"], **options)


@pytest.mark.parametrize("file", ["mail.csv", "mail.parquet"])
class TestColumns:
    def test_label_and_ignored_ones_may_be_there(self, file):
        model = learned_from(file)
        expected = scores(model, file)
        assert scores(model, MAIL) == scores(model, MAIL[["color", "size"]]) == expected
        assert scores(model, MAIL.to_dict("records")) == expected
        MAIL[["color", "size"]].to_parquet("new.parquet")
        MAIL[["color", "size"]].to_csv("new.csv", index=False)
        assert scores(model, "new.parquet") == scores(model, "new.csv") == expected

    def test_of_another_name(self, file):
        model = learned_from(file)
        rows = pandas.DataFrame([{"colour": "red", "size": 0.5}])
        rows.to_parquet("new.parquet")
        rows.to_csv("new.csv", index=False)
        for other in (rows, pa.table(rows), "new.parquet", "new.csv"):
            with pytest.raises(InputError, match=r"no column 'color' .*is it 'colour'\?"):
                scores(model, other)

    def test_that_are_missing(self, file):
        model = learned_from(file)
        rows = pandas.DataFrame([{"color": "red"}])
        mixed = pandas.DataFrame({"color": ["red", 1]})
        rows.to_parquet("new.parquet")
        rows.to_csv("new.csv", index=False)
        for other in (rows, mixed, pa.table(rows), "new.parquet", "new.csv"):
            with pytest.raises(InputError, match="no column 'size'"):
                scores(model, other)

    def test_a_dict_may_lack_some(self, file):
        model = learned_from(file)
        Path("new.jsonl").write_text('{"color": "red"}\n')
        expected = scores(model, [{"color": "red", "size": None}])
        assert scores(model, {"color": "red"}) == scores(model, "new.jsonl") == expected

    def test_that_were_not_there(self, file):
        model = learned_from(file)
        rows = pandas.DataFrame([{**ROW, "colour": "red"}])
        mixed = pandas.DataFrame([{**ROW, "colour": "red"}, {**ROW, "colour": 1}])
        rows.to_parquet("new.parquet")
        rows.to_csv("new.csv", index=False)
        rows.to_json("new.jsonl", orient="records", lines=True)
        records = rows.to_dict("records")
        expected = scores(model, ROW)
        for other in (rows, mixed, records, records[0], "new.parquet", "new.csv", "new.jsonl"):
            message = r"new columns are ignored: 'colour' \(is it 'color'"
            with pytest.warns(RarefyWarning, match=message):
                found = scores(model, other)
            assert found[:1] == expected
        for path in ("new.parquet", "new.csv", "new.jsonl"):
            with warnings.catch_warnings(action="error"):
                assert scores(model, rarefy.read(path, ignore=["colour"])) == expected


def test_json_lines_have_no_fixed_columns():
    """Who learned from them takes any; what a value means, it says itself."""
    model = learned_from("mail.jsonl")
    expected = scores(model, "mail.jsonl")
    rows = MAIL[["color", "size"]]
    assert scores(model, rows) == scores(model, rows.to_dict("records")) == expected
    assert scores(model, {**ROW, "more": 1}) == scores(model, ROW)
    mixed = pandas.DataFrame({"color": ["red", 3, None]})
    Path("mixed.jsonl").write_text('{"color": "red"}\n{"color": 3}\n{}\n')
    assert scores(model, mixed) == scores(model, "mixed.jsonl")


def test_a_column_that_is_empty_in_the_first_file_is_not_settled():
    for name, values in (("1", [None, None]), ("2", ["a", "b"])):
        pa.parquet.write_table(pa.table({"label": [0, 1], "x": values}), f"{name}.parquet")
    model = rarefy.train("1.parquet", "2.parquet", l1=0.0)
    assert set(model.weights_) == {"x=a", "x=b"}
    assert scores(model, {"x": "a"}) == scores(model, pandas.DataFrame({"x": ["a"]}))


def test_lists_and_structs():
    rows = [
        {"label": n % 2, "tags": [f"t{n % 4}", "all"], "v": [0.5, n], "user": {"age": n, "at": "x"}}
        for n in range(20)
    ]
    pa.parquet.write_table(pa.Table.from_pylist(rows), "rows.parquet")
    model = rarefy.train("rows.parquet", l1=0.0)
    assert {"tags=t1", "v=1", "user.age"} < set(model.weights_)
    expected = scores(model, "rows.parquet")
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert scores(model, rows) == scores(model, pandas.DataFrame(rows)) == expected
    assert scores(model, "rows.jsonl") == expected
    with pytest.warns(
        RarefyWarning, match=r"new columns are ignored: 'user.agee' \(is it 'user.age'"
    ):
        scores(model, {"user": {"agee": 3}})


# --- what can be given ----------------------------------------------------------------------


def test_all_that_predicts_takes_them():
    model = learned_from("mail.csv")
    reader = rarefy.read("mail.csv")
    for act in (model.predict, model.predict_proba, model.decision_function):
        expected = act(reader).tolist()
        assert act(MAIL).tolist() == act(MAIL.to_dict("records")).tolist() == expected
        assert act(MAIL.to_dict("records")[0]).tolist() == expected[:1]
    assert model.score(MAIL, LABEL) == model.score(reader, LABEL)
    size = rarefy.train("mail.csv", label="size", loss="squared", ignore=["id", "label"])
    assert size.predict(MAIL).tolist() == size.predict(rarefy.read("mail.csv")).tolist()


class Stream:
    """All that a frame of another library shows."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    def __init__(self, table: Any) -> None:
        self._table = table

    def __dataframe__(self, **options: Any) -> Any:
        return self._table.__dataframe__(**options)


@pytest.mark.parametrize("wrapped", [Stream, Interchange])
def test_frames_of_other_libraries(wrapped):
    model = learned_from("mail.csv")
    assert scores(model, wrapped(pa.table(MAIL))) == scores(model, "mail.csv")


def test_polars():
    polars = pytest.importorskip("polars")
    model = learned_from("mail.csv")
    assert scores(model, polars.DataFrame(MAIL.to_dict("list"))) == scores(model, "mail.csv")


def test_an_index_is_no_column():
    model = learned_from("mail.csv")
    assert scores(model, MAIL.set_index("id")) == scores(model, "mail.csv")
    assert scores(model, MAIL.sort_values("size", ascending=False))[::-1] == scores(model, MAIL)


def test_without_pyarrow(monkeypatch):
    model = learned_from("mail.csv")
    expected, table = scores(model, "mail.csv"), pa.table(MAIL)
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert scores(model, MAIL) == scores(model, MAIL.to_dict("records")) == expected
    with pytest.raises(InputError, match=re.escape("pip install rarefy[arrow]")):
        scores(model, table)


def test_more_rows_than_a_block_holds(monkeypatch):
    monkeypatch.setattr("rarefy.readers.in_memory.BLOCK_BYTES", 500)
    model = learned_from("mail.csv")
    rows = MAIL.to_dict("records") * 2
    assert scores(model, rows) == scores(model, pandas.DataFrame(rows))
    with pytest.raises(InputError, match=r"rows:119:.* 'size', not inf"):
        model.predict([*rows[:-2], {"size": math.inf}, rows[-1]])
    with pytest.raises(InputError, match=r"rows:119: .* 'size', not inf"):
        model.predict(pandas.DataFrame([*rows[:-2], {**rows[0], "size": math.inf}]))


@pytest.mark.parametrize("bad", [object(), {1, 2}, 3j, datetime.time(tzinfo=datetime.UTC), b"\xff"])
def test_values_of_no_use(bad):
    model = learned_from("mail.csv")
    for row in ({"color": bad}, {"size": bad}):
        with pytest.raises(InputError, match=r"rows:1: .* is expected in the column"):
            scores(model, row)


def test_two_columns_of_one_name():
    model = learned_from("mail.csv")
    with pytest.raises(InputError, match="two columns of the name 'size'"):
        scores(model, pandas.DataFrame([[1, 2, "red"]], columns=["size", "size", "color"]))


def test_what_learned_without_names_takes_none():
    Path("data.svm").write_text("1 1:1\n-1 2:1\n" * 5)
    model = rarefy.train("data.svm")
    for rows in (MAIL, ROW, [ROW], pa.table(MAIL)):
        with pytest.raises(InputError, match="named columns"):
            scores(model, rows)
