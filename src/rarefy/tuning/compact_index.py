"""Features numbered as they occur, so that lanes store no others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.jit import compiled


class CompactIndex:
    """Maps features to numbers from 0 on, in the order of their first occurrence."""

    def __init__(self, n_features: int) -> None:
        self._begin(n_features)

    def _begin(self, n_features: int) -> None:
        self._number_after = np.zeros(n_features, np.int32)  # 0: has not occurred
        self._features = np.empty(n_features, np.int64)
        self.n = 0

    @property
    def features(self) -> NDArray[np.int64]:
        return self._features[: self.n]

    def number(self, features: NDArray[Any]) -> NDArray[np.int32]:
        """The numbers of features; those that are new get the next ones."""
        numbers = np.empty(len(features), np.int32)
        self.n = _number(features, self._number_after, self._features, self.n, numbers)
        return numbers

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> NDArray[np.int64]:
        """Features are brought from old slots to new ones; the numbers that stay, in order."""
        slots = np.full(len(self._features), -1)
        slots[old] = new
        moved = slots[self.features]
        staying = np.flatnonzero(moved >= 0)
        self._begin(n_features)
        self.number(moved[staying])
        return staying

    def restore(self, features: NDArray[np.int64]) -> None:
        """Number these features, as they were numbered before."""
        n_features = len(self._features)
        if len(features) and not 0 <= features.min() <= features.max() < n_features:
            raise ValueError("there are no such features")
        self._begin(n_features)
        self.number(features)
        if self.n != len(features):
            raise ValueError("a feature is there twice")

    def grow(self, n_features: int) -> None:
        """Make room for more features."""
        if n_features > len(self._features):
            features = self.features
            self._begin(max(n_features, len(self._features) * 3 // 2))
            self.number(features)


@compiled
def _number(
    features: NDArray[Any],
    number_after: NDArray[np.int32],
    known: NDArray[np.int64],
    n_known: int,
    numbers: NDArray[np.int32],
) -> int:
    for j in range(len(features)):
        feature = np.intp(features[j])
        if number_after[feature] == 0:
            known[n_known] = feature
            n_known += 1
            number_after[feature] = n_known
        numbers[j] = number_after[feature] - 1
    return n_known
