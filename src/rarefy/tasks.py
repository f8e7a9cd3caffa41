"""From the parameters of users to a task."""

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
from rarefy.parameters.table import is_open


def make_task(
    parameters: dict[str, Any],
    weighting: dict[str, Any],
    loss: Any,
    *,
    multiclass: str = "auto",
    fit_intercept: bool = True,
    l1_of: Any = None,
    groups: Any = None,
    class_weight: Any = None,
    calibrate: bool = False,
    target_features: int | None = None,
    is_refitted: bool = False,
    passes: int = 1,
    scoring: str | None = None,
) -> Task:
    """The task that the arguments of make_rule and make_weighting say, for a loss that was made.

    Where some are to be found, so many features are the target, unless a refit is to meet that, and
    the search is for one pass.
    """
    by_class = make_class_weight(class_weight, parameters["loss"])
    check_target(target_features, parameters["l1"])
    if is_refitted:
        target_features = None
    check_mean_of_known(parameters, is_open(parameters, target_features))
    if not is_open(parameters, target_features):
        check_nothing_sought(scoring)
        rule, schedule = make_rule(**parameters)
        multiclass = scheme_of(rule, multiclass)
        weights = make_weighting(rule, parameters["loss"], **weighting)
        rule, given_l1 = make_own_l1(rule, l1_of)
        rule, given_groups = make_groups(rule, groups)
        task = Task(rule, schedule, loss, multiclass, fit_intercept, weights, by_class)
        task = task._replace(l1_of=given_l1, groups=given_groups)
        return with_calibration(task, calibrate)
    for name, value in {"l1_of": l1_of, "groups": groups}.items():
        if value is not None:
            raise ConfigError(
                f"{name}={value!r} cannot be combined with parameters that are tuned: give them."
            )
    from rarefy.tuning.open_task import open_task

    if scoring == "accuracy":
        check_has_classes("scoring", scoring, parameters["loss"], ", which predicts numbers")
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
