"""The tasks: all with two classes, and no more than some thousand rows, in random order."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.data import REAL_DATA
from experiments.data import criteo, rcv1, reuters
from experiments.endowment.data import news20, words
from rarefy.sweeping.folds import fold_numbers

SEED = 0


class Task(NamedTuple):
    """Rows, labels of -1 and +1, and every row's fold."""

    X: sparse.csr_array
    y: NDArray[np.float64]
    folds: NDArray[np.int64]

    def split(self, fold: int) -> tuple[Any, NDArray[np.float64], Any, NDArray[np.float64]]:
        """What is learned, and what is predicted."""
        own = self.folds == fold
        return self.X[~own], self.y[~own], self.X[own], self.y[own]


class Source(NamedTuple):
    folder: str
    title: str
    read: Callable[[], tuple[Any, NDArray[Any]]]


def earnings() -> tuple[Any, NDArray[Any]]:
    """The commonest topic, earn, against all others."""
    X, topics = reuters()
    X.data[:] = 1.0
    return X, topics == "earn"


def reviews(folder: str, file: str, title: str) -> Source:
    return Source(folder, title, lambda: words(folder, file))


SOURCES = {
    "books": reviews("amazon-books", "ub6000.svm.xz", "book reviews, words and pairs"),
    "dvd": reviews("amazon-dvd", "ub6000.svm.xz", "film reviews at a shop, words and pairs"),
    "dvd-2000": reviews("amazon-dvd", "processed_acl2000.svm.xz", "other reviews of the same shop"),
    "imdb": reviews("imdb", "unigram-train.svm.xz", "film reviews, words"),
    "movies": reviews("movie-reviews", "ub.svm.xz", "film reviews, words and pairs"),
    "rcv1": Source("rcv1-small", "news in two classes, tf-idf of words", rcv1),
    "news20": Source("20newsgroups", "computers and science against all else, words", news20),
    "reuters": Source("reuters21578", "earnings against other news, words", earnings),
    "sms": reviews("sms-spam", "unigram.svm.xz", "spam messages, words"),
    "a9a": reviews("a9a", "a9a.svm.xz", "incomes, UCI Adult in 123 indicators"),
    "criteo": Source("criteo-8k", "clicks, every value of 39 fields a feature", criteo),
}


def absent(names: Iterable[str]) -> list[str]:
    """Those that are not at hand."""
    return [name for name in names if not (REAL_DATA / SOURCES[name].folder).is_dir()]


@lru_cache(maxsize=1)
def task(name: str, most_rows: int, n_folds: int, seed: int = SEED) -> Task:
    X, labels = SOURCES[name].read()
    y = np.where(labels == labels.max(), 1.0, -1.0)
    chosen = np.random.default_rng(seed).permutation(len(y))[:most_rows]
    X, y = sparse.csr_array(X)[chosen], y[chosen]
    X = X[:, np.unique(X.indices)]
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    folds = fold_numbers(n_folds, y, is_regression=False, seed=seed)
    assert folds is not None
    return Task(X, y, folds)
