"""`rarefy.cluster.train`: `rarefy.train` on rows that workers read and learn."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rarefy.cluster.dataset_reader import is_dataset, reader_of_dataset
from rarefy.cluster.ray_workers import RayWorkers
from rarefy.cluster.remote_rows import RemoteRows
from rarefy.cluster.worker_protocol import Workers
from rarefy.errors import ConfigError
from rarefy.estimators.train_files import plan_for, trained
from rarefy.training.plan import Plan, new_plan
from rarefy.training.progress_tracker import ProgressLine
from rarefy.training.request import READING

RAY = "ray"


def train(
    *data: Any,
    on: str | Workers = RAY,
    output: str | Path | None = None,
    resume: Any = None,
    slim: bool = False,
    progress: Callable[[ProgressLine], None] | None = None,
    **parameters: Any,
) -> Any:
    """Train a model on a cluster, to the same bytes as `rarefy.train` with as many shards.

    Workers read the data and learn the shards; this process has the model, merges what they have
    learned, and never has the data.

    Parameters
    ----------
    *data : str, Path or Dataset
        Files or globs, which all workers can read under these names; or a dataset of Ray Data,
        whose blocks Ray reads into its memory. The rows are learned in its order. With `format`,
        the only column of the dataset has lines of VW text, svmlight or JSON.
    on : str or Workers, default="ray"
        Cluster: "ray", or "ray:ADDRESS" for one that is running (or set RAY_ADDRESS). Without an
        address, Ray starts processes on this machine.
    output, resume, slim, progress, **parameters
        As in `rarefy.train`; `shards` is needed. Not supported are `shuffle`, `cache`, `refit` and
        pipes.

    Returns
    -------
    SparseOnlineClassifier or SparseOnlineRegressor
        The model, as from `rarefy.train`.

    Raises
    ------
    ClusterError
        If the cluster fails for good; with `save_every`, `output` is as it was saved last.
    ConfigError, InputError
        As in `rarefy.train`.

    See Also
    --------
    rarefy.train : Trains in this process.
    sweep : Spreads the models of a grid over workers.

    Examples
    --------
    >>> import rarefy.cluster
    >>> model = rarefy.cluster.train("clicks/*.vw", shards=2, on="ray")  # doctest: +SKIP
    >>> model.predict_one("| shoes site7")  # doctest: +SKIP
    1
    """
    workers = workers_of(on) if isinstance(on, str) else on
    where: dict[str, Any] = {"output": None if output is None else str(output), "slim": slim}
    try:
        if not data or not is_dataset(data[0]):
            plan = plan_for(data, **where, resume=resume, anchor=None, parameters=parameters)
        elif len(data) > 1 or resume is not None:
            raise ConfigError(
                "a dataset comes alone, and is for new models: use files to resume one."
            )
        else:
            reading = {name: parameters[name] for name in READING if name in parameters}
            plan = new_plan(reader_of_dataset(data[0], workers, reading), **where, **parameters)
        with learning_on(workers, plan):
            return trained(plan, progress)
    finally:
        if isinstance(on, str):
            workers.close()


@contextmanager
def learning_on(on: str | Workers, plan: Plan) -> Iterator[None]:
    """Have the run of a plan learned by workers."""
    _check(plan)
    workers = workers_of(on) if isinstance(on, str) else on
    try:
        plan.run.elsewhere = RemoteRows(plan.run, workers)
        yield
    finally:
        if isinstance(on, str):
            workers.close()


def workers_of(on: str) -> RayWorkers:
    """The workers that a user names."""
    engine, _, address = on.partition(":")
    if engine != RAY:
        raise ConfigError(f"on={on!r} (--on): ray, or ray:ADDRESS, is expected.")
    return RayWorkers(address or None)


def _check(plan: Plan) -> None:
    """Refuse what needs all rows at one place."""
    settings = plan.settings
    if settings.get("shards", 1) == 1:
        raise ConfigError(
            "a cluster learns in shards: say how many, with shards=K (--shards K). The number is "
            "part of the model, and that of workers is not."
        )
    for name in ("shuffle", "cache"):
        if settings.get(name):
            raise ConfigError(
                f"{name}={settings[name]!r} (--{name}) is not for clusters, where no process has "
                f"all rows."
            )
    if plan.refit is not None:
        raise ConfigError(
            "a refit needs all rows at one place: on a cluster, train without refit (--refit), "
            "and without target_features (--target-features)."
        )
    if not plan.run.can_be_read_again:
        raise ConfigError("workers cannot read standard input or a pipe: name files.")
