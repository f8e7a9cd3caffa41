"""What is tried by default, and what only where slow tests are run.

Every rule, loss and kind of outputs has a loop of its own, which takes about a second to compile.
"""

from collections.abc import Iterable
from typing import Any

import pytest

FEW = 30  # examples that are always tried
share_of_examples = 0.3  # that are tried by default; conftest.py makes it 1 if slow tests are run


def slow_but(values: Iterable[Any], *by_default: Any) -> list[Any]:
    """All values, those that are not among the last arguments being slow."""
    return [
        value if value in by_default else pytest.param(value, marks=pytest.mark.slow)
        for value in values
    ]


def examples(n: int) -> int:
    """How many of n random examples are tried."""
    return max(min(n, FEW), round(n * share_of_examples))
