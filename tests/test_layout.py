"""The floor plan: each module has a name of its own, and tests lie where their code does."""

from collections import Counter
from pathlib import Path

import rarefy

SOURCE = Path(rarefy.__file__).parent
TESTS = Path(__file__).parent


def test_no_two_modules_have_one_name():
    names = Counter(path.stem for path in SOURCE.rglob("*.py"))
    for name in ("__init__", "__main__"):
        names.pop(name, None)
    assert [name for name, count in names.items() if count > 1] == []


def test_folders_of_tests_are_those_of_the_source():
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    folders = {path.parent.name for path in TESTS.glob("*/__init__.py")}
    assert folders ^ packages == {"experiments"}


def test_docstrings_stand_alone():
    begins = ('"""The same', '"""The opposite')
    found = [path for path in SOURCE.rglob("*.py") if any(b in path.read_text() for b in begins)]
    assert found == []
