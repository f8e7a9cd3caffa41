"""What is run: on which data, with which tools."""

from typing import NamedTuple

OURS = "rarefy"  # the method that all others are compared with
OURS_WIDE = "rarefy-wide"  # and the one that has more tries than they


class Plan(NamedTuple):
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    n_points: int  # of every method's grid
    n_folds: int
    passes: int  # of what learns online
    most_rows: int
    slow_datasets: tuple[str, ...]  # those that River is tried on


FULL = Plan(
    datasets=(
        "books",
        "dvd",
        "dvd-2000",
        "movies",
        "imdb",
        "rcv1",
        "news20",
        "reuters",
        "sms",
        "a9a",
        "criteo",
    ),
    methods=(
        OURS,
        OURS_WIDE,
        "rarefy-unrefitted",
        "scale-free",
        "scale-free-refit",
        "frda",
        "frda-refit",
        "ftrl",
        "liblinear-6",
        "liblinear-5",
        "sgd-l1",
        "sgd-elastic",
        "vw-l1",
        "vw-ftrl",
        "river",
    ),
    n_points=18,
    n_folds=5,
    passes=10,
    most_rows=6_000,
    slow_datasets=("sms", "rcv1"),
)

QUICK = FULL._replace(
    datasets=("sms", "rcv1"),
    methods=(OURS, OURS_WIDE, "scale-free", "liblinear-6", "sgd-l1", "vw-ftrl"),
    n_points=6,
    n_folds=3,
    passes=3,
    most_rows=1_000,
)
