"""Compare default settings and write docs/results/panel.md: `make panel`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.data import REAL_DATA
from experiments import data as shared
from experiments.digest import digest_of
from experiments.panel import data, judging, methods
from experiments.panel.data import R2, SOURCES, Task, fresh, task
from experiments.panel.judging import Outcome, judged
from experiments.panel.methods import METHODS, OURS, at_hand
from experiments.panel.page import Duel, Outcomes, Repeated, Shape, behind, page
from experiments.records import Records
from experiments.reproduction import uci

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "panel"
# data set, method, the code that it was run with, and the number of the repeat, if it is one
Key = tuple[str, str, str] | tuple[str, str, str, int]


def read(key: Any, value: Any) -> tuple[Key, Outcome]:
    return tuple(key), Outcome(*value)


def records_in(kept: Path) -> Records[Key, Outcome]:
    kept.mkdir(parents=True, exist_ok=True)
    return Records(kept / "outcomes.jsonl", read)


def digests() -> dict[str, str]:
    """Of the code that each method depends on."""
    modules = (shared, uci, data, judging, methods)
    theirs, ours = (digest_of(modules, with_library=own) for own in (False, True))
    return {name: ours if name == OURS else theirs for name in METHODS}


def judge(records: Records[Key, Outcome], key: Key, made: Task) -> Outcome:
    """The outcome, unless it is known."""
    if key not in records:
        dataset, name, *_ = key
        with threadpool_limits(1):  # many would wait for each other on a busy machine
            records.keep({key: judged(METHODS[name], made, SOURCES[dataset].measure)})
    return records[key]


def run(datasets: Iterable[str], kept: Path, console: Console) -> tuple[Outcomes, dict[str, Shape]]:
    """All methods on the data sets, but for what was run before with the same code."""
    records, code = records_in(kept), digests()
    outcomes: Outcomes = {}
    shapes: dict[str, Shape] = {}
    for dataset in track(list(datasets), "Data sets", console=console):
        source = SOURCES[dataset]
        made = task(source)
        n_classes = 0 if source.measure == R2 else len(np.unique(made.y))
        shapes[dataset] = (*made.X.shape, n_classes)
        for name in at_hand():
            if sparse.issparse(made.X) and not METHODS[name].takes_sparse:
                continue
            outcomes[dataset, name] = judge(records, (dataset, name, code[name]), made)
    return outcomes, shapes


def run_again(found: Iterable[Duel], kept: Path, console: Console) -> list[Repeated]:
    """Duels once more, on fresh splits."""
    records, code = records_in(kept), digests()
    repeated = []
    for duel in track(list(found), "Again", console=console):
        tasks, *samples = fresh(SOURCES[duel.dataset])
        ours, theirs = (
            [
                score
                for number, made in enumerate(tasks)
                for score in judge(records, (duel.dataset, name, code[name], number), made).scores
            ]
            for name in (OURS, duel.peer)
        )
        repeated.append(Repeated(duel, ours, theirs, *samples))
    return repeated


@click.command()
@click.option("--datasets", help="Only these, with semicolons; written to build/panel/.")
def main(datasets: str | None) -> None:
    """Default settings next to default settings. Stopped, it goes on where it was."""
    if not REAL_DATA.is_dir():
        raise click.ClickException(f"no data in {REAL_DATA}; set RAREFY_DATA to the folder.")
    file = (KEPT if datasets else ROOT / "docs" / "results") / "panel.md"
    console = Console()
    outcomes, shapes = run(datasets.split(";") if datasets else SOURCES, KEPT, console)
    file.write_text(page(outcomes, shapes, run_again(behind(outcomes), KEPT, console)))
    click.echo(file)


if __name__ == "__main__":
    main()
