"""How strong the L1 penalty of a feature is by the name of its namespace or column."""

from fnmatch import fnmatchcase
from typing import NamedTuple

GivenL1 = tuple[tuple[str, float], ...]  # by names, or globs


class L1ByName(NamedTuple):
    """What was given, and what holds for all else."""

    given: GivenL1
    usual: float

    def of(self, name: str) -> float:
        """That of the first name or glob that fits."""
        fitting = (l1 for pattern, l1 in self.given if fits(pattern, name))
        return next(fitting, self.usual)


def fits(pattern: str, name: str) -> bool:
    return pattern == name or fnmatchcase(name, pattern)
