"""Crosses of everything, of three, and of nothing; namespaces that are ignored; tags."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from rarefy import ConfigError, InputError, read
from rarefy.readers.feature_names import texts_by_key

ROW = "1 |a p q |c s |b r:2 |c t:3\n"
FEATURES = {"a=p": 1.0, "a=q": 1.0, "c=s": 1.0, "b=r": 2.0, "c=t": 3.0}


def crossed(tmp_path, *cross: str, **options) -> list[tuple[str, float]]:
    """The names and values of the crosses of a row."""
    path = tmp_path / "row.vw"
    path.write_text(ROW)
    reader = read(path, cross=cross, **options)
    reader.names_wanted = True
    (batch,) = reader
    names = texts_by_key(batch.names, batch.keys.tolist())
    found = zip((names[key] for key in batch.keys.tolist()), batch.values.tolist(), strict=True)
    return [(name, value) for name, value in found if name not in FEATURES]


def expected(cross: str) -> set[frozenset[str]]:
    """All sets of features that can be one of each name, from the description alone."""
    of = [
        [name for name in FEATURES if wanted in ("*", name.split("=")[0])]
        for wanted in cross.split(",")
    ]
    return {frozenset(names) for names in product(*of) if len(set(names)) == len(names)}


def _sets(found: list[tuple[str, float]]) -> set[frozenset[str]]:
    return {frozenset(name.split("*")) for name, _ in found}


@pytest.mark.parametrize(
    "cross",
    [
        "a,b",
        "a,a",
        "b,b",
        "*,*",
        "a,*",
        "*,c",
        "a,b,c",
        "a,a,c",
        "c,a,c",
        "*,*,*",
        "a,*,c",
        "*,a,a",
        "*,c,*",
        "*,*,c",
        "c,*,*",
    ],
)
def test_each_cross_is_there_once(tmp_path, cross):
    found = crossed(tmp_path, cross)
    assert len({name for name, _ in found}) == len(found)
    assert len(_sets(found)) == len(found)
    assert _sets(found) == expected(cross)
    for name, value in found:
        product_of_values = 1.0
        for part in name.split("*"):
            product_of_values *= FEATURES[part]
        assert value == product_of_values


def test_all_pairs_are_those_of_all_namespaces(tmp_path):
    apart = crossed(tmp_path, "a,a", "a,b", "a,c", "b,b", "b,c", "c,c")
    assert _sets(crossed(tmp_path, "*,*")) == _sets(apart)
    assert len(apart) == len(list(combinations(FEATURES, 2)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.vw", ROW),
        ("r.csv", "label,a,b,c\n1,p,2,s\n"),
        ("r.json", '{"label":1,"a":"p","b":2,"c":3}'),
    ],
)
def test_the_order_of_names_makes_no_other_cross(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    (once,) = read(path, cross=["a,b", "a,c,b", "*,a"])
    (again,) = read(path, cross=["a,b", "b,a", "a,c,b", "b,c,a", "a,b", "*,a", "a,*"])
    assert again.keys.tolist() == once.keys.tolist()
    assert len(once.keys) > 3


def test_a_row_with_too_many_triples(tmp_path):
    path = tmp_path / "row.vw"
    path.write_text("1 |a " + " ".join(f"x{n}" for n in range(3000)) + "\n")
    with pytest.raises(InputError, match=r"with its crosses the row has 4,495,504,000"):
        list(read(path, cross=["a,a,a"]))


@pytest.mark.parametrize("cross", ["a", "a,b,c,d", "a,,b"])
def test_two_or_three_names_are_expected(tmp_path, cross):
    with pytest.raises(ConfigError, match="two or three names"):
        crossed(tmp_path, cross)


def test_a_namespace_that_is_ignored(tmp_path):
    found = crossed(tmp_path, "*,b", ignore=["a"])
    assert found == [("c=s*b=r", 2.0), ("c=t*b=r", 6.0)]
    path = tmp_path / "rows.vw"
    path.write_text("1 |a x |b y\n0 |b z\n1 |a x\n")
    reader = read(path, ignore=["a"])
    reader.names_wanted = True
    (batch,) = reader
    assert batch.indptr.tolist() == [0, 1, 2, 2]
    names = texts_by_key(batch.names, batch.keys.tolist())
    assert [names[key] for key in batch.keys.tolist()] == ["b=y", "b=z"]
    with pytest.raises(InputError, match="ignore='d'"):
        list(read(path, ignore=["d"]))


@pytest.mark.parametrize("cross", ["a,b", "a,b,b", "*,b"])
def test_what_is_ignored_cannot_be_crossed(tmp_path, cross):
    with pytest.raises(ConfigError, match=r"'b' is ignored \(--ignore\), so it has no features"):
        crossed(tmp_path, cross, ignore=["b"])


def test_tags(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("1 2 'one |a x\n\n0 two|a x\n|a x\n1 'té |a x\n1 |a 'x\nthree| y\n1 '|a\n")
    reader = read(path)
    reader.tags_wanted = True
    (batch,) = reader
    assert batch.tags == ("one", "two", "", "té", "", "three", "")


@pytest.mark.parametrize("given", [{"cross": ["us*,ad"]}, {"ignore": ["us*"]}])
def test_a_glob_of_namespaces_is_refused_as_such(tmp_path, given):
    path = tmp_path / "row.vw"
    path.write_text("1 |user a |ad b\n-1 |user b |ad c\n")
    with pytest.raises(InputError, match="Globs are for columns only"):
        list(read(path, **given))


def test_the_error_of_a_cross_names_the_option():
    with pytest.raises(ConfigError, match=r"\(--cross\): two or three names"):
        read("no.csv", cross=["a,b,c,d"])
