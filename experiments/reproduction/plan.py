"""What is run: on which data, with which rules, and how often."""

import math
from typing import NamedTuple

from experiments.reproduction.methods import (
    ADAGRAD_COMID,
    ADAGRAD_RDA,
    COMID,
    FTPRL,
    METHODS,
    OF_THE_PAPERS,
    RDA,
    SCALE_FREE,
    fr_comid,
    frda,
    ftpfrl,
    sgft,
)
from experiments.reproduction.runs import STEPS_PER_DECADE, Protocol

TARGET_ZEROS = 0.9  # of models that are called sparse, at least
SCAN_FOLDS = 2
SMALLEST_STEP, LARGEST_STEP = -7 * STEPS_PER_DECADE, 3 * STEPS_PER_DECADE  # l1 of 10⁻⁷ to 10³

SENTIMENT = ("books-2000", "books-6000", "dvd-2000", "dvd-6000")
BINARY_NEWS = ("ob-2", "sb-2")
MULTICLASS = ("ob-8", "sb-8", "reut20")
BEYOND = ("rcv1", "a9a", "criteo", "imdb", "movies", "sms")
BEYOND_METHODS = (COMID, fr_comid(2.0), fr_comid(math.inf), sgft(2.0), sgft(math.inf), RDA,
                  frda(2.0), frda(math.inf), FTPRL, ftpfrl(math.inf), ADAGRAD_COMID,
                  ADAGRAD_RDA)  # fmt: skip
MULTICLASS_METHODS = (COMID, RDA, frda(math.inf), *(sgft(p) for p in (1.0, 2.0, 3.0, math.inf)))
OPEN_METHODS = (COMID, fr_comid(math.inf), sgft(2.0), RDA, frda(2.0), frda(math.inf),
                ADAGRAD_COMID, ADAGRAD_RDA)  # fmt: skip
DEFAULT_METHODS = (COMID, fr_comid(2.0), fr_comid(math.inf), RDA, frda(2.0), frda(math.inf),
                   ADAGRAD_COMID, ADAGRAD_RDA, SCALE_FREE)  # fmt: skip
SCALE_FREE_STEPS = tuple(range(-2, 5))
HALF_DECADE = STEPS_PER_DECADE // 2
UPDATE_SHIFT = 2 * STEPS_PER_DECADE


class Plan(NamedTuple):
    n_rows: int  # at most
    protocol: Protocol
    binary: tuple[str, ...]
    multiclass: tuple[str, ...]
    beyond: tuple[str, ...]  # data sets that the papers do not have
    methods: tuple[str, ...]
    multiclass_methods: tuple[str, ...]
    beyond_methods: tuple[str, ...]
    shuffles: dict[str, int]
    first_scan_step: int
    last_scan_step: int
    scan_every: int
    open_dataset: str  # on which it is tried what the papers leave open
    open_methods: tuple[str, ...]
    variants: dict[str, Protocol]
    names_dataset: str  # whose features are looked at by name
    eager_rows: int  # for the comparison with the eager form
    defaults: tuple[str, ...]  # data sets by which default parameters are judged
    default_values: tuple[str, ...]  # as what their words are taken
    default_protocols: tuple[Protocol, ...]
    default_methods: tuple[str, ...]
    default_steps: tuple[int, ...]
    uci: tuple[str, ...]
    uci_shuffles: int
    uci_passes: int

    @property
    def datasets(self) -> tuple[str, ...]:
        """Those of the papers."""
        return self.binary + self.multiclass

    def default_steps_of(self, method: str) -> tuple[int, ...]:
        return SCALE_FREE_STEPS if method == SCALE_FREE else self.default_steps

    def scan_steps(self, method: str) -> range:
        """Norms of updates, which shrink with the steps, need a larger l1."""
        shift = UPDATE_SHIFT if METHODS[method]["rule"] == "sgft" else 0
        return range(self.first_scan_step + shift, self.last_scan_step + shift + 1, self.scan_every)


PAPERS = Protocol()
FULL = Plan(
    n_rows=10_000,
    protocol=PAPERS,
    binary=SENTIMENT + BINARY_NEWS,
    multiclass=MULTICLASS,
    beyond=BEYOND,
    methods=OF_THE_PAPERS,
    multiclass_methods=MULTICLASS_METHODS,
    beyond_methods=BEYOND_METHODS,
    shuffles={"books-2000": 3, "books-6000": 3, "dvd-2000": 3, "dvd-6000": 3,
              "ob-2": 5, "sb-2": 5, "ob-8": 2, "sb-8": 2, "reut20": 2,
              **dict.fromkeys(BEYOND, 3)},
    first_scan_step=-6 * STEPS_PER_DECADE,
    last_scan_step=-STEPS_PER_DECADE,
    scan_every=HALF_DECADE,
    open_dataset="books-2000",
    open_methods=OPEN_METHODS,
    variants={
        "new order in every pass": PAPERS._replace(order="new"),
        "rows sorted by class": PAPERS._replace(order="by class"),
        "0/1 instead of counts": PAPERS._replace(values="0/1"),
        "0/1, rows of unit length": PAPERS._replace(values="unit"),
        "tf-idf": PAPERS._replace(values="tf-idf"),
        "logistic loss": PAPERS._replace(loss="logistic"),
        "one pass": PAPERS._replace(passes=1),
        "η = 0.1/√t": PAPERS._replace(eta0=0.1),
        "η = 10/√t": PAPERS._replace(eta0=10.0),
    },
    names_dataset="books-6000",
    eager_rows=1_000,
    defaults=("books-2000", "books-6000", "dvd-2000", "dvd-6000", "ob-2", "sb-2", "ob-8", "sb-8"),
    default_values=("counts", "unit"),
    default_protocols=tuple(
        Protocol(folds=5, passes=1, loss="logistic", eta0=eta0, intercept=True)
        for eta0 in (0.03, 0.1, 0.2, 0.3, 1.0, 3.0)
    ),
    default_methods=DEFAULT_METHODS,
    default_steps=tuple(range(-5 * STEPS_PER_DECADE, -STEPS_PER_DECADE - 1, HALF_DECADE)),
    uci=("ad", "crx", "housing", "krvskp", "magic04", "mushroom", "spambase", "wbc", "wdbc",
         "wpbc", "zoo"),
    uci_shuffles=3,
    uci_passes=20,
)  # fmt: skip

QUICK = FULL._replace(
    n_rows=300,
    protocol=PAPERS._replace(folds=3, passes=2),
    binary=("books-2000", "ob-2"),
    multiclass=("ob-8",),
    beyond=("rcv1", "sms"),
    methods=(COMID, fr_comid(math.inf), RDA, frda(2.0), frda(math.inf), sgft(2.0)),
    multiclass_methods=(COMID, RDA, sgft(2.0)),
    beyond_methods=(COMID, sgft(2.0), RDA, frda(math.inf), ADAGRAD_RDA),
    shuffles={"books-2000": 1, "ob-2": 2, "ob-8": 1, "rcv1": 1, "sms": 2},
    first_scan_step=-4 * STEPS_PER_DECADE,
    scan_every=STEPS_PER_DECADE,
    open_methods=(RDA, frda(math.inf)),
    variants={"0/1 instead of counts": PAPERS._replace(folds=3, passes=2, values="0/1")},
    names_dataset="books-2000",
    eager_rows=100,
    defaults=("books-2000", "ob-2"),
    default_values=("counts",),
    default_protocols=(
        Protocol(folds=3, passes=1, eta0=1.0),
        Protocol(folds=3, passes=1, eta0=0.1),
    ),
    default_methods=(RDA, frda(math.inf), SCALE_FREE),
    default_steps=(-12, -8),
    uci=("housing", "wdbc"),
    uci_shuffles=2,
    uci_passes=2,
)
