"""Validation of model files: what no training can have written is refused."""

import math
from typing import Any

import numpy as np

from rarefy.checks import check_whole
from rarefy.engine.task import Task
from rarefy.files.label_types import is_label_type
from rarefy.files.model import Model
from rarefy.model.class_weights import BALANCED
from rarefy.model.importance import Weighting
from rarefy.model.losses import LOSSES, REGRESSION_LOSSES
from rarefy.model.multiclass import MULTICLASS
from rarefy.model.numbers_by_name import NAMESPACES
from rarefy.model.schedules import SCHEDULES
from rarefy.parameters.describe import is_unknown
from rarefy.parameters.entry import MOST_FEATURES as LARGEST_TARGET
from rarefy.readers.features.labels import checked_class_names, checked_classes
from rarefy.rules import GROUPED, WITH_OWN_L1
from rarefy.stores import check_store, make_store
from rarefy.stores.array import MOST_FEATURES
from rarefy.streams.run import NEVER, Position, Predicted


def check_parts(model: Model) -> None:
    """Refuse parts that no training can have written, or that contradict each other."""
    check_store(**model.store)
    if model.limit is not None:
        check_whole("limit", model.limit, 1, LARGEST_TARGET)
    n_classes = len(model.classes)
    *clock, common = model.clock or ((),)
    numbers = (*model.intercepts, *model.progress, *clock, *common)
    right = (
        (n_classes == 0) == (model.loss in REGRESSION_LOSSES)
        and len(model.intercepts) == (n_classes if model.has_score_by_class else 1)
        and len(model.progress) == 3
        and all(isinstance(number, float) and math.isfinite(number) for number in numbers)
        and type(model.examples) is int
        and model.examples >= 0
        and (not clock or clock[0] == model.examples)
        and (not clock or len(common) == len(model.task.rule.common_fields))
        and isinstance(model.parameters, dict)
        and "kind" in model.store
        and (model.run is None or _is_run(model.run))
        and (model.matrix is None or _is_matrix(**model.matrix))
        and (model.is_settled or model.state is not None)
        and _are_totals(model.class_totals, n_classes)
        and (model.decision_threshold == 0.0 or not model.has_score_by_class)
        and _is_threshold(model.decision_threshold, n_classes)
    )
    if not right:
        raise ValueError("the parts of the model contradict each other")


def _are_totals(totals: tuple[Any, ...], n_classes: int) -> bool:
    are_weights = all(isinstance(one, float) and 0.0 <= one < math.inf for one in totals)
    return are_weights and len(totals) in (0, n_classes)


def _is_threshold(decision_threshold: Any, n_classes: int) -> bool:
    if not isinstance(decision_threshold, float) or not math.isfinite(decision_threshold):
        return False
    return decision_threshold == 0.0 or n_classes == 2


def _is_class_weight(weight: Any) -> bool:
    if weight is None or (isinstance(weight, str) and weight == BALANCED):
        return True
    return isinstance(weight, tuple) and all(
        len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], float) and pair[1] > 0.0
        for pair in weight
    )


def _is_l1_of(l1_of: Any, rule: Any) -> bool:
    """Whether there are strengths by name, and the rule has them for each feature, or neither."""
    return (
        isinstance(l1_of, tuple)
        and all(
            len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], int | float)
            for pair in l1_of
        )
        and bool(l1_of) == (type(rule) in WITH_OWN_L1.values())
    )


def _are_groups(groups: Any, rule: Any) -> bool:
    """Whether there are columns by group, and the rule has groups, or neither."""
    given = () if groups == NAMESPACES else groups
    return (
        isinstance(given, tuple)
        and all(len(pair) == 2 and texts([pair[0], *pair[1]]) is not None for pair in given)
        and bool(groups) == (type(rule) in GROUPED.values())
        and getattr(rule, "sums", None) is None
    )


def _is_run(run: Any) -> bool:
    """Whether what is shown of it makes sense; to go on with it takes more."""
    if not isinstance(run, dict):
        return False
    if "reader" in run:
        texts(run["reader"]["files"])
    if "place" in run:
        for name, value in {**Position(**run["place"])._asdict(), "passes": run["passes"]}.items():
            check_whole(name, value, 0, NEVER)
    first_pass_of(run)
    return True


def first_pass_of(run: dict[str, Any]) -> Predicted | None:
    """How well the examples of the first of several passes were predicted, if a run says so."""
    return checked_predicted(run["first_pass"]) if "first_pass" in run else None


def checked_predicted(numbers: Any) -> Predicted:
    """The numbers by name, if they make sense."""
    examples, *sums = numbers
    check_whole("examples", examples, 0, NEVER)
    if not all(math.isfinite(number) for number in sums):
        raise ValueError("a sum is not finite")
    return Predicted(examples, *sums)


def _is_matrix(labels: Any, columns: Any, n_features: Any) -> bool:
    return (
        (labels is None or is_label_type(labels))
        and (columns is None or len(texts(columns)) <= n_features)
        and type(n_features) is int
        and 0 <= n_features <= MOST_FEATURES
    )


def check_kept(model: Model) -> None:
    """Refuse weights that no training gives."""
    kept, n_outputs = model.kept, len(model.intercepts)
    beside = [kept.keys, kept.outputs, kept.names, kept.counts, kept.r]
    right = (
        np.isfinite(kept.weights).all()
        and (kept.r is None or np.isfinite(kept.r).all())
        and all(len(part) == len(kept.weights) for part in beside if part is not None)
        and ((kept.outputs >= 0) & (kept.outputs < n_outputs)).all()
        and (kept.counts is None or kept.counts.min(initial=1) > 0)
        and (kept.keys < make_store(**{**model.store, "capacity": None}).most_keys).all()
    )
    if not right:
        raise ValueError("no training gives such weights")


def checked_task(task: Task) -> Task:
    """The task, if its parts are what they should be."""
    right = (
        (task.rule is None or is_unknown(task.rule) or hasattr(task.rule, "state_fields"))
        and type(task.schedule) in SCHEDULES.values()
        and type(task.loss) in LOSSES.values()
        and task.multiclass in MULTICLASS
        and isinstance(task.fit_intercept, bool)
        and isinstance(task.weighting, Weighting)
        and _is_class_weight(task.class_weight)
        and isinstance(task.calibrate, bool)
        and _is_l1_of(task.l1_of, task.rule)
        and _are_groups(task.groups, task.rule)
        and isinstance(task.classes_grow, bool)
    )
    if not right:
        raise ValueError("there is no such task")
    return task


def classes_in_file(names: list[str], matrix: Any) -> tuple[str, ...]:
    """The classes; those of matrices need not be such that files can have them."""
    return checked_classes(names) if matrix is None else checked_class_names(names)


def texts(found: Any) -> list[str]:
    """The list, if it is one of texts."""
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ValueError("a list of texts is expected")
    return found
