"""Pages of results are what their commands write from the records that are kept with the code."""

import importlib

import pytest

from experiments.records import MEASURED, RESULTS, Records

NAMES = sorted(file.stem for file in MEASURED.glob("*.jsonl"))
MODULES = {"cluster": "experiments.cluster.page"}  # that is not named as the page


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_written_from_its_record(name):
    module = importlib.import_module(MODULES.get(name, f"experiments.{name}"))
    records = Records.of_page(name, module.read)
    assert (RESULTS / f"{name}.md").read_text() == module.page(records)


def test_a_line_that_was_cut_off_is_left_out(tmp_path):
    file = tmp_path / "some.jsonl"
    file.write_text('["a", [1]]\n["b", [2')
    records = Records(file, lambda key, value: (key, tuple(value)))
    assert records == {"a": (1,)}
    records.keep({"c": (3,)})
    assert Records(file, lambda key, value: (key, tuple(value))) == {"a": (1,), "c": (3,)}
