"""`rarefy.evaluate` and `rarefy.explain` give the numbers of the commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy import InputError, SparseOnlineClassifierCV
from rarefy.analysis.explanation import explanation_as_json
from rarefy.files.model_file import load_model
from tests import data
from tests.cli.test_cli import run, sms_lines, train
from tests.in_order import classifier_in_order

KINDS = {"binary": (), "multiclass": (), "regression": ("--loss", "squared")}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working directory, with data in it."""
    monkeypatch.chdir(tmp_path)
    for kind in KINDS:
        Path(f"{kind}.svm").write_text(data.svmlight_text(data.problem(kind, n=200)))
    Path("sms.csv").write_text(sms_lines("csv"))
    return tmp_path


def evaluated(*arguments: str) -> dict:
    return json.loads(run("evaluate", *arguments, "--json").stdout)


class TestEvaluate:
    @pytest.mark.parametrize("kind", KINDS)
    def test_readers(self, kind):
        train(f"{kind}.svm", *KINDS[kind])
        expected = evaluated("some.model", f"{kind}.svm")
        for model in ("some.model", Path("some.model"), rarefy.load("some.model")):
            found = rarefy.evaluate(model, rarefy.read(f"{kind}.svm"))
            assert repr(found) == repr(expected)  # numbers of Python, not of NumPy

    @pytest.mark.parametrize("kind", KINDS)
    def test_matrices(self, kind):
        train(f"{kind}.svm", *KINDS[kind], "--store", "array")
        problem = data.problem(kind, n=200)
        model = rarefy.load("some.model")
        X = problem.dense[:, : model.n_features_in_]
        expected = evaluated("some.model", f"{kind}.svm")
        found = rarefy.evaluate(model, X, problem.y, sample_weight=np.ones(200))
        assert found.keys() == expected.keys()
        for name, value in found.items():
            assert value == (value if isinstance(value, list) else pytest.approx(expected[name]))
        assert found.get("confusion") == expected.get("confusion")

    def test_rows(self):
        train("sms.csv", "--label", "kind")
        rows = [{"message": "win", "length": 3, "site": "x"}] * 3
        found = rarefy.evaluate("some.model", rows, ["spam", "ham", "spam"])
        assert (found["examples"], found["classes"]) == (3, ["ham", "spam"])
        assert rarefy.explain("some.model", rows, row=2).location == "rows:3"

    def test_the_threshold_in_use(self):
        problem = data.problem("binary", n=200)
        model = classifier_in_order().fit(problem.csr, problem.y)
        found = rarefy.evaluate(model, problem.csr, problem.y)
        model.set_params(decision_threshold=found["best_threshold"])
        again = rarefy.evaluate(model, problem.csr, problem.y)
        assert again["f1"] == again["best_f1"] == found["best_f1"]

    def test_the_estimator_that_was_chosen(self):
        problem = data.problem("binary", n=100)
        model = SparseOnlineClassifierCV(l1=[1.0], cv=2, passes=1).fit(problem.csr, problem.y)
        found = rarefy.evaluate(model, problem.csr, problem.y)
        assert found["accuracy"] == model.score(problem.csr, problem.y)

    def test_what_is_missing(self):
        problem = data.problem("binary", n=50)
        model = classifier_in_order().fit(problem.csr, problem.y)
        with pytest.raises(InputError, match="labels are needed"):
            rarefy.evaluate(model, problem.csr)
        with pytest.raises(InputError, match="was trained on a matrix"):
            rarefy.evaluate(model, rarefy.read("binary.svm"))
        with pytest.raises(InputError, match="there are no examples"):
            rarefy.evaluate(model, problem.csr, problem.y, sample_weight=np.zeros(50))
        with pytest.raises(InputError, match="a int is not a rarefy model"):
            rarefy.evaluate(1, problem.csr, problem.y)


class TestExplain:
    @pytest.mark.parametrize("kind", KINDS)
    def test_readers(self, kind):
        train(f"{kind}.svm", *KINDS[kind])
        why = ("inspect", "some.model", "--why", f"{kind}.svm", "--row", "8", "--json")
        found = rarefy.explain("some.model", rarefy.read(f"{kind}.svm"), row=7)
        as_json = explanation_as_json(load_model("some.model"), found, None)
        assert as_json == json.loads(run(*why).stdout)
        assert [part["feature"] for part in as_json["features"]] == [p.name for p in found.parts]

    @pytest.mark.parametrize("kind", KINDS)
    def test_matrices(self, kind):
        train(f"{kind}.svm", *KINDS[kind], "--store", "array")
        model = rarefy.load("some.model")
        X = data.problem(kind, n=200).dense
        of_file = rarefy.explain(model, rarefy.read(f"{kind}.svm"), row=7)
        found = rarefy.explain(model, X[:, : model.n_features_in_], row=7)
        assert found.location == "row 7"
        assert found.label == of_file.label
        assert found.scores == pytest.approx(of_file.scores)
        assert [part.name for part in found.parts] == [part.name for part in of_file.parts]

    @pytest.mark.parametrize("kind", KINDS)
    def test_printed_numbers_add_up(self, kind):
        """The strongest feature comes first, and the last line is the sum of the others."""
        train(f"{kind}.svm", *KINDS[kind])
        found = rarefy.explain("some.model", rarefy.read(f"{kind}.svm"), row=7)
        *lines, last = str(found).splitlines()[found.label is not None :]
        *numbers, total = [float(line.split()[0]) for line in (*lines, last)]
        assert sum(numbers) == pytest.approx(total, abs=1e-3)
        sizes = np.abs(numbers[:-1])
        np.testing.assert_array_equal(sizes, np.sort(sizes)[::-1])
        if len(found.scores) == 1:
            assert total == pytest.approx(found.scores[0], abs=1e-4)
        if found.label is not None:
            assert str(found).startswith(found.label)

    def test_names_of_columns(self):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(np.eye(4), columns=list("abcd"))
        model = classifier_in_order(l1=0.0).fit(frame, [0, 1, 0, 1])
        assert {part.name for part in rarefy.explain(model, frame, row=1).parts} <= {"b"}

    def test_no_such_row(self):
        problem = data.problem("binary", n=50)
        model = classifier_in_order().fit(problem.csr, problem.y)
        with pytest.raises(InputError, match="there is no row 50"):
            rarefy.explain(model, problem.csr, row=50)
