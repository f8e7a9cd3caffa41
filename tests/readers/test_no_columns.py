"""Formats without columns: what is asked of a column there is refused, not passed over."""

from __future__ import annotations

import pytest

from rarefy import InputError, SparseOnlineClassifier, read

ROWS = {"svmlight": "1 1:1 2:1\n-1 2:1\n", "vw": "1 |a x\n-1 |a y\n"}


@pytest.mark.parametrize("format", ROWS)
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"weight": "w"}, r"no column 'w' \(weight=\.\.\., --weight\)\. .*weight"),
        ({"label": "y"}, r"no column 'y' \(label=\.\.\., --label\)\. The label of a row is"),
    ],
)
def test_label_and_weight_are_refused_where_there_are_no_columns(tmp_path, format, given, says):
    path = tmp_path / "rows"
    path.write_text(ROWS[format])
    with pytest.raises(InputError, match=says):
        list(read(path, format=format, **given))


def test_ignoring_is_refused_where_there_are_no_names(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text(ROWS["svmlight"])
    with pytest.raises(InputError, match=r"svmlight has no columns, so no column 'a' \(ignore="):
        list(read(path, ignore=["a"]))
    path = tmp_path / "rows.vw"
    path.write_text(ROWS["vw"] + "1 |b z\n")
    assert sum(len(batch.labels) for batch in read(path, ignore=["b"])) == 3


def test_a_model_of_columns_predicts_text_of_namespaces(tmp_path):
    """Its label and weight are columns; where there are none, the rows have their own."""
    table, rows = tmp_path / "a.csv", tmp_path / "a.vw"
    table.write_text("y,w,a\n" + "1,1,x\n0,2,z\n" * 5)
    rows.write_text("1 |a x\n0 |a z\n")
    model = SparseOnlineClassifier().fit_stream(read(table, label="y", weight="w"))
    assert len(model.predict(read(rows))) == 2
