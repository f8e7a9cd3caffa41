"""From the parameters of users to a task."""

from collections.abc import Mapping
from typing import Any

from rarefy.engine.task import Task, with_calibration
from rarefy.errors import ConfigError
from rarefy.parameters.build import (
    make_class_weight,
    make_groups,
    make_own_l1,
    make_rule,
    make_weighting,
)
from rarefy.parameters.combinations import (
    check_has_classes,
    check_mean_of_known,
    check_nothing_sought,
    check_target,
    scheme_of,
)
from rarefy.parameters.table import RULE_PARAMETERS, TABLE, WEIGHTING_PARAMETERS, is_open

DEFAULTS = {name: entry.default for name, entry in TABLE.items()}


def make_task(
    asked: Mapping[str, Any], loss: Any, *, is_refitted: bool = False, passes: int = 1
) -> Task:
    """The task that rule, loss and other parameters of the table say, for a loss that was made.

    Where some are to be found, so many features are the target, unless a refit is to meet that, and
    the search is for one pass.
    """
    asked = {**DEFAULTS, **asked}
    parameters = {name: asked[name] for name in RULE_PARAMETERS}
    weighting = {name: asked[name] for name in WEIGHTING_PARAMETERS}
    multiclass, fit_intercept = asked["multiclass"], bool(asked["fit_intercept"])
    calibrate, scoring = bool(asked["calibrate"]), asked["scoring"]
    by_class = make_class_weight(asked["class_weight"], asked["loss"])
    target_features = asked["target_features"]
    check_target(target_features, asked["l1"])
    if is_refitted:
        target_features = None
    check_mean_of_known(parameters, is_open(parameters, target_features))
    if not is_open(parameters, target_features):
        check_nothing_sought(scoring)
        rule, schedule = make_rule(**parameters)
        multiclass = scheme_of(rule, multiclass)
        weights = make_weighting(rule, asked["loss"], **weighting)
        rule, l1_of = make_own_l1(rule, asked["l1_of"])
        rule, groups = make_groups(rule, asked["groups"])
        task = Task(rule, schedule, loss, multiclass, fit_intercept, weights, by_class)
        return with_calibration(task._replace(l1_of=l1_of, groups=groups), calibrate)
    for name in ("l1_of", "groups"):
        if asked[name] is not None:
            raise ConfigError(
                f"{name}={asked[name]!r} cannot be combined with parameters that are tuned: give "
                f"them."
            )
    from rarefy.tuning.open_task import open_task

    if isinstance(scoring, str) and scoring != "loss":
        check_has_classes("scoring", scoring, asked["loss"], ", which predicts numbers")
    task = open_task(
        parameters,
        weighting,
        loss,
        multiclass,
        fit_intercept,
        target_features=target_features,
        passes=passes,
        scoring=scoring,
    )
    return with_calibration(task._replace(class_weight=by_class), calibrate)
