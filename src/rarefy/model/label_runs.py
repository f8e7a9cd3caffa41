"""A test for labels that come in longer runs than chance would make.

A model that learns row by row forgets: where all rows of a class come first, it ends up with what
it learned last, and predictions on the way look good, because the label before was the same.

In random order, the number of changes from one label to the next has, given how often each label
occurs, a known mean and variance (the runs test of Wald and Wolfowitz, for several classes by Mood,
1940). Where a label is rare, the number is far from normal; so the deficit is judged by Bernstein's
inequality, which holds there, too. And as labels in the order of time are never quite random, which
does no harm, only a large deficit counts.
"""

import numpy as np

from rarefy.arrays import Floats

LARGEST_SHARE = 0.5  # of the changes that chance would make, where there are too few
CERTAINTY = 16.0  # by chance there are so few changes once in e to this power, or less


class LabelRuns:
    """Counts labels, and changes from one to the next, of rows that come in any portions."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_changes = 0
        self._counts = np.zeros(0, dtype=np.int64)  # of each label
        self._last: float | None = None
        self.was_said = False

    def add(self, y: Floats) -> None:
        """The labels of the next rows: -1 and 1, or the numbers of classes."""
        if len(y) == 0:
            return
        self.n_changes += int(np.count_nonzero(y[1:] != y[:-1]))
        self.n_changes += self._last is not None and self._last != float(y[0])
        self._last = float(y[-1])
        self.n_rows += len(y)
        counts = np.bincount((y + 1.0).astype(np.int64), minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts

    @property
    def n_labels(self) -> int:
        """How many different ones there were."""
        return int(np.count_nonzero(self._counts))

    @property
    def n_expected(self) -> float:
        """How many changes there are in random order, in the mean."""
        return float(self.n_rows - self._counts @ self._shares()) if self.n_rows else 0.0

    def complaint(self) -> str:
        """What is wrong with the order of the rows, if something is; it is said only once."""
        if self.was_said or not self.are_too_long:
            return ""
        self.was_said = True
        return (
            f"the labels come in long runs (changes: {self.n_changes:,} in {self.n_rows:,} rows; "
            f"about {self.n_expected:,.0f} in random order). The model follows the last rows, and "
            f"progressive figures are too optimistic."
        )

    @property
    def are_too_long(self) -> bool:
        """Whether the labels change much more seldom than in random order."""
        expected = self.n_expected
        deficit = expected - self.n_changes
        if self.n_changes > LARGEST_SHARE * expected or deficit <= 0.0:
            return False
        return deficit**2 > 2.0 * CERTAINTY * (self._variance() + deficit)

    def _variance(self) -> float:
        n, shares = float(self.n_rows), self._shares()
        squares, cubes = float(shares @ shares), float(shares**2 @ shares)
        return n * n * (squares * (squares + (n + 1.0) / n) - 2.0 * cubes - 1.0 / n) / (n - 1.0)

    def _shares(self) -> Floats:
        return self._counts / self.n_rows
