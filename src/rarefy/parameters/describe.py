"""Rules, losses and schedules as JSON, and back."""

import math
from typing import Any, get_args, get_type_hints

import numpy as np

from rarefy.errors import InputError
from rarefy.model.importance import ENDOWMENTS, UPDATES, NoEndowment, Weighting
from rarefy.model.losses import LOSSES
from rarefy.model.schedules import SCHEDULES
from rarefy.parameters.build import check_object
from rarefy.parameters.combinations import MOST_POWER
from rarefy.rules import ALL_CLASSES
from rarefy.rules.anchoring import ANCHORED, anchored, can_be_anchored, is_anchored
from rarefy.rules.averaging import AVERAGED, averaged, is_averaged, power_of
from rarefy.rules.penalty_norm import (
    Basis,
    EuclideanNorm,
    Intensity,
    MaximumNorm,
    PowerNorm,
    SumNorm,
)
from rarefy.rules.rule_protocol import own_rules

KIND = "is"
CLASS = "class"  # the kind of a rule that is given as a class
OURS = {
    cls.__name__: cls
    for cls in (
        *ALL_CLASSES,
        *SCHEDULES.values(),
        *LOSSES.values(),
        Weighting,
        *UPDATES.values(),
        *(NoEndowment, *ENDOWMENTS.values()),
        Intensity,
        *(MaximumNorm, EuclideanNorm, SumNorm, PowerNorm),
    )
}


def described(part: Any) -> Any:
    """What JSON can hold of parameters, which may be NamedTuples of parameters."""
    if isinstance(part, Basis):
        return part.name.lower()
    if isinstance(part, np.generic):
        part = part.item()
    if isinstance(part, float) and not math.isfinite(part):
        return {KIND: "float", "text": repr(part)}
    if is_averaged(part):
        part = {KIND: AVERAGED, "rule": part.rule, "power": power_of(part)}
    if _is_rule(part) and is_anchored(part):
        part = {KIND: ANCHORED, "rule": part.rule}
    if isinstance(part, type) and hasattr(part, "state_fields"):
        part = {KIND: CLASS, "name": _kind(part)}
    if isinstance(part, dict):
        return {str(name): described(value) for name, value in part.items()}
    if isinstance(part, list | tuple):
        if hasattr(part, "_asdict"):
            return {KIND: _kind(type(part)), **described(part._asdict())}
        return [described(value) for value in part]
    if part is None or isinstance(part, bool | int | float | str):
        return part
    raise InputError(f"{part!r} cannot be written to a model file.")


def built(description: Any) -> Any:
    """The parameters that were described."""
    if isinstance(description, list):
        return tuple(built(value) for value in description)
    if not isinstance(description, dict):
        return description
    kind = description.get(KIND)
    if kind == "float":
        return float(description["text"])
    if kind == CLASS:
        return _class(description["name"])
    fields = {name: built(value) for name, value in description.items() if name != KIND}
    if kind in (AVERAGED, ANCHORED):
        return _averaged(**fields) if kind == AVERAGED else _anchored(**fields)
    return fields if kind is None else _object(kind, fields)


def _is_rule(part: Any) -> bool:
    return hasattr(type(part), "state_fields")


def _anchored(rule: Any) -> Any:
    if not _is_rule(rule) or is_anchored(rule) or not can_be_anchored(rule):
        raise ValueError("no rule is anchored like that")
    return anchored(rule)


def _averaged(rule: Any, power: Any) -> Any:
    if not _is_rule(rule) or power not in range(MOST_POWER + 1):
        raise ValueError("no rule is averaged like that")
    return averaged(rule, float(power))


def _object(kind: str, fields: dict[str, Any]) -> Any:
    cls = _class(kind)
    if set(fields) != set(cls._fields):
        raise InputError(
            f"the model was trained with {kind}({', '.join(fields)}), but here it has the "
            f"parameters {', '.join(cls._fields)}."
        )
    if cls is Intensity:
        fields["basis"] = Basis[fields["basis"].upper()]
    if kind in OURS:
        for name, hint in get_type_hints(cls).items():
            if name in fields and not _is_of(hint, fields[name]):
                raise ValueError(f"{kind} has no such parameters")
    part = cls(**fields)
    return check_object(part) if hasattr(cls, "state_fields") else part


def _is_of(hint: Any, value: Any) -> bool:
    """Whether a value is of a type, which may be several; whole numbers will do for others."""
    kinds = get_args(hint) or (hint,)
    if hint is Any:
        return hasattr(value, "_asdict")
    if float in kinds and isinstance(value, int):
        return abs(value) < 2**63
    return isinstance(value, kinds)


def name_of_unknown(description: dict[str, Any]) -> str:
    """What a rule is called that was described, and is not known here."""
    if description[KIND] in (AVERAGED, ANCHORED):
        return name_of_unknown(description["rule"])
    name: str = description["name"] if description[KIND] == CLASS else description[KIND]
    return name


def _kind(cls: type) -> str:
    ours = OURS.get(cls.__name__) is cls
    return cls.__name__ if ours else f"{cls.__module__}.{cls.__qualname__}"


def is_unknown(rule: Any) -> bool:
    """Whether it describes a rule of the user that has not been imported."""
    if not isinstance(rule, dict):
        return False
    name = name_of_unknown(rule)
    return isinstance(name, str) and name not in {**OURS, **own_rules}


def _class(kind: str) -> Any:
    classes = {**OURS, **own_rules}
    if kind in classes:
        return classes[kind]
    raise InputError(
        f"the model was trained with the rule {kind}; import the module that defines it first."
    )
