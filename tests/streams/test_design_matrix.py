"""`rarefy.to_matrix`: the rows of a reader as scikit-learn takes them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy import InputError
from rarefy.streams.design_matrix import BYTES_PER_ENTRY, BYTES_PER_ROW, RowsTooLargeError
from tests import data
from tests.in_order import classifier_in_order


def read(folder: Path, text: str, name: str = "rows.svm", **options):
    path = folder / name
    path.write_text(text)
    return rarefy.read(path, **options)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_rows_are_those_of_the_file(tmp_path, kind):
    problem = data.problem(kind, n=200)
    reader = read(tmp_path, data.svmlight_text(problem))
    rows = rarefy.to_matrix(reader, regression=kind == "regression")
    used = np.flatnonzero(problem.dense.any(axis=0))
    np.testing.assert_array_equal(rows.X.toarray(), problem.dense[:, used])
    assert rows.X.has_sorted_indices
    assert len(rows.keys) == len(used)
    assert (np.diff(rows.keys) > 0).all()
    labels = np.array(rows.classes, float)[rows.y] if rows.classes else rows.y
    np.testing.assert_array_equal(labels, problem.y)
    np.testing.assert_array_equal(rows.sample_weight, np.ones(200))


def test_a_model_of_the_matrix_is_that_of_the_stream(tmp_path):
    text = data.svmlight_text(data.problem("multiclass", n=200))
    rows = rarefy.to_matrix(read(tmp_path, text))
    model = classifier_in_order(rule="frda", l1=1e-3)
    of_matrix = model.fit(rows.X, rows.y, sample_weight=rows.sample_weight).coef_.copy()
    weights = model.fit_stream(read(tmp_path, text)).weights_
    assert weights
    for name, expected in weights.items():
        column = np.searchsorted(rows.keys, np.uint64(name))
        np.testing.assert_allclose(of_matrix[:, column], expected, rtol=1e-12)


def test_words_weights_and_crosses(tmp_path):
    text = "kind,w,site,ad\nspam,2,a,x\nham,0.5,b,x\nspam,1,b,y\n"
    rows = rarefy.to_matrix(
        read(tmp_path, text, "rows.csv", label="kind", weight="w", cross=[("site", "ad")])
    )
    assert rows.classes == ("ham", "spam")
    assert rows.y.tolist() == [1, 0, 1]
    assert rows.sample_weight.tolist() == [2.0, 0.5, 1.0]
    assert rows.X.shape == (3, 7)
    assert rows.X.sum(axis=1).tolist() == [3.0, 3.0, 3.0]


def test_classes_keep_the_order_that_they_are_given_in(tmp_path):
    reader = read(tmp_path, "label,x\nb,1\na,1\n", "rows.csv", classes=["b", "c", "a"])
    rows = rarefy.to_matrix(reader)
    assert (rows.classes, rows.y.tolist()) == (("b", "c", "a"), [0, 2])


def test_features_that_occur_twice_are_summed_up(tmp_path):
    rows = rarefy.to_matrix(read(tmp_path, "1 |a x:2 x:3 y\n-1 |a y\n", "rows.vw"))
    assert sorted(rows.X.toarray()[0].tolist()) == [1.0, 5.0]


def test_progress(tmp_path):
    shares = []
    rarefy.to_matrix(read(tmp_path, "1 1:1\n-1 2:1\n"), progress=shares.append)
    assert shares == [1.0]


def test_memory_is_bounded(tmp_path):
    text = "1 1:1 2:1\n-1 2:1\n"
    needed = 3 * BYTES_PER_ENTRY + 2 * BYTES_PER_ROW
    assert rarefy.to_matrix(read(tmp_path, text), memory=needed).n_bytes == needed
    with pytest.raises(RowsTooLargeError, match=f"need about {needed} bytes") as raised:
        rarefy.to_matrix(read(tmp_path, text), memory=needed - 1)
    assert raised.value.n_bytes == needed
    assert raised.value.is_estimate


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "rows.svm: there are no examples"),
        ("1 1:1\n-1 1:1\n1e19 1:1\n", {}, "labels such as .* are too large"),
        ("1 1:1\n1e200 1:1\n", {"regression": True}, "rows.svm:2: the label is .*; a number"),
        ("1 1:1\n-1 1:1\n", {"memory": 0}, "memory=0"),
        ("1 1:1\n-1 1:1\n", {"memory": math.nan}, "memory=nan"),
        ("1 1:1\n-1 1:1\n", {"regression": "no"}, "regression="),
    ],
)
def test_errors(tmp_path, text, options, message):
    with pytest.raises(rarefy.RarefyError, match=message):
        rarefy.to_matrix(read(tmp_path, text), **options)


def test_a_label_that_is_no_class(tmp_path):
    reader = read(tmp_path, "1 1:1\n\n3 1:1\n", classes=[0, 1])
    with pytest.raises(InputError, match=r"rows.svm:3: the label is 3; one of the classes 0, 1"):
        rarefy.to_matrix(reader)


def test_numbers_have_no_classes(tmp_path):
    with pytest.raises(InputError, match="labels are numbers"):
        rarefy.to_matrix(read(tmp_path, "1 1:1\n", classes=[0, 1]), regression=True)
