"""Run the experiments and write the tables of docs/results/updates.md: `make updates`."""

import time
from pathlib import Path
from typing import Any

import click

from benchmarks.data import REAL_DATA
from experiments.updates import confirmation_page, data, methods_page, page, pictures, thesis
from experiments.updates.work import Run, do, known_runs

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
KEPT = ROOT / "build" / "updates"  # where what came of updates is kept
FIRST_COMPARED, FIRST_CONFIRMED = 200, 300  # orders; those before were trials
FEWER = {"news": 8}  # orders for all methods, where twenty classes take their time


def runs_of(name: str, *, orders: int, chains: int, compared: int) -> dict[str, list[Run]]:
    """What there is to do for a data set, by kind."""
    last = FIRST_COMPARED + min(compared, FEWER.get(name, compared))
    return {
        "methods": [Run("methods", name, seed) for seed in range(FIRST_COMPARED, last)],
        "thesis": [Run("thesis", name, seed) for seed in range(FIRST_COMPARED, last)],
        "confirmed": [Run("confirmed", name, FIRST_CONFIRMED + order) for order in range(compared)],
        "update": [Run("update", name, seed) for seed in range(orders)],
        "promises": [Run("promises", name, seed) for seed in range(chains)],
    }


@click.command()
@click.option("--orders", default=10, show_default=True, help="Orders of the rows.")
@click.option("--chains", default=100, show_default=True, help="Updates with a promise.")
@click.option("--compared", default=20, show_default=True, help="Orders for all methods.")
@click.option("--only", multiple=True, help="Data sets; all by default.")
@click.option("--processes", default=2, show_default=True, help="How many runs at once.")
def main(only: tuple[str, ...], processes: int, **numbers: int) -> None:
    """Updates by each method, on texts in several orders. Stopped, it goes on where it was."""
    names = only or tuple(data.SOURCES)
    absent = [name for name in names if not (REAL_DATA / data.SOURCES[name][0]).is_dir()]
    if absent:
        raise click.ClickException(f"no data for {', '.join(absent)} in {REAL_DATA}.")
    known = known_runs(KEPT)
    runs = {name: runs_of(name, **numbers) for name in names}
    start = time.perf_counter()
    for run in do(
        known, [run for of in runs.values() for each in of.values() for run in each], processes
    ):
        click.echo(f"{run.kind}, {run.name}, order {run.seed}: {time.perf_counter() - start:.0f} s")

    def found(kind: str) -> dict[str, list[Any]]:
        return {name: [known[run] for run in of[kind]] for name, of in runs.items()}

    pictures.draw_methods(found("methods"), RESULTS / "img" / "updates-methods.svg")
    more = [*thesis.lines(found("thesis")), *confirmation_page.lines(found("confirmed"))]
    methods_page.write(found("methods"), more, RESULTS / "updates.md")
    pictures.draw(found("update"), RESULTS / "img" / "updates.svg")
    page.write(found("update"), found("promises"), RESULTS / "updates.md")


if __name__ == "__main__":
    main()
