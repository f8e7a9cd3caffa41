"""A test for numbers to predict that are sorted, as `label_runs` is for labels.

Sorted numbers nearly all change in the same direction; in random order, or in the order of time,
about half of the changes go up. So no more is needed than to count both.
"""

import numpy as np

from rarefy.arrays import Floats

LARGEST_SHARE = 0.01  # of the changes that go the other way, where numbers are sorted
FEWEST_CHANGES = 100  # before anything is said


class TargetOrder:
    """Counts by how many rows, which come in any portions, targets rise and fall."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_rises = 0
        self.n_falls = 0
        self._last: float | None = None
        self.was_said = False

    def add(self, y: Floats) -> None:
        """The targets of the next rows."""
        if len(y) == 0:
            return
        before = y[0] if self._last is None else self._last
        self.n_rises += int(np.count_nonzero(y[1:] > y[:-1])) + int(y[0] > before)
        self.n_falls += int(np.count_nonzero(y[1:] < y[:-1])) + int(y[0] < before)
        self._last = float(y[-1])
        self.n_rows += len(y)

    def complaint(self) -> str:
        """What is wrong with the order of the rows, if something is; it is said only once."""
        if self.was_said or not self.are_sorted:
            return ""
        self.was_said = True
        many, name = max((self.n_rises, "rises"), (self.n_falls, "falls"))
        return (
            f"the rows are sorted by their labels ({many:,} {name} in "
            f"{self.n_rises + self.n_falls:,} changes; about half in random order). The model "
            f"follows the last rows, and progressive figures are too optimistic."
        )

    @property
    def are_sorted(self) -> bool:
        """Whether nearly all changes go in the same direction."""
        n_changes = self.n_rises + self.n_falls
        fewest = min(self.n_rises, self.n_falls)
        return n_changes >= FEWEST_CHANGES and fewest <= LARGEST_SHARE * n_changes
