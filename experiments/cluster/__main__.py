"""Measure, simulate, draw and write docs/results/cluster.md: `python -m experiments.cluster`."""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.data import zipf_rows
from experiments import data as real
from experiments.cluster import accuracy, pictures
from experiments.cluster.page import page
from experiments.cluster.simulation import (
    Cluster,
    Costs,
    Sparsity,
    meetings_of_round,
    round_of,
    seconds,
    shards_of_round,
)
from experiments.cluster.travel import Spent, distinct_in, spent
from experiments.records import MEASURED, RESULTS
from rarefy import SparseOnlineClassifier
from rarefy.engine.round_size import n_dealt

FOUND = MEASURED / "cluster.json"
IMAGES = RESULTS / "img"
N_SEEDS = 2  # data sets of each size
N_ROWS, N_FEATURES, N_FILES = 1 << 19, 1 << 20, 4
FITTED, CHECKED = (2, 32), (8, 128)  # shards
SIZES = (1 << 16, 1 << 18, 1 << 20, 1 << 22)
SHARDS = (1, 2, 16, 128)
WORKERS = (1, 2, 4, 8, 16, 64, 256, 1024)


def main() -> None:
    if not FOUND.exists():
        FOUND.write_text(json.dumps(measured(), indent=1) + "\n")
    found = json.loads(FOUND.read_text())
    pictures.draw_times(found["times"], IMAGES / "cluster-times.svg")
    losses = {
        int(n): [{int(k): x for k, x in one.items()} for one in of]
        for n, of in found["losses"].items()
    }
    pictures.draw_losses(losses, IMAGES / "cluster-losses.svg")
    (RESULTS / "cluster.md").write_text(page(found))


def measured() -> dict[str, Any]:
    """All that the page says, as JSON takes it."""
    data = zipf_rows(N_ROWS, N_FEATURES, draws_per_row=32)
    with tempfile.TemporaryDirectory() as folder:
        files = _written(data, Path(folder))
        spent(files, 2, data.X.nnz)  # loops are compiled
        runs = {k: best_of(files, k, data.X.nnz) for k in (*FITTED, *CHECKED)}
    made = _sparsity("made", data.X)
    costs = _costs([runs[k] for k in FITTED], _serial(data))
    sparsities = [made, _sparsity("clicks", real.criteo()[0]), _sparsity("news", real.rcv1()[0])]
    return {
        "n_rows": N_ROWS,
        "fitted": FITTED,
        "seeds": N_SEEDS,
        "sizes": SIZES,
        "costs": costs._asdict(),
        "checks": {k: _check(run, made, costs) for k, run in runs.items()},
        "sparsities": {
            s.name: [s.entries, s.rows.tolist(), s.distinct.tolist()] for s in sparsities
        },
        "times": {s.name: times(s, costs) for s in sparsities},
        "losses": {
            n: [accuracy.losses(n, list(SHARDS), seed) for seed in range(N_SEEDS)] for n in SIZES
        },
    }


def _written(data: Any, folder: Path) -> list[Path]:
    from sklearn.datasets import dump_svmlight_file

    files = []
    for n, rows in enumerate(np.array_split(np.arange(data.X.shape[0]), N_FILES)):
        files.append(folder / f"rows-{n}.svm")
        dump_svmlight_file(data.X[rows], data.y[rows], str(files[-1]))
    return files


def _serial(data: Any) -> float:
    """Seconds of a core to learn an entry without shards, from memory; the best of three."""
    found = []
    for _ in range(3):
        model = SparseOnlineClassifier(passes=1, shuffle=False)
        begin = time.process_time()
        model.fit(data.X, data.y)
        found.append(time.process_time() - begin)
    return min(found) / data.X.nnz


def _sparsity(name: str, X: Any) -> Sparsity:
    X = X.tocsr()
    rows = 2.0 ** np.arange(3, int(np.log2(X.shape[0])))
    distinct = np.array([distinct_in(X, int(n)) for n in rows])
    return Sparsity(name, X.nnz / X.shape[0], rows, distinct)


def best_of(files: list[Path], n_shards: int, n_entries: int) -> Spent:
    """The least of three, for every kind of work: others use the machine, too."""
    runs = [spent(files, n_shards, n_entries) for _ in range(3)]
    least = {name: min(run.seconds[name] for run in runs) for name in runs[0].seconds}
    return runs[0]._replace(seconds=least)


def _costs(runs: list[Spent], serial: float) -> Costs:
    """What fits some runs best."""
    entries, dealt, meetings, turns, n_bytes = (
        np.array([getattr(run, name) for run in runs], float)
        for name in ("entries", "dealt", "meetings", "turns", "n_bytes")
    )
    of = {name: np.array([run.seconds[name] for run in runs]) for name in runs[0].seconds}
    working = nnls(np.stack([dealt, turns], axis=1), of["meet"] + of["learn"])[0]
    by_driver = np.stack([meetings, entries - dealt], axis=1)
    driving, travelling = nnls(by_driver, of["driver"])[0], nnls(by_driver, n_bytes)[0]
    meet = float(of["meet"].sum() / dealt.sum())
    return Costs(
        read=float(of["read"].sum() / entries.sum()),
        meet=min(meet, float(working[0])),
        learn=max(float(working[0]) - meet, 0.0),
        worker_turn=float(working[1]),
        serial=serial,
        driver=float(driving[0]),
        in_order=float(driving[1]),
        n_bytes=float(travelling[0]),
        in_order_bytes=float(travelling[1]),
    )


def _check(run: Spent, data: Sparsity, costs: Costs) -> dict[str, Any]:
    """What was measured, and what the model says of it."""
    meetings, turns, dealt, t = 0.0, 0.0, 0.0, 0
    while t < run.rows:
        of = round_of(data, run.n_shards, t)
        n = min(of.n_rows, run.rows - t)
        n_learning = shards_of_round(run.n_shards, n, t)
        if n_learning > 1 and not of.is_in_order:
            meetings += meetings_of_round(data, n_learning, n)
            turns += n_learning
            dealt += n_dealt(n) * data.entries
        t += n
    in_order = run.entries - dealt
    return {
        "meetings": [run.meetings, meetings],
        "turns": [run.turns, turns],
        "bytes": [run.n_bytes, meetings * costs.n_bytes + in_order * costs.in_order_bytes],
        "driver": [
            run.seconds["driver"],
            meetings * costs.driver + in_order * costs.in_order,
        ],
        "workers": [
            sum(run.seconds[name] for name in ("read", "meet", "learn")),
            run.entries * costs.read
            + dealt * (costs.meet + costs.learn)
            + turns * costs.worker_turn,
        ],
    }


def times(data: Sparsity, costs: Costs) -> dict[str, Any]:
    """Hours for 10^9 and 10^10 rows by number of workers."""
    return {
        f"{n_rows:.0e}": {k: seconds(data, costs, Cluster(k), n_rows) / 3600.0 for k in WORKERS}
        for n_rows in (1e9, 1e10)
    }


if __name__ == "__main__":
    main()
