"""How the weights of one model differ from those of another."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.errors import InputError
from rarefy.files.model import Model
from rarefy.stores import Kept


class Comparison(NamedTuple):
    """All weights that one of the models has, the most changed first; 0: it has none there."""

    keys: NDArray[np.uint64]
    outputs: NDArray[np.int64]
    old: Floats
    new: Floats

    @property
    def change(self) -> Floats:
        return self.new - self.old

    def counts(self) -> dict[str, int]:
        """How many weights added, removed, changed, and stayed the same."""
        in_old, in_new, differs = self.old != 0.0, self.new != 0.0, self.old != self.new
        kinds = {
            "came": ~in_old & in_new,
            "went": in_old & ~in_new,
            "changed": in_old & in_new & differs,
            "same": ~differs,
        }
        return {kind: int(np.count_nonzero(found)) for kind, found in kinds.items()}

    def mass(self) -> dict[str, float]:
        """The sums of all sizes."""
        parts = {"old": self.old, "new": self.new, "change": self.change}
        return {name: float(np.abs(part).sum()) for name, part in parts.items()}


def check_comparable(old: Model, new: Model) -> None:
    """Refuse models whose weights are not those of the same features and classes."""
    if old.classes != new.classes:
        raise InputError(
            f"the old model predicts {predicted(old.classes)} and the new one "
            f"{predicted(new.classes)}: their weights cannot be compared."
        )
    if old.store.get("bits") != new.store.get("bits"):
        raise InputError(
            f"the old model has {_places(old)} and the new one {_places(new)}, so their features "
            f"cannot be matched; train both with the same store and bits."
        )


def predicted(classes: Sequence[Any]) -> str:
    """What a model with these classes predicts."""
    shown = ", ".join(map(repr, classes[:20])) + (", ..." if len(classes) > 20 else "")
    return f"the classes {shown}" if classes else "numbers"


def _places(model: Model) -> str:
    bits = model.store.get("bits")
    return "exact features" if bits is None else f"2^{bits} hashed weights"


def compare(old: Model, new: Model) -> Comparison:
    """The weights of both, matched by key and class."""
    check_comparable(old, new)
    both = (old.kept, new.kept)
    n_outputs = len(new.intercepts)
    keys, which = np.unique(np.concatenate([kept.keys for kept in both]), return_inverse=True)
    pairs, at = np.unique(
        which * n_outputs + np.concatenate([kept.outputs for kept in both]), return_inverse=True
    )
    old_weights, new_weights = np.zeros(len(pairs)), np.zeros(len(pairs))
    old_weights[at[: len(old.kept.keys)]] = old.kept.weights
    new_weights[at[len(old.kept.keys) :]] = new.kept.weights
    features, outputs = np.divmod(pairs, n_outputs)
    order = np.argsort(-np.abs(new_weights - old_weights), kind="stable")
    return Comparison(keys[features[order]], outputs[order], old_weights[order], new_weights[order])


class Changed(NamedTuple):
    """A weight of either model, with the name of its feature."""

    feature: str
    key: int
    class_name: dict[str, str]  # "class" and that of several; else nothing
    old: float
    new: float


def first_changes(old: Model, new: Model, comparison: Comparison, top: int) -> list[Changed]:
    """The weights that have changed most."""
    keys = comparison.keys[:top]
    names = names_by_key(old.kept, keys) | names_by_key(new.kept, keys)
    has_several = len(new.intercepts) > 1
    return [
        Changed(
            names.get(key, str(key)),
            key,
            {"class": new.classes[output]} if has_several else {},
            *weights,
        )
        for key, output, *weights in zip(*(part[:top].tolist() for part in comparison), strict=True)
    ]


def names_by_key(kept: Kept, keys: NDArray[np.uint64]) -> dict[int, str]:
    """What some keys stand for, as far as there are names."""
    if kept.names is None:
        return {}
    found = np.flatnonzero(np.isin(kept.keys, keys)).tolist()
    return {int(kept.keys[at]): kept.names[at] for at in found}
