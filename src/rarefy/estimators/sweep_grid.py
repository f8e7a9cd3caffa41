"""`rarefy.sweep`: train a whole grid of models, and compare them."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rarefy.arrays import Floats, as_rows
from rarefy.checks import check_flag, check_whole
from rarefy.errors import ConfigError, InputError, RarefyWarning
from rarefy.estimators.classifier import SparseOnlineClassifier
from rarefy.estimators.regressor import SparseOnlineRegressor
from rarefy.estimators.sparse_online import examples_for, task_of
from rarefy.estimators.training_warnings import warn_of
from rarefy.files.label_types import label_names
from rarefy.model.label_runs import LabelRuns
from rarefy.model.scoring import TALLIED, Scoring, make_scoring
from rarefy.model.target_order import TargetOrder
from rarefy.parameters.entry import LARGEST_SEED, MOST_PASSES
from rarefy.parameters.of_sweeps import (
    DEFAULT_MEMORY,
    DEFAULT_PASSES,
    LARGEST_MEMORY,
    MOST_THREADS,
)
from rarefy.parameters.table import DEFAULT_RULE
from rarefy.readers import Reader
from rarefy.sweeping.cross_validation import Candidate, CrossValidation, Fitting
from rarefy.sweeping.folds import fold_numbers
from rarefy.sweeping.grid import Point, grid, is_default_l1, is_regression, values, wider
from rarefy.sweeping.result import Extent, Sweep
from rarefy.sweeping.stream_sweep import GridTask, sweep_stream

MOST_FOLDS = 1 << 10
MOST_WIDENINGS = 3
Judged = Callable[[list[Point]], tuple[dict[str, Floats], Extent]]


def estimator_class(loss: Any) -> Any:
    """The estimator for one or several losses."""
    return SparseOnlineRegressor if is_regression(loss) else SparseOnlineClassifier


@dataclass(frozen=True)
class EstimatorAt:
    """Makes the estimators of a grid: a class, and the parameters that all points share."""

    estimator_class: Any
    parameters: dict[str, Any]

    def __call__(self, point: Point) -> Any:
        return self.estimator_class(**{**self.parameters, **point})

    def candidate(self, point: Point) -> Candidate:
        """What the estimator at a point would learn; its parameters are checked."""
        estimator = self(point)
        return Candidate(task_of(estimator), estimator.random_state, estimator.refit_features)


def sweep(
    X: Any,
    y: Any = None,
    *,
    rule: Any = None,
    loss: Any = "logistic",
    n_l1: int = 30,
    folds: Any = 10,
    passes: int | None = None,
    shuffle: bool = False,
    random_state: Any = 0,
    fit_intercept: bool = True,
    class_weight: Any = None,
    sample_weight: Any = None,
    scoring: Any = None,
    refit: bool = False,
    refit_l2: float | None = None,
    memory: int = DEFAULT_MEMORY,
    n_jobs: int | None = None,
    progress: Callable[[float], None] | None = None,
    judge: "Callable[[Asked], Judged] | None" = None,
    **parameters: Any,
) -> Sweep:
    """Train and evaluate a model for every combination of parameters, all at once.

    Each model is the one that the estimator with its parameters would learn from the same rows.

    Parameters
    ----------
    X : matrix or Reader
        Matrix, as for the estimators, or a reader from `rarefy.read`. Rows of a reader are not kept
        in memory; with folds, it is read `passes` + 1 times, and folds are not stratified.
    y : array-like, optional
        Labels; a reader has its own.
    rule : str, rule, or list of these, optional
        Rule, or several rules; by default scale-free.
    loss : str or list of str, default="logistic"
        Loss, or several losses, all for classification or all for regression.
    n_l1 : int, default=30
        Number of values of l1 to try if none is given: from 0.3 to 32 for scale-free, otherwise
        from a thousandth to a hundred times the rule's default. If the best one is at an end, a
        quarter as many are tried beyond it, up to three times.
    folds : int, array of int, or None, default=10
        Number of folds, stratified by class, or the fold number of each row. With None, each point
        is trained once on all rows, and judged by its predictions in the last pass, made just
        before each row is learned.
    passes : int, optional
        Number of passes; by default 20, or 1 without folds. Without folds, the score of several
        passes is too optimistic, because the rows were learned before.
    shuffle : bool, default=False
        Whether to shuffle the rows in each pass, in the same way for all folds.
    random_state : int or list of int, default=0
        Seed for the folds (the first one) and for shuffling.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    class_weight : dict or "balanced", optional
        Class weights for training, as in the estimators; with folds, models are judged without
        them. With a reader, class frequencies are those of the rows so far.
    sample_weight : array-like, optional
        Weights of the rows.
    scoring : str or function, optional
        Metric of the choice: "accuracy" (default), "loss", "f1", "auc" or "average_precision"; in
        regression "r2" (default), "rmse" or "loss". f1, auc and average_precision are for the
        second of two classes; f1 of several classes is the mean over them. A function is called
        with the labels and scores (`decision_function`) of the rows of a fold, like scikit-learn's
        `roc_auc_score`, and with `sample_weight` if weights are not all 1; larger is better. All
        but accuracy, loss, r2 and rmse need folds.
    refit : bool, default=False
        Whether to refit each model before it is judged, as in the estimators. It needs folds.
        Several values of refit_features cost about as much as one.
    refit_l2 : float, optional
        L2 penalty of the refit.
    memory : int, default=2**30
        Memory in bytes for models that are trained at the same time.
    n_jobs : int, optional
        Number of threads; by default the number of cores. Results do not depend on it.
    progress : callable, optional
        Called from these threads with the share of the work done.
    judge : callable, optional
        What judges the points of the grid in the place of this process: see `rarefy.cluster.sweep`.
    **parameters
        Other parameters of `SparseOnlineClassifier`, or of `SparseOnlineRegressor` for losses of
        regression: each a value, or a list or array of values. With several rules or losses, a
        parameter applies to those that have it. endowment and importance="aware" are not supported.

    Returns
    -------
    Sweep
        The points of the grid with their scores, and methods to choose one.

    Raises
    ------
    ConfigError
        If a parameter is invalid, or `memory` is too small for eight models.
    InputError
        If the data are invalid.

    See Also
    --------
    SparseOnlineClassifierCV : The same as an estimator.
    to_matrix : Rows of files, for a sweep in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import sweep
    >>> X = np.random.default_rng(0).normal(size=(200, 30))
    >>> result = sweep(X, X[:, 0] > 0.0, l1=[0.3, 1.0, 3.0, 10.0], folds=5, passes=2)
    >>> len(result.table["l1"])
    4
    >>> result.one_standard_error().measures["weights"] < 30
    True
    """
    asked = Asked(
        rule=DEFAULT_RULE if rule is None else rule,
        loss=loss,
        n_l1=n_l1,
        folds=folds,
        passes=_checked_passes(passes, folds),
        shuffle=shuffle,
        seeds=tuple(_checked_seeds(random_state, shuffle)),
        fit_intercept=fit_intercept,
        class_weight=class_weight,
        scoring=scoring,
        refit=refit,
        refit_l2=refit_l2,
        memory=memory,
        n_threads=(os.cpu_count() or 1) if n_jobs is None else n_jobs,
        parameters=parameters,
    )
    points = asked.points()
    if judge is None:
        judged = judge_of(asked, X, y, sample_weight, progress or (lambda share: None))
    else:
        judged = judge(asked)
    found = found_by(asked, points, judged, may_widen=not _is_read_once(X))
    if found.end_of_grid:
        warnings.warn(found.end_of_grid, RarefyWarning, stacklevel=2)
    return found


@dataclass(frozen=True)
class Asked:
    """What a sweep is asked for, but for the data."""

    rule: Any
    loss: Any
    n_l1: int
    folds: Any
    passes: int
    shuffle: bool
    seeds: tuple[int, ...]  # of folds and orders
    fit_intercept: bool
    class_weight: Any
    scoring: Any
    refit: bool
    refit_l2: float | None
    memory: int
    n_threads: int
    parameters: dict[str, Any]  # of the grid

    def points(self) -> list[Point]:
        """The points of the grid; all that was asked for is checked."""
        check_flag("fit_intercept", self.fit_intercept)
        check_whole("memory", self.memory, 1, LARGEST_MEMORY)
        check_whole("n_jobs", self.n_threads, 1, MOST_THREADS)
        seeds = {"random_state": list(self.seeds)} if len(self.seeds) > 1 else {}
        points = grid(self.rule, self.loss, self.n_l1, {**self.parameters, **seeds})
        if self.chosen_by.needs_scores and self.folds is None:
            raise ConfigError(
                f"scoring={self.scoring!r} needs folds. Without folds, choose by "
                f"{', '.join(TALLIED)}."
            )
        for point in points:
            self.estimator_at.candidate(point)
        return points

    @property
    def chosen_by(self) -> Scoring:
        return make_scoring(self.scoring, is_regression=is_regression(self.loss))

    @property
    def estimator_at(self) -> EstimatorAt:
        return EstimatorAt(
            estimator_class(self.loss),
            {"passes": self.passes, "shuffle": self.shuffle, "random_state": self.seeds[0],
             "fit_intercept": self.fit_intercept, "refit": self.refit, "refit_l2": self.refit_l2,
             **({} if self.class_weight is None else {"class_weight": self.class_weight})},
        )  # fmt: skip


def judge_of(
    asked: Asked, X: Any, y: Any, sample_weight: Any, progress: Callable[[float], None]
) -> Judged:
    """What judges points of the grid by these rows."""
    estimator_at, chosen_by, passes = asked.estimator_at, asked.chosen_by, asked.passes
    if isinstance(X, Reader):
        _check_stream(y, sample_weight, asked.folds, asked.shuffle, asked.refit)

        def by_reading(points: list[Point]) -> tuple[dict[str, Floats], Extent]:
            tasks = [estimator_at.candidate(point).task for point in points]
            seed, n_threads = asked.seeds[0], asked.n_threads
            task = GridTask(tasks, asked.folds, seed, asked.memory, passes, n_threads)
            return sweep_stream(task, X, progress, chosen_by)

        return by_reading
    first = estimator_at(asked.points()[0])
    X, y, importance, classes = examples_for(first, X, y, sample_weight)
    if not importance.any():
        raise InputError("sample_weight is zero for all rows: there is nothing to learn.")
    if not asked.shuffle:
        runs = LabelRuns() if len(classes) else TargetOrder()
        runs.add(y)
        warn_of(runs, "Use shuffle=True.")
    shared = {
        "fitting": Fitting(passes, asked.shuffle, asked.refit, asked.refit_l2),
        "rows": as_rows(X, y, importance),
        "folds": fold_numbers(asked.folds, y, is_regression=len(classes) == 0, seed=asked.seeds[0]),
        "n_columns": X.shape[1],
        "n_classes": len(classes),
        "n_threads": asked.n_threads,
        "judge": chosen_by.judge(classes),
        "class_weights": task_of(first).class_weights(label_names(classes)),
    }
    judged = chosen_by.name if chosen_by.needs_scores else ""

    def in_memory(points: list[Point]) -> tuple[dict[str, Floats], Extent]:
        validation = CrossValidation(list(map(estimator_at.candidate, points)), **shared)
        return validation.run(asked.memory, progress, judged), Extent(*X.shape)

    return in_memory


def found_by(asked: Asked, points: list[Point], judge: Judged, *, may_widen: bool) -> Sweep:
    """What a judge finds of the points, and of more of them where the best is at an end."""
    estimator_at = asked.estimator_at
    found = Sweep(estimator_at, points, *judge(points), asked.chosen_by.name)
    if may_widen and is_default_l1(asked.parameters):
        found = _widened(found, estimator_at, asked.n_l1, judge)
    return found


def _is_read_once(X: Any) -> bool:
    return isinstance(X, Reader) and not X.can_be_read_again


def _widened(found: Sweep, estimator_at: EstimatorAt, n_l1: int, judge: Judged) -> Sweep:
    """The sweep with more points, as long as the best l1 is at the end of the grid."""
    for _ in range(MOST_WIDENINGS):
        end = found.end_of_l1()
        if end is None:
            break
        more = wider(*end, n_l1)
        measures, extent = judge(more)
        both = {name: np.concatenate([found.by_fold[name], new]) for name, new in measures.items()}
        found = Sweep(estimator_at, [*found.points, *more], both, extent, found.score)
    return found


def _check_stream(y: Any, sample_weight: Any, folds: Any, shuffle: bool, refit: bool) -> None:
    """Refuse what needs all rows at once."""
    if y is not None or sample_weight is not None:
        raise InputError(
            "X is a reader, which has its own labels and weights: do not give y or sample_weight."
        )
    if folds is not None:
        check_whole("folds", folds, 2, MOST_FOLDS)
    if shuffle or refit:
        name = "shuffle" if shuffle else "refit"
        raise ConfigError(f"{name}=True needs all rows at once: give a matrix, not a reader.")


def _checked_passes(passes: int | None, folds: Any) -> int:
    if passes is None:
        return 1 if folds is None else DEFAULT_PASSES
    check_whole("passes", passes, 1, MOST_PASSES)
    return int(passes)


def _checked_seeds(random_state: Any, shuffle: bool) -> list[int]:
    check_flag("shuffle", shuffle)
    seeds = values(random_state)
    for seed in seeds:
        check_whole("random_state", seed, 0, LARGEST_SEED)
    if len(seeds) > 1 and not shuffle:
        raise ConfigError(f"random_state={seeds}: several seeds need shuffle=True.")
    return [int(seed) for seed in seeds]
