"""Comparisons of two methods on the same splits of data, and what many of them say of a claim."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
SIGNIFICANT = 0.05
LOWER, HIGHER = -1, 1


class Comparison(NamedTuple):
    """What a measure is for two methods, on the same splits; one row in `test_part` is tested."""

    dataset: str
    before: Floats
    after: Floats
    test_part: int

    @property
    def difference(self) -> float:
        """Of the means."""
        return float(self.after.mean() - self.before.mean())

    @property
    def change(self) -> float:
        """Relative to before, of the means."""
        return self.difference / float(self.before.mean()) if self.before.any() else 0.0

    @property
    def error(self) -> float:
        """The standard error of the mean difference, corrected for rows that splits share.

        Nadeau and Bengio (2003): the variance of a mean of n differences is that of one times
        1/n + (test rows)/(training rows), and not 1/n.
        """
        differences = self.after - self.before
        share = 1.0 / len(differences) + 1.0 / (self.test_part - 1)
        return float(differences.std(ddof=1) * np.sqrt(share))

    @property
    def p(self) -> float:
        """By a paired t-test."""
        if self.error == 0.0:
            return 0.0 if (self.after != self.before).any() else 1.0
        return float(2.0 * stats.t.sf(abs(self.difference) / self.error, len(self.after) - 1))

    @property
    def resolution(self) -> float:
        """The least difference that could be told from none."""
        return self.error * float(stats.t.isf(SIGNIFICANT / 2.0, len(self.after) - 1))

    @property
    def sign(self) -> int:
        """-1: lower after than before, +1: higher, 0: cannot be told."""
        return int(np.sign(self.difference)) if self.p < SIGNIFICANT else 0


class Tally(NamedTuple):
    """How comparisons came out, the sign that a claim is about being `wanted`."""

    wanted: int
    comparisons: Sequence[Comparison]

    def count(self, sign: int) -> int:
        return sum(c.sign == sign for c in self.comparisons)

    @property
    def counts(self) -> str:
        """Better / undecided / worse."""
        return " / ".join(str(self.count(sign)) for sign in (self.wanted, 0, -self.wanted))

    @property
    def summary(self) -> str:
        """The counts and the median change."""
        change = median(c.change for c in self.comparisons)
        return f"{self.counts}; {100 * change:+.0f} %"

    @property
    def verdict(self) -> str:
        better, worse, n = self.count(self.wanted), self.count(-self.wanted), len(self.comparisons)
        if better == n:
            return "holds"
        if worse == 0:
            return "holds mostly" if 2 * better >= n else "mostly undecided"
        against = {c.dataset: None for c in self.comparisons if c.sign == -self.wanted}
        word = "holds in part" if better > worse else "does not hold"
        return f"{word}; against it: {', '.join(against)}"
