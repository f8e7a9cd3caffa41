"""Models between an old one and the one that has learned on from it."""

from copy import copy

import numpy as np

from rarefy.arrays import Floats
from rarefy.engine.learner import Learner
from rarefy.engine.replaced_weights import moved
from rarefy.readers.feature_names import ABSENT
from rarefy.stores import Kept
from rarefy.streams.stream_model import StreamModel


class Blend:
    """Has models with the weights (1 - α) w_new + α w_old, in the store of the new one.

    What the new model dropped to stay within a limit of features stays dropped.
    """

    def __init__(self, old: Kept, old_intercepts: Floats, new: StreamModel) -> None:
        self.new = new
        learner = new.learner.settled()
        slots = new.store.slots_of(learner, old)
        there = slots != ABSENT
        of_old = slots[there] * learner.n_outputs + old.outputs[there]
        of_new, weights = learner.nonzero()
        self._slots = np.union1d(of_old, of_new)
        self._old, self._new_weights = np.zeros((2, len(self._slots)))
        self._old[np.searchsorted(self._slots, of_old)] = old.weights[there]
        self._new_weights[np.searchsorted(self._slots, of_new)] = weights
        self._intercepts = old_intercepts, learner.intercept()

    def scorer(self, alpha: float) -> StreamModel:
        """A model that predicts, and cannot go on learning."""
        learner = self._learner.with_weights(self._slots, *self._weights(alpha))
        return self._with(learner)

    def model(self, alpha: float) -> StreamModel | None:
        """A model that goes on learning; None if the rule has no state with such weights."""
        if alpha == 0.0:
            return self.new
        learner = moved(self._learner, self._slots, *self._weights(alpha))
        return None if learner is None else self._with(learner)

    @property
    def _learner(self) -> Learner:
        return self.new.learner.settled()

    def _weights(self, alpha: float) -> tuple[Floats, Floats]:
        """Of the slots, and of the intercepts."""
        old, new = self._intercepts
        return _between(self._old, self._new_weights, alpha), _between(old, new, alpha)

    def _with(self, learner: Learner) -> StreamModel:
        model = copy(self.new)
        model.adopt(learner)
        return model


def _between(old: Floats, new: Floats, alpha: float) -> Floats:
    return (1.0 - alpha) * new + alpha * old
