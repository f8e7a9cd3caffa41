"""What is run: on which data, with which settings and seeds."""

from typing import NamedTuple

from experiments.endowment.learning import Setting

OGD = Setting()
AWARE = Setting(importance="aware")
HINGE = Setting(loss="hinge")
AWARE_HINGE = Setting(loss="hinge", importance="aware")

ETAS = tuple(1e3 / 2**k for k in range(20))  # the thesis's: from 10³ to 1.91·10⁻³
AS_WRITTEN = (0.05, 0.1, 0.3)  # the ρ of the thesis's r
AS_PRINTED = (0.95, 0.9, 0.7)  # what its tables look like: see `published.py`
TARGET_ZEROS = 0.8  # of the sparse models, at least


class Plan(NamedTuple):
    datasets: tuple[str, ...]
    templates: tuple[Setting, ...]
    etas: tuple[float, ...]
    gammas: tuple[float, ...]
    sparse_datasets: tuple[str, ...]
    sparse_rules: tuple[str, ...]
    sparse_etas: tuple[float, ...]
    l1s: tuple[float, ...]
    curve_datasets: tuple[str, ...]
    curve_every: int
    shown_datasets: tuple[str, ...]  # in the picture of the trade-off
    tuning_seeds: tuple[int, ...]
    seeds: tuple[int, ...]


FULL = Plan(
    datasets=("news20", "rcv1", "a9a", "criteo", "imdb", "books", "sms"),
    templates=(OGD, AWARE, HINGE, AWARE_HINGE),
    etas=ETAS,
    gammas=(0.5, 1.0, 2.0, 4.0, 8.0),
    sparse_datasets=("news20", "rcv1", "criteo", "books", "sms"),
    sparse_rules=("fobos", "fr-comid", "rda", "frda"),
    sparse_etas=ETAS[:9:2],
    l1s=tuple(10.0 ** (-k / 2) for k in range(3, 12)),
    curve_datasets=("news20", "a9a"),
    curve_every=1_000,
    shown_datasets=("news20", "a9a", "criteo", "imdb"),
    tuning_seeds=tuple(range(100, 105)),
    seeds=tuple(range(20)),
)

QUICK = FULL._replace(
    datasets=("rcv1", "sms"),
    etas=ETAS[3:6],
    gammas=(1.0, 4.0),
    sparse_datasets=("sms",),
    sparse_rules=("rda", "frda"),
    sparse_etas=ETAS[3:4],
    l1s=(1e-4, 1e-3),
    curve_datasets=("sms",),
    shown_datasets=("sms",),
    tuning_seeds=(100,),
    seeds=(0, 1, 2),
)
