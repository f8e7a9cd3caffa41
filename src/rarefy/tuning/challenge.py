"""Whether a model that has learned alone would do better with other parameters by now.

Others near it go on from where it is. Their losses differ by little more than chance, so the one
that happens to be ahead is not simply followed: the parameters to go on with are an average, in
which each model counts by how likely it is to be no worse than the best.
"""

from typing import Any

import numpy as np

from rarefy.arrays import Floats
from rarefy.engine.learner import Learner
from rarefy.tuning.pack import Pack
from rarefy.tuning.space import Point, Space


class Challenge(Pack):
    """A model, the first, and others near it."""

    def __init__(self, space: Space, model: Learner, **shape: Any) -> None:
        points = space.points_around(model.found)
        super().__init__(space, points, model.loss, n_features=model.n_features, **shape)
        self.take_over(model)

    def take_stock(self) -> None:
        self.record.end_stretch()

    @property
    def predictor(self) -> int:
        """Until it is over, the model that was challenged, if it lives."""
        return int(self.block.alive.argmax())

    def winner(self) -> Learner:
        """The best model, going on with the average parameters."""
        means = self.record.means()
        best = int(means.argmin())
        return self.learner(best, self._average(self._likelihoods(means, best)))

    def _likelihoods(self, means: Floats, best: int) -> Floats:
        """How likely the models are to be no worse than the best, beside that one."""
        behind, errors = means - means[best], self.record.uncertainties(best)
        likelihoods = np.zeros(len(means))
        seen = errors > 0.0
        likelihoods[seen] = np.exp(-0.5 * (behind[seen] / errors[seen]) ** 2)
        likelihoods[best] = 1.0
        return likelihoods

    def _average(self, weights: Floats) -> Point:
        """The geometric mean of the parameters."""
        shares = weights / weights.sum()
        logarithms = {
            name: np.log([point[name] for point in self.points]) for name in self.space.free
        }
        average = {name: float(np.exp(shares @ logs)) for name, logs in logarithms.items()}
        return {**self.points[0], **average}
