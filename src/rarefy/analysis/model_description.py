"""A model described as JSON: what it is, how it was trained, what it has learned."""

import math
from collections import Counter
from typing import Any

from rarefy.files.model import Model
from rarefy.files.model_checks import first_pass_of
from rarefy.model.columns_by_name import ColumnNames, places_of_groups
from rarefy.model.schedules import SCHEDULES
from rarefy.parameters.describe import described, is_unknown, name_of_unknown
from rarefy.parameters.meaning import has_own_steps, resolve
from rarefy.readers.features.columns import Columns
from rarefy.rules.anchoring import is_anchored
from rarefy.rules.averaging import is_averaged, learning_rule, power_of
from rarefy.rules.penalty_norm import q_of
from rarefy.stores import Kept
from rarefy.streams.run import Position

ALWAYS_SHOWN = ("passes", "shards", "fit_intercept", "importance")  # where there are some
OF_ENDOWMENT = ("endowment", "endowment_by")
ON_NEW_DATA = "possible, on new data"


def description(model: Model) -> dict[str, Any]:
    """As JSON would have it."""
    return {**what_it_is(model), "training": how_it_was_trained(model), **what_came_of_it(model)}


def what_it_is(model: Model) -> dict[str, Any]:
    columns = model.reading.columns
    usual = Columns(complete=columns.complete, named=columns.named, forms=columns.forms)
    return {
        "task": "classification" if model.classes else "regression",
        "classes": model.classes,
        "multiclass": model.multiclass if model.has_score_by_class else None,
        "loss": model.loss,
        "store": model.store["kind"],
        **{name: value for name, value in model.store.items() if name != "kind"},
        "columns": {
            name: value
            for name, value in columns._asdict().items()
            if value != getattr(usual, name)
        },
        "cross": model.reading.cross,
    }


def how_it_was_trained(model: Model) -> dict[str, Any]:
    """What the user asked for, and what followed from it."""
    task, run = model.task, model.run or {}
    asked = model.parameters
    return {
        "rule": _name_of(asked.get("rule")),
        **(flat(task.rule) if _is_known(task.rule) else {}),
        "schedule": _schedule(model),
        **{name: asked[name] for name in ALWAYS_SHOWN if name in asked},
        **({name: asked[name] for name in OF_ENDOWMENT} if asked.get("endowment") else {}),
        "l1_of": asked.get("l1_of"),
        "groups": _groups(model),
        "class_weight": asked.get("class_weight"),
        "refit": asked.get("refit") or None,
        "data": run["reader"]["files"] if "reader" in run else None,
        "holdout": run.get("holdout"),
        "further_training": _further_training(model),
    }


def _groups(model: Model) -> Any:
    """The groups of features, and how many weights each has."""
    groups, names = model.task.groups, model.kept.names or ()
    if not groups:
        return None
    if isinstance(groups, str):
        found = [name.partition("=")[0] for name in names]
    else:
        columns = list(names) or [str(key) for key in model.kept.keys.tolist()]
        places = places_of_groups(groups, ColumnNames(len(columns), columns)).tolist()
        found = [
            column if place < 0 else groups[place][0]
            for column, place in zip(columns, places, strict=True)
        ]
    counts = dict.fromkeys([] if isinstance(groups, str) else [name for name, _ in groups], 0)
    return {**counts, **Counter(found)}


def _is_known(rule: Any) -> bool:
    return rule is not None and not is_unknown(rule)


def _name_of(rule: Any) -> str | None:
    if is_unknown(rule):
        return name_of_unknown(rule)
    return None if rule is None else resolve(rule)[0]


def _schedule(model: Model) -> str | None:
    """None for rules with steps of their own."""
    if not _is_known(model.task.rule) or has_own_steps(learning_rule(model.task.rule)):
        return None
    schedule = model.task.schedule
    name = next(name for name, kind in SCHEDULES.items() if isinstance(schedule, kind))
    return f"{name} from {schedule.eta0:g}"


def _further_training(model: Model) -> str:
    if model.state is None:
        why = "refitted" if model.parameters.get("refit") else "slim"
        return f"not possible: the model is {why}"
    run = model.run or {}
    place = Position(**run["place"]) if "place" in run else None
    if place is None or place.pass_number > run["passes"]:
        return ON_NEW_DATA
    return f"the run is not finished: pass {place.pass_number}, {place.rows:,} rows; resume it"


def flat(rule: Any) -> dict[str, Any]:
    """The parameters of a rule as users set them."""
    if is_averaged(rule):
        mean = {"average": True, "average_power": power_of(rule) or None}
        return {**flat(rule.rule), **mean}
    if is_anchored(rule):
        return {**flat(rule.rule), "anchored": True}
    parameters = rule._asdict()
    intensity = parameters.pop("intensity", None)
    if intensity is not None:
        parameters |= {"q": q_of(intensity.norm), **intensity._asdict()}
        del parameters["norm"]
    return {
        name: str(value) if isinstance(value, float) and math.isinf(value) else described(value)
        for name, value in parameters.items()
    }


def what_came_of_it(model: Model) -> dict[str, Any]:
    return {
        "examples": model.examples,
        "progressive_loss": _progressive_loss(model),
        "weights": len(model.kept.weights),
        "intercepts": model.intercepts,
        "decision_threshold": model.decision_threshold or None,
        "calibration": model.scaling,
    }


def _progressive_loss(model: Model) -> float | None:
    """Of the first pass, where there were several; None where that is not known.

    A model that was refitted, or cut, is another than that which made the predictions.
    """
    run = model.run or {}
    if model.parameters.get("refit") or model.parameters.get("target_features"):
        return None
    if run.get("passes", model.parameters.get("passes", 1)) == 1:
        return model.progressive_loss
    first_pass = first_pass_of(run)
    return first_pass.loss / first_pass.weight if first_pass and first_pass.weight else None


def feature_name(kept: Kept, at: int) -> str:
    return str(kept.keys[at]) if kept.names is None else kept.names[at]


def feature_as_json(model: Model, at: int) -> dict[str, Any]:
    kept = model.kept
    several = {"class": model.classes[kept.outputs[at]]} if len(model.intercepts) > 1 else {}
    return {
        "feature": feature_name(kept, at),
        "key": int(kept.keys[at]),
        **several,
        "weight": float(kept.weights[at]),
        "count": None if kept.counts is None else int(kept.counts[at]),
        "r": None if kept.r is None else float(kept.r[at]),
    }
