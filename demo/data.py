"""Made-up text: word frequencies follow Zipf's law, and a few words tell the class.

A row is a short text of one of two classes. Its words are drawn one by one; a word that *leans*
is more likely in one class than in the other, by the factor (1 + lean) / (1 - lean). Three kinds
of words lean, all others are noise:

- frequent words, which lean a little, as common words do;
- rare words (one row in 300 to one in 3,000), which lean a lot, as names and technical terms do;
- words counted in small units: frequent, but a count of 1 is written as 0.01 or 0.001. A tenth of
  the noise is in small units, too.

It is a setting in which rare words carry most of the signal, chosen to show what feature-aware
rules are for: with 400 rare words instead of 1,500, and half as many rows, there was little or no
gain in accuracy. It illustrates an effect and is not evidence of its size on real text.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FREQUENT = (1 / 100, 1 / 4)  # shares of the rows in which a word occurs
RARE = (1 / 3000, 1 / 300)
LEAN_OF_FREQUENT = (0.05, 0.2)
LEAN_OF_RARE = (0.8, 1.0)
LEAN_OF_SMALL_UNIT = (0.1, 0.3)
SMALL_UNITS = (0.01, 0.001)
NOISE_IN_SMALL_UNITS = 0.1
SPREAD_OF_LENGTHS = 0.5  # of their logarithms
ZIPF_OFFSET = 2.0  # Mandelbrot's: flattens the very top, as in real text

Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Corpus:
    """Rows to learn and to test on, and what was planted in them."""

    X_train: sparse.csr_array
    y_train: NDArray[np.int64]
    X_test: sparse.csr_array
    y_test: NDArray[np.int64]
    rare: Indices
    frequent: Indices
    small_unit: Indices
    lean: Numbers  # of every word: 0 for noise, else up to -1 or +1
    unit: Numbers

    @property
    def n_features(self) -> int:
        return len(self.lean)

    @property
    def frequency(self) -> Numbers:
        """Share of the training rows in which each word occurs."""
        rows_with_word = np.bincount(self.X_train.indices, minlength=self.n_features)
        return rows_with_word / self.X_train.shape[0]


@dataclass(frozen=True)
class Size:
    """How much to make."""

    n_train: int = 60_000
    n_test: int = 20_000
    n_features: int = 50_000
    words_per_row: int = 45
    n_rare: int = 1_500
    n_frequent: int = 60
    n_small_unit: int = 40


def make_corpus(size: Size | None = None, seed: int = 0) -> Corpus:
    """The same seed and size give the same corpus."""
    size = size or Size()
    rng = np.random.default_rng(seed)
    zipf = 1.0 / (ZIPF_OFFSET + np.arange(1, size.n_features + 1))
    zipf /= zipf.sum()
    rare, frequent, small_unit = _choose_informative(rng, zipf, size)
    unit = _units(rng, size.n_features, ones=np.concatenate([rare, frequent]), small=small_unit)
    lean = np.zeros(size.n_features)
    lean[rare] = _leans(rng, LEAN_OF_RARE, len(rare))
    lean[frequent] = _leans(rng, LEAN_OF_FREQUENT, len(frequent))
    lean[small_unit] = _leans(rng, LEAN_OF_SMALL_UNIT, len(small_unit))
    y = rng.choice([-1, 1], size.n_train + size.n_test)
    X = _write_texts(rng, y, zipf, lean, size.words_per_row)
    X.data *= unit[X.indices]
    n = size.n_train
    return Corpus(X[:n], y[:n], X[n:], y[n:], rare, frequent, small_unit, lean, unit)


def _choose_informative(
    rng: np.random.Generator, zipf: Numbers, size: Size
) -> tuple[Indices, Indices, Indices]:
    """Words of the right frequencies, at random: rare ones, frequent ones, ones in small units."""
    expected = 1.0 - (1.0 - zipf) ** size.words_per_row
    rare, frequent = (
        np.flatnonzero((low <= expected) & (expected < high)) for low, high in (RARE, FREQUENT)
    )
    two_kinds = rng.choice(frequent, size.n_frequent + size.n_small_unit, replace=False)
    return (
        np.sort(rng.choice(rare, size.n_rare, replace=False)),
        np.sort(two_kinds[: size.n_frequent]),
        np.sort(two_kinds[size.n_frequent :]),
    )


def _units(rng: np.random.Generator, n_features: int, ones: Indices, small: Indices) -> Numbers:
    in_small_units = rng.random(n_features) < NOISE_IN_SMALL_UNITS
    in_small_units[ones] = False
    in_small_units[small] = True
    return np.where(in_small_units, rng.choice(SMALL_UNITS, n_features), 1.0)


def _leans(rng: np.random.Generator, sizes: tuple[float, float], n: int) -> Numbers:
    """Half of the words lean to one class, half to the other, roughly."""
    return rng.uniform(*sizes, n) * rng.choice([-1, 1], n)


def _write_texts(
    rng: np.random.Generator, y: NDArray[np.int64], zipf: Numbers, lean: Numbers, length: int
) -> sparse.csr_array:
    """Counts of the words of each row; rows are of different lengths."""
    lengths = np.maximum(length * rng.lognormal(0.0, SPREAD_OF_LENGTHS, len(y)), 1).astype(int)
    class_of_draw = np.repeat(y, lengths)
    words = np.empty(len(class_of_draw), dtype=np.int32)
    for label in (-1, 1):
        of_class = class_of_draw == label
        up_to = np.cumsum(zipf * (1.0 + label * lean))
        draws = rng.random(np.count_nonzero(of_class)) * up_to[-1]
        words[of_class] = np.searchsorted(up_to, draws, side="right")
    row_starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    X = sparse.csr_array((np.ones(len(words)), words, row_starts), shape=(len(y), len(zipf)))
    X.sum_duplicates()
    return X
