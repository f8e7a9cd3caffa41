"""Models that are cut to a number of features."""

from copy import copy

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.engine.learner import Learner

CANDIDATES = 16  # from which a refit chooses, for each feature that is to be left


def limited(learner: Learner, n_features: int) -> Learner:
    """A copy that has forgotten the features with the smallest weights: only so many have any."""
    largest = np.maximum(learner.usefulness(np.ones(learner.n_features, np.uint64)), 0.0)
    kept = np.flatnonzero(largest)
    return _only_first(learner, kept, largest[kept], n_features)


def has_more_than_candidates(learner: Learner, target: int) -> bool:
    """Whether a refit to a target need not look at all features that have a weight."""
    slots, _ = learner.nonzero()
    return len(np.unique(slots // learner.n_outputs)) > CANDIDATES * target


def only_candidates(learner: Learner, squares: Floats, target: int) -> Learner:
    """A copy that has only the features from which a refit chooses as many as the target.

    These are the strongest, in the sense of the refit: by the sums of the squared weights and of
    the squared values, `squares`. A refit of all the others takes time and memory for nothing.
    """
    slots, weights = learner.nonzero()
    kept, numbers = np.unique(slots // learner.n_outputs, return_inverse=True)
    strengths = np.bincount(numbers, weights**2) * squares[kept]
    return _only_first(learner, kept, strengths, CANDIDATES * target)


def _only_first(
    learner: Learner, features: NDArray[np.int64], merits: Floats, n_features: int
) -> Learner:
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
