"""Which features turned right answers into wrong ones: value × change of weight."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.analysis.comparison import names_by_key
from rarefy.analysis.flip_tally import Feature
from rarefy.arrays import Floats, Numbers, dot
from rarefy.checks import numbers_if_all_are
from rarefy.readers.feature_names import Names, texts_by_key
from rarefy.stores import Kept
from rarefy.streams.stream_model import StreamModel

Keys = NDArray[np.uint64]
FEWEST_TO_SUM_UP = 1 << 20


class Entries(NamedTuple):
    """The features of rows, in CSR layout; keys and values may be those of more rows."""

    indptr: Numbers
    keys: Keys
    values: Floats
    names: Names | None = None  # what the keys stand for, if the model does not know

    def only(self, rows: Numbers) -> "Entries":
        """Some of the rows."""
        lengths = np.diff(self.indptr)
        chosen = np.zeros(len(lengths), dtype=bool)
        chosen[rows] = True
        entries = self.indptr[0] + np.flatnonzero(np.repeat(chosen, lengths))
        indptr = np.concatenate([[0], np.cumsum(lengths[rows])])
        return Entries(indptr, self.keys[entries], self.values[entries], self.names)


class Side:
    """One of the two models, and its weights.

    Classes have the numbers of their order, which both models share, whatever their own are.
    """

    def __init__(self, model: StreamModel, kept: Kept) -> None:
        own = numbers_if_all_are(model.classes)
        order = sorted(range(len(own)), key=own.__getitem__)
        self.model, self.kept = model, kept
        self.labels = [model.classes[number] for number in order]
        self.own_numbers = np.array(order, np.int64)
        self.shared_numbers = np.argsort(self.own_numbers)
        self.intercepts = model.learner.settled().intercept()
        self._mask = np.uint64(model.store.most_keys - 1)
        self._keys, which = np.unique(kept.keys, return_inverse=True)
        coordinates = which * model.learner.n_outputs + kept.outputs
        ascending = np.argsort(coordinates)
        self._coordinates, self._weights = coordinates[ascending], kept.weights[ascending]

    def towards(self, wrong: Numbers, truth: Numbers, keys: Keys | None = None) -> Floats:
        """What the weights of the keys, or else the intercepts, say for wrong and against right."""
        wrong, truth = self.own_numbers[wrong], self.own_numbers[truth]
        if len(self.intercepts) == 1:  # the score of the second class
            return self._of_output(keys, np.zeros_like(wrong)) * (2.0 * wrong - 1.0)
        return self._of_output(keys, wrong) - self._of_output(keys, truth)

    def _of_output(self, keys: Keys | None, outputs: Numbers) -> Floats:
        if keys is None:
            return self.intercepts[outputs]
        at = np.searchsorted(self._keys, keys & self._mask)
        known = _hits(self._keys, at, keys & self._mask)
        wanted = at * len(self.intercepts) + outputs
        at = np.searchsorted(self._coordinates, wanted)
        found = np.zeros(len(keys))
        hits = known & _hits(self._coordinates, at, wanted)
        found[hits] = self._weights[at[hits]]
        return found


def _hits(ordered: NDArray[Any], at: Numbers, wanted: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether what is wanted is where it has been searched for."""
    inside = at < len(ordered)
    inside[inside] = ordered[at[inside]] == wanted[inside]
    return inside


class FlipCauses:
    """Sums up, feature by feature, what took examples from right answers to wrong ones."""

    def __init__(self, old: Side, new: Side, names: dict[int, str] | None = None) -> None:
        self._sides = (old, new)
        self._intercept = 0.0
        self._names = dict(names or {})
        self._keys = np.empty(0, np.uint64)
        self._sums: Floats = np.empty(0)
        self._more: list[tuple[Keys, Floats]] = []
        self._n_more = 0

    def add(
        self,
        entries: tuple[Entries, Entries],
        wrong: Numbers,
        truth: Numbers,
        importance: Floats,
    ) -> None:
        """Lost examples: their features as each model has them, and the classes in question."""
        for side, (indptr, keys, values, names), sign in zip(
            self._sides, entries, (-1, 1), strict=True
        ):
            row = np.repeat(np.arange(len(wrong)), np.diff(indptr))
            weights = side.towards(wrong[row], truth[row], keys)
            amounts = sign * importance[row] * values * weights
            moved = amounts != 0.0
            self._add_up(keys[moved], amounts[moved])
            self._intercept += sign * dot(importance, side.towards(wrong, truth))
            if names is not None:
                self._note_names(names, keys[moved])

    def _add_up(self, keys: Keys, amounts: Floats) -> None:
        self._more.append((keys, amounts))
        self._n_more += len(keys)
        if self._n_more > max(FEWEST_TO_SUM_UP, len(self._keys)):
            self._sum_up()

    def _sum_up(self) -> None:
        keys, amounts = zip((self._keys, self._sums), *self._more, strict=True)
        self._keys, which = np.unique(np.concatenate(keys), return_inverse=True)
        self._sums = np.zeros(len(self._keys))
        np.add.at(self._sums, which, np.concatenate(amounts))
        self._more, self._n_more = [], 0

    def _note_names(self, names: Names, keys: Keys) -> None:
        unknown = set(keys.tolist()) - self._names.keys()
        if unknown:
            self._names |= texts_by_key(names, unknown)

    def findings(self, top: int) -> dict[str, Any]:
        """The features that moved the most towards wrong answers, and what the intercept did."""
        self._sum_up()
        order = np.argsort(-self._sums, kind="stable")
        order = order[self._sums[order] != 0.0][:top]
        found = zip(self._keys[order].tolist(), self._sums[order].tolist(), strict=True)
        names = self._names
        for side in self._sides:
            names = names | names_by_key(side.kept, self._keys[order])
        features = [Feature(names.get(key, str(key)), key, amount) for key, amount in found]
        return {"features": features, "intercept": self._intercept}
