"""Runs, done by several processes and kept in a file, so that nothing is done twice."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Self

from experiments.endowment.data import load
from experiments.endowment.learning import Outcome, Setting, Split, outcome, split
from experiments.records import Records

RUNS_AT_ONCE = 60  # that a process is given


class Run(NamedTuple):
    """One pass over one split of a data set."""

    dataset: str
    seed: int
    setting: Setting


@lru_cache(maxsize=1)
def split_of(dataset: str, seed: int) -> Split:
    return split(load(dataset), seed)


def outcomes(runs: list[Run]) -> list[Outcome]:
    return [outcome(split_of(run.dataset, run.seed), run.setting) for run in runs]


class Laboratory:
    """Does runs and knows what came of each, also of those of earlier times that a file has."""

    def __init__(self, file: Path, processes: int) -> None:
        self.known = Records(file, _from_json)
        self.pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.pool.shutdown(cancel_futures=True)

    def __getitem__(self, run: Run) -> Outcome:
        return self.known[run]

    def do(self, runs: Iterable[Run], on_progress: Callable[[int, int], None]) -> None:
        """Do those runs of which nothing is known yet; progress is runs done, and all."""
        missing = sorted(set(runs) - self.known.keys())
        jobs = {self.pool.submit(outcomes, batch): batch for batch in _batches(missing)}
        done = 0
        on_progress(done, len(missing))
        for job in as_completed(jobs):
            found = dict(zip(jobs[job], job.result(), strict=True))
            self.known.keep(found)
            done += len(found)
            on_progress(done, len(missing))


def _batches(runs: list[Run]) -> Iterator[list[Run]]:
    """A few runs at a time, those of one batch over the same split."""
    for _, group in groupby(runs, key=lambda run: run[:2]):
        same_split = list(group)
        for first in range(0, len(same_split), RUNS_AT_ONCE):
            yield same_split[first : first + RUNS_AT_ONCE]


def _from_json(run: Any, found: Any) -> tuple[Run, Outcome]:
    dataset, seed, setting = run
    return Run(dataset, seed, Setting(*setting)), Outcome(*found)
