"""Pages of results are what their commands write from the records that are kept with the code."""

import importlib
import json

import pytest

from experiments.cluster import page as cluster_page
from experiments.records import MEASURED, RESULTS, Records

NAMES = sorted(file.stem for file in MEASURED.glob("*.jsonl"))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_written_from_its_record(name):
    module = importlib.import_module(f"experiments.{name}")
    records = Records.of_page(name, module.read)
    assert (RESULTS / f"{name}.md").read_text() == module.page(records)


def test_the_page_on_clusters_is_written_from_its_record():
    found = json.loads((MEASURED / "cluster.json").read_text())
    assert (RESULTS / "cluster.md").read_text() == cluster_page.page(found)


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    file = tmp_path / "some.jsonl"
    file.write_text('["a", [1]]\n["b", [2')
    records = Records(file, lambda key, value: (key, tuple(value)))
    assert records == {"a": (1,)}
    records.keep({"c": (3,)})
    assert Records(file, lambda key, value: (key, tuple(value))) == {"a": (1,), "c": (3,)}
