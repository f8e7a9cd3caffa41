"""The table of parameters: type, range, default and description of each.

Checks, the signatures and docstrings of the estimators, options of commands and their help, grids
of sweeps, and the parameters in model files follow from it. A parameter of a rule stands in
`of_rules`, and as a field of the rule.

The entries are annotations of TypedDicts, by which type checkers and editors know the arguments of
the estimators.
"""

from collections.abc import Mapping
from typing import Any

from rarefy.parameters.entry import AUTO, entries
from rarefy.parameters.kinds import Flag
from rarefy.parameters.of_fitting import OfLearning
from rarefy.parameters.of_models import (
    OfBalance,
    OfClasses,
    OfDecision,
    OfEndowment,
    OfImportance,
    OfLosses,
    OfProbabilities,
    OfSearch,
)
from rarefy.parameters.of_rules import OfFeatures, OfRules
from rarefy.parameters.of_sweeps import OfChoice, OfDefaultGrid

DEFAULT_RULE = "scale-free"


class ClassifierParameters(
    OfRules[float, str, bool],
    OfFeatures,
    OfEndowment,
    OfImportance,
    OfClasses[str],
    OfBalance,
    OfProbabilities,
    OfLearning,
    OfSearch,
    OfDecision,
    total=False,
):
    """What SparseOnlineClassifier takes beside rule and loss."""


class RegressorParameters(
    OfLosses[float],
    OfRules[float, str, bool],
    OfFeatures,
    OfImportance,
    OfLearning,
    OfSearch,
    total=False,
):
    """What SparseOnlineRegressor takes beside rule and loss."""


class ClassifierCVParameters(
    OfDefaultGrid, OfRules[Any, Any, Any], OfClasses[Any], OfBalance, OfChoice, total=False
):
    """What SparseOnlineClassifierCV takes beside rule and loss."""


class RegressorCVParameters(
    OfLosses[Any], OfDefaultGrid, OfRules[Any, Any, Any], OfChoice, total=False
):
    """What SparseOnlineRegressorCV takes beside rule and loss."""


RULE = entries(OfRules)
LOSS = entries(OfLosses)
CLASSIFIER, REGRESSOR = entries(ClassifierParameters), entries(RegressorParameters)
SWEPT = {  # one value or several; None stands for the default
    name: entry._replace(default=None)
    for name, entry in {**RULE, **LOSS, **entries(OfClasses)}.items()
}
CLASSIFIER_CV, REGRESSOR_CV = (
    {name: SWEPT.get(name, entry) for name, entry in entries(typed).items()}
    for typed in (ClassifierCVParameters, RegressorCVParameters)
)
TABLE = {**CLASSIFIER, **REGRESSOR}
CHOICE = {**entries(OfDefaultGrid), **entries(OfChoice)}

MAY_BE_AUTO = ("rule", *(name for name, entry in RULE.items() if entry.may_be_auto))
RULE_PARAMETERS = ("rule", "loss", *RULE)  # arguments of make_rule
DECISION_PARAMETERS = tuple(entries(OfDecision))  # that may change after learning
WEIGHTING_PARAMETERS = (*entries(OfImportance), *entries(OfEndowment))  # of make_weighting


def grid_parameters(*, regression: bool) -> list[str]:
    """The parameters of which a sweep may try several values."""
    table = REGRESSOR if regression else CLASSIFIER
    return ["rule", "loss", *(name for name, entry in table.items() if entry.in_grids)]


def check_values(values: Mapping[str, Any]) -> None:
    """Refuse values that are not accepted, whatever the others are.

    Numbers and names of a rule are left to the rule, which may not have them.
    """
    for name, value in values.items():
        if name not in RULE or isinstance(RULE[name].kind, Flag):
            TABLE[name].check(name, value)


def checked_number(name: str, value: Any) -> float:
    """The value as a float, if it is a number in the range of that parameter."""
    number: float = TABLE[name].check(name, value)
    return number


def is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def left_open(parameters: Mapping[str, Any]) -> set[str]:
    """The names of those that are to be found."""
    return {name for name in MAY_BE_AUTO if is_auto(parameters[name])}


def is_open(parameters: Mapping[str, Any], target_features: int | None) -> bool:
    """Whether some are to be found: those that say so, or what leads to a target size."""
    return target_features is not None or bool(left_open(parameters))
