"""The points of a grid: every combination of parameters of which several values are given."""

import inspect
from itertools import product
from typing import Any

import numpy as np

from rarefy.config import UPDATE_BASED, check_whole, choose, has_meaning, resolve
from rarefy.errors import ConfigError
from rarefy.estimators import SparseOnlineClassifier, SparseOnlineRegressor
from rarefy.losses import LOSSES, REGRESSION_LOSSES
from rarefy.rules import SCALE_FREE
from rarefy.tuning.space import AUTO, MAY_BE_AUTO, is_auto

Point = dict[str, Any]

# The default values of l1: from a thousandth of the rule's own default to a hundred times that.
L1_DECADES = (-3.0, 2.0)
SCALE_FREE_L1_DECADES = (-0.5, 1.5)  # whatever the data, it is in standard deviations
OF_THE_LOSS = ("epsilon", "quantile", "multiclass")
NOT_IN_A_GRID = (
    *("passes", "shuffle", "fit_intercept", "n_features", "max_features", "refit", "refit_l2"),
)


def estimator_class(loss: Any) -> Any:
    """The estimator for one or several losses."""
    losses = values(loss)
    for name in losses:
        choose("loss", name, LOSSES)
    kinds = {name in REGRESSION_LOSSES for name in losses}
    if len(kinds) > 1:
        raise ConfigError(f"loss={losses}: losses of classification and regression do not mix.")
    return SparseOnlineRegressor if kinds == {True} else SparseOnlineClassifier


def values(given: Any) -> list[Any]:
    """The values of a parameter: those of a list, tuple or array, or the one that is given.

    A rule that is an object is a tuple of a class of its own.
    """
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    if type(given) not in (list, tuple):
        return [given]
    if not given:
        raise ConfigError("a list of values is empty: at least one value is expected.")
    return list(given)


def grid(rule: Any, loss: Any, n_l1: int, parameters: dict[str, Any]) -> list[Point]:
    """All points, as arguments of the estimator.

    With several rules or losses, parameters that have no meaning for one of them are left out
    there; with one, they are refused when the estimator is made.
    """
    check_whole("n_l1", n_l1, 1, 10_000)
    given = {name: value for name, value in parameters.items() if value is not None}
    _refuse_unknown(given, estimator_class(loss))
    rules, losses = values(rule), values(loss)
    for name, value in {**given, "rule": rule}.items():
        if name in MAY_BE_AUTO and any(map(is_auto, values(value))):
            raise ConfigError(f"{name}={AUTO!r}: a sweep tries values; give those to be tried.")
    points = []
    for one_rule, one_loss in product(rules, losses):
        own = {
            name: values(value)
            for name, value in given.items()
            if _is_meant(name, one_rule, one_loss, len(rules) == 1, len(losses) == 1)
        }
        if "l1" not in own:
            own |= _default_l1(one_rule, n_l1)
        for chosen in product(*own.values()):
            points.append(
                {"rule": one_rule, "loss": one_loss, **dict(zip(own, chosen, strict=True))}
            )
    return points


def _refuse_unknown(given: dict[str, Any], cls: Any) -> None:
    known = [name for name in inspect.signature(cls).parameters if name not in NOT_IN_A_GRID]
    for name in given:
        if name not in known:
            raise ConfigError(f"{name}: one of {', '.join(known)} is expected.")


def _is_meant(name: str, rule: Any, loss: str, only_rule: bool, only_loss: bool) -> bool:
    if name in OF_THE_LOSS:
        return only_loss or name == "multiclass" or name in LOSSES[loss]._fields
    if name in ("random_state", "refit_features") or only_rule:
        return True
    if isinstance(rule, tuple):
        return name == "schedule"
    if name == "basis" and rule in UPDATE_BASED:
        return False
    return has_meaning(name, resolve(rule)[1])


def _default_l1(rule: Any, n_l1: int) -> dict[str, list[float]]:
    _, cls = resolve(rule)
    default = cls._field_defaults.get("l1")
    if default is None or isinstance(rule, tuple):
        return {}
    decades = SCALE_FREE_L1_DECADES if cls in SCALE_FREE else L1_DECADES
    return {"l1": (default * np.logspace(*decades, n_l1)).tolist()}
