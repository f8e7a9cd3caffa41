"""Sparse online learning that keeps the rare features that matter."""

from rarefy.errors import ConfigError, DivergenceError, InputError, RarefyError
from rarefy.estimators import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.jit import helper
from rarefy.rules import rule

__version__ = "0.1.0"

__all__ = [
    "ConfigError",
    "DivergenceError",
    "InputError",
    "RarefyError",
    "SparseOnlineClassifier",
    "SparseOnlineRegressor",
    "helper",
    "rule",
]
