"""What one pass of every method takes, in passes of fobos on the same rows."""

from statistics import median
from time import process_time
from typing import Any, NamedTuple

from benchmarks.data import zipf_rows
from experiments.field.methods import METHODS
from experiments.peers.data import task
from experiments.peers.plan import FULL
from rarefy.rules import FINITE_DATA

MADE, UNIT = "made", "fobos"
DATASETS = (MADE, "books", "imdb")
REPEATS = 7
PASSES_OF_FINITE = 4


class Cost(NamedTuple):
    """Processor time of the fastest pass of a method, and of the fastest of fobos beside it."""

    seconds: float
    of_fobos: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.of_fobos


def read(key: Any, value: Any) -> tuple[tuple[str, str], Cost]:
    return tuple(key), Cost(*value)


def rows_of(dataset: str) -> tuple[Any, Any]:
    if dataset == MADE:
        made = zipf_rows(50_000, 100_000)
        return made.X, made.y
    found = task(dataset, FULL.most_rows, FULL.n_folds)
    return found.X, found.y


def model_of(name: str) -> tuple[Any, int]:
    """With the defaults, and how many passes it makes."""
    method = METHODS[name]
    passes = PASSES_OF_FINITE if method.rule in FINITE_DATA else 1
    return method.model(passes, shuffle=False), passes


def cost(name: str, X: Any, y: Any) -> Cost:
    """The two take turns, so that what disturbs one disturbs the other."""
    (model, passes), (unit, _) = model_of(name), model_of(UNIT)
    times: dict[int, list[float]] = {0: [], 1: []}
    for one in (model, unit):
        one.fit(X[:100], y[:100])  # compiles, or loads what was compiled
    for _ in range(REPEATS):
        for number, one in enumerate((model, unit)):
            began = process_time()
            one.fit(X, y)
            times[number].append(process_time() - began)
    return Cost(min(times[0]) / passes, min(times[1]))


def table(found: dict[tuple[str, str], Cost]) -> str:
    """All methods by their median over the data sets, the cheapest first."""
    names = {name for name, _ in found}
    by_name = {n: [found[n, d].ratio for d in DATASETS] for n in METHODS if n in names}
    order = sorted(by_name, key=lambda name: median(by_name[name]))
    lines = [
        f"| `{name}` | {median(by_name[name]):.1f} | "
        + " | ".join(f"{ratio:.1f}" for ratio in by_name[name])
        + " |"
        for name in order
    ]
    head = f"| | median | {' | '.join(DATASETS)} |\n|{'---|' * (len(DATASETS) + 2)}"
    return "\n".join([head, *lines])
