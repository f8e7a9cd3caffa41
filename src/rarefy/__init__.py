"""Sparse online learning that keeps the rare features that matter."""

from rarefy.errors import (
    ClusterError,
    ConfigError,
    DivergenceError,
    InputError,
    RarefyError,
    RarefyWarning,
)
from rarefy.version import __version__

TYPE_CHECKING = False  # importing typing would be most of the time that this takes
if TYPE_CHECKING:
    from typing import Any

    from rarefy.analysis.negative_flips import flips
    from rarefy.analysis.of_estimators import evaluate, explain
    from rarefy.analysis.regret_in_hindsight import regret
    from rarefy.analysis.release_chain import releases
    from rarefy.estimators import SparseOnlineClassifier, SparseOnlineRegressor
    from rarefy.estimators.anchor_models import anchored
    from rarefy.estimators.cv import SparseOnlineClassifierCV, SparseOnlineRegressorCV
    from rarefy.estimators.merge_models import merge
    from rarefy.estimators.persistence import load
    from rarefy.estimators.soft_rows import soft_targets
    from rarefy.estimators.sweep_grid import sweep
    from rarefy.estimators.train_files import train
    from rarefy.estimators.update_models import update
    from rarefy.estimators.voted_perceptron import VotedPerceptron
    from rarefy.jit import helper
    from rarefy.readers import read
    from rarefy.rules import rule
    from rarefy.serving.client import AsyncClient, Client
    from rarefy.streams.design_matrix import to_matrix

__all__ = [
    "AsyncClient",
    "Client",
    "ClusterError",
    "ConfigError",
    "DivergenceError",
    "InputError",
    "RarefyError",
    "RarefyWarning",
    "SparseOnlineClassifier",
    "SparseOnlineClassifierCV",
    "SparseOnlineRegressor",
    "SparseOnlineRegressorCV",
    "VotedPerceptron",
    "__version__",
    "anchored",
    "evaluate",
    "explain",
    "flips",
    "helper",
    "load",
    "merge",
    "read",
    "regret",
    "releases",
    "rule",
    "soft_targets",
    "sweep",
    "to_matrix",
    "train",
    "update",
]

# Imported when first used; the compiler and scikit-learn take most of the time of a start.
_LATE = {
    "AsyncClient": "rarefy.serving.client",
    "Client": "rarefy.serving.client",
    "SparseOnlineClassifier": "rarefy.estimators",
    "SparseOnlineClassifierCV": "rarefy.estimators.cv",
    "SparseOnlineRegressor": "rarefy.estimators",
    "SparseOnlineRegressorCV": "rarefy.estimators.cv",
    "VotedPerceptron": "rarefy.estimators.voted_perceptron",
    "anchored": "rarefy.estimators.anchor_models",
    "evaluate": "rarefy.analysis.of_estimators",
    "explain": "rarefy.analysis.of_estimators",
    "flips": "rarefy.analysis.negative_flips",
    "helper": "rarefy.jit",
    "load": "rarefy.estimators.persistence",
    "merge": "rarefy.estimators.merge_models",
    "read": "rarefy.readers",
    "regret": "rarefy.analysis.regret_in_hindsight",
    "releases": "rarefy.analysis.release_chain",
    "rule": "rarefy.rules",
    "soft_targets": "rarefy.estimators.soft_rows",
    "sweep": "rarefy.estimators.sweep_grid",
    "to_matrix": "rarefy.streams.design_matrix",
    "train": "rarefy.estimators.train_files",
    "update": "rarefy.estimators.update_models",
}


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name not in _LATE:
        raise AttributeError(f"module 'rarefy' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
