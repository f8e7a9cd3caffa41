"""The l1 or the group of each column of a matrix, given by column names or globs.

There may be many columns, and few that are named: nothing here goes over all names unless it has
to.
"""

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.arrays import Floats
from rarefy.model.numbers_by_name import GroupsOfColumns, L1ByName, is_glob

Places = NDArray[np.int64]


class ColumnNames:
    """Columns that have names; or their numbers, if they have none."""

    def __init__(self, n_columns: int, given: Sequence[str] | None = None) -> None:
        self.n_columns, self._given = n_columns, given
        self._by_glob: dict[str, list[int]] = {}

    @cached_property
    def names(self) -> list[str]:
        return [*map(str, range(self.n_columns))] if self._given is None else [*self._given]

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, name in enumerate(self.names):
            places.setdefault(name, []).append(place)
        return places

    def called(self, name: str) -> list[int]:
        """The columns of just that name."""
        if self._given is not None:
            return self._by_name.get(name, [])
        is_number = name.isascii() and name.isdecimal() and str(int(name)) == name
        return [int(name)] if is_number and int(name) < self.n_columns else []

    def fitting(self, pattern: str) -> list[int]:
        """The columns of that name, or that fit it as a glob."""
        if not is_glob(pattern):
            return self.called(pattern)
        if pattern not in self._by_glob:
            fits = _test_of(pattern)
            found = [place for place, name in enumerate(self.names) if fits(name)]
            self._by_glob[pattern] = sorted({*found, *self.called(pattern)})
        return self._by_glob[pattern]


def _test_of(glob: str) -> Callable[[str], Any]:
    """Whether a name fits; a glob with one star, at its end, is only a prefix, which is faster."""
    prefix = glob.removesuffix("*")
    if is_glob(prefix):
        return re.compile(translate(glob)).match
    return lambda name: name.startswith(prefix)


def l1_of_columns(own: L1ByName, columns: ColumnNames) -> Floats:
    """The l1 of each column: that of the first name or glob that fits."""
    l1 = np.full(columns.n_columns, own.usual)
    for pattern, of_pattern in reversed(own.given):
        l1[columns.fitting(pattern)] = of_pattern
    return l1


def places_of_groups(given: GroupsOfColumns, columns: ColumnNames) -> Places:
    """The place of each column's group among those given, or -1. Names count before globs."""
    groups = np.full(columns.n_columns, -1)
    for group, (_, of_group) in reversed([*enumerate(given)]):
        for pattern in filter(is_glob, of_group):
            groups[columns.fitting(pattern)] = group
    for group, (_, of_group) in reversed([*enumerate(given)]):
        groups[[place for name in of_group for place in columns.called(name)]] = group
    return groups


def groups_of_columns(given: GroupsOfColumns, columns: ColumnNames) -> Floats:
    """The number of each column's group, from 1 on as they come; one in none is one by itself."""
    groups = places_of_groups(given, columns)
    every = np.arange(columns.n_columns)
    first_of = np.zeros(len(given), np.int64)
    grouped = groups >= 0
    first_of[groups[grouped][::-1]] = every[grouped][::-1]  # the last one written is the first
    first = np.where(grouped, first_of[groups], every)
    numbers: Floats = np.cumsum(first == every)[first].astype(np.float64)
    return numbers
