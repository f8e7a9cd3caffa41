"""Data that a model reads as it has learned to: what may differ, and what is said of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rarefy
from tests.cli.test_cli import error_of, run, train

ROWS = "".join(f"{'ab'[n % 2]},{n % 5},{'xy'[n % 2]}\n" for n in range(40))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("label,n,c\n" + ROWS)
    return tmp_path


def shown(*arguments: str) -> str:
    return run("train", *arguments, "-o", "some.model").stderr


def test_how_each_column_was_taken():
    assert shown("data.csv").startswith(
        "column label  label\ncolumn n      numeric\ncolumn c      categorical\n"
    )
    assert shown("data.csv", "--quiet") == ""
    told = run("train", "data.csv", "-o", "some.model", "--json").stdout.splitlines()
    assert json.loads(told[0]) == {
        "event": "columns",
        "columns": {"label": "label", "n": "numeric", "c": "categorical"},
    }


def test_of_many_columns_the_first_are_shown():
    names = [f"c{n}" for n in range(100)]
    rows = "".join(f"{n % 2}{',1' * 100}\n" for n in range(10))
    Path("wide.csv").write_text(",".join(["label", *names]) + "\n" + rows)
    assert shown("wide.csv").splitlines()[30] == "... and 71 more columns: 71 numeric"


def test_the_label_is_shown_wherever_it_is():
    names = [f"c{n}" for n in range(31)]
    rows = "".join(f"{'1,' * 31}{n % 2}\n" for n in range(10))
    Path("wide.csv").write_text(",".join([*names, "label"]) + "\n" + rows)
    assert shown("wide.csv").splitlines()[30:32] == [
        "column label  label",
        "... and 1 more column: 1 numeric",
    ]


@pytest.mark.parametrize("command", [("predict",), ("evaluate",), ("flips", "some.model")])
def test_a_new_column_is_passed_over(command):
    train("data.csv")
    Path("new.csv").write_text("label,n,c,more\n" + ROWS.replace("\n", ",1\n"))
    name, *old = command
    expected = run(name, *old, "some.model", "data.csv").stdout
    for options, said in (([], "new columns are ignored: 'more'"), (["--ignore", "more"], "")):
        found = run(name, *old, "some.model", "new.csv", *options)
        assert found.stdout.replace("new.csv", "data.csv") == expected
        assert said in found.stderr
        assert bool(found.stderr) == bool(said)


def test_another_dialect_and_label():
    train("data.csv")
    expected = run("evaluate", "some.model", "data.csv").stdout
    Path("new.csv").write_text("n/c/truth\n" + "".join(_turned(row) for row in ROWS.split()))
    assert "--label" in error_of("evaluate", "some.model", "new.csv", "--delimiter", "/")
    options = ("--delimiter", "/", "--label", "truth")
    assert run("evaluate", "some.model", "new.csv", *options).stdout == expected
    again = run("train", "--resume", "some.model", "new.csv", *options, "-o", "more.model")
    assert again.exit_code == 0


def _turned(row: str) -> str:
    label, n, c = row.split(",")
    return f"{n}/{c}/{label}\n"


def test_quotes_that_are_none():
    train("data.csv", "--l1", "0")
    Path("new.csv").write_text('n,c\n1,x"\n,"y\n')
    assert "--no-quotes" in error_of("predict", "some.model", "new.csv")
    assert run("predict", "some.model", "new.csv", "--no-quotes").stdout.count("\n") == 2


@pytest.mark.parametrize("command", [("predict",), ("evaluate",), ("flips", "some.model")])
def test_words_among_numbers(command):
    """What to do about them is something that the command can do."""
    train("data.csv")
    Path("new.csv").write_text("label,n,c\na,many,x\n")
    name, *old = command
    error = error_of(name, *old, "some.model", "new.csv")
    assert "The model was trained on numbers in this column; leave missing ones out." in error
    assert "--categorical" not in error
    assert "--categorical" in error_of("train", "new.csv", "--numeric", "n", "-o", "other.model")


@pytest.fixture
def of_numbers() -> None:
    """A model that knows no columns, and a table in three formats."""
    Path("rows.svm").write_text("".join(f"{n % 2} {n % 2 + 1}:1\n" for n in range(40)))
    train("rows.svm")
    texts = [f"see you at {n} for lunch" for n in range(40)]
    Path("new.csv").write_text("label,m\n" + "".join(f"{n % 2},{t}\n" for n, t in enumerate(texts)))
    rows = ({"label": n % 2, "m": text} for n, text in enumerate(texts))
    Path("new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {"label": [n % 2 for n in range(40)], "m": texts}
    parquet.write_table(pa.table(table), "new.parquet")
    parquet.write_table(pa.table({**table, "m": pa.nulls(40, pa.date32())}), "dates.parquet")


@pytest.mark.parametrize("command", ["predict", "evaluate"])
@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_table_for_a_model_without_columns(of_numbers, command, format):
    found = run(command, "some.model", f"new.{format}")
    assert found.exit_code == 0
    assert "the kinds of columns are inferred: 'm' is categorical." in found.stderr
    assert "--text" not in found.stderr


def test_advice_for_a_model_without_columns(of_numbers):
    error = error_of("predict", "some.model", "dates.parquet")
    assert "use --ignore m" in error
    assert "--categorical" not in error
    error = error_of("evaluate", "some.model", "new.csv", "--label", "no")
    assert "add a line with the names" in error
    assert "--no-header" not in error


def test_numbers_for_a_model_with_columns(of_numbers):
    train("data.csv")
    assert "was trained on the columns c, n: give" in error_of("predict", "some.model", "rows.svm")


def test_a_model_of_a_matrix_has_no_names():
    model = rarefy.SparseOnlineClassifier(passes=1).fit([[0.0, 1.0], [1.0, 0.0]] * 9, [0, 1] * 9)
    model.save("matrix.model")
    said = error_of("predict", "matrix.model", "data.csv")
    assert "a model that was fitted to a matrix predicts matrices, in Python" in said


def test_no_feature_is_known():
    train("data.csv", "--l1", "0")
    Path("other.jsonl").write_text('{"d": "x"}\n')
    said = run("predict", "some.model", "other.jsonl").stderr
    assert "has no weight for any feature of these data (1 row), so" in said
    Path("same.jsonl").write_text('{"c": "x"}\n')
    assert run("predict", "some.model", "same.jsonl").stderr == ""


@pytest.mark.parametrize(
    ("labels", "options", "is_refused"),
    [
        ([n * n % 997 for n in range(200)], [], True),
        ([n * n % 997 for n in range(200)], ["--max-classes", "200"], False),
        ([n * n % 997 for n in range(200)], ["--loss", "squared"], False),
        ([18 + n % 50 for n in range(500)], [], True),
        ([n % 50 for n in range(500)], [], False),
        ([n % 50 for n in range(100)], [], True),
        ([5 * (n % 20) for n in range(40)], [], False),
    ],
)
def test_numbers_to_predict(labels, options, is_refused):
    Path("data.csv").write_text(
        "label,a\n" + "".join(f"{y},{n % 3}\n" for n, y in enumerate(labels))
    )
    if is_refused:
        message = error_of("train", "data.csv", "-o", "some.model", *options)
        assert "look like numbers to predict" in message
        assert "--loss squared" in message
    else:
        train("data.csv", *options)


def test_lines_of_a_pipe_are_answered_as_they_come():
    """What is behind the first line is not there before its answer has come."""
    train("data.csv", "--l1", "0")
    command = [sys.executable, "-m", "rarefy", "predict", "some.model", "-", "--format", "json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for row, answer in ((b'{"c": "x"}', b"a\n"), (b'{"c": "y"}', b"b\n")):
            process.stdin.write(row + b'\n{"c"')
            process.stdin.flush()
            assert process.stdout.readline() == answer
            process.stdin.write(b': "x"}\n')
            process.stdin.flush()
            assert process.stdout.readline() == b"a\n"


def test_tags_are_in_the_predictions():
    Path("data.vw").write_text("1 |a x\n-1 |a y\n" * 20)
    train("data.vw", "--l1", "0")
    Path("new.vw").write_text("'one |a x\n|a y\n1 1 three|a x\n")
    assert run("predict", "some.model", "new.vw").stdout == "1\tone\n-1\n1\tthree\n"


def test_one_column_is_csv_to_a_model_of_columns():
    Path("words.csv").write_text("label,words\n" + "a,one two\nb,three four\n" * 20)
    train("words.csv", "--text", "words")
    lines = b"words\none two\nthree\n"
    answer = run("predict", "some.model", "-", stdin=lines)
    assert answer.stdout == "a\nb\n"
    assert "Warning: standard input is read as CSV with one column" in answer.stderr
    told = run("predict", "some.model", "-", "--format", "csv", stdin=lines)
    assert (told.stdout, told.stderr) == (answer.stdout, "")
    Path("new").write_bytes(lines)
    assert "new is read as CSV with one column" in run("predict", "some.model", "new").stderr


def test_columns_between_blanks():
    Path("table.txt").write_text("a 1 2\nb 3 4\n")
    assert "Between columns, write commas or tabs." in error_of("train", "table.txt", "-o", "m")


def test_one_column_is_not_inferred_without_a_model():
    Path("new").write_text("words\none two\n")
    assert "the format cannot be inferred" in error_of("train", "new", "-o", "some.model")
