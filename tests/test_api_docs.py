"""Every public name says what it is, what it takes, gives and raises, with an example."""

import inspect
import re
from pathlib import Path

import pytest

import rarefy

NAMES = [name for name in rarefy.__all__ if name != "__version__"]
ESTIMATORS = [name for name in NAMES if name.startswith("SparseOnline")]
API = Path(__file__).parents[1] / "docs" / "reference" / "api.md"


def sections(thing) -> set[str]:
    text = inspect.getdoc(thing) or ""
    return set(re.findall(r"^([A-Z][A-Za-z ]+)\n-+$", text, re.MULTILINE))


def wanted(name: str) -> set[str]:
    thing = getattr(rarefy, name)
    if name in ESTIMATORS:
        return {"Parameters", "Attributes", "See Also", "Examples"}
    if inspect.isclass(thing):  # errors
        return {"See Also", "Examples"}
    raises = set() if name == "helper" else {"Raises"}  # which marks, and looks at nothing
    return {"Parameters", "Returns", "See Also", "Examples"} | raises


@pytest.mark.parametrize("name", NAMES)
def test_public_names_have_all_sections(name):
    assert wanted(name) - sections(getattr(rarefy, name)) == set()


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_all_described(name):
    thing = getattr(rarefy, name)
    if "Parameters" not in wanted(name):
        return
    text = inspect.getdoc(thing).partition("Parameters\n---")[2]
    heads = " ".join(re.findall(r"^\S.*$", text, re.MULTILINE))  # lines that are not indented
    for parameter in inspect.signature(thing).parameters:
        assert re.search(rf"\b{parameter}\b", heads), parameter


@pytest.mark.parametrize("name", ESTIMATORS)
def test_methods_are_described(name):
    cls = getattr(rarefy, name)
    for method in dir(cls):
        function = getattr(cls, method)
        module = getattr(function, "__module__", None) or ""
        if method.startswith("_") or not callable(function) or not module.startswith("rarefy"):
            continue
        taken = set(inspect.signature(function).parameters) - {"self", "cls"}
        if taken:
            assert "Parameters" in sections(function), method
            text = inspect.getdoc(function)
            assert all(re.search(rf"^[\w, ]*\b{each}\b.* : ", text, re.MULTILINE) for each in taken)
        if method not in ("save",):
            assert "Returns" in sections(function), method


def test_the_page_lists_every_name():
    listed = set(re.findall(r"^   (\w+)$", API.read_text(), re.MULTILINE))
    assert set(NAMES) - listed == set()
