"""The results of models, interval by interval between comparisons.

They are compared by the losses of their predictions for examples that were new to them, those of
late counting more. Among classifiers, some that are right more often have smaller scores and so a
larger loss, and others too large ones. Hence scores are scaled, by the factor that suits the model;
and, as a few that are far from right weigh more than most others together, wrong answers count by
themselves, too. Users may ask for one of the two alone, or for a measure of all rows of an
interval, such as AUC; the loss counts beside it, as few rows leave a measure to chance.
"""

import numpy as np

from rarefy.arrays import Floats
from rarefy.engine.snapshots import Arrays, put_back
from rarefy.lanes.block import Block
from rarefy.model.scoring import Judge, Scoring
from rarefy.tuning.noted_scores import NotedScores

SCALES = (0.5, 2.0)  # of scores, one of which may suit a model that classifies
DECAY = 0.7  # what an interval of examples counts, beside the next one
COST_OF_ERRORS = 2.0  # what a wrong answer costs beside its loss
COST_BESIDE_A_MEASURE = 0.3  # of the loss, where few rows leave a measure to chance
COST_OF_EXCESS = 0.1  # of e times the features that a model may have, as a loss
COST_OF_NO_FEATURES = 1e3


class Record:
    """Of the models of a block, which may have a limit to their features."""

    def __init__(
        self,
        block: Block,
        target_features: int | None,
        *,
        is_regression: bool = False,
        scoring: Scoring | None = None,
        judge: Judge | None = None,
    ) -> None:
        self._block = block
        self._target_features = target_features
        name = None if scoring is None else scoring.name
        has_errors = not is_regression and name in (None, "accuracy")
        self._cost_of_errors = COST_OF_ERRORS if has_errors else 0.0
        self._cost_of_loss = 0.0 if name == "accuracy" else 1.0
        self.noted: NotedScores | None = None
        if judge is not None:
            self._cost_of_loss = 0.0 if is_regression else COST_BESIDE_A_MEASURE
            self.noted = NotedScores(judge, block.n_outputs, len(block.lanes))
        self._progress_before, self._losses_before = block.progress(), block.losses()
        # The mean of each interval, (interval, scale, model).
        self._losses = np.empty((0, *self._losses_before.shape))
        self._counts = np.empty(0)  # what each interval counts
        self._n_features = np.ones(len(block.lanes))  # counted only if there is a limit

    @property
    def n_intervals(self) -> int:
        return len(self._counts)

    def progress(self) -> Floats:
        """Losses, examples and right answers of the interval that has not ended, (3, model)."""
        return self._block.progress() - self._progress_before

    def end_interval(self) -> None:
        """Note what came of the examples since the last interval."""
        progress, losses = self._block.progress(), self._block.losses()
        _, examples, right = progress - self._progress_before
        weight = examples.max()
        if weight > 0.0:
            costs = self._cost_of_loss * (losses - self._losses_before)
            costs += self._cost_of_errors * (examples - right)
            self._note(costs / weight, weight)
        self._progress_before, self._losses_before = progress, losses
        if self._target_features is not None:
            self._n_features = self._block.n_features_kept()

    def _note(self, costs: Floats, weight: float) -> None:
        """Put the mean cost of an example on record, (scale, model)."""
        if self.noted is not None:
            judged = self.noted.judged(self._block.alive)
            if judged is None:
                return
            costs, weight = costs - judged.values, judged.weight
        means = np.where(self._block.alive, costs, np.inf)
        self._losses = np.concatenate([self._losses, means[np.newaxis]])
        self._counts = np.append(self._counts * DECAY, weight)

    def means(self) -> Floats:
        """The mean loss of each model; more, where it has too many features."""
        means = np.where(self._block.alive, self._by_scale().min(axis=0), np.inf)
        if self._target_features is not None:
            excess = np.maximum(self._n_features / self._target_features, 1.0)
            means += COST_OF_EXCESS * np.log(excess)
            means[self._n_features == 0.0] += COST_OF_NO_FEATURES
        return means

    def uncertainties(self, best: int) -> Floats:
        """Standard errors of how much worse than the best one each model is."""
        if self.n_intervals < 2 or not self._block.alive[best]:
            return np.zeros(len(self._n_features))
        scales = self._by_scale().argmin(axis=0)
        history = self._losses[:, scales, np.arange(len(scales))]
        behind = history - history[:, best : best + 1]
        behind[:, ~self._block.alive] = 0.0
        shares = self._shares()
        spread = shares[:, np.newaxis] * (behind - shares @ behind)
        errors: Floats = np.sqrt((spread * spread).sum(axis=0))
        return errors

    def _by_scale(self) -> Floats:
        means: Floats = self._losses.T @ self._shares()
        return means.T

    def _shares(self) -> Floats:
        """What each interval counts, of 1."""
        return self._counts / self._counts.sum() if self.n_intervals else self._counts

    def snapshot(self) -> Arrays:
        """All that is on record, as it is: not copied. Features are counted as an interval ends."""
        return {**self._intervals(), **({} if self.noted is None else self.noted.snapshot())}

    def _intervals(self) -> Arrays:
        return {
            "progress_before": self._progress_before,
            "losses_before": self._losses_before,
            "losses": self._losses,
            "counts": self._counts,
        }

    def restore(self, arrays: Arrays) -> None:
        """Go back to a snapshot of a record of as many models."""
        self._counts = np.empty(len(arrays["counts"]))
        self._losses = np.empty((len(self._counts), *self._losses_before.shape))
        for name, own in self._intervals().items():
            put_back(own, arrays[name], may_be_infinite=name == "losses")
        if (self._counts <= 0.0).any():
            raise ValueError("an interval counts nothing")
        if self.noted is not None:
            self.noted.restore(arrays)

    def copy(self, source: int, target: int) -> None:
        """Say of one model what is said of another."""
        pasts = (self._losses, self._progress_before, self._losses_before, self._n_features)
        for past in pasts:
            past[..., target] = past[..., source]
        if self.noted is not None:
            self.noted.copy(source, target)
