"""Learning the difference to an old model: penalties pull towards its weights.

A model is anchored where it is: it predicts as before, has learned nothing, and what it learns from
now on is a difference to the old weights (rules/anchoring.py). It goes on as every model does.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rarefy.engine.task import Task, with_calibration
from rarefy.errors import ConfigError, InputError
from rarefy.files.model import Model, model_of
from rarefy.files.model_file import load_model
from rarefy.parameters.build import make_rule, make_weighting
from rarefy.parameters.describe import is_unknown, name_of_unknown
from rarefy.parameters.meaning import OF_MEANS
from rarefy.parameters.table import RULE, WEIGHTING_PARAMETERS
from rarefy.rules import FINITE_DATA, RULES, name_of
from rarefy.rules.anchoring import ANCHOR, anchored, can_be_anchored
from rarefy.stores import make_store
from rarefy.streams.stream_model import StreamModel
from rarefy.training.first_rows import check_first_rows
from rarefy.training.plan import Plan, reader_of
from rarefy.training.resumption import (
    WITH_FINISHED,
    is_finished,
    plan_to_go_on,
    refuse_settled,
)

OF_RULE = ("rule", *RULE)  # what may be asked for beside what goes with new data
NOT_TAKEN_OVER = (*OF_MEANS, "l1_of", "groups", "refit", "refit_l2", "refit_features")
FROM_BEFORE = ("before", "first_pass")  # what a run says of the old model's predictions


def anchored_plan(
    data: Sequence[str | Path],
    *,
    anchor: str,
    output: str | None = None,
    slim: bool = False,
    **asked: Any,
) -> Plan:
    """Learn new DATA as a difference to the model in the file `anchor`."""
    refuse_settled(asked, (*OF_RULE, *WITH_FINISHED), "anchor", anchor)
    of_rule = {name: asked.pop(name) for name in OF_RULE if name in asked}
    old = load_model(anchor)
    start = anchored_model(old, anchor, of_rule)
    plan = plan_to_go_on(start, data, anchor, output, slim, asked)
    reader = plan.run.reader
    if reader.can_be_read_again:
        settings = reader.settings()
        readers = [reader_of({**settings, "files": [file]}) for file in reader.files]
        check_first_rows(old.scorer(), anchor, readers, "learn")
    return plan


def anchored_model(old: Model, path: str, asked: Mapping[str, Any]) -> Model:
    """A model that predicts as the old one, and whose penalties pull towards its weights.

    Its rule and the parameters of that are those of the old model where none are asked for. `path`
    names the old model in messages.
    """
    if not (old.is_settled and is_finished(old, path)):
        raise InputError(
            f"{path} comes from a run that was interrupted: finish it with `rarefy train --resume`."
        )
    parameters = _parameters(old, path, asked)
    model = StreamModel(_task(old, parameters), make_store(**old.store), old.classes)
    model.reading, model.decision_threshold = old.reading, old.decision_threshold
    model.class_totals = np.array(old.class_totals)
    learner = model.learner.settled()
    coordinates = model.store.slots_for(learner, old.kept) * learner.n_outputs + old.kept.outputs
    learner.state[coordinates, learner.rule.state_fields.index(ANCHOR)] = old.kept.weights
    at = learner.intercept_rule.state_fields.index(ANCHOR)
    if learner.intercept_state.size:
        learner.intercept_state[:, at] = old.intercepts
    model.store.keep_to_capacity(learner)
    if old.matrix is not None:
        learner.grow(old.matrix["n_features"])
    if learner.calibration is not None and old.calibration is not None:
        learner.calibration = old.calibration.anew()
    run = None
    if old.run is not None:
        run = {name: value for name, value in old.run.items() if name not in FROM_BEFORE}
    start = model_of(model, parameters, run=run, matrix=old.matrix)
    return start._replace(kept=old.kept)


def _parameters(old: Model, path: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """In the words of the user: what is asked for, and else what the old model has."""
    of_means = [name for name in OF_MEANS if asked.get(name)]
    if of_means:
        raise ConfigError(f"{of_means[0]}={asked[of_means[0]]!r} cannot be combined with anchor.")
    if asked.get("rule") is None and is_unknown(old.parameters.get("rule")):
        name = name_of_unknown(old.parameters["rule"])
        raise InputError(f"{path} has the rule {name}, which is not known here: give another one.")
    left_out = (*NOT_TAKEN_OVER, *(RULE if asked.get("rule") is not None else ()))
    known = {name: value for name, value in old.parameters.items() if name not in left_out}
    given = {name: value for name, value in asked.items() if value is not None}
    return {**known, "target_features": None, **given}


def _task(old: Model, parameters: dict[str, Any]) -> Task:
    of_rule = {name: parameters[name] for name in OF_RULE if name in parameters}
    rule, schedule = make_rule(**of_rule, loss=old.loss)
    if type(rule) in FINITE_DATA.values() or not can_be_anchored(rule):
        having = [name for name, kind in RULES.items() if can_be_anchored(kind)]
        raise ConfigError(
            f"anchor does not apply to the rule {name_of(rule)}, which looks at more than each "
            f"feature by itself. Rules with anchor: {', '.join(having)}."
        )
    if rule.is_shift_free() and old.task.is_regression:
        raise ConfigError(
            f"anchor does not apply to the rule {name_of(rule)} in regression, where it measures "
            f"targets first. Give another rule, as ftrl or rda."
        )
    of_weighting = {name: parameters[name] for name in WEIGHTING_PARAMETERS if name in parameters}
    task = old.task._replace(
        rule=anchored(rule),
        schedule=schedule,
        weighting=make_weighting(rule, old.loss, **of_weighting),
        l1_of=(),
        groups=(),
    )
    return with_calibration(task, parameters.get("calibrate", False))
