"""The data sets, in a random order of their own for every shuffle."""

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from benchmarks.data import REAL_DATA
from experiments.data import Labelled, criteo, joined, rcv1, svmlight
from experiments.reproduction import news, uci

CATEGORIES = 20  # of Reuters, the most frequent ones


class Source(NamedTuple):
    """What a data set is, what the papers call it, and how to get the rows of a shuffle."""

    folder: str
    published_as: str | None  # None: the papers do not have it
    title: str
    rows: Callable[[int], Labelled]


def of(read: Callable[[], Labelled]) -> Callable[[int], Labelled]:
    """The rows of a reader, which is called once, in the order of a shuffle."""
    read = cache(read)
    return lambda shuffle: shuffled(read(), shuffle)


def file(*path: str) -> Callable[[int], Labelled]:
    return of(lambda: svmlight(*path))


def reviews(domain: str, version: str) -> Callable[[int], Labelled]:
    return file(f"amazon-{domain}", f"{version}.svm.xz")


def draws(name: str) -> Callable[[int], Labelled]:
    return lambda shuffle: news.draw(name, shuffle)


def reuters() -> Labelled:
    folder = "reuters21578"
    parts = (f"modapte-single-{part}.svm.xz" for part in ("train", "test"))
    X, y = joined(27_910, *((folder, part) for part in parts))
    few = y < CATEGORIES  # they are numbered by frequency
    return sparse.csr_array(X)[few], y[few]


def shuffled(rows: Labelled, shuffle: int) -> Labelled:
    X, y = rows
    order = np.random.default_rng(shuffle).permutation(len(y))
    return sparse.csr_array(X)[order], y[order]


SOURCES = {
    "books-2000": Source(
        "amazon-books", "books", "book reviews", reviews("books", "processed_acl2000")
    ),
    "books-6000": Source("amazon-books", "books", "book reviews", reviews("books", "ub6000")),
    "dvd-2000": Source("amazon-dvd", "dvd", "film reviews", reviews("dvd", "processed_acl2000")),
    "dvd-6000": Source("amazon-dvd", "dvd", "film reviews", reviews("dvd", "ub6000")),
    "ob-2": Source("20newsgroups", "ob-2-1", "posts, two related groups", draws("ob-2")),
    "sb-2": Source("20newsgroups", "sb-2-1", "posts, two unrelated groups", draws("sb-2")),
    "ob-8": Source("20newsgroups", "ob-8-1", "posts, eight groups, related", draws("ob-8")),
    "sb-8": Source("20newsgroups", "sb-8-1", "posts, eight groups, unrelated", draws("sb-8")),
    "reut20": Source("reuters21578", "reut20", "news in 20 categories", of(reuters)),
    "rcv1": Source("rcv1-small", None, "news in two classes, tf-idf", of(rcv1)),
    "a9a": Source("a9a", None, "incomes, 0/1 of what is known of a person",
                  file("a9a", "a9a.svm.xz")),
    "criteo": Source("criteo-8k", None, "clicks, 0/1 of every value of 39 fields", of(criteo)),
    "imdb": Source("imdb", None, "film reviews, counts of words",
                   file("imdb", "unigram-train.svm.xz")),
    "movies": Source("movie-reviews", None, "film reviews, counts of words and pairs",
                     file("movie-reviews", "ub.svm.xz")),
    "sms": Source("sms-spam", None, "spam messages, counts of words",
                  file("sms-spam", "unigram.svm.xz")),
}  # fmt: skip


def absent(names: Iterable[str]) -> list[str]:
    """The folders that are not at hand."""
    folders = dict.fromkeys([uci.FOLDER, *(SOURCES[name].folder for name in names)])
    return [folder for folder in folders if not (REAL_DATA / folder).is_dir()]


def with_values(X: sparse.csr_array, kind: str) -> sparse.csr_array:
    """Counts of words, or what else may be made of them."""
    if kind == "counts":
        return X
    if kind == "tf-idf":
        return sparse.csr_array(TfidfTransformer().fit_transform(X))
    once = X.copy()
    once.data[:] = 1.0
    return once if kind == "0/1" else sparse.csr_array(normalize(once))


@lru_cache(maxsize=2)
def load(name: str, shuffle: int, n_rows: int) -> Labelled:
    """The first rows of a data set in the order of a shuffle, labels numbered.

    The papers' sets have all their features, others those that occur in these rows.
    """
    source = SOURCES[name]
    X, y = source.rows(shuffle)
    X, y = sparse.csr_array(X[:n_rows], dtype=np.float64), y[:n_rows]
    if source.published_as is None:
        X = X[:, np.unique(X.indices)]
    X.sort_indices()
    return X, np.unique(y, return_inverse=True)[1]
