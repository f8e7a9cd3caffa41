"""Learning on several machines: shards whose rows are read and learned by other processes.

The process that is asked to train, the driver, has the model; workers have the rows. What a shard
does in a round is a plain function of a start and rows (`shard_work`), so that any engine can run
it; `worker_protocol` says what an engine has to do, and `ray_workers` is Ray.
"""

from typing import Any

__all__ = ["read_piece", "sweep", "train"]

# Imported when first used: workers need nothing of it, and start faster without scikit-learn.
_LATE = {
    "read_piece": "rarefy.cluster.pieces",
    "sweep": "rarefy.cluster.sweep_on_workers",
    "train": "rarefy.cluster.train_on_workers",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _LATE:
        raise AttributeError(f"module 'rarefy.cluster' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
