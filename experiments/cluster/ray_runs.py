"""Runs on Ray, with two processes of this machine; and what Ray itself takes."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import rarefy
from experiments.cluster.faults import ancestors
from experiments.cluster.travel import Timed
from rarefy.cluster import train
from rarefy.cluster.pieces import Piece, Reading, read_piece
from rarefy.cluster.ray_workers import RayWorkers

N_PROCESSES = 2
FEW_LINES = 512  # of a run that is over as soon as it has begun
MOST_TRIES = 4  # for a run that counts
TICKS = os.sysconf("SC_CLK_TCK")  # a second


class Took(NamedTuple):
    """What a run took."""

    seconds: float
    of_processors: float  # seconds, of all processes of the run
    n_cores: float  # that other programs left


class RayTakes(NamedTuple):
    """What Ray takes, whatever is done with it."""

    store: float  # seconds of processors for a byte that is kept
    task: float  # seconds of processors for a task that does nothing
    wave: float  # seconds until such tasks are over
    start: float  # seconds of a run with next to no rows


@contextmanager
def local_ray() -> Iterator[None]:
    import ray

    how = {"log_to_driver": False, "include_dashboard": False, "logging_level": "ERROR"}
    ray.init(num_cpus=N_PROCESSES, **how)
    try:
        yield
    finally:
        ray.shutdown()


def on_ray(files: Sequence[Path], n_runs: int) -> Took:
    return best(lambda: train(*files, shards=N_PROCESSES), n_runs)


def in_one_process(files: Sequence[Path], n_runs: int) -> Took:
    """Without shards."""
    return best(lambda: rarefy.train(*files), n_runs)


def best(run: Callable[[], Any], n_runs: int) -> Took:
    """The fastest of some runs, after one that does not count."""
    return min(_all(run, n_runs))


def _all(run: Callable[[], Any], n_runs: int) -> list[Took]:
    """Some runs; not those in which Ray ends a process, whose time is not known then."""
    run()
    found: list[Took] = []
    for _ in range(MOST_TRIES * n_runs):
        took = _took(run)
        if took is not None:
            found.append(took)
        if len(found) == n_runs:
            break
    return found


def _least_work(run: Callable[[], Any], n_runs: int) -> float:
    """Seconds of processors, in the run that took the fewest."""
    return min(one.of_processors for one in _all(run, n_runs))


def _took(run: Callable[[], Any]) -> Took | None:
    begin, before, of_all = time.perf_counter(), _times_of_own(), _time_of_all()
    run()
    seconds, after = time.perf_counter() - begin, _times_of_own()
    if not before.keys() <= after.keys():
        return None
    own = sum(after.values()) - sum(before.values())
    others = max(_time_of_all() - of_all - own, 0.0) / seconds
    return Took(seconds, own, (os.cpu_count() or 1) - others)


def _times_of_own() -> dict[int, float]:
    """Seconds of processors, of this process and of all that it has started."""
    parents, ticks = {}, {}
    for number in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[number] = int(fields[1])
        ticks[number] = int(fields[11]) + int(fields[12])
    return {n: ticks[n] / TICKS for n in ticks if os.getpid() in ancestors(n, parents)}


def _time_of_all() -> float:
    """Seconds in which the machine's processors were at work."""
    first = Path("/proc/stat").read_text().partition("\n")[0]
    user, nice, system, _, _, *interrupts = map(int, first.split()[1:9])
    return (user + nice + system + sum(interrupts)) / TICKS


def what_ray_takes(files: Sequence[Path], n_runs: int) -> RayTakes:
    """Measured with rows that are kept, and others that are not; and tasks that do nothing."""
    workers, noted = RayWorkers(), Timed()
    train(*files, on=noted, shards=N_PROCESSES)
    kept = _least_work(lambda: _read_and_keep(workers, noted.was_read), n_runs)
    dropped = _least_work(lambda: _read_and_drop(workers, noted.was_read), n_runs)
    n_tasks, n_waves = 1000, 200
    tasks = _least_work(lambda: _wave(workers, n_tasks), n_runs)
    waves = best(lambda: _waves(workers, n_waves), n_runs)
    return RayTakes(
        max(kept - dropped, 0.0) / noted.row_bytes,
        tasks / n_tasks,
        waves.seconds / n_waves,
        _seconds_of_start(files[0], n_runs),
    )


def _seconds_of_start(file: Path, n_runs: int) -> float:
    few = file.with_name("few.svm")
    with file.open() as lines:
        few.write_text("".join(line for _, line in zip(range(FEW_LINES), lines, strict=False)))
    return on_ray([few], n_runs).seconds


def _read_and_keep(workers: RayWorkers, pieces: Sequence[tuple[Reading, Piece]]) -> None:
    """Two at a time, as more processes would have to be started."""
    kept = []
    for begin in range(0, len(pieces), N_PROCESSES):
        some = pieces[begin : begin + N_PROCESSES]
        readers = [workers.read(*piece) for piece in some]
        kept += [list(reader) for reader in readers]
    assert all(kept)


def _read_and_drop(workers: RayWorkers, pieces: Sequence[tuple[Reading, Piece]]) -> None:
    tasks = [workers.start(_number_of_items, *piece) for piece in pieces]
    assert all(workers.result(task) > 0 for task in tasks)


def _number_of_items(reading: Reading, piece: Piece) -> int:
    return sum(1 for _ in read_piece(reading, piece))


def _waves(workers: RayWorkers, n_waves: int) -> None:
    for _ in range(n_waves):
        _wave(workers, N_PROCESSES)


def _wave(workers: RayWorkers, n_tasks: int) -> None:
    for task in [workers.start(_nothing) for _ in range(n_tasks)]:
        workers.result(task)


def _nothing() -> None:
    return None
