"""The releases of a chain, their figures, and the methods by which one follows another."""

from typing import NamedTuple

import numpy as np

from rarefy.updating.safe_update import DEFAULT_HOLDOUT, DEFAULT_PASSES

METHODS = {
    "plain": "trained further",
    "retrained": "trained from scratch on all rows so far, in random order",
    "endowment": "trained further, with an endowment",
    "dissonance": "trained further; rows that the previous model gets right count more",
    "distillation": "trained further on labels mixed with the previous model's probabilities",
    "damped": "distilled where the previous model is right, else trained on damped labels",
    "focal": "trained further on labels and the last model, which counts more where it is right",
    "hysteresis": "trained further; the last answer stays where the new one leads by too little",
    "update": "updated within the budget, as by `rarefy update`",
    "replay": "updated within the budget, with all earlier rows replayed",
    "anchor": "updated within the budget, with an anchor",
}
OF_PROBABILITIES = ("distillation", "damped", "focal")


class Knobs(NamedTuple):
    """What the methods can be told, and by default are."""

    max_negative: float = 0.01
    anchor: float = 2.0
    endowment: float = 3.0
    distillation: float = 0.4
    trust: float = 0.5
    focal: float = 0.2
    dissonance: float = 3.0
    hysteresis: float = 0.5
    holdout: float = DEFAULT_HOLDOUT
    passes: int = DEFAULT_PASSES


DEFAULTS = Knobs()


class Release(NamedTuple):
    """A model that was shipped, and what came of it on the rows before the next one.

    Attributes
    ----------
    number : int
        The place in the chain.
    n_learned : int
        How many rows had come when it was shipped.
    n_rows : int
        How many rows it is judged by: those before the next release.
    is_new : bool
        False if the model of the release before was kept.
    accuracy : float
        The share of right answers.
    lost_rate, won_rate, churn : float or None
        Compared with the release before: the shares of answers that were right and are wrong, that
        were wrong and are right, and that have changed. None for the first release.
    n_weights : int
        How many weights are not zero.
    n_changed : int or None
        How many weights differ from those of the release before.
    n_models : int
        How many models it takes to predict: 1, but for hysteresis.
    """

    number: int
    n_learned: int
    n_rows: int
    is_new: bool
    accuracy: float
    lost_rate: float | None
    won_rate: float | None
    churn: float | None
    n_weights: int
    n_changed: int | None
    n_models: int


class Chain(NamedTuple):
    """All releases by one method.

    Attributes
    ----------
    method : str
        One of those of `rarefy.releases`.
    releases : list of Release
        One for each model that was shipped.
    accuracy : float
        The mean over the releases.
    n_new : int
        How many of them are new models.
    lost_at_the_end, won_at_the_end : float
        On the rows after the last release: shares of answers that it has lost, or won, compared
        with the first one.
    """

    method: str
    releases: list[Release]
    lost_at_the_end: float
    won_at_the_end: float

    @property
    def accuracy(self) -> float:
        """The mean over the releases, each of which counts the same."""
        return float(np.mean([release.accuracy for release in self.releases]))

    def mean(self, name: str) -> float:
        """The mean of what compares releases with those before, as `lost_rate`."""
        return float(np.mean([getattr(release, name) for release in self.releases[1:]]))

    @property
    def n_new(self) -> int:
        """How many releases are new models."""
        return sum(release.is_new for release in self.releases)
