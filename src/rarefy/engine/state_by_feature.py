"""The state of a learner by feature, for stores, files and merges."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.engine import loop as engine
from rarefy.engine.reference import Reference
from rarefy.engine.state import new_state
from rarefy.rules.group_l1 import N_SUMS


class StateByFeature:
    """The base of learners, which have a row of state for each feature and output."""

    rule: Any
    state: Floats
    intercept_state: Floats
    reference: Reference
    n_features: int
    n_outputs: int

    def used(self) -> NDArray[np.int64]:
        """The features that carry state; that of the others is zero in every bit."""
        features = np.empty(self.n_features, np.int64)  # of which the rest never becomes memory
        return features[: engine.used(self._bits(), features)]

    def n_used(self) -> int:
        """How many features carry state."""
        return int(engine.used(self._bits(), np.empty(0, np.int64)))

    def _bits(self) -> NDArray[np.uint64]:
        bits = self.state[: self.n_features * self.n_outputs].view(np.uint64)
        return bits.reshape(self.n_features, -1)

    def state_of(self, features: NDArray[Any]) -> Floats:
        """The state of some features, (feature, output, field)."""
        return self._by_feature()[features]  # type: ignore[no-any-return]

    def set_state_of(self, features: NDArray[Any], state: Floats) -> None:
        """Overwrite the state of some features, for which there is room already."""
        own = self._by_feature()
        own[features] = state.reshape(len(features), *own.shape[1:])

    def _by_feature(self) -> Floats:
        rows = self.state[: self.n_features * self.n_outputs]
        by_feature = rows.reshape(self.n_features, self.n_outputs, rows.shape[1])
        fields = slice(len(self.rule.state_fields))
        return by_feature[:, :, fields]

    def field(self, name: str, slots: NDArray[np.int64]) -> Floats | None:
        """What the state of these slots has by that name; None if the rule has no such field."""
        fields = self.rule.state_fields
        return self.state[slots, fields.index(name)] if name in fields else None

    def move(self, old: NDArray[Any], new: NDArray[Any], n_features: int) -> None:
        """Bring features from old slots to new ones; all others are forgotten."""
        before = self.state
        n, width = self.n_outputs, before.shape[1]
        self.state = new_state(len(self.rule.state_fields), n_features * n)
        self.state.reshape(-1, n, width)[new] = before.reshape(-1, n, width)[old]
        self.n_features = n_features
        self.reference = self.reference.moved(old, new)

    def grow_outputs(self, n_outputs: int) -> None:
        """Make room for more classes, which start from nothing, as features do that are new."""
        if n_outputs > self.n_outputs:
            n_intercepts = len(self.intercept_state) // self.n_outputs
            change = self.n_outputs, n_outputs
            self.state = _with_outputs(self.state, self.n_features, *change)
            self.intercept_state = _with_outputs(self.intercept_state, n_intercepts, *change)
            self.n_outputs = n_outputs

    def set_own(self, features: NDArray[Any], numbers: Floats) -> None:
        """Write a number that features have of their own, the last one of their state."""
        if self.group_sums is not None:
            self._grow_groups(int(numbers.max(initial=0.0)))
        by_feature = self.state.reshape(-1, self.n_outputs, self.state.shape[1])
        by_feature[features, :, len(self.rule.state_fields) - 1] = numbers[:, np.newaxis]

    def own_of(self, features: NDArray[Any]) -> Floats:
        """The numbers that features have of their own."""
        own: Floats = self.state_of(features)[:, 0, -1]
        return own

    @property
    def group_sums(self) -> Floats | None:
        """What the groups of features have in common, (group, sum), if the rule has any."""
        sums: Floats | None = getattr(self.rule, "sums", None)
        return sums

    def _grow_groups(self, n_groups: int) -> None:
        """Make room for groups; their numbers begin with 1."""
        sums = self.group_sums
        if sums is None or len(sums) <= n_groups:
            grown = np.zeros((max(2 * n_groups, 8), N_SUMS))
            grown[: 0 if sums is None else len(sums)] = 0.0 if sums is None else sums
            self.rule = self.rule._replace(sums=grown)

    def restore_groups(self, sums: Floats | None) -> None:
        """Go back to what groups had in common."""
        own = self.group_sums
        if (own is None) != (sums is None):
            raise ValueError("a rule has groups, or none")
        if sums is not None:
            self._grow_groups(len(sums) // N_SUMS)
            self.group_sums[: len(sums) // N_SUMS] = sums.reshape(-1, N_SUMS)  # type: ignore[index]


def _with_outputs(state: Floats, n_features: int, before: int, after: int) -> Floats:
    """A state with more rows for each feature."""
    width = state.shape[1]
    grown = new_state(width, n_features * after)
    known = state[: n_features * before].reshape(n_features, before, width)
    grown.reshape(n_features, after, width)[:, :before] = known
    return grown
