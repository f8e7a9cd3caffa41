"""Every method and what it may choose from: as many settings as a tool of the peers' page has."""

from itertools import product
from math import inf
from typing import Any, NamedTuple

import numpy as np

from experiments.peers.plan import FULL
from rarefy import SparseOnlineClassifier, VotedPerceptron
from rarefy.parameters.meaning import has_own_steps
from rarefy.rules import FINITE_DATA, PROJECTED, RULES
from rarefy.rules.rule_protocol import is_worn as never_worn

Values = tuple[float, ...]
VOTED = "perceptron, voted"


def spaced(low: float, high: float, n: int) -> Values:
    """So many values, with equal ratios."""
    return tuple(float(f"{value:.3g}") for value in np.geomspace(low, high, n))


BUDGET = FULL.n_points
FEW, MANY = 3, BUDGET // 3
USUAL_L1 = 3e-4
COMMON_STEPS = spaced(0.3, 30.0, FEW)  # that all features have, divided by √t
CONSTANT_STEPS = spaced(0.01, 1.0, FEW)
OWN_STEPS = spaced(0.3, 5.0, FEW)  # times the rule's own
STRENGTHS = spaced(0.03, 30.0, MANY)  # times the rule's own l1
STRENGTHS_OF = {
    "ftrl": spaced(0.3, 300.0, MANY),
    "scale-free": spaced(0.1, 10.0, MANY),
    "scale-free-ftrl": spaced(0.1, 10.0, MANY),
}
DEVIATIONS = (0.0, *spaced(0.1, 3.0, MANY - 1))  # l1 of confidence-weighted rules
AGGRESSIVENESS, CONFIDENCE = spaced(0.01, 1.0, FEW), spaced(0.1, 1.0, FEW)
L1_OF_OBJECTIVES, L2_OF_OBJECTIVES = (0.0, 1e-4, 1e-3), spaced(1e-6, 0.1, MANY)
RADII, POWERS, STEPS_OF_MIRRORS = (100.0, 1e3, 1e4), (2.5, 4.0, 8.0), spaced(0.3, 300.0, MANY)


class Method(NamedTuple):
    """A rule, how it is used, and the values of which it has every combination."""

    rule: str
    grid: dict[str, Values]
    use: dict[str, Any] = {}  # noqa: RUF012

    @property
    def settings(self) -> list[dict[str, float]]:
        return [
            dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        ]

    @property
    def side_by_side(self) -> bool:
        """Whether a sweep can learn all settings at once."""
        if self.rule not in RULES:
            return False
        forms = PROJECTED.get(RULES[self.rule], {})
        return forms.get(self.use.get("projection"), RULES[self.rule]).is_worn is never_worn

    def model(self, passes: int, *, shuffle: bool = True, **setting: float) -> Any:
        if self.rule == VOTED:  # which is no rule, but an estimator
            return VotedPerceptron(passes, shuffle=shuffle)
        given = {"passes": passes, "shuffle": shuffle, "calibrate": False}
        return SparseOnlineClassifier(self.rule, **given, **setting, **self.use)


def times(value: float, factors: Values) -> Values:
    return tuple(value * factor for factor in factors)


_OBJECTIVE = {"l2": L2_OF_OBJECTIVES, "l1": L1_OF_OBJECTIVES}
_MIRROR = {"radius": RADII, "eta0": STEPS_OF_MIRRORS}
_CONFIDENCE = {"aggressiveness": AGGRESSIVENESS, "l1": DEVIATIONS}
_PASSIVE = {"aggressiveness": spaced(1e-4, 10.0, BUDGET)}
_STEPS = {"eta0": spaced(0.01, 100.0, BUDGET)}
GRIDS: dict[str, dict[str, Values]] = {  # of those that have no step and l1 of the usual kind
    "ogd": _STEPS,
    "da": _STEPS,
    "coin": {"eta0": spaced(0.001, 10.0, BUDGET)},
    "truncated-gradient": {"eta0": CONSTANT_STEPS, "l1": times(USUAL_L1, STRENGTHS)},
    "rounding": {"eta0": COMMON_STEPS, "threshold": spaced(1e-4, 0.3, MANY)},
    "eg": _MIRROR,
    "eg-signed": _MIRROR,
    "p-norm": {"p": POWERS, "eta0": STEPS_OF_MIRRORS},
    "perceptron": {},
    "second-order-perceptron": {"beta": spaced(0.1, 1e4, BUDGET)},
    "pa": {},
    "pa1": _PASSIVE,
    "pa2": _PASSIVE,
    "cw": {"confidence": CONFIDENCE, "l1": DEVIATIONS},
    "scw1": _CONFIDENCE,
    "scw2": _CONFIDENCE,
    "arow": _CONFIDENCE,
    "pegasos": _OBJECTIVE,
    "sag": _OBJECTIVE,
    "svrg": _OBJECTIVE,
}


def grid_of(rule: str) -> dict[str, Values]:
    """What a rule is tried with: its step and its penalty, or what it has in their place."""
    if rule in GRIDS:
        return GRIDS[rule]
    defaults = RULES[rule]._field_defaults
    l1 = times(defaults["l1"] or USUAL_L1, STRENGTHS_OF.get(rule, STRENGTHS))
    own_steps = has_own_steps(RULES[rule])
    return {"eta0": times(defaults["eta0"], OWN_STEPS) if own_steps else COMMON_STEPS, "l1": l1}


AVERAGED = (
    "ogd",
    "fobos",
    "rda",
    "adagrad-rda",
    "ftrl",
    "perceptron",
    "arow",
    "pegasos",
    "scale-free",
)
PROJECTIONS = {
    "l2-ball": spaced(1.0, 300.0, MANY),
    "box": spaced(0.01, 3.0, MANY),
    "l1-ball": spaced(3.0, 3e3, MANY),
    "simplex": spaced(3.0, 3e3, MANY),
}

METHODS = {
    **{rule: Method(rule, grid_of(rule)) for rule in (*RULES, *FINITE_DATA)},
    **{
        f"{rule}, cumulative": Method(rule, grid_of(rule), {"cumulative": True})
        for rule in ("fobos", "fr-comid")
    },
    **{
        f"{rule}, q = ∞": Method(rule, grid_of(rule), {"q": inf})
        for rule in ("adagrad-fobos", "adagrad-rda", "adagrad-ftprl")
    },
    **{
        f"{rule}, {name}": Method(
            rule, {"eta0": COMMON_STEPS, "radius": radii}, {"projection": name}
        )
        for rule in ("ogd", "da")
        for name, radii in PROJECTIONS.items()
    },
    **{f"{rule}, mean": Method(rule, grid_of(rule), {"average": True}) for rule in AVERAGED},
    VOTED: Method(VOTED, {}),
}
