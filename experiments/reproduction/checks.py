"""Claims that are not about l1: names of features, lazy forms, truncated gradient."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.comparison import HIGHER, SIGNIFICANT
from experiments.reproduction.claims import SAME, Claim, Finding, shown_p
from experiments.reproduction.eager import PASSES, LazyAndEager
from experiments.reproduction.gravity import BATCH, ROUNDING, TRUNCATED, Trades
from experiments.reproduction.names import Kept

MANY_FEATURES = 50
SHARES = (0.5, 0.25, 0.1)  # of the features that models may keep
CLOSE = 0.01  # of accuracy or R², for a model that is called as good
HALF = 0.5
LAZY_TOLERANCE = 1e-9


class Check(NamedTuple):
    """A claim that is not a comparison of accuracies: what was found, and the verdict."""

    source: str
    text: str
    found: str
    verdict: str


def names_check(kept: Kept) -> Check:
    aware = kept.rows_of_only(kept.aware, kept.plain)
    plain = kept.rows_of_only(kept.plain, kept.aware)
    found = (
        f"median occurrences {_median(aware)} of {len(aware):,} features that only FRDA keeps, "
        f"{_median(plain)} of {len(plain):,} that only RDA keeps; p {_is(kept.p)}"
    )
    verdict = "holds" if kept.p < SIGNIFICANT else "does not hold"
    return Check("T4.8", "FRDA keeps rare features that RDA drops, and drops frequent ones",
                 found, verdict)  # fmt: skip


def _median(numbers: Sequence[int]) -> str:
    return f"{np.median(numbers):g}" if len(numbers) else "–"


def _is(p: float) -> str:
    return shown_p(p).replace("<", "< ") if p < 0.001 else f"= {shown_p(p)}"


def gravity_checks(trades: Trades) -> list[Check]:
    datasets = trades.datasets
    continuous = [name for name in datasets if _is_continuous(trades, name)]
    many = [name for name in datasets if trades.n_features(name) >= MANY_FEATURES]
    halved = [name for name in many if trades.fewest(name, TRUNCATED, CLOSE) <= HALF]
    return [
        Check(
            "L",
            "As gravity grows, the number of features falls steadily from all to none",
            f"{len(continuous)} of {len(datasets)} data sets",
            _verdict(len(continuous), len(datasets)),
        ),
        Check(
            "L",
            f"Data sets with many features ({MANY_FEATURES} or more here) can do without half of "
            f"them, for a loss of at most {100 * CLOSE:g} point",
            f"{len(halved)} of {len(many)} data sets" + (f": {', '.join(halved)}" * bool(halved)),
            _verdict(len(halved), len(many)),
        ),
    ]


def _is_continuous(trades: Trades, dataset: str) -> bool:
    """All features at the weakest, none at the strongest, and hardly ever more than before."""
    kept = trades.kept(dataset, TRUNCATED) / trades.n_features(dataset)
    return bool(kept[0] > 0.95 and kept[-1] == 0.0 and np.diff(kept).max() < 0.05)


def _verdict(n: int, of: int) -> str:
    if of == 0:
        return "nothing to judge by"
    if n == of:
        return "holds"
    return "holds in part" if 2 * n >= of else "does not hold"


def gravity_claims(trades: Trades) -> list[Claim]:
    def findings(other: str, wanted: int) -> dict[str, Finding]:
        return {
            f"at most {share:.0%} of the features": Finding(
                wanted,
                [trades.compare(name, other, TRUNCATED, share) for name in trades.datasets],
            )
            for share in SHARES
        }

    better = "Truncated gradient is more accurate than rounding with as many features"
    same = "Truncated gradient is as accurate as the batch solution with as many features"
    return [
        Claim("L", better, findings(ROUNDING, HIGHER)),
        Claim("L", same, findings(BATCH, SAME)),
    ]


def lazy_check(lazy: LazyAndEager) -> Check:
    agrees = lazy.largest_difference < LAZY_TOLERANCE and not lazy.kept_by_one_only
    return Check(
        "S12",
        "SGFT's lazy form has the weights of the eager one",
        f"largest difference {lazy.largest_difference:.0e} after {PASSES} passes over "
        f"{lazy.n_rows:,} rows; {lazy.n_kept:,} weights kept, {lazy.kept_by_one_only} by one only",
        "holds" if agrees else "does not hold",
    )
