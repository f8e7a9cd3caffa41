"""Truncated gradient against rounding and the batch solution, on the small UCI sets."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression

from experiments.comparison import Comparison, Floats
from experiments.records import Records
from experiments.reproduction.plan import Plan
from experiments.reproduction.uci import TABLES, Examples, load
from rarefy import sweep
from rarefy.sweeping.folds import fold_numbers

TRUNCATED, ROUNDING, BATCH = "truncated gradient", "rounding", "batch L1"
WAYS = (TRUNCATED, ROUNDING, BATCH)
FOLDS = 10
EVERY = 10  # K, rounds from one truncation to the next
ETAS = (0.003, 0.01, 0.03)
STRENGTHS: dict[str, Floats] = {  # gravity, threshold θ, and 1/(n C) or α
    TRUNCATED: np.concatenate([[0.0], np.logspace(-4, 0.5, 19)]),
    ROUNDING: np.logspace(-4, 0.5, 20),
    BATCH: np.logspace(-4, 0, 13),
}


class Job(NamedTuple):
    dataset: str
    way: str
    shuffle: int
    passes: int


class Trade(NamedTuple):
    """For each strength and fold: accuracy or R², and features kept."""

    score: list[list[float]]
    features: list[list[float]]


def from_json(job: Any, found: Any) -> tuple[Job, Trade]:
    return Job(*job), Trade(*found)


def shuffled(name: str, shuffle: int) -> Examples:
    X, y = load(name)
    order = np.random.default_rng(shuffle).permutation(len(y))
    return Examples(X[order], y[order])


def folds_of(job: Job, y: Floats) -> NDArray[np.int64]:
    is_regression = TABLES[job.dataset].is_regression
    return np.asarray(fold_numbers(FOLDS, y, is_regression=is_regression, seed=job.shuffle))


def online(job: Job, threads: int) -> Trade:
    """All strengths with the constant step η that is best at the weakest one."""
    X, y = shuffled(job.dataset, job.shuffle)
    is_regression = TABLES[job.dataset].is_regression
    strength = "l1" if job.way == TRUNCATED else "threshold"
    found = sweep(
        X,
        y,
        rule="truncated-gradient" if job.way == TRUNCATED else "rounding",
        loss="squared" if is_regression else "logistic",
        folds=folds_of(job, y),
        passes=job.passes,
        n_jobs=threads,
        truncate_every=EVERY,
        schedule="constant",
        eta0=list(ETAS),
        **{strength: STRENGTHS[job.way]},
    )
    by_eta = np.array([point["eta0"] for point in found.points])
    scores = np.nan_to_num(found.by_fold[found.score], nan=-np.inf)
    weakest = {eta: scores[by_eta == eta][0].mean() for eta in ETAS}
    mine = by_eta == max(ETAS, key=lambda eta: weakest[eta])
    return Trade(scores[mine].tolist(), found.by_fold["features"][mine].tolist())


def batch(job: Job) -> Trade:
    """The minimum of the same loss with an L1 penalty: LIBLINEAR, or the lasso."""
    X, y = shuffled(job.dataset, job.shuffle)
    folds = folds_of(job, y)
    score, features = np.empty((2, len(STRENGTHS[BATCH]), FOLDS))
    for k, strength in enumerate(STRENGTHS[BATCH]):
        for fold in range(FOLDS):
            training, test = folds != fold, folds == fold
            model = batch_model(job.dataset, strength, int(training.sum()))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X[training], y[training])
            score[k, fold] = model.score(X[test], y[test])
            features[k, fold] = np.count_nonzero(model.coef_)
    return Trade(score.tolist(), features.tolist())


def batch_model(dataset: str, strength: float, n_rows: int) -> Any:
    if TABLES[dataset].is_regression:
        return Lasso(alpha=strength)
    return LogisticRegression(
        solver="liblinear", l1_ratio=1.0, C=1.0 / (strength * n_rows), intercept_scaling=10.0
    )


class Trades:
    """Features kept against accuracy, for each way and data set."""

    def __init__(self, plan: Plan, known: Records[Job, Trade]) -> None:
        self.datasets = plan.uci
        self._shuffles = range(plan.uci_shuffles)
        self._passes = plan.uci_passes
        self._known = known

    def do(self, threads: int, on_progress: Callable[[int, int], None]) -> None:
        jobs = [job for job in self._jobs() if job not in self._known]
        for done, job in enumerate(jobs):
            on_progress(done, len(jobs))
            found = batch(job) if job.way == BATCH else online(job, threads)
            self._known.keep({job: found})
        on_progress(len(jobs), len(jobs))

    def _jobs(self) -> Iterable[Job]:
        for dataset in self.datasets:
            for way in WAYS:
                yield from (self._job(dataset, way, shuffle) for shuffle in self._shuffles)

    def _job(self, dataset: str, way: str, shuffle: int) -> Job:
        return Job(dataset, way, shuffle, self._passes)

    def path(self, dataset: str, way: str) -> tuple[Floats, Floats]:
        """Scores and features kept, (strength, shuffle and fold)."""
        trades = [self._known[self._job(dataset, way, shuffle)] for shuffle in self._shuffles]
        return tuple(np.hstack(values) for values in zip(*trades, strict=True))  # type: ignore[return-value]

    def n_features(self, dataset: str) -> int:
        return load(dataset).X.shape[1]

    def with_at_most(self, dataset: str, way: str, share: float) -> Floats:
        """The scores of the best strength that keeps so many features, or else the fewest."""
        scores, features = self.path(dataset, way)
        few = features.mean(axis=1) <= share * self.n_features(dataset)
        if not few.any():
            few = features.mean(axis=1) == features.mean(axis=1).min()
        return np.asarray(scores[few][scores[few].mean(axis=1).argmax()])

    def compare(self, dataset: str, before: str, after: str, share: float) -> Comparison:
        scores = (self.with_at_most(dataset, way, share) for way in (before, after))
        return Comparison(dataset, *scores, FOLDS)

    def fewest(self, dataset: str, way: str, loss: float) -> float:
        """The least share of features whose score is within `loss` of the way's best."""
        scores, features = self.path(dataset, way)
        close = scores.mean(axis=1) >= scores.mean(axis=1).max() - loss
        return float(features.mean(axis=1)[close].min() / self.n_features(dataset))

    def kept(self, dataset: str, way: str) -> Floats:
        """The mean number of features for each strength."""
        return np.asarray(self.path(dataset, way)[1].mean(axis=1))
