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
from rarefy.sweeping.result import Sweep

BATCH = "batch L1"
PERIODS = (10, 1_000)  # K, rounds from one truncation to the next
FOLDS = 10
ETAS = (0.003, 0.01, 0.03)
SMALL = 1_500  # rows; smaller sets are learned in more passes
MORE_PASSES = 10  # times as many
PENALTIES = np.logspace(-4, 0, 17)  # gravity, and for the batch solution 1/(n C) or α
STRENGTHS: dict[str, Floats] = {
    "l1": np.concatenate([[0.0], PENALTIES, [2.0, 4.0]]),
    "threshold": np.logspace(-4, 0.5, 20),
    BATCH: PENALTIES,
}


def truncated(period: int) -> str:
    return f"truncated gradient, K={period}"


def rounding(period: int) -> str:
    return f"rounding, K={period}"


WAYS = (*map(truncated, PERIODS), *map(rounding, PERIODS), BATCH)


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


def shuffled(job: Job) -> Examples:
    """As many rows, in random order, as end the last pass with a truncation for every K."""
    X, y = load(job.dataset)
    order = np.random.default_rng(job.shuffle).permutation(len(y))
    rounds_for_a_row = passes_of(job, len(y)) * (FOLDS - 1) // FOLDS
    unit = max(PERIODS) // np.gcd(max(PERIODS), rounds_for_a_row)
    unit = int(np.lcm(unit, FOLDS))
    order = order[: max(len(y) // unit, 1) * unit]
    return Examples(X[order], y[order])


def passes_of(job: Job, n_rows: int) -> int:
    return job.passes * (MORE_PASSES if n_rows < SMALL else 1)


def folds_of(job: Job, n_rows: int) -> NDArray[np.int64]:
    """Of equal size."""
    y = np.zeros(n_rows)
    return np.asarray(fold_numbers(FOLDS, y, is_regression=True, seed=job.shuffle))


def online(job: Job, threads: int) -> Trade:
    """All strengths, with the constant step η that is best without truncation."""
    X, y = shuffled(job)
    rule, strength = {
        **{truncated(period): ("truncated-gradient", "l1") for period in PERIODS},
        **{rounding(period): ("rounding", "threshold") for period in PERIODS},
    }[job.way]

    def learned(**grid: Any) -> Sweep:
        return sweep(
            X,
            y,
            loss="squared" if TABLES[job.dataset].is_regression else "logistic",
            folds=folds_of(job, len(y)),
            passes=passes_of(job, len(load(job.dataset).y)),
            schedule="constant",
            n_jobs=threads,
            **grid,
        )

    by_eta = learned(rule="ogd", eta0=list(ETAS))
    period = int(job.way.rpartition("=")[2])
    found = learned(
        rule=rule,
        truncate_every=period,
        eta0=by_eta.best().parameters["eta0"],
        **{strength: STRENGTHS[strength]},
    )
    scores = np.nan_to_num(found.by_fold[found.score])
    return Trade(scores.tolist(), found.by_fold["features"].tolist())


def batch(job: Job) -> Trade:
    """The minimum of the same loss with an L1 penalty: LIBLINEAR, or the lasso."""
    X, y = shuffled(job)
    folds = folds_of(job, len(y))
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
        solver="liblinear",
        l1_ratio=1.0,
        C=1.0 / (strength * n_rows),
        intercept_scaling=10.0,
        random_state=0,
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
        """Scores and features kept, (strength, shuffle and fold); R² below 0 is taken as 0."""
        trades = [self._known[self._job(dataset, way, shuffle)] for shuffle in self._shuffles]
        scores, features = map(np.hstack, zip(*trades, strict=True))
        return np.maximum(scores, 0.0), features

    def n_features(self, dataset: str) -> int:
        return int(load(dataset).X.shape[1])

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

    def means(self, dataset: str, way: str) -> tuple[Floats, Floats]:
        """The mean score and the mean share of features kept, for each strength."""
        scores, features = self.path(dataset, way)
        return scores.mean(axis=1), features.mean(axis=1) / self.n_features(dataset)

    def against_batch(self, way: str) -> tuple[float, float]:
        """By how much scores, and shares of features kept, differ with the same penalty: means.

        Of truncated gradient; differences of scores are absolute.
        """
        gaps = []
        for dataset in self.datasets:
            own, solution = self.means(dataset, way), self.means(dataset, BATCH)
            scores, kept = (
                a[1 : 1 + len(PENALTIES)] - b for a, b in zip(own, solution, strict=True)
            )
            gaps.append((np.abs(scores).mean(), kept.mean()))
        score, share = np.mean(gaps, axis=0)
        return float(score), float(share)

    def fewest(self, dataset: str, way: str, loss: float) -> float:
        """The least share of features whose score is within `loss` of the best of all ways."""
        best = max(self.means(dataset, other)[0].max() for other in WAYS)
        scores, kept = self.means(dataset, way)
        return float(kept[scores >= best - loss].min(initial=1.0))
