"""Kill random workers while a model is trained, many times: it must come out the same each time.

`python -m experiments.cluster.faults 100` says how many workers were killed in 100 runs, and what
came of them.
"""

import argparse
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import rarefy
from rarefy.cluster import train
from rarefy.engine import sharding

FEW_ROWS = 64  # of a shard in a round, so that shards learn nearly all of these rows
N_FILES, N_WORDS = 6, 3000


def write_rows(folder: Path, n_rows: int, seed: int = 0) -> list[str]:
    """VW files with words by a power law, some of which tell the label."""
    generator = np.random.default_rng(seed)
    files = [str(folder / f"rows-{n}.vw") for n in range(N_FILES)]
    weights = generator.normal(size=N_WORDS)
    for file in files:
        with open(file, "w") as out:
            for _ in range(n_rows // N_FILES):
                words = np.unique(generator.zipf(1.3, 20) % N_WORDS)
                label = 1 if weights[words].sum() + generator.normal() > 0 else -1
                out.write(f"{label} | {' '.join(f'w{word}' for word in words)}\n")
    return files


def workers_of(process: int) -> list[int]:
    """The processes that do the work of a Ray cluster that a process has started."""
    parents, names = {}, {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            status = Path(f"/proc/{number}/stat").read_text()
            names[int(number)] = Path(f"/proc/{number}/cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        parents[int(number)] = int(status.rpartition(")")[2].split()[1])
    return [
        number
        for number, name in names.items()
        if name.startswith(b"ray::")
        and b"Agent" not in name
        and process in ancestors(number, parents)
    ]


def ancestors(number: int, parents: dict[int, int]) -> set[int]:
    found = set()
    while number in parents and number not in found:
        found.add(number)
        number = parents[number]
    return found | {number}


class Killer:
    """Kills random workers, some seconds apart.

    A worker needs seconds to start, and a task is given up if its workers die too often.
    """

    MOST = 4

    def __init__(self, seed: int, seconds: float) -> None:
        self.n_killed = 0
        self._random = random.Random(seed)
        self._seconds = seconds
        self._is_over = threading.Event()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        thread = threading.Thread(target=self._work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def _work(self) -> None:
        while self.n_killed < self.MOST:
            if self._is_over.wait(self._random.uniform(0.0, 2 * self._seconds)):
                return
            workers = workers_of(os.getpid())
            if workers:
                with_luck = self._random.choice(sorted(workers))
                try:
                    os.kill(with_luck, signal.SIGKILL)
                    self.n_killed += 1
                except ProcessLookupError:
                    continue


def trained_among_kills(
    files: list[str], output: Path, seed: int, seconds: float, **how: Any
) -> tuple[bytes, int]:
    """The model's bytes, and how many workers were killed meanwhile."""
    killer = Killer(seed, seconds)
    with killer.at_work():
        train(*files, output=output, **how)
    return output.read_bytes(), killer.n_killed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=int)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=0.4, help="from one kill to the next")
    parser.add_argument("--cores", type=int, default=2)
    asked = parser.parse_args()
    import ray

    sharding.FEWEST_OF_A_SHARD = FEW_ROWS
    ray.init(num_cpus=asked.cores, log_to_driver=False, include_dashboard=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        how: dict[str, Any] = {"shards": 4, "holdout": 0.1}
        files = write_rows(folder, asked.rows)
        rarefy.train(*files, output=folder / "here.model", **how)
        expected = (folder / "here.model").read_bytes()
        n_same = n_killed = n_hit = 0
        for run in range(asked.runs):
            begin = time.perf_counter()
            found, n = trained_among_kills(files, folder / "there.model", run, asked.seconds, **how)
            n_same, n_killed, n_hit = n_same + (found == expected), n_killed + n, n_hit + (n > 0)
            seconds = time.perf_counter() - begin
            print(f"{run + 1} runs, {n_hit} with kills: {n_same} the same, {n_killed} killed "
                  f"({seconds:.1f} s)", flush=True)  # fmt: skip
    ray.shutdown()


if __name__ == "__main__":
    main()
