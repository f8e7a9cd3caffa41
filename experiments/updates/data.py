"""The texts: words as they come, with the numbers of their classes."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from experiments import data as shared
from experiments.data import Labelled

LEAST_OF_A_CLASS = 30


class Texts(NamedTuple):
    X: Any
    y: NDArray[np.int64]


def topics() -> Labelled:
    """Those with at least thirty stories."""
    X, names = shared.reuters()
    counts = Counter(names)
    common = np.array([counts[name] >= LEAST_OF_A_CLASS for name in names])
    return X[common], names[common]


def words(*path: str) -> Callable[[], Labelled]:
    return lambda: shared.svmlight(*path)


SOURCES: dict[str, tuple[str, Callable[[], Labelled]]] = {
    "books": ("amazon-books", words("amazon-books", "ub6000.svm.xz")),
    "dvds": ("amazon-dvd", words("amazon-dvd", "ub6000.svm.xz")),
    "films": ("movie-reviews", words("movie-reviews", "ub.svm.xz")),
    "imdb": ("imdb", words("imdb", "unigram-train.svm.xz")),
    "sms": ("sms-spam", words("sms-spam", "unigram.svm.xz")),
    "rcv1": ("rcv1-small", shared.rcv1),
    "reuters": ("reuters21578", topics),
    "news": ("20newsgroups", shared.newsgroups),
}


@cache
def load(name: str) -> Texts:
    X, labels = SOURCES[name][1]()
    return Texts(sparse.csr_array(X), np.unique(labels, return_inverse=True)[1])
