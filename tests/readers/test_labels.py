"""Labels that are words: how many different ones there may be, and that many are no work."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import rarefy
from rarefy import arrays as rows
from rarefy.cli import main
from rarefy.errors import ConfigError, InputError, RarefyWarning
from rarefy.readers import read
from rarefy.readers.features.labels import FIRST_SIZE
from rarefy.readers.formats import csv_columns, jsonl
from rarefy.streams.classes import classes_of
from rarefy.streams.run import Run

N_IDS = 1001


def written(path: Path, labels: list[str]) -> Path:
    """A file in the format of its ending with these labels, which are words."""
    if path.suffix == ".csv":
        path.write_text("label,x\n" + "".join(f"{label},1\n" for label in labels))
    elif path.suffix == ".jsonl":
        rows = ({"x": 1, "label": label, "y": "é"} for label in labels)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table({"label": labels, "x": [1.0] * len(labels)}), path)
    return path


def labels_of(reader) -> list[str]:
    return [batch.label(row) for batch in reader for row in range(len(batch.labels))]


@pytest.mark.parametrize(
    ("name", "place"), [("a.csv", ":1002: "), ("a.jsonl", ":1001: "), ("a.parquet", ": ")]
)
class TestMostClasses:
    def test_more_labels_are_refused(self, tmp_path, name, place):
        path = written(tmp_path / name, [f"user {n}" for n in range(N_IDS)])
        with pytest.raises(InputError) as error:
            list(read(path, bad_lines="skip"))
        assert str(error.value).startswith(f"{path}{place}there are more than 1,000 different")
        assert "--label" in str(error.value)
        assert "--max-classes" in str(error.value)

    def test_as_many_are_taken(self, tmp_path, name, place):
        labels = [f"user {n % 1000}" for n in range(N_IDS)]
        assert labels_of(read(written(tmp_path / name, labels))) == labels

    def test_more_can_be_allowed(self, tmp_path, name, place):
        labels = [f"user {n % 5000}, a name of some length" for n in range(6000)]
        path = written(tmp_path / name, [f'"{a}"' for a in labels] if name == "a.csv" else labels)
        assert labels_of(read(path, max_classes=5000)) == labels
        with pytest.raises(InputError, match=r"more than 4,999 different labels"):
            list(read(path, max_classes=4999))

    def test_classes_that_are_named_may_be_more(self, tmp_path, name, place):
        labels = [f"user {n}" for n in range(3000)]
        path = written(tmp_path / name, labels)
        for most in (1000, FIRST_SIZE):
            assert labels_of(read(path, classes=labels, max_classes=most)) == labels
        with pytest.raises(InputError) as error:
            list(read(path, classes=labels[1:]))
        assert len(str(error.value)) < len(str(path)) + 400


def test_numbers_that_are_more_are_no_classes(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{n} 1:1\n" for n in range(N_IDS)))
    (batch,) = read(path)
    with pytest.raises(InputError, match=r"look like numbers to predict.*--max-classes"):
        classes_of(batch, 1000)
    assert len(classes_of(batch, N_IDS)) == N_IDS


@pytest.mark.parametrize("most", [1, 0, -1, 2.5, True, "many"])
def test_a_whole_number_is_expected(tmp_path, most):
    path = written(tmp_path / "a.csv", ["a", "b"])
    with pytest.raises(ConfigError, match="max_classes="):
        read(path, max_classes=most)


@pytest.mark.parametrize("name", ["a.csv", "a.svm"])
def test_the_command_takes_a_limit(tmp_path, name):
    path = tmp_path / name
    path.write_text(
        "label,x\na,1\nb,1\nc,2\n" if name == "a.csv" else "1 1:1\n2 1:1\n3 1:1\n",
    )
    arguments = ["train", str(path), "-o", str(tmp_path / "m"), "--max-classes"]
    refused = CliRunner().invoke(main, [*arguments, "2"])
    assert refused.exit_code == 1
    assert "--max-classes" in refused.output
    assert CliRunner().invoke(main, [*arguments, "3"]).exit_code == 0


def test_a_bad_row_leaves_no_label(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,x\na,1\nnever,what\nb,1\n")
    (batch,) = read(path, bad_lines="skip", numeric=["x"])
    assert batch.label_names == ("a", "b")
    path = tmp_path / "a.jsonl"
    path.write_text('{"label": "a"}\n{"label": "never", "x": }\n{"label": "c", "label": "b"}\n')
    (batch,) = read(path, bad_lines="skip")
    assert batch.label_names == ("a", "b")


@pytest.mark.parametrize(
    ("name", "module", "parser"),
    [("a.csv", csv_columns, "parse_csv"), ("a.jsonl", jsonl, "parse_jsonl")],
)
def test_many_labels_are_learned_in_a_few_calls(tmp_path, monkeypatch, name, module, parser):
    calls = []
    parse = getattr(module, parser)
    monkeypatch.setattr(module, parser, lambda *given: calls.append(1) or parse(*given))
    labels = [f"user {n}" for n in range(20_000)]
    path = written(tmp_path / name, labels)
    assert labels_of(read(path, max_classes=20_000)) == labels
    assert len(calls) < 20


@pytest.mark.parametrize("store", ["table", "hashed"])
def test_the_more_classes_the_fewer_rows_a_step_has(tmp_path, monkeypatch, store):
    """So that a signal is soon heeded; a batch of few rows can take minutes otherwise."""
    path = written(tmp_path / "a.csv", [f"user {n % 100}" for n in range(500)])
    learn, parts = Run._learn_whole, []
    monkeypatch.setattr(
        Run, "_learn_whole", lambda run, part: parts.append(part) or learn(run, part)
    )
    whole = rarefy.train(path, store=store, passes=2)
    assert len(parts) == 2
    monkeypatch.setattr(rows, "PORTION", 5_000)
    in_steps = rarefy.train(path, store=store, passes=2)
    assert len(parts) > 20
    for name, weight in whole.weights_.items():
        assert in_steps.weights_[name].tolist() == weight.tolist()


@pytest.mark.parametrize("other", ["Yes", "yes ", " YES"])
def test_labels_that_are_nearly_the_same(tmp_path, other):
    path = tmp_path / "rows.csv"
    path.write_text(f"label,a\nyes,1\nno,2\n{other},3\n")
    with pytest.warns(RarefyWarning, match=r"are two classes, and differ only in case or blanks"):
        rarefy.train(path)
