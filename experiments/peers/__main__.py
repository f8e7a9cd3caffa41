"""Compare with other tools and write docs/results/peers.md: `make peers`."""

import hashlib
import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.data import REAL_DATA
from experiments import data as shared_data
from experiments.digest import digest_of
from experiments.peers import data, ours, pictures, theirs, vw
from experiments.peers.page import page
from experiments.peers.plan import FULL, QUICK, Plan
from experiments.peers.work import outcomes

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "peers"  # where results are kept, and what --quick writes


def digest(plan: Plan) -> str:
    """Of all that a result depends on beside its data set and tool."""
    settings = repr(plan._replace(datasets=(), methods=(), slow_datasets=())).encode()
    own = hashlib.sha256(settings).hexdigest()[:8]
    return f"{digest_of((shared_data, data, ours, theirs, vw))}-{own}"


def write(plan: Plan, folder: Path, kept: Path, processes: int, console: Console) -> Path:
    """Run what is missing and write the page and its pictures."""
    start = time.perf_counter()
    (folder / "img").mkdir(parents=True, exist_ok=True)
    kept.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("Data sets and tools")
        found = outcomes(
            plan,
            kept / f"outcomes-{digest(plan)}.jsonl",
            processes,
            lambda done, all_: progress.update(bar, completed=done, total=all_),
        )
    for dataset in plan.datasets:
        pictures.draw(dataset, found, folder / "img" / f"peers-{dataset}.svg")
    file = folder / "peers.md"
    file.write_text(page(plan, found))
    console.print(f"{file}: {time.perf_counter() - start:.0f} s")
    return file


@click.command()
@click.option("--quick", is_flag=True, help="A small part of it, written to build/peers/.")
@click.option("--datasets", help="Only these, with commas; written to build/peers/.")
@click.option("--processes", default=2, show_default=True, help="How many grids at once.")
def main(quick: bool, datasets: str | None, processes: int) -> None:
    """Accuracy against weights kept, next to other tools. Stopped, it goes on where it was."""
    plan = QUICK if quick else FULL
    if datasets:
        plan = plan._replace(datasets=tuple(datasets.split(",")))
    absent = data.absent(plan.datasets)
    if absent:
        raise click.ClickException(
            f"no data for {', '.join(absent)} in {REAL_DATA}; set RAREFY_DATA to a folder "
            f"that has {', '.join(data.SOURCES[name].folder + '/' for name in absent)}."
        )
    folder = KEPT if quick or datasets else ROOT / "docs" / "results"
    try:
        write(plan, folder, KEPT, processes, Console())
    except KeyboardInterrupt:
        click.echo("Stopped. The same command goes on from here.", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
