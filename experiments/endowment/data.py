"""The data sets, with rows of unit length."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from benchmarks.data import REAL_DATA
from experiments.data import Labelled, criteo, newsgroups, rcv1, svmlight

# How the two classes of news20.binary are described; the file itself is not at hand.
FIRST_CLASS_OF_NEWS = ("comp.", "sci.", "misc.forsale")


class Dataset(NamedTuple):
    X: sparse.csr_array
    y: NDArray[np.float64]  # -1 or +1


class Source(NamedTuple):
    """Where a data set comes from and what it is, in words."""

    folder: str
    title: str
    read: Callable[[], Labelled]


def words(*path: str) -> Labelled:
    """Texts as the words that occur in them, counted or not."""
    X, y = svmlight(*path)
    X.data[:] = 1.0
    return X, y


def news20() -> Labelled:
    X, groups = newsgroups()
    X.data[:] = 1.0
    return X, np.array([group.startswith(FIRST_CLASS_OF_NEWS) for group in groups])


SOURCES = {
    "news20": Source(
        "20newsgroups", "20 Newsgroups in two classes, for the thesis's news20", news20
    ),
    "rcv1": Source("rcv1-small", "1,500 rows of the 697,641 of the thesis's rcv1", rcv1),
    "a9a": Source("a9a", "UCI Adult, binarised", lambda: words("a9a", "a9a.svm.xz")),
    "criteo": Source("criteo-8k", "clicks, every value of 39 fields a feature", criteo),
    "imdb": Source("imdb", "film reviews, words", lambda: words("imdb", "unigram-train.svm.xz")),
    "books": Source(
        "amazon-books",
        "Amazon's book reviews, words and pairs",
        lambda: words("amazon-books", "ub6000.svm.xz"),
    ),
    "sms": Source("sms-spam", "spam messages, words", lambda: words("sms-spam", "unigram.svm.xz")),
}


def absent(names: Iterable[str]) -> list[str]:
    """Those that are not at hand."""
    return [name for name in names if not (REAL_DATA / SOURCES[name].folder).is_dir()]


@cache
def load(name: str) -> Dataset:
    X, y = SOURCES[name].read()
    X = sparse.csr_array(normalize(X))
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return Dataset(X, np.where(y == y.max(), 1.0, -1.0))
