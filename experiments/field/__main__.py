"""Run what is not known yet, and write docs/results/field.md: `python -m experiments.field`."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path

import click
import numpy as np

from experiments.field import cost
from experiments.field.methods import METHODS
from experiments.field.page import page
from experiments.field.work import REFERENCES, Key, read, result
from experiments.peers.plan import FULL
from experiments.records import Records
from rarefy.rules import FINITE_DATA

ROOT = Path(__file__).parents[2]
LARGEST_FIRST = ("movies", "books", "dvd", "news20", "imdb")


def by_size(key: Key) -> tuple[bool, int]:
    """Where long jobs come first, none is left when the others are done."""
    name, dataset = key
    alone = name in REFERENCES or name in FINITE_DATA or not METHODS[name].side_by_side
    size = LARGEST_FIRST.index(dataset) if dataset in LARGEST_FIRST else len(LARGEST_FIRST)
    return not alone, size


@click.command()
@click.option("--processes", default=1, show_default=True)
@click.option("--datasets", help="Only these, with semicolons.")
@click.option("--methods", help="Only these, with semicolons.")
@click.option("--costs", is_flag=True, help="Measure times, on a quiet machine.")
@click.option("--known", is_flag=True, help="Write what is known, and run nothing.")
@click.option("--kept", type=Path, default=ROOT / "build" / "field", help="Where results are kept.")
def main(
    processes: int, datasets: str | None, methods: str | None, costs: bool, known: bool, kept: Path
) -> None:
    """All methods on all data sets of the peers' page; stopped, it goes on where it was."""
    kept.mkdir(parents=True, exist_ok=True)
    found, timed = Records(kept / "outcomes.jsonl", read), Records(kept / "costs.jsonl", cost.read)
    names = methods.split(";") if methods else [*METHODS, *REFERENCES]
    sets = datasets.split(";") if datasets else FULL.datasets
    if costs:
        chosen = datasets.split(";") if datasets else cost.DATASETS
        measure(timed, chosen, [name for name in names if name in METHODS])
        return
    missing = [] if known else [key for key in product(names, sets) if key not in found]
    with ProcessPoolExecutor(processes) as pool:
        jobs = {pool.submit(result, *key): key for key in sorted(missing, key=by_size)}
        for job in as_completed(jobs):
            title = ", ".join(jobs[job])
            if error := job.exception():
                click.echo(f"{title} failed: {error!r}", err=True)
                continue
            found.keep({jobs[job]: job.result()})
            best = max(np.mean(job.result().accuracy, axis=1))
            click.echo(f"{title}: {best:.3f}, {job.result().seconds:.1f} s")
    if not datasets and not methods:
        (ROOT / "docs" / "results" / "field.md").write_text(page(found, timed))


def measure(timed: Records[Key, cost.Cost], datasets: Sequence[str], names: list[str]) -> None:
    for dataset in datasets:
        X, y = cost.rows_of(dataset)
        for name in names:
            if (name, dataset) not in timed:
                timed.keep({(name, dataset): cost.cost(name, X, y)})
                click.echo(f"{name}, {dataset}: {timed[name, dataset].ratio:.2f}")


if __name__ == "__main__":
    main()
