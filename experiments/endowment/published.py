"""The thesis's tables 5.3 and 5.4, and what share of the test rows they are about.

The text says that a share r of the test rows was replaced by training examples. Then the
divestiture loss, a sum over replaced rows divided by the number of all, would grow in proportion to
r. In the tables it falls, in proportion to 1 - r: they read as if r were the share that stayed.
"""

from typing import NamedTuple

REPLACED = (0.05, 0.1, 0.3)  # r


class Losses(NamedTuple):
    """For each r."""

    endowed: tuple[float, float, float]
    without: tuple[float, float, float]


Table = dict[str, dict[str, Losses]]

TABLE_5_3: Table = {
    "news20": {
        "expected": Losses((5.10e-2, 5.67e-2, 9.18e-2), (5.31e-2, 5.84e-2, 9.32e-2)),
        "divestiture": Losses((8.71e-3, 7.73e-3, 6.71e-3), (1.39e-2, 1.27e-2, 1.07e-2)),
        "cumulative": Losses((5.97e-2, 6.44e-2, 9.85e-2), (6.70e-2, 7.11e-2, 1.04e-1)),
    },
    "rcv1": {
        "expected": Losses((7.39e-2, 7.83e-2, 9.71e-2), (7.37e-2, 7.80e-2, 9.65e-2)),
        "divestiture": Losses((1.10e-2, 1.04e-2, 8.04e-3), (1.84e-2, 1.74e-2, 1.35e-2)),
        "cumulative": Losses((8.49e-2, 8.87e-2, 1.05e-1), (9.21e-2, 9.54e-2, 1.10e-1)),
    },
    "algebra": {
        "expected": Losses((3.31e-1, 3.30e-1, 3.26e-1), (3.06e-1, 3.06e-1, 3.03e-1)),
        "divestiture": Losses((6.00e-2, 5.68e-2, 4.41e-2), (1.01e-1, 9.60e-2, 7.46e-2)),
        "cumulative": Losses((3.91e-1, 3.87e-1, 3.70e-1), (4.08e-1, 4.02e-1, 3.78e-1)),
    },
    "BtA": {
        "expected": Losses((3.29e-1, 3.27e-1, 3.18e-1), (3.11e-1, 3.10e-1, 3.03e-1)),
        "divestiture": Losses((7.64e-2, 7.24e-2, 5.63e-2), (1.17e-1, 1.11e-1, 8.62e-2)),
        "cumulative": Losses((4.05e-1, 3.99e-1, 3.74e-1), (4.28e-1, 4.21e-1, 3.90e-1)),
    },
    "webspam-t": {
        "expected": Losses((3.45e-2, 3.49e-2, 3.75e-2), (3.51e-2, 3.53e-2, 3.76e-2)),
        "divestiture": Losses((8.11e-3, 7.72e-3, 5.63e-3), (1.09e-2, 1.04e-2, 7.73e-3)),
        "cumulative": Losses((4.29e-2, 4.26e-2, 4.32e-2), (4.60e-2, 4.57e-2, 4.54e-2)),
    },
}

TABLE_5_4: Table = {
    "news20": {
        "expected": Losses((3.11e-2, 3.40e-2, 5.20e-2), (3.85e-2, 4.14e-2, 5.86e-2)),
        "divestiture": Losses((1.37e-2, 1.31e-2, 9.84e-3), (2.20e-2, 2.08e-2, 1.59e-2)),
        "cumulative": Losses((4.48e-2, 4.70e-2, 6.18e-2), (6.05e-2, 6.22e-2, 7.46e-2)),
    },
    "rcv1": {
        "expected": Losses((3.53e-2, 3.95e-2, 5.69e-2), (3.80e-2, 4.18e-2, 5.79e-2)),
        "divestiture": Losses((1.25e-2, 1.18e-2, 9.10e-3), (1.78e-2, 1.68e-2, 1.30e-2)),
        "cumulative": Losses((4.79e-2, 5.13e-2, 6.60e-2), (5.58e-2, 5.87e-2, 7.09e-2)),
    },
    "algebra": {
        "expected": Losses((3.35e-1, 3.34e-1, 3.30e-1), (3.13e-1, 3.13e-1, 3.09e-1)),
        "divestiture": Losses((5.89e-2, 5.58e-2, 4.33e-2), (1.02e-1, 9.68e-2, 7.52e-2)),
        "cumulative": Losses((3.94e-1, 3.90e-1, 3.73e-1), (4.16e-1, 4.09e-1, 3.85e-1)),
    },
    "BtA": {
        "expected": Losses((3.29e-1, 3.27e-1, 3.18e-1), (3.11e-1, 3.10e-1, 3.03e-1)),
        "divestiture": Losses((7.64e-2, 7.24e-2, 5.62e-2), (1.17e-1, 1.11e-1, 8.61e-2)),
        "cumulative": Losses((4.05e-1, 3.99e-1, 3.74e-1), (4.28e-1, 4.21e-1, 3.89e-1)),
    },
    "webspam-t": {
        "expected": Losses((2.62e-2, 2.61e-2, 2.79e-2), (2.75e-2, 2.74e-2, 2.90e-2)),
        "divestiture": Losses((8.29e-3, 7.94e-3, 5.87e-3), (1.16e-2, 1.11e-2, 8.30e-3)),
        "cumulative": Losses((3.45e-2, 3.40e-2, 3.38e-2), (3.91e-2, 3.85e-2, 3.73e-2)),
    },
}


def growth_of_divestiture() -> list[tuple[float, float]]:
    """From r = 0.05 to 0.1 and to 0.3, for each data set, method and table."""
    return [
        (losses[1] / losses[0], losses[2] / losses[0])
        for table in (TABLE_5_3, TABLE_5_4)
        for kinds in table.values()
        for losses in kinds["divestiture"]
    ]
