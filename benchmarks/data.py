"""The data of the benchmarks: made, with Zipf frequencies, or real, where it is at hand."""

import lzma
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

REAL_DATA = Path(os.environ.get("RAREFY_DATA", Path(__file__).parents[2] / "shared" / "data"))


class Dataset(NamedTuple):
    name: str
    X: sparse.csr_array
    y: np.ndarray
    weights: np.ndarray | None = None  # by which labels were made


def zipf_rows(n_rows: int, n_features: int, draws_per_row: int = 64, seed: int = 0) -> Dataset:
    """Rows whose features have log-uniform ranks (Zipf's law), with labels that they explain.

    Ids are permuted, so that popular features do not lie side by side in memory. Duplicates in a
    row are added up, which leaves about 56 of 64 draws for 10^6 features.
    """
    rng = np.random.default_rng(seed)
    ranks = (n_features ** rng.random(n_rows * draws_per_row)).astype(np.int64) - 1
    ids = rng.permutation(n_features).astype(np.int32)[np.minimum(ranks, n_features - 1)]
    indptr = np.arange(0, len(ids) + 1, draws_per_row, dtype=np.int32)
    X = sparse.csr_array((np.ones(len(ids)), ids, indptr), shape=(n_rows, n_features))
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    weights = rng.normal(size=n_features) * (rng.random(n_features) < 0.1)
    y = np.where(X @ weights + rng.normal(size=n_rows) > 0.0, 1.0, -1.0)
    return Dataset(f"{n_rows:,} x {n_features:,}", X, y, weights)


def svmlight(*path: str, name: str) -> Dataset | None:
    """A real data set in svmlight format, its feature ids permuted; None where it is absent."""
    file = REAL_DATA.joinpath(*path)
    if not file.exists():
        return None
    with lzma.open(file) as lines:
        X, y = load_svmlight_file(lines)
    X = sparse.csr_array(X)[:, np.random.default_rng(0).permutation(X.shape[1])]
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return Dataset(name, X, np.where(y == y.max(), 1.0, -1.0))
