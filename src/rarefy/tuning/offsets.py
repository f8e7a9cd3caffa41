"""A check for features or targets far from zero, which tuned rules do not centre.

Rules that step along one coordinate at a time are slow to find an offset. The scale-free rules are
not: they learn relative to the first examples (see engine/reference.py).
"""

import warnings
from typing import Any

import numpy as np

from rarefy.arrays import Floats, Rows, part_of
from rarefy.errors import RarefyWarning
from rarefy.model.losses import REGRESSION_LOSSES

FEWEST_ROWS, MOST_ROWS = 16, 128  # that are looked at
FAR = 1.0  # spreads between zero and targets: a fit through the origin would explain little
FAR_FEATURE = 3.0  # standard deviations between zero and a feature
NORMAL = 1.4826  # standard deviations in the median distance of normal targets


def warn_of_offsets(rows: Rows, loss: Any, sought: str) -> None:
    """Warn of what the first rows show; `sought` says in words what is to be found."""
    rows = part_of(rows, 0, min(MOST_ROWS, len(rows.y)))
    if len(rows.y) < FEWEST_ROWS:
        return
    n_far = _n_far_features(rows)
    far = [f"the values of {n_far:,} feature{'s' if n_far > 1 else ''}"] if n_far else []
    if type(loss) in REGRESSION_LOSSES.values() and _is_far(rows.y):
        far.append("the targets")
    if far:
        warnings.warn(
            f"this rule learns {' and '.join(far)} as they are, which is slow, because they lie "
            f"far from zero, while {sought} is tuned on the first examples. Centre and scale them "
            f"(scikit-learn's StandardScaler, TransformedTargetRegressor), or use the default "
            f"rule or rule='auto', which need no scaling.",
            RarefyWarning,
            stacklevel=2,
        )


def _is_far(targets: Floats) -> bool:
    median = float(np.median(targets))
    spread = NORMAL * float(np.median(np.abs(targets - median)))
    return abs(median) > FAR * spread > 0.0


def _n_far_features(rows: Rows) -> int:
    """How many features vary, but not around zero; those that are zero somewhere do not count."""
    n_rows, entries = len(rows.y), slice(rows.indptr[0], rows.indptr[-1])
    features, at = np.unique(rows.indices[entries], return_inverse=True)
    values = rows.values[entries]
    counts = np.bincount(at, weights=values != 0.0, minlength=len(features))
    means = np.bincount(at, weights=values, minlength=len(features)) / n_rows
    squares = np.bincount(at, weights=(values - means[at]) ** 2, minlength=len(features)) / n_rows
    is_far = (means**2 > FAR_FEATURE**2 * squares) & (squares > 0.0)
    return int(np.count_nonzero(is_far & (counts == n_rows)))
