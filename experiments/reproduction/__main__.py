"""Run the experiments and write docs/results/reproduction.md: `make reproduce`."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from benchmarks.data import REAL_DATA
from experiments import data as shared_data
from experiments.digest import digest_of
from experiments.records import Records
from experiments.reproduction import data, gravity, methods, names, news, pictures, runs, uci
from experiments.reproduction import eager as lazy_and_eager
from experiments.reproduction.defaults import Defaults
from experiments.reproduction.page import Results, page
from experiments.reproduction.plan import FULL, QUICK, Plan
from experiments.reproduction.runs import Case, Laboratory
from experiments.reproduction.study import Study

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "reproduction"  # where runs are kept, and what --quick writes
CODE_OF_TEXTS = (shared_data, data, methods, news, runs)  # that runs depend on
CODE_OF_TABLES = (gravity, uci)


class Work:
    """Does what a plan asks for, with a bar for each part that grows as points are added."""

    def __init__(self, study: Study, progress: Progress) -> None:
        self.study = study
        self.progress = progress

    def follow_paths(self, name: str, cases: Sequence[Case]) -> None:
        """Scan, then add points until the chosen ones have neighbours."""
        study, bar = self.study, self.progress.add_task(name)
        self._do(bar, study.scan_runs(cases))
        while set(wanted := study.path_runs(cases)) - study.laboratory.known.keys():
            self._do(bar, wanted)

    def compare_defaults(self) -> None:
        self._do(self.progress.add_task("defaults"), self.study.default_runs())

    def trade(self, trades: gravity.Trades) -> None:
        trades.do(self.study.laboratory.threads, self._shower(self.progress.add_task("UCI sets")))

    def _do(self, bar: TaskID, wanted: Iterable[runs.Run]) -> None:
        self.study.laboratory.do(wanted, self._shower(bar))

    def _shower(self, bar: TaskID) -> Callable[[int, int], None]:
        before = self.progress.tasks[bar].completed
        return lambda done, all_: self.progress.update(
            bar, completed=before + done, total=before + all_
        )


def write(plan: Plan, folder: Path, kept: Path, threads: int, console: Console) -> Path:
    """Do what is missing and write the page and its pictures."""
    start = time.perf_counter()
    images = folder / "img"
    for made in (images, kept):
        made.mkdir(parents=True, exist_ok=True)
    study = Study(
        plan,
        Laboratory(
            Records(kept / f"texts-{digest_of(CODE_OF_TEXTS)}.jsonl", runs.from_json),
            plan.n_rows,
            threads,
        ),
    )
    trades = gravity.Trades(
        plan, Records(kept / f"uci-{digest_of(CODE_OF_TABLES)}.jsonl", gravity.from_json)
    )
    columns = (TextColumn("{task.description:22}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        work = Work(study, progress)
        for dataset in plan.datasets + plan.beyond:
            work.follow_paths(dataset, study.main_cases(dataset))
        work.follow_paths("other readings", study.open_cases())
        work.compare_defaults()
        work.trade(trades)
    kept_features = names.learn(study)
    results = Results(study, kept_features, lazy_and_eager.measure(plan), Defaults(study), trades)
    pictures.draw_intensity(images / "reproduction-intensity.svg")
    pictures.draw_paths(study, plan.binary, images / "reproduction-paths.svg")
    pictures.draw_paths(study, plan.beyond, images / "reproduction-beyond.svg")
    pictures.draw_rare(kept_features, images / "reproduction-rare.svg")
    pictures.draw_gravity(trades, images / "reproduction-gravity.svg")
    file = folder / "reproduction.md"
    file.write_text(page(results))
    console.print(f"{file}: {time.perf_counter() - start:.0f} s")
    return file


@click.command()
@click.option("--quick", is_flag=True, help="A small part of it, written to build/reproduction/.")
@click.option("--threads", default=2, show_default=True, help="How many threads learn.")
def main(quick: bool, threads: int) -> None:
    """The papers' experiments on truncation. Stopped, they go on where they were."""
    plan = QUICK if quick else FULL
    absent = data.absent(plan.datasets + plan.beyond)
    if absent:
        raise click.ClickException(
            f"no data in {REAL_DATA}; set RAREFY_DATA to a folder that has "
            f"{', '.join(f'{folder}/' for folder in absent)}."
        )
    folder, kept = (KEPT / "quick", KEPT / "quick") if quick else (ROOT / "docs" / "results", KEPT)
    try:
        write(plan, folder, kept, threads, Console())
    except KeyboardInterrupt:
        click.echo("Stopped. The same command goes on from here.", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
