"""Models that find their own parameters while they learn."""

from typing import Any, cast

from rarefy.learner import Learner
from rarefy.tuning.space import Space
from rarefy.weighting import PLAIN, Weighting


def new_learner(
    rule: Any,
    schedule: Any,
    loss: Any,
    *,
    n_features: int,
    n_outputs: int = 1,
    fit_intercept: bool = True,
    weighting: Weighting = PLAIN,
) -> Learner:
    """A learner of a rule, or, for a space of rules, what finds out which and stands in for it."""
    shape: dict[str, Any] = {
        "n_features": n_features,
        "n_outputs": n_outputs,
        "fit_intercept": fit_intercept,
    }
    if isinstance(rule, Space):
        from rarefy.tuning.learner import TuningLearner

        return cast(Learner, TuningLearner(rule, loss, **shape))
    return Learner(rule, schedule, loss, **shape, weighting=weighting)
