"""Run the experiments and write docs/results/endowment-experiments.md: `make endowment`."""

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.data import REAL_DATA
from experiments import data as shared_data
from experiments.digest import digest_of
from experiments.endowment import curves, data, learning, pictures
from experiments.endowment.page import page
from experiments.endowment.plan import FULL, QUICK, Plan
from experiments.endowment.study import Study
from experiments.endowment.work import Laboratory, Run

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "endowment"  # where runs are kept, and what --quick writes
CODE = (shared_data, data, learning)  # that runs depend on


def do(laboratory: Laboratory, runs: Iterable[Run], name: str, progress: Progress) -> None:
    task = progress.add_task(name)
    laboratory.do(runs, lambda done, all_: progress.update(task, completed=done, total=all_))


def write(plan: Plan, folder: Path, runs_file: Path, processes: int, console: Console) -> Path:
    """Do what is missing and write the page and its pictures."""
    start = time.perf_counter()
    (folder / "img").mkdir(parents=True, exist_ok=True)
    runs_file.parent.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description:20}"), BarColumn(), MofNCompleteColumn())
    with (
        Laboratory(runs_file, processes) as laboratory,
        Progress(*columns, TimeRemainingColumn(), console=console) as progress,
    ):
        study = Study(plan, laboratory)
        do(laboratory, study.tuning_runs(), "Choosing steps", progress)
        do(laboratory, study.final_runs(), "Comparing", progress)
        task = progress.add_task("Losses by round", total=1)
        all_curves = curves.measure(study)
        progress.update(task, completed=1)
    pictures.draw_curves(all_curves, folder / "img" / "endowment-rounds.svg")
    pictures.draw_trade_off(study, folder / "img" / "endowment-trade-off.svg")
    file = folder / "endowment-experiments.md"
    file.write_text(page(study, all_curves))
    console.print(f"{file}: {time.perf_counter() - start:.0f} s")
    return file


@click.command()
@click.option("--quick", is_flag=True, help="A small part of it, written to build/endowment/.")
@click.option("--processes", default=2, show_default=True, help="How many runs at once.")
def main(quick: bool, processes: int) -> None:
    """The experiments of the thesis's chapter 5. Stopped, they go on where they were."""
    plan = QUICK if quick else FULL
    absent = data.absent(plan.datasets)
    if absent:
        raise click.ClickException(
            f"no data for {', '.join(absent)} in {REAL_DATA}; set RAREFY_DATA to a folder "
            f"that has {', '.join(data.SOURCES[name].folder + '/' for name in absent)}."
        )
    folder = KEPT if quick else ROOT / "docs" / "results"
    try:
        write(
            plan,
            folder,
            KEPT / f"runs-{digest_of((shared_data, data, learning))}.jsonl",
            processes,
            Console(),
        )
    except KeyboardInterrupt:
        click.echo("Stopped. The same command goes on from here.", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
