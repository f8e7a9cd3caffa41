"""Which rules have which parameters."""

from collections.abc import Mapping
from typing import Any

from rarefy.checks import choose, nearest
from rarefy.errors import ConfigError
from rarefy.parameters.table import RULE
from rarefy.rules import ALIASES, AWARE, CUMULATIVE, FINITE_DATA, PROJECTED, RULES
from rarefy.rules.penalty_norm import Intensity
from rarefy.rules.truncation import TruncatedGradient

OF_MEANS = ("average", "average_power")  # which every rule can have, however it is given
UPDATE_BASED = ("sgft", "hf-fobos")
# Users choose a norm by its q.
INTENSITY_PARAMETERS = ("q", *(name for name in Intensity._fields if name != "norm"))


def resolve(rule: Any) -> tuple[str, Any]:
    """The name and class of a rule given by name, as a class, or as an object."""
    if isinstance(rule, str):
        canonical, known = ALIASES.get(rule, rule), {**RULES, **FINITE_DATA}
        if canonical not in known:
            names = [*RULES, *ALIASES, *FINITE_DATA]
            raise ConfigError(
                f"rule={rule!r}{nearest(rule, names)}: one of {', '.join(names)}, or a rule of "
                f"your own, is expected."
            )
        return rule, known[canonical]
    cls = rule if isinstance(rule, type) else type(rule)
    if "state_fields" not in vars(cls):
        raise ConfigError(
            f"rule={rule!r}: a name, or a NamedTuple decorated with rarefy.rule, is expected."
        )
    return cls.__name__, cls


def parameters_of(cls: Any) -> tuple[str, ...]:
    """The parameters by which users set up a rule of that class."""
    return tuple(
        name
        for field in cls._fields
        for name in (INTENSITY_PARAMETERS if field == "intensity" else (field,))
    )


def has_meaning(parameter: str, cls: Any) -> bool:
    """Whether rules of that class, given by name or as a class, can have a parameter."""
    if parameter in OF_MEANS:
        return True
    if parameter == "cumulative":
        return cls in CUMULATIVE
    if parameter == "schedule":
        return not has_own_steps(cls) and cls is not TruncatedGradient
    if parameter == "eta0":
        return not cls.by_margin
    if parameter == "projection":
        return cls in PROJECTED
    forms = (AWARE.get(cls, cls), *PROJECTED.get(cls, {}).values())
    return any(parameter in parameters_of(form) for form in forms)


def form_for(cls: Any, given: Mapping[str, Any]) -> Any:
    """The class itself, or the form of it that it takes to have what is given."""
    if cls in PROJECTED and given.get("projection") is not None:
        return choose("projection", given["projection"], PROJECTED[cls])
    is_aware = any(name in given for name in INTENSITY_PARAMETERS)
    return AWARE.get(cls, cls) if is_aware else cls


def has_own_steps(rule: Any) -> bool:
    """Whether a rule, or those of a class, have steps that follow no common schedule."""
    return "eta0" in rule._fields or rule.by_margin


def rules_with_common_steps() -> list[str]:
    return [name for name, kind in RULES.items() if not has_own_steps(kind)]


def rules_with(parameter: str) -> list[str]:
    """The names of the rules that have a parameter."""
    if parameter == "schedule":
        return rules_with_common_steps()
    return [name for name, kind in RULES.items() if has_meaning(parameter, kind)]


def absent(parameter: str, value: Any, rule_name: str) -> ConfigError:
    """The error of giving a parameter to a rule that does not have it."""
    return ConfigError(
        f"{parameter}={value!r} does not apply to the rule {rule_name}: "
        f"{RULE[parameter].absent}. Rules with {parameter}: {', '.join(rules_with(parameter))}."
    )
