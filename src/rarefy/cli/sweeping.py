"""Judging a grid as `rarefy sweep` does it: by rows in memory, or by reading them again."""

import warnings
from typing import Any

import click

from rarefy.cli.option_types import Size
from rarefy.cli.options import report_bad_lines
from rarefy.cli.views.display import Display
from rarefy.cli.views.formatting import count, size, visible
from rarefy.cli.views.sweep_view import MODEL
from rarefy.errors import InputError, RarefyWarning
from rarefy.model.label_runs import LabelRuns
from rarefy.model.scoring import make_scoring
from rarefy.model.target_order import TargetOrder
from rarefy.parameters.table import LOSS, RULE
from rarefy.readers import Reader
from rarefy.streams.design_matrix import DesignMatrix, RowsTooLargeError, to_matrix
from rarefy.training.plan import Plan, new_plan
from rarefy.training.procedure import HOW_TO_SHUFFLE
from rarefy.training.request import READING, RequestError


def swept(
    asked: dict[str, Any], memory: int, display: Display
) -> tuple[Any, int, LabelRuns | TargetOrder]:
    """Judge the grid, by rows in memory if they fit.

    And how many points were asked for, and what was seen, and said, of the order of the labels.
    """
    from rarefy.estimators.sweep_grid import EstimatorAt, estimator_class
    from rarefy.sweeping.grid import grid

    rule, loss, n_l1 = asked["rule"], asked["loss"], asked["n_l1"]
    plan = plan_of_point(asked, {"rule": rule[0], "loss": loss}, MODEL, names=False)
    parameters = _parameters(asked)
    points = grid(rule, loss, n_l1, parameters)
    class_weight = {name: asked[name] for name in ("class_weight",) if asked[name] is not None}
    estimator_at = EstimatorAt(estimator_class(loss), {"refit": asked["refit"], **class_weight})
    make_scoring(asked["by"], is_regression=plan.run.model.task.is_regression)
    for point in points:
        estimator_at.candidate(point)
    reader = plan.run.reader
    if not reader.can_be_read_again:
        raise InputError(
            "a sweep reads the data twice, but standard input or a pipe can be read only once: "
            "use files."
        )
    n_models = len(points) * (asked["folds"] or 1)
    learning = f"Learning {count(n_models)} models: {count(len(points))} points of the grid"
    how = {
        "rule": rule,
        "loss": loss,
        "n_l1": n_l1,
        "folds": asked["folds"],
        "passes": asked["passes"],
        "random_state": asked["seed"],
        "shuffle": asked["shuffle"],
        "fit_intercept": not asked["no_intercept"],
        "scoring": asked["by"],
        **class_weight,
        "progress": display.advance,
        **parameters,
    }
    display.stage(f"Reading {visible(' '.join(reader.files))}")
    try:
        _show_columns(reader.another(), display)
        found = _judged(asked, memory, display, plan, how, learning)
        return found, len(points), plan.run.label_runs
    finally:
        report_bad_lines(reader)


def _show_columns(reader: Reader, display: Display) -> None:
    """Say how each column is taken, and what is doubtful there, before it takes time."""
    next(iter(reader), None)
    if reader.roles:
        display.columns(reader.roles)


def _judged(
    asked: dict[str, Any],
    memory: int,
    display: Display,
    plan: Plan,
    how: dict[str, Any],
    learning: str,
) -> Any:
    reader = plan.run.reader
    if asked["on"] is not None:
        from rarefy.cluster.sweep_on_workers import sweep as sweep_on_workers

        display.stage(f"{learning}, on {asked['on']}")
        in_memory = not asked["progressive"]
        how |= {"on": asked["on"], "in_memory": in_memory, "refit": asked["refit"]}
        return _sweep(reader, memory=memory, sweep_rows=sweep_on_workers, **how)
    if not asked["progressive"]:
        try:
            is_regression = plan.run.model.task.is_regression
            rows = to_matrix(
                reader, regression=is_regression, memory=memory, progress=display.advance
            )
        except RowsTooLargeError as error:
            if asked["refit"] or asked["shuffle"]:
                raise _rows_too_large(error, memory) from error
            display.say("The rows do not fit memory; they are read again in every pass.")
        else:
            if not asked["shuffle"]:
                runs = plan.run.label_runs
                runs.add(rows.y)
                if complaint := runs.complaint():
                    display.warn(f"{complaint} Shuffle the rows: {HOW_TO_SHUFFLE}.")
            display.stage(learning)
            return _swept_in_memory(rows, memory, refit=asked["refit"], **how)
    display.stage(learning)
    return _swept_by_reading(reader.another(), memory, how)


def _sweep(*rows: Any, sweep_rows: Any = None, **how: Any) -> Any:
    """What is found; what there is to say of it is said at the end."""
    from rarefy.estimators.sweep_grid import sweep as sweep_here

    sweep_rows = sweep_rows or sweep_here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RarefyWarning)
        return sweep_rows(*rows, **how)


def _rows_too_large(error: RowsTooLargeError, memory: int) -> InputError:
    about = "about" if error.is_estimate else "more than"
    return InputError(
        f"the rows need {about} {size(error.n_bytes)} of memory, and {size(memory)} may be taken: "
        f"allow more by --memory, or sweep over a part of the data."
    )


def _swept_in_memory(rows: DesignMatrix, memory: int, **how: Any) -> Any:
    from rarefy.sweeping.cross_validation import MemoryTooSmallError

    try:
        return _sweep(
            rows.X,
            rows.y,
            sample_weight=rows.sample_weight,
            memory=max(memory - rows.n_bytes, 1),
            **how,
        )
    except MemoryTooSmallError as error:
        needed = rows.n_bytes + error.n_bytes
        raise InputError(
            f"the rows need {size(rows.n_bytes)} of memory, eight models at a time "
            f"{size(error.n_bytes)} more, and {size(memory)} may be taken: allow at least "
            f"{Size.written(needed)} by --memory."
        ) from error


def _swept_by_reading(reader: Reader, memory: int, how: dict[str, Any]) -> Any:
    from rarefy.sweeping.cross_validation import MemoryTooSmallError

    try:
        return _sweep(reader, memory=memory, **how)
    except MemoryTooSmallError as error:
        raise InputError(
            f"all models at a time need {size(error.n_bytes)} of memory, and {size(memory)} may be "
            f"taken: allow at least {Size.written(error.n_bytes)} by --memory, or sweep over a "
            f"smaller grid."
        ) from error


def _parameters(asked: dict[str, Any]) -> dict[str, Any]:
    """Those of the grid; None stands for the default."""
    return {
        **{name: asked[name] or None for name in RULE},
        **{name: asked[name] for name in LOSS},
        "multiclass": None if asked["multiclass"] == "auto" else asked["multiclass"],
        "refit_features": asked["refit_features"],
    }


def plan_of_point(asked: dict[str, Any], point: dict[str, Any], path: str, **others: Any) -> Plan:
    """How a point of the grid is learned."""
    names = (*READING, *LOSS, "passes", "refit", "class_weight", "shuffle")
    how = {name: asked[name] for name in names} | {"fit_intercept": not asked["no_intercept"]}
    if asked["shuffle"]:
        how["random_state"] = asked["seed"]
    try:
        return new_plan(asked["data"], output=path, **{**how, **point, **others})
    except RequestError as error:
        raise click.UsageError(error.as_command()) from error
