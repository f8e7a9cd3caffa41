"""Where the time of a single `predict_one` and `learn_one` goes: each line has all before it."""

import time
from collections.abc import Callable
from typing import Any

from benchmarks.one import N_ROWS, learned_dicts, learned_lines
from benchmarks.tables import markdown_table
from rarefy.jit import compiled, in_turn
from rarefy.streams.fast_path_loops import RowMemory, RowModel, learn_rows, located, score_rows

REPEATS = 200


@compiled
def nothing(model: RowModel, rows: RowMemory) -> int:
    return 0


@compiled
def placing(model: RowModel, rows: RowMemory) -> int:
    return located(model, rows)


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


def of_parts(model: Any, rows: list[Any], labels: list[Any]) -> list[float]:
    """Nanoseconds of the loops that a row goes through, and of both methods."""
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    bound = model._fast.bound
    reading, arguments = bound.object_reading, bound.object_arguments
    steps, given = reading.steps(is_learned=True), reading.given
    parts = [
        [(nothing, arguments)],
        [*steps, (nothing, arguments)],
        [*steps, (placing, arguments)],
        [*steps, (score_rows, arguments)],
        [*steps, (learn_rows, arguments)],
    ]
    found = []
    for part in parts:
        function: Any = in_turn(*part, given=given)
        assert function(rows[0], 1.0, 1.0) == 0
        found.append(
            nanoseconds(lambda x, y, function=function: function(x, 1.0, 1.0), rows, labels)
        )
    found.append(nanoseconds(lambda x, y: model.predict_one(x), rows, labels))
    of_lambda = nanoseconds(lambda x, y: None, rows, labels)
    found = [number - of_lambda for number in found]
    return [*found, nanoseconds(model.learn_one, rows, labels)]


def measure() -> str:
    names = (
        "into machine code, with a model",
        "the row is read",
        "its weights are found",
        "its score",
        "it is learned",
        "`predict_one`",
        "`learn_one`",
    )
    of_dicts, of_lines = of_parts(*learned_dicts()), of_parts(*learned_lines())
    table = [
        [name, f"{of_dict:.0f}", f"{of_line:.0f}"]
        for name, of_dict, of_line in zip(names, of_dicts, of_lines, strict=True)
    ]
    text = "Nanoseconds of a single call; a line of the first five includes those before it.\n\n"
    return text + markdown_table(["", "dict", "line of VW text"], table)


if __name__ == "__main__":
    print(measure())
