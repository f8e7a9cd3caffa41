"""Seeded data with everything that a lazy engine can get wrong.

The sparse rows are deliberately not canonical: they hold explicit zeros, columns out of order,
and columns given twice (which mean their sum; some sum to exactly 0, which means absence).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Problem(NamedTuple):
    csr: sp.csr_matrix  # as generated, not canonical
    dense: np.ndarray  # the same matrix
    y: np.ndarray


def zipf_rows(n: int, d: int, rng: np.random.Generator, *, exponent: float = 0.7) -> np.ndarray:
    """(n, d) rows in which feature j occurs with a probability falling like 1/(j+1)^exponent.

    About one row in twenty is empty. The values have no common factor, so that no weight meets
    its truncation threshold exactly.
    """
    rate = 0.6 / np.arange(1, d + 1) ** exponent
    occurs = rng.random((n, d)) < rate
    occurs[rng.random(n) < 0.05] = False
    return np.where(occurs, rng.normal(0.0, 0.7, (n, d)), 0.0)


def silence(X: np.ndarray, feature: int, start: int, stop: int) -> None:
    """Take a feature out of the rows start … stop−1."""
    X[start:stop, feature] = 0.0


def messy_csr(X: np.ndarray, rng: np.random.Generator) -> sp.csr_matrix:
    """X as CSR with explicit zeros, split entries, cancelling pairs, and columns out of order.

    Splitting a value v into v/4 and 3v/4 changes nothing beyond the last bit; the caller takes
    the dense form from the result.
    """
    data, indices, indptr = [], [], [0]
    for row in X:
        entries = messy_entries(row, rng)
        for k in rng.permutation(len(entries)):
            column, value = entries[k]
            indices.append(column)
            data.append(value)
        indptr.append(len(data))
    return sp.csr_matrix(
        (np.array(data, dtype=float), np.array(indices, dtype=np.int32), np.array(indptr)),
        shape=X.shape,
    )


def messy_entries(row: np.ndarray, rng: np.random.Generator) -> list[tuple[int, float]]:
    entries: list[tuple[int, float]] = []
    for column, value in enumerate(row):
        draw = rng.random()
        if value != 0:
            parts = (0.25, 0.75) if draw < 0.1 else (1.0,)
            entries += [(column, part * value) for part in parts]
        elif draw < 0.03:
            entries.append((column, 0.0))
        elif draw < 0.06:
            entries += [(column, 0.37), (column, -0.37)]
    return entries


def binary_labels(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels ±1; the first two rows show both."""
    truth = sparse_truth(X.shape[1], rng)
    y = np.where(X @ truth + rng.normal(0.0, 0.4, len(X)) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y


def class_labels(X: np.ndarray, rng: np.random.Generator, classes: int) -> np.ndarray:
    """Labels 0 … classes−1; the first rows show every class."""
    truth = np.column_stack([sparse_truth(X.shape[1], rng) for _ in range(classes)])
    y = np.argmax(X @ truth + rng.normal(0.0, 0.4, (len(X), classes)), axis=1)
    y[:classes] = np.arange(classes)
    return y


def real_targets(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X @ sparse_truth(X.shape[1], rng) + rng.normal(0.0, 0.3, len(X))


def sparse_truth(d: int, rng: np.random.Generator) -> np.ndarray:
    """True weights of which a half is zero."""
    return rng.normal(0.0, 1.0, d) * (rng.random(d) < 0.5)


@lru_cache(maxsize=64)
def _made_problem(kind: str, n: int, d: int, classes: int, seed: int, gap: bool) -> Problem:
    rng = np.random.default_rng([seed, n, d])
    X = zipf_rows(n, d, rng)
    if gap:
        for feature, start, stop in ((0, 0.3, 0.95), (3, 0.1, 0.8), (7, 0.5, 0.9)):
            if feature < d:
                silence(X, feature, int(start * n), int(stop * n))
    csr = messy_csr(X, rng)
    dense = csr.toarray()
    if kind == "binary":
        y = binary_labels(dense, rng)
    elif kind == "multiclass":
        y = class_labels(dense, rng, classes)
    elif kind == "regression":
        y = real_targets(dense, rng)
    else:
        raise ValueError(f"unknown kind {kind!r}")
    return Problem(csr, dense, y)


def problem(
    kind: str, *, n: int = 300, d: int = 25, classes: int = 4, seed: int = 0, gap: bool = True
) -> Problem:
    """A problem of the kind "binary", "multiclass" or "regression".

    With `gap`, features 0, 3 and 7 are silent for a large part of the rows and come back.
    """
    made = _made_problem(kind, n, d, classes, seed, gap)
    return Problem(*(part.copy() for part in made))


def long_gap_problem(kind: str, *, before: int = 600, gap: int = 5000, after: int = 600) -> Problem:
    """Features 0, 1 and 2 occur often, then not at all for `gap` rounds, then again.

    Feature 0 carries the label strongly, 1 fairly, 2 hardly, so that their weights are truncated
    at different moments of the gap, or survive it.
    """
    n, d = before + gap + after, 12
    rng = np.random.default_rng(77)
    X = np.where(rng.random((n, d)) < 0.3, rng.normal(0.0, 0.7, (n, d)), 0.0)
    truth = rng.normal(0.0, 0.6, d)
    truth[:3] = 3.0, 1.0, 0.2
    for feature in range(3):
        silence(X, feature, before, before + gap)
    score = X @ truth + rng.normal(0.0, 0.4, n)
    y = score if kind == "regression" else np.where(score > 0, 1.0, -1.0)
    return Problem(sp.csr_matrix(X), X, y)


def importances(n: int, seed: int = 5) -> np.ndarray:
    """Sample weights between 0.2 and 2, about one in seven of them 0."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.15, 0.0, rng.uniform(0.2, 2.0, n))


def frequency_problem(n: int = 4000, seed: int = 3) -> Problem:
    """T4.2.1: feature 0 in every 100th row, feature 1 in every 2nd, equally informative.

    Of either one's occurrences exactly four in five have the sign of the label. In the last
    rows before the end the rare feature does not occur.
    """
    y = np.where(np.random.default_rng(seed).random(n) < 0.5, 1.0, -1.0)
    X = np.zeros((n, 2))
    for feature, first, every in ((0, 30, 100), (1, 1, 2)):
        rows = np.arange(first, n, every)
        right = np.arange(len(rows)) % 5 != 4
        X[rows, feature] = np.where(right, y[rows], -y[rows])
    return Problem(sp.csr_matrix(X), X, y)


def late_feature_problem(n: int = 3000, first: int = 2500) -> Problem:
    """Feature 0 is in every fifth row, but only from row `first`; feature 1 from the start."""
    y = np.where(np.random.default_rng(4).random(n) < 0.5, 1.0, -1.0)
    t = np.arange(n)
    X = np.column_stack(
        [np.where((t >= first) & (t % 5 == 0), y, 0.0), np.where(t % 5 == 1, y, 0.0)]
    )
    return Problem(sp.csr_matrix(X), X, y)


def range_problem(n: int = 600, factor: float = 1000.0) -> Problem:
    """T4.2.2: feature 1 is `factor` times feature 0; feature 2 is something else."""
    rng = np.random.default_rng(5)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    small = np.where(rng.random(n) < 0.3, (rng.normal(0.0, 1.0, n) + 0.25 * y) / factor, 0.0)
    other = np.where(rng.random(n) < 0.5, rng.normal(0.0, 1.0, n) + 0.5 * y, 0.0)
    X = np.column_stack([small, factor * small, other])
    return Problem(sp.csr_matrix(X), X, y)


def svmlight_text(problem: Problem) -> str:
    """The rows as they are: columns out of order, twice, or zero."""
    lines = []
    for row, label in enumerate(problem.y):
        part = slice(problem.csr.indptr[row], problem.csr.indptr[row + 1])
        entries = zip(problem.csr.indices[part], problem.csr.data[part], strict=True)
        lines.append(" ".join([f"{label:.17g}", *(f"{i}:{float(v)!r}" for i, v in entries)]))
    return "\n".join(lines) + "\n"
