"""The search space: which hyperparameters are open, and their ranges."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rarefy.errors import ConfigError
from rarefy.jit.lane_intrinsics import WIDTH
from rarefy.model.losses import REGRESSION_LOSSES
from rarefy.model.scoring import Judge, Scoring, make_scoring
from rarefy.parameters.build import make_rule
from rarefy.parameters.combinations import check_target
from rarefy.parameters.entry import AUTO
from rarefy.parameters.kinds import Flag
from rarefy.parameters.meaning import has_meaning, resolve
from rarefy.parameters.table import RULE, RULE_PARAMETERS, checked_number, is_open, left_open
from rarefy.rules import SCALE_FREE
from rarefy.rules.penalty_norm import MeanIntensity, growth_of
from rarefy.tuning.stationary_rules import SLOWER, SlowlyFalling, stationary

Point = dict[str, Any]  # parameters of a rule, by name
NUMBERS = ("l1", "eta0")  # which are found between the values that were tried, too

# For classes, races between scale-free and others cost more and ended with worse models.
RULES_TO_TRY = ("scale-free-ftrl",)
# For regression, the first is for targets and features far from zero, the others for sparse rows.
REGRESSION_RULES_TO_TRY = ("scale-free-ftrl", "adagrad-fobos", "ftrl", "frda")
# With how many of the first models, if l1 is found, too. With 2 as well, fewer of each would fit.
NORMS_TO_TRY = {math.inf: 2, 1.0: 6}
# Of scale-free rules for classes, as many of the first models with each. Without β, words that are
# rare get larger weights in the one pass that there is, which suits some texts, and not others.
BETAS_TO_TRY = (1.0, 0.0)
# A model can go on with other numbers where its weights follow from sums, which do not contain them
# or, with the proximal rules, only as past weights.
TUNABLE = (
    *("fobos", "fr-comid", "rda", "frda", "adagrad-fobos", "adagrad-rda", "ftrl", "scale-free"),
    "scale-free-ftrl",
)
USUAL_EXAMPLES = 7_000  # for which the default l1 of feature-aware rules is meant


Shares = list[dict[str, float]]  # of what is usual


def _first_models(l1: Any, steps: Any, l1_of_all: float, steps_of_both: Any) -> dict[Any, Shares]:
    """Where to look first, by what is free; the one in the middle is used until they are compared.

    If both are, models differ in their steps: a wrong step costs more than a wrong l1.
    """
    return {
        ("l1",): [{"l1": share} for share in l1],
        ("eta0",): [{"eta0": share} for share in steps],
        ("l1", "eta0"): [{"l1": l1_of_all, "eta0": share} for share in steps_of_both],
    }


ALL_STEPS = np.logspace(-1.0, 1.5, 8)
WIDE = _first_models(np.logspace(-3.0, 2.0, 8), ALL_STEPS, 0.1, ALL_STEPS)
# What is usual for it suits most data.
FOR_SCALE_FREE = _first_models(
    np.logspace(-0.5, 1.25, 8), np.logspace(-0.6, 0.8, 8), 0.6, np.logspace(-0.8, 0.6, 8)
)
# How far to go at most, and from a model that is good.
NEAR = {
    ("l1",): [{"l1": share} for share in (0.25, 0.5, 2.0)],
    ("eta0",): [{"eta0": share} for share in (0.35, 0.6, 1.7, 2.8)],
    ("l1", "eta0"): [
        {"l1": l1, "eta0": step}
        for l1, step in (
            *((0.2, 0.45), (0.4, 0.8), (2.0, 1.0)),
            *((1.0, 0.35), (1.0, 0.6), (1.0, 1.7), (1.0, 2.8)),
        )
    ],
}
FARTHEST = {"l1": 1e4, "eta0": 1e3}


@dataclass(frozen=True)
class Space:
    """`given` are arguments of make_rule, `free` those of them that are to be found.

    Each of `kinds` has the values of what is tried one by one, those of one rule side by side.
    """

    given: dict[str, Any]
    free: tuple[str, ...]
    kinds: tuple[tuple[Point, ...], ...]
    target_features: int | None = None
    scoring: Scoring | None = None  # None: loss and accuracy combined
    sought: str = field(default="", compare=False)  # what the user leaves to be found, in words
    _rules: dict[Any, tuple[Any, Any]] = field(default_factory=dict, init=False, compare=False)

    def rule_of(self, kind: Point) -> tuple[Any, Any]:
        """Rule and schedule, with the defaults of what is free."""
        own = kind_of(kind)
        key = tuple(own.items())
        if key not in self._rules:
            self._rules[key] = stationary(*make_rule(**{**self.given, **own}), self.free)
        return self._rules[key]

    def rule_at(self, point: Point) -> tuple[Any, Any]:
        """Rule and schedule."""
        return moved(*self.rule_of(point), point)

    def judge(self, classes: Collection[Any]) -> Judge | None:
        """What compares models by their scores; None: they are compared by sums over rows."""
        return None if self.scoring is None else self.scoring.judge(np.asarray(classes))

    @property
    def is_shift_free(self) -> bool:
        """Whether a rule that is tried learns relative to where features and targets lie."""
        return any(self.rule_of(kind)[0].is_shift_free() for kinds in self.kinds for kind in kinds)

    def usual(self, kind: Point, size: float, n_examples: int) -> dict[str, float]:
        """What is usual for a kind of rule after some examples, with values of that size.

        Subgradients are in proportion to the values, and so must be the penalty that they stand up
        to, unless it follows them by itself; weights are in inverse proportion.
        """
        rule, schedule = self.rule_of(kind)
        if isinstance(rule, SCALE_FREE):
            return {"l1": rule.l1, "eta0": rule.eta0}
        step = rule.eta0 / size if "eta0" in rule._fields else schedule.eta0 / (size * size)
        if isinstance(schedule, SlowlyFalling):
            step /= n_examples**SLOWER
        if not isinstance(getattr(rule, "intensity", None), MeanIntensity):
            return {"l1": rule.l1 * size, "eta0": step}
        growth = (n_examples / USUAL_EXAMPLES) ** growth_of(rule.intensity.total)
        return {"l1": rule.l1 / growth / rule.intensity.share(n_examples), "eta0": step}

    def first_points(self, kinds: Sequence[Point], usual: Mapping[Any, Point]) -> list[Point]:
        """Where to begin to look, for kinds that are side by side, with what is usual by q."""
        if not self.free:  # there are only kinds to choose from
            return list(kinds)
        of_kinds = []
        for kind in kinds:
            n_points = self._n_first_points(kind, len(kinds))
            is_scale_free = isinstance(self.rule_of(kind)[0], SCALE_FREE)
            shares = (FOR_SCALE_FREE if is_scale_free else WIDE)[self.free]
            first = [shares[place] for place in _spread(n_points, len(shares))]
            of_kinds.append([{**kind, **_times(usual[kind["q"]], share)} for share in first])
        in_turn = zip(*of_kinds, strict=True) if "beta" in kinds[0] else of_kinds
        return [point for points in in_turn for point in points]

    def _n_first_points(self, kind: Point, n_kinds: int) -> int:
        """How many of the first models are of a kind; a given l1 may suit any q."""
        if n_kinds > 1 and "l1" in self.free and kind["q"] is not None:
            return NORMS_TO_TRY[kind["q"]]
        return WIDTH // n_kinds

    def points_around(self, point: Point) -> list[Point]:
        """A point, first, and others near it."""
        return [point, *({**point, **_times(point, shares)} for shares in NEAR[self.free])]

    def checked_point(self, point: Point, kinds: Sequence[Point]) -> Point:
        """A point that was read from a file, if it is one of these kinds."""
        kind = kind_of(point)
        numbers = {name: checked_number(name, point[name]) for name in self.free}
        if kind not in kinds or len(point) != len(kind | numbers) or 0.0 in numbers.values():
            raise ValueError("the space has no such point")
        return kind | numbers


def kind_of(point: Point) -> Point:
    """A point without its numbers."""
    return {name: value for name, value in point.items() if name not in NUMBERS}


def _times(point: Point, shares: dict[str, float]) -> dict[str, float]:
    return {name: float(point[name] * share) for name, share in shares.items()}


def _spread(n: int, among: int) -> list[int]:
    """Places, at equal distances from each other and half that from the ends."""
    return [(2 * number + 1) * among // (2 * n) for number in range(n)]


def moved(rule: Any, schedule: Any, point: Point) -> tuple[Any, Any]:
    """Rule and schedule with the numbers of another point, where all else is the same."""
    numbers = {name: point[name] for name in NUMBERS if name in point}
    of_rule = {name: value for name, value in numbers.items() if name in rule._fields}
    return rule._replace(**of_rule), schedule._replace(eta0=numbers.get("eta0", schedule.eta0))


def space_of(parameters: Mapping[str, Any]) -> Space:
    """The space that a user's parameters leave open, if they do; some may be missing."""
    given = {**dict.fromkeys(RULE_PARAMETERS), **parameters}
    for name, parameter in RULE.items():
        if isinstance(parameter.kind, Flag):
            given[name] = bool(given[name])
    target_features = None if given.get("refit") else given.get("target_features")
    if not is_open(given, target_features):
        raise ValueError("nothing is left to be found")
    of_rule = {name: given[name] for name in RULE_PARAMETERS}
    return make_space(of_rule, target_features, passes=1, scoring=given.get("scoring"))


def make_space(
    parameters: dict[str, Any],
    target_features: int | None,
    passes: int,
    scoring: Any = None,
) -> Space:
    """The space that arguments of make_rule leave open; what cannot be found is refused."""
    left = left_open(parameters)
    check_target(target_features, parameters["l1"])
    if target_features is not None:
        left.add("l1")
    if passes != 1:
        raise ConfigError(
            f"passes={passes}: {_named(left)} is tuned in one pass, on examples not yet learned. "
            f"For several passes use cross-validation: rarefy sweep, rarefy.sweep, or the "
            f"estimators whose names end in CV."
        )
    free = tuple(name for name in NUMBERS if _is_free(name, parameters, left))
    is_beta_tried = "l1" in free and target_features is None and parameters["beta"] is None
    kinds = tuple(_kinds(parameters, left, BETAS_TO_TRY if is_beta_tried else ()))
    unset = dict.fromkeys((*left, *free))
    if scoring is not None:
        scoring = make_scoring(scoring, is_regression=parameters["loss"] in REGRESSION_LOSSES)
    return Space({**parameters, **unset}, free, kinds, target_features, scoring, _named(left))


def _kinds(
    parameters: dict[str, Any], left: set[str], betas: Sequence[float]
) -> list[tuple[Point, ...]]:
    if parameters["cumulative"]:
        raise ConfigError(f"{_named(left)} cannot be tuned with cumulative=True.")
    of_regression = parameters["loss"] in REGRESSION_LOSSES
    if "rule" in left:
        rules = list(REGRESSION_RULES_TO_TRY if of_regression else RULES_TO_TRY)
    else:
        name, cls = resolve(parameters["rule"])
        if isinstance(parameters["rule"], tuple) or not _is_tunable(cls):
            raise ConfigError(
                f"{_named(left)} cannot be tuned for the rule {name}. Rules that support it: "
                f"{', '.join(TUNABLE)}."
            )
        rules = [parameters["rule"]]
    named = "rule" not in left  # rules that are only tried keep their usual penalty
    aware = [rule for rule in rules if _has_norm(resolve(rule)[1], named)]
    if "q" in left and not aware:
        raise ConfigError(f"q={AUTO!r} does not apply to the rule {rules[0]}, which has no norm.")
    kinds = []
    for rule in rules:
        norms = tuple(NORMS_TO_TRY) if "q" in left else (parameters["q"],)
        norms = norms if rule in aware else (None,)
        if betas and not of_regression and resolve(rule)[1] in SCALE_FREE:
            kinds.append(tuple({"rule": rule, "q": None, "beta": beta} for beta in betas))
        else:
            kinds.append(tuple({"rule": rule, "q": q} for q in norms))
    return kinds


def _has_norm(cls: Any, named: bool) -> bool:
    return has_meaning("q", cls) if named else "intensity" in cls._fields


def _is_tunable(cls: Any) -> bool:
    return cls in [resolve(name)[1] for name in TUNABLE]


def _is_free(name: str, parameters: dict[str, Any], left: set[str]) -> bool:
    """Steps that are not given are found along, and so is l1 if it depends on what is found."""
    found_along = name == "eta0" or bool(left & {"rule", "q"})
    return name in left or (parameters[name] is None and found_along)


def _named(left: set[str]) -> str:
    return " and ".join(sorted(left))
