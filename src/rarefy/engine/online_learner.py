"""The interface of learners: a single model, or several that learn side by side."""

from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import NDArray

from rarefy.arrays import Floats, Rows
from rarefy.engine.learner import Learner, LearnerCheckpoint


class RowLearner(Protocol):
    """Learns and scores rows of features that have slots; all that a store needs of it."""

    @property
    def n_features(self) -> int:
        """For how many features there is room."""

    @property
    def n_outputs(self) -> int:
        """How many scores a row has."""

    @property
    def t(self) -> int:
        """How many examples have been learned."""

    def learn(self, rows: Rows, n_features: int = 0, *, restorable: bool = True) -> None: ...

    def scores(self, rows: Rows) -> Floats: ...

    def usefulness(self, counts: NDArray[Any]) -> Floats:
        """How much each feature would be missed; -inf: not at all."""

    def grow(self, n_features: int) -> None:
        """Make room for more features."""

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""


class OnlineLearner(RowLearner, Protocol):
    """Becomes one model, whose hyperparameters may still be looked for.

    Weights, rule and clock are those of `settled()`, the model that there would be if learning
    ended here. A learner whose hyperparameters are known is that model itself.
    """

    @property
    def loss(self) -> Any: ...

    @property
    def progress(self) -> Floats:
        """Weighted sums of losses, examples and right answers, predicted before learning."""

    @property
    def progressive_loss(self) -> float: ...

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to be found."""

    def learn(
        self,
        rows: Rows,
        n_features: int = 0,
        *,
        restorable: bool = True,
        between: Callable[[], None] = ...,
    ) -> None: ...

    def begin_pass(self, number: int) -> None:
        """Say how often the rows that come have been learned, this time included."""

    def settled(self) -> Learner: ...

    def checkpoint(self) -> LearnerCheckpoint:
        """All that it takes to go on later; arrays are not copied."""
