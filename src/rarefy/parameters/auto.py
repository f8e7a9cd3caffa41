"""Parameters that users leave to be found while a model learns."""

from collections.abc import Mapping
from typing import Any

from rarefy.parameters.entry import AUTO
from rarefy.parameters.table import MAY_BE_AUTO


def is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def left_open(parameters: Mapping[str, Any]) -> set[str]:
    """The names of those that are to be found."""
    return {name for name in MAY_BE_AUTO if is_auto(parameters[name])}


def is_open(parameters: Mapping[str, Any], target_features: int | None) -> bool:
    """Whether some are to be found: those that say so, or what leads to a target size."""
    return target_features is not None or bool(left_open(parameters))
