"""Sparse online learning that keeps the rare features that matter."""

from rarefy.errors import (
    ConfigError,
    DivergenceError,
    InputError,
    RarefyError,
    RarefyWarning,
)

TYPE_CHECKING = False  # importing typing would be most of the time that this takes
if TYPE_CHECKING:
    from typing import Any

    from rarefy.estimators import SparseOnlineClassifier, SparseOnlineRegressor
    from rarefy.estimators.cv import SparseOnlineClassifierCV, SparseOnlineRegressorCV
    from rarefy.estimators.saving import load
    from rarefy.flipping import flips
    from rarefy.jit import helper
    from rarefy.readers import read
    from rarefy.rules import rule
    from rarefy.sweeping.run import sweep
    from rarefy.training import train

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "DivergenceError",
    "InputError",
    "RarefyError",
    "RarefyWarning",
    "SparseOnlineClassifier",
    "SparseOnlineClassifierCV",
    "SparseOnlineRegressor",
    "SparseOnlineRegressorCV",
    "flips",
    "helper",
    "load",
    "read",
    "rule",
    "sweep",
    "train",
]

# Imported when first used; the compiler and scikit-learn take most of the time of a start.
_LATE = {
    "SparseOnlineClassifier": "rarefy.estimators",
    "SparseOnlineClassifierCV": "rarefy.estimators.cv",
    "SparseOnlineRegressor": "rarefy.estimators",
    "SparseOnlineRegressorCV": "rarefy.estimators.cv",
    "flips": "rarefy.flipping",
    "helper": "rarefy.jit",
    "load": "rarefy.estimators.saving",
    "read": "rarefy.readers",
    "rule": "rarefy.rules",
    "sweep": "rarefy.sweeping.run",
    "train": "rarefy.training",
}


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name not in _LATE:
        raise AttributeError(f"module 'rarefy' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
