"""Rows that come one at a time mean what the same rows mean in a file, to the bit."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import rarefy
from rarefy import InputError, SparseOnlineClassifier, SparseOnlineRegressor

N_FIRST, N = 30, 60
WORDS = "win a free prize now see you at lunch noon claim your money back Ärger"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows() -> list[dict[str, Any]]:
    random = np.random.default_rng(0)
    return [
        {
            "label": ["ham", "spam"][random.integers(2)],
            "age": float(np.round(random.normal(), 3)),
            "visits": int(random.integers(5)),
            "city": ["Rome", "Oslo", None][random.integers(3)],
            "words": " ".join(random.choice(WORDS.split(), 4)),
        }
        for _ in range(N)
    ]


def state(model: Any) -> dict[str, Any]:
    """All that learning has brought about."""
    learner = model.stream_.learner
    found = dict(model.stream_.store.snapshot(learner))
    found |= {"intercept": learner.intercept_state, "progress": learner.progress}
    found |= {"clock": np.array(learner.clock[1:-1]), "calibration": np.array(learner.calibration)}
    return found


def assert_same(model: Any, expected: Any) -> None:
    ours, theirs = state(model), state(expected)
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


# --- every format: how a file is written, how it is read, and its rows as Python has them -----

Rows = list[dict[str, Any]]


def write_csv(name: str, some: Rows) -> list[str]:
    text = pandas.DataFrame(some).to_csv(None, index=False)
    Path(name).write_text(text)
    header, *lines = text.splitlines()
    return [f"{header}\n{line}" for line in lines]


def write_json(name: str, some: Rows) -> list[str]:
    lines = [json.dumps(row, ensure_ascii=False) for row in some]
    Path(name).write_text("\n".join(lines) + "\n")
    return lines


def write_parquet(name: str, some: Rows) -> list[str]:
    pandas.DataFrame(some).to_parquet(name)
    return []


def in_spaces(row: dict[str, Any]) -> dict[str, Any]:
    """The row as a model of VW text takes it."""
    found = {"age": row["age"], "person": {"visits": row["visits"]}, "words": row["words"]}
    found["junk"] = row["words"]
    return found | ({} if row["city"] is None else {"city": [row["city"]]})


def write_vw(name: str, some: Rows) -> list[str]:
    lines = []
    for row in some:
        city = "" if row["city"] is None else f" |city {row['city']}"
        label = 1 if row["label"] == "spam" else -1
        visits, words = row["visits"], row["words"]
        people = f"| age:{row['age']!r} |person visits:{visits}"
        lines.append(f"{label} {people} |words {words} |junk {words}{city}")
    Path(name).write_text("\n".join(lines) + "\n")
    return lines


def by_index(row: dict[str, Any]) -> dict[int, float]:
    numbers = {WORDS.split().index(word) + 1: 1.0 for word in row["words"].split()}
    return dict(sorted((numbers | {20: row["age"]}).items()))


def write_svmlight(name: str, some: Rows) -> list[str]:
    lines = []
    for row in some:
        features = " ".join(f"{n}:{value!r}" for n, value in by_index(row).items())
        lines.append(f"{1 if row['label'] == 'spam' else -1} {features}")
    Path(name).write_text("\n".join(lines) + "\n")
    return lines


def as_it_is(row: dict[str, Any]) -> dict[str, Any]:
    return row


TEXT = {"text": ["words"], "cross": [("city", "visits")]}
FORMATS: dict[str, tuple[Callable[..., list[str]], dict[str, Any], Callable[..., Any]]] = {
    "csv": (write_csv, TEXT, as_it_is),
    "jsonl": (write_json, TEXT, as_it_is),
    "parquet": (write_parquet, TEXT, as_it_is),
    "vw": (
        write_vw,
        {"cross": [("city", "person")], "ngram": {"words": 2}, "ignore": ["junk"]},
        in_spaces,
    ),
    "svm": (write_svmlight, {}, by_index),
}


class Case:
    """A model of the first rows, those that are to come, and the model of all of them."""

    def __init__(self, ending: str) -> None:
        write, self.options, self.as_row = FORMATS[ending]
        some = rows()
        write(f"first.{ending}", some[:N_FIRST])
        self.lines = write(f"rest.{ending}", some[N_FIRST:])
        self.rest = some[N_FIRST:]
        self.file = f"rest.{ending}"
        rarefy.train(f"first.{ending}", output="first.model", **self.options)
        self.expected = rarefy.train(self.file, resume="first.model")

    def first(self) -> Any:
        return rarefy.load("first.model")

    def labels(self, model: Any) -> list[Any]:
        return [row["label"] if "ham" in model.classes_ else self.sign(row) for row in self.rest]

    @staticmethod
    def sign(row: dict[str, Any]) -> int:
        return 1 if row["label"] == "spam" else -1


@pytest.mark.parametrize("ending", FORMATS)
def test_going_on_means_what_the_file_means(ending):
    """Row by row, all at once, or as a reader; dicts, pairs, or lines."""
    case = Case(ending)
    xs = [case.as_row(row) for row in case.rest]
    labels = case.labels(case.expected)

    one = case.first()
    for x, label in zip(xs, labels, strict=True):
        one.learn_one(x, label)
    assert_same(one, case.expected)
    assert_same(case.first().learn_many(xs, labels), case.expected)
    assert_same(case.first().partial_fit(rarefy.read(case.file)), case.expected)

    if ending != "svm":
        pairs = [list(x.items()) for x in xs]
        assert_same(case.first().learn_many(pairs, labels), case.expected)
    if case.lines:
        by_line = case.first()
        format = {"csv": "csv", "jsonl": "json", "vw": "vw", "svm": "svmlight"}[ending]
        for line in case.lines:
            by_line.learn_one(line, format=format)
        assert_same(by_line, case.expected)
        assert by_line.predict_many(case.lines, format=format) == one.predict_many(xs)

    expected = case.expected.decision_function(rarefy.read(case.file))
    probabilities = case.expected.predict_proba(rarefy.read(case.file))
    predicted = case.expected.predict(rarefy.read(case.file)).tolist()
    assert one.predict_many(xs) == predicted == [one.predict_one(x) for x in xs]
    found = [one.predict_proba_one(x) for x in xs]
    assert [list(each.values()) for each in found] == probabilities.tolist()
    assert list(found[0]) == one.classes_.tolist()
    assert np.ptp(expected) > 0.0


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_tables_and_iterators(ending):
    """What has its labels itself: dicts, frames, Arrow tables, and iterators of these."""
    case = Case(ending)
    frame = pandas.DataFrame(case.rest)
    table = pytest.importorskip("pyarrow").table(frame)

    def stream():
        yield from case.rest[:5]
        yield from ((row, row["label"]) for row in case.rest[5:10])
        yield frame[10:15]
        yield case.rest[15:20]
        yield frame[20:], frame["label"][20:]

    for some in (case.rest, frame, table, stream()):
        assert_same(case.first().partial_fit(some), case.expected)
    assert_same(case.first().partial_fit(frame, frame["label"]), case.expected)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_frames_of_polars(ending):
    """By Arrow's PyCapsule protocol, with labels in them or beside them; not if they are lazy."""
    polars, case = pytest.importorskip("polars"), Case(ending)
    frame = polars.DataFrame(case.rest, infer_schema_length=None)
    assert_same(case.first().partial_fit(frame), case.expected)
    assert_same(case.first().partial_fit(frame.drop("label"), frame["label"]), case.expected)
    parts = (part for part in (frame[:7], frame[7:]))
    assert_same(case.first().partial_fit(parts), case.expected)
    model = case.first().partial_fit(case.rest)
    np.testing.assert_array_equal(model.predict(frame), model.predict(case.rest))
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(case.rest))
    before = model.t_
    with pytest.raises(rarefy.InputError, match="or a reader"):
        model.partial_fit(frame.lazy())
    assert model.t_ == before


def test_a_model_of_rows_alone():
    """Without any file: the model is that of the file with these rows."""
    write_json("rows.jsonl", rows())
    expected = rarefy.train("rows.jsonl", text=["words"], cross=[("city", "visits")])
    model = SparseOnlineClassifier().start(classes=["spam", "ham"], **TEXT)
    assert model.predict_one({"age": 3.0}) == "ham"  # nothing is known, nor an error
    for row in rows():
        model.learn_one(row)
    assert_same(model, expected)
    assert model.weights_ == expected.weights_
    model.save("rows.model")
    for same in (
        rarefy.load("rows.model"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        assert_same(same.learn_one(rows()[0]), copy.deepcopy(model).learn_one(rows()[0]))


def test_text_of_the_text_column():
    model = SparseOnlineClassifier().start(classes=[False, True], text=["words"])
    for _ in range(20):
        model.learn_one("win a prize", True).learn_one("see you", False)
    assert model.predict_one("a prize") is True
    assert model.predict_one({"words": "you"}) is False
    model.save("texts.model")
    assert rarefy.load("texts.model").learn_one("win", True).predict_one("a prize") == "true"


def test_importance():
    some = [{**row, "w": float(n % 3)} for n, row in enumerate(rows())]
    write_json("rows.jsonl", some)
    expected = rarefy.train("rows.jsonl", weight="w")
    of_rows = SparseOnlineClassifier().start(classes=["ham", "spam"], weight="w")
    given = SparseOnlineClassifier().start(classes=["ham", "spam"], ignore=["w"])
    for row in some:
        of_rows.learn_one(row)
        given.learn_one(row, row["label"], row["w"])
    assert_same(of_rows, expected)
    assert_same(given, expected)


def test_regression():
    some = [{**row, "label": row["age"] * 3.0 + row["visits"]} for row in rows()]
    write_json("rows.jsonl", some)
    expected = rarefy.train("rows.jsonl", loss="squared", text=["words"])
    model = SparseOnlineRegressor().start(text=["words"])
    for row in some:
        model.learn_one({k: v for k, v in row.items() if k != "label"}, row["label"])
    for name, array in state(model).items():
        np.testing.assert_array_equal(array, state(expected)[name], err_msg=name)
    assert isinstance(model.predict_one(some[0]), float)
    by_default = SparseOnlineRegressor().learn_one({"a": 1.0}, 3.0)
    assert by_default.predict_one({"a": 1.0}) == 3.0


ENDLESS: dict[str, object] = {}
ENDLESS["a"] = ENDLESS
BAD_ROWS = {
    "an infinite number": {"age": np.inf},
    "an object": {"age": object()},
    "a list of objects": {"age": [object()]},
    "no row": 3,
    "no pairs": [1, 2],
    "no UTF-8": "\udc80",
    "too deep": {"a": json.loads("[" * 70 + "1" + "]" * 70)},
    "without end": {"a": ENDLESS},
    "pairs without end": [("a", ENDLESS)],
    "two lines": '{"a": 1}\n{"a": 2}',
    "half a line": '{"a": 1',
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_bad_rows_change_nothing(what):
    x = BAD_ROWS[what]
    model = SparseOnlineClassifier(rule="ftrl").start(classes=["ham", "spam"])
    model.learn_many(rows())
    before = copy.deepcopy(state(model))
    for act in (
        lambda: model.learn_one(x, "ham"),
        lambda: model.predict_one(x),
        lambda: model.learn_many([*rows(), x], ["ham"] * (N + 1)),
    ):
        with pytest.raises(InputError, match="rows"):
            act()
    for name, array in state(model).items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("y", ["eggs", np.nan, None, 3])
def test_bad_labels(y):
    model = SparseOnlineClassifier().start(classes=["ham", "spam"])
    with pytest.raises((InputError, rarefy.ConfigError)):
        model.learn_one({"a": 1.0}, y)
    assert model.t_ == 0


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "x"])
def test_bad_weights(weight):
    model = SparseOnlineRegressor().start()
    with pytest.raises(InputError, match="sample_weight"):
        model.learn_one({"a": 1.0}, 1.0, weight)
    assert model.t_ == 0


VW_ROWS = [{"a b": 1.0}, {"a": {"b": {"c": 1}}}, {"a": "x|y"}, {"a": [1.5]}, {"a": np.inf}]


@pytest.mark.parametrize("x", VW_ROWS)
def test_what_no_line_of_vw_text_holds(x):
    model = SparseOnlineRegressor().start(format="vw")
    with pytest.raises(InputError, match="rows:1: the value of"):
        model.predict_one(x)


def test_what_cannot_go_on():
    with pytest.raises(InputError, match=r"start\(classes"):
        SparseOnlineClassifier().learn_one({"a": 1.0}, "ham")
    matrix = SparseOnlineClassifier().fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(InputError, match="matrices"):
        matrix.learn_one({"a": 1.0}, 1)
    with pytest.raises(InputError, match="regressor predicts numbers"):
        SparseOnlineRegressor().start(classes=["a", "b"])
    model = SparseOnlineClassifier().start(classes=["ham", "spam"])
    with pytest.raises(InputError, match="own labels"):
        model.partial_fit(iter([{"a": 1.0}]), ["ham"])
    model.learn_many(rows())
    model.save("slim.model", slim=True)
    with pytest.raises(InputError, match="not be trained"):
        rarefy.load("slim.model").learn_one({"a": 1.0}, "ham")


def test_a_bar_shows_how_far_an_iterator_is(capsys):
    some = rows()
    quiet = SparseOnlineClassifier().start(classes=["ham", "spam"])
    quiet.partial_fit(iter(some))
    assert capsys.readouterr().err == ""
    model = SparseOnlineClassifier(verbose=True).start(classes=["ham", "spam"])
    model.partial_fit(iter(some))
    assert f"{N} examples learned" in capsys.readouterr().err
    assert_same(model, quiet)


def test_words_in_a_matrix_are_told_where_they_belong():
    rows = [{"city": "Rome", "age": 30}, {"city": "Paris", "age": 40}]
    frame = pandas.DataFrame(rows)
    for X in (rows, frame):
        with pytest.raises(InputError, match="after which partial_fit takes data frames"):
            SparseOnlineClassifier().fit(X, ["a", "b"])
    model = SparseOnlineClassifier().start(classes=["a", "b"])
    assert model.partial_fit(frame, ["a", "b"]).predict(rows).shape == (2,)
