"""The l1 or the group of a feature, given by the name of its namespace or column."""

import functools
from fnmatch import fnmatchcase
from typing import NamedTuple

from rarefy.arrays import Floats

GivenL1 = tuple[tuple[str, float], ...]  # by names, or globs
NAMESPACES = "namespaces"  # each of which is a group
GroupsOfColumns = tuple[tuple[str, tuple[str, ...]], ...]  # the columns of each, by its name
GivenGroups = str | GroupsOfColumns


class L1ByName(NamedTuple):
    """The l1 that was given, and what holds for all else."""

    given: GivenL1
    usual: float
    met: set[str]  # those of the given names and globs that something has fitted

    def of(self, name: str | None) -> float:
        """That of the first name or glob that fits; None is no name."""
        if name is None:
            return self.usual
        fitting = [(pattern, l1) for pattern, l1 in self.given if fits(pattern, name)]
        self.met.update(pattern for pattern, _ in fitting)
        return fitting[0][1] if fitting else self.usual

    def recall(self, names: list[str | None], _: Floats) -> None:
        """Know that these names have come before."""
        for name in dict.fromkeys(names):
            self.of(name)

    @property
    def not_met(self) -> list[str]:
        """The given names and globs that nothing has fitted so far."""
        return [pattern for pattern, _ in self.given if pattern not in self.met]


class GroupsByName(NamedTuple):
    """Groups, numbered from 1 on as their names come."""

    numbers: dict[str, float]

    def of(self, name: str | None) -> float:
        """The number of a group; features without a namespace are one, too."""
        return self.numbers.setdefault(name or "", len(self.numbers) + 1.0)

    def recall(self, names: list[str | None], numbers: Floats) -> None:
        """Know the numbers that the groups of some features had."""
        known = {name or "": number for name, number in zip(names, numbers.tolist(), strict=True)}
        if sorted(known.values()) != [n + 1.0 for n in range(len(known))]:
            raise ValueError("groups are not numbered like that")
        self.numbers.update(sorted(known.items(), key=lambda item: item[1]))


OwnByName = L1ByName | GroupsByName


def fits(pattern: str, name: str) -> bool:
    return pattern == name or (is_glob(pattern) and fnmatchcase(name, pattern))


@functools.lru_cache
def is_glob(pattern: str) -> bool:
    return any(sign in pattern for sign in "*?[")
