"""What is measured for docs/results/cluster.md; what is known already is not measured again."""

from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import Dataset, zipf_rows
from experiments import data as real
from experiments.cluster import accuracy, ray_runs
from experiments.cluster.fitting import sparsity_of
from experiments.cluster.simulation import round_of, shards_of_round
from experiments.cluster.travel import best_spent, distinct_in, short_rounds, spent, zipf_features
from experiments.records import Records
from rarefy import SparseOnlineClassifier
from rarefy.engine.round_size import n_dealt

N_FEATURES, DRAWS = 1 << 20, 32  # of made rows
FITTED = (2, 16)  # shards of the runs that costs are fitted to
CHECKED = {"few": 1 << 14, "many": 1 << 20}  # features of the rows that are learned on Ray
REAL = ("clicks", "news")
CHECKED_DRAWS, N_FILES = 16, 8
SHORT_SHARDS = (2, 8, 32, 128)  # with short rounds
COUNTED_SHARDS, COUNTED_AT = (8, 32, 128), 10**9  # rows before the round
SHARDS = (1, 2, 16, 128)  # whose accuracy is measured


class Scale(NamedTuple):
    """How much is measured."""

    n_rows: int = 1 << 19  # made
    on_ray: tuple[int, int] = (1 << 19, 1 << 21)  # rows
    short_rows: int = 1 << 21  # with short rounds
    counted_at: int = COUNTED_AT
    sizes: tuple[int, ...] = (1 << 16, 1 << 18, 1 << 20, 1 << 22)  # rows
    n_seeds: int = 2  # data sets of each size
    n_runs: int = 5  # of which the fastest counts


SHORT = Scale(1 << 17, (1 << 17, 1 << 18), 1 << 18, 10**7, (1 << 14, 1 << 16), 2, 2)


class Measuring:
    """Adds to records what they lack."""

    def __init__(self, records: Records[Any, Any], scale: Scale, folder: Path) -> None:
        self._records, self._scale, self._folder = records, scale, folder
        self._made = cache(lambda: zipf_rows(scale.n_rows, N_FEATURES, DRAWS))
        self._checked = cache(
            lambda name: zipf_rows(scale.on_ray[-1], CHECKED[name], CHECKED_DRAWS)
        )
        self._files_of = cache(self._written)

    def all(self) -> None:
        self._keep(("scale",), self._scale._asdict)
        self._sparsities()
        self._work()
        self._short_rounds()
        self._long_rounds()
        self._on_ray()
        self._losses()

    def _keep(self, key: Any, measured: Any) -> None:
        if key not in self._records:
            self._records.keep({key: measured()})
            print(*key, flush=True)

    def _data(self, name: str) -> Dataset:
        return self._checked(name) if name in CHECKED else self._made()

    def _written(self, name: str) -> list[Path]:
        from sklearn.datasets import dump_svmlight_file

        data, files = self._data(name), []
        for n, rows in enumerate(np.array_split(np.arange(data.X.shape[0]), N_FILES)):
            files.append(self._folder / f"{name}-{n}.svm")
            dump_svmlight_file(data.X[rows], data.y[rows], str(files[-1]))
        return files

    def _sparsities(self) -> None:
        if all(("sparsity", name) in self._records for name in (*REAL, "made", *CHECKED)):
            return
        news = real.rcv1()[0]
        rows = {"made": self._made().X, "clicks": real.criteo()[0], "news": news}
        rows |= {name: self._checked(name).X for name in CHECKED}
        known = {"made": N_FEATURES, "news": news.shape[1], **CHECKED}
        for name, X in rows.items():
            self._keep(("sparsity", name), partial(_sparsity, X, known.get(name)))

    def _work(self) -> None:
        """What the work of all parts takes, in one process."""
        self._keep(("serial",), lambda: _serial(self._made()))
        for k in FITTED:
            self._keep(("spent", k), partial(self._spent, "made", N_FILES, k))

    def _short_rounds(self) -> None:
        n_files = N_FILES * self._scale.short_rows // self._scale.on_ray[-1]
        for k in SHORT_SHARDS:
            with short_rounds():
                self._keep(("short rounds", k), partial(self._spent, "few", n_files, k))

    def _spent(self, name: str, n_files: int, n_shards: int) -> list[Any]:
        files, X = self._files_of(name)[:n_files], self._data(name).X
        spent(files[:1], n_shards, 1)  # loops are compiled
        n_rows = X.shape[0] * n_files // N_FILES
        return list(best_spent(files, n_shards, int(X.indptr[n_rows])))

    def _long_rounds(self) -> None:
        """How often shards meet features in a round after very many rows."""
        made = sparsity_of(self._records, "made")
        for k in COUNTED_SHARDS:
            n_rows = round_of(made, k, self._scale.counted_at).n_rows
            n_learning = int(shards_of_round(k, n_rows, self._scale.counted_at))
            of_shard = n_dealt(n_rows) // n_learning
            self._keep(("long round", k), partial(_met, n_learning, of_shard))

    def _on_ray(self) -> None:
        wanted = [(name, n) for name in CHECKED for n in self._scale.on_ray]
        keys = [("ray",), *(("on ray", *one) for one in wanted)]
        if any(key not in self._records for key in keys):
            files, n_runs = self._files_of("made"), self._scale.n_runs
            with ray_runs.local_ray():
                self._keep(("ray",), lambda: list(ray_runs.what_ray_takes(files, n_runs)))
                for one in wanted:
                    self._keep(("on ray", *one), partial(self._took, ray_runs.on_ray, *one))
        for one in wanted:
            self._keep(("one process", *one), partial(self._took, ray_runs.in_one_process, *one))

    def _took(self, run: Any, name: str, n_rows: int) -> list[float]:
        n_files = N_FILES * n_rows // self._scale.on_ray[-1]
        return list(run(self._files_of(name)[:n_files], self._scale.n_runs))

    def _losses(self) -> None:
        for n in self._scale.sizes:
            for seed in range(self._scale.n_seeds):
                self._keep(
                    ("losses", n, seed),
                    lambda n=n, seed=seed: list(accuracy.losses(n, list(SHARDS), seed).items()),
                )


def _sparsity(X: Any, n_features: int | None) -> list[Any]:
    X = X.tocsr()
    rows = [1 << n for n in range(3, int(np.log2(X.shape[0])))]
    return [X.nnz / X.shape[0], rows, [distinct_in(X, n) for n in rows], n_features]


def _serial(data: Dataset) -> list[float]:
    """Seconds of a core to learn an entry without shards, from memory; the best of three."""
    import time

    found = []
    for _ in range(3):
        model = SparseOnlineClassifier(passes=1, shuffle=False)
        begin = time.process_time()
        model.fit(data.X, data.y)
        found.append(time.process_time() - begin)
    return [min(found) / data.X.nnz]


def _met(n_shards: int, n_rows: int) -> list[int]:
    """Shards, rows of each, and how many features they meet, counted."""
    met = [zipf_features(n_rows, N_FEATURES, DRAWS, seed) for seed in range(n_shards)]
    return [n_shards, n_rows, sum(met)]
