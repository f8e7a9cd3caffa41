"""`rarefy diff`: which weights were added, removed and changed between two models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarefy.analysis.comparison import compare
from rarefy.engine.task import Task
from rarefy.files.model_file import load_model, save_model
from rarefy.model.losses import Hinge, Squared
from rarefy.model.schedules import InvSqrt
from rarefy.stores import Kept
from tests import data
from tests.cli.test_inspect import run
from tests.files.test_model_file import HASHED, TABLE, model
from tests.selecting import examples

Weights = dict[tuple[int, int], float]

CLASSES = ("a", "b", "c")
some_weights = st.dictionaries(
    st.tuples(st.sampled_from([0, 1, 2, 7, 2**63, 2**64 - 1]), st.integers(0, 2)),
    st.sampled_from([-2.0, -1.0, 0.5, 1.0, 3.0]),
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def kept(weights: Weights, names: bool = True) -> Kept:
    return Kept(
        np.array([key for key, _ in weights], np.uint64),
        np.array([output for _, output in weights], np.int64),
        np.array([*weights.values()], np.float64),
        [f"name of {key}" for key, _ in weights] if names else None,
        None,
    )


def three_classes(weights: Weights, **changes):
    parts = {"classes": CLASSES, "intercepts": (0.5, 0.0, -0.5), "kept": kept(weights)}
    return model(**{**parts, **changes})


def diffed(old, new, *arguments: str) -> dict:
    save_model("old.model", old)
    save_model("new.model", new)
    return json.loads(run("diff", "old.model", "new.model", "--json", *arguments))


class TestWeights:
    @settings(max_examples=examples(200))
    @given(some_weights, some_weights)
    def test_are_matched_by_key_and_class(self, old, new):
        comparison = compare(three_classes(old), three_classes(new))
        places = [*zip(comparison.keys.tolist(), comparison.outputs.tolist(), strict=True)]
        assert len(places) == len(set(places))
        assert set(places) == {*old, *new}
        assert comparison.old.tolist() == [old.get(place, 0.0) for place in places]
        assert comparison.new.tolist() == [new.get(place, 0.0) for place in places]
        sizes = [abs(new.get(place, 0.0) - old.get(place, 0.0)) for place in places]
        assert sizes == sorted(sizes, reverse=True)
        in_both = old.keys() & new.keys()
        n_same = sum(old[place] == new[place] for place in in_both)
        assert comparison.counts() == {
            "came": len(new.keys() - old.keys()),
            "went": len(old.keys() - new.keys()),
            "changed": len(in_both) - n_same,
            "same": n_same,
        }
        assert comparison.mass() == pytest.approx(
            {
                "old": sum(map(abs, old.values())),
                "new": sum(map(abs, new.values())),
                "change": sum(sizes),
            }
        )

    def test_as_json(self):
        old = three_classes({(1, 0): 1.0, (2, 1): 2.0, (3, 2): -1.0})
        new = three_classes({(1, 0): 1.5, (4, 1): -0.25, (3, 2): -1.0}, intercepts=(0.5, 1.0, -0.5))
        found = diffed(old, new, "--top", "3")
        assert [found[kind] for kind in ("came", "went", "changed", "same")] == [1, 1, 1, 1]
        assert found["mass"] == {"old": 4.0, "new": 2.75, "change": 2.75}
        assert found["differences"] == {
            "intercepts": {"old": [0.5, 0.0, -0.5], "new": [0.5, 1.0, -0.5]}
        }
        places = [(f["feature"], f["key"], f["class"]) for f in found["features"]]
        assert places == [("name of 2", 2, "b"), ("name of 1", 1, "a"), ("name of 4", 4, "b")]
        weights = [(f["old"], f["new"], f["change"]) for f in found["features"]]
        assert weights == [(2.0, 0.0, -2.0), (1.0, 1.5, 0.5), (0.0, -0.25, -0.25)]

    def test_names_may_be_in_one_model_only(self):
        named = model(kept=kept({(5, 0): 1.0}))
        unnamed = model(
            kept=kept({(5, 0): 2.0, (6, 0): 9.0}, names=False), store={**TABLE, "names": False}
        )
        for old, new in ((named, unnamed), (unnamed, named)):
            names = [feature["feature"] for feature in diffed(old, new)["features"]]
            assert names == ["6", "name of 5"]

    @pytest.mark.parametrize("weights", [{}, {(1, 0): 1.0}], ids=["none", "one"])
    def test_that_are_the_same(self, weights):
        same = model(kept=kept(weights))
        assert diffed(same, same)["differences"] == {}
        text = run("diff", "old.model", "new.model")
        assert f"0 weights added, 0 removed, 0 changed, {len(weights)} unchanged." in text


class TestModels:
    def test_that_were_trained(self):
        Path("binary.svm").write_text(data.svmlight_text(data.problem("binary")))
        run("train", "binary.svm", "-o", "old.model", "--l1", "0.5")
        run("train", "binary.svm", "-o", "new.model", "--l1", "2", "--passes", "2")
        old, new = load_model("old.model"), load_model("new.model")
        text = run("diff", "old.model", "new.model", "--top", "4")
        before = dict(zip(old.kept.names, old.kept.weights.tolist(), strict=True))
        after = dict(zip(new.kept.names, new.kept.weights.tolist(), strict=True))
        n_went = len(before.keys() - after.keys())
        assert n_went > 0
        assert f"{len(after.keys() - before.keys())} weights added, {n_went} removed" in text
        change = {name: after.get(name, 0.0) - before.get(name, 0.0) for name in before | after}
        most_changed = sorted(change, key=lambda name: -abs(change[name]))[:4]
        lines = [line.split() for line in text.splitlines()[-4:]]
        assert [line[3] for line in lines] == most_changed
        for line in lines:
            expected = [table.get(line[3], 0.0) for table in (change, before, after)]
            assert [float(cell) for cell in line[:3]] == pytest.approx(expected, abs=1e-3)
        assert re.search(r"(?m)^passes +1 +2$", text)
        assert re.search(r"(?m)^l1 +0\.5 +2$", text)
        assert re.search(r"(?m)^examples +300 +600$", text)
        intercepts = rf"{old.intercepts[0]:.6g} +{new.intercepts[0]:.6g}"
        assert re.search(rf"(?m)^intercept +{intercepts}$", text)
        assert not re.search(r"(?m)^(loss|store|classes|data) ", text)

    def test_of_several_classes(self):
        Path("multiclass.svm").write_text(data.svmlight_text(data.problem("multiclass")))
        run("train", "multiclass.svm", "-o", "old.model")
        run("train", "multiclass.svm", "-o", "new.model", "--rule", "ftrl")
        old, new = load_model("old.model"), load_model("new.model")
        text = run("diff", "old.model", "new.model")
        change = np.abs(np.subtract(new.intercepts, old.intercepts))
        found = re.findall(r"(?m)^[-+]\S+ +[-+]\S+ +[-+]\S+ +(\d)$", text)
        assert found == [new.classes[n] for n in np.argsort(-change)]

    def test_of_other_losses_are_compared_and_that_is_said(self):
        diffed(model(), model(task=Task(None, InvSqrt(0.5), Hinge())))
        assert "The losses differ" in run("diff", "old.model", "new.model")
        diffed(model(), model())
        assert "The losses differ" not in run("diff", "old.model", "new.model")


class TestRefused:
    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                model(),
                model(classes=("ham", "eggs")),
                "the classes 'ham', 'späm' and .* 'ham', 'eggs':",
            ),
            (
                model(),
                model(classes=("späm", "ham")),
                "the classes 'ham', 'späm' and .* 'späm', 'ham':",
            ),
            (
                model(),
                model(task=Task(None, InvSqrt(0.5), Squared()), classes=()),
                "the classes 'ham', 'späm' and .* numbers:",
            ),
            (model(), three_classes({}), "the classes 'ham', 'späm' and .* 'a', 'b', 'c':"),
            (model(store=HASHED), model(store={"kind": "hashed", "bits": 14}), r"2\^12 .* 2\^14"),
            (model(), model(store=HASHED), r"exact features and .* 2\^12 hashed"),
        ],
        ids=["classes", "order of classes", "task", "more classes", "bits", "store"],
    )
    def test_models_that_have_nothing_in_common(self, old, new, message):
        save_model("old.model", old)
        save_model("new.model", new)
        found = run("diff", "old.model", "new.model", code=1)
        assert re.match(f"Error: the old model .*{message}", found)
        assert found.count("\n") == 1

    def test_a_table_and_an_array_have_the_same_keys(self):
        array = model(store={"kind": "array"}, kept=kept({(1, 0): 1.0}, names=False))
        assert diffed(model(kept=kept({(1, 0): 1.0})), array)["same"] == 1

    def test_what_is_no_model(self):
        save_model("old.model", model())
        assert run("diff", "old.model", "missing", code=1).startswith("Error: missing")
        Path("data.svm").write_text("1 1:1\n")
        assert run("diff", "data.svm", "old.model", code=1).startswith("Error: data.svm")
        run("diff", "old.model", code=2)
