"""A label or weight that is missing is an error in every format; a prediction needs neither."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import rarefy
from rarefy import InputError, SparseOnlineClassifier, read

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ABSENT = "absent"  # of a JSON object
Row = dict[str, Any]
ROWS: list[Row] = [{"label": n % 2, "w": 1.0 + n, "a": 0.5 + n % 2} for n in range(8)]
NUMBERED = 3  # the row, counted from 1, of which something is missing


def _csv(rows: list[Row], path: Path) -> None:
    texts = [[{None: "", ABSENT: ""}.get(v, str(v)) for v in row.values()] for row in rows]
    path.write_text("".join(",".join(line) + "\n" for line in [list(rows[0]), *texts]))


def _json(rows: list[Row], path: Path) -> None:
    kept = [{name: v for name, v in row.items() if v != ABSENT} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in kept))


def _table(rows: list[Row]) -> Any:
    """A column with an empty text in it is one of texts."""
    columns = {}
    for name in rows[0]:
        values = [None if row[name] == ABSENT else row[name] for row in rows]
        if "" in values:
            values = [None if value is None else str(value) for value in values]
        columns[name] = pa.array(values)
    return pa.table(columns)


def _parquet(rows: list[Row], path: Path) -> None:
    pq.write_table(_table(rows), path)


def _arrow(rows: list[Row], path: Path) -> None:
    table = _table(rows)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


WRITERS: dict[str, Callable[[list[Row], Path], None]] = {
    "csv": _csv,
    "jsonl": _json,
    "parquet": _parquet,
    "arrow": _arrow,
}
MISSING = {"csv": [None, math.nan], "jsonl": [ABSENT, None, ""]}
CASES = [(end, v) for end in WRITERS for v in MISSING.get(end, [None, math.nan, ""])]


def _written(tmp_path: Path, ending: str, rows: list[Row]) -> Path:
    path = tmp_path / f"rows.{ending}"
    WRITERS[ending](rows, path)
    return path


def _without(column: str, value: Any) -> list[Row]:
    rows = [dict(row) for row in ROWS]
    rows[NUMBERED - 1][column] = value
    return rows


@pytest.mark.parametrize(("ending", "value"), CASES, ids=str)
@pytest.mark.parametrize("column", ["label", "w"])
class TestFiles:
    def test_learning_is_refused_with_file_row_and_reason(self, tmp_path, ending, value, column):
        path = _written(tmp_path, ending, _without(column, value))
        line = NUMBERED + (ending == "csv")
        what = "label" if column == "label" else "a number >= 0 as the importance"
        message = rf"^{re.escape(str(path))}:{line}:.*{what} is expected"
        with pytest.raises(InputError, match=message):
            list(read(path, weight="w"))
        reader = read(path, weight="w", bad_lines="skip")
        assert sum(len(batch.labels) for batch in reader) == len(ROWS) - 1
        assert reader.n_bad_lines == 1

    def test_a_prediction_does_not_need_it(self, tmp_path, ending, value, column):
        model = _model(tmp_path)
        path = _written(tmp_path, ending, _without(column, value))
        assert model.decision_function(read(path)).tolist() == _expected(model)


def _model(tmp_path: Path) -> SparseOnlineClassifier:
    path = _written(tmp_path, "csv", ROWS)
    return rarefy.train(path.rename(tmp_path / "learned.csv"), weight="w")


def _expected(model: SparseOnlineClassifier) -> list[float]:
    return model.decision_function([{"a": row["a"]} for row in ROWS]).tolist()


IN_MEMORY: dict[str, Callable[[list[Row]], Any]] = {
    "dicts": lambda rows: [{k: v for k, v in r.items() if v != ABSENT} for r in rows],
    "pandas": lambda rows: pandas.DataFrame(rows).replace(ABSENT, None),
    "objects": lambda rows: pandas.DataFrame(rows, dtype=object).replace(ABSENT, None),
    "table": _table,
}


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_rows_in_memory_are_predicted_whatever_the_weight_is(tmp_path, kind):
    model = _model(tmp_path)
    for value in (ABSENT, None, math.nan, "", -1.0, "heavy"):
        rows = _without("w", value)
        if kind == "table" and value == "heavy":
            rows = [{**row, "w": str(row["w"])} for row in rows]
        assert model.decision_function(IN_MEMORY[kind](rows)).tolist() == _expected(model)
    only_features = IN_MEMORY[kind]([{"a": row["a"]} for row in ROWS])
    assert model.decision_function(only_features).tolist() == _expected(model)


@pytest.mark.parametrize(("name", "text"), [("r.vw", "1 |a x\n|a y\n"), ("r.svm", "1 1:1\n 2:1\n")])
def test_formats_without_columns(tmp_path, name, text):
    """VW's text may be without a label, for a prediction; whoever learns from it needs one."""
    path = tmp_path / name
    path.write_text(text)
    for learn in (lambda: rarefy.train(path), lambda: rarefy.to_matrix(read(path))):
        with pytest.raises(InputError, match=rf"{re.escape(str(path))}:2:.*label"):
            learn()


@pytest.mark.parametrize("missing", [math.nan, None])
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_matrices(missing, fit):
    X, y = np.eye(4), [0, 1, 0, 1]
    model = SparseOnlineClassifier()
    first = {"classes": [0, 1]} if fit == "partial_fit" else {}
    with pytest.raises((ValueError, TypeError)):
        getattr(model, fit)(X, y, sample_weight=[1.0, missing, 1.0, 1.0], **first)
    with pytest.raises((ValueError, TypeError)):
        getattr(model, fit)(X, [0, missing, 0, 1], **first)
    assert not hasattr(model, "coef_")
