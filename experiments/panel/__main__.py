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
from experiments.panel.data import R2, SOURCES, task
from experiments.panel.judging import Outcome, judged
from experiments.panel.methods import METHODS, OURS, at_hand
from experiments.panel.page import Outcomes, Shape, page
from experiments.records import Records
from experiments.reproduction import uci

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "panel"
Key = tuple[str, str, str]  # data set, method, and the code that it was run with


def read(key: Any, value: Any) -> tuple[Key, Outcome]:
    return tuple(key), Outcome(*value)


def run(datasets: Iterable[str], kept: Path, console: Console) -> tuple[Outcomes, dict[str, Shape]]:
    """All methods on the data sets, but for what was run before with the same code."""
    kept.mkdir(parents=True, exist_ok=True)
    records = Records(kept / "outcomes.jsonl", read)
    modules = (shared, uci, data, judging, methods)
    theirs, ours = (digest_of(modules, with_library=own) for own in (False, True))
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
            key = (dataset, name, ours if name == OURS else theirs)
            if key not in records:
                with threadpool_limits(1):  # many would wait for each other on a busy machine
                    records.keep({key: judged(METHODS[name], made, source.measure)})
            outcomes[dataset, name] = records[key]
    return outcomes, shapes


@click.command()
@click.option("--datasets", help="Only these, with semicolons; written to build/panel/.")
def main(datasets: str | None) -> None:
    """Default settings next to default settings. Stopped, it goes on where it was."""
    if not REAL_DATA.is_dir():
        raise click.ClickException(f"no data in {REAL_DATA}; set RAREFY_DATA to the folder.")
    file = (KEPT if datasets else ROOT / "docs" / "results") / "panel.md"
    found = run(datasets.split(";") if datasets else SOURCES, KEPT, Console())
    file.write_text(page(*found))
    click.echo(file)


if __name__ == "__main__":
    main()
