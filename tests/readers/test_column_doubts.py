"""Columns that were taken for something that they do not look like."""

from __future__ import annotations

import json
import re
import warnings

import pytest

from rarefy import InputError, RarefyWarning, read
from rarefy.readers.features.column_doubts import doubt

TEXTS = [f"see you at {n} for lunch" for n in range(30)]
IDS = [f"a{n:06}" for n in range(30)]


@pytest.mark.parametrize(
    ("name", "kind", "values", "said"),
    [
        ("m", "categorical", TEXTS, "looks like running text"),
        ("m", "categorical", TEXTS[:19], ""),
        ("m", "categorical", ["see you at noon"] * 30, ""),
        ("m", "categorical", IDS, "looks like ids: 30 of the first 30"),
        ("m", "categorical", IDS[:15] * 2, ""),
        ("m", "categorical", ["NA", *map(str, range(30))], "because of values such as 'NA'"),
        ("m", "categorical", ["NA", "?", *map(str, range(5))] * 5, "Leave missing numbers empty"),
        ("m", "categorical", [*"abcdefghijk", *map(str, range(15))] * 2, ""),
        ("m", "categorical", [f"2024-{n % 9 + 1:02}-05" for n in range(30)], "looks like dates"),
        ("m", "categorical", [f"{n % 9 + 1}/5/2024 12:30" for n in range(30)], "looks like dates"),
        ("m", "categorical", [f"{n % 9},{n % 5}" for n in range(30)], "looks like numbers, as in"),
        ("m", "categorical", [f"${n % 9 + 1},000.5" for n in range(30)], "write numbers as in"),
        ("m", "categorical", [f"{n % 9} %" for n in range(30)], "looks like numbers, as in"),
        ("zip code", "categorical", IDS, "Use --ignore 'zip code' (ignore=['zip code'])"),
        ("m", "numeric", [str(n) for n in range(30)], "looks like ids or row numbers"),
        ("m", "numeric", [str(n % 29) for n in range(30)], ""),
        ("m", "numeric", [str(n * 7 % 31) for n in range(30)], ""),
        ("user_id", "numeric", [str(n * 7 % 31) for n in range(30)], "looks like ids or row"),
        ("userId", "numeric", [str(n % 3) for n in range(30)], "one feature per id"),
        ("grid", "numeric", [str(n % 3) for n in range(30)], ""),
        ("user_id", "numeric", [f"{n}.5" for n in range(30)], ""),
    ],
)
def test_what_a_column_looks_like(name, kind, values, said):
    found = doubt(name, kind, values)
    assert said in found
    assert bool(found) == bool(said)


@pytest.fixture(params=["csv", "jsonl", "parquet"])
def messages(request, tmp_path):
    """A file with a column of running text, in each of the formats with columns."""
    path = tmp_path / f"mail.{request.param}"
    if request.param == "csv":
        path.write_text("label,m\n" + "".join(f"{n % 2},{text}\n" for n, text in enumerate(TEXTS)))
    elif request.param == "jsonl":
        rows = ({"label": n % 2, "m": text} for n, text in enumerate(TEXTS))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        labels = [n % 2 for n in range(len(TEXTS))]
        parquet.write_table(pa.table({"label": labels, "m": TEXTS}), path)
    return path


def test_a_warning_says_what_to_do(messages):
    with pytest.warns(RarefyWarning, match=r"'m' looks like running text, .*Use --text m"):
        list(read(messages))


@pytest.mark.parametrize("kind", ["text", "categorical", "ignore"])
def test_what_is_said_is_not_doubted(messages, kind):
    with warnings.catch_warnings(action="error"):
        list(read(messages, **{kind: ["m"]}))


def test_roles(messages):
    reader = read(messages, text=["m"])
    assert reader.roles == {}
    list(reader)
    assert reader.roles == {"label": "label", "m": "text"}


def test_a_glob_stands_for_the_columns_that_it_matches(messages):
    reader = read(messages, text=["[mn]*"])
    list(reader)
    assert reader.columns.text == ("m",)


def test_what_is_said_by_name_holds_against_a_glob(messages):
    with warnings.catch_warnings(action="ignore"):
        reader = read(messages, ignore=["*"], categorical=["m"])
        list(reader)
    assert reader.roles == {"label": "label", "m": "categorical"}


@pytest.mark.parametrize("kind", ["text", "categorical", "numeric", "ignore"])
@pytest.mark.parametrize("name", ["mm", "x*"])
def test_a_name_of_nothing_is_refused(messages, kind, name):
    """But members of JSON lines may be absent, and come later."""
    message = re.escape(f"there is no column '{name}' ({kind})")
    if messages.suffix == ".jsonl":
        with pytest.warns(RarefyWarning, match=message):
            list(read(messages, **{kind: [name]}))
    else:
        with pytest.raises(InputError, match=message):
            list(read(messages, **{kind: [name]}))


def test_a_cross_of_nothing_is_refused(messages):
    with pytest.raises(InputError, match=r"cross='m,mm' \(--cross\)"):
        list(read(messages, text=["m"], cross=["m,mm"]))


@pytest.mark.parametrize("how", [{"cross": ["alpha,betta"]}, {"ignore": ["betta"]}], ids=str)
def test_a_namespace_that_may_have_been_meant(tmp_path, how):
    path = tmp_path / "rows.vw"
    path.write_text("1 |alpha:2 x |beta y:3\n-1 | z |beta y\n")
    message = r"'betta' \(is it 'beta'\?\) in the first 2 rows; the namespaces are alpha, beta\."
    with pytest.raises(InputError, match=message):
        list(read(path, **how))


def test_crosses_of_globs(messages):
    reader = read(messages, text=["m"], cross=["[m]*,m"])
    list(reader)
    assert reader.cross == (("m", "m"),)


def test_a_namespace_may_still_come(tmp_path, monkeypatch):
    one, more = tmp_path / "1.vw", tmp_path / "2.vw"
    one.write_text("1 |a x\n")
    more.write_text("1 |a x |b y\n")
    with pytest.raises(InputError, match=r"no feature of 'b' in the first 1 rows; .* are a\."):
        list(read(one, cross=["a,b"]))
    with pytest.warns(RarefyWarning, match="there is no feature of 'b'"):
        assert sum(len(batch.keys) for batch in read(one, more, cross=["a,b"])) == 4


@pytest.mark.parametrize("name", ["data.vw", "data.svm"])
def test_formats_without_columns(tmp_path, name):
    path = tmp_path / name
    path.write_text("1 |a x\n" if name.endswith("vw") else "1 1:1\n")
    with pytest.raises(InputError, match=r"columns: text=\[\.\.\.\] \(--text\) does not apply"):
        list(read(path, text=["a"]))
