"""Models of many kinds, and a digest of the model file of each: run once by each way to compile.

python -m tests.jit.panel FOLDER CASE ...
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np

import rarefy
from rarefy import SparseOnlineClassifier as Classifier
from rarefy import SparseOnlineRegressor as Regressor
from rarefy.rules import RULES
from tests import data
from tests.rules.test_custom_rule import ClippedFobos

FORMATS = {
    "svm": ["1 3:0.5 7:1e-3", "-1 2:1 3:-2.25", "1 7:3"],
    "vw": ["1 |a x:0.5 y |b z", "-1 2.0 |a y:2 |b long_name_of_a_feature:1e-3", "1 |a x"],
    "csv": ["label,a,b", "1,0.5,red", "-1,-2.25,green", "1,,red"],
    "jsonl": ['{"label": 1, "a": 0.5, "b": ["red", "blue"]}', '{"label": -1, "a": 2, "c": "e"}'],
}


def fitted(estimator, kind: str, **parameters):
    problem = data.problem(kind, n=60, d=8)
    return estimator(**parameters).fit(problem.csr, problem.y)


def trained(folder: Path, ending: str, **parameters):
    path = folder / f"rows.{ending}"
    path.write_text("\n".join(FORMATS[ending]) + "\n")
    return rarefy.train(path, rule="ftrl", l1=1e-3, **parameters)


def swept(rule: str):
    problem = data.problem("binary", n=60, d=8)
    found = rarefy.sweep(problem.csr, problem.y, rule=rule, l1=[1e-3, 1e-2, 0.1], folds=3)
    return {name: np.asarray(column).tolist() for name, column in found.by_fold.items()}


def refused() -> str:
    try:
        fitted(Regressor, "regression", rule="fobos", loss="squared", eta0=1e40)
    except rarefy.RarefyError as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("it was not refused")


KINDS = {
    "binary": (Classifier, "logistic"),
    "multiclass": (Classifier, "hinge"),
    "regression": (Regressor, "squared"),
}


def of_rule(rule: str, kind: str):
    estimator, loss = KINDS[kind]
    gentler = {"l2": 0.1} if rule == "pegasos" else {}  # its steps are 1/(l2 t)
    return fitted(estimator, kind, rule=rule, loss=loss, **gentler)


def kinds_of(rule: str) -> list[str]:
    return [kind for kind in KINDS if kind != "regression" or not RULES[rule].by_margin]


CASES: dict[str, Callable[[Path], object]] = {
    "own rule": lambda _: fitted(Classifier, "binary", rule=ClippedFobos(l1=0.01)),
    "refused": lambda _: refused(),
    "sweep": lambda _: swept("frda"),
    "tuned": lambda _: fitted(Classifier, "binary", rule="auto"),
    **{
        f"{rule} {kind}": lambda _, rule=rule, kind=kind: of_rule(rule, kind)
        for rule in RULES
        for kind in kinds_of(rule)
    },
    **{
        f"{ending} {store}": lambda folder, ending=ending, store=store: trained(
            folder, ending, store=store
        )
        for ending in FORMATS
        for store in ("table", "hashed", "array")
        if store != "array" or ending == "svm"
    },
}
QUICK = ["own rule", "refused", "ftrl binary"]
# Each rule with one kind of problem, and each format with one store.
ROTATING = [
    f"{rule} {kind if kind in kinds_of(rule) else 'binary'}"
    for rule, kind in zip(RULES, cycle(KINDS), strict=False)
]
BROAD = [
    *("sweep", "tuned", *(f"frda {kind}" for kind in KINDS), *ROTATING),
    *("svm table", "svm array", "vw hashed", "csv table", "jsonl hashed"),
]


def digest_of(made: object, folder: Path) -> str:
    if hasattr(made, "save"):
        made.save(folder / "model")
        content = (folder / "model").read_bytes()
    else:
        content = repr(made).encode()
    return hashlib.sha256(content).hexdigest()


def digests(folder: Path, cases: list[str]) -> dict[str, str]:
    return {case: digest_of(CASES[case](folder), folder) for case in cases}


if __name__ == "__main__":
    print(json.dumps(digests(Path(sys.argv[1]), sys.argv[2:])))
