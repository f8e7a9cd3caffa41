"""Reading the data sets that several experiments use."""

import lzma
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from benchmarks.data import REAL_DATA

Labelled = tuple[Any, NDArray[Any]]  # rows and their labels
NEWS_FEATURES = 147_018
REUTERS_FEATURES = 27_910


def svmlight(*path: str, n_features: int | None = None) -> Labelled:
    with lzma.open(REAL_DATA.joinpath(*path)) as lines:
        return load_svmlight_file(lines, n_features=n_features)  # type: ignore[no-any-return]


def joined(n_features: int, *paths: tuple[str, str]) -> Labelled:
    """Files of one data set, one after the other."""
    parts = [svmlight(*path, n_features=n_features) for path in paths]
    return sparse.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def newsgroups() -> Labelled:
    """All posts, as counts of words, with the names of their groups."""
    folder = "20newsgroups"
    X, labels = joined(
        NEWS_FEATURES, (folder, "bydate-train.svm.xz"), (folder, "bydate-test.svm.xz")
    )
    names = np.array((REAL_DATA / folder / "labels.txt").read_text().split()[1::2])
    return X, names[labels.astype(int)]


def reuters() -> Labelled:
    """All stories with one topic, as counts of words, with the names of their topics."""
    folder = "reuters21578"
    parts = [(folder, f"modapte-single-{part}.svm.xz") for part in ("train", "test")]
    X, labels = joined(REUTERS_FEATURES, *parts)
    lines = (REAL_DATA / folder / "labels.txt").read_text().splitlines()
    names = dict(line.split()[:2] for line in lines)
    return X, np.array([names[str(int(label))] for label in labels])


def rcv1() -> Labelled:
    return joined(47_236, ("rcv1-small", "train.svm.xz"), ("rcv1-small", "test.svm.xz"))


def criteo() -> Labelled:
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


def with_share(X: Any, y: NDArray[np.bool_], share: float) -> Labelled:
    """The rows with fewer positives, so that they are that share of all."""
    positive, negative = np.flatnonzero(y), np.flatnonzero(~y)
    n_wanted = int(share / (1.0 - share) * len(negative))
    random = np.random.default_rng(0)
    chosen = random.permutation(np.concatenate([negative, random.permutation(positive)[:n_wanted]]))
    return X.tocsr()[chosen], y[chosen]


def vocabulary(*path: str) -> list[str]:
    """The names of the features of a file, by their number."""
    text = lzma.decompress(REAL_DATA.joinpath(*path).read_bytes()).decode()
    return text.removesuffix("\n").split("\n")
