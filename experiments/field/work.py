"""What comes of every setting of a method on a data set, in each fold."""

import warnings
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from experiments.field.methods import METHODS, Method
from experiments.peers.data import Task, task
from experiments.peers.methods import METHODS as TOOLS
from experiments.peers.outcome import Outcome
from experiments.peers.plan import FULL
from rarefy import DivergenceError, VotedPerceptron, sweep
from rarefy.rules import FINITE_DATA

PASSES_OF_FINITE = 30
COIN_TOSS = 0.5  # of weights that diverged
REFERENCES = ("liblinear-6", "sgd-l1")  # of the peers' page

Key = tuple[str, str]  # method and data set


class Result(NamedTuple):
    accuracy: list[list[float]]  # by setting and fold
    weights: list[list[float]]
    seconds: float  # of processor time, of all settings and folds

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.accuracy, self.weights)


def read(key: Any, value: Any) -> tuple[Key, Result]:
    return tuple(key), Result(*value)


def result(name: str, dataset: str) -> Result:
    made = task(dataset, FULL.most_rows, FULL.n_folds)
    began = process_time()
    found = TOOLS[name].run(made, FULL) if name in REFERENCES else outcome(METHODS[name], made)
    return Result(*found, process_time() - began)


def outcome(method: Method, made: Task) -> Outcome:
    if not method.side_by_side:
        return one_by_one(method, made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that diverge, and ends of grids
        found = sweep(
            made.X,
            made.y,
            folds=made.folds,
            passes=FULL.passes,
            n_jobs=1,
            rule=method.rule,
            **{name: list(values) for name, values in method.grid.items()},
            **method.use,
        )
    accuracy, weights = found.by_fold["accuracy"], found.by_fold["weights"]
    return Outcome(
        np.nan_to_num(accuracy, nan=COIN_TOSS).tolist(), np.nan_to_num(weights, nan=0.0).tolist()
    )


def numbers_of(model: Any) -> int:
    """How many numbers a prediction needs: weights, or all entries of the rows that vote."""
    if isinstance(model, VotedPerceptron):
        return int(model.mistakes_.rows.nnz)
    return int(model.n_nonzero_)


def one_by_one(method: Method, made: Task) -> Outcome:
    passes = PASSES_OF_FINITE if method.rule in FINITE_DATA else FULL.passes
    accuracy, weights = [], []
    for setting in method.settings:
        of_folds = []
        for fold in range(FULL.n_folds):
            X, y, X_own, y_own = made.split(fold)
            model = method.model(passes, **setting)
            try:
                model.fit(X, y)
                of_folds.append((model.score(X_own, y_own), numbers_of(model)))
            except DivergenceError:
                of_folds.append((COIN_TOSS, 0))
        accuracy.append([float(score) for score, _ in of_folds])
        weights.append([float(count) for _, count in of_folds])
    return Outcome(accuracy, weights)
