"""The l1 and the group of columns, as each column would find them by itself."""

from fnmatch import fnmatchcase

import numpy as np
import pytest

from rarefy.model.columns_by_name import ColumnNames, groups_of_columns, l1_of_columns
from rarefy.model.numbers_by_name import GroupsByName, L1ByName

NAMES = ["a", "b1", "b2", "a*", "c[1]", "c1", "b1", "", "d", "B1"]
L1 = (("b1", 3.0), ("b*", 2.0), ("a*", 5.0), ("c[1]", 7.0), ("?", 9.0), ("*1", 11.0))
GROUPS = (
    ("first", ("d", "b?", "c[1]")),
    ("second", ("b1", "c*", "a*")),
    ("third", ("b2", "*1")),
)


def group_of(name: str) -> str:
    """The first that has its name, or else a glob that fits; or one of its own."""
    for group, patterns in GROUPS:
        if name in patterns:
            return group
    for group, patterns in GROUPS:
        if any("*" in p or "?" in p or "[" in p for p in patterns if fnmatchcase(name, p)):
            return group
    return f"={name}"


def test_l1():
    own = L1ByName(L1, 0.5, set())
    expected = [own.of(name) for name in NAMES]
    np.testing.assert_array_equal(l1_of_columns(own, ColumnNames(len(NAMES), NAMES)), expected)


def test_groups():
    own = GroupsByName({})
    expected = [own.of(group_of(name)) for name in NAMES]
    found = groups_of_columns(GROUPS, ColumnNames(len(NAMES), NAMES))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("pattern", ["0", "7", "12", "13", "07", "-1", "²", "1*", "*", "[02]", "x"])
def test_columns_without_names_are_called_by_their_numbers(pattern):
    names = [str(number) for number in range(13)]
    without, with_names = ColumnNames(13), ColumnNames(13, names)
    assert without.fitting(pattern) == with_names.fitting(pattern)
    found = [int(name) for name in names if name == pattern or fnmatchcase(name, pattern)]
    assert without.fitting(pattern) == found
