"""Models that are cut to a number of features."""

from copy import copy

import numpy as np

from rarefy.engine.learner import Learner


def limited(learner: Learner, n_features: int) -> Learner:
    """A copy that has forgotten the features with the smallest weights: only so many have any."""
    limited = copy(learner)
    limited.state = learner.state.copy()
    largest = np.maximum(learner.usefulness(np.ones(learner.n_features, np.uint64)), 0.0)
    kept = np.flatnonzero(largest)
    if len(kept) > n_features:
        order = np.argsort(-largest[kept], kind="stable")
        dropped = kept[order[n_features:]]
        width = len(learner.rule.state_fields)
        limited.set_state_of(dropped, np.zeros((len(dropped), learner.n_outputs, width)))
    return limited
