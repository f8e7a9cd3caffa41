"""Classes that come one after the other, transcribed: each has weights from then on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from tests import naive
from tests.naive import Array, Penalty, Round, Rule


class Growing(Rule):
    """A rule for each class; before a class comes, its rows are empty.

    Two have come from the start.
    """

    def __init__(self, shape: tuple[int, int], penalty: Penalty, name: str, **of_rule):
        n_classes, width = shape
        self.rules = [
            naive.make_rule(name, (1, width), penalty, **of_rule) for _ in range(n_classes)
        ]
        self.n_known = 2

    @property
    def w(self) -> Array:
        return np.vstack([rule.w for rule in self.rules[: self.n_known]])

    @property
    def intensity(self) -> SimpleNamespace:
        return SimpleNamespace(r=np.vstack([rule.intensity.r for rule in self.rules]))

    def meet(self, label: float) -> None:
        self.n_known = max(self.n_known, int(label) + 1)

    def set_unit(self, unit: float, slope: float) -> None:
        assert (unit, slope) == (1.0, 1.0)  # as there are classes

    def update(self, now: Round) -> None:
        nothing = np.zeros((1, len(now.x)))
        for z, rule in enumerate(self.rules):
            if z < self.n_known:
                rule.update(now._replace(g=now.g[z : z + 1]))
            else:
                rule.update(now._replace(g=nothing, x=nothing[0]))


def fit(X: Array, y: Array, *, rule: str, **chosen) -> naive.Result:
    """As `naive.fit`, with classes 0, 1, ... that come in this order."""
    usual = {"q": None, "basis": "gradient", "cap": 1e6, "beta": None, "truncate_every": 1}
    of_rule = {name: chosen.get(name, value) for name, value in usual.items()}
    of_rule |= {"eta0": chosen["eta0"], "cumulative": chosen.get("cumulative", False)}

    def make(shape: tuple[int, int], penalty: Penalty) -> Rule:
        return Growing(shape, penalty, rule, **of_rule)

    return naive.fit(X, y, rule=rule, other=make, **chosen)
