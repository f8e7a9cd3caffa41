"""Which of the values of a parametrised test are tried by default, and which only if slow ones are.

Every rule, loss and kind of outputs has a loop of its own, which takes about a second to compile.
"""

from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(values: Iterable[Any], *by_default: Any) -> list[Any]:
    """All values, those that are not among the last arguments being slow."""
    return [
        value if value in by_default else pytest.param(value, marks=pytest.mark.slow)
        for value in values
    ]
