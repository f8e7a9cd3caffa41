"""Challenges: whether other hyperparameters would now be better for a model.

It is a step of local search: others near the model go on from where it is, on the same rows. That
is closest to an evolution strategy with weighted recombination (as in CMA-ES, without its
covariances): the new parameters are a mean of the candidates', in logarithms, by how well they did.
What differs: candidates are the points of a fixed pattern and not drawn; the best one's state goes
on; and weights are likelihoods instead of ranks. As losses differ by little more than chance, a
model that is z standard errors behind the best counts exp(-z²/2). So where a race (Maron & Moore
1994) would go on until one candidate is left, those that cannot be told apart are averaged.
"""

from typing import Any

import numpy as np

from rarefy.arrays import Floats
from rarefy.engine.learner import Learner
from rarefy.tuning.population import Population
from rarefy.tuning.space import Point, Space


class Challenge(Population):
    """A model, the first, and others near it."""

    def __init__(self, space: Space, model: Learner, **shape: Any) -> None:
        points = space.points_around(model.found)
        super().__init__(space, points, model.loss, n_features=model.n_features, **shape)
        self.take_over(model)

    def compare(self) -> None:
        self.record.end_interval()

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
