"""Cutting a model to a number of features."""

from collections.abc import Callable
from copy import copy

import numpy as np

from rarefy.arrays import Floats, Numbers
from rarefy.engine.learner import Learner

CANDIDATES = 16  # from which a refit chooses, for each feature that is to be left


def limited(learner: Learner, n_features: int) -> Learner:
    """A copy that has forgotten the features with the smallest weights: only so many have any."""
    largest = np.maximum(learner.usefulness(np.ones(learner.n_features, np.uint64)), 0.0)
    kept = np.flatnonzero(largest)
    return _only_first(learner, kept, largest[kept], n_features)


def strengths(features: Numbers, weights: Floats, squares: Floats) -> Floats:
    """How strong each feature is: the sum of its squared weights times that of its squared values.

    In units of the loss's curvature that is about twice what the loss would rise without it.
    `features` has the feature of each weight.
    """
    return np.asarray(np.bincount(features, weights**2) * squares)


def only_candidates(
    learner: Learner, target: int | None, squares_of: Callable[[], Floats]
) -> Learner:
    """A copy that has only the features from which a refit chooses as many as the target.

    These are the strongest; without a target, or with few features, it is the learner itself. A
    refit of all the others takes time and memory for nothing. `squares_of` gives the weighted sums
    of the squared values of all features.
    """
    if target is None:
        return learner
    slots, weights = learner.nonzero()
    kept, numbers = np.unique(slots // learner.n_outputs, return_inverse=True)
    if len(kept) <= CANDIDATES * target:
        return learner
    merits = strengths(numbers, weights, squares_of()[kept])
    return _only_first(learner, kept, merits, CANDIDATES * target)


def _only_first(learner: Learner, features: Numbers, merits: Floats, n_features: int) -> Learner:
    """A copy that has only so many of the features that have a weight, those of the most merit."""
    limited = copy(learner)
    limited.state = learner.state.copy()
    if len(features) > n_features:
        order = np.argsort(-merits, kind="stable")
        dropped = features[order[n_features:]]
        width = len(learner.rule.state_fields)
        limited.set_state_of(dropped, np.zeros((len(dropped), learner.n_outputs, width)))
        limited.calibration = None  # other scores
    return limited
