"""What an update cannot do is told, with the file and the reason, and nothing is written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import rarefy
from rarefy.errors import ConfigError, InputError
from tests.cli.test_cli import run
from tests.updating.test_update_files import N_OLD, rows, write


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, n, seed in (("old", N_OLD, 1), ("new", 300, 2), ("test", 300, 3)):
        write(f"{name}.svm", *rows(n, seed))
    rarefy.train("old.svm", output="old.model", l1=0.1)


def test_rows_that_are_read_in_another_way():
    """The folder is left as it was, whatever is wrong."""
    lines = Path("new.svm").read_text().splitlines()
    Path("new.vw").write_text("".join(f"{n.replace(' ', ' |words ', 1)}\n" for n in lines))
    Path("named.csv").write_text("label,a,b\n" + "1,0.5,y\n0,1,x\n" * 30)
    Path("nothing.svm").write_text("")
    Path("header.csv").write_text("label,a,b\n")
    Path("more.csv").write_text(Path("named.csv").read_text())
    rarefy.train("named.csv", output="named.model", categorical=["b"])
    rarefy.train("old.svm", output="grow.model", classes="grow")
    write("three.svm", *rows(60, 1, 3))
    rarefy.train("three.svm", output="three.model")
    before = {file: file.read_bytes() for file in Path().iterdir()}
    for asked, message in (
        (
            ["old.model", "new.vw"],
            r"new\.vw: old\.model has no weight for any feature of the first",
        ),
        (["old.model", "new.svm", "--holdout", "new.vw"], r"new\.vw: old\.model has no weight"),
        (["old.model", "new.svm", "--replay", "new.vw"], r"new\.vw: old\.model has no weight"),
        (["old.model", "new.svm", "--protect", "new.vw"], r"new\.vw: old\.model has no weight"),
        (["old.model", "named.csv"], r"named\.csv: old\.model has no weight"),
        (["named.model", "new.svm"], r"new\.svm: svmlight has no columns, so no column 'b'"),
        (["old.model", "three.svm"], r"three\.svm:\d+: the label is 2; one of the classes"),
        (["old.model", "new.svm", "--holdout", "three.svm"], r"three\.svm:\d+: the label is 2"),
        (["old.model", "nothing.svm"], r"nothing\.svm: there are no rows to learn\."),
        (
            ["old.model", "nothing.svm", "--holdout", "test.svm"],
            r"nothing\.svm: there are no rows to learn\.",
        ),
        (
            ["old.model", "new.svm", "--holdout", "nothing.svm"],
            r"nothing\.svm: there are no rows to judge the model by \(--holdout\)",
        ),
        (["named.model", "more.csv", "--protect", "header.csv"], r"header\.csv: .* to protect"),
        (["named.model", "more.csv", "--replay", "header.csv"], r"header\.csv: .* to learn again"),
        (["grow.model", "new.svm"], r"grow\.model was trained with classes that may grow"),
        (
            ["three.model", "three.svm", "--by", "auc"],
            "AUC is for two classes, and the model has 3",
        ),
        (["old.model", "new.svm", "--anchor", "nan"], "anchor=nan"),
    ):
        result = run("update", *asked, "-o", "new.model", "--max-negative", "20%", code=1)
        assert re.search(message, result.stderr), result.stderr
        assert {file: file.read_bytes() for file in Path().iterdir()} == before


def test_bad_matrices():
    X, y = rows(N_OLD, 1)
    old = rarefy.SparseOnlineClassifier(l1=0.1).fit(X, y)
    old.save("slim.model", slim=True)
    growing = rarefy.SparseOnlineClassifier().partial_fit(X, y, classes="grow")
    for model, data, asked, error, message in (
        (old, (X, y[:3]), {}, InputError, "X and y: .* rows, but 3 labels"),
        (old, (X[:, :2], y), {}, InputError, "X has 2 features"),
        (old, (X, y + 1), {}, InputError, "the label 2"),
        (growing, (X, y + 1), {}, InputError, "the label 2 is new"),
        (old, (X, y), {"holdout": (X, y[:3])}, InputError, "holdout: .* rows, but 3 labels"),
        (old, (X, y), {"holdout": (X, y, y)}, ConfigError, r"holdout: \(X, y\) is expected"),
        (old, (X, y), {"replay": (X, y[:3])}, InputError, "replay: .* rows, but 3 labels"),
        (old, (X, y), {"slice_by": "a"}, ConfigError, "slice_by is not a parameter of updates by"),
        (old, (X, y), {"anchor": "auto"}, ConfigError, "anchor='auto'"),
        (old, (X, y), {"sample_weight": np.zeros(len(y))}, InputError, "no held-out rows"),
        (old, (X[y == 1], y[y == 1]), {"by": "auc"}, InputError, "rows of both classes"),
        (rarefy.load("slim.model"), (X, y), {}, InputError, "slim or refitted"),
        (rarefy.SparseOnlineClassifier(refit=True).fit(X, y), (X, y), {}, InputError, "refitted"),
        ("old.model", (X, y), {}, InputError, "old.model is a file, so its data must be files"),
    ):
        with pytest.raises(error, match=message):
            rarefy.update(model, *data, max_negative=0.2, **asked)
