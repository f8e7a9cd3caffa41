"""Run the experiments and write docs/results/updates.md: `make updates`."""

import time
from pathlib import Path
from typing import Any

import click

from benchmarks.data import REAL_DATA
from experiments.updates import (
    confirmation_page,
    data,
    measured_page,
    methods_page,
    page,
    pictures,
    taught_page,
    thesis,
)
from experiments.updates.work import Run, do, known_runs

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
KEPT = ROOT / "build" / "updates"  # where what came of updates is kept
FIRST_COMPARED, FIRST_CONFIRMED = 200, 300  # orders; those before were trials
AT_LEAST_TWO = click.IntRange(2)  # for standard errors
FEWER = {"news": 8}  # orders for all methods, where twenty classes take their time


SECTIONS = {  # by kinds of runs
    "methods": ("methods", "thesis", "confirmed"),
    "taught": ("taught",),
    "measured": ("update", "promises"),
}


def runs_of(name: str, *, orders: int, chains: int, compared: int) -> dict[str, list[Run]]:
    """What there is to do for a data set, by kind."""
    last = FIRST_COMPARED + min(compared, FEWER.get(name, compared))
    same_orders = {
        kind: [Run(kind, name, seed) for seed in range(FIRST_COMPARED, last)]
        for kind in ("methods", "thesis", "taught")
    }
    return {
        **same_orders,
        "confirmed": [Run("confirmed", name, FIRST_CONFIRMED + order) for order in range(compared)],
        "update": [Run("update", name, seed) for seed in range(orders)],
        "promises": [Run("promises", name, seed) for seed in range(chains)],
    }


@click.command()
@click.option(
    "--orders", type=AT_LEAST_TWO, default=10, show_default=True, help="Orders of the rows."
)
@click.option(
    "--chains", type=click.IntRange(1), default=100, show_default=True, help="Updates to promise."
)
@click.option(
    "--compared", type=AT_LEAST_TWO, default=20, show_default=True, help="Orders for all methods."
)
@click.option(
    "--only", type=click.Choice(list(data.SOURCES)), multiple=True, help="Data sets; default: all."
)
@click.option(
    "--section",
    "sections",
    type=click.Choice(list(SECTIONS)),
    multiple=True,
    help="What to write of the page; default: all.",
)
@click.option("--processes", default=2, show_default=True, help="How many runs at once.")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=RESULTS,
    help="The folder of the page; default: docs/results.",
)
def main(
    only: tuple[str, ...],
    sections: tuple[str, ...],
    processes: int,
    results: Path,
    **numbers: int,
) -> None:
    """Updates by each method, on texts in several orders. Stopped, it goes on where it was."""
    names = only or tuple(data.SOURCES)
    absent = [name for name in names if not (REAL_DATA / data.SOURCES[name][0]).is_dir()]
    if absent:
        raise click.ClickException(
            f"no data for {', '.join(absent)} in {REAL_DATA}: set RAREFY_DATA to their folder, or "
            f"name others (--only)."
        )
    known = known_runs(KEPT)
    asked = sections or tuple(SECTIONS)
    kinds = [kind for section in asked for kind in SECTIONS[section]]
    runs = {name: runs_of(name, **numbers) for name in names}
    start = time.perf_counter()
    to_do = [run for of in runs.values() for kind in kinds for run in of[kind]]
    for run in do(known, to_do, processes):
        click.echo(f"{run.kind}, {run.name}, order {run.seed}: {time.perf_counter() - start:.0f} s")

    def found(kind: str) -> dict[str, list[Any]]:
        return {name: [known[run] for run in of[kind]] for name, of in runs.items()}

    images, written = results / "img", {}
    images.mkdir(parents=True, exist_ok=True)
    if "methods" in asked:
        pictures.draw_methods(found("methods"), images / "updates-methods.svg")
        more = [*thesis.lines(found("thesis")), *confirmation_page.lines(found("confirmed"))]
        written[page.METHODS] = methods_page.lines(found("methods"), more)
    if "taught" in asked:
        shown = pictures.SHOWN_TAUGHT
        pictures.draw_methods(found("taught"), images / "updates-taught.svg", shown)
        written[page.TAUGHT] = taught_page.lines(found("taught"))
    if "measured" in asked:
        pictures.draw(found("update"), images / "updates.svg")
        written[page.MEASURED] = measured_page.lines(found("update"), found("promises"))
    page.write(results / "updates.md", written)


if __name__ == "__main__":
    main()
