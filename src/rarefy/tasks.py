"""From the parameters that users give to the task that they describe."""

from typing import Any

from rarefy.engine.task import Task
from rarefy.parameters.auto import is_open
from rarefy.parameters.build import make_rule, make_weighting


def make_task(
    parameters: dict[str, Any],
    weighting: dict[str, Any],
    loss: Any,
    *,
    multiclass: str = "auto",
    fit_intercept: bool = True,
    target_features: int | None = None,
    passes: int = 1,
) -> Task:
    """The task that the arguments of make_rule and make_weighting say, for a loss that was made.

    Where some are to be found, so many features are the target, and the search is for one pass.
    """
    if not is_open(parameters, target_features):
        rule, schedule = make_rule(**parameters)
        weights = make_weighting(rule, parameters["loss"], **weighting)
        return Task(rule, schedule, loss, multiclass, fit_intercept, weights)
    from rarefy.tuning.open_task import open_task

    return open_task(
        parameters,
        weighting,
        loss,
        multiclass,
        fit_intercept,
        target_features=target_features,
        passes=passes,
    )
