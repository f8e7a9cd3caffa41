"""Rows of every form on the fast path, also with features that are new, lead to the bits of files.

That they go this way is seen by what else would have to prepare them.
"""

from __future__ import annotations

import copy
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rarefy
from rarefy import SparseOnlineClassifier
from rarefy.streams.single_rows import SingleRows
from tests.estimators.test_fast_path import assert_same, state

N = 120
MOST_LONG = 6  # the first one, and whenever the table, or the text of its names, is made anew


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def n_long(monkeypatch) -> list[Any]:
    """What was read on the long way."""
    found: list[Any] = []
    prepared, scores = SingleRows.prepared, SingleRows.scores

    def noted(self, rows, *more, **named):
        found.append(rows)
        return prepared(self, rows, *more, **named)

    def noted_scores(self, rows, *more, **named):
        found.append(rows)
        return scores(self, rows, *more, **named)

    monkeypatch.setattr(SingleRows, "prepared", noted)
    monkeypatch.setattr(SingleRows, "scores", noted_scores)
    return found


def rows() -> list[dict[str, Any]]:
    """With new words and values all along."""
    random = np.random.default_rng(0)
    return [
        {
            "label": ["no", "yes"][random.integers(2)],
            "size": float(np.round(random.normal(), 3)),
            "city": f"città{random.integers(n + 1)}",
            "words": " ".join(f"Wört{k}" for k in random.integers(n + 2, size=3)),
        }
        for n in range(N)
    ]


def check(model: Any, expected: Any, forms: list[Any], n_long: list[Any], **how: Any) -> None:
    """Learn rows that have their labels, and predict them: the same as from a file."""
    for x in forms:
        model.learn_one(x, **how)
    assert len(n_long) <= MOST_LONG
    assert_same(model, expected)
    assert model.weights_ == expected.weights_
    answers = expected.predict_many(forms, **how)
    del n_long[:]
    assert [model.predict_one(x, **how) for x in forms] == answers
    assert not n_long
    before = copy.deepcopy(state(model))
    for bad in ("", "nothing", {"size": np.nan}, 3, {"size": [[{"x": object()}]]}):
        with pytest.raises(rarefy.InputError):
            model.learn_one(bad, **(how if isinstance(bad, str) else {}))
    for name, array in state(model).items():
        np.testing.assert_array_equal(array, before[name])


CROSS = [("city", "words"), ("size", "city", "words")]


@pytest.mark.parametrize(
    ("form", "cross"),
    [
        ("own label", ()),
        ("nested", ()),
        ("pairs", CROSS),
        pytest.param("line", CROSS, marks=pytest.mark.slow),
        pytest.param("own label", CROSS, marks=pytest.mark.slow),
        pytest.param("nested", CROSS, marks=pytest.mark.slow),
        pytest.param("pairs", (), marks=pytest.mark.slow),
    ],
)
def test_named_columns(form, cross, n_long):
    some = rows()
    if form == "nested":
        some = [
            {**row, "user": {"age": n % 7, "tags": ["a", f"b{n}"]}} for n, row in enumerate(some)
        ]
    lines = [json.dumps(row, ensure_ascii=False) for row in some]
    Path("rows.jsonl").write_text("\n".join(lines) + "\n")
    expected = rarefy.train("rows.jsonl", rule="ftrl", text=["words"], cross=cross)
    model = SparseOnlineClassifier(rule="ftrl").start(
        classes=["no", "yes"], text=["words"], cross=cross
    )
    forms: list[Any] = lines if form == "line" else some
    if form == "pairs":
        forms = [list(row.items()) for row in some]
    check(model, expected, forms, n_long, **({"format": "json"} if form == "line" else {}))


def csv_rows(some: list[dict[str, Any]], delimiter: str = ",") -> list[str]:
    """A header and a row each, with quotes where they are needed."""
    found = []
    for row in some:
        text = io.StringIO()
        writer = csv.DictWriter(text, list(row), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerow({**row, "city": f'the "{row["city"]}", so'})
        found.append(text.getvalue())
    return found


@pytest.mark.parametrize(
    ("delimiter", "cross"),
    [(",", ()), pytest.param(";", CROSS, marks=pytest.mark.slow)],
)
def test_csv(delimiter, cross, n_long):
    some = rows()
    texts = csv_rows(some, delimiter)
    header, _, _ = texts[0].partition("\n")
    Path("rows.csv").write_text(header + "\n" + "".join(t.partition("\n")[2] for t in texts))
    how = {"text": ["words"], "categorical": ["city"], "numeric": ["size"], "cross": cross}
    expected = rarefy.train("rows.csv", rule="ftrl", **how)
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["no", "yes"], format="csv", **how)
    check(model, expected, texts, n_long, format="csv")


def test_csv_after_training(n_long):
    """A model that knows all columns from a file, which later rows may lack, and faults."""
    some = rows()
    texts = csv_rows(some)
    header, _, _ = texts[0].partition("\n")
    body = [t.partition("\n")[2] for t in texts]
    Path("first.csv").write_text(header + "\n" + "".join(body[:60]))
    Path("all.csv").write_text(header + "\n" + "".join(body))
    expected = rarefy.train("all.csv", rule="ftrl", text=["words"])
    model = rarefy.train("first.csv", rule="ftrl", text=["words"])
    for text, row in zip(texts[60:90], some[60:90], strict=True):
        model.learn_one(text if row["label"] == "no" else text.replace("\n", "\r\n"), format="csv")
    for row in some[90:]:
        (text,) = csv_rows([{name: x for name, x in row.items() if name != "label"}])
        model.learn_one(text, row["label"], format="csv")
    assert len(n_long) <= MOST_LONG
    assert_same(model, expected)
    assert model.weights_ == expected.weights_
    with pytest.warns(rarefy.RarefyWarning, match="new columns are ignored"):
        model.predict_one("size,city,words,other\n3,a,b,4\n", format="csv")
    before = copy.deepcopy(state(model))
    known = "size,city,words"
    bad_texts = [f"{known}\n3\n", f"{known}\nx,a,b\n", f"{known}\n1,a,b\n2,a,b\n", known]
    bad_texts += ["size\n3", f"{known}\n", f'{known}\n1,"a,b\n']
    for bad in bad_texts:
        with pytest.raises(rarefy.InputError):
            model.learn_one(bad, "no", format="csv")
    for name, array in state(model).items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.slow
def test_csv_without_a_header(n_long):
    """Then a row is one line; the delimiter is told from it."""
    body = [f"{n % 2},{n * 7 % 5}.5,c{n % 30}" for n in range(N)]
    Path("rows.csv").write_text("\n".join(body) + "\n")
    expected = rarefy.train("rows.csv", rule="ftrl", header=False, label="1")
    Path("first.csv").write_text("\n".join(body[:50]) + "\n")
    model = rarefy.train("first.csv", rule="ftrl", header=False, label="1")
    for line in body[50:]:
        model.learn_one(line.replace(",", ";") if line.endswith("3") else line)
    assert len(n_long) <= MOST_LONG
    assert_same(model, expected)
    assert model.weights_ == expected.weights_


def in_line(features: dict[str, float]) -> str:
    return " ".join(f"{name}:{float(x)!r}" for name, x in features.items())


def vw_rows() -> list[dict[str, Any]]:
    random = np.random.default_rng(0)
    return [
        {
            "size": float(np.round(random.normal(), 3)),
            "user": {f"u{random.integers(n + 1)}": 2.5, "age": n % 7},
            "tag": [f"t{random.integers(n + 1)}", "x"],
        }
        for n in range(N)
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"cross": [("user", "tag")], "ignore": ["other"]},
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"ngram": 2}, marks=pytest.mark.slow),
        pytest.param({"cross": [("tag", "*")]}, marks=pytest.mark.slow),
    ],
)
def test_vw_text_and_its_dicts(options, n_long):
    """Also with namespaces to ignore, and svmlight in between where that can be."""
    some, labels = vw_rows(), [-1, 1] * (N // 2)
    lines = [
        f"{label} | size:{row['size']!r} |user {in_line(row['user'])} |tag {' '.join(row['tag'])}"
        for label, row in zip(labels, some, strict=True)
    ]
    lines = [
        line + f" |other o{n}" if "ignore" in options else line for n, line in enumerate(lines)
    ]
    Path("rows.vw").write_text("\n".join(lines) + "\n")
    expected = rarefy.train("rows.vw", rule="ftrl", **options)
    model = SparseOnlineClassifier(rule="ftrl").start(classes=[-1, 1], format="vw", **options)
    for n, (line, row, label) in enumerate(zip(lines, some, labels, strict=True)):
        if n % 2:
            model.learn_one(line)
        else:
            model.learn_one(row, label)
    assert len(n_long) <= MOST_LONG
    assert_same(model, expected)
    assert model.weights_ == expected.weights_
    del n_long[:]
    found = [model.predict_one(x) for pair in zip(lines, some, strict=True) for x in pair]
    assert not n_long
    answers = expected.predict_many(lines)
    assert found == [answer for answer in answers for _ in range(2)]
    if not options:
        of_svmlight = "1 3:4 17:2.5"
        assert_same(model.learn_one(of_svmlight), expected.learn_many([of_svmlight]))
        assert n_long == [lines, [of_svmlight]]  # by the expected one


@pytest.mark.parametrize("how", [{"capacity": 100}, {"names": False}])
def test_full_tables(how, n_long):
    """When there is no more room, the other way makes some; and names need not be kept."""
    some = rows()
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in some))
    expected = rarefy.train("rows.jsonl", rule="ftrl", text=["words"], store="table", **how)
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["no", "yes"], text=["words"], **how)
    for row in some:
        model.learn_one(row, row["label"])
    assert len(n_long) < 30
    assert_same(model, expected)
    assert model.stream_.store.report() == expected.stream_.store.report()


@pytest.mark.parametrize("cross", [(), CROSS])
def test_new_features_in_parts_of_any_size(cross, n_long):
    """Names are those of files, wherever a call ends, and what is new twice is added once."""
    some, labels = rows(), [row["label"] for row in rows()]
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in some))
    expected = rarefy.train("rows.jsonl", rule="ftrl", text=["words"], cross=cross)
    for n_at_once in (1, 7):
        model = SparseOnlineClassifier(rule="ftrl").start(
            classes=["no", "yes"], text=["words"], cross=cross
        )
        for begin in range(0, N, n_at_once):
            part, its_labels = some[begin : begin + n_at_once], labels[begin : begin + n_at_once]
            if n_at_once == 1:
                model.learn_one(part[0], its_labels[0])
            else:
                model.learn_many(part, its_labels)
        assert len(n_long) <= MOST_LONG
        assert_same(model, expected)
        assert model.weights_ == expected.weights_
        del n_long[:]
        assert model.predict_many(some) == [model.predict_one(row) for row in some]
        assert not n_long
