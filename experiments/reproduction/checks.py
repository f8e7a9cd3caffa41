"""Claims that are not about l1: names of features, lazy forms, truncated gradient."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.comparison import HIGHER, SIGNIFICANT
from experiments.reproduction.claims import SAME, Claim, Finding, shown_p
from experiments.reproduction.eager import PASSES, LazyAndEager
from experiments.reproduction.gravity import BATCH, PERIODS, Trades, rounding, truncated
from experiments.reproduction.methods import RDA
from experiments.reproduction.names import AWARE, TOP, Kept, rarer

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


def names_checks(kept: Kept) -> list[Check]:
    checks = []
    for aware in AWARE:
        for words, rows in (
            (f"among the {TOP} strongest of", kept.rows_if_strongest),
            ("kept by", kept.rows_if_kept),
        ):
            mine, others = rows(aware, RDA), rows(RDA, aware)
            p = rarer(mine, others)
            found = (
                f"median of reviews {_median(mine)} ({len(mine):,} features) against "
                f"{_median(others)} ({len(others):,}); p {_is(p)}"
            )
            text = f"Features {words} {aware} and not RDA are rarer than the other way round"
            verdict = "holds" if p < SIGNIFICANT else "does not hold"
            checks.append(Check("T4.8", text, found, verdict))
    return checks


def _median(numbers: NDArray[np.int64]) -> str:
    return f"{np.median(numbers):g}" if len(numbers) else "–"


def _is(p: float) -> str:
    return shown_p(p).replace("<", "< ") if p < 0.001 else f"= {shown_p(p)}"


def gravity_checks(trades: Trades) -> list[Check]:
    datasets = trades.datasets
    many = [name for name in datasets if trades.n_features(name) >= MANY_FEATURES]
    checks = []
    for way in map(truncated, PERIODS):
        continuous = [name for name in datasets if _is_continuous(trades, name, way)]
        halved = [name for name in many if trades.fewest(name, way, CLOSE) <= HALF]
        checks += [
            Check(
                "L",
                f"{way}: as gravity grows, features fall steadily from all to none",
                f"{len(continuous)} of {len(datasets)} data sets",
                _verdict(len(continuous), len(datasets)),
            ),
            Check(
                "L",
                f"{way}: data sets with many features ({MANY_FEATURES} or more here) can do "
                f"without half of them, at most {100 * CLOSE:g} point behind the best",
                f"{len(halved)} of {len(many)} data sets"
                + (f": {', '.join(halved)}" if halved else ""),
                _verdict(len(halved), len(many)),
            ),
        ]
    return checks


def _is_continuous(trades: Trades, dataset: str, way: str) -> bool:
    """All features at the weakest, none at the strongest, and hardly ever more than before."""
    _, kept = trades.means(dataset, way)
    return bool(kept[0] > 0.95 and kept[-1] < 0.05 and np.diff(kept).max() < 0.05)


def _verdict(n: int, of: int) -> str:
    if of == 0:
        return "nothing to judge by"
    if n == of:
        return "holds"
    return "holds in part" if 2 * n >= of else "does not hold"


def gravity_claims(trades: Trades) -> list[Claim]:
    def findings(other: str, way: str, wanted: int) -> dict[str, Finding]:
        return {
            f"at most {share:.0%} of the features": Finding(
                wanted, [trades.compare(name, other, way, share) for name in trades.datasets]
            )
            for share in SHARES
        }

    claims = []
    for period in PERIODS:
        way, other = truncated(period), rounding(period)
        better = f"{way} is more accurate than {other}, with as many features"
        same = f"{way} is as accurate as {BATCH}, with as many features"
        claims += [
            Claim("L", better, findings(other, way, HIGHER)),
            Claim("L", same, findings(BATCH, way, SAME)),
        ]
    return claims


def lazy_check(lazy: LazyAndEager) -> Check:
    agrees = lazy.largest_difference < LAZY_TOLERANCE and not lazy.kept_by_one_only
    return Check(
        "S, eq. 12",
        "SGFT's lazy form has the weights of the eager one",
        f"largest difference {lazy.largest_difference:.0e} after {PASSES} passes over "
        f"{lazy.n_rows:,} rows; {lazy.n_kept:,} weights kept, {lazy.kept_by_one_only} by one only",
        "holds" if agrees else "does not hold",
    )
