"""`rarefy.cluster.sweep`: a grid whose points are spread over workers."""

import os
from dataclasses import replace
from typing import Any

import numpy as np

from rarefy.arrays import Floats
from rarefy.cluster.train_on_workers import RAY, workers_of
from rarefy.cluster.worker_protocol import Workers
from rarefy.errors import ConfigError, InputError
from rarefy.estimators.sweep_grid import Asked, Judged, judge_of
from rarefy.estimators.sweep_grid import sweep as sweep_here
from rarefy.readers import Reader
from rarefy.streams.design_matrix import RowsTooLargeError, to_matrix
from rarefy.sweeping.grid import Point, is_regression
from rarefy.sweeping.result import Extent, Sweep
from rarefy.training.plan import reader_of


def sweep(reader: Reader, *, on: str | Workers = RAY, in_memory: bool = False, **how: Any) -> Sweep:
    """Train and evaluate the models of a grid on a cluster, as `rarefy.sweep` does here.

    Each worker reads the data, and learns some of the models.

    Parameters
    ----------
    reader : Reader
        Data, from `rarefy.read`; all workers can read these files.
    on : str or Workers, default="ray"
        Cluster, as in `rarefy.cluster.train`.
    in_memory : bool, default=False
        Whether workers keep the rows in memory, if they fit, and so have folds by class, as for a
        matrix; by default, the data are read again in every pass.
    **how
        As in `rarefy.sweep`.

    Returns
    -------
    Sweep
        What `rarefy.sweep` would have found.

    Raises
    ------
    ConfigError
        If the data cannot be read again, or a parameter is invalid.
    ClusterError
        If the cluster fails for good.

    See Also
    --------
    rarefy.sweep : Trains the models in this process.
    train : Trains one model, in shards.

    Examples
    --------
    >>> import rarefy, rarefy.cluster
    >>> reader = rarefy.read("clicks/*.vw")  # doctest: +SKIP
    >>> found = rarefy.cluster.sweep(reader, l1=[0.5, 1.0], folds=3, on="ray")  # doctest: +SKIP
    >>> len(found.points)  # doctest: +SKIP
    2
    """
    if not isinstance(reader, Reader) or not reader.can_be_read_again:
        raise ConfigError("a sweep on a cluster needs files that all workers read: rarefy.read.")
    files = [os.path.abspath(file) for file in reader.files]  # workers may be in other folders
    workers = workers_of(on) if isinstance(on, str) else on

    def spread(asked: Asked) -> Judged:
        """What has workers judge points, as many each as any other, or one more."""

        def judge(points: list[Point]) -> tuple[dict[str, Floats], Extent]:
            shares = np.array_split(np.arange(len(points)), min(workers.n_readers, len(points)))
            settings = {**reader.settings(), "files": files}
            how = settings, replace(asked, n_threads=1), in_memory
            handles = [workers.start(judged, *how, [points[n] for n in share]) for share in shares]
            found = [workers.result(handle) for handle in handles]
            names, extent = found[0][0], found[0][1]
            return {n: np.concatenate([by_fold[n] for by_fold, _ in found]) for n in names}, extent

        return judge

    try:
        return sweep_here(reader, judge=spread, **how)
    finally:
        if isinstance(on, str):
            workers.close()


def judged(
    settings: dict[str, Any], asked: Asked, in_memory: bool, points: list[Point]
) -> tuple[dict[str, Floats], Extent]:
    """Read the data, and judge some points: the work of one worker."""
    reader = reader_of(settings)
    X: tuple[Any, Any, Any] = reader, None, None
    if in_memory and asked.folds is not None:
        try:
            rows = to_matrix(reader, regression=is_regression(asked.loss), memory=asked.memory)
        except RowsTooLargeError as error:
            if asked.refit:
                raise InputError(f"the rows do not fit into memory={asked.memory}.") from error
            X = reader.another(), None, None
        else:
            X = rows.X, rows.y, rows.sample_weight
            asked = replace(asked, memory=max(asked.memory - rows.n_bytes, 1))
    return judge_of(asked, *X, lambda share: None)(points)
