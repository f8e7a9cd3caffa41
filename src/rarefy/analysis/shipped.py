"""What `releases` tells of the models that were shipped, and the ways in which they follow."""

from typing import NamedTuple

import numpy as np

METHODS = {
    "plain": "learns on",
    "retrained": "learned anew from all rows so far, in random order",
    "endowment": "learns on, with an endowment",
    "update": "learns on within the budget, as `rarefy update` does",
    "anchor": "... with an anchor",
}
DEFAULT_BUDGET, DEFAULT_ANCHOR, DEFAULT_ENDOWMENT = 0.01, 2.0, 3.0


class Release(NamedTuple):
    """A model that was shipped, and what came of it on the rows before the next one.

    Rates are shares of these rows. What compares it with the release before is None for the first.
    """

    number: int
    n_learned: int  # rows that had come
    n_rows: int  # that it is judged by
    is_new: bool  # or the one before, once more
    accuracy: float
    lost_rate: float | None
    won_rate: float | None
    churn: float | None  # answers that are others
    n_weights: int
    n_changed: int | None  # weights


class Chain(NamedTuple):
    """All releases by one method."""

    method: str
    releases: list[Release]
    lost_at_the_end: float  # of the rows after the last release, compared with the first one
    won_at_the_end: float

    @property
    def accuracy(self) -> float:
        """The mean over the releases, each of which counts the same."""
        return float(np.mean([release.accuracy for release in self.releases]))

    def mean(self, name: str) -> float:
        """The mean of what compares releases with those before, as `lost_rate`."""
        return float(np.mean([getattr(release, name) for release in self.releases[1:]]))

    @property
    def n_new(self) -> int:
        """How many releases are new models."""
        return sum(release.is_new for release in self.releases)
