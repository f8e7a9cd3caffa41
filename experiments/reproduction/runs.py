"""One rule with one penalty, judged by cross-validation over one shuffle of a data set."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from experiments.records import Records
from experiments.reproduction.data import load, with_values
from experiments.reproduction.methods import METHODS
from rarefy import sweep

STEPS_PER_DECADE = 4  # of the grid of l1
MODELS_AT_ONCE = 160  # that one sweep learns, so that little is lost when it is stopped


class Protocol(NamedTuple):
    """How it is learned and judged; what the papers leave open has their most likely meaning."""

    folds: int = 10
    passes: int = 20
    loss: str = "hinge"
    eta0: float = 1.0
    values: str = "counts"
    order: str = "same"  # of the rows in every pass; or "new", or "by class"
    intercept: bool = False


class Case(NamedTuple):
    """What a path of l1 is learned for."""

    dataset: str
    method: str
    protocol: Protocol


class Run(NamedTuple):
    """A point of that path, for one shuffle; l1 is 10 to the power of step/4."""

    case: Case
    shuffle: int
    step: int


class Outcome(NamedTuple):
    """For each fold: the accuracy, the share of zeros among the weights, and features kept."""

    accuracy: list[float]
    zeros: list[float]
    features: list[float]


def l1_of(step: int) -> float:
    return float(10.0 ** (step / STEPS_PER_DECADE))


class Laboratory:
    """Does runs, and knows what came of each."""

    def __init__(self, known: Records[Run, Outcome], n_rows: int, threads: int) -> None:
        self.known = known
        self.n_rows = n_rows
        self.threads = threads

    def do(self, runs: Iterable[Run], on_progress: Callable[[int, int], None]) -> None:
        """Do those of which nothing is known yet; progress is models learned, and all."""
        missing = sorted(set(runs) - self.known.keys())
        done, total = 0, sum(run.case.protocol.folds for run in missing)
        on_progress(done, total)
        for batch in _batches(missing):
            self.known.keep(dict(zip(batch, self.learned(batch), strict=True)))
            done += sum(run.case.protocol.folds for run in batch)
            on_progress(done, total)

    def learned(self, batch: list[Run]) -> list[Outcome]:
        """What comes of runs that differ in l1 alone."""
        (dataset, method, protocol), shuffle, _ = batch[0]
        X, y = load(dataset, shuffle, self.n_rows)
        if protocol.order == "by class":
            by_class = np.argsort(y, kind="stable")
            X, y = X[by_class], y[by_class]
        found = sweep(
            with_values(X, protocol.values),
            y,
            loss=protocol.loss,
            folds=protocol.folds,
            passes=protocol.passes,
            shuffle=protocol.order == "new",
            random_state=shuffle,
            fit_intercept=protocol.intercept,
            n_jobs=self.threads,
            eta0=protocol.eta0,
            l1=[l1_of(run.step) for run in batch],
            **METHODS[method],
        ).by_fold
        columns = (np.nan_to_num(found[name]).tolist() for name in Outcome._fields)
        return [Outcome(*values) for values in zip(*columns, strict=True)]


def _batches(runs: list[Run]) -> Iterator[list[Run]]:
    """Runs that differ in l1 alone; those over the same rows come one after the other."""

    def same_rows(run: Run) -> tuple[Any, ...]:
        return run.case.dataset, run.shuffle, run.case

    for _, group in groupby(sorted(runs, key=same_rows), key=same_rows):
        alike = list(group)
        at_once = max(MODELS_AT_ONCE // alike[0].case.protocol.folds, 1)
        for first in range(0, len(alike), at_once):
            yield alike[first : first + at_once]


def from_json(run: Any, found: Any) -> tuple[Run, Outcome]:
    (dataset, method, protocol), shuffle, step = run
    return Run(Case(dataset, method, Protocol(*protocol)), shuffle, step), Outcome(*found)
