"""Grids, run by several processes and kept in a file, so that nothing is run twice."""

import json
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from experiments.peers.data import task
from experiments.peers.methods import METHODS, runnable
from experiments.peers.outcome import Outcome
from experiments.peers.plan import Plan

Outcomes = dict[tuple[str, str], Outcome]  # by data set and method


def outcome(dataset: str, method: str, plan: Plan) -> Outcome:
    return METHODS[method].run(task(dataset, plan.most_rows, plan.n_folds), plan)


def outcomes(
    plan: Plan, file: Path, processes: int, on_progress: Callable[[int, int], None]
) -> Outcomes:
    """Run what the file does not have; progress is grids done, and all."""
    known = read(file)
    wanted = runnable(plan)
    missing = [key for key in wanted if key not in known]
    on_progress(len(wanted) - len(missing), len(wanted))
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
    try:
        jobs = {pool.submit(outcome, *key, plan): key for key in missing}
        for job in as_completed(jobs):
            known[jobs[job]] = job.result()
            with file.open("a") as lines:
                lines.write(json.dumps([*jobs[job], job.result()]) + "\n")
            on_progress(sum(key in known for key in wanted), len(wanted))
    finally:
        pool.shutdown(cancel_futures=True)
    return {key: known[key] for key in wanted}


def read(file: Path) -> Outcomes:
    if not file.exists():
        return {}
    lines = file.read_text().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]  # the last may be cut off
    file.write_text("".join(whole))
    return {(dataset, method): Outcome(*found) for dataset, method, found in map(json.loads, whole)}
