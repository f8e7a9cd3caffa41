"""Rows that come one at a time, beside River, Vowpal Wabbit and scikit-learn."""

import itertools
import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from benchmarks.tables import markdown_table
from rarefy import SparseOnlineClassifier

N_ROWS = 150  # few, so that some runs are not interrupted on a busy machine
REPEATS = 20


def best_in_turn(runs: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Microseconds a row of the fastest run of each; they take turns.

    Each runs twice in its turn, and the second time counts: then the rows are in the cache, as they
    are where they have just been made.
    """
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(REPEATS):
        for name, run in runs.items():
            run()
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) / N_ROWS * 1e6)
    return best


def one_by_one(model: Any, rows: list[Any], labels: list[Any]) -> Callable[[], None]:
    def run() -> None:
        for x, y in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    return run


def only_learning(model: Any, rows: list[Any], labels: list[Any]) -> Callable[[], None]:
    def run() -> None:
        for x, y in zip(rows, labels, strict=True):
            model.learn_one(x, y)

    return run


def learned_dicts(
    rule: str = "scale-free",
) -> tuple[Any, list[dict[str, float]], list[bool]]:
    """Rows with 20 numbers, and a model that has learned them."""
    draw = random.Random(0)
    rows = [{f"feature{k}": draw.random() for k in range(20)} for _ in range(N_ROWS)]
    labels = [draw.random() < 0.5 for _ in rows]
    model = SparseOnlineClassifier(rule=rule).start(classes=[False, True])
    return model.learn_many(rows * 2, labels * 2), rows, labels


def learned_lines() -> tuple[Any, list[str], list[int]]:
    """The same as lines of VW text."""
    draw = random.Random(0)
    features = ("".join(f" f{k}:{draw.random():.6f}" for k in range(20)) for _ in range(N_ROWS))
    labels = [draw.choice((-1, 1)) for _ in range(N_ROWS)]
    rows = [f"{y} |{x}" for x, y in zip(features, labels, strict=True)]
    model = SparseOnlineClassifier().start(classes=[-1, 1], format="vw")
    return model.learn_many(rows * 2), rows, labels


def other_forms() -> dict[str, float]:
    """Rows that become lines first."""
    model, rows, labels = learned_dicts()
    header = ",".join(rows[0])
    forms = {
        "a line of JSON, `learn_one`": [json.dumps(row) for row in rows],
        "a row of CSV": [f"{header}\n{','.join(map(repr, row.values()))}" for row in rows],
        "a list of pairs": [list(row.items()) for row in rows],
        "a dict with a dict in it": [{**row, "more": {"feature0": 1.0}} for row in rows],
    }
    known = {"classes": [False, True], "numeric": [*rows[0]]}
    of_csv = SparseOnlineClassifier().start(format="csv", **known)
    of_csv.learn_many(rows * 2, labels * 2)
    crossed = SparseOnlineClassifier().start(cross=[("feature0", "feature1")], **known)
    crossed.learn_many(rows * 2, labels * 2)
    runs = {
        name: only_learning(of_csv if "CSV" in name else model, some, labels)
        for name, some in forms.items()
    }
    return best_in_turn({**runs, "a dict with a cross": only_learning(crossed, rows, labels)})


def new_features() -> dict[str, float]:
    """One in each row."""
    model, rows, labels = learned_dicts()
    numbers = itertools.count()

    def with_new() -> list[dict[str, float]]:
        return [{**row, f"new{next(numbers)}": 1.0} for row in rows]

    def one_by_one() -> None:
        for x, y in zip(with_new(), labels, strict=True):
            model.learn_one(x, y)

    return best_in_turn(
        {
            "a new feature in each row, `learn_one`": one_by_one,
            "… `learn_many`": lambda: model.learn_many(with_new(), labels),
        }
    )


def dicts() -> dict[str, float]:
    from river import linear_model, preprocessing

    ours, rows, labels = learned_dicts()
    like_river, _, _ = learned_dicts("ogd")
    watched, _, _ = learned_dicts()
    watched.watch()

    def river(*, is_scaled: bool) -> Any:
        model = linear_model.LogisticRegression()
        return preprocessing.StandardScaler() | model if is_scaled else model

    return best_in_turn(
        {
            "`predict_one` and `learn_one`": one_by_one(ours, rows, labels),
            '… with `rule="ogd"`': one_by_one(like_river, rows, labels),
            "… River's LogisticRegression": one_by_one(river(is_scaled=False), rows, labels),
            "… with its StandardScaler": one_by_one(river(is_scaled=True), rows, labels),
            "`learn_one`": only_learning(ours, rows, labels),
            "… of a model with `watch`": only_learning(watched, rows, labels),
            "`learn_many`": lambda: ours.learn_many(rows, labels),
            '… with `rule="ogd"`, learning': lambda: like_river.learn_many(rows, labels),
            "… `learn_one` of River's LogisticRegression": only_learning(
                river(is_scaled=False), rows, labels
            ),
            "… with its StandardScaler, learning": only_learning(
                river(is_scaled=True), rows, labels
            ),
        }
    )


def beside_a_learner() -> dict[str, float]:
    """How long a prediction takes while another thread learns one row after the other."""
    model, rows, labels = learned_dicts()
    is_over = threading.Event()

    def learn() -> None:
        while not is_over.is_set():
            only_learning(model, rows, labels)()

    learner = threading.Thread(target=learn)
    learner.start()
    times = []
    try:
        for n in range(20000):
            start = time.perf_counter()
            model.predict_one(rows[n % N_ROWS])
            times.append((time.perf_counter() - start) * 1e6)
    finally:
        is_over.set()
        learner.join()
    return {
        "`predict_one` while another thread learns, median": float(np.median(times)),
        "… 99 of 100 take less than": float(np.quantile(times, 0.99)),
    }


def lines() -> dict[str, float]:
    import vowpalwabbit

    ours, rows, _ = learned_lines()
    theirs = vowpalwabbit.Workspace("--loss_function logistic --quiet")

    def learn(model: Any, method: str) -> Callable[[], None]:
        def run() -> None:
            for row in rows:
                getattr(model, method)(row)

        return run

    return best_in_turn(
        {
            "a line of VW text, `learn_one`": learn(ours, "learn_one"),
            "… Vowpal Wabbit's `learn`": learn(theirs, "learn"),
        }
    )


def matrix_rows() -> dict[str, float]:
    X = sparse.random(N_ROWS, 1000, density=0.02, format="csr", random_state=0)
    y = np.random.default_rng(0).integers(2, size=N_ROWS)
    rows = [X[n : n + 1] for n in range(N_ROWS)]

    def run_with(model: Any) -> Callable[[], None]:
        model.partial_fit(X, y, classes=[0, 1])

        def run() -> None:
            for n, row in enumerate(rows):
                model.predict(row)
                model.partial_fit(row, y[n : n + 1])

        return run

    return best_in_turn(
        {
            "a CSR row, `predict` and `partial_fit`": run_with(SparseOnlineClassifier()),
            "… scikit-learn's SGDClassifier": run_with(SGDClassifier(loss="log_loss")),
        }
    )


def measure() -> str:
    found = {**dicts(), **new_features(), **other_forms(), **lines(), **matrix_rows()}
    found |= beside_a_learner()
    text = (
        "Microseconds per row of 20 features, the best of several short runs that took turns. The "
        "features are known, unless it says otherwise. River's LogisticRegression is the algorithm "
        'of `rule="ogd"`; with its scaler, it is comparable to the default rule.\n\n'
    )
    rows = [[name, f"{microseconds:.1f}"] for name, microseconds in found.items()]
    return text + markdown_table(["", "µs"], rows)


if __name__ == "__main__":
    print(measure())
