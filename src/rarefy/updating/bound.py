"""An upper confidence bound for the rate of lost answers on new rows.

Clopper and Pearson (1934): if k of n rows are lost, the rate of lost answers is below the bound
with a confidence of 97.5 %, whatever it is: the upper end of the usual interval of 95 %. Rows that
do not all weigh the same count as fewer rows, (Σw)²/Σw² (Korn and Graubard 1998).
"""

import math

from rarefy.arrays import Flags, Floats

CONFIDENCE = 0.975


def upper_bound(is_lost: Flags, weights: Floats) -> float:
    """What the rate of lost answers is below, with confidence."""
    total = float(weights.sum())
    if total == 0.0:
        return 1.0
    n_rows = total**2 / float(weights @ weights)
    return _clopper_pearson(n_rows * float(weights[is_lost].sum()) / total, n_rows)


def _clopper_pearson(n_lost: float, n_rows: float) -> float:
    from scipy.special import betaincinv

    if n_lost >= n_rows:
        return 1.0
    return float(betaincinv(n_lost + 1.0, n_rows - n_lost, CONFIDENCE))


def rows_needed(budget: float) -> int:
    """How many rows without a lost answer it takes to show that a budget is kept."""
    return math.ceil(math.log(1.0 - CONFIDENCE) / math.log1p(-budget))
