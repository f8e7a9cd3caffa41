"""Plain and feature-aware rules, and the default rule, in one pass over the same rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from demo.data import Corpus, Indices
from rarefy import SparseOnlineClassifier

CLASSES = (-1, 1)
WARM_UP_ROWS = 100
FIRST_STEP = 2.0  # of 1, 2, 4, 8 and 16: that of the least progressive loss of the plain rules


@dataclass(frozen=True)
class Setting:
    """A rule and its parameters."""

    rule: str
    l1: float
    q: float | None = None
    eta0: float | None = FIRST_STEP  # None: the rule's default
    cumulative: bool = False

    def model(self, l1: float | None = None) -> SparseOnlineClassifier:
        return SparseOnlineClassifier(
            self.rule,
            l1=self.l1 if l1 is None else l1,
            q=self.q,
            eta0=self.eta0,
            cumulative=self.cumulative,
            passes=1,
            shuffle=False,
        )


class Pair(NamedTuple):
    plain: Setting
    aware: Setting


# Chosen by looking at results on this very corpus: the target of 95 % zeros, the first step (the
# best of 1, 2, 4, 8, 16 for the plain rules), q and the cumulative penalty. With steps of 4 and
# more fr-comid is no better than fobos.
# Each l1 was set to leave about 95 % zeros, so that rules can be compared. With q = 2 the penalty
# depends on the frequency of a feature as well as on its unit. FOBOS has the cumulative penalty:
# without it, both versions forget features that have not occurred lately.
PAIRS = (
    Pair(
        Setting("fobos", 2.0e-4, cumulative=True),
        Setting("fr-comid", 7.7e-5, q=2, cumulative=True),
    ),
    Pair(Setting("rda", 1.115e-4), Setting("frda", 6.27e-5, q=2)),
    Pair(Setting("ftprl", 2.1e-4), Setting("ftpfrl", 1.3e-4, q=2)),
)
DEFAULT = Setting("scale-free", 2.25, eta0=None)
SETTINGS = (*(setting for pair in PAIRS for setting in pair), DEFAULT)


@dataclass
class Contestant:
    """A rule that learns, and what is known of it so far."""

    setting: Setting
    model: SparseOnlineClassifier = field(init=False)
    examples: int = 0
    predicted: int = 0
    correct: int = 0

    def __post_init__(self) -> None:
        self.model = self.setting.model()

    def learn(self, X: object, y: NDArray[np.int64]) -> None:
        """Predict the rows (if anything was learned before), then learn them."""
        if self.examples:
            self.correct += int(np.count_nonzero(self.model.predict(X) == y))
            self.predicted += len(y)
        self.model.partial_fit(X, y, classes=CLASSES)
        self.examples += len(y)

    @property
    def accuracy_so_far(self) -> float | None:
        """Share of rows predicted correctly before they were learned."""
        return self.correct / self.predicted if self.predicted else None

    def kept(self, words: Indices) -> int:
        """How many of these words have a weight."""
        return int(np.isin(words, self.model.sparse_coef_.indices).sum())


@dataclass(frozen=True)
class Outcome:
    """What one pass led to."""

    rule: str
    test_accuracy: float
    progressive_loss: float
    share_of_zeros: float
    weights: int
    rare_kept: int
    small_unit_kept: int
    frequent_kept: int
    hits: NDArray[np.bool_]  # whether each test row was predicted correctly


class PathPoint(NamedTuple):
    """One strength of the penalty: how many weights are left, and what they are good for."""

    l1: float
    weights: int
    test_accuracy: float


def falls_behind_at(plain: Sequence[PathPoint], aware: Sequence[PathPoint]) -> float | None:
    """Number of weights below which the plain rule is better, if there is one.

    Accuracies between the points of a path are interpolated, over the logarithm of the weights.
    """
    curves = []
    for path in (plain, aware):
        points = sorted({point.weights: point.test_accuracy for point in path}.items())
        curves.append(np.array([point for point in points if point[0] > 0]).T)
    low, high = max(kept[0] for kept, _ in curves), min(kept[-1] for kept, _ in curves)
    if low >= high:
        return None
    grid = np.geomspace(low, high, 1_000)
    of_plain, of_aware = (np.interp(np.log(grid), np.log(kept), acc) for kept, acc in curves)
    ahead = of_aware >= of_plain
    return None if ahead[0] else float(grid[ahead.argmax()] if ahead.any() else high)


def compile_rules(corpus: Corpus, settings: Iterable[Setting] = SETTINGS) -> None:
    """Let each rule compile on a few rows, so that the race is smooth."""
    few = slice(0, WARM_UP_ROWS)
    for setting in settings:
        model = setting.model().partial_fit(corpus.X_train[few], corpus.y_train[few], CLASSES)
        model.predict(corpus.X_test[few])


def race(
    corpus: Corpus,
    settings: Iterable[Setting] = SETTINGS,
    chunk: int = 4_000,
    on_progress: Callable[[list[Contestant]], None] = lambda contestants: None,
) -> list[Contestant]:
    """All rules go over the training rows once, side by side, chunk by chunk."""
    contestants = [Contestant(setting) for setting in settings]
    on_progress(contestants)
    for first in range(0, len(corpus.y_train), chunk):
        rows = slice(first, first + chunk)
        X, y = corpus.X_train[rows], corpus.y_train[rows]
        for contestant in contestants:
            contestant.learn(X, y)
            on_progress(contestants)
    return contestants


def outcome(contestant: Contestant, corpus: Corpus) -> Outcome:
    model = contestant.model
    hits = model.predict(corpus.X_test) == corpus.y_test
    return Outcome(
        rule=contestant.setting.rule,
        test_accuracy=float(hits.mean()),
        progressive_loss=model.progressive_loss_,
        share_of_zeros=model.sparsity_,
        weights=model.n_nonzero_,
        rare_kept=contestant.kept(corpus.rare),
        small_unit_kept=contestant.kept(corpus.small_unit),
        frequent_kept=contestant.kept(corpus.frequent),
        hits=hits,
    )


def l1_path(corpus: Corpus, setting: Setting, n_points: int = 10) -> Iterator[PathPoint]:
    """One pass for each of several strengths around that of the setting, weak to strong."""
    for l1 in setting.l1 * np.geomspace(1 / 16, 4, n_points):
        model = setting.model(float(l1)).fit(corpus.X_train, corpus.y_train)
        yield PathPoint(float(l1), model.n_nonzero_, model.score(corpus.X_test, corpus.y_test))
