"""Learning in shards, dense and eager: docs/how-to/shards.md for two classes and the logistic loss.

What is known of all coordinates is an array (sums, D), the last coordinate being the intercept. A
shard works on a copy of all of it.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from tests.naive import Array, divide_or_zero, logistic_slope, soft

FIRST, FEW, MOST_ENTRIES, MOST_OF_A_SHARD = 256, 1 << 14, 1 << 24, 1 << 21
SETTLING = 512


class ScaleFree:
    """The sums Σ g, Σ g², Σ x², and the number of values."""

    n_sums, c, l1, beta = 4, 0.2, 1.0, 1.0

    def weights(self, sums: Array, l1: Array, t: int) -> Array:
        G, squares, values, n = sums
        r, s = np.sqrt(squares), np.sqrt(divide_or_zero(values, n))
        excess = soft(G, l1 * (r + self.beta * s / 5.0))
        return -self.c * divide_or_zero(excess, (r + self.beta * s) * s)

    def add(self, sums: Array, w: Array, g: Array, x: Array, times: float) -> Array:
        return sums + times * np.array([g, g**2, x**2, x != 0])


class AdagradRda(ScaleFree):
    """The sums Σ g and Σ g²."""

    n_sums, c, l1 = 2, 0.1, 1e-4

    def weights(self, sums: Array, l1: Array, t: int) -> Array:
        G, squares = sums
        return -self.c * divide_or_zero(soft(G, l1 * t), np.sqrt(squares))

    def add(self, sums: Array, w: Array, g: Array, x: Array, times: float) -> Array:
        return sums + times * np.array([g, g**2])


class Ftrl(ScaleFree):
    """z and n."""

    n_sums, c = 2, 0.1

    def weights(self, sums: Array, l1: Array, t: int) -> Array:
        z, n = sums
        return -self.c * soft(z, l1) / (self.beta + np.sqrt(n))

    def add(self, sums: Array, w: Array, g: Array, x: Array, times: float) -> Array:
        z, n = sums
        n_next = n + times * g**2
        sigma = (np.sqrt(n_next) - np.sqrt(n)) / self.c
        return np.array([z + times * g - sigma * w, n_next])


RULES = {"scale-free": ScaleFree, "adagrad-rda": AdagradRda, "ftrl": Ftrl}


def round_size(
    lengths: Array, t: int, n_features: int, n_shards: int, fewest: int, few: int = FEW
) -> int:
    """How many examples the round has that begins after t; there may be no more so many.

    Lengths are the numbers of entries of all examples.
    """
    if t < FIRST:
        return FIRST - t
    doubling = 2 ** int(math.log2(t))
    totals = np.cumsum(lengths[t : 2 * doubling])
    # with the example that brings the last entry that there may be, a round is over
    most = min(int((totals < most_entries(n_shards)).sum()) + 1, 2 * doubling - t)
    if is_in_order(t, n_features, n_shards, fewest, few):
        return min(1 << 13, 2 * doubling - t)
    if t < few:
        return min(doubling // 8, most)
    step = doubling // min(2 * n_shards, 16)
    size = step
    while size < most and lengths[t : t + size].sum() < 2 * n_features:
        size += step
    return min(size, most)


def is_in_order(t: int, n_features: int, n_shards: int, fewest: int, few: int = FEW) -> bool:
    """Whether no shards learn, as rows are too few, or features too many for a few shards."""
    doubling = 2 ** int(math.log2(t))
    if t < few:
        return dealt(doubling // 8) < 2 * fewest
    are_many = n_features * n_shards >= min(16 * doubling, most_entries(n_shards) / 2)
    return n_shards < 8 and are_many


def dealt(n_rows: int) -> int:
    return n_rows - min(SETTLING, n_rows // 4)


def most_entries(n_shards: int) -> int:
    return max(MOST_ENTRIES, MOST_OF_A_SHARD * n_shards)


def fit(
    X: Array, y: Array, rule: str, n_shards: int, fewest: int, few_examples: int = FEW
) -> Array:
    """The weights and the intercept when all rows have been learned.

    A shard learns so many rows in a round, at least.
    """
    lengths, n_features = np.count_nonzero(X, axis=1), X.shape[1]
    X = np.hstack([X, np.ones((len(y), 1))])
    some = RULES[rule]()
    l1 = np.append(np.full(X.shape[1] - 1, some.l1), 0.0)
    sums, t = np.zeros((some.n_sums, X.shape[1])), 0

    def learned(sums: Array, t: int, rows: range, times: float) -> Array:
        for i in rows:
            w = some.weights(sums, l1, t)
            g = logistic_slope(float(w @ X[i]), y[i]) * X[i]
            sums = some.add(sums, w, g, X[i], times)
            t += 1
        return sums

    while t < len(y):
        size = round_size(lengths, t, n_features, n_shards, fewest, few_examples)
        rows = range(t, min(t + size, len(y)))
        n_dealt = dealt(len(rows))
        n_learning = min(n_shards, n_dealt // fewest)
        if t >= FIRST:
            n_learning = min(n_learning, max(2, 2 ** int(math.log2(t)) // len(rows)))
        in_order = t < FIRST or is_in_order(t, n_features, n_shards, fewest, few_examples)
        if in_order or n_learning < 2:
            n_dealt = 0
        else:
            ends = [n_dealt * k // n_learning for k in range(n_learning + 1)]
            parts = [rows[begin:end] for begin, end in pairwise(ends)]
            sums = sum(learned(sums, t, part, n_learning) for part in parts) / n_learning
        sums = learned(sums, t + n_dealt, rows[n_dealt:], 1.0)
        t += len(rows)
    return some.weights(sums, l1, t)
