"""What came of a grid."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """For every point of a grid the numbers of every fold."""

    accuracy: list[list[float]]
    weights: list[list[float]]  # kept

    def __add__(self, other: "Outcome") -> "Outcome":  # type: ignore[override]
        return Outcome(self.accuracy + other.accuracy, self.weights + other.weights)
