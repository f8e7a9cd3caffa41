"""Where the time of a single `predict_one` and `learn_one` goes: each line has all before it."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.one import N_ROWS, learned_dicts
from benchmarks.tables import markdown_table
from rarefy.jit import compiled
from rarefy.streams.fast_path_loops import (
    RowMemory,
    RowModel,
    _placed,
    _read,
    learn_rows,
    score_rows,
)

REPEATS = 200


@compiled
def nothing(model: RowModel, rows: RowMemory) -> int:
    return rows.n_rows[0]  # type: ignore[no-any-return]


@compiled
def reading(model: RowModel, rows: RowMemory) -> int:
    return 0 if _read(rows) else 1


@compiled
def placing(model: RowModel, rows: RowMemory) -> int:
    return _placed(model, rows)


def nanoseconds(call: Callable[[Any, Any], Any], rows: list[Any], labels: list[Any]) -> float:
    """A call of the fastest of several runs, without the loop."""
    best, of_loop = float("inf"), float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        for x, y in zip(rows, labels, strict=True):
            call(x, y)
        between = time.perf_counter()
        for x, y in zip(rows, labels, strict=True):  # noqa: B007
            pass
        end = time.perf_counter()
        best, of_loop = min(best, between - start), min(of_loop, end - between)
    return (best - of_loop) / N_ROWS * 1e9


def measure() -> str:
    model, rows, labels = learned_dicts()
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    bound, memory = model._hot.bound.arguments
    given = np.zeros(3)
    own = memory._replace(
        n_rows=np.ones(1, np.int64),
        dicts=given[:1].view(np.int64),
        y=given[1:2],
        importance=given[2:],
    )
    parts: dict[str, Any] = {
        "into machine code, with a model": nothing,
        "the dict is read": reading,
        "its weights are found": placing,
        "its score": score_rows,
        "it is learned": learn_rows,
    }
    found = {}
    for name, loop in parts.items():
        function = loop.python_function(bound, own, given=given)
        found[name] = nanoseconds(
            lambda x, y, function=function: function(x, 1.0, 1.0), rows, labels
        )
    of_lambda = nanoseconds(lambda x, y: None, rows, labels)
    found = {name: number - of_lambda for name, number in found.items()}
    found["`predict_one`"] = (
        nanoseconds(lambda x, y: model.predict_one(x), rows, labels) - of_lambda
    )
    found["`learn_one`"] = nanoseconds(model.learn_one, rows, labels)
    table = [[name, f"{number:.0f}"] for name, number in found.items()]
    text = "Nanoseconds of a single call; a line of the first five includes those before it.\n\n"
    return text + markdown_table(["", "ns"], table)


if __name__ == "__main__":
    print(measure())
