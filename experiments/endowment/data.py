"""The data sets, with rows of unit length."""

import lzma
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import normalize

from benchmarks.data import REAL_DATA

# How the two classes of news20.binary are described; the file itself is not at hand.
FIRST_CLASS_OF_NEWS = ("comp.", "sci.", "misc.forsale")


class Dataset(NamedTuple):
    X: sparse.csr_array
    y: NDArray[np.float64]  # -1 or +1


class Source(NamedTuple):
    """Where a data set comes from and what it is, in words."""

    folder: str
    title: str
    read: Callable[[], tuple[Any, NDArray[Any]]]


def svmlight(*path: str, n_features: int | None = None) -> tuple[Any, NDArray[Any]]:
    with lzma.open(REAL_DATA.joinpath(*path)) as lines:
        return load_svmlight_file(lines, n_features=n_features)  # type: ignore[no-any-return]


def words(*path: str) -> tuple[Any, NDArray[Any]]:
    """Texts as the words that occur in them, counted or not."""
    X, y = svmlight(*path)
    X.data[:] = 1.0
    return X, y


def joined(n_features: int, *paths: tuple[str, str]) -> tuple[Any, NDArray[Any]]:
    """Files of one data set, one after the other."""
    parts = [svmlight(*path, n_features=n_features) for path in paths]
    return sparse.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def news20() -> tuple[Any, NDArray[Any]]:
    folder = "20newsgroups"
    X, labels = joined(147_018, (folder, "bydate-train.svm.xz"), (folder, "bydate-test.svm.xz"))
    X.data[:] = 1.0
    names = (REAL_DATA / folder / "labels.txt").read_text().split()[1::2]
    return X, np.array([names[int(k)].startswith(FIRST_CLASS_OF_NEWS) for k in labels])


def rcv1() -> tuple[Any, NDArray[Any]]:
    return joined(47_236, ("rcv1-small", "train.svm.xz"), ("rcv1-small", "test.svm.xz"))


def criteo() -> tuple[Any, NDArray[Any]]:
    """Each value of each of the 39 fields is a feature."""
    files = [REAL_DATA / "criteo-8k" / f"{part}.tsv.xz" for part in ("train", "dev", "test")]
    lines = "".join(lzma.decompress(file.read_bytes()).decode() for file in files).splitlines()
    numbers: dict[tuple[int, str], int] = {}
    indices: list[int] = []
    indptr, labels = [0], []
    for line in lines:
        label, *values = line.split("\t")
        named = [(field, value) for field, value in enumerate(values) if value]
        indices += [numbers.setdefault(name, len(numbers)) for name in named]
        indptr.append(len(indices))
        labels.append(label == "1")
    return sparse.csr_array((np.ones(len(indices)), indices, indptr)), np.array(labels)


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
