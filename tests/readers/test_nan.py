"""NaN is an error where numbers are numbers; in CSV and frames of pandas it is a missing value."""

import json
import math
from decimal import Decimal

import numpy as np
import pandas
import pytest

import rarefy
from rarefy import InputError, SparseOnlineClassifier

ROWS = [{"x": float(n % 2), "words": ["a b", "c"][n % 2], "kind": "k"} for n in range(8)]
LABELS = ["no", "yes"] * 4
NANS = [math.nan, np.float64("nan"), np.float32("nan"), Decimal("nan")]


@pytest.fixture(scope="module")
def model():
    found = SparseOnlineClassifier().start(classes=["no", "yes"], text=["words"], ignore=["z"])
    return found.learn_many(64 * ROWS, 64 * LABELS)  # enough for the fast path


@pytest.mark.parametrize("nan", NANS, ids=lambda nan: type(nan).__name__)
@pytest.mark.parametrize("column", ["x", "words", "kind", "new"])
def test_dicts(model, column, nan):
    t, before = model.t_, model.weights_
    bad = {**ROWS[0], column: nan}
    for use in (
        lambda: model.learn_one(bad, "no"),
        lambda: model.learn_many([ROWS[0], bad], ["no", "no"]),
        lambda: model.predict_one(bad),
        lambda: model.predict([bad]),
        lambda: model.partial_fit([bad], ["no"]),
    ):
        with pytest.raises(InputError, match=rf"rows:[12]: .*None.*{column!r}.*(nan|NaN)"):
            use()
    assert model.t_ == t
    assert model.weights_ == before


def test_what_is_not_used_may_be_anything(model):
    expected = model.predict_proba_one(ROWS[0])
    assert model.predict_proba_one({**ROWS[0], "z": math.nan, "label": math.nan}) == expected
    assert model.predict_proba_one({**ROWS[0], "new": None, "newer": pandas.NA}) == expected


def test_frames_of_pandas(model):
    nothing = [{**ROWS[0], "x": None}]
    for frame in (
        pandas.DataFrame([{**ROWS[0], "x": math.nan}]),
        pandas.DataFrame([{**ROWS[0], "x": math.nan}], dtype=object),
    ):
        assert model.predict_proba(frame).tolist() == model.predict_proba(nothing).tolist()


def test_csv(tmp_path):
    rows = [{"label": label, **row} for row, label in zip(ROWS, LABELS, strict=True)]
    frame, batches = pandas.DataFrame([*rows, {**rows[0], "x": math.nan}]), []
    for word in ("nan", ""):
        path = tmp_path / f"{word}.csv"
        path.write_text(frame.to_csv(index=False, na_rep=word))
        batches += rarefy.read(path)
    assert batches[0].keys.tolist() == batches[1].keys.tolist()
    assert batches[0].values.tolist() == batches[1].values.tolist()


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_files(tmp_path, ending):
    rows = [{"label": label, **row} for row, label in zip(ROWS, LABELS, strict=True)]
    rows.append({**rows[0], "x": math.nan})
    path = tmp_path / f"rows.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.Table.from_pylist(rows), path)
    with pytest.raises(InputError, match="number"):
        rarefy.train(path, text=["words"], numeric=["x"])


def test_ids_that_cannot_be_remembered(model):
    for use in (
        lambda: model.predict_one(ROWS[0], id=[1]),
        lambda: model.learn_one(id=[1], y="no"),
    ):
        with pytest.raises(InputError, match="hashable"):
            use()
