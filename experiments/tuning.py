# ruff: noqa: E501
"""Models that tune themselves, and models of N features.

`python -m experiments.tuning` writes docs/results/tuning.md. Data sets and folds are those of the
panel; models of N features are judged by its first folds.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tables import markdown_table
from experiments.panel.data import R2, SOURCES, Task, task
from experiments.panel.judging import judged
from experiments.panel.methods import Method, estimated
from experiments.records import RESULTS, Records, head_of_page
from rarefy import SparseOnlineClassifier, SparseOnlineRegressor

TABLES = ("diabetes", "housing", "iris", "wine", "breast cancer")
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "default, one pass": {"passes": 1},
    '`rule="auto"`': {"rule": "auto"},
    '`l1="auto"`': {"l1": "auto"},
}
TEXTS = ("sms", "movies", "books", "dvd", "imdb", "rcv1", "a9a", "spambase", "reuters", "news20")
SIZES = (20, 100, 500)
FOLDS = (0, 1)
Key = tuple[str, str | int]  # data set; setting, or number of features (0: all)


class Selected(NamedTuple):
    """Accuracy by fold: with l1 tuned while learning, and by refitting; weights of the latter."""

    tuned: list[float]
    refitted: list[float]
    weights: list[int]


def read(key: Any, value: Any) -> tuple[Key, Any]:
    return tuple(key), Selected(*value) if isinstance(key[1], int) else value


def in_raw_units(dataset: str, setting: str) -> list[float]:
    kinds = [
        partial(kind, **SETTINGS[setting])
        for kind in (SparseOnlineClassifier, SparseOnlineRegressor)
    ]
    method = Method(setting, lambda *rows: estimated(*rows, *kinds))
    return judged(method, task(SOURCES[dataset]), SOURCES[dataset].measure).scores


def selected(data: Task, n_features: int) -> Selected:
    """Of that many features; of 0, what the default keeps."""
    found = Selected([], [], [])
    for fold in FOLDS:
        X, y, X_held, y_held = data.split(fold)
        wanted = {"target_features": n_features} if n_features else {}
        refitted = SparseOnlineClassifier(**wanted).fit(X, y)
        found.refitted.append(refitted.score(X_held, y_held))
        found.weights.append(refitted.n_nonzero_)
        if n_features:
            order = np.random.default_rng(0).permutation(len(y))
            tuned = SparseOnlineClassifier(**wanted)
            tuned.partial_fit(X[order], y[order], classes=np.unique(y))
            found.tuned.append(tuned.score(X_held, y_held))
    return found


def score(values: list[float], measure: str) -> str:
    return f"{np.mean(values):.2f}" if measure == R2 else f"{100.0 * np.mean(values):.1f}"


def page(records: Mapping[Key, Any]) -> str:
    tables = [
        [
            f"{name}, {SOURCES[name].measure}",
            *(score(records[name, one], SOURCES[name].measure) for one in SETTINGS),
        ]
        for name in TABLES
    ]
    rows, better, cases = [], 0, 0
    for name in TEXTS:
        cells = []
        for size in SIZES:
            if (name, size) not in records:
                cells.append("")
                continue
            one = records[name, size]
            better, cases = better + (np.mean(one.refitted) > np.mean(one.tuned)), cases + 1
            cells.append(f"{100.0 * np.mean(one.tuned):.1f} → {100.0 * np.mean(one.refitted):.1f}")
        whole = records[name, 0]
        rows.append(
            [name, *cells, f"{100.0 * np.mean(whole.refitted):.1f} ({np.mean(whole.weights):,.0f})"]
        )
    return f"""{head_of_page("tuning")}# Tuning in a single pass, and models of N features

How good are models that [tune themselves](../how-to/tuning.md), and models of N features?

## Next to a full search

[Benchmarks](benchmarks.md#models-that-tune-themselves) compares tuning in a single pass with the best point of a grid by
cross-validation, on eleven data sets: accuracy, and cost in single fits.

## Tables in raw units

Accuracy in %, or R², in 5-fold cross-validation on tables as they come, without scaling:

{markdown_table(["", *SETTINGS], tables)}

## A model of N features

Accuracy in % on held-out rows, mean of {len(FOLDS)} folds of the [panel](panel.md), with default settings. Before the arrow,
`l1` was tuned during one pass, which is all that a stream allows; after it, features were selected by refitting.
Refitting was more accurate in {better} of {cases} cases.

{markdown_table(["data", *(f"{size} features" for size in SIZES), "all that the default keeps (weights)"], rows)}

With several classes, a feature counts once, and has a weight for each class. Data sets with fewer features than asked
for have no figure, and 20 newsgroups has none for 500, which takes long.
"""


def sizes_of(data: Task, name: str) -> list[int]:
    least = data.X.shape[1]
    return [size for size in SIZES if size < least and (name, size) != ("news20", 500)]


def main() -> None:
    records = Records.of_page("tuning", read)
    for name in TABLES:
        for setting in SETTINGS:
            if (name, setting) not in records:
                records.keep({(name, setting): in_raw_units(name, setting)})
                print(name, setting, records[name, setting], flush=True)
    for name in TEXTS:
        data = task(SOURCES[name])
        for size in (0, *sizes_of(data, name)):
            if (name, size) not in records:
                records.keep({(name, size): selected(data, size)})
                print(name, size, records[name, size], flush=True)
    (RESULTS / "tuning.md").write_text(page(records))


if __name__ == "__main__":
    main()
