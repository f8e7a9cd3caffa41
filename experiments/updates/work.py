"""Runs of the experiments, several at once, each of which is kept."""

import os
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from experiments import data as shared_data
from experiments.digest import digest_of
from experiments.records import Records
from experiments.updates import confirmation, data, methods, releases, taught, thesis
from experiments.updates.methods import Outcome
from experiments.updates.releases import Fate, Promise

WORK: dict[str, tuple[Any, type]] = {  # by kind: what does it, and what it finds lists of
    "methods": (methods.compared, Outcome),
    "taught": (taught.taught, Outcome),
    "confirmed": (confirmation.confirmed, Outcome),
    "thesis": (thesis.endowed, Outcome),
    "update": (releases.update, Fate),
    "promises": (releases.promises, Promise),
}


class Run(NamedTuple):
    kind: str
    name: str  # of the data
    seed: int


def _read(key: Any, value: Any) -> tuple[Run, dict[str, list[Any]]]:
    run = Run(*key)
    found = WORK[run.kind][1]
    return run, {way: [found(*each) for each in of_way] for way, of_way in value.items()}


def known_runs(folder: Path) -> Records[Run, dict[str, list[Any]]]:
    """What came of runs of this code."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = digest_of((shared_data, data, methods, taught, confirmation, thesis, releases))
    return Records(folder / f"runs-{digest}.jsonl", _read)


def do(known: Records[Run, Any], runs: Iterable[Run], processes: int) -> Iterator[Run]:
    """Do those runs that are not known, and keep them; each once it is done."""
    missing = [run for run in runs if run not in known]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with get_context("spawn").Pool(processes) as pool:
        for run, found in pool.imap_unordered(_done, missing):
            known.keep({run: found})
            yield run


def _done(run: Run) -> tuple[Run, dict[str, list[Any]]]:
    return run, WORK[run.kind][0](data.load(run.name), run.seed)
