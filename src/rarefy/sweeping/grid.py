"""The points of a grid: all combinations of the given values."""

import numbers
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from rarefy.checks import check_whole, choose
from rarefy.errors import ConfigError
from rarefy.model.losses import LOSSES, REGRESSION_LOSSES
from rarefy.parameters.entry import AUTO
from rarefy.parameters.meaning import (
    OF_MEANS,
    UPDATE_BASED,
    form_for,
    has_meaning,
    has_own_steps,
    resolve,
)
from rarefy.parameters.of_sweeps import MOST_L1
from rarefy.parameters.table import LOSS, MAY_BE_AUTO, RULE, grid_parameters, is_auto
from rarefy.parameters.unknown_names import advice
from rarefy.rules import SCALE_FREE
from rarefy.rules.rule_protocol import is_worn as never_worn

Point = dict[str, Any]

# The default values of l1: from a thousandth of the rule's own default to a hundred times that.
L1_DECADES = (-3.0, 2.0)
SCALE_FREE_L1_DECADES = (-0.5, 1.5)  # whatever the data, it is in standard deviations
WIDENED_BY = 4  # a part of the grid that is added, where the best l1 is at its end
WEIGHTS_ARE_PLAIN = {"importance": "plain", "endowment": 0.0}


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


def is_regression(loss: Any) -> bool:
    """Whether one or several losses are of regression; some of either kind are refused."""
    losses = values(loss)
    for name in losses:
        choose("loss", name, LOSSES)
    kinds = {name in REGRESSION_LOSSES for name in losses}
    if len(kinds) > 1:
        raise ConfigError(f"loss={losses}: classification and regression losses cannot be mixed.")
    return kinds == {True}


def grid(rule: Any, loss: Any, n_l1: int, parameters: dict[str, Any]) -> list[Point]:
    """All points, as arguments of the estimator.

    With several rules or losses, a parameter is left out for those that it has no meaning for.
    One that does not apply to any is refused: here, or when the estimator is made.
    """
    check_whole("n_l1", n_l1, 1, MOST_L1)
    given = {name: value for name, value in parameters.items() if value is not None}
    _refuse_unknown(given, grid_parameters(regression=is_regression(loss)))
    _refuse_weighting(given)
    rules, losses = values(rule), values(loss)
    for name, value in {**given, "rule": rule}.items():
        if name in MAY_BE_AUTO and any(map(is_auto, values(value))):
            raise ConfigError(f"{name}={AUTO!r}: a sweep needs a list of values to try.")
    _refuse_losses_without(given, losses)
    of_none = [name for name in given if not any(_is_of_rule(name, one) for one in rules)]
    points = []
    for one_rule, one_loss in product(rules, losses):
        own = {
            name: values(value)
            for name, value in given.items()
            if name in of_none or (_is_of_rule(name, one_rule) and _is_of_loss(name, one_loss))
        }
        if "l1" not in own:
            own |= _default_l1(one_rule, n_l1)
        for chosen in product(*own.values()):
            points.append(
                {"rule": one_rule, "loss": one_loss, **dict(zip(own, chosen, strict=True))}
            )
    _refuse_recounting(points)
    return points


def is_default_l1(parameters: dict[str, Any]) -> bool:
    """Whether it was left to the grid which values of l1 are tried."""
    return parameters.get("l1") is None


def wider(point: Point, side: int, n_l1: int) -> list[Point]:
    """Points like one at the lower (-1) or upper (1) end of a default grid, and beyond it."""
    _, cls = resolve(point["rule"])
    low, high = SCALE_FREE_L1_DECADES if cls in SCALE_FREE else L1_DECADES
    step = 10.0 ** ((high - low) / max(n_l1 - 1, 1))
    n_more = max(n_l1 // WIDENED_BY, 1)
    return [{**point, "l1": point["l1"] * step ** (side * n)} for n in range(1, n_more + 1)]


def _refuse_recounting(points: list[Point]) -> None:
    """Models side by side may share columns, and cannot sum over all of them again."""
    for point in points:
        name, cls = resolve(point["rule"])
        if form_for(cls, point).is_worn is not never_worn:
            projection = point.get("projection")
            within = f" with projection={projection!r}" if projection else ""
            raise ConfigError(
                f"rule={name!r}{within} cannot be used in sweeps: train one model at a time."
            )


def _refuse_unknown(given: dict[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise ConfigError(
                f"{name}: there is no such parameter{advice(name, known)}; those of a grid are "
                f"{', '.join(known)}."
            )


def _refuse_weighting(given: dict[str, Any]) -> None:
    """Models that learn side by side have neither an endowment nor importance-aware updates."""
    for name, off in WEIGHTS_ARE_PLAIN.items():
        for value in values(given.get(name, off)):
            if not isinstance(value, str | numbers.Real) or value != off:
                raise ConfigError(
                    f"{name}={value!r} cannot be used in sweeps: only {name}={off!r} is possible."
                )


def _refuse_losses_without(given: dict[str, Any], losses: list[str]) -> None:
    for name in LOSS:
        if name in given and not any(_is_of_loss(name, loss) for loss in losses):
            having = [loss for loss in LOSSES if _is_of_loss(name, loss)]
            raise ConfigError(
                f"{name}={given[name]!r} does not apply to loss={', '.join(losses)}. Losses with "
                f"{name}: {', '.join(having)}."
            )


def _is_of_loss(name: str, loss: str) -> bool:
    return name not in LOSS or name in LOSSES[loss]._fields


def _is_of_rule(name: str, rule: Any) -> bool:
    if name not in RULE:
        return True
    if name in OF_MEANS:
        return True
    _, cls = resolve(rule)
    if isinstance(rule, tuple) and name != "schedule":
        return name == "eta0" and not has_own_steps(cls)
    if name == "basis" and rule in UPDATE_BASED:
        return False
    return has_meaning(name, cls)


def _default_l1(rule: Any, n_l1: int) -> dict[str, list[float]]:
    _, cls = resolve(rule)
    default = cls._field_defaults.get("l1")
    if not default or isinstance(rule, tuple):
        return {}
    decades = SCALE_FREE_L1_DECADES if cls in SCALE_FREE else L1_DECADES
    return {"l1": (default * np.logspace(*decades, n_l1)).tolist()}
